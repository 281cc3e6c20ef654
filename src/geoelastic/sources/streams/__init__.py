# SPDX-License-Identifier: Apache-2.0
"""Tables of places larger than memory, read and written in batches.

| file | read as | written as |
|---|---|---|
| ``.csv``, ``.tsv``, ``.txt`` | text, any of the delimiters , ; tab \\| | comma, or tab for .tsv and .txt |
| ``.parquet``, ``.geoparquet`` | columns, or the primary geometry | the same |
| ``.geojson``, ``.json``, ``.geojsonl``, ``.ndjson`` | point features | point features |
| ``.gpx`` | points with their time | the same lines of points |
| ``.gpkg``, ``.fgb``, ``.shp``, ``.shz`` | points of the only layer | points (Shapefile: ``.shz``) |

All but Parquet and those of the last row may be compressed (``.gz``). Any of them can be read and any other written.
Files are written under a temporary name and take their place only when complete.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from ...errors import InputError
from ...store.atomic import writing
from .columns import (
    KEEP_ALL,
    SEEDED_COLUMN,
    Batch,
    Batches,
    Layout,
    find_place_columns,
    numbers,
    tells_place,
    usual_column,
)  # fmt: skip
from .geojsonfile import GEOJSON_SUFFIXES, GeoJsonReader, GeoJsonWriter
from .gpxfile import GpxReader, GpxWriter
from .parquetfile import PARQUET_SUFFIXES, ParquetReader, ParquetWriter, point_columns
from .plumbing import suffix_of
from .textfile import TEXT_SUFFIXES, CsvReader, CsvWriter
from .vectorfile import VECTOR_SUFFIXES, VectorReader, VectorWriter

__all__ = [
    "KEEP_ALL", "SEEDED_COLUMN", "STREAM_SUFFIXES", "Batch", "Layout", "Reader", "Writer", "column_names",
    "find_place_columns", "numbers", "open_stream", "point_columns", "tells_place", "usual_column", "write_stream",
]  # fmt: skip

_FORMATS: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(TEXT_SUFFIXES, (CsvReader, CsvWriter)),
    **dict.fromkeys(PARQUET_SUFFIXES, (ParquetReader, ParquetWriter)),
    **dict.fromkeys(GEOJSON_SUFFIXES, (GeoJsonReader, GeoJsonWriter)),
    ".gpx": (GpxReader, GpxWriter),
    **dict.fromkeys(VECTOR_SUFFIXES, (VectorReader, VectorWriter)),
}
STREAM_SUFFIXES = tuple(_FORMATS)
_UNCOMPRESSED = (*PARQUET_SUFFIXES, *VECTOR_SUFFIXES)


class Reader(Protocol):
    """A file of places. `withheld` names what is left out because it tells the place, `skipped` counts rows that could
    not be read; both are complete once all is read."""

    layout: Layout
    withheld: list[str]
    skipped: int

    def batches(self) -> Batches: ...

    def fraction(self) -> float: ...


class Writer(Protocol):
    """A file being written; `close` is told whether all of it was."""

    def write(self, batch: Batch) -> None: ...

    def close(self, *, whole: bool) -> None: ...


def open_stream(
    path: str | Path, *, lat: str | None = None, lon: str | None = None, keep: Collection[str] = (), strict: bool = True
) -> Reader:
    """The places in a file.

    `lat` and `lon` name the columns that hold them, `keep` those to keep although they tell the place. A row of text
    that cannot be read is refused; unless `strict` it is skipped and counted, or has no place.
    """
    source = Path(path)
    make = _FORMATS[_suffix(source)][0]
    more = {"strict": strict} if make is CsvReader else {}
    reader: Reader = make(source, lat=lat, lon=lon, keep=keep, **more)
    return reader


def column_names(path: str | Path) -> list[str]:
    """The names of all columns of a table; none for formats that have no columns."""
    source = Path(path)
    make = _FORMATS[_suffix(source)][0]
    return list(make.names(source)) if hasattr(make, "names") else []


@contextmanager
def write_stream(path: str | Path, layout: Layout) -> Iterator[Writer]:
    """A file that takes its place when the block ends well."""
    target = Path(path)
    with writing(target) as temporary:
        writer, whole = _FORMATS[_suffix(target)][1](temporary, layout, name=target.name), False
        try:
            yield writer
            whole = True
        finally:
            writer.close(whole=whole)


def _suffix(path: Path) -> str:
    suffix = suffix_of(path)
    if path.suffix.lower() == ".gz" and suffix in _UNCOMPRESSED:
        raise InputError(f"{path.name}: a {suffix} file is read in place; it must not be called .gz")
    if suffix not in _FORMATS:
        raise InputError(f"{path.name}: a table of places must be one of {', '.join(STREAM_SUFFIXES)}")
    return suffix
