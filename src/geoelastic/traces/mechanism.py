# SPDX-License-Identifier: Apache-2.0
"""`TraceMechanism`: one exponential mechanism over a whole trace, instead of one report after another.

    K(Z | x) = m(Z_1) prod psi(Z_t, Z_t+1) prod w_beta(d(x_t, Z_t)) / S(x),    psi(z, z') = (1 - p)[z = z'] + p m(z')

**Theorem.** |ln K(Z|x) / K(Z|x')| <= sum_t 2 beta d(x_t, x'_t). Each weight changes by at most e^(beta d(x_t, x'_t)),
so every numerator does by at most e^(sum beta d); m and psi are the same for both; summed over Z, so does S. With
2 beta = rate x step the loss is at most the rate times the integral of d(x(t), x'(t)) dt, whatever the step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..accounts.accounting import DELTA, Cost, rho_to_epsilon
from ..arrays import FloatArray, IntArray
from ..errors import FrameError, InputError, require_able, require_positive
from ..levels import UNREACHABLE, units_to_level
from ..mechanism.elastic import ElasticMechanism, draw_cells, draw_in_fence
from ..mechanism.remap import Remapped
from ..mechanism.sticky import Sticky
from ..metric.weights import make_weights
from ..randomness import RandomSource, SystemRandom
from ..reports.locate import Ground
from ..sources.traces import Trace
from .passes import Passes, Searches
from .release import Clock, Habit, Release, habit_of, jump_measure
from .rounding import KEPT_BACK, require_room

#: Below this the whole weights would no longer fall from one unit to the next.
_LEAST_EXPONENT = Fraction(1, 2**14)
Past = Habit | Release | Iterable[Release] | None


class TraceMechanism:
    """Release traces over a mechanism's metric, by its measure.

    Guarantee: |ln P(Z | x) / P(Z | x')| <= rate x step x sum_t d(x_t, x'_t) for any two traces on one clock (`bound`),
    whatever the past releases were; infinite where one is in a fence and the other is not. Distribution: K above up to
    a rounding that is bounded and paid for by 2^-8 of every exponent (`rounding`). Assumptions: the operating system's
    random bytes are uniform; the clock is public; `past` holds releases and nothing of the truth. Cost: a search from
    each location visited, and a few operations a location and step. References: McSherry and Talwar 2007 (exponential
    mechanism); Carter and Kohn 1994 (forward filtering, backward sampling).

    `rate`: per hour; `moves_per_day`: how often a release is expected to change place; `habit`: the part of the
    measure that is the time share of earlier releases; `block_hours`: what is drawn at once; `on_last`: the part of
    the habit that is on the last release, for live ticks. A relief is not used: it belongs to single reports.
    """

    def __init__(
        self, mechanism: ElasticMechanism | Sticky | Remapped, *, rate: Fraction | float = Fraction(1, 2),
        step_minutes: Fraction | float = 10, moves_per_day: float = 2, habit: float = 0.5, block_hours: float = 24,
        on_last: float = 0.0,
    ) -> None:  # fmt: skip
        require_able("mechanism", mechanism, "sample_cells", "a mechanism over a map, such as ElasticMechanism")
        inner = mechanism if isinstance(mechanism, ElasticMechanism) else mechanism.mechanism
        self.metric, self.measure = inner.metric, inner.measure
        self.rate, step = _fraction("rate", rate), _fraction("step_minutes", step_minutes)
        if (step * 60).denominator != 1:
            raise InputError(f"'step_minutes' must be a whole number of seconds, got {step_minutes!r}")
        self.step_s = int(step * 60)
        self.jump = require_positive("moves_per_day", moves_per_day) * self.step_s / 86400
        if not self.jump <= 0.5:
            raise InputError(f"'moves_per_day' must be at most {43200 / self.step_s:g} for this step")
        if not 0 <= habit < 1:
            raise InputError(f"'habit' must be in [0, 1), got {habit!r}")
        self.habit, self.on_last = float(habit), float(on_last)
        self.block_steps = max(1, int(require_positive("block_hours", block_hours) * 3600 / self.step_s))
        self.twice_beta = self.rate * self.step_s / 3600
        exponent = self.twice_beta / 2 * (1 - KEPT_BACK)
        if not _LEAST_EXPONENT <= exponent <= 1:
            raise InputError(
                f"'rate' x 'step_minutes' must be between {float(120 * _LEAST_EXPONENT):.2g} and 120, "
                f"got {float(self.rate * step):g}"
            )
        require_room(self.block_steps, self.metric.n, self.twice_beta)
        self.weights = make_weights(exponent)

    def release(
        self, trace: Trace | Sequence[int], past: Past = None, rng: RandomSource | None = None, *,
        clock: Clock | None = None,
    ) -> Release:  # fmt: skip
        """What others may see of a trace: one place per tick. `past`: earlier releases of the same person.

        `trace`: fixes, which are put on the `clock` (default: from the first to the last), or one location a step.
        """
        source = SystemRandom() if rng is None else rng
        clock, places = self.places(trace, clock)
        habit, drawn = habit_of(past), np.empty_like(places)
        for first, last, goes_on in self._pieces(places):
            piece = places[first:last]
            before = int(drawn[first - 1]) if goes_on else None
            fence = int(self.metric.fence[piece[0]])
            if fence > 0:
                drawn[first:last] = draw_in_fence(self.metric, fence, [source])
            else:
                drawn[first:last] = self._passes(piece, habit, before).draw(source)
                habit = habit.after(drawn[first:last].tolist(), self.step_s)
        lat, lon = self._cells(drawn, source)
        user = trace.user if isinstance(trace, Trace) else ""
        fences = np.asarray(self.metric.fence, np.int64)[places]
        return Release(user, clock, drawn, lat, lon, fences, bool(source.seeded))

    def log_probability(self, out: Release | Sequence[int], trace: Trace | Sequence[int], past: Past = None) -> float:
        """ln K(out | trace): of a release's locations, not of the cells drawn evenly inside them."""
        clock = out.clock if isinstance(out, Release) else None
        released = np.asarray(out.location if isinstance(out, Release) else out, np.int64)
        _, places = self.places(trace, clock)
        if released.shape != places.shape:
            raise InputError(f"a release of this trace has {places.size} steps, got {released.size}")
        habit, total = habit_of(past), 0.0
        for first, last, goes_on in self._pieces(places):
            piece, told = places[first:last], released[first:last]
            if self.metric.fence[piece[0]] > 0:
                total += self._log_in_fence(int(piece[0]), told)
                continue
            before = int(released[first - 1]) if goes_on else None
            total += self._passes(piece, habit, before).log_probability(told)
            habit = habit.after(told.tolist(), self.step_s)
        return total

    def bound(self, a: Trace | Sequence[int], b: Trace | Sequence[int], *, clock: Clock | None = None) -> float:
        """The largest |ln| of the ratio of any release's chances: rate x step x the sum of the distances."""
        clock, ours = self.places(a, clock)
        _, theirs = self.places(b, clock)
        if ours.size != theirs.size:
            return math.inf  # the length of a trace is public
        pairs = np.unique(np.stack([ours, theirs]), axis=1, return_counts=True)
        rows = self.searches(np.unique(pairs[0][0]))
        units = 0
        for (x, y), count in zip(pairs[0].T.tolist(), pairs[1].tolist(), strict=True):
            if rows[x][y] == UNREACHABLE:
                return math.inf
            units += count * int(rows[x][y])
        return float(self.twice_beta * units) * float(units_to_level(1))

    def cost(self, hours: float = 24, level: float = math.log(2), *, delta: float = DELTA) -> Cost:
        """What `hours` of release cost between traces that are `level` apart all the time.

        Pure: rate x hours x level. Concentrated: log-ratios of a block lie in a range of that width C, so a block is
        C²/8-zCDP; blocks add up.
        """
        step_h = self.step_s / 3600
        steps = math.ceil(require_positive("hours", hours) / step_h - 1e-9)
        sizes = [self.block_steps] * (steps // self.block_steps) + [steps % self.block_steps]
        ranges = [float(self.twice_beta) * size * level for size in sizes if size]
        rho = math.fsum(width**2 / 8 for width in ranges)
        return Cost(len(ranges), level, math.fsum(ranges), rho, rho_to_epsilon(rho, delta), delta)

    def blocks(self, release: Release) -> list[tuple[float, dict[int, float]]]:
        """What to charge for a release: the width of each block and the part of it in each hour that it tells of.

        Ticks in fences cost nothing. Pieces of one block are charged together, which is never too little.
        """
        found = []
        ticks, paid = release.clock.ticks, release.fence == 0
        for first in range(0, len(release), self.block_steps):
            told = ticks[first : first + self.block_steps][paid[first : first + self.block_steps]]
            hours, counts = np.unique(told // 3600, return_counts=True)
            if told.size:
                parts = {int(hour): float(count) for hour, count in zip(hours, counts, strict=True)}
                found.append((float(self.twice_beta) * told.size, parts))
        return found

    def places(self, trace: Trace | Sequence[int], clock: Clock | None = None) -> tuple[Clock, IntArray]:
        """The clock of a trace and the location at each of its ticks.

        A place in the frame or outside counts as the nearest that can be a secret: an error would tell that it was.
        """
        if isinstance(trace, Trace):
            clock, lat, lon = self._on_clock(trace, clock)
            return clock, self.locate(lat, lon)
        places = np.asarray(trace, np.int64)
        if places.ndim != 1 or not places.size or not np.all((places >= 0) & (places < self.metric.n)):
            raise InputError(f"a trace must be fixes, or one location in [0, {self.metric.n}) a step")
        if not np.all(np.asarray(self.metric.secret)[places]):
            raise FrameError("some locations are in the frame: they may be released but not be hidden")
        return Clock(0.0, self.step_s, int(places.size)), places

    def locate(self, lat: FloatArray, lon: FloatArray) -> IntArray:
        """The location of each place, or of the nearest that can be a secret."""
        return self._ground.locations(lat, lon)[0]

    def clamped(self, trace: Trace, clock: Clock | None = None) -> int:
        """At how many ticks the place had to be moved to the nearest that can be a secret; for the owner's eyes."""
        _, lat, lon = self._on_clock(trace, clock)
        tally = self._ground.locations(lat, lon)[1]
        return tally.outside + tally.frame

    def passes(self, places: Sequence[int] | IntArray, past: Past = None) -> Passes:
        """The forward pass over one piece (no block ends, no fence crossed), for those who look at its law."""
        return self._passes(np.asarray(places, np.int64), habit_of(past), None)

    @cached_property
    def searches(self) -> Searches:
        """Distances from the locations of traces."""
        return Searches(self.metric)

    @cached_property
    def parts(self) -> IntArray:
        """The part of the map that each location belongs to: nothing tells places of one part surely apart."""
        fence = np.asarray(self.metric.fence, np.int64)
        outside = np.asarray(self.metric.graph.components, np.int64) if self.metric.by_paths else np.zeros_like(fence)
        return np.where(fence > 0, -fence, outside)

    @cached_property
    def _ground(self) -> Ground:
        return Ground(self.metric, "snap")

    def _on_clock(self, trace: Trace, clock: Clock | None) -> tuple[Clock, FloatArray, FloatArray]:
        """The clock of a trace, and the place at each of its ticks."""
        clock = Clock.of(trace, self.step_s) if clock is None else clock
        if clock.step_s != self.step_s:
            raise InputError(f"the clock must tick every {self.step_s} s as the mechanism does, got {clock.step_s:g} s")
        fix = clock.fixes(trace)
        return clock, trace.lat[fix], trace.lon[fix]

    def _pieces(self, places: IntArray) -> Iterator[tuple[int, int, bool]]:
        """(first, last, goes on): a new piece at each block's start and wherever the trace enters or leaves a part of
        the map. A piece goes on from the released place before it, unless it comes from another part."""
        part = self.parts[places]
        crossed = np.flatnonzero(part[1:] != part[:-1]) + 1
        cuts = sorted({*crossed.tolist(), *range(self.block_steps, places.size, self.block_steps)})
        for first, last in zip([0, *cuts], [*cuts, places.size], strict=True):
            yield first, last, first > 0 and part[first] == part[first - 1]

    def _passes(self, piece: IntArray, habit: Habit, before: int | None) -> Passes:
        inside = np.flatnonzero(self.parts == self.parts[piece[0]])
        if not self.measure[inside].sum() > 0:
            raise InputError(
                "nothing that can be reached from the trace may be reported: 'output' or 'never' rule it out"
            )
        jump = jump_measure(self.measure, inside, habit, habit=self.habit, jump=self.jump, on_last=self.on_last)
        rows = self.searches(np.unique(piece))
        return Passes(piece, rows, self.weights.table, jump, 1.0 - self.jump, before)

    def _log_in_fence(self, place: int, told: IntArray) -> float:
        fence = np.asarray(self.metric.fence)
        if not np.all(told == told[0]) or fence[told[0]] != fence[place]:
            return -math.inf
        area = self.metric.locations.area_cells
        return math.log(area[told[0]] / area[fence == fence[place]].sum())

    def _cells(self, drawn: IntArray, rng: RandomSource) -> tuple[Any, Any]:
        """A cell drawn evenly from each released location; the same as long as it does not change."""
        runs = np.concatenate([[True], drawn[1:] != drawn[:-1]])
        row, col = (part[np.cumsum(runs) - 1] for part in draw_cells(self.metric, drawn[runs], rng))
        lat, lon = self.metric.grid.cell_to_latlon(row, col)
        return np.asarray(lat, np.float64), np.asarray(lon, np.float64)


def _fraction(name: str, value: Fraction | float) -> Fraction:
    """A number as a fraction that a person would write."""
    require_positive(name, float(value))
    return value if isinstance(value, Fraction) else Fraction(value).limit_denominator(10**6)
