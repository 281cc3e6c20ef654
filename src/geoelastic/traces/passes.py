# SPDX-License-Identifier: Apache-2.0
"""Forward filtering and backward sampling over one piece of a trace.

Forward, a_t(z) is the weight of all releases of the first t steps that end at z (`_kernels.filter_steps`). Backwards,
Z_T is drawn from a_T; before Z_{t+1} = z stood either z again, with weight keep x a_t(z), or, with weight jump(z) x sum
a_t, whatever is drawn from a_t. Every draw is exact in whole numbers for the doubles it is made from: first a block of
locations by the blocks' sums, then a location of the block, so that even the least likely release keeps its chance.

Only every so many steps are kept on the way forward; the steps between are computed again on the way back. Whole
distances from the locations that traces visit are kept for a while: a day sees the same few again and again.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from .. import _kernels as kernels
from ..arrays import FloatArray, IndexArray, IntArray
from ..levels import UNREACHABLE
from ..metric import AnyMetric
from ..metric.threads import worker_count
from ..randomness import RandomSource

_KEPT_BYTES = 1 << 28


class Searches:
    """Rows of distances by location, in memory only."""

    def __init__(self, metric: AnyMetric, *, workers: int | None = None) -> None:
        self._metric, self._workers = metric, workers
        self._rows: OrderedDict[int, IndexArray] = OrderedDict()

    def __call__(self, places: IntArray) -> dict[int, IndexArray]:
        """The rows of these locations."""
        wanted = [int(place) for place in places]
        missing = [place for place in wanted if place not in self._rows]
        found = self._search(missing) if missing else {}
        rows = {place: found[place] if place in found else self._rows[place] for place in wanted}
        self._keep(rows)
        return rows

    def _search(self, places: list[int]) -> dict[int, IndexArray]:
        threads = min(worker_count(self._workers), len(places))
        with ThreadPoolExecutor(threads) as pool:
            return dict(zip(places, pool.map(self._metric.distance_units_from, places), strict=True))

    def _keep(self, rows: dict[int, IndexArray]) -> None:
        for place, row in rows.items():
            self._rows[place] = row
            self._rows.move_to_end(place)
        most = max(1, _KEPT_BYTES // (4 * self._metric.n))
        while len(self._rows) > most:
            self._rows.popitem(last=False)


Rows = Mapping[int, IndexArray]
_RAISED_BITS = 64
#: Steps that are held in full at a time, at the least.
_LEAST_SEGMENT = 32


def whole_numbers(values: FloatArray) -> list[int]:
    """Whole numbers in exactly the proportions of doubles that are not negative, the least of them with 53 bits."""
    mantissa, exponent = np.frexp(values)
    whole = (mantissa * 2.0**53).astype(np.int64).tolist()
    least = int(exponent[values > 0].min())
    return [number << max(0, bits - least) for number, bits in zip(whole, exponent.tolist(), strict=True)]


def _whole_pair(a: float, b: float) -> tuple[int, int]:
    """The same for two numbers, not both 0."""
    (m, e), (k, f) = math.frexp(a), math.frexp(b)
    least = min(e, f) if a > 0 and b > 0 else (e if a > 0 else f)
    return int(m * 2.0**53) << max(0, e - least), int(k * 2.0**53) << max(0, f - least)


class _Urn:
    """Numbers to draw from in proportion to doubles."""

    def __init__(self, values: FloatArray) -> None:
        self._ends = list(accumulate(whole_numbers(values)))

    def draw(self, rng: RandomSource) -> int:
        return bisect_right(self._ends, rng.below(self._ends[-1]))


class _Step:
    """One a_t, ready to draw from."""

    def __init__(self, row: FloatArray) -> None:
        self.row = row
        self._blocks: _Urn | None = None
        self._parts: dict[int, _Urn] = {}

    def draw(self, rng: RandomSource) -> int:
        if self._blocks is None:
            self._blocks = _Urn(kernels.block_sums(self.row))
        block = self._blocks.draw(rng)
        first = block * kernels.SUM_BLOCK
        if block not in self._parts:
            self._parts[block] = _Urn(self.row[first : first + kernels.SUM_BLOCK])
        return first + self._parts[block].draw(rng)


@dataclass(frozen=True, eq=False)
class _Segment:
    """Some consecutive steps with all their numbers."""

    first: int
    steps: list[_Step]
    sums: FloatArray


class Passes:
    """The passes over the steps at `places` (locations, one per step).

    `rows`: whole distances from each of these places; `table`: the weights; `jump`, `keep`: the public transition;
    `before`: the location released just before this piece, if it goes on from there.
    """

    def __init__(
        self, places: IntArray, rows: Rows, table: IntArray, jump: FloatArray, keep: float, before: int | None = None
    ) -> None:
        self._places, self._rows, self._table, self._before = places, rows, table, before
        self.jump, self.keep = jump, keep
        self._length = max(_LEAST_SEGMENT, math.isqrt(places.size))
        start = np.zeros(jump.size)
        if before is not None:
            start[before] = 1.0
        self._kept: list[tuple[FloatArray, float]] = [(start, 1.0)]
        self._raised = 0
        self._last = self._forward()

    @property
    def log_sum(self) -> float:
        """ln S(x): the sum over all releases of what stands above the normaliser."""
        return math.log(self._last.sums[-1]) - self._raised * _RAISED_BITS * math.log(2)

    def log_probability(self, released: IntArray) -> float:
        """ln of the chance of one release."""
        previous = np.concatenate([[-1 if self._before is None else self._before], released[:-1]])
        units = np.array([self._rows[x][z] for x, z in zip(self._places.tolist(), released.tolist(), strict=True)])
        weights = np.empty(released.size)
        kernels.trace_weights(units.astype(np.int32), self._table, UNREACHABLE, weights)
        factors = (self.keep * (released == previous) + self.jump[released]) * weights
        if not np.all(factors > 0):
            return -math.inf
        return math.fsum(np.log(factors)) - self.log_sum

    def draw(self, rng: RandomSource) -> IntArray:
        """A release of the piece: one location a step."""
        drawn = np.empty(self._places.size, np.int64)
        z = drawn[-1] = self._last.steps[-1].draw(rng)
        segment = self._last
        for t in range(drawn.size - 2, -1, -1):
            if t < segment.first:
                segment = self._segment(t // self._length)
            step = segment.steps[t - segment.first]
            stay, move = _whole_pair(
                self.keep * float(step.row[z]), float(self.jump[z]) * float(segment.sums[t - segment.first])
            )
            if rng.below(stay + move) >= stay:
                z = step.draw(rng)
            drawn[t] = z
        return drawn

    def weights_at(self, t: int) -> FloatArray:
        """w(d(x_t, z)) of every location."""
        out = np.empty(self.jump.size)
        kernels.trace_weights(self._rows[int(self._places[t])], self._table, UNREACHABLE, out)
        return out

    def steps(self) -> list[tuple[FloatArray, float]]:
        """(a_t, its sum as it was added up) of every step: the law that `draw` draws from, for those who check it."""
        return list(self.steps_back())[::-1]

    def steps_back(self) -> Iterator[tuple[FloatArray, float]]:
        """The same from the last step to the first, as `draw` goes: a few steps in memory at a time."""
        for k in range(len(self._kept) - 1, -1, -1):
            segment = self._segment(k)
            for step, total in zip(segment.steps[::-1], segment.sums[::-1].tolist(), strict=True):
                yield step.row, total

    def _forward(self) -> _Segment:
        count = -(-self._places.size // self._length)
        for k in range(count):
            segment = self._segment(k, count_raised=True)
            if k + 1 < count:
                self._kept.append((segment.steps[-1].row.copy(), float(segment.sums[-1])))
        return segment

    def _segment(self, k: int, *, count_raised: bool = False) -> _Segment:
        first = k * self._length
        unique, which = np.unique(self._places[first : first + self._length], return_inverse=True)
        n = self.jump.size
        weights, out = np.empty((unique.size, n)), np.empty((which.size, n))
        for row, place in zip(weights, unique.tolist(), strict=True):
            kernels.trace_weights(self._rows[place], self._table, UNREACHABLE, row)
        sums, raised = np.empty(which.size), np.empty(which.size, np.int64)
        kernels.filter_steps(*self._kept[k], weights, which, self.jump, self.keep, out, sums, raised)
        if count_raised:
            self._raised += int(raised.sum())
        return _Segment(first, [_Step(row) for row in out], sums)
