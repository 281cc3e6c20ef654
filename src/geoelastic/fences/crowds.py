# SPDX-License-Identifier: Apache-2.0
"""What a fence has to hold, and the public map on which that is counted: buildings, POIs, privacy mass, plain km²."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.ndimage import distance_transform_edt, label

from ..area import Area
from ..arrays import BoolArray, FloatArray, IndexArray, read_only
from ..errors import InputError, require_able, require_choice, require_latlon, require_nonnegative, require_positive
from ..locations import Grid
from .shapes import OnMap

_BLOCK_DEG = 0.25
#: A town reaches this far around its buildings, scattered houses further, and last comes everything.
_REACHES_M = (300.0, 1000.0, 3000.0, math.inf)
#: What OpenStreetMap objects are counted as; a POI is something that people who do not live there come for.
COUNTED = {
    "buildings": ("building",),
    "POIs": ("amenity", "shop", "office", "leisure", "tourism", "craft", "healthcare"),
}


@dataclass(frozen=True, eq=False)
class Crowd:
    """What the core of a fence has to hold: at least `amount` of `cells`, a public map of what `unit` names.

    `margin_m` is the width of the strip around the core. `regions` numbers the parts of the map that are cut up each by
    itself, 0 where no fence may be; None is one region. `min_cells` keeps a single tall building from being a core.
    """

    grid: Grid
    cells: FloatArray
    amount: float
    unit: str
    margin_m: float = 300.0
    regions: IndexArray = None  # type: ignore[assignment]  # set below if not given
    min_cells: int = 9

    def __post_init__(self) -> None:
        require_positive("amount", self.amount)
        require_nonnegative("margin_m", self.margin_m)
        if self.regions is None:
            object.__setattr__(self, "regions", np.ones(self.grid.shape, dtype=np.int32))
        for name, array in (("cells", self.cells), ("regions", self.regions)):
            if array.shape != self.grid.shape:
                raise InputError(f"'{name}' must have the grid's shape {self.grid.shape}, got {array.shape}")
        if not np.all(np.isfinite(self.cells) & (self.cells >= 0)):
            raise InputError("'cells' must be finite numbers >= 0 in every cell")


def area_crowd(lat: float, lon: float, *, area_km2: float = 1.0, margin_m: float = 300, cell_m: float = 100) -> Crowd:
    """Without a map of people: so many km² of the block of a quarter of a degree that holds the place."""
    grid, block = _block_of(lat, lon, margin_m, cell_m)
    return Crowd(grid, np.full(grid.shape, (cell_m / 1000) ** 2), area_km2, "km²", margin_m, block.astype(np.int32))


def metric_crowd(metric: OnMap, amount: float = 4.0, *, margin_m: float = 300) -> Crowd:
    """So many units of the privacy mass of a metric; one unit is what a disc of r_small holds in the city."""
    require_able("metric", metric, "mass", "a metric (ge.load reads one from a file)")
    cells = (np.asarray(metric.mass) / metric.locations.area_cells)[metric.locations.owner]
    # mass is a + b q: where it is twice the least of the map there is something
    regions = _regions(metric.grid, cells, cells > 2 * cells.min(), amount)
    return Crowd(metric.grid, cells, amount, "units of mass", margin_m, regions)


def osm_crowd(
    path: str | Path, what: str, lat: float, lon: float, *, amount: float, margin_m: float = 300, cell_m: float = 100
) -> Crowd:
    """So many buildings or POIs of an OpenStreetMap file, within the block of a quarter of a degree of the place."""
    require_choice("what", what, COUNTED)
    grid, block = _block_of(lat, lon, margin_m, cell_m)
    cells = _count(str(path), what, grid)
    regions = _regions(grid, cells, cells > 0, amount, block & (cells >= 0))
    return Crowd(grid, np.maximum(cells, 0.0), amount, what, margin_m, regions)


@lru_cache(maxsize=16)
def _count(path: str, what: str, grid: Grid) -> FloatArray:
    """Objects per cell; -1 where the file has no data because it ends before."""
    from ..quality import Recipe, quality_from_osm
    from ..quality.recipe import Layer, Match
    from ..sources.features import TagRule
    from ..sources.osm import osm_box

    matches = tuple(Match(TagRule(key, None, frozenset(), "any"), 1.0) for key in COUNTED[what])
    quality = quality_from_osm(path, grid.area, grid.cell_m, Recipe(what, "counts", (Layer(what, 1.0, matches),)))
    cells = np.array(quality.cells)
    box = osm_box(path)
    if box is not None:
        lat, lon = grid.cell_to_latlon(*np.indices(grid.shape))
        inside = (lat >= box[0]) & (lat <= box[2]) & ((lon - box[1]) % 360 <= box[3] - box[1])
        cells[~inside & (cells == 0)] = -1
    return read_only(cells)


def _regions(
    grid: Grid, cells: FloatArray, built: BoolArray, amount: float, where: BoolArray | None = None
) -> IndexArray:
    """Parts of the map that hang together and hold the amount: towns first, then what is left of wider surroundings.

    So that the fence of a house on the shore is not most of the sea. The rule is public: it does not know the place.
    """
    allowed = np.ones(grid.shape, dtype=bool) if where is None else where
    far_m = distance_transform_edt(~built) * grid.cell_m if built.any() else np.zeros(grid.shape)
    regions: IndexArray = np.zeros(grid.shape, dtype=np.int32)
    for reach_m in _REACHES_M:
        piece, number = label(allowed & (far_m <= reach_m) & (regions == 0))
        held = np.bincount(piece.ravel(), weights=cells.ravel(), minlength=number + 1)
        enough = held >= (amount if reach_m < math.inf else 0)
        enough[0] = False
        regions = np.where(enough[piece], piece + regions.max(), regions).astype(np.int32)
    return regions


def _block_of(lat: float, lon: float, margin_m: float, cell_m: float) -> tuple[Grid, BoolArray]:
    """The block that holds a place, as a grid, and which of its cells are the block's own.

    Blocks lie at multiples of a quarter of a degree of latitude and at a whole fraction of its circle, the same for
    everybody.
    """
    lat, lon = require_latlon(lat, lon)
    margin_m, cell_m = require_nonnegative("margin_m", margin_m), require_positive("cell_m", cell_m)
    south = min(math.floor(lat / _BLOCK_DEG), math.ceil(90 / _BLOCK_DEG) - 1) * _BLOCK_DEG
    blocks = max(3, round(360 / _BLOCK_DEG * math.cos(math.radians(south + _BLOCK_DEG / 2))))
    west = math.floor((lon + 180) % 360 * blocks / 360) * 360 / blocks - 180
    return _block(south, west, 360 / blocks, margin_m, cell_m)


@lru_cache(maxsize=16)
def _block(south: float, west: float, width_deg: float, margin_m: float, cell_m: float) -> tuple[Grid, BoolArray]:
    north = south + _BLOCK_DEG
    block = Area.from_bounds(south, west, north, west + width_deg)
    wide = Area(block.lat, block.lon, block.width_m + 2 * margin_m, block.height_m + 2 * margin_m)
    grid = Grid.over(wide, cell_m)
    lat, lon = grid.cell_to_latlon(*np.indices(grid.shape))
    # the grid reaches over the block, for the margin: cells beyond it, but for its rim, belong to other blocks
    rim = cell_m / 111_000
    rim_lon = rim / max(0.01, math.cos(math.radians(north)))
    turned = (lon - west + 540) % 360 - 180
    own = (lat > south - rim) & (lat < north + rim) & (turned > -rim_lon) & (turned < width_deg + rim_lon)
    return grid, own
