# SPDX-License-Identifier: Apache-2.0
"""Fresh reports from many places: the chances of `sampler`, a fraction of its search and other random bits: only
for those of the operating system, which nobody compares.

Locations lie in blocks, and each block under a rectangle: as wide as its measure, as high as the weight that the
nearest of it could have. A dart thrown below all rectangles falls on a location, at some height. If that is below the
location's own weight it is the report, else it is thrown again: locations are hit by measure x weight. Distances to a
few landmarks bound all others, since |d(l, x) - d(l, z)| <= d(x, z), and lead the search from z to x.
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import heappop, heappush
from itertools import accumulate
from operator import mul

from .graph import FAR, MASK, SHIFT, Graph, Search
from .randomness import RandomSource, uniform_below

_LANDMARKS, _BLOCK = 8, 96
#: Heights are whole numbers of 2^-64 weights, rounded up.
_BITS = 64


class Rectangles:
    """Draws from `members`: all locations of a connected part of a map, near ones together."""

    def __init__(self, graph: Graph, measure: list[int], weights: list[int], members: list[int]) -> None:
        self._graph, self._weights, self._members = graph, weights, members
        self._falling = [-weight for weight in weights]
        self._block = {i: at // _BLOCK for at, i in enumerate(members)}
        blocks = [members[at : at + _BLOCK] for at in range(0, len(members), _BLOCK)]
        #: The measure of each block, before it, and up to the end of each location.
        self._widths = [sum(measure[i] for i in block) for block in blocks]
        self._before = list(accumulate(self._widths, initial=0))
        self._ends = list(accumulate(measure[i] for i in members))
        self._levels = self._landmarks()
        self._ranges = []
        for level in self._levels:
            inside = [[level[i] >> SHIFT for i in block] for block in blocks]
            self._ranges.append((list(map(min, inside)), list(map(max, inside))))
        self._seen: dict[int, tuple[list[int], list[int]]] = {}

    def _landmarks(self) -> list[list[int]]:
        """Distances from some locations that are far from each other, x 2^26."""
        found: list[list[int]] = []
        near, source = [FAR] * len(self._members), self._members[0]
        for _ in range(_LANDMARKS):
            search, level = Search(self._graph, source), [0] * len(self._graph)
            search.expand()
            for key in search.order:
                level[key & MASK] = key & ~MASK
            found.append(level)
            near = list(map(min, near, [level[i] for i in self._members]))
            source = self._members[near.index(max(near))]
        return found

    def _seen_from(self, block: int) -> tuple[list[int], list[int]]:
        """Where the area of each rectangle ends, and how high it is, for all who report from a block."""
        if block not in self._seen:
            low = [0] * len(self._widths)
            for least, most in self._ranges:
                first, last = least[block], most[block]
                low = list(map(max, low, [d - last for d in least], [first - d for d in most]))
            heights = []
            for d in low:
                shell, place = divmod(d, len(self._weights))
                heights.append((self._weights[place] << _BITS >> shell) + 1)
            self._seen[block] = list(accumulate(map(mul, self._widths, heights))), heights
        return self._seen[block]

    def draw(self, source: int, random: RandomSource) -> int:
        """A location, drawn from `source`."""
        ends, heights = self._seen_from(self._block[source])
        while True:
            dart = uniform_below(random, ends[-1])
            block = bisect_right(ends, dart)
            across, height = divmod(dart - (ends[block - 1] if block else 0), heights[block])
            location = self._members[bisect_right(self._ends, self._before[block] + across)]
            if self._below(height, source, location, random):
                return location

    def _below(self, height: int, x: int, z: int, random: RandomSource) -> bool:
        """Whether a height is below the weight of z, seen from x."""
        period, reach = len(self._weights), FAR
        if height:
            shell = _BITS + 31 - (height - 1).bit_length()
            reach = shell * period + bisect_right(self._falling, -(height << shell) >> _BITS) - 1
        distance = self._distance(z, x, reach)
        if distance is None:
            return False
        shell, place = divmod(distance, period)
        whole, rest = divmod(self._weights[place] << _BITS, 1 << shell)
        # a height is a whole number and digits after it, which are drawn only if they matter
        return height < whole or (height == whole and uniform_below(random, 1 << shell) < rest)

    def _distance(self, z: int, x: int, reach: int) -> int | None:
        """How far x is from z, if no more than `reach`: a search led by the landmark that tells them apart."""
        gaps = [abs(level[x] - level[z]) for level in self._levels]
        best, end = max(gaps), (reach + 1) << SHIFT
        if best >= end:
            return None
        level = self._levels[gaps.index(best)]
        goal, arcs_of = level[x], self._graph.arcs
        heap, nearest = [best + z], {z: 0}
        while heap:
            key = heappop(heap)
            v = key & MASK
            if v == x:
                return key >> SHIFT
            d = nearest[v]
            if key - v != d + abs(level[v] - goal):  # it was found nearer since
                continue
            for u, w in arcs_of(v):
                through = d + w
                if through < nearest.get(u, FAR):
                    hope = through + abs(level[u] - goal)
                    if hope < end:
                        nearest[u] = through
                        heappush(heap, hope + u)
        return None
