# SPDX-License-Identifier: Apache-2.0
"""What a stream of places is made of: two columns that hold the place, and the rest of the row.

A row can tell where somebody was in more columns than two: an address, an altitude, the number of a venue. Such
columns are known by their names and withheld from what is written, unless the caller asks to keep them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from ...arrays import FloatArray
from ...errors import InputError

#: Given as a name to keep: keep every column.
KEEP_ALL = "*"

#: The column that marks rows made with a seed, which protect nobody.
SEEDED_COLUMN = "geoelastic_seeded"

#: Rows of a document that are held at a time.
_BATCH_ROWS = 1 << 14

_LAT_NAMES = ("lat", "latitude", "latdeg", "ylat", "latitudedeg", "decimallatitude")
_LON_NAMES = ("lon", "lng", "long", "longitude", "londeg", "xlon", "longitudedeg", "decimallongitude")
_PLACE_PAIRS = ((_LAT_NAMES, _LON_NAMES), (("y",), ("x",)))
#: What other columns are called, by what they hold; the first name that is there counts.
_USUAL = {
    "user": ("user", "userid", "uid", "person", "personid", "device", "deviceid", "trajid", "trajectoryid"),
    "time": ("time", "timestamp", "datetime", "checkintime", "utctime", "localtime", "utc", "tst", "date", "when", "t"),
    "place": ("place", "placeid", "locationid", "venueid", "poi", "poiid"),
}

# fmt: off
_TELLING = frozenset([
    "address", "street", "streetname", "housenumber", "postcode", "postalcode", "zip", "zipcode", "city",
    "town", "village", "suburb", "district", "neighbourhood", "neighborhood", "municipality", "commune",
    "locality", "place", "placeid", "placename", "venue", "venueid", "venuename", "poi", "poiid", "spot",
    "spotid", "location", "locationid", "locationname", "geohash", "h3", "h3index", "h3cell", "s2", "s2cell",
    "quadkey", "mgrs", "utm", "pluscode", "olc", "what3words", "geometry", "geom", "thegeom", "wkt", "wkb",
    "point", "coords", "coordinates", "latlon", "latlng", "lonlat", "bbox", "ele", "elevation", "alt",
    "altitude", "altitudem", "x", "y", "easting", "northing", "cell", "cellid", "celltower", "tile", "ssid",
    "bssid", "wifi",
])
# fmt: on
_SECOND_PLACE = re.compile(
    r"(^|[_\W])(lat|latitude|lon|lng|long|longitude)(?=$|[_\W\d])|(lat|lon|lng|latitude|longitude)_?e7$"
)
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_NAME = re.compile(r"[^\W\d][\w ()/.:-]{0,40}")
_VALUE = re.compile(r"\d[.,]\d|\d{4,}|\d\D+\d")


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows: their places in degrees (NaN where there is none) and their other columns."""

    lat: FloatArray
    lon: FloatArray
    rest: Any

    def take(self, kept: Any, lat: FloatArray, lon: FloatArray) -> Batch:
        """The rows where `kept` is true, at other places."""
        return Batch(lat, lon, self.rest if bool(np.all(kept)) else self.rest.filter(pa.array(kept)))

    @staticmethod
    def joined(batches: Sequence[Batch]) -> Batch:
        """The rows of several batches in order."""
        if len(batches) == 1:
            return batches[0]
        lat, lon = (np.concatenate([getattr(batch, name) for batch in batches]) for name in ("lat", "lon"))
        return Batch(lat, lon, pa.concat_tables([batch.rest for batch in batches]))

    def unpacked(self) -> Batch:
        """The same rows, with the properties of GeoJSON as columns of text."""
        if b"geojson" not in (self.rest.schema.metadata or {}):
            return self
        rows = [json.loads(text) for text in self.rest.column("properties").to_pylist()]
        names = dict.fromkeys(name for row in rows for name in row)
        texts = {name: [None if row.get(name) is None else str(row[name]) for row in rows] for name in names}
        return replace(self, rest=pa.table({name: pa.array(column, pa.string()) for name, column in texts.items()}))

    def with_column(self, name: str, value: Any) -> Batch:
        """The same rows with one more column of a single value."""
        return replace(
            self, rest=self.rest.append_column(name, pa.array([value] * len(self.lat), pa.scalar(value).type))
        )


#: Batches in order, with their file open behind them: who may stop before the last one closes them (`closing`).
Batches: TypeAlias = Generator[Batch, None, None]


def row_batches(rows: Iterator[tuple[Any, ...]], schema: Any) -> Batches:
    """Batches of rows (lat, lon, then what the schema names) that come one by one."""
    while some := list(islice(rows, _BATCH_ROWS)):
        lat, lon, *rest = zip(*some, strict=True)
        columns = [pa.array(values, field.type) for values, field in zip(rest, schema, strict=True)]
        yield Batch(np.array(lat, np.float64), np.array(lon, np.float64), pa.table(columns, schema=schema))


@dataclass(frozen=True)
class Layout:
    """Names and order of the columns. `rest` is the schema of all but the place.

    The place is two columns `lat` and `lon`, or one column `geometry` of points.
    """

    order: tuple[str, ...]
    rest: Any
    lat: str = "lat"
    lon: str = "lon"
    geometry: str | None = None

    @classmethod
    def of(cls, schema: Any, place: Sequence[str], withheld: Collection[str], metadata: Any = None) -> Layout:
        """The layout of what is left of a schema, whose `place` is a column of points or those of lat and lon."""
        order = tuple(name for name in schema.names if name not in withheld)
        rest = pa.schema([schema.field(name) for name in order if name not in place], metadata=metadata)
        return cls(order, rest, *place) if len(place) == 2 else cls(order, rest, geometry=place[0])

    @property
    def place(self) -> tuple[str, ...]:
        """The columns that hold the place."""
        return (self.lat, self.lon) if self.geometry is None else (self.geometry,)

    def with_column(self, name: str, value: Any) -> Layout:
        """The layout of batches that got one more column."""
        field = pa.field(name, pa.scalar(value).type)
        return replace(self, order=(*self.order, name), rest=self.rest.append(field))

    def assemble(self, batch: Batch, columns: Sequence[Any]) -> Any:
        """One table in the layout's order from a batch and the columns that hold its place."""
        place = dict(zip(self.place, columns, strict=True))
        every = [place[name] if name in place else batch.rest.column(name) for name in self.order]
        return pa.table(every, names=list(self.order))


def find_place_columns(names: Sequence[str], lat: str | None, lon: str | None, *, where: str) -> tuple[str, str]:
    """The columns that hold the place: those given, else the only pair with a usual name."""
    if len(set(names)) != len(names):
        raise InputError(f"{where}: column names must be different from each other")
    for given in (lat, lon):
        if given is not None and given not in names:
            raise InputError(f"{where}: there is no column {given!r}; columns are {_listed(names)}")
    for lats, lons in _PLACE_PAIRS:
        found_lat = [lat] if lat is not None else [n for n in names if _plain(n) in lats]
        found_lon = [lon] if lon is not None else [n for n in names if _plain(n) in lons]
        if len(found_lat) == 1 and len(found_lon) == 1:
            if found_lat == found_lon:
                raise InputError(f"{where}: latitude and longitude must be two columns, got {found_lat[0]!r} for both")
            return found_lat[0], found_lon[0]
    raise InputError(
        f"{where}: name the columns with latitude and longitude (--lat-column, --lon-column); columns are "
        f"{_listed(names)}"
    )


def usual_column(names: Iterable[str], role: str) -> str | None:
    """The column that holds a "user", a "time" or a "place" by its name, if there is one."""
    found = {_plain(name): name for name in reversed(list(names))}
    return next((found[name] for name in _USUAL[role] if name in found), None)


def tells_place(name: str, keep: Collection[str] = ()) -> bool:
    """Whether a column of this name would tell where somebody was, and was not asked to be kept."""
    if name in keep or KEEP_ALL in keep:
        return False
    plain = _plain(name)
    return plain in _TELLING or plain.startswith("addr") or bool(_SECOND_PLACE.search(name.lower()))


def numbers(column: Any, *, name: str, where: str, strict: bool = True) -> FloatArray:
    """A column of numbers, or of text that holds numbers; NaN where empty, and where something else stands unless
    `strict`. No value is repeated in an error."""
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            text = pc.utf8_trim_whitespace(column)
            there = pc.binary_length(text).cast(pa.bool_()) if strict else pc.match_substring_regex(text, _NUMBER)
            # a scalar made from a Python value would load pandas
            column = pc.if_else(there, text, pa.nulls(1, text.type)[0])
        return _floats(column.cast(pa.float64()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(f"{where}: column {name!r} must hold numbers") from None


def _floats(column: Any) -> FloatArray:
    """A column of doubles, NaN where empty. Arrow's own way to numpy loads pandas, which takes longer than a table."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    values = np.frombuffer(array.buffers()[1], np.float64)[array.offset : array.offset + len(array)]
    return np.where(np.from_dlpack(array.is_valid().cast(pa.uint8())), values, np.nan)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


def _listed(names: Iterable[str]) -> str:
    """Names for a message. What does not look like a name is not shown: a table without a header has a person's row
    there."""
    listed = [repr(name) if _NAME.fullmatch(name) and not _VALUE.search(name) else "..." for name in names]
    return ", ".join(listed[:20]) + (", ..." if len(listed) > 20 else "") or "none"
