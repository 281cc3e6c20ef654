# SPDX-License-Identifier: Apache-2.0
"""`Zones`: the parts of a map that are to be counted, as a number for every cell.

A cell belongs to the zone that holds its centre. What no zone holds is *elsewhere*: people may have been there too,
and an estimate that leaves no room for them would push them into the zones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from ..arrays import FloatArray, IndexArray, IntArray
from ..errors import InputError, import_extra, require_count, require_positive
from ..fences import read_named_fences
from ..locations import Grid
from ..metric import AnyMetric
from ..store.digest import digest

_KINDS = "'grid:METRES', 'leaves:COUNT', 'h3:RESOLUTION', a GeoJSON file or a list of polygons"
#: A square is cut in four if it holds more than this many times its part.
LARGEST_PIECE = 2.0
#: Edges of a polygon are straight in degrees; pieces of this length are straight in metres too.
_EDGE_DEG = 0.01


@dataclass(frozen=True, eq=False)
class Zones:
    """`label`: the zone of every cell of `grid`, (rows, cols), -1 elsewhere; one name and one outline a zone."""

    grid: Grid
    label: IndexArray
    names: tuple[str, ...]
    shapes: tuple[Any, ...]

    def __post_init__(self) -> None:
        if self.label.shape != self.grid.shape:
            raise InputError(f"'label' must have a number for each of {self.grid.shape} cells, got {self.label.shape}")
        if not self.names:
            raise InputError("'zones' must hold the centre of at least one cell of the map, got none")
        self.label.setflags(write=False)

    @property
    def n(self) -> int:
        return len(self.names)

    @property
    def digest(self) -> str:
        """A name of which cell lies in which zone."""
        return digest(self.label.astype("<i4"))

    @property
    def cells(self) -> IntArray:
        """The number of cells of each zone."""
        return np.bincount(self.label[self.label >= 0], minlength=self.n)

    @property
    def xy(self) -> FloatArray:
        """The middle of each zone's cells, in metres, (n, 2)."""
        row, col = np.nonzero(self.label >= 0)
        which = self.label[row, col]
        x, y = self.grid.cell_to_xy(row, col)
        middle = np.column_stack([np.bincount(which, part, self.n) for part in (x, y)]) / self.cells[:, None]
        return np.asarray(middle)

    def locate(self, lat: npt.ArrayLike, lon: npt.ArrayLike) -> IntArray:
        """The zone of each place; -1 elsewhere and outside the map."""
        row, col = self.grid.latlon_to_cell(lat, lon)
        return np.where(row < 0, -1, self.label[row, col]).astype(np.int64)


def make_zones(metric: AnyMetric, zones: Any) -> Zones:
    """Zones over the map of a metric, from whatever describes them: see `_KINDS`."""
    if isinstance(zones, Zones):
        if zones.grid != metric.grid:
            raise InputError("the zones were made for another map: make them again for this one")
        return zones
    if isinstance(zones, str):
        kind, colon, value = zones.partition(":")
        if colon and kind in ("grid", "leaves", "h3"):
            try:
                number = float(value)
            except ValueError:
                number = math.nan
            if not math.isfinite(number):
                raise InputError(f"'zones' must be {_KINDS}, got {zones!r}")
            if kind == "grid":
                return grid_zones(metric.grid, number)
            if kind == "h3":
                return h3_zones(metric.grid, int(number))
            return leaf_zones(metric.grid, _cell_mass(metric), int(number))
        if not Path(zones).exists():
            raise InputError(f"'zones' must be {_KINDS}, got {zones!r}, which is no file")
    return polygon_zones(metric.grid, zones)


def grid_zones(grid: Grid, size_m: float) -> Zones:
    """Squares of `size_m` metres, rounded to whole cells, counted from the map's south-west corner."""
    side = min(max(1, round(require_positive("size_m", size_m) / grid.cell_m)), max(grid.shape))
    row, col = np.arange(grid.rows) // side, np.arange(grid.cols) // side
    label = row[:, None] * (int(col[-1]) + 1) + col[None, :]
    corners = [(int(r), int(c)) for r in range(0, grid.rows, side) for c in range(0, grid.cols, side)]
    names = tuple(f"{r // side}-{c // side}" for r, c in corners)
    return Zones(grid, label.astype(np.int32), names, tuple(_square(grid, r, c, side) for r, c in corners))


def leaf_zones(grid: Grid, weight: FloatArray, count: int) -> Zones:
    """About `count` squares of like weight: squares are cut in four until none has more than its part."""
    most = LARGEST_PIECE * float(weight.sum()) / require_count("count", count)
    side = 1 << max(grid.shape).bit_length()
    sums = np.zeros((side + 1, side + 1))
    sums[1 : grid.rows + 1, 1 : grid.cols + 1] = weight
    sums = sums.cumsum(0).cumsum(1)
    sums[grid.rows + 1 :] = sums[grid.rows]
    sums[:, grid.cols + 1 :] = sums[:, [grid.cols]]
    label = np.full(grid.shape, -1, np.int32)
    names: list[str] = []
    shapes: list[Any] = []
    todo = [(0, 0, side)]
    while todo:
        r, c, s = todo.pop()
        if r >= grid.rows or c >= grid.cols:
            continue
        inside = sums[r + s, c + s] - sums[r, c + s] - sums[r + s, c] + sums[r, c]
        if s > 1 and inside > most:
            half = s // 2
            todo += [(r + half, c + half, half), (r + half, c, half), (r, c + half, half), (r, c, half)]
            continue
        label[r : r + s, c : c + s] = len(names)
        names.append(f"{r}-{c}-{s}")
        shapes.append(_square(grid, r, c, s))
    return Zones(grid, label, tuple(names), tuple(shapes))


def h3_zones(grid: Grid, resolution: int) -> Zones:
    """The cells of Uber's H3 at a resolution."""
    h3 = import_extra("h3", "h3")
    if not 0 <= resolution <= 15:
        raise InputError(f"'resolution' of H3 must be in [0, 15], got {resolution}")
    lat, lon = grid.cell_to_latlon(*np.indices(grid.shape).reshape(2, -1))
    cells = [h3.latlng_to_cell(a, b, resolution) for a, b in zip(lat.tolist(), lon.tolist(), strict=True)]
    names, label = np.unique(cells, return_inverse=True)
    shapes = tuple(shapely.Polygon([(b, a) for a, b in h3.cell_to_boundary(name)]) for name in names)
    return Zones(grid, label.reshape(grid.shape).astype(np.int32), tuple(map(str, names)), shapes)


def polygon_zones(grid: Grid, source: Any) -> Zones:
    """Polygons of a GeoJSON file or object, or shapely polygons; a cell that several hold belongs to the first.

    A zone is called by its property `name` or `id`, else by its number from 1.
    """
    lat, lon = grid.cell_to_latlon(*np.indices(grid.shape).reshape(2, -1))
    label = np.full(lat.size, -1, np.int32)
    names: list[str] = []
    shapes: list[Any] = []
    for number, (shape, properties) in enumerate(read_named_fences(source), start=1):
        free = np.flatnonzero(label < 0)
        outline = shapely.segmentize(shape, _EDGE_DEG)
        shapely.prepare(outline)
        inside = free[shapely.contains_xy(outline, lon[free], lat[free])]
        if inside.size:
            label[inside] = len(names)
            names.append(str(properties.get("name", properties.get("id", number))))
            shapes.append(shape)
    return Zones(grid, label.reshape(grid.shape), tuple(names), tuple(shapes))


def _cell_mass(metric: AnyMetric) -> FloatArray:
    at = metric.locations
    return np.asarray((metric.mass / at.area_cells)[at.owner])


def _square(grid: Grid, row: int, col: int, side: int) -> Any:
    top, right = min(row + side, grid.rows), min(col + side, grid.cols)
    rows, cols = np.array([row, row, top, top]), np.array([col, right, right, col])
    lat, lon = grid.cell_to_latlon(rows - 0.5, cols - 0.5)
    return shapely.Polygon(np.column_stack([lon, lat]))
