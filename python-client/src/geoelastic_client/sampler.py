# SPDX-License-Identifier: Apache-2.0
"""Exact draws that look only as far as they must: the same line, darts and bits as every other client's.

All locations that can be reached are laid end to end on a line, by distance and then by number, each measure x w(D)
long. A dart is thrown below an upper bound of the line's length and reports the location that it hits; past the end it
is thrown again. Only what lies within a frontier is laid out at first, and more when a dart asks for it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

from .graph import MASK, SHIFT, Graph, Search
from .randomness import RandomSource, uniform_below

_STEP = 8192
_SHELLS = 30
_REST = 4


class Line:
    """The line of one source, as far as it is known. `total`: the measure of all that it reaches."""

    def __init__(self, graph: Graph, measure: list[int], weights: list[int], source: int, total: int) -> None:
        self._measure, self._weights, self._left = measure, weights, total
        self._search = Search(graph, source)
        self._frontier, self._open = -1, True
        #: By shell: the length in it, the measure in it, and the number of locations up to its end.
        self._length: list[int] = []
        self._plain: list[int] = []
        self._end: list[int] = []
        #: The locations on the line, and where each ends within its shell.
        self._locations, self._ends = array("i"), array("q")
        while self._open:
            self._advance()
            beyond = (self._frontier + 1) // len(weights)
            near = sum(part << (_SHELLS - k) for k, part in enumerate(self._plain[: _SHELLS + 1]))
            if beyond > _SHELLS or _REST * (self._left << (_SHELLS - beyond)) <= near:
                break
        #: From the first frontier on, one a frontier: what is settled, the bound of all, the scale (both are in units
        #: of 2^-scale), and whether anything is left to settle.
        self._stages = [self._stage()]

    def _advance(self) -> None:
        self._frontier += _STEP
        self._open = self._search.expand(self._frontier)
        fresh = sorted(self._search.order)  # those that are equally far by number, however they were met
        self._search.order.clear()
        weights, measure = self._weights, self._measure
        period = len(weights)
        place, end = self._locations.append, self._ends.append
        at = 0
        for shell in range(max(0, len(self._plain) - 1), self._frontier // period + 1):
            if shell == len(self._plain):
                self._length.append(0)
                self._plain.append(0)
                self._end.append(0)
            length, plain, base = self._length[shell], self._plain[shell], shell * period
            stop = bisect_left(fresh, (base + period) << SHIFT, at)
            for key in fresh[at:stop]:
                v = key & MASK
                share = measure[v]
                if share:
                    length += share * weights[(key >> SHIFT) - base]
                    plain += share
                    place(v)
                    end(length)
            at = stop
            self._left -= plain - self._plain[shell]
            self._length[shell], self._plain[shell], self._end[shell] = length, plain, len(self._locations)

    def _stage(self) -> tuple[int, int, int, bool]:
        scale, place = divmod(self._frontier + 1, len(self._weights))
        known = sum(length << (scale - k) for k, length in enumerate(self._length))
        rest = self._left if self._open else 0
        return known, known + rest * self._weights[place], scale, self._open

    def throw_darts(self, random: RandomSource, count: int) -> list[int]:
        """`count` locations. Darts that are thrown together share a frontier, which the later ones begin with. Those
        that are not begin with the first one again, even if the line is known farther: the bits that a report takes
        must not depend on reports before it."""
        _, first_bound, first_scale, _ = self._stages[0]
        hit: list[int] = []
        stage = 0
        while len(hit) < count:
            dart, scale = uniform_below(random, first_bound), first_scale
            while True:
                if stage == len(self._stages):
                    self._advance()
                    self._stages.append(self._stage())
                known, bound, finer, left = self._stages[stage]
                if finer > scale:
                    dart = (dart << (finer - scale)) + uniform_below(random, 1 << (finer - scale))
                    scale = finer
                if dart < known:
                    hit.append(self._location(dart, scale))
                    break
                if dart >= bound or not left:
                    break
                stage += 1
        return hit

    def _location(self, dart: int, scale: int) -> int:
        first = 0
        for k, length in enumerate(self._length):
            spread = length << (scale - k)
            if dart < spread:
                return self._locations[bisect_right(self._ends, dart >> (scale - k), first, self._end[k])]
            dart -= spread
            first = self._end[k]
        raise AssertionError("the dart lies on the settled part of the line")
