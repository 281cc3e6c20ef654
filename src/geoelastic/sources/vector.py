# SPDX-License-Identifier: Apache-2.0
"""Rows of a table to features: points, polygons with a value, or squares of a statistical grid known by their
centres.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from ..arrays import BoolArray, FloatArray, IntArray
from ..errors import InputError, require_positive
from .features import Areas, Bounds, Features, Geometries, in_bounds, polygons_only
from .tables import Table, read_table

__all__ = ["Condition", "read_vector"]


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


def read_vector(
    source: Any,
    *,
    bounds: Bounds | None = None,
    lat: str | None = None,
    lon: str | None = None,
    value: str | None = None,
    class_name: str = "points",
    class_column: str | None = None,
    where: Sequence[Condition] = (),
    side_m: float | None = None,
    side_crs: str | None = None,
    layer: str | None = None,
) -> Features:
    """The rows of a table that lie in (or touch) `bounds`.

    `value` names the column that says what a row is worth (else 1). With `side_m` each row stands for a square of that
    side around its place, parallel to the axes of `side_crs`: the cells of a census grid.
    """
    table = read_table(source, layer=layer)
    n = _length(table)
    keep = np.ones(n, dtype=bool)
    for condition in where:
        keep &= condition.keep(table)
    dropped = {"not chosen by 'where'": int(n - np.count_nonzero(keep))}
    worth = np.ones(n) if value is None else table.numbers(value)
    with np.errstate(invalid="ignore"):
        usable = worth >= 0
    dropped["no value, or a negative one"] = int(np.count_nonzero(keep & ~usable))
    keep &= usable
    code, classes = _classes(table, class_name, class_column, n)
    if table.geometry is None or lat is not None:
        return _from_places(table, keep, (lat, lon), bounds, side_m, side_crs, worth, code, classes, dropped)
    if side_m is not None:
        raise InputError(f"{table.name}: 'side_m' is for tables of places; this one has geometries")
    return _from_geometry(table, table.geometry, keep, bounds, worth, code, classes, dropped)


def _length(table: Table) -> int:
    if table.geometry is not None:
        return len(table.geometry)
    return len(next(iter(table.columns.values()), np.empty(0)))


def _classes(table: Table, name: str, column: str | None, n: int) -> tuple[IntArray, tuple[str, ...]]:
    if column is None:
        return np.zeros(n, dtype=np.int64), (name,)
    names, code = np.unique(table.column(column).astype(str), return_inverse=True)
    return code.astype(np.int64), tuple(f"{name}={c}" for c in names)


def _info(table: Table, n: int) -> dict[str, Any]:
    return {"source": table.name, "rows": n}


def _from_places(
    table: Table,
    keep: BoolArray,
    names: tuple[str | None, str | None],
    bounds: Bounds | None,
    side_m: float | None,
    side_crs: str | None,
    worth: FloatArray,
    code: IntArray,
    classes: tuple[str, ...],
    dropped: dict[str, int],
) -> Features:
    lat, lon = table.latlon(*names)
    info = _info(table, len(lat))
    with np.errstate(invalid="ignore"):
        somewhere = (np.abs(lat) <= 90) & (np.abs(lon) <= 360)
    dropped["no place"] = int(np.count_nonzero(keep & ~somewhere))
    _check_not_swapped(table.name, lat[keep], lon[keep], bounds)
    keep = keep & somewhere
    if side_m is not None:
        squares = _squares(lat[keep], lon[keep], require_positive("side_m", side_m), side_crs, table.name)
        rows = np.flatnonzero(keep)
        if bounds is not None:
            near = squares.touching(bounds)
            dropped["outside the area"] = int(np.count_nonzero(~near))
            squares, rows = squares.take(near), rows[near]
        return Features.of_rows(
            [], [], squares, value=worth[rows], code=code[rows], classes=classes, dropped=dropped, info=info
        )
    if bounds is not None:
        inside = in_bounds(lat, lon, bounds)
        dropped["outside the area"] = int(np.count_nonzero(keep & ~inside))
        keep &= inside
    return Features.of_rows(
        lat[keep], lon[keep], value=worth[keep], code=code[keep], classes=classes, dropped=dropped, info=info
    )


def _from_geometry(
    table: Table,
    geometry: Geometries,
    keep: BoolArray,
    bounds: Bounds | None,
    worth: FloatArray,
    code: IntArray,
    classes: tuple[str, ...],
    dropped: dict[str, int],
) -> Features:
    kind = shapely.get_type_id(geometry)
    shape = np.isin(kind, (3, 6)) & ~shapely.is_empty(geometry)
    point = (kind == 0) & ~shapely.is_empty(geometry)
    dropped["neither a point nor a polygon"] = int(np.count_nonzero(keep & ~shape & ~point))
    if bounds is not None:
        near = np.zeros(len(geometry), dtype=bool)
        known = np.flatnonzero(shape | point)
        near[known] = _touching(geometry[known], bounds)
        dropped["outside the area"] = int(np.count_nonzero(keep & (shape | point) & ~near))
        keep = keep & near
    points, areas = np.flatnonzero(keep & point), np.flatnonzero(keep & shape)
    valid = polygons_only(geometry[areas])
    there = ~shapely.is_missing(valid)
    dropped["a polygon without area"] = int(np.count_nonzero(~there))
    areas = areas[there]
    rows = np.concatenate([points, areas])
    return Features.of_rows(
        shapely.get_y(geometry[points]),
        shapely.get_x(geometry[points]),
        Areas.from_shapely(valid[there]),
        value=worth[rows],
        code=code[rows],
        classes=classes,
        dropped=dropped,
        info=_info(table, len(geometry)),
    )


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
    from pyproj import CRS, Transformer
    from pyproj.exceptions import CRSError

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
    lons, lats = transformer.transform(corner_x.ravel(), corner_y.ravel(), direction="INVERSE")
    n = len(lat)
    return Areas(lons, lats, 5 * np.arange(n + 1), np.arange(n + 1), np.zeros(n, dtype=np.bool_))


def _touching(geometry: Geometries, bounds: Bounds) -> BoolArray:
    """Whose box meets the bounds, also across the 180th meridian."""
    lat_min, lon_min, lat_max, lon_max = bounds
    west, south, east, north = shapely.bounds(geometry).T
    meets = np.zeros(len(geometry), dtype=np.bool_)
    for turn in (-360, 0, 360):
        meets |= (east + turn >= lon_min) & (west + turn <= lon_max)
    result: BoolArray = meets & (north >= lat_min) & (south <= lat_max)
    return result
