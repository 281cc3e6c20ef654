# SPDX-License-Identifier: Apache-2.0
"""pandas, GeoPandas and pyarrow tables seen in one way: places out, reports in, the same type again."""

from __future__ import annotations

import json
from typing import Any, Protocol

import numpy as np

from ..errors import InputError
from ..levels import FloatArray
from ..sources.streams import find_place_columns, numbers

__all__ = ["FrameView", "open_frame"]

_NOTE = "geoelastic"


class FrameView(Protocol):
    """A table with places. `others` are the columns besides the place."""

    others: list[str]

    def latlon(self) -> tuple[FloatArray, FloatArray]: ...

    def rebuilt(self, kept: Any, lat: FloatArray, lon: FloatArray, dropped: list[str], note: dict[str, Any]) -> Any: ...


def open_frame(frame: Any, *, lat: str | None = None, lon: str | None = None) -> FrameView:
    """The view that suits the type of `frame`."""
    if hasattr(frame, "combine_chunks") and hasattr(frame, "schema"):
        return _Arrow(frame, lat, lon)
    if hasattr(frame, "geometry") and hasattr(frame, "crs") and lat is None and lon is None:
        return _GeoPandas(frame)
    if hasattr(frame, "columns") and hasattr(frame, "iloc"):
        return _Pandas(frame, lat, lon)
    raise InputError(f"a table must be a pandas, GeoPandas or pyarrow table, got a {type(frame).__name__}")


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
    def __init__(self, table: Any, lat: str | None, lon: str | None) -> None:
        self._table = table
        self._lat, self._lon = find_place_columns(table.column_names, lat, lon, where="the table")
        self.others = [n for n in table.column_names if n not in (self._lat, self._lon)]

    def latlon(self) -> tuple[FloatArray, FloatArray]:
        lat, lon = (numbers(self._table.column(n), name=n, where="the table") for n in (self._lat, self._lon))
        return lat, lon

    def rebuilt(self, kept: Any, lat: FloatArray, lon: FloatArray, dropped: list[str], note: dict[str, Any]) -> Any:
        import pyarrow as pa

        result = self._table.filter(pa.array(kept))
        for name, values in ((self._lat, lat), (self._lon, lon)):
            result = result.set_column(result.column_names.index(name), name, pa.array(values))
        metadata = dict(self._table.schema.metadata or {}) | {_NOTE.encode(): json.dumps(note).encode()}
        return result.drop_columns(dropped).replace_schema_metadata(metadata)
