# SPDX-License-Identifier: Apache-2.0
"""`TiledMetric`: a metric in a folder of tiles, opened only where it is looked at.

    manifest.json     plan, tiles in the order of the Z-order curve, totals by tile, certificate, sources
    tiles/*.parquet   exponent, mass and scale of each location
    edges/*.parquet   the neighbours of each location
    build/...         what the tiles were built from; needed for updates only

The folder is a path or an address that fsspec knows. It is a `Metric` in every respect: what asks for all of it (its
graph, its masses) gets all of it; what asks about a place (`locate`, `near`, reports) opens the tiles around.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..area import Area
from ..errors import FileError, InputError, OutsideError, require_choice
from ..levels import FloatArray, IntArray, units_to_mass
from ..locations import Grid, Locations
from ..metric.conformal import conformal_graph
from ..metric.graph import Graph
from ..metric.metric import Metric
from .plan import MARGIN_CELLS, Box, TilePlan, Tiling
from .store import CachedStore, Columns
from .window import Window, box_grid, read_window, tile_leaves

__all__ = ["MANIFEST", "TiledMetric", "is_tiled", "measure_units", "open_tiles", "tile_weights"]

IndexArray = npt.NDArray[np.int32]

FORMAT, FORMAT_VERSION, MANIFEST = "geoelastic tiles", 1, "manifest.json"
_MEASURE_TOTAL = 2**31
#: The manifest tells how much of an output measure lies in each square of this many cells, a multiple of the largest
#: location: enough to bound what lies in tiles that are not opened.
BLOCK_CELLS = 128


def is_tiled(path: str | os.PathLike[str]) -> bool:
    """Whether a metric at `path` would be one in tiles: a folder, or an address."""
    text = os.fspath(path)
    return "://" in text or os.path.isdir(text)  # noqa: PTH112 (an address is not a Path)


def open_tiles(path: str | os.PathLike[str]) -> TiledMetric:
    """Open a tiled metric; reads its manifest and no tile."""
    store = CachedStore(os.fspath(path))
    if not store.exists(MANIFEST):
        raise FileError(f"{store.address(MANIFEST)}: no such file: not a tiled metric, or its build did not end yet")
    try:
        head = json.loads(store.read(MANIFEST))
        content = head["content"]
        whole = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest() == head["sha256"]
    except (ValueError, KeyError, TypeError):
        raise FileError(f"{store.address(MANIFEST)}: truncated, corrupt or not a manifest") from None
    if head.get("format") != FORMAT:
        raise FileError(f"{store.address(MANIFEST)}: not a geoelastic manifest")
    if not isinstance(head["version"], int) or head["version"] > FORMAT_VERSION:
        raise FileError(
            f"{store.address(MANIFEST)}: written by a newer geoelastic; this one reads up to {FORMAT_VERSION}"
        )
    if not whole:
        raise FileError(f"{store.address(MANIFEST)}: corrupt: its content does not match its checksum")
    return TiledMetric(store, content)


def tile_weights(columns: Columns, output: str, densest: float) -> FloatArray:
    """The weight of each location of a tile under the output measure "mass" or "uniform", before it is made whole."""
    weights: FloatArray = 4.0 ** columns["exponent"] if output == "uniform" else columns["mass"] / densest
    return weights


def measure_units(columns: Columns, output: str, densest: float, total: float, n: int) -> IntArray:
    """The output measure of each location of a tile in whole units, 2^31 in all; at least one unit each."""
    scaled = tile_weights(columns, output, densest) * ((_MEASURE_TOTAL - n) / total)
    return np.maximum(np.floor(scaled), 1).astype(np.int64)


class TiledMetric(Metric):
    """A metric in tiles; see the module. `opened`: the tiles whose locations have been read so far."""

    def __init__(self, store: CachedStore, content: dict[str, Any]) -> None:
        plan = TilePlan.from_dict(content["plan"])
        values = {
            "store": store, "plan": plan, "content": content, "opened": set(), "method": "conformal",
            "requirement": plan.make_requirement(), "l_from": plan.l_from, "l_top": plan.l_top,
            "frame_cells": plan.frame_cells, "framed": None, "certificate": content["certificate"],
            "info": content["info"],
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)

    store: CachedStore
    plan: TilePlan
    content: dict[str, Any]
    opened: set[int]

    def __repr__(self) -> str:
        return f"TiledMetric({self.store.root!r}, n={self.n}, tiles={self.tiling.n})"

    @property
    def n(self) -> int:
        return int(self.content["n"])

    @property
    def grid(self) -> Grid:
        return self.plan.grid

    @property
    def tiling(self) -> Tiling:
        return self.plan.tiling

    @cached_property
    def first(self) -> IntArray:
        """The number of the first location of each tile, and the number of all at the end."""
        return np.array([tile["first"] for tile in self.content["tiles"]] + [self.n], np.int64)

    @property
    def totals(self) -> dict[str, Any]:
        """What the manifest says of all locations: their layout and number, how many can be secrets, fences, mass."""
        mass = sum(tile["mass"] for tile in self.content["tiles"])
        return {
            "layout": "adaptive",
            "locations": self.n,
            "secrets": self.certificate["secret_outside_fences"],
            "cartogram": False,
            "fences": 0,
            "mass": float(units_to_mass(mass)),
        }

    @property
    def identity(self) -> str | None:
        """The name by which ledgers know the metric, if its manifest says so."""
        found: str | None = self.content.get("identity")
        return found

    def window(self, box: Box, tiles: list[int] | None = None, *, edges: bool = True) -> tuple[Window, IndexArray]:
        """The locations of a box (cut at multiples of 64 cells) with their neighbours, and their scales."""
        chosen = self.tiling.meeting(box) if tiles is None else tiles
        self.opened.update(chosen)
        listed = self.content["tiles"]
        layout = {tile: listed[tile]["tile"] for tile in chosen}
        links = {tile: listed[tile]["edges"] for tile in chosen} if edges else None
        self.store.fetch([*layout.values(), *(links or {}).values()])
        window = read_window(self.store, self.plan, box, chosen, layout, links)
        scales = np.concatenate([self.store.read_table(layout[tile])[0]["scale"] for tile in chosen])
        base = np.concatenate([[0], np.cumsum([listed[tile]["n"] for tile in chosen])])
        rank = np.searchsorted(np.array(chosen), window.tile)
        return window, scales[base[rank] + window.number].astype(np.int32)

    def open_tile(self, tile: int) -> tuple[Columns, Columns, IndexArray]:
        """The columns of a tile's locations, those of their neighbours, and (row, column, size) of its locations."""
        listed = self.content["tiles"][tile]
        leaves = self._leaves(tile)
        return self.store.read_table(listed["tile"])[0], self.store.read_table(listed["edges"])[0], leaves

    def numbers(self, window: Window) -> IntArray:
        """The number in the whole map of each location of a window."""
        return self.first[window.tile] + window.number

    def tile_of(self, i: int) -> int:
        """The tile of a location."""
        return int(np.searchsorted(self.first, self._checked(i), side="right") - 1)

    def leaf(self, i: int) -> tuple[int, int, int]:
        """(row, column, size) of a location; opens its tile."""
        tile = self.tile_of(i)
        row, col, size = self._leaves(tile)[i - int(self.first[tile])]
        return int(row), int(col), int(size)

    def locate(self, lat: float, lon: float) -> int:
        row, col = self.grid.locate(lat, lon)
        tile = self.tiling.tile_of(row, col)
        leaves = self._leaves(tile)
        hit = (leaves[:, 0] <= row) & (row < leaves[:, 0] + leaves[:, 2])
        hit &= (leaves[:, 1] <= col) & (col < leaves[:, 1] + leaves[:, 2])
        return int(self.first[tile]) + int(np.flatnonzero(hit)[0])

    def at_cells(self, row: npt.ArrayLike, col: npt.ArrayLike) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """The location of each cell and whether it may be a secret; opens the tiles of these cells only."""
        rows, cols = np.asarray(row, np.int64), np.asarray(col, np.int64)
        index, secret = np.empty(rows.shape, np.int64), np.empty(rows.shape, bool)
        places, which = np.unique(np.stack([rows, cols]) // self.tiling.side, axis=1, return_inverse=True)
        for k, place in enumerate(places.T.tolist()):
            here, tile = which.ravel() == k, self.tiling.tile_of(*(part * self.tiling.side for part in place))
            leaves, box = self._leaves(tile), self.tiling.box(tile)
            low = np.array([box.row, box.col, 0], np.int32)
            owner = kernels.paint_owner(*box.shape, *np.ascontiguousarray((leaves - low).T))
            number = owner[rows[here] - box.row, cols[here] - box.col]
            index[here] = self.first[tile] + number
            secret[here] = self._outside_frame(*leaves[number].T)
        return index, secret

    def latlon(self, i: int) -> tuple[float, float]:
        row, col, size = self.leaf(i)
        half = (size - 1) / 2
        lat, lon = self.grid.cell_to_latlon(row + half, col + half)
        return float(lat), float(lon)

    def is_secret(self, i: int) -> bool:
        return bool(self._outside_frame(*self.leaf(i)))

    def _outside_frame(self, row: Any, col: Any, size: Any) -> Any:
        margin, rows, cols = self.frame_cells, self.grid.rows, self.grid.cols
        low = (margin <= row) & (margin <= col)
        return low & (row + size <= rows - margin) & (col + size <= cols - margin)

    def near(self, area: Area, *, margin_cells: int = MARGIN_CELLS) -> tuple[Metric, tuple[int, int]]:
        """The part of the map around `area` as a metric of its own, and its south-west cell in the map; only the
        tiles that it meets are opened.

        Its distances are those along paths inside the part. It is not certified; `extract` cuts and certifies.
        """
        x = np.array([-1, -1, 1, 1]) * area.width_m / 2
        y = np.array([-1, 1, -1, 1]) * area.height_m / 2
        rows, cols = (np.asarray(part, float) for part in self._cells_of(*area.to_latlon(x, y)))
        if not (rows.max() >= 0 and cols.max() >= 0 and rows.min() < self.grid.rows and cols.min() < self.grid.cols):
            raise OutsideError("the region must overlap the map")
        step = MARGIN_CELLS
        low = [int(max(0, v.min() - margin_cells)) // step * step for v in (rows, cols)]
        high = [math.ceil((v.max() + margin_cells) / step) * step for v in (rows, cols)]
        box = Box(low[0], low[1], min(high[0], self.grid.rows), min(high[1], self.grid.cols))
        window, scale = self.window(box, edges=False)
        leaves, kept = window.locations.cut(box_grid(self.grid, box), 0, 0)
        scale = scale[kept]
        framed = np.ones(box.shape, bool)
        margin = self.frame_cells
        framed[max(margin - box.row, 0) : max(self.grid.rows - margin - box.row, 0),
               max(margin - box.col, 0) : max(self.grid.cols - margin - box.col, 0)] = False  # fmt: skip
        part = Metric(
            leaves, window.mass_units[kept], conformal_graph(leaves.neighbours(), scale), np.zeros(leaves.n, np.int32),
            self.method, requirement=self.requirement, l_from=self.l_from, l_top=self.l_top, framed=framed, scale=scale,
            certificate={}, info=self.info,
        )  # fmt: skip
        return part, (box.row, box.col)

    def _cells_of(self, lat: Any, lon: Any) -> tuple[Any, Any]:
        x, y = self.grid.area.to_xy(lat, lon)
        return np.asarray(y) / self.grid.cell_m + self.grid.rows / 2, np.asarray(
            x
        ) / self.grid.cell_m + self.grid.cols / 2

    def measure_of(self, columns: Columns, output: str) -> IntArray:
        """The whole output measure of each location of a tile (or of any others), from their `exponent` and `mass`."""
        numbers = self.measure_totals(output)
        return measure_units(columns, output, numbers["densest"], numbers["total"], self.n)

    def measure_totals(self, output: str) -> dict[str, Any]:
        """What the manifest says of an output measure: `densest`, `total`, and units by block of cells."""
        found: dict[str, Any] = self.content["measures"][require_choice("output", output, ("mass", "uniform"))]
        return found

    def _leaves(self, tile: int) -> IndexArray:
        cache: dict[int, IndexArray] = self.__dict__.setdefault("_leaf_cache", {})
        if tile not in cache:
            self.opened.add(tile)
            name = self.content["tiles"][tile]["tile"]
            exponents = self.store.read_table(name)[0]["exponent"]
            while len(cache) >= 64:
                cache.pop(next(iter(cache)))
            cache[tile] = tile_leaves(self.store, self.tiling, tile, name, exponents)
        return cache[tile]

    @cached_property
    def _whole(self) -> tuple[Window, IndexArray]:
        rows, cols = self.grid.shape
        return self.window(Box(0, 0, rows, cols))

    @cached_property
    def locations(self) -> Locations:  # type: ignore[override]
        at = self._whole[0].locations
        return Locations(self.grid, "adaptive", at.row, at.col, at.size)

    @cached_property
    def mass_units(self) -> IntArray:  # type: ignore[override]
        mass = self._whole[0].mass_units
        mass.setflags(write=False)
        return mass

    @cached_property
    def graph(self) -> Graph:  # type: ignore[override]
        window, scale = self._whole
        return conformal_graph(window.neighbours, scale)

    @cached_property
    def fence(self) -> IndexArray:  # type: ignore[override]
        none = np.zeros(self.n, np.int32)
        none.setflags(write=False)
        return none

    @cached_property
    def scale(self) -> IndexArray:  # type: ignore[override]
        scale = self._whole[1]
        scale.setflags(write=False)
        return scale

    def with_fences(self, fences: Any = (), *, remove: Any = (), **options: Any) -> Metric:
        raise InputError("fences are carved into an extract: cut one from this map first (geoelastic extract)")
