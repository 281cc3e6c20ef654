# SPDX-License-Identifier: Apache-2.0
"""The parts of a map in tiles that reports are drawn from: the squares of cells around a place, or around a quarter of
a tile for the places of a table, that a search is likely to come to.

How far a square is away is guessed from places and scales where its tile is open. Where it is not yet, the way there is
taken to be like the way before, or, if there is none, that of the mean level per cell of the tile. The guess decides
what is opened, never what is reported: a search that comes to the rim of its part is begun again in a wider one.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..arrays import BoolArray, FloatArray, IndexArray, IntArray
from ..errors import FileError
from ..levels import LEVEL_BITS
from ..metric.decode import WEIGHT
from ..metric.graph import Graph
from ..metric.measures import measure_digest
from ..metric.part import Blocks, Part
from ..metric.relief import COARSE, SLACK_UNITS
from .store import Columns
from .window import centre_or_place, fence_of, misfit, tiles_around

if TYPE_CHECKING:
    from .tiled_metric import TiledMetric

#: The manifest tells how much of an output measure lies in each square of this many cells, a multiple of the largest
#: location: enough to bound what lies in tiles that are not opened.
BLOCK_CELLS = 128
_MEASURE_TOTAL = 2**31
#: Parts are made of squares as large as the largest location, or twice, four times, ... as large: where the way is a
#: few of them.
_SQUARE, _FEW = 64, 8
#: A part first has the squares that are nearer than this many levels by the guess, half-way from the square before:
#: most draws do not leave them (of a sixth of `synthetic:country` 4 in 5). Then so many times more. Two levels more,
#: and hardly any draw begins again, but all of them open one tile more.
_USUAL_LEVELS, _WIDER = 9.0, 1.5
#: Parts, and tiles, that are kept at hand.
_KEPT, _TILES_KEPT = 6, 64
#: Units of a place in a half cell; level units a half cell in one of a scale.
PLACE_UNIT, _SCALE_UNIT = 1 << kernels.LENGTH_BITS, 2.0**-kernels.SCALE_BITS
#: Cells of a location by its exponent.
_AREA: FloatArray = np.asarray(4.0 ** np.arange(256), np.float64)


def tile_weights(columns: Columns, output: str, densest: float) -> FloatArray:
    """The weight of each location of a tile under the output measure "mass" or "uniform", before it is made whole: as
    `metric.measures` has it, so that the measure is that of the same map in one piece."""
    area = _AREA[columns["exponent"]]
    weights: FloatArray = area if output == "uniform" else area * (columns["mass"] / area / densest)
    return weights


def measure_units(columns: Columns, output: str, densest: float, total: float, n: int) -> IntArray:
    """The output measure of each location of a tile in whole units, 2^31 in all; at least one unit where there is any
    weight."""
    weights = tile_weights(columns, output, densest)
    units = np.clip(np.floor(weights * ((_MEASURE_TOTAL - n) / total)), 1, _MEASURE_TOTAL).astype(np.int64)
    return np.where(weights > 0, units, 0)


@dataclass(frozen=True, eq=False)
class _CheckedTile:
    """The locations of a tile, checked against what the manifest tells of them: (row, column, size) of each, its fence,
    measure and block, and its place (east, north) with LENGTH_BITS fractional bits. `squares`: the first one in each
    square of _SQUARE cells."""

    leaves: IndexArray
    squares: IntArray
    fence: IndexArray
    measure: IntArray
    block: IndexArray
    place: IndexArray

    def begins(self, side: int) -> tuple[IntArray, IndexArray]:
        """The first location in each square of so many cells, at least _SQUARE, and (row, column) of these squares."""
        begins = self.squares[_firsts(self.leaves[self.squares], side)]
        return begins, self.leaves[begins, :2] // side


def _firsts(leaves: IndexArray, side: int) -> IntArray:
    """The first location in each square of so many cells, a power of two: along the Z-order curve all those of a square
    follow each other."""
    row, col = leaves.T[:2] // side
    square = row << 16 | col
    return np.flatnonzero(np.append(True, square[1:] != square[:-1]))


@dataclass(frozen=True)
class _SquaresToOpen:
    """Squares of so many cells, (row, column) of each on the map, by tile."""

    side: int
    by_tile: dict[int, list[tuple[int, int]]]

    def hold(self, number: int, tile: _CheckedTile) -> IntArray:
        """Which locations of a tile have their south-west cell in one."""
        (begins, places), chosen = tile.begins(self.side), set(self.by_tile[number])
        held = [(row, col) in chosen for row, col in places.tolist()]
        return np.flatnonzero(np.repeat(held, np.diff(begins, append=tile.fence.size)))


def _of(values: Iterable[npt.NDArray[Any]], held: list[IntArray]) -> Any:
    """What is told by tile of the locations that are held there, one after the other."""
    return np.concatenate([some[at] for some, at in zip(values, held, strict=True)])


#: (x, y) in half cells, and level units a half cell, of a square in the mean of its cells.
_Mean = tuple[float, float, float]
#: What a part is around: (row, column) of squares, the side of what they are the first square of, and how much wider.
_Key = tuple[int, int, int, int]


class TiledParts:
    """Parts of a map in tiles for one output measure; the last ones are kept."""

    def __init__(self, metric: TiledMetric, output: str) -> None:
        self._metric, self._output = metric, output
        self._told: dict[str, Any] = metric.content["measures"][output]
        self._units = np.array(self._told["block_units"], np.int64)
        self._sharp = metric.relief is not None and metric.relief.output == output
        self._slack = COARSE if metric.relief is None else metric.relief.slack
        self._slope = min(tile["low_slope" if self._sharp else "slope"] for tile in metric.content["tiles"])
        self._boxes = np.array(metric.content["blocks"], np.float64)
        self._parts: dict[_Key, Part] = {}
        self._tiles: dict[int, _CheckedTile] = {}
        self._shared: set[tuple[int, int]] = set()

    def around(self, i: int, wider: int = 0) -> Part:
        """The part around location i; or around its quarter of a tile, if that has places of a table."""
        row, col, _ = (int(part) for part in self._metric.leaves(i))
        half = self._metric.tiling.side // 2
        quarter = row // half, col // half
        side = half if quarter in self._shared else _SQUARE
        key = (row // side, col // side, side, wider)
        found = self._parts.pop(key, None)
        if found is None:
            found = self._read(self._squares(key))
            while len(self._parts) >= _KEPT:
                self._parts.pop(next(iter(self._parts)), None)
        self._parts[key] = found
        return found

    def together(self, indices: IntArray) -> list[IntArray]:
        """Positions of locations that have the same part from now on: those in a quarter of a tile."""
        if not indices.size:
            return []
        row, col, _ = self._metric.leaves(indices)
        places = np.stack([row, col]) // (self._metric.tiling.side // 2)
        quarters, which, counts = np.unique(places, axis=1, return_inverse=True, return_counts=True)
        self._shared.update((int(r), int(c)) for r, c in quarters[:, counts > 1].T)
        order = np.argsort(which.ravel(), kind="stable")
        return np.split(order, np.cumsum(counts)[:-1])

    def measure(self) -> IntArray:
        """The output measure of every location."""
        whole = self._metric.whole()
        return self._measure_of({"exponent": whole.locations.exponents(), "mass": whole.mass_units})

    def measure_digest(self) -> str:
        """The name of the measure as the manifest tells it; `whole` finds out if that is not so."""
        return str(self._told["sha256"]) if "sha256" in self._told else measure_digest(self.measure())

    def whole(self) -> Part:
        """All of the map as one part; `FileError` where it is not what the manifest tells of it."""
        return self._read(None)

    def _measure_of(self, columns: Columns) -> IntArray:
        return measure_units(columns, self._output, self._told["densest"], self._told["total"], self._metric.n)

    def _squares(self, key: _Key) -> _SquaresToOpen:
        """The squares that a search around some of them may come to; their tiles are opened on the way."""
        tiling, (row, col, side, wider) = self._metric.tiling, key
        limit, square = _USUAL_LEVELS * _WIDER**wider * 2**LEVEL_BITS, _SQUARE
        pace = [tile["pace"] for tile in self._metric.content["tiles"]]
        slowly = 2 * pace[tiling.tile_of(row * side, col * side)]
        while square < tiling.side and _FEW * square * slowly < limit:
            square *= 2
        high, across = (-(-cells // square) for cells in (tiling.rows, tiling.cols))
        first, many = (row * side // square, col * side // square), max(side // square, 1)
        rows, cols = (range(at, min(at + many, end)) for at, end in zip(first, (high, across), strict=True))
        queue = [(0.0, r, c) for r in rows for c in cols]
        away = {(r, c): 0.0 for _, r, c in queue}
        means: dict[tuple[int, int], _Mean] = {}
        found: dict[int, list[tuple[int, int]]] = {}
        done: set[tuple[int, int]] = set()
        while queue:
            so_far, r, c = heapq.heappop(queue)
            if (r, c) in done:
                continue
            done.add((r, c))
            tile = tiling.tile_of(r * square, c * square)
            if tile not in found:
                found[tile] = []
                means |= self._means(tile, square)
            found[tile].append((r, c))
            here, mine = means.get((r, c)), pace[tile]
            for dr, dc, steps in _AROUND:
                there = (r + dr, c + dc)
                if there not in done and 0 <= there[0] < high and 0 <= there[1] < across:
                    other = means.get(there) or means.get((r - dr, c - dc))
                    if here is None or other is None:
                        way = steps * square * (mine + pace[tiling.tile_of(there[0] * square, there[1] * square)])
                    else:
                        way = math.hypot(other[0] - here[0], other[1] - here[1]) * (here[2] + other[2]) / 2
                    if so_far + way / 2 <= limit and so_far + way < away.get(there, np.inf):
                        away[there] = so_far + way
                        heapq.heappush(queue, (so_far + way, *there))
        return _SquaresToOpen(square, found)

    def _means(self, tile: int, square: int) -> dict[tuple[int, int], _Mean]:
        """Of the squares of a tile in which locations begin; opens the tile."""
        self._metric.fetch([tile])
        checked, columns = self._tile(tile), self._metric.columns_of(tile)
        (begins, places), area = checked.begins(square), _AREA[columns["exponent"]]
        told = (area, *(area * checked.place.T), area * columns["scale"])
        cells, *sums = (np.add.reduceat(part, begins) for part in told)
        means = np.array(sums) / cells * np.array([[1 / PLACE_UNIT], [1 / PLACE_UNIT], [_SCALE_UNIT]])
        return {(r, c): (x, y, pace) for (r, c), (x, y, pace) in zip(places.tolist(), means.T.tolist(), strict=True)}

    def _read(self, squares: _SquaresToOpen | None) -> Part:
        """The locations whose south-west cells lie in some squares (None: all), and the paths among them."""
        metric = self._metric
        chosen = list(range(metric.tiling.n)) if squares is None else sorted(squares.by_tile)
        metric.fetch(chosen)
        tiles = [self._tile(tile) for tile in chosen]
        held = [
            np.arange(tile.fence.size) if squares is None else squares.hold(k, tile)
            for k, tile in zip(chosen, tiles, strict=True)
        ]
        place = _of((tile.place for tile in tiles), held)
        graph, rim = self._graph(chosen, tiles, held, place)
        numbers = np.concatenate([metric.first[k] + some for k, some in zip(chosen, held, strict=True)])
        block, at = _of((tile.block for tile in tiles), held), np.ascontiguousarray(place.T[::-1]) / PLACE_UNIT
        blocks = Blocks(self._units.ravel(), self._boxes, self._slope, block, at)
        return Part(graph, _of((tile.measure for tile in tiles), held), numbers, rim, blocks)

    def _graph(
        self, chosen: list[int], tiles: list[_CheckedTile], held: list[IntArray], at: IndexArray
    ) -> tuple[Graph, BoolArray]:
        """The graph that reports go by, and its rim."""
        metric, store = self._metric, self._metric.store
        tables = {
            kind: [store.read_table(metric.content["tiles"][tile][kind])[0] for tile in chosen]
            for kind in metric.kinds(heights=self._sharp)
        }

        def each(kind: str, name: str) -> list[npt.NDArray[Any]]:
            return [table[name] for table in tables.get(kind, ())]

        sizes, height = [tile.fence.size for tile in tiles], each("heights", "height")
        if self._sharp and [some.size for some in height] != sizes:
            raise misfit(store)
        offset = np.cumsum([0, *sizes])
        kept = np.concatenate([first + some for first, some in zip(offset, held, strict=False)])
        number = np.full(offset[-1], -1, np.int32)
        number[kept] = np.arange(kept.size, dtype=np.int32)
        start, index, weight, rim, arcs, slope, longest = kernels.join_tiles(
            offset, *tiles_around(metric.tiling, chosen), each("edges", "slot"), each("edges", "step"),
            each("rises", "rise") if "rises" in tables else None, number,
            np.concatenate([tile.fence for tile in tiles]) > 0, at, _of(each("tile", "scale"), held),
            _of(height, held) if self._sharp else np.zeros(0, np.int32), self._slack, SLACK_UNITS,
        )  # fmt: skip
        if arcs < 0 or slope < self._slope:
            raise misfit(store)
        if longest > WEIGHT:
            raise FileError(
                f"{store.root}: corrupt: an edge must be at most {WEIGHT} level units long, got {longest:.0f}"
            )
        return Graph(start, index[:arcs], weight[:arcs]), rim

    def _tile(self, number: int) -> _CheckedTile:
        """A tile; `FileError` where it is not what the manifest tells of it."""
        found = self._tiles.get(number)
        if found is None:
            found = self._checked(number)
            while len(self._tiles) >= _TILES_KEPT:
                self._tiles.pop(next(iter(self._tiles)), None)
            self._tiles[number] = found
        return found

    def _checked(self, number: int) -> _CheckedTile:
        metric = self._metric
        leaves, columns = metric.leaves_of(number), metric.columns_of(number)
        fence, place = fence_of(columns), centre_or_place(leaves, columns)
        measure = self._measure_of(columns)
        measure[fence > 0] = 0  # no search comes there
        block = (leaves[:, 0] // BLOCK_CELLS * self._units.shape[1] + leaves[:, 1] // BLOCK_CELLS).astype(np.int32)
        squares = _firsts(leaves, _SQUARE)
        begins = squares[_firsts(leaves[squares], BLOCK_CELLS)]  # all of each block: it lies in one tile
        held = block[begins]
        low, high = (end.reduceat(place, begins).T[::-1] / PLACE_UNIT for end in (np.minimum, np.maximum))
        told = self._boxes[held].T
        inside = (told[::2] <= low) & (high <= told[1::2])
        if not inside.all() or np.any(np.add.reduceat(measure, begins) != self._units.ravel()[held]):
            raise misfit(metric.store)
        return _CheckedTile(leaves, squares, fence, measure, block, place)


#: Neighbours of a square, and how long the way there is.
_AROUND = [(r, c, float(np.hypot(r, c))) for r in (-1, 0, 1) for c in (-1, 0, 1) if (r, c) != (0, 0)]
