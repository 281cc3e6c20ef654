# SPDX-License-Identifier: Apache-2.0
"""The parts of a map in tiles that reports are drawn from: windows of whole blocks around a quarter of a tile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _kernels as kernels
from ..arrays import FloatArray, IndexArray, IntArray
from ..levels import LEVEL_BITS
from ..metric.measures import measure_digest
from ..metric.part import Blocks, Part, reach_of
from ..metric.relief import lowered
from .store import Columns
from .tiling import Box
from .window import Window, graph_of, misfit, place_of, slopes

if TYPE_CHECKING:
    from .tiled_metric import TiledMetric

#: The manifest tells how much of an output measure lies in each square of this many cells, a multiple of the largest
#: location: enough to bound what lies in tiles that are not opened.
BLOCK_CELLS = 128
_MEASURE_TOTAL = 2**31
#: A part is first as wide as this many levels in the land of its middle, which most draws do not leave.
_USUAL_LEVELS = 7.0
#: Parts that are kept at hand.
_KEPT = 6
#: Units of a place in a half cell.
_UNIT = 1 << kernels.LENGTH_BITS


def tile_weights(columns: Columns, output: str, densest: float) -> FloatArray:
    """The weight of each location of a tile under the output measure "mass" or "uniform", before it is made whole: as
    `metric.measures` has it, so that the measure is that of the same map in one piece."""
    area = 4.0 ** columns["exponent"]
    weights: FloatArray = area if output == "uniform" else area * (columns["mass"] / area / densest)
    return weights


def measure_units(columns: Columns, output: str, densest: float, total: float, n: int) -> IntArray:
    """The output measure of each location of a tile in whole units, 2^31 in all; at least one unit where there is any
    weight."""
    weights = tile_weights(columns, output, densest)
    units = np.clip(np.floor(weights * ((_MEASURE_TOTAL - n) / total)), 1, _MEASURE_TOTAL).astype(np.int64)
    return np.where(weights > 0, units, 0)


def half_cells(leaves: IndexArray, place: IndexArray | None) -> tuple[FloatArray, FloatArray]:
    """(y, x) of locations (row, column, size) in half cells: of their centres, or of their places if there are any."""
    if place is not None:
        return np.asarray(place[:, 1] / _UNIT, np.float64), np.asarray(place[:, 0] / _UNIT, np.float64)
    row, col, size = leaves.astype(np.float64).T
    return 2 * row + size, 2 * col + size


class TiledParts:
    """Parts of a map in tiles for one output measure; the last ones are kept."""

    def __init__(self, metric: TiledMetric, output: str) -> None:
        self._metric, self._output = metric, output
        self._told: dict[str, Any] = metric.content["measures"][output]
        self._units = np.array(self._told["block_units"], np.int64)
        self._sharp = metric.relief is not None and metric.relief.output == output
        self._slope = min(tile["low_slope" if self._sharp else "slope"] for tile in metric.content["tiles"])
        self._boxes = np.array(metric.content["blocks"], np.float64)
        self._parts: dict[tuple[int, int, int, int], Part] = {}

    def around(self, i: int, wider: int = 0) -> Part:
        """The part around the quarter of a tile in which location i lies."""
        row, col, _ = self._metric.leaves(i)
        return self._part(self._box(int(row), int(col), wider))

    def together(self, indices: IntArray) -> list[IntArray]:
        """Positions of locations with the same part."""
        if not indices.size:
            return []
        row, col, _ = self._metric.leaves(indices)
        half = self._metric.tiling.side // 2
        quarters, which = np.unique(np.stack([row, col]) // half, axis=1, return_inverse=True)
        boxes: dict[Any, list[int]] = {}
        for k, (r, c) in enumerate((quarters * half).T.tolist()):
            boxes.setdefault(self._box(r, c, 0), []).append(k)
        return [np.flatnonzero(np.isin(which.ravel(), some)) for some in boxes.values()]

    def measure(self) -> IntArray:
        """The output measure of every location."""
        whole = self._metric.whole()
        return self._measure_of({"exponent": whole.locations.exponents(), "mass": whole.mass_units})

    def measure_digest(self) -> str:
        """The name of the measure as the manifest tells it; `whole` finds out if that is not so."""
        return str(self._told["sha256"]) if "sha256" in self._told else measure_digest(self.measure())

    def _measure_of(self, columns: Columns) -> IntArray:
        return measure_units(columns, self._output, self._told["densest"], self._told["total"], self._metric.n)

    def _box(self, row: int, col: int, wider: int) -> Box:
        """Whole blocks: a quarter of a tile, and around it what is usual, twice as much for each `wider`."""
        tiling, half, block = self._metric.tiling, self._metric.tiling.side // 2, BLOCK_CELLS
        tile = self._metric.content["tiles"][tiling.tile_of(row, col)]
        usual = _USUAL_LEVELS * 2.0**LEVEL_BITS / max(2 * tile["pace"], 1)
        step = min(half, block)
        margin = step * ((1 << wider) * max(-(-int(usual) // step), 1))
        low = [(part // half * half - margin) // block * block for part in (row, col)]
        high = [-(-(part // half * half + half + margin) // block) * block for part in (row, col)]
        return tiling.clipped(Box(*low, *high))

    def _part(self, box: Box) -> Part:
        key = (box.row, box.col, box.row_end, box.col_end)
        found = self._parts.pop(key, None)
        if found is None:
            found = self._read(box)
            while len(self._parts) >= _KEPT:
                self._parts.pop(next(iter(self._parts)), None)
        self._parts[key] = found
        return found

    def _read(self, box: Box) -> Part:
        window, columns = self._metric.window(box)
        return self.part_of(window, columns)

    def part_of(self, window: Window, columns: Columns) -> Part:
        """A window as a part; `FileError` where it is not what the manifest tells of it."""
        at, box = window.locations, window.box
        graph = graph_of(self._metric.store, window, columns["scale"], self._metric.rise(window))
        if self._sharp:
            graph = lowered(graph, self._metric.height(window))
        measure = self._measure_of({"exponent": at.exponents(), "mass": window.mass_units})
        measure[window.fence > 0] = 0  # no search comes there
        row, col = at.row + np.int32(box.row), at.col + np.int32(box.col)
        across = self._units.shape[1]
        block = (row // BLOCK_CELLS * across + col // BLOCK_CELLS).astype(np.int32)
        found = np.bincount(block, weights=measure, minlength=self._units.size).astype(np.int64)
        there = np.bincount(block, minlength=self._units.size) > 0  # a window holds all of a block or nothing
        if np.any(there & (found != self._units.ravel())):
            raise misfit(self._metric.store)
        places = half_cells(np.column_stack([row, col, at.size]), place_of(columns))
        blocks = Blocks(self._units.ravel(), self._boxes, self._slope, block, np.stack(places))
        low_y, high_y, low_x, high_x = self._boxes[block].T
        inside = (low_y <= places[0]) & (places[0] <= high_y) & (low_x <= places[1]) & (places[1] <= high_x)
        if not (inside.all() and min(slopes(window, graph).values()) >= self._slope):
            raise misfit(self._metric.store)
        return Part(graph, measure, self._metric.numbers(window), reach_of(graph, window.rim), blocks)
