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
from ..arrays import IndexArray, IntArray
from ..levels import LEVEL_BITS
from ..metric.part import Part, Parts, Rest
from ..metric.weights import Weights
from ..randomness import RandomSource

__all__ = ["Line", "Sampler", "draw_full"]

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
        self._parts, self._weights = parts, weights
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
        self._space = kernels.workspace(graph.n, graph.index.size, graph.buckets)
        return True

    def draw(self, source: int, rngs: list[RandomSource]) -> IntArray:
        """One location per random source."""
        with self.line(source) as line:
            return np.array([line.throw(rng) for rng in rngs], dtype=np.int64)

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
        graph, end = self.part.graph, np.int64(kernels.UNREACHABLE - 1)
        kernels.expand(graph.start, graph.index, graph.weight, self._unit, *self._space, limit, end, np.int64(2**62))
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
        self._total = part.total(vertex)
        self._sampler.begin(vertex)
        self._counted, self._touched, self._open = 0, 0, True
        self._by_shell = np.zeros(0, np.int64)
        self._measure_by_shell = np.zeros(0, np.int64)
        self._rest = None if part.blocks is None else Rest(part.blocks, part.measure)

    def to_first_frontier(self) -> None:
        """Move the frontier to the first whole level at which the rest is small against what is settled."""
        if self._rest is None:
            self._to_first_frontier_at_once()
        else:
            while self._open and (self._frontier < 0 or _REST * (self._now[1] - self._now[0]) > self._now[0]):
                self._advance()
        self._first = self._now

    def _to_first_frontier_at_once(self) -> None:
        """The same where all of the map is there: four times the rest is at most what is settled."""
        sampler, part = self._sampler, self._sampler.part
        graph, shells = part.graph, np.zeros((2, _SHELLS + 3 + STEP // self._period), np.int64)
        self._frontier = int(
            kernels.to_first_frontier(
                graph.start, graph.index, graph.weight, sampler._unit, *sampler._space,
                part.measure, sampler._weights.table, *shells, self._total, STEP, _SHELLS,
            )
        )  # fmt: skip
        self._by_shell, self._measure_by_shell = shells[:, : self._frontier // self._period + 1]
        state = sampler._space[-1]
        self._counted, self._open = int(state[kernels.SETTLED]), bool(state[kernels.LIVE])
        self._now = self._lengths()

    def throw(self, rng: RandomSource) -> int:
        """Throw darts until one hits; the number of the location in the map."""
        while True:
            known, bound, scale = self._first
            dart = rng.below(bound)
            while True:
                known, bound, finer = self._now
                if finer > scale:
                    dart = (dart << (finer - scale)) + rng.below(1 << (finer - scale))
                    scale = finer
                if dart < known:
                    return self._location(dart, scale)
                if dart >= bound or not self._open:
                    break
                self._advance()

    @property
    def distances(self) -> tuple[IndexArray, int]:
        """Distances from the source, and the frontier up to which they are known."""
        return self._sampler._space[0], self._frontier

    def _advance(self) -> None:
        """Move the frontier on by one level."""
        sampler = self._sampler
        self._frontier += STEP
        while not sampler.part.sees(sampler.part.local(self._source), self._frontier + self._slack):
            self._wider += 1
            sampler.clear()
            sampler.enter(self._source, self._wider)
            self._begin()
        self._open = sampler.expand(self._frontier)
        grown = self._frontier // self._period + 1 - self._by_shell.size
        if grown > 0:
            self._by_shell = np.concatenate([self._by_shell, np.zeros(grown, np.int64)])
            self._measure_by_shell = np.concatenate([self._measure_by_shell, np.zeros(grown, np.int64)])
        self._count()
        self._now = self._lengths()

    def _count(self) -> None:
        """Put what has been settled since the last time on the line."""
        dist, _, vertices, _, order, state = self._sampler._space
        measure, table = self._sampler.part.measure, self._sampler._weights.table
        settled, touched = int(state[kernels.SETTLED]), int(state[kernels.ENTRIES])
        kernels.add_to_shells(
            dist, order, self._counted, settled, measure, table, self._by_shell, self._measure_by_shell
        )
        if self._rest is not None:
            self._rest.touch(vertices[self._touched : touched])
            self._rest.settle(order[self._counted : settled])
        self._counted, self._touched = settled, touched

    def _lengths(self) -> tuple[int, int, int]:
        """What is settled, the bound of all, and the scale: both are in units of 2^-scale."""
        scale = (self._frontier + 1) // self._period
        known = sum(int(part) << (scale - shell) for shell, part in enumerate(self._by_shell) if part)
        return known, known + (self._rest_length(scale) if self._open else 0), scale

    def _rest_length(self, scale: int) -> int:
        """At least the length of what is not settled, in units of 2^-scale."""
        table = self._sampler._weights.table
        if self._rest is None:
            left = self._total - int(self._measure_by_shell.sum())
            return left * int(table[(self._frontier + 1) - scale * self._period])
        measure, units = self._rest.beyond(self._frontier)
        shell, place = np.divmod(units, self._period)
        shift = np.minimum(shell - scale, 62)
        heavy = measure * table[place]
        return sum((-(-heavy >> shift)).tolist())

    def _location(self, dart: int, scale: int) -> int:
        sampler = self._sampler
        dist, _, _, _, order, state = sampler._space
        for shell, part in enumerate(self._by_shell):
            length = int(part) << (scale - shell)
            if dart < length:
                vertex = kernels.find_in_shell(
                    dist, order, int(state[kernels.SETTLED]), sampler.part.measure, sampler._weights.table, shell,
                    dart >> (scale - shell),
                )  # fmt: skip
                return int(sampler.part.number(np.array([vertex]))[0])
            dart -= length
        raise AssertionError("the dart lies on the settled part of the line")
