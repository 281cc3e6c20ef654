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
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..levels import LEVEL_BITS, IntArray
from ..metric import Graph
from ..randomness import RandomSource
from .weights import Weights

__all__ = ["Line", "Sampler", "draw_full"]

STEP = 1 << LEVEL_BITS
#: Shells looked at to find the first frontier; beyond, weights are below 2^-30.
_SHELLS = 30


def draw_full(
    units: npt.NDArray[np.int32], measure: IntArray, weights: Weights, rngs: list[RandomSource]
) -> npt.NDArray[np.int64]:
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

    def __init__(self, graph: Graph, measure: IntArray, weights: Weights) -> None:
        self._graph, self._measure, self._weights = graph, measure, weights
        self._space = kernels.workspace(graph.n, graph.index.size, graph.buckets)
        self._unit = np.zeros(graph.n, np.int64)

    def draw(self, source: int, total_measure: int, rngs: list[RandomSource]) -> npt.NDArray[np.int64]:
        """One location per random source. `total_measure`: of all locations that can be reached from the source."""
        with self.line(source, total_measure) as line:
            return np.array([line.throw(rng) for rng in rngs], dtype=np.int64)

    @contextmanager
    def line(self, source: int, total_measure: int) -> Iterator[Line]:
        """The line of a source, known up to its first frontier."""
        dist, head, vertices, links, _, state = self._space
        kernels.begin(source, dist, head, vertices, links, state)
        line = Line(self, total_measure)
        try:
            line.to_first_frontier()
            yield line
        finally:
            kernels.clear(dist, head, vertices, state)

    def _expand(self, limit: int) -> bool:
        """Settle everything within `limit`; False when nothing is left beyond."""
        graph, end = self._graph, np.int64(kernels.UNREACHABLE - 1)
        kernels.expand(graph.start, graph.index, graph.weight, self._unit, *self._space, limit, end, np.int64(2**62))
        return bool(self._space[-1][kernels.LIVE])


class Line:
    """The line of one source, as far as it is known."""

    def __init__(self, sampler: Sampler, total_measure: int) -> None:
        self._sampler, self._total = sampler, total_measure
        self._period = sampler._weights.period
        self._frontier, self._counted, self._open = -1, 0, True
        self._by_shell = np.zeros(0, np.int64)
        self._measure_by_shell = np.zeros(0, np.int64)
        self._first = self._now = (0, 0, 0)

    def to_first_frontier(self) -> None:
        """Move the frontier to the first whole level at which four times the rest is at most what is settled."""
        sampler, graph = self._sampler, self._sampler._graph
        shells = np.zeros((2, _SHELLS + 3 + STEP // self._period), np.int64)
        self._frontier = int(
            kernels.to_first_frontier(
                graph.start, graph.index, graph.weight, sampler._unit, *sampler._space,
                sampler._measure, sampler._weights.table, *shells, self._total, STEP, _SHELLS,
            )
        )  # fmt: skip
        self._by_shell, self._measure_by_shell = shells[:, : self._frontier // self._period + 1]
        state = sampler._space[-1]
        self._counted, self._open = int(state[kernels.SETTLED]), bool(state[kernels.LIVE])
        self._first = self._now = self._lengths()

    def throw(self, rng: RandomSource) -> int:
        """Throw darts until one hits."""
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
    def distances(self) -> tuple[npt.NDArray[np.int32], int]:
        """Distances from the source, and the frontier up to which they are known."""
        return self._sampler._space[0], self._frontier

    @property
    def _rest(self) -> int:
        return self._total - int(self._measure_by_shell.sum())

    def _advance(self) -> None:
        """Move the frontier on by one level."""
        sampler = self._sampler
        self._frontier += STEP
        self._open = sampler._expand(self._frontier)
        grown = self._frontier // self._period + 1 - self._by_shell.size
        if grown > 0:
            self._by_shell = np.concatenate([self._by_shell, np.zeros(grown, np.int64)])
            self._measure_by_shell = np.concatenate([self._measure_by_shell, np.zeros(grown, np.int64)])
        dist, _, _, _, order, state = sampler._space
        settled = int(state[kernels.SETTLED])
        kernels.add_to_shells(
            dist,
            order,
            self._counted,
            settled,
            sampler._measure,
            sampler._weights.table,
            self._by_shell,
            self._measure_by_shell,
        )
        self._counted = settled
        self._now = self._lengths()

    def _lengths(self) -> tuple[int, int, int]:
        """What is settled, the bound of all, and the scale: both are in units of 2^-scale."""
        scale = (self._frontier + 1) // self._period
        known = sum(int(part) << (scale - shell) for shell, part in enumerate(self._by_shell) if part)
        rest = self._rest if self._open else 0
        place = (self._frontier + 1) - scale * self._period
        return known, known + rest * int(self._sampler._weights.table[place]), scale

    def _location(self, dart: int, scale: int) -> int:
        sampler = self._sampler
        dist, _, _, _, order, state = sampler._space
        for shell, part in enumerate(self._by_shell):
            length = int(part) << (scale - shell)
            if dart < length:
                offset = dart >> (scale - shell)
                return int(
                    kernels.find_in_shell(
                        dist,
                        order,
                        int(state[kernels.SETTLED]),
                        sampler._measure,
                        sampler._weights.table,
                        shell,
                        offset,
                    )
                )
            dart -= length
        raise AssertionError("the dart lies on the settled part of the line")
