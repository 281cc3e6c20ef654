# SPDX-License-Identifier: Apache-2.0
"""Reports from a metric in tiles: the same exact draws, with only the tiles around the place opened.

The search runs in a box of cells around the place. As long as no location on the rim of the box (one with a neighbour
outside) is settled, every distance found is the true one and every location within the frontier has been found: a
path out of the box passes its rim. When the rim is reached, the box is widened and the search done again.

What is not settled is bounded without being opened. A path to it leaves the settled part through a location that the
search has touched, at F + 1 or beyond, and from there on pays at least the smallest scale of the whole map for every
metre. So a location in a block of cells at a gap g from the touched ones is at least F + 1 + c g away, and the
manifest says how much measure each block holds. The bound decides how often a dart waits for more tiles, never what
it hits: see `sampler`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..errors import FrameError, require_count
from ..levels import MASS_UNIT, IntArray
from ..metric.conformal import conformal_graph
from ..metric.tiled_metric import BLOCK_CELLS, TiledMetric
from ..metric.tiles import MARGIN_CELLS, Box
from .randomness import RandomSource, SystemRandom
from .sampler import Sampler, _Line
from .weights import HALF, Weights, exponent_fraction, make_weights

__all__ = ["TiledMechanism"]

#: Level up to which the first box is meant to reach, and how much more mass than a ball it has; a guess that only
#: costs time if it is wrong.
_FIRST_LEVEL, _ROOM = 11.0, 3.2
#: The first frontier is where twice the bound of the rest is at most what is settled: a dart waits with probability
#: 1/3 at the most, and what it waits for is more files.
_REST = 2
#: Length of a path in half cells: weight >= c x length with c = (256 - 1/2) scale / 2^16 - 1/2. Weights and lengths
#: are rounded down (by less than 1 and by less than 1/256), and an edge is at least two half cells long.
_LENGTH_UNIT = 2 ** (kernels.LENGTH_BITS + kernels.SCALE_BITS)


class TiledMechanism:
    """The elastic mechanism over a tiled metric, with full support over the whole map.

    Guarantee, distribution and assumptions are those of `ElasticMechanism`. Cost: a few tiles are read and searched,
    some tens of milliseconds; reports from places nearby find them read. `output`: "mass" or "uniform".
    """

    def __init__(self, metric: TiledMetric, *, output: str = "mass", exponent: float | Fraction = HALF) -> None:
        self.metric, self.output = metric, output
        self.weights = make_weights(exponent_fraction(exponent))
        self._blocks: IntArray = np.array(metric.measure_totals(output)["block_units"], np.int64)

    def sample(self, i: int, size: int = 1, *, rng: RandomSource | None = None) -> npt.NDArray[np.int64]:
        """Reported locations drawn from location i, each independently."""
        return self._draw(i, [SystemRandom() if rng is None else rng] * require_count("size", size))[0]

    def sanitize(self, lat: float, lon: float, *, rng: RandomSource | None = None) -> tuple[float, float]:
        """A report for a place: the centre of a cell, drawn evenly from those of the reported location."""
        source = SystemRandom() if rng is None else rng
        (row, col, size) = self._draw(self.metric.locate(lat, lon), [source])[1][0]
        place = source.below(size * size) if size > 1 else 0
        out_lat, out_lon = self.metric.grid.cell_to_latlon(row + place // size, col + place % size)
        return float(out_lat), float(out_lon)

    def _draw(self, i: int, rngs: list[RandomSource]) -> tuple[npt.NDArray[np.int64], list[tuple[int, int, int]]]:
        if not self.metric.is_secret(i):
            raise FrameError("this location is in the frame: it may be reported but not be hidden")
        sampler = _TiledSampler(self.metric, self.output, self.weights, self._blocks)
        return sampler.reports(i, rngs)


class _TiledSampler(Sampler):
    """A search from one location that widens its box when it comes to the rim."""

    def __init__(self, metric: TiledMetric, output: str, weights: Weights, blocks: IntArray) -> None:
        self._metric, self._output, self._weights, self._blocks = metric, output, weights, blocks
        self._slope = (_LENGTH_UNIT - 128) / _LENGTH_UNIT / 256 * min(
            tile["scale_min"] for tile in metric.content["tiles"]
        ) - 0.5

    def reports(
        self, source: int, rngs: list[RandomSource]
    ) -> tuple[npt.NDArray[np.int64], list[tuple[int, int, int]]]:
        """Numbers in the whole map and (row, column, size) of the reported locations."""
        self.begin(source)
        line = _TiledLine(self, int(self._blocks.sum()))
        line.to_first_frontier()
        found, leaves = [], []
        for rng in rngs:
            local = line.throw(rng)
            at, box = self._window.locations, self._window.box
            found.append(int(self._numbers[local]))
            leaves.append((int(at.row[local]) + box.row, int(at.col[local]) + box.col, int(at.size[local])))
        return np.array(found, np.int64), leaves

    def begin(self, source: int) -> None:
        """Open the surroundings of a location."""
        row, col, size = self._metric.leaf(source)
        self._source, self._centre = source, (row + size // 2, col + size // 2)
        self._look(self._first_box())

    def _first_width(self) -> int:
        """Half the side of a box that is likely to hold all that a draw looks at."""
        metric, blocks = self._metric, self._blocks
        need = metric.requirement.mass_at(metric.l_top) * (_FIRST_LEVEL / metric.l_top) ** 2 * _ROOM
        part = need / (sum(tile["mass"] for tile in metric.content["tiles"]) * MASS_UNIT)
        row, col = (place // BLOCK_CELLS for place in self._centre)
        for ring in range(1, max(blocks.shape)):
            inside = blocks[max(row - ring, 0) : row + ring + 1, max(col - ring, 0) : col + ring + 1].sum()
            if inside >= part * blocks.sum():
                return ring * BLOCK_CELLS
        return int(max(blocks.shape)) * BLOCK_CELLS

    def _first_box(self) -> Box:
        width, step = self._first_width(), MARGIN_CELLS
        low = [(place - width) // step * step for place in self._centre]
        high = [-(-(place + width) // step) * step for place in self._centre]
        return self._metric.tiling.clipped(Box(low[0], low[1], high[0], high[1]))

    def _look(self, box: Box) -> None:
        """Open a box and put the source at distance 0."""
        self._window, scale = self._metric.window(box)
        self._graph = conformal_graph(self._window.neighbours, scale)
        self._numbers = self._metric.numbers(self._window)
        self._measure = self._metric.measure_of(self._window, self._output)
        self._unit = np.zeros(self._graph.n, np.int64)
        self._space = kernels.workspace(self._graph.n, self._graph.index.size, self._graph.buckets)
        dist, head, vertices, links, _, state = self._space
        local = int(np.searchsorted(self._numbers, self._source))
        kernels.begin(local, dist, head, vertices, links, state)

    def _expand(self, limit: int) -> bool:
        """Settle everything within `limit`, in as wide a box as it takes; False when nothing is left beyond."""
        left = super()._expand(limit)
        while (reached := self._settled_rim()).size:
            self._look(self._wider(reached))
            left = super()._expand(limit)
        return left or bool(self._window.rim.any())

    def _settled_rim(self) -> npt.NDArray[Any]:
        _, _, _, _, order, state = self._space
        settled = order[: state[kernels.SETTLED]]
        reached: npt.NDArray[Any] = settled[self._window.rim[settled]]
        return reached

    def _wider(self, reached: npt.NDArray[Any]) -> Box:
        """The box moved out, by a quarter of its side, on the sides that the search came to."""
        box, at = self._window.box, self._window.locations
        row, col, near = at.row[reached], at.col[reached], MARGIN_CELLS
        more = max(-(-max(box.shape) // (4 * MARGIN_CELLS)), 1) * MARGIN_CELLS
        wider = Box(
            box.row - more * bool((row < near).any()), box.col - more * bool((col < near).any()),
            box.row_end + more * bool((row >= box.shape[0] - near).any()),
            box.col_end + more * bool((col >= box.shape[1] - near).any()),
        )  # fmt: skip
        return self._metric.tiling.clipped(wider)

    def rest(self, frontier: int, scale: int) -> int:
        """Upper bound of measure x weight of all that is not settled, in units of 2^-scale."""
        dist, _, _, _, order, state = self._space
        at, box = self._window.locations, self._window.box
        settled = order[: state[kernels.SETTLED]]
        left = self._blocks.copy()
        where = (at.row[settled] + box.row) // BLOCK_CELLS, (at.col[settled] + box.col) // BLOCK_CELLS
        np.subtract.at(left, where, self._measure[settled])
        touched = dist < kernels.UNREACHABLE
        gaps = [
            _gap((part[touched] + at.size[touched] / 2) + offset, count)
            for part, offset, count in ((at.row, box.row, left.shape[0]), (at.col, box.col, left.shape[1]))
        ]
        gap = 2 * np.hypot(gaps[0][:, None], gaps[1][None, :])
        units = frontier + 1 + np.floor(max(self._slope, 0.0) * gap * (1 - 2.0**-40)).astype(np.int64)
        shell, place = np.divmod(units, self._weights.period)
        shift = np.minimum(shell - scale, 62)
        heavy = left * self._weights.table[place]
        return sum((-(-heavy >> shift)).ravel().tolist())


def _gap(centres: npt.NDArray[Any], count: int) -> npt.NDArray[np.float64]:
    """Cells between each block along one axis and the span of some centres."""
    low = np.arange(count, dtype=np.float64) * BLOCK_CELLS
    before, after = float(centres.min()) - (low + BLOCK_CELLS), low - float(centres.max())
    return np.maximum(np.maximum(before, after), 0.0)


class _TiledLine(_Line):
    """The line of one source, with the rest bounded block by block."""

    _sampler: _TiledSampler

    def to_first_frontier(self) -> None:
        while self._open:
            self._advance()
            known, bound, _ = self._lengths()
            if _REST * (bound - known) <= known:
                break
        self._first = self._lengths()

    def _lengths(self) -> tuple[int, int, int]:
        known, bound, scale = super()._lengths()
        if not self._open or self._frontier < 0:
            return known, bound, scale
        return known, known + self._sampler.rest(self._frontier, scale), scale
