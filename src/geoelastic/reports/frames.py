# SPDX-License-Identifier: Apache-2.0
"""pandas, GeoPandas, Polars and pyarrow tables seen in one way: places out, reports in, the same type again."""

from __future__ import annotations

import json
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import shapely

from ..arrays import FloatArray
from ..errors import InputError
from ..sources.streams import find_place_columns, numbers, point_columns
from ..sources.streams.plumbing import way_to_degrees

_NOTE = "geoelastic"


class FrameView(Protocol):
    """A table with places. `others` are the columns besides the place."""

    others: list[str]

    def latlon(self) -> tuple[FloatArray, FloatArray]: ...

    def rebuilt(self, kept: Any, lat: FloatArray, lon: FloatArray, dropped: list[str], note: dict[str, Any]) -> Any: ...


def open_frame(frame: Any, *, lat: str | None = None, lon: str | None = None) -> FrameView:
    """The view that suits the type of `frame`."""
    if hasattr(frame, "combine_chunks") and hasattr(frame, "schema"):
        geometry = _geoarrow(frame.schema) if lat is None and lon is None else None
        return _Arrow(frame, lat, lon) if geometry is None else _GeoArrow(frame, geometry)
    if hasattr(frame, "to_arrow") and hasattr(frame, "with_columns"):
        return _Arrow(frame.to_arrow(), lat, lon, make=type(frame))
    if hasattr(frame, "geometry") and hasattr(frame, "crs") and lat is None and lon is None:
        return _GeoPandas(frame)
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):
        return _Pandas(frame, lat, lon)
    raise InputError(f"a table must be a pandas, GeoPandas, Polars or pyarrow table, got a {type(frame).__name__}")


class _Pandas:
    def __init__(self, frame: Any, lat: str | None, lon: str | None) -> None:
        self._frame = frame
        names = [str(c) for c in frame.columns]
        self._lat, self._lon = find_place_columns(names, lat, lon, where="the table")
        self.others = [n for n in names if n not in (self._lat, self._lon)]

    def latlon(self) -> tuple[FloatArray, FloatArray]:
        return self._numbers(self._lat), self._numbers(self._lon)

    def _numbers(self, name: str) -> FloatArray:
        try:
            return np.array(self._frame[name].to_numpy(dtype=np.float64, na_value=np.nan))
        except (TypeError, ValueError):
            raise InputError(f"the table: column {name!r} must hold numbers") from None

    def rebuilt(self, kept: Any, lat: FloatArray, lon: FloatArray, dropped: list[str], note: dict[str, Any]) -> Any:
        result = self._frame.loc[np.asarray(kept)].drop(columns=dropped).copy()
        result[self._lat], result[self._lon] = lat, lon
        result.attrs[_NOTE] = note
        return result


class _GeoPandas:
    """The active geometry; columns that repeat it in degrees are rewritten with it."""

    def __init__(self, frame: Any) -> None:
        if frame.crs is None:
            raise InputError("the table has no coordinate reference system; set one, for example EPSG:4326")
        self._frame, self._geometry = frame, frame.geometry.name
        names = [str(c) for c in frame.columns if c != self._geometry]
        try:
            self._twins: tuple[str, ...] = find_place_columns(names, None, None, where="the table")
        except InputError:
            self._twins = ()
        self.others = [n for n in names if n not in self._twins]

    def latlon(self) -> tuple[FloatArray, FloatArray]:
        points = self._frame.geometry.to_crs(4326)
        if not bool(((points.geom_type == "Point") | points.isna()).all()):
            raise InputError("the table: every geometry must be a point")
        return points.y.to_numpy(dtype=np.float64), points.x.to_numpy(dtype=np.float64)

    def rebuilt(self, kept: Any, lat: FloatArray, lon: FloatArray, dropped: list[str], note: dict[str, Any]) -> Any:
        import geopandas

        result = self._frame.loc[np.asarray(kept)].drop(columns=dropped).copy()
        points = geopandas.GeoSeries.from_xy(lon, lat, index=result.index, crs=4326).to_crs(self._frame.crs)
        result[self._geometry] = points
        for name, values in zip(self._twins, (lat, lon), strict=False):
            result[name] = values
        result.attrs[_NOTE] = note
        return result


class _Arrow:
    """`make`: what the table came from, by way of Arrow. A Polars frame has nowhere to put a note, so it gets none."""

    def __init__(self, table: Any, lat: str | None, lon: str | None, make: Any = None) -> None:
        self._table, self._make = table, make
        self._lat, self._lon = find_place_columns(table.column_names, lat, lon, where="the table")
        self.others = [n for n in table.column_names if n not in (self._lat, self._lon)]

    def latlon(self) -> tuple[FloatArray, FloatArray]:
        lat, lon = (numbers(self._table.column(n), name=n, where="the table") for n in (self._lat, self._lon))
        return lat, lon

    def rebuilt(self, kept: Any, lat: FloatArray, lon: FloatArray, dropped: list[str], note: dict[str, Any]) -> Any:
        result = self._table.filter(pa.array(kept)).drop_columns(dropped)
        for name, values in ((self._lat, lat), (self._lon, lon)):
            result = result.set_column(result.column_names.index(name), name, pa.array(values))
        if self._make is not None:
            return self._make(result.replace_schema_metadata(None))
        metadata = dict(self._table.schema.metadata or {}) | {_NOTE.encode(): json.dumps(note).encode()}
        return result.replace_schema_metadata(metadata)


def _geoarrow(schema: Any) -> str | None:
    """The first column of points that GeoArrow's extension types mark."""
    for field in schema:
        kind = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode()
        if (kind or getattr(field.type, "extension_name", "")) in ("geoarrow.point", "geoarrow.wkb"):
            return str(field.name)
    return None


class _GeoArrow:
    """A column of points as GeoArrow has it, in any reference system, which is kept, as is the encoding."""

    def __init__(self, table: Any, geometry: str) -> None:
        self._table, self._geometry = table, geometry
        self.others = [n for n in table.column_names if n != geometry]
        field = table.schema.field(geometry)
        about = (field.metadata or {}).get(b"ARROW:extension:metadata") or b"{}"
        if hasattr(field.type, "extension_name"):
            about = field.type.__arrow_ext_serialize__()
        try:
            self._degrees = way_to_degrees(json.loads(about or b"{}").get("crs") or "EPSG:4326", "the table")
        except (ValueError, AttributeError, TypeError):
            raise InputError("the table: the reference system of its geometry is not known") from None

    def latlon(self) -> tuple[FloatArray, FloatArray]:
        column = self._table.column(self._geometry).combine_chunks()
        x, y = point_columns(getattr(column, "storage", column), where="the table")
        if self._degrees is not None:
            x, y = self._degrees.transform(x, y)
        return np.asarray(y), np.asarray(x)

    def rebuilt(self, kept: Any, lat: FloatArray, lon: FloatArray, dropped: list[str], note: dict[str, Any]) -> Any:
        x, y = (lon, lat) if self._degrees is None else self._degrees.transform(lon, lat, direction="INVERSE")
        field = self._table.schema.field(self._geometry)
        storage = getattr(field.type, "storage_type", field.type)
        if pa.types.is_struct(storage):
            fields = [storage.field(k) for k in range(2)]
            points = pa.StructArray.from_arrays([pa.array(np.asarray(part)) for part in (x, y)], fields=fields)
        elif pa.types.is_fixed_size_list(storage):
            # two numbers a point, called as those of `storage` are, whose third, if there is one, is a height
            flat = storage if storage.list_size == 2 else pa.list_(pa.field("xy", pa.float64(), nullable=False), 2)
            points = pa.FixedSizeListArray.from_arrays(pa.array(np.column_stack([x, y]).ravel()), type=flat)
        else:
            points = pa.array(shapely.to_wkb(shapely.points(x, y)), storage)
        if hasattr(field.type, "storage_type"):
            points = pa.ExtensionArray.from_storage(field.type, points)
        result = self._table.filter(pa.array(kept))
        made = pa.field(self._geometry, points.type, metadata=field.metadata)
        result = result.set_column(result.column_names.index(self._geometry), made, points)
        # what a schema says of its geometries (boxes, types) was said of the true places
        metadata = {k: v for k, v in (self._table.schema.metadata or {}).items() if k not in (b"geo", b"pandas")}
        metadata |= {_NOTE.encode(): json.dumps(note).encode()}
        return result.drop_columns(dropped).replace_schema_metadata(metadata)
