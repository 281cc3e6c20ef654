# SPDX-License-Identifier: Apache-2.0
"""Rows of a table to features: points, polygons with a value, or squares of a statistical grid known by their
centres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError

from ..arrays import BoolArray, FloatArray, IntArray
from ..errors import InputError, require_positive
from .features import Areas, Bounds, Features, Geometries, boxes_touch, in_bounds, polygons_only
from .tables import Table, read_table


@dataclass(frozen=True)
class Condition:
    """Keeps the rows where `column` passes the test `op` against `value`."""

    column: str
    op: str
    value: Any

    def keep(self, table: Table) -> BoolArray:
        """Which rows pass; empty cells never do."""
        if self.op in ("at_least", "at_most"):
            numbers = table.numbers(self.column)
            result = numbers >= self.value if self.op == "at_least" else numbers <= self.value
        else:
            cells = table.column(self.column)
            chosen = self.value if isinstance(self.value, list) else [self.value]
            result = (
                np.isin(cells.astype(str), [str(v) for v in chosen])
                if cells.dtype == object
                else np.isin(cells, chosen)
            )
            if self.op in ("not_equals", "none_of"):
                result = ~result
        return np.asarray(result, dtype=bool)


@dataclass(frozen=True)
class SourceTable:
    """A file with its reading settings: a table of points, polygons or squares, or a raster.

    `value` names the column that says what a row is worth (else 1). With `side_m` each row stands for a square of that
    side around its place, parallel to the axes of `side_crs`: the cells of a census grid.
    """

    path: str = ""
    lat: str | None = None
    lon: str | None = None
    value: str | None = None
    class_column: str | None = None
    where: tuple[Condition, ...] = ()
    side_m: float | None = None
    side_crs: str | None = None
    table: str | None = None
    band: int = 1
    per: str = "pixel"


_AS_IT_IS = SourceTable()


def read_vector(
    source: Any, how: SourceTable = _AS_IT_IS, *, bounds: Bounds | None = None, class_name: str = "points"
) -> Features:
    """The rows of a table that lie in (or touch) `bounds`."""
    table = read_table(source, layer=how.table)
    n = len(next(iter(table.columns.values()), ())) if table.geometry is None else len(table.geometry)
    keep = np.ones(n, dtype=bool)
    for condition in how.where:
        keep &= condition.keep(table)
    dropped = {"not chosen by 'where'": int(n - np.count_nonzero(keep))}
    worth = np.ones(n) if how.value is None else table.numbers(how.value)
    with np.errstate(invalid="ignore"):
        usable = worth >= 0
    dropped["no value, or a negative one"] = int(np.count_nonzero(keep & ~usable))
    keep &= usable
    code: IntArray = np.zeros(n, dtype=np.int64)
    classes: tuple[str, ...] = (class_name,)
    if how.class_column is not None:
        names, code = np.unique(table.column(how.class_column).astype(str), return_inverse=True)
        classes = tuple(f"{class_name}={name}" for name in names)
    if table.geometry is None or how.lat is not None:
        found = _from_places(table, how, keep, bounds, dropped)
    elif how.side_m is not None:
        raise InputError(f"{table.name}: 'side_m' is for tables of places; this one has geometries")
    else:
        found = _from_geometry(table.geometry, keep, bounds, dropped)
    lat, lon, areas, rows = found
    info = {"source": table.name, "rows": n}
    return Features.of_rows(
        lat, lon, areas, value=worth[rows], code=code[rows], classes=classes, dropped=dropped, info=info
    )


#: Latitudes and longitudes of points, areas, and the rows that all of these are, in this order.
_Chosen = tuple[FloatArray, FloatArray, Areas | None, IntArray]


def _from_places(
    table: Table, how: SourceTable, keep: BoolArray, bounds: Bounds | None, dropped: dict[str, int]
) -> _Chosen:
    lat, lon = table.latlon(how.lat, how.lon)
    with np.errstate(invalid="ignore"):
        somewhere = (np.abs(lat) <= 90) & (np.abs(lon) <= 360)
    dropped["no place"] = int(np.count_nonzero(keep & ~somewhere))
    _check_not_swapped(table.name, lat[keep], lon[keep], bounds)
    rows = np.flatnonzero(keep & somewhere)
    lat, lon, squares = lat[rows], lon[rows], None
    if how.side_m is not None:
        squares = _squares(lat, lon, require_positive("side_m", how.side_m), how.side_crs, table.name)
    if bounds is not None:
        near = in_bounds(lat, lon, bounds) if squares is None else squares.touching(bounds)
        dropped["outside the area"] = int(np.count_nonzero(~near))
        lat, lon, rows = lat[near], lon[near], rows[near]
        squares = None if squares is None else squares.take(near)
    return (lat, lon, None, rows) if squares is None else (np.empty(0), np.empty(0), squares, rows)


def _from_geometry(geometry: Geometries, keep: BoolArray, bounds: Bounds | None, dropped: dict[str, int]) -> _Chosen:
    kind = shapely.get_type_id(geometry)
    shape = np.isin(kind, (3, 6)) & ~shapely.is_empty(geometry)
    point = (kind == 0) & ~shapely.is_empty(geometry)
    dropped["neither a point nor a polygon"] = int(np.count_nonzero(keep & ~shape & ~point))
    if bounds is not None:
        near = np.zeros(len(geometry), dtype=bool)
        known = np.flatnonzero(shape | point)
        west, south, east, north = shapely.bounds(geometry[known]).T
        near[known] = boxes_touch((south, west, north, east), bounds)
        dropped["outside the area"] = int(np.count_nonzero(keep & (shape | point) & ~near))
        keep = keep & near
    points, areas = np.flatnonzero(keep & point), np.flatnonzero(keep & shape)
    valid = polygons_only(geometry[areas])
    there = ~shapely.is_missing(valid)
    dropped["a polygon without area"] = int(np.count_nonzero(~there))
    rows = np.concatenate([points, areas[there]])
    return shapely.get_y(geometry[points]), shapely.get_x(geometry[points]), Areas.from_shapely(valid[there]), rows


def _check_not_swapped(name: str, lat: FloatArray, lon: FloatArray, bounds: Bounds | None) -> None:
    """A helpful error where latitude and longitude are clearly the wrong way round."""
    if not len(lat):
        return
    with np.errstate(invalid="ignore"):
        impossible = np.mean((np.abs(lat) > 90) & (np.abs(lon) <= 90)) > 0.5
        elsewhere = (
            bounds is not None and not in_bounds(lat, lon, bounds).any() and np.mean(in_bounds(lon, lat, bounds)) > 0.5
        )
    if impossible or elsewhere:
        raise InputError(f"{name}: latitude and longitude look swapped: exchange the columns given as 'lat' and 'lon'")


def _squares(lat: FloatArray, lon: FloatArray, side_m: float, crs: str | None, name: str) -> Areas:
    if crs is None:
        raise InputError(
            f"{name}: 'side_m' needs 'side_crs', the grid's coordinate reference system such as 'EPSG:3035'"
        )
    try:
        transformer = Transformer.from_crs("EPSG:4326", CRS.from_user_input(crs), always_xy=True)
    except CRSError:
        raise InputError(f"'side_crs' must be a coordinate reference system such as 'EPSG:3035', got {crs!r}") from None
    x, y = transformer.transform(lon, lat)
    half = side_m / 2
    corner_x = np.stack([x - half, x + half, x + half, x - half, x - half], axis=1)
    corner_y = np.stack([y - half, y - half, y + half, y + half, y - half], axis=1)
    return Areas.of_squares(*transformer.transform(corner_x.ravel(), corner_y.ravel(), direction="INVERSE"))
