# SPDX-License-Identifier: Apache-2.0
"""Parquet and GeoParquet, some rows at a time.

A GeoParquet file is read through its primary geometry, in whatever coordinate reference system, and written in degrees
(OGC:CRS84). Its bounding boxes, also those of each row (GeoParquet 1.1), describe the true places and are left out.
Geometries are WKB, or points in GeoArrow's own encoding (1.1).
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import shapely
from pyarrow import parquet

from ...arrays import FloatArray
from ...errors import FileError, GeoelasticError, InputError
from .columns import Batch, Batches, Layout, find_place_columns, numbers, tells_place
from .plumbing import DEGREE_DECIMALS, way_to_degrees

PARQUET_SUFFIXES = (".parquet", ".pq", ".geoparquet")
_BATCH_ROWS = 1 << 16


class ParquetReader:
    """Rows of a Parquet file."""

    skipped = 0

    def __init__(self, path: Path, *, lat: str | None, lon: str | None, keep: Collection[str]) -> None:
        self._path, self._rows_read = path, 0
        self._file = _open(path)
        schema = self._file.schema_arrow
        named = lat is not None or lon is not None
        geometry, self._to_degrees, covering = _geometry(schema.remove_metadata() if named else schema, path.name)
        place = find_place_columns(schema.names, lat, lon, where=path.name) if geometry is None else (geometry,)
        self.withheld = [n for n in schema.names if n in covering or (n not in place and tells_place(n, keep))]
        # nothing about places; pandas' notes speak of all columns, so they go if one is withheld
        dropped = {b"geo", b"ARROW:schema"} | ({b"pandas"} if self.withheld else set())
        metadata = {k: v for k, v in (schema.metadata or {}).items() if k not in dropped}
        self.layout = Layout.of(schema, place, self.withheld, metadata or None)

    @staticmethod
    def names(path: Path) -> list[str]:
        """The names of all columns."""
        return list(_open(path).schema_arrow.names)

    def batches(self) -> Batches:
        """The rows in order."""
        try:
            for record in self._file.iter_batches(_BATCH_ROWS, columns=[*self.layout.rest.names, *self.layout.place]):
                table = pa.Table.from_batches([record])
                self._rows_read += table.num_rows
                yield Batch(*self._latlon(table), table.select(self.layout.rest.names))
        except GeoelasticError:
            raise
        except (pa.ArrowException, OSError, ValueError):
            raise FileError(f"{self._path.name}: not a whole Parquet file") from None

    def fraction(self) -> float:
        """The share of the rows that have been read."""
        return self._rows_read / max(1, int(self._file.metadata.num_rows))

    def _latlon(self, table: Any) -> tuple[FloatArray, FloatArray]:
        if self.layout.geometry is None:
            lat, lon = (numbers(table.column(n), name=n, where=self._path.name) for n in self.layout.place)
            return lat, lon
        x, y = point_columns(table.column(self.layout.geometry), where=self._path.name)
        if self._to_degrees is not None:
            x, y = self._to_degrees.transform(x, y)
        return np.asarray(y, dtype=np.float64), np.asarray(x, dtype=np.float64)


class ParquetWriter:
    """Rows as a Parquet file, or GeoParquet if they came with a geometry."""

    def __init__(self, path: Path, layout: Layout, *, name: str) -> None:
        self._layout = layout
        place = dict.fromkeys(layout.place, pa.float64() if layout.geometry is None else pa.binary())
        fields = [pa.field(n, place[n]) if n in place else layout.rest.field(n) for n in layout.order]
        metadata = dict(layout.rest.metadata or {})
        if layout.geometry is not None:
            column = {"encoding": "WKB", "geometry_types": ["Point"]}
            geo = {"version": "1.1.0", "primary_column": layout.geometry, "columns": {layout.geometry: column}}
            metadata[b"geo"] = json.dumps(geo).encode()
        self._schema = pa.schema(fields, metadata=metadata or None)
        self._writer = parquet.ParquetWriter(path, self._schema)

    def write(self, batch: Batch) -> None:
        lat, lon = np.round(batch.lat, DEGREE_DECIMALS), np.round(batch.lon, DEGREE_DECIMALS)
        if self._layout.geometry is not None:
            place = [pa.array(shapely.to_wkb(shapely.points(lon, lat)), pa.binary())]
        else:
            place = [pa.array(lat), pa.array(lon)]
        self._writer.write_table(self._layout.assemble(batch, place).cast(self._schema))

    def close(self, *, whole: bool) -> None:
        self._writer.close()


def _open(path: Path) -> Any:
    try:
        file = parquet.ParquetFile(path)
        _ = file.schema_arrow
        return file
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file") from None
    except (pa.ArrowException, OSError, ValueError):
        raise FileError(f"{path.name}: not a whole Parquet file") from None


def point_columns(column: Any, *, where: str) -> tuple[FloatArray, FloatArray]:
    """(x, y) of a column of points, WKB or GeoArrow's (a struct, or a list of fixed size); NaN where there is none."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    try:
        if pa.types.is_struct(array.type):
            x, y = (np.array(part.to_pylist(), dtype=np.float64) for part in array.flatten()[:2])
            return x, y
        if pa.types.is_fixed_size_list(array.type):
            pairs = [(np.nan, np.nan) if pair is None else pair[:2] for pair in array.to_pylist()]
            both = np.array(pairs, dtype=np.float64).reshape(-1, 2)
            return both[:, 0], both[:, 1]
        points = shapely.from_wkb(np.array(array.to_pylist(), dtype=object))
    except (shapely.errors.ShapelyError, TypeError, ValueError):
        raise InputError(f"{where}: every geometry must be a point, as WKB or as GeoArrow has it") from None
    if not np.all((shapely.get_type_id(points) == shapely.GeometryType.POINT) | shapely.is_missing(points)):
        raise InputError(f"{where}: every geometry must be a point")
    return shapely.get_x(points), shapely.get_y(points)


def _geometry(schema: Any, where: str) -> tuple[str | None, Any, set[str]]:
    """The primary geometry column, the way from its reference system to degrees (None if it is in degrees), and the
    columns that hold bounding boxes of rows."""
    try:
        meta = json.loads((schema.metadata or {}).get(b"geo", b"{}"))
        name = meta.get("primary_column")
        if name is None or name not in schema.names:
            return None, None, set()
        spec = meta["columns"][name]
        boxes = [(column.get("covering") or {}).get("bbox") or {} for column in meta["columns"].values()]
        covering = {str(path[0]) for box in boxes for path in box.values()}
        to_degrees = way_to_degrees(spec.get("crs") or "OGC:CRS84", where)
    except (InputError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{where}: its note about geometries (key 'geo') must follow GeoParquet") from None
    if spec.get("encoding") not in ("WKB", "point"):
        raise InputError(f"{where}: GeoParquet geometries must be points, as WKB or in their own encoding")
    return name, to_degrees, covering
