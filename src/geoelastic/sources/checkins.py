# SPDX-License-Identifier: Apache-2.0
"""Check-ins: who was at which place, and when.

Readers for SNAP's Gowalla and Brightkite files (plain or .gz), Foursquare's TSMC2014 files, and any CSV or Parquet
table with latitude and longitude columns (user, place and time are optional). Rows without a usable position are
dropped and counted, never guessed: Brightkite has thousands of them (empty fields, and the null island 0, 0).
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from ..arrays import BoolArray, FloatArray, IntArray
from ..errors import FileError, InputError, require_choice, require_path

__all__ = ["FORMATS", "Checkins", "read_checkins"]

FORMATS = ("auto", "snap", "foursquare", "table")
#: SNAP: Cho, Myers, Leskovec, KDD 2011.  Foursquare: Yang et al., TSMC 2015 (dataset_TSMC2014_NYC.txt, _TKY.txt).
_COLUMNS = {
    "snap": ["user", "time", "lat", "lon", "place"],
    "foursquare": ["user", "place", "category", "category_name", "lat", "lon", "offset_min", "time"],
}
#: column of a table -> names it is found under, the first match wins (compared without case)
_ALIASES: dict[str, tuple[str, ...]] = {
    "lat": ("lat", "latitude", "y"),
    "lon": ("lon", "lng", "long", "longitude", "x"),
    "user": ("user", "user_id", "userid", "uid"),
    "place": ("place", "place_id", "placeid", "location_id", "venue_id", "venueid", "poi", "poi_id"),
    "time": ("time", "timestamp", "datetime", "check_in_time", "checkin_time", "utctime", "date"),
}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, eq=False)
class Checkins:
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
        for column in columns:
            column.setflags(write=False)

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

    `format`: "snap" (Gowalla, Brightkite), "foursquare" (TSMC2014), "table" (CSV or Parquet) or "auto", which looks at
    the first line. `columns` says which column of a table holds lat, lon, user, place or time where the usual names do
    not. A CSV without a header must have exactly two columns, lat and lon.
    """
    require_path("path", path)
    path = Path(path)
    require_choice("format", format, FORMATS)
    if not path.is_file():
        raise FileError(f"{path}: no such file")
    if path.suffix.lower() in (".parquet", ".pq"):
        return _from_table(path, _read_parquet(path), columns or {})
    kind = _sniff(path) if format == "auto" else format
    if kind in _COLUMNS:
        return _finish(path, kind, _read_csv(path, "\t", _COLUMNS[kind]))
    return _from_table(path, _read_delimited(path), columns or {})


def _first_line(path: Path) -> str:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", encoding="latin-1") as file:
            return str(file.readline()).rstrip("\r\n")
    except (OSError, EOFError) as error:
        raise FileError(f"{path}: cannot be read as text ({type(error).__name__})") from error


def _sniff(path: Path) -> str:
    parts = _first_line(path).split("\t")
    if len(parts) == 8 and _is_number(parts[4]) and _is_number(parts[5]):
        return "foursquare"
    if len(parts) == 5 and _is_number(parts[2]) and _is_number(parts[3]):
        return "snap"
    return "table"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_csv(path: Path, delimiter: str, names: list[str] | None) -> pa.Table:
    """Every column as text: one bad field costs its row and not the file. Rows of the wrong width are dropped."""
    dropped = [0]

    def skip(row: Any) -> str:
        dropped[0] += 1
        return "skip"

    quote = '"' if names is None or delimiter == "," else False
    known = names if names is not None else [n.strip('"') for n in _first_line(path).split(delimiter)]
    try:
        table = pcsv.read_csv(
            path,
            read_options=pcsv.ReadOptions(column_names=names, encoding="latin1" if delimiter == "\t" else "utf8"),
            parse_options=pcsv.ParseOptions(delimiter=delimiter, quote_char=quote, invalid_row_handler=skip),
            convert_options=pcsv.ConvertOptions(column_types={n: pa.string() for n in known}),
        )
    except (pa.ArrowInvalid, OSError, EOFError) as error:
        raise FileError(f"{path}: is not a table of check-ins ({str(error).splitlines()[0]})") from error
    return table.replace_schema_metadata({"malformed": str(dropped[0])})


def _read_delimited(path: Path) -> pa.Table:
    first = _first_line(path)
    delimiter = max("\t;,", key=first.count)
    parts = first.split(delimiter)
    if not all(_is_number(p) for p in parts):
        return _read_csv(path, delimiter, None)
    if len(parts) != 2:
        raise InputError(f"{path}: a table of check-ins without a header must have exactly the columns lat and lon")
    return _read_csv(path, delimiter, ["lat", "lon"])


def _read_parquet(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise FileError(f"{path}: is not a Parquet file") from error


def _from_table(path: Path, table: pa.Table, columns: Mapping[str, str]) -> Checkins:
    unknown = sorted(set(columns) - set(_ALIASES))
    if unknown:
        raise InputError(f"'columns' must name lat, lon, user, place or time, got {', '.join(unknown)}")
    by_lower = {name.lower(): name for name in reversed(table.column_names)}
    found: dict[str, str] = {}
    for role, aliases in _ALIASES.items():
        wanted = (columns[role].lower(),) if role in columns else aliases
        hit = next((by_lower[a] for a in wanted if a in by_lower), None)
        if hit is None and (role in columns or role in ("lat", "lon")):
            raise InputError(f"{path}: has no column {' or '.join(wanted)}; it has {', '.join(table.column_names)}")
        if hit is not None:
            found[role] = hit
    picked = pa.table({role: table.column(name) for role, name in found.items()})
    return _finish(path, "table", picked.replace_schema_metadata(table.schema.metadata))


def _finish(path: Path, kind: str, table: pa.Table) -> Checkins:
    lat, lon = _numbers(table.column("lat")), _numbers(table.column("lon"))
    on_earth = (np.abs(lat) <= 90) & (np.abs(lon) <= 180)
    null_island = on_earth & (lat == 0) & (lon == 0)
    keep = on_earth & ~null_island
    n = int(keep.sum())
    user, user_ids = _codes(table, "user", keep)
    place, place_ids = _codes(table, "place", keep)
    time = _times(table.column("time"))[keep] if "time" in table.column_names else np.full(n, "NaT", "datetime64[s]")
    info = {
        "file": path.name,
        "format": kind,
        "rows": table.num_rows,
        "dropped_malformed": int((table.schema.metadata or {}).get(b"malformed", b"0")),
        "dropped_no_position": int((~on_earth).sum()),
        "dropped_null_island": int(null_island.sum()),
    }
    return Checkins(user, place, lat[keep], lon[keep], time, user_ids, place_ids, info)


def _numbers(column: pa.ChunkedArray) -> FloatArray:
    """Floats; NaN where a field is empty or is not a number."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        text = pc.utf8_trim_whitespace(column)
        number = pc.match_substring_regex(text, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
        column = pc.if_else(number, text, pa.scalar(None, pa.string()))
    return np.array(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _codes(table: pa.Table, role: str, keep: BoolArray) -> tuple[IntArray, tuple[str, ...]]:
    """Codes in order of first appearance; -1 for a missing column or an empty field."""
    if role not in table.column_names:
        return np.full(int(keep.sum()), -1, dtype=np.int64), ()
    text = pc.cast(table.column(role), pa.string()).filter(pa.array(keep))
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
