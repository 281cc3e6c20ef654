# SPDX-License-Identifier: Apache-2.0
"""Fences as shapes on the ground: read from GeoJSON, put on the cells of a grid, and drawn back.

Shapes are shapely geometries in GeoJSON order (x = longitude, y = latitude, degrees). A cell belongs to a fence if its
centre does. Fences whose cells overlap or touch, also at a corner, are one fence. A pocket, ground that fences cut off
from the rest of the map and that offers too little mass of its own, is covered by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import shapely
from shapely.geometry import mapping, shape

from ..area import Area
from ..arrays import BoolArray, FloatArray, IndexArray, IntArray, read_only
from ..errors import InputError, OutsideError, require_latlon, require_positive
from ..locations import Grid

_KINDS = "a GeoJSON Polygon, MultiPolygon, Point with the property 'radius_m', Feature or FeatureCollection"
#: Edges of a shape are straight in degrees; pieces of this length are straight in metres too, to the centimetre.
_EDGE_DEG = 0.01
_MOST_RADIUS_M = 1e6


class OnMap(Protocol):
    """The part of a metric that says where its fences are and how much mass is where."""

    @property
    def grid(self) -> Grid: ...
    @property
    def totals(self) -> dict[str, Any]: ...
    def fence_members(self, number: int) -> Any: ...
    def leaves(self, indices: Any) -> tuple[Any, Any, Any]: ...
    @property
    def mass(self) -> FloatArray: ...
    @property
    def locations(self) -> Any: ...


def disc(lat: float, lon: float, radius_m: float) -> Any:
    """The disc of `radius_m` around a place, as a polygon in degrees with 128 corners."""
    plane = Area.around(*require_latlon(lat, lon), size_km=1)
    if not require_positive("radius_m", radius_m) <= _MOST_RADIUS_M:
        raise InputError(f"'radius_m' must be at most {_MOST_RADIUS_M:g} m, the size of a country")
    ring = shapely.get_coordinates(shapely.Point(0, 0).buffer(radius_m, quad_segs=32))
    lats, lons = plane.to_latlon(ring[:, 0], ring[:, 1])
    return shapely.Polygon(np.column_stack([_near(lons, lon), lats]))


def read_fences(source: Any) -> list[Any]:
    """All fences of a GeoJSON file or object, of a shape, or of a list of these; a MultiPolygon is one fence.

    A disc is a Point feature with the property ``radius_m``.
    """
    return [fence for fence, _ in read_named_fences(source)]


def read_named_fences(source: Any) -> list[tuple[Any, dict[str, Any]]]:
    """The same with the properties of each feature."""
    if isinstance(source, str | Path | Mapping):
        from ..sources.streams.geojsonfile import read_features  # with all readers of tables

        items = [source] if isinstance(source, Mapping) else list(read_features(source))
        try:
            return [fence for item in items for fence in _from_object(item, {})]
        except RecursionError:
            raise InputError("fences must not be nested hundreds of times") from None
    if hasattr(source, "geom_type"):
        return [(_checked(source), {})]
    if isinstance(source, Iterable):
        return [fence for item in source for fence in read_named_fences(item)]
    raise InputError(f"a fence must be {_KINDS}, a file of it or a shapely polygon, got {type(source).__name__}")


def _from_object(item: Any, properties: Mapping[str, Any]) -> list[tuple[Any, dict[str, Any]]]:
    kind = item.get("type") if isinstance(item, Mapping) else None
    if kind == "FeatureCollection":
        return [fence for part in _entries(item, "features") for fence in _from_object(part, {})]
    if kind == "GeometryCollection":
        return [fence for part in _entries(item, "geometries") for fence in _from_object(part, properties)]
    if kind == "Feature":
        properties = item.get("properties") or {}
        if not isinstance(properties, Mapping):
            raise InputError("the 'properties' of a Feature must be an object")
        return _from_object(item.get("geometry"), properties)
    if kind == "Point":
        if "radius_m" not in properties:
            raise InputError("a Point is a fence only with the property 'radius_m', the radius of the disc in metres")
        try:
            lon, lat = map(float, item["coordinates"][:2])
        except (LookupError, TypeError, ValueError, OverflowError):
            raise InputError("a Point must have 'coordinates' [lon, lat] in degrees") from None
        return [(disc(lat, lon, properties["radius_m"]), dict(properties))]
    if kind in ("Polygon", "MultiPolygon"):
        try:
            with np.errstate(invalid="ignore"):  # what is not a number is refused below
                geometry = shape(item)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError, shapely.errors.ShapelyError):
            raise InputError(
                f"a {kind} must have 'coordinates' as GeoJSON has them: rings of [lon, lat] pairs"
            ) from None
        return [(_checked(geometry), dict(properties))]
    raise InputError(f"a fence must be {_KINDS}, got {kind or type(item).__name__!s}")


def _entries(item: Mapping[str, Any], key: str) -> Sequence[Any]:
    entries = item.get(key)
    if not isinstance(entries, list):
        raise InputError(f"a {item['type']} must have a list {key!r}")
    return entries


def _checked(geometry: Any) -> Any:
    """The polygon itself if it is one that has an inside on Earth; a self-crossing ring is repaired."""
    if geometry.geom_type not in ("Polygon", "MultiPolygon"):
        raise InputError(f"a fence must be a Polygon or MultiPolygon, got {geometry.geom_type}")
    lon, lat = shapely.get_coordinates(geometry).T
    if not (np.all(np.abs(lat) <= 90) and np.all(np.abs(lon) <= 360)):
        raise InputError("a fence must have [lon, lat] coordinates in degrees with lat in [-90, 90]")
    if not geometry.is_valid:
        geometry = shapely.union_all([p for p in shapely.get_parts(shapely.make_valid(geometry)) if p.area > 0])
    if geometry.is_empty or not geometry.area > 0:
        raise InputError("a fence must enclose some ground, got an empty or flat shape")
    return geometry


def fences_to_cells(grid: Grid, fences: Any, *, units: IntArray | None = None, least: int = 0) -> IndexArray:
    """The fence of every cell of `grid`: 0 outside, else 1, 2, ... in the order of the fences after merging.

    `fences` is anything `read_fences` takes. Merged fences carry the number of the first of them. With the mass `units`
    of the cells, pockets that hold less than `least` are covered too.
    """
    shapes = read_fences(fences)
    if not shapes:
        return np.zeros(grid.shape, dtype=np.int32)
    from scipy.ndimage import binary_dilation  # slow to load, and most maps have no fence

    masks = []
    for k, fence in enumerate(shapes, 1):
        mask = np.zeros(grid.shape, dtype=bool)
        mask[shape_cells(grid, fence, f"fence {k}" if len(shapes) > 1 else "the fence")] = True
        masks.append(mask)
    if units is not None:
        masks += _pockets(np.logical_or.reduce(masks), units, least)
    cells = np.zeros(grid.shape, dtype=np.int32)
    for number, mask in enumerate(masks, 1):
        touched = np.unique(cells[binary_dilation(mask, np.ones((3, 3), dtype=bool))])
        cells[mask] = number
        for other in touched[touched > 0]:
            cells[cells == other] = number
    if np.all(cells > 0):
        raise InputError("fences must leave some of the map outside, got fences that cover every cell")
    return _renumbered(cells, masks)


def _pockets(covered: BoolArray, units: IntArray, least: int) -> list[BoolArray]:
    """Parts of the ground left over that hold less than `least` and are smaller than what the fences cover anyway.

    What is larger, or all that is left, is not covered unasked: there the build says what is wrong.
    """
    from scipy.ndimage import label

    parts, count = label(~covered)
    held = np.bincount(parts.ravel(), weights=units.ravel())
    size = np.bincount(parts.ravel())
    small = (held < least) & (size < size[0])
    if count:
        small[1 + np.argmax(held[1:])] = False
    return [parts == k for k in range(1, count + 1) if small[k]]


def _renumbered(cells: IndexArray, masks: list[BoolArray]) -> IndexArray:
    """Numbers 1, 2, ... in the order in which the fences were given; read-only."""
    final: dict[int, int] = {}
    for mask in masks:
        final.setdefault(int(cells[mask][0]), len(final) + 1)
    table = np.zeros(len(masks) + 1, dtype=np.int32)
    for old, new in final.items():
        table[old] = new
    numbered: IndexArray = table[cells]
    return read_only(numbered)


def shape_cells(grid: Grid, fence: Any, name: str = "the fence") -> tuple[IntArray, IntArray]:
    """(rows, columns) of the cells of one fence, which must lie on the map and have one."""
    plane = _to_plane(grid.area, fence)
    half_w, half_h = grid.cols * grid.cell_m / 2, grid.rows * grid.cell_m / 2
    reach = grid.cell_m / 2  # beyond the map by less than half a cell no cell centre is lost
    if not np.all(np.isfinite(shapely.get_coordinates(plane))) or not shapely.box(
        -half_w, -half_h, half_w, half_h
    ).intersects(plane):
        raise OutsideError(f"{name} lies outside the map")
    x_min, y_min, x_max, y_max = plane.bounds
    if not (
        x_min >= -half_w - reach and x_max <= half_w + reach and y_min >= -half_h - reach and y_max <= half_h + reach
    ):
        raise OutsideError(f"{name} reaches beyond the edge of the map; it must lie inside it whole")
    cols = np.arange(*_span(x_min, x_max, grid.cell_m, grid.cols))
    rows = np.arange(*_span(y_min, y_max, grid.cell_m, grid.rows))
    x, y = grid.cell_to_xy(rows[:, None], cols[None, :])
    inside = shapely.intersects_xy(plane, *np.broadcast_arrays(x, y))
    if not inside.any():
        raise InputError(f"{name} covers no cell centre: it must be larger than a cell of {grid.cell_m:g} m")
    row, col = np.nonzero(inside)
    return row + rows[0], col + cols[0]


def _span(low: float, high: float, cell_m: float, count: int) -> tuple[int, int]:
    first = int(np.clip(np.floor(low / cell_m + count / 2), 0, count - 1))
    return first, int(np.clip(np.ceil(high / cell_m + count / 2), first + 1, count))


def _to_plane(area: Area, fence: Any) -> Any:
    """The shape in the area's metres; longitudes are first brought next to the area's, however they were written."""
    near = shapely.transform(fence, lambda lonlat: np.column_stack([_near(lonlat[:, 0], area.lon), lonlat[:, 1]]))
    fine = shapely.segmentize(near, _EDGE_DEG)
    return shapely.transform(fine, lambda lonlat: np.column_stack(area.to_xy(lonlat[:, 1], lonlat[:, 0])))


def _near(lon: Any, centre: float) -> Any:
    return centre + (np.asarray(lon) - centre + 540) % 360 - 180


def cells_to_shape(grid: Grid, mask: npt.ArrayLike) -> Any:
    """The outline of the cells where `mask` is true, in degrees; `fences_to_cells` turns it into these cells again."""
    rows, cols = np.nonzero(np.asarray(mask))
    if not len(rows):
        raise InputError("an outline needs at least one cell, got none")
    return _outline(grid, rows, cols, np.ones(rows.size, np.int64))


def _outline(grid: Grid, rows: Any, cols: Any, sides: Any) -> Any:
    """The outline of squares of cells."""
    x, y = grid.cell_to_xy(rows + (sides - 1) / 2, cols + (sides - 1) / 2)
    half = sides * grid.cell_m / 2
    plane = shapely.union_all(shapely.box(x - half, y - half, x + half, y + half))

    def to_degrees(xy: Any) -> Any:
        lat, lon = grid.area.to_latlon(xy[:, 0], xy[:, 1])
        return np.column_stack([_near(lon, grid.area.lon), lat])

    return shapely.transform(plane, to_degrees)


def fence_outlines(metric: OnMap) -> list[Any]:
    """The outlines of a metric's fences, in degrees, fence 1 first."""
    numbers = range(1, metric.totals["fences"] + 1)
    return [_outline(metric.grid, *metric.leaves(metric.fence_members(number))) for number in numbers]


def fences_to_geojson(fences: Iterable[Any], properties: Iterable[Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """A FeatureCollection of the fences, one feature each, coordinates to 1e-6 degrees (a decimetre)."""
    shapes = list(fences)
    notes = [{} for _ in shapes] if properties is None else [dict(p) for p in properties]
    features = [
        {
            "type": "Feature",
            "properties": note,
            "geometry": mapping(shapely.transform(fence, lambda xy: np.round(xy, 6))),
        }
        for fence, note in zip(shapes, notes, strict=True)
    ]
    return {"type": "FeatureCollection", "features": features}
