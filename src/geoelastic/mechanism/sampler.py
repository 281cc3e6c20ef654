# SPDX-License-Identifier: Apache-2.0
"""Exact draws that look only as far as they must.

All locations that can be reported are laid end to end on a line, in the order (distance, number), each as long as its
measure times its weight; the line is S(x) long. A draw throws a dart below an upper bound U of S(x) and reports the
location that it hits; past the end of the line it is thrown again. Whatever U is, given a hit, each location is hit
with probability measure x weight / S(x), exactly.

To look only as far as needed: when everything within F is settled, the part of the line that belongs to it is known,
and what lies beyond is at most (measure that is left) x w(F + 1). The first frontier F, the least whole level at
which that rest is small, fixes U; a dart beyond the settled part waits while the frontier moves on, level by level,
until it falls on a settled location or beyond what the rest could be. The line has a finer ruler in each further
shell (weights halve), so a waiting dart draws further bits. None of this depends on anything but the metric, the
measure and the bits: the JavaScript client does the same and gives the same report for the same bytes.

On a map in tiles only the part around the source is opened (`metric.part`), and a wider one when the frontier comes to
its rim. What lies beyond is bounded block by block there; with that the first frontier is nearer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from .. import _kernels as kernels
from ..arrays import FloatArray, IndexArray, IntArray
from ..levels import LEVEL_BITS
from ..metric.part import Part, Parts
from ..metric.weights import Weights
from ..randomness import RandomSource

STEP = 1 << LEVEL_BITS
#: Shells looked at to find the first frontier; beyond, weights are below 2^-30.
_SHELLS = 30
#: With a rest bounded block by block, the first frontier is where this many times the rest is at most what is settled:
#: a dart waits with probability 1/3 at the most.
_REST = 2


def draw_full(units: IndexArray, measure: IntArray, weights: Weights, rngs: list[RandomSource]) -> IntArray:
    """Draw from the whole line at once: every distance is known, nothing is bounded, no dart misses.

    The slow twin of `Sampler`, with the same distribution; it serves metrics that are not made of paths.
    """
    reach = np.flatnonzero((units < kernels.UNREACHABLE) & (measure > 0))
    order = reach[np.lexsort((reach, units[reach]))]
    shells, places = np.divmod(units[order].astype(np.int64), weights.period)
    scale = int(shells[-1])
    firsts = np.flatnonzero(np.diff(shells, prepend=-1))
    lengths = measure[order] * weights.table[places]
    ends = [
        int(total) << (scale - int(shells[at]))
        for at, total in zip(firsts, np.add.reduceat(lengths, firsts), strict=True)
    ]
    drawn = []
    for rng in rngs:
        dart = rng.below(sum(ends))
        shell = 0
        while dart >= ends[shell]:
            dart -= ends[shell]
            shell += 1
        first = int(firsts[shell])
        offset = dart >> (scale - int(shells[first]))
        drawn.append(order[first + int(np.searchsorted(np.cumsum(lengths[first:]), offset, side="right"))])
    return np.array(drawn, dtype=np.int64)


class Sampler:
    """Draws from one location at a time; holds the workspace of a search and is not to be shared between threads."""

    def __init__(self, parts: Parts, weights: Weights) -> None:
        self._parts, self._weights, self._table = parts, weights, kernels.usual(weights.table)
        self._part: Part | None = None

    @property
    def part(self) -> Part:
        """The part that is searched."""
        assert self._part is not None, "a line has been begun"
        return self._part

    def enter(self, source: int, wider: int) -> bool:
        """Search the part around a location; False if it is the one that was searched before."""
        part = self._parts.around(source, wider)
        if part is self._part:
            return False
        graph = part.graph
        self._part, self._unit = part, np.zeros(graph.n, np.int64)
        self.rows, self._measure = [kernels.usual(row) for row in graph.rows], kernels.usual(part.measure)
        self._space = kernels.workspace(graph.n, graph.index.size, graph.buckets)
        return True

    def draw(self, source: int, rngs: list[RandomSource]) -> IntArray:
        """One location per random source."""
        with self.line(source) as line:
            return np.array([line.draw(rng) for rng in rngs], dtype=np.int64)

    @contextmanager
    def line(self, source: int, *, slack: int = 0) -> Iterator[Line]:
        """The line of a source, known up to its first frontier; all distances are known to `slack` beyond it."""
        line = Line(self, source, slack)
        try:
            line.to_first_frontier()
            yield line
        finally:
            self.clear()

    def begin(self, vertex: int) -> None:
        """Put a vertex at distance 0."""
        dist, head, vertices, links, _, state = self._space
        kernels.begin(vertex, dist, head, vertices, links, state)

    def clear(self) -> None:
        """Make the workspace ready for the next source."""
        dist, head, vertices, _, _, state = self._space
        kernels.clear(dist, head, vertices, state)
        state[:] = 0

    def expand(self, limit: int) -> bool:
        """Settle everything within `limit`; False when nothing is left beyond."""
        kernels.expand(*self.rows, self._unit, *self._space, limit, int(kernels.UNREACHABLE) - 1, 2**62)
        return bool(self._space[-1][kernels.LIVE])


class Line:
    """The line of one source, as far as it is known."""

    def __init__(self, sampler: Sampler, source: int, slack: int = 0) -> None:
        self._sampler, self._source, self._slack, self._wider = sampler, source, slack, 0
        self._period = sampler._weights.period
        self._frontier = -1
        sampler.enter(source, 0)
        self._begin()
        self._first = self._now = (0, 0, 0)

    def _begin(self) -> None:
        """Nothing is settled yet."""
        part = self._sampler.part
        vertex = part.local(self._source)
        self._total, self._last = part.total(vertex), (part.sees(vertex) - self._slack if self._slack else 2**62)
        self._sampler.begin(vertex)
        self._open, self._blocks = True, part.blocks
        self._shells = np.zeros((2, _SHELLS + 3 + STEP // self._period), np.int64)
        self._counted = np.zeros(2, np.int64)
        if self._blocks is not None:
            self._left, self._seen = self._blocks.units.copy(), np.tile([np.inf, -np.inf], (2, 1))

    def to_first_frontier(self) -> None:
        """Move the frontier to the first whole level at which the rest is small against what is settled."""
        if self._blocks is None:
            self._to_first_frontier_at_once()
        else:
            while self._open and (self._frontier < 0 or _REST * (self._now[1] - self._now[0]) > self._now[0]):
                self._advance_among(_REST)
        self._first = self._now

    def _to_first_frontier_at_once(self) -> None:
        """The same where all of the map is there: four times the rest is at most what is settled."""
        sampler = self._sampler
        self._frontier = int(
            kernels.to_first_frontier(
                *sampler.rows, sampler._unit, *sampler._space, sampler._measure,
                sampler._table, *self._shells, self._total, STEP, _SHELLS,
            )
        )  # fmt: skip
        self._counted[0] = sampler._space[-1][kernels.SETTLED]
        self._reached(None)

    def nearest(self, times: int) -> tuple[IntArray, FloatArray]:
        """Numbers and lengths on the line of all within a frontier that leaves out at most one part in `times`."""
        while self._open and times * (self._now[1] - self._now[0]) > self._now[0]:
            self._advance(times)
        dist, _, _, _, order, state = self._sampler._space
        vertices, part = order[: int(state[kernels.SETTLED])].astype(np.int64), self._sampler.part
        lengths = part.measure[vertices] * self._sampler._weights.at(dist[vertices])
        return vertices if part.numbers is None else part.numbers[vertices], lengths

    def draw(self, rng: RandomSource) -> int:
        """One location, by its number in the map."""
        vertex = self.throw(rng)
        return self._sampler.part.number(vertex)

    def throw(self, rng: RandomSource) -> int:
        """Throw darts until one hits; the vertex that it hits in the part that is searched by then."""
        while True:
            known, bound, scale = self._first
            dart = rng.below(bound)
            while True:
                known, bound, finer = self._now
                if finer > scale:
                    dart = (dart << (finer - scale)) + rng.below(1 << (finer - scale))
                    scale = finer
                if dart < known:
                    return self._vertex(dart, scale)
                if dart >= bound or not self._open:
                    break
                self._advance()

    @property
    def distances(self) -> tuple[IndexArray, int]:
        """Distances from the source, and the frontier up to which they are known."""
        return self._sampler._space[0], self._frontier

    def _advance(self, times: int = 0) -> None:
        """Move the frontier on by one level; in a part of a map also until `times` the rest is at most what is
        settled."""
        if self._blocks is not None:
            self._advance_among(times)
            return
        sampler = self._sampler
        self._frontier += STEP
        sampler.expand(self._frontier)
        self._make_room()
        dist, _, _, _, order, state = sampler._space
        kernels.add_to_shells(
            dist, order, int(self._counted[0]), int(state[kernels.SETTLED]), sampler._measure, sampler._table,
            *self._shells,
        )  # fmt: skip
        self._counted[0] = state[kernels.SETTLED]
        self._reached(None)

    def _advance_among(self, times: int) -> None:
        """The same in a part of a map, and on until `times` the rest is at most what is settled; in a wider part if
        this one does not see as far."""
        sampler, rest = self._sampler, -1
        while rest < 0:
            while self._last < self._frontier + STEP:
                self._widen()
            self._make_room()
            blocks = self._blocks
            assert blocks is not None
            self._frontier, rest = map(int, kernels.advance_among_blocks(
                *sampler.rows, sampler._unit, *sampler._space,
                sampler._measure, sampler._table, *self._shells, blocks.block, blocks.at, blocks.box, blocks.slope,
                sampler.part.rim, self._left, self._seen, self._counted, self._frontier, STEP, self._last, times,
            ))  # fmt: skip
            if rest < 0:
                self._widen()
        self._reached(rest)

    def _widen(self) -> None:
        """Begin again in a wider part."""
        self._wider += 1
        self._sampler.clear()
        self._sampler.enter(self._source, self._wider)
        self._begin()

    def _make_room(self) -> None:
        """Shells for all up to the frontier, and for one level beyond it."""
        missing = (self._frontier + STEP) // self._period + 1 - self._shells.shape[1]
        if missing > 0:
            self._shells = np.concatenate([self._shells, np.zeros((2, missing + _SHELLS), np.int64)], axis=1)

    def _reached(self, rest: int | None) -> None:
        """What is settled, the bound of all, and the scale, at the frontier: both are in units of 2^-scale. `rest`: at
        least the length of what is not settled; without it, all that is left at w(F + 1)."""
        self._open = bool(self._sampler._space[-1][kernels.LIVE])
        scale = (self._frontier + 1) // self._period
        known = sum(int(part) << (scale - shell) for shell, part in enumerate(self._shells[0, : scale + 1].tolist()))
        if rest is None:
            left = self._total - int(self._shells[1].sum())
            rest = left * int(self._sampler._weights.table[(self._frontier + 1) - scale * self._period])
        self._now = known, known + (rest if self._open else 0), scale

    def _vertex(self, dart: int, scale: int) -> int:
        sampler = self._sampler
        dist, _, _, _, order, state = sampler._space
        for shell, part in enumerate(self._shells[0].tolist()):
            length = part << (scale - shell)
            if dart < length:
                return int(
                    kernels.find_in_shell(
                        dist, order, int(state[kernels.SETTLED]), sampler._measure, sampler._table, shell,
                        dart >> (scale - shell),
                    )
                )  # fmt: skip
            dart -= length
        raise AssertionError("the dart lies on the settled part of the line")
