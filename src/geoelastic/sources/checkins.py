# SPDX-License-Identifier: Apache-2.0
"""Check-ins: who was at which place, and when.

Readers for SNAP's Gowalla and Brightkite files (plain or .gz), Foursquare's TSMC2014 files, and any table of places
that `sanitize` reads (`streams`; user, place and time are optional). Rows without a usable position are
dropped and counted, never guessed: Brightkite has thousands of them (empty fields, and the null island 0, 0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from ..arrays import BoolArray, FloatArray, IntArray, Locked
from ..errors import FileError, InputError, require_choice, require_path
from .streams import KEEP_ALL, numbers, open_stream, usual_column
from .streams.plumbing import ByteSource, suffix_of
from .streams.textfile import TEXT_SUFFIXES

FORMATS = ("auto", "snap", "foursquare", "table")
#: SNAP: Cho, Myers, Leskovec, KDD 2011.  Foursquare: Yang et al., TSMC 2015 (dataset_TSMC2014_NYC.txt, _TKY.txt).
_COLUMNS = {
    "snap": ["user", "time", "lat", "lon", "place"],
    "foursquare": ["user", "place", "category", "category_name", "lat", "lon", "offset_min", "time"],
}
#: what a caller may name the columns of
_ROLES = ("lat", "lon", "user", "place", "time")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, eq=False)
class Checkins(Locked):
    """Check-ins as columns. `user` and `place` are codes into `user_ids` and `place_ids`, -1 where the file has none.

    `time` is UTC in seconds, NaT where unknown. `info` says where the rows come from and how many were dropped and why.
    """

    user: IntArray
    place: IntArray
    lat: FloatArray
    lon: FloatArray
    time: npt.NDArray[np.datetime64]
    user_ids: tuple[str, ...] = ()
    place_ids: tuple[str, ...] = ()
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = (self.user, self.place, self.lat, self.lon, self.time)
        if len({len(c) for c in columns}) != 1:
            raise InputError("the columns of check-ins must have the same length")
        if not np.all((np.abs(self.lat) <= 90) & (np.abs(self.lon) <= 180)):
            raise InputError("check-ins must have lat in [-90, 90] and lon in [-180, 180]")
        super().__post_init__()

    def __len__(self) -> int:
        return len(self.lat)

    @property
    def has_users(self) -> bool:
        return bool(len(self)) and bool(np.all(self.user >= 0))

    @property
    def has_places(self) -> bool:
        return bool(len(self)) and bool(np.all(self.place >= 0))

    def select(self, keep: BoolArray) -> Checkins:
        """The check-ins where `keep` is true, in the same order, with the same codes."""
        columns = {name: getattr(self, name)[keep] for name in ("user", "place", "lat", "lon", "time")}
        return replace(self, **columns, info={**self.info, "cut_from": len(self)})

    def distinct_visits(self) -> Checkins:
        """Each (user, place) pair once, its first row: how the paper's counts are met."""
        if not (self.has_users and self.has_places):
            raise InputError("distinct visits need check-ins with a user and a place in every row")
        pairs = self.user * (int(self.place.max(initial=0)) + 1) + self.place
        keep = np.zeros(len(self), dtype=bool)
        keep[np.unique(pairs, return_index=True)[1]] = True
        return self.select(keep)


def read_checkins(path: str | Path, *, format: str = "auto", columns: Mapping[str, str] | None = None) -> Checkins:
    """Read check-ins from a file.

    `format`: "snap" (Gowalla, Brightkite), "foursquare" (TSMC2014), "table" (any table of places) or "auto", which
    looks at the first line. `columns` says which column of a table holds lat, lon, user, place or time where the usual
    names do not. A text without a header has columns called column_1, column_2, ..., or lat and lon if it has just two.
    """
    require_path("path", path)
    path = Path(path)
    require_choice("format", format, FORMATS)
    if not path.is_file():
        raise FileError(f"{path}: no such file")
    kind = _sniff(path) if format == "auto" else format
    return _read_fixed(path, kind) if kind in _COLUMNS else _read_table(path, columns or {})


def _sniff(path: Path) -> str:
    if suffix_of(path) not in ("", *TEXT_SUFFIXES):
        return "table"
    with ByteSource(path).open() as file:
        first = file.read(1 << 16).decode("latin-1").partition("\n")[0]
    parts = first.rstrip("\r").split("\t")
    if len(parts) == 8 and _all_numbers(parts[4:6]):
        return "foursquare"
    return "snap" if len(parts) == 5 and _all_numbers(parts[2:4]) else "table"


def _all_numbers(texts: list[str]) -> bool:
    return bool(np.isfinite(numbers(pa.array(texts), name="", where="", strict=False)).all())


def _read_fixed(path: Path, kind: str) -> Checkins:
    """A file whose columns are known and have no names. One bad field costs its row and not the file."""
    skipped: list[Any] = []
    names = _COLUMNS[kind]

    def skip(row: Any) -> str:
        skipped.append(row)
        return "skip"

    try:
        table = pcsv.read_csv(
            path,
            read_options=pcsv.ReadOptions(column_names=names, encoding="latin1"),
            parse_options=pcsv.ParseOptions(delimiter="\t", quote_char=False, invalid_row_handler=skip),
            convert_options=pcsv.ConvertOptions(column_types={name: pa.string() for name in names}),
        )
    except (pa.ArrowInvalid, OSError, EOFError):
        raise FileError(f"{path}: is not a table of check-ins") from None
    lat, lon = (numbers(table.column(name), name=name, where=path.name, strict=False) for name in ("lat", "lon"))
    return _finish(path, kind, lat, lon, {name: table.column(name) for name in ("user", "place", "time")}, len(skipped))


def _read_table(path: Path, columns: Mapping[str, str]) -> Checkins:
    unknown = sorted(set(columns) - set(_ROLES))
    if unknown:
        raise InputError(f"'columns' must name lat, lon, user, place or time, got {', '.join(unknown)}")
    reader = open_stream(path, lat=columns.get("lat"), lon=columns.get("lon"), keep=(KEEP_ALL,), strict=False)
    parts = [batch.unpacked() for batch in reader.batches()]
    if not parts:
        raise InputError(f"{path.name}: there is no check-in in it")
    rest = pa.concat_tables([part.rest for part in parts], promote_options="default")
    found: dict[str, Any] = {}
    for role in ("user", "place", "time"):
        name = columns.get(role) or usual_column(rest.column_names, role)
        if name is not None and name not in rest.column_names:
            raise InputError(f"{path.name}: there is no column {name!r}")
        if name is not None:
            found[role] = rest.column(name)
    lat, lon = (np.concatenate([getattr(part, name) for part in parts]) for name in ("lat", "lon"))
    return _finish(path, "table", lat, lon, found, reader.skipped)


def _finish(
    path: Path, kind: str, lat: FloatArray, lon: FloatArray, columns: Mapping[str, Any], malformed: int
) -> Checkins:
    on_earth = (np.abs(lat) <= 90) & (np.abs(lon) <= 180)
    null_island = on_earth & (lat == 0) & (lon == 0)
    keep = on_earth & ~null_island
    n = int(keep.sum())
    user, user_ids = _codes(columns.get("user"), keep)
    place, place_ids = _codes(columns.get("place"), keep)
    time = _times(columns["time"])[keep] if "time" in columns else np.full(n, "NaT", "datetime64[s]")
    info = {
        "file": path.name,
        "format": kind,
        "rows": len(lat),
        "dropped_malformed": malformed,
        "dropped_no_position": int((~on_earth).sum()),
        "dropped_null_island": int(null_island.sum()),
    }
    return Checkins(user, place, lat[keep], lon[keep], time, user_ids, place_ids, info)


def _codes(column: Any, keep: BoolArray) -> tuple[IntArray, tuple[str, ...]]:
    """Codes in order of first appearance; -1 for a missing column or an empty field."""
    if column is None:
        return np.full(int(keep.sum()), -1, dtype=np.int64), ()
    text = pc.cast(column, pa.string()).filter(pa.array(keep))
    text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    encoded = pc.dictionary_encode(text.combine_chunks())
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, tuple(encoded.dictionary.to_pylist())


def _times(column: pa.ChunkedArray) -> npt.NDArray[np.datetime64]:
    """UTC seconds from ISO 8601, from Foursquare's 'Tue Apr 03 18:00:09 +0000 2012', or from timestamps."""
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return np.asarray(pc.cast(column, pa.timestamp("s")).to_numpy(zero_copy_only=False)).astype("datetime64[s]")
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return np.full(len(column), "NaT", dtype="datetime64[s]")
    try:
        return np.asarray(pc.cast(column, pa.timestamp("s", "UTC")).to_numpy(zero_copy_only=False)).astype(
            "datetime64[s]"
        )
    except pa.ArrowInvalid:  # an empty field or another notation: row by row
        return np.array([_time(t) for t in column.to_pylist()], dtype="datetime64[s]")


def _time(text: str | None) -> np.datetime64:
    words = (text or "").split()
    if len(words) == 6 and words[1] in _MONTHS and words[4] == "+0000":
        text = f"{words[5]}-{_MONTHS.index(words[1]) + 1:02d}-{int(words[2]):02d}T{words[3]}"
    try:
        return np.datetime64((text or "NaT").removesuffix("Z").replace(" ", "T", 1), "s")
    except ValueError:
        return np.datetime64("NaT", "s")
