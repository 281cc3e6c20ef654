# SPDX-License-Identifier: Apache-2.0
"""Reports from a metric in tiles: the same exact draws, with only the tiles around the place opened.

The search opens a tile when it comes to it. A location is settled only when all its neighbours have been seen, so every
distance found is the true one and every location within the frontier has been found.

What is not settled is bounded without being opened. A path to it leaves the settled part through a location that the
search has touched, at F + 1 or beyond, and from there on pays at least the smallest scale of the whole map for every
metre. So a location in a block of cells at a gap g from the touched ones is at least F + 1 + c g away, and the
manifest says how much measure each block holds. The bound decides how often a dart waits for more tiles, never what
it hits: see `sampler`.
"""

from __future__ import annotations

from fractions import Fraction
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..errors import FrameError, require_count
from ..levels import IntArray
from ..randomness import RandomSource, SeededRandom, SystemRandom
from ..tiles.metric import BLOCK_CELLS, TiledMetric
from ..tiles.search import TiledSearch
from .sampler import Line, Sampler
from .weights import HALF, Weights, make_weights

__all__ = ["TiledMechanism"]

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

    #: A relief needs sums over the whole map from every location: not for maps that are built in tiles.
    sharpened = False

    def __init__(self, metric: TiledMetric, *, output: str = "mass") -> None:
        self.metric, self.output = metric, output
        self.weights = make_weights(HALF)
        self._blocks: IntArray = np.array(metric.measure_totals(output)["block_units"], np.int64)
        self._sampler, self._lock = _TiledSampler(metric, output, self.weights, self._blocks), Lock()

    def sample(self, i: int, size: int = 1, *, rng: RandomSource | None = None) -> npt.NDArray[np.int64]:
        """Reported locations drawn from location i, each independently."""
        return self._draw(i, [SystemRandom() if rng is None else rng] * require_count("size", size))[0]

    @property
    def exponent(self) -> Fraction:
        return self.weights.exponent

    def sample_cells(
        self, i: npt.ArrayLike, *, rng: RandomSource | None = None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(rows, columns) of one reported cell for each secret location in `i`; repeated locations share their search,
        and locations of one tile follow each other."""
        unique, where = np.unique(np.asarray(i, dtype=np.int64).ravel(), return_inverse=True)
        leaves = np.empty((where.size, 3), np.int64)
        for k, location in enumerate(unique.tolist()):
            here = np.flatnonzero(where == k)
            source: RandomSource = SystemRandom() if rng is None else SeededRandom(rng.bytes(32))
            leaves[here] = self._draw(location, [source] * here.size)[1]
        cells = SystemRandom() if rng is None else rng
        row, col, size = leaves.T
        place = np.array([cells.below(side * side) if side > 1 else 0 for side in size.tolist()], dtype=np.int64)
        return row + place // size, col + place % size

    def sanitize_frame(self, frame: Any, **options: Any) -> Any:
        """A table of places (pandas, GeoPandas or pyarrow) with each place replaced by a report; see
        `tables.sanitize_frame`."""
        from ..reports.tables import sanitize_frame

        return sanitize_frame(self, frame, **options)

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
        with self._lock:
            return self._sampler.reports(i, rngs)


class _TiledSampler(Sampler):
    """A search from one location that opens tiles on its way."""

    def __init__(self, metric: TiledMetric, output: str, weights: Weights, blocks: IntArray) -> None:
        self._weights, self._blocks = weights, blocks
        self._search = TiledSearch(metric, output)
        least = min(tile["scale_min"] for tile in metric.content["tiles"])
        self._slope = (_LENGTH_UNIT - 128) / _LENGTH_UNIT / 256 * least - 0.5

    def reports(
        self, source: int, rngs: list[RandomSource]
    ) -> tuple[npt.NDArray[np.int64], list[tuple[int, int, int]]]:
        """Numbers in the whole map and (row, column, size) of the reported locations."""
        self.begin(source)
        line = _TiledLine(self, int(self._blocks.sum()))
        line.to_first_frontier()
        found = np.array([line.throw(rng) for rng in rngs], np.int64)
        return self._search.numbers(found), [self._search.leaf(vertex) for vertex in found.tolist()]

    def begin(self, source: int) -> None:
        """Put a location at distance 0."""
        self._search.begin(source)
        self._left, self._counted = self._blocks.copy(), 0

    @property
    def _space(self) -> Any:  # type: ignore[override]
        return self._search.space

    @property
    def _measure(self) -> IntArray:  # type: ignore[override]
        return self._search.measure

    def _expand(self, limit: int) -> bool:
        """Settle everything within `limit`; False when nothing is left beyond."""
        return self._search.expand(limit)

    def find(self, shell: int, offset: int) -> int:
        """The location at an offset of a shell laid end to end in the order (distance, number in the whole map)."""
        settled, period = self._search.settled, self._weights.period
        units = self._space[0][settled]
        first, last = np.searchsorted(units, [shell * period, (shell + 1) * period])
        some, units = settled[first:last], units[first:last]
        order = np.lexsort((self._search.numbers(some), units))
        lengths = self._measure[some] * self._weights.table[units - shell * period]
        return int(some[order[np.searchsorted(np.cumsum(lengths[order]), offset, side="right")]])

    def rest(self, frontier: int, scale: int) -> int:
        """Upper bound of measure x weight of all that is not settled, in units of 2^-scale."""
        new = self._search.settled[self._counted :]
        self._counted += new.size
        row, col = self._search.cells(new)
        np.subtract.at(self._left, (row // BLOCK_CELLS, col // BLOCK_CELLS), self._measure[new])
        low, high, west, east = self._search.touched
        rows, cols = (
            _gap(*ends, count) for ends, count in zip(((low, high), (west, east)), self._left.shape, strict=True)
        )
        gap = 2 * np.hypot(rows[:, None], cols[None, :])
        units = frontier + 1 + np.floor(max(self._slope, 0.0) * gap * (1 - 2.0**-40)).astype(np.int64)
        shell, place = np.divmod(units, self._weights.period)
        shift = np.minimum(shell - scale, 62)
        heavy = self._left * self._weights.table[place]
        return sum((-(-heavy >> shift)).ravel().tolist())


def _gap(low: float, high: float, count: int) -> npt.NDArray[np.float64]:
    """Cells between each block along one axis and a span of centres."""
    first = np.arange(count, dtype=np.float64) * BLOCK_CELLS
    return np.maximum(np.maximum(low - (first + BLOCK_CELLS), first - high), 0.0)


class _TiledLine(Line):
    """The line of one source, with the rest bounded block by block."""

    _sampler: _TiledSampler

    def to_first_frontier(self) -> None:
        while self._open:
            self._advance()
            known, bound, _ = self._now
            if _REST * (bound - known) <= known:
                break
        self._first = self._now

    def _lengths(self) -> tuple[int, int, int]:
        known, bound, scale = super()._lengths()
        if not self._open or self._frontier < 0:
            return known, bound, scale
        return known, known + self._sampler.rest(self._frontier, scale), scale

    def _location(self, dart: int, scale: int) -> int:
        for shell, part in enumerate(self._by_shell):
            length = int(part) << (scale - shell)
            if dart < length:
                return self._sampler.find(shell, dart >> (scale - shell))
            dart -= length
        raise AssertionError("the dart lies on the settled part of the line")
