# SPDX-License-Identifier: Apache-2.0
"""Tables of points or polygons: CSV, TSV, Parquet, GeoParquet, GeoJSON, GPX, GeoPackage, Shapefile, and data frames
in memory.

A `Table` has columns and, for every row, either a place (lat, lon) or a geometry in degrees. CSV, Parquet and GeoJSON
need no optional package; the rest is read with geopandas.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from ..arrays import FloatArray
from ..errors import FileError, InputError, import_extra
from .features import Geometries
from .streams import KEEP_ALL, STREAM_SUFFIXES, find_place_columns, open_stream
from .streams.geojsonfile import GEOJSON_SUFFIXES, read_features
from .streams.parquetfile import PARQUET_SUFFIXES
from .streams.plumbing import ByteSource, suffix_of, way_to_degrees
from .streams.textfile import TEXT_SUFFIXES, read_head
from .streams.vectorfile import VECTOR_SUFFIXES

_COMPRESSED = tuple(f"{suffix}.gz" for suffix in (*TEXT_SUFFIXES, *GEOJSON_SUFFIXES, ".gpx"))
TABLE_SUFFIXES = (*STREAM_SUFFIXES, *_COMPRESSED)


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, with `geometry` in degrees (x = lon) if the source has one."""

    name: str
    columns: Mapping[str, npt.NDArray[Any]]
    geometry: Geometries | None = None

    def column(self, name: str) -> npt.NDArray[Any]:
        """The column `name`, or an error that lists those there are."""
        if name not in self.columns:
            have = ", ".join(map(repr, list(self.columns)[:20])) or "none"
            raise InputError(f"{self.name}: there is no column {name!r}; columns are {have}")
        return self.columns[name]

    def numbers(self, name: str) -> FloatArray:
        """The column `name` as numbers (NaN where empty)."""
        column = self.column(name)
        try:
            return np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{self.name}: column {name!r} must hold numbers") from None

    def latlon(self, lat: str | None, lon: str | None) -> tuple[FloatArray, FloatArray]:
        """Places of all rows, from the named columns or from the usual names."""
        found = find_place_columns(list(self.columns), lat, lon, where=self.name)
        return self.numbers(found[0]), self.numbers(found[1])


def read_table(source: Any, *, layer: str | None = None) -> Table:
    """The table in a file, or the one that a (Geo)DataFrame or a mapping of columns already is."""
    if isinstance(source, Mapping):
        return Table("table", {str(k): np.asarray(v) for k, v in source.items()})
    if hasattr(source, "columns") and hasattr(source, "iloc"):
        return _from_frame(source, "table")
    path = Path(source)
    if not path.is_file():
        raise FileError(f"{path}: there is no such file")
    suffix = suffix_of(path)
    if suffix in TEXT_SUFFIXES:
        return _read_csv(path)
    if suffix in PARQUET_SUFFIXES:
        return _read_parquet(path)
    if suffix in GEOJSON_SUFFIXES:
        return _read_geojson(path)
    if suffix == ".gpx":
        return _read_gpx(path)
    if suffix in VECTOR_SUFFIXES:
        return _read_with_geopandas(path, layer)
    raise InputError(f"{path.name}: a table must be one of {', '.join(TABLE_SUFFIXES)}")


def _read_csv(path: Path) -> Table:
    from pyarrow import ArrowException, csv

    source = ByteSource(path)
    delimiter, names, first = read_head(path, source)
    try:
        with source.open() as file:
            table = csv.read_csv(
                file,
                read_options=csv.ReadOptions(column_names=names, skip_rows=1 if first is None else 0),
                parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            )
    except ArrowException as error:
        raise FileError(
            f"{path.name}: not a table of comma separated values: {str(error).split(chr(10))[0][:200]}"
        ) from None
    return Table(path.name, _arrow_columns(table))


def _arrow_columns(table: Any) -> dict[str, npt.NDArray[Any]]:
    return {name: column.to_numpy() for name, column in zip(table.column_names, table.columns, strict=True)}


def _read_parquet(path: Path) -> Table:
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path)
    except (ArrowException, OSError) as error:
        raise FileError(f"{path.name}: not a whole Parquet file: {str(error)[:200]}") from None
    meta = json.loads((table.schema.metadata or {}).get(b"geo", b"{}"))
    name = meta.get("primary_column")
    if name is None or name not in table.column_names:
        return Table(path.name, _arrow_columns(table))
    spec = meta["columns"][name]
    if spec.get("encoding") != "WKB":
        raise InputError(f"{path.name}: GeoParquet geometries must be encoded as WKB, got {spec.get('encoding')!r}")
    geometry = shapely.from_wkb(np.array(table.column(name).to_pylist(), dtype=object))
    crs = spec.get("crs", "OGC:CRS84")
    return Table(path.name, _arrow_columns(table.drop_columns([name])), _to_degrees(geometry, crs, path.name))


def _read_geojson(path: Path) -> Table:
    features = list(read_features(path))
    try:
        geometry = shapely.from_geojson([json.dumps(f["geometry"]) if f.get("geometry") else None for f in features])
        rows = [f.get("properties") or {} for f in features]
    except (ValueError, KeyError, TypeError, AttributeError, shapely.errors.GEOSException):
        raise FileError(f"{path.name}: not a whole GeoJSON file") from None
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: _tidy([row.get(name) for row in rows]) for name in names}
    return Table(path.name, columns, np.asarray(geometry, dtype=object))


def _read_gpx(path: Path) -> Table:
    parts = list(open_stream(path, keep=(KEEP_ALL,)).batches())
    names = ("lat", "lon")
    places = {name: np.concatenate([getattr(part, name) for part in parts] or [np.empty(0)]) for name in names}
    return Table(path.name, places)


def _tidy(values: list[Any]) -> npt.NDArray[Any]:
    if all(v is None or (isinstance(v, int | float) and not isinstance(v, bool)) for v in values):
        return np.array([np.nan if v is None else v for v in values], dtype=np.float64)
    return np.array(values, dtype=object)


def _read_with_geopandas(path: Path, layer: str | None) -> Table:
    geopandas = import_extra("geopandas", "geo")
    try:
        frame = geopandas.read_file(path, **({"layer": layer} if layer else {}))
    except Exception as error:
        raise FileError(f"{path.name}: cannot be read: {str(error).splitlines()[0][:200]}") from None
    return _from_frame(frame, path.name)


def _from_frame(frame: Any, name: str) -> Table:
    if not hasattr(frame, "geometry"):
        return Table(name, {str(c): frame[c].to_numpy() for c in frame.columns})
    columns = {str(c): frame[c].to_numpy() for c in frame.columns if c != frame.geometry.name}
    if frame.crs is None:
        raise InputError(f"{name}: the table has no coordinate reference system; set one, for example EPSG:4326")
    return Table(name, columns, _to_degrees(np.asarray(frame.geometry.array, dtype=object), frame.crs, name))


def _to_degrees(geometry: Geometries, crs: Any, name: str) -> Geometries:
    """Geometries as x = longitude, y = latitude."""
    transformer = way_to_degrees(crs, name)
    if transformer is None:
        return geometry
    return shapely.transform(geometry, lambda xy: np.column_stack(transformer.transform(xy[:, 0], xy[:, 1])))
