# SPDX-License-Identifier: Apache-2.0
"""`Release`: what others get to see of a trace, on a public `Clock`, and the `Habit` that later ones learn from it.

When a clock starts and ends and how it ticks say nothing of the trace. Nothing of the input's own rhythm survives: at
each tick a person is where they were last seen, or, before the first fix, where they will first be seen. A gap holds
the last place; no tick is ever left out.

A habit is how long earlier *releases* stayed at each location. It never sees a true place. Half of a release's measure
is the map's, half the time share of what was released before: who is seen at the same places again is drawn there at no
cost, because both are public. From true places it would void the guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..arrays import FloatArray, IntArray, Locked
from ..errors import InputError, require_count
from ..sources.traces import Trace

_HOUR_S = 3600.0


@dataclass(frozen=True)
class Clock:
    """Ticks at start_s + k x step_s (seconds since 1970, UTC), k = 0 .. steps - 1."""

    start_s: float
    step_s: float
    steps: int

    def __post_init__(self) -> None:
        require_count("steps", self.steps)
        if not (math.isfinite(self.start_s) and 0 < self.step_s < math.inf):
            raise InputError("a clock must have a finite start and a step > 0")

    @classmethod
    def between(cls, start_s: float, end_s: float, step_s: float) -> Clock:
        """All ticks in [start, end) on the clock that also ticked at midnight of 1 January 1970."""
        first, last = math.floor(start_s / step_s), math.ceil(end_s / step_s)
        return cls(first * step_s, step_s, max(1, last - first))

    @classmethod
    def of(cls, trace: Trace, step_s: float) -> Clock:
        """From the first fix to the last, rounded outwards: then both are public."""
        if not len(trace):
            raise InputError("a trace must have at least one fix")
        return cls.between(float(trace.time_s[0]), float(trace.time_s[-1]) + step_s, step_s)

    @property
    def hours(self) -> float:
        return self.steps * self.step_s / _HOUR_S

    @property
    def ticks(self) -> FloatArray:
        """Seconds since 1970 of each tick."""
        return np.asarray(self.start_s + self.step_s * np.arange(self.steps), np.float64)

    def fixes(self, trace: Trace) -> IntArray:
        """The number of the fix that says where the person is at each tick."""
        if not len(trace):
            raise InputError("a trace must have at least one fix")
        return np.maximum(np.searchsorted(trace.time_s, self.ticks, side="right") - 1, 0).astype(np.int64)


@dataclass(frozen=True)
class Habit:
    """Released seconds by location, and the last released location (for live ticks)."""

    seconds: Mapping[int, int] = field(default_factory=dict)
    last: int | None = None

    def after(self, released: Iterable[int], seconds_each: int) -> Habit:
        """The habit when these locations have been released too, each for so long."""
        known, last = dict(self.seconds), self.last
        for location in released:
            last = int(location)
            known[last] = known.get(last, 0) + seconds_each
        return Habit(known, last)

    def counts(self, n: int) -> FloatArray:
        """Seconds as one number per location."""
        counts = np.zeros(n)
        for location, seconds in self.seconds.items():
            counts[location] = seconds
        return counts


def jump_measure(
    measure: IntArray, inside: IntArray, past: Habit, *, habit: float, jump: float, on_last: float = 0.0
) -> FloatArray:
    """jump x m(z) over the locations `inside` (a component), 0 elsewhere; the same bits in every language.

    m is (1 - habit) of the measure's share and `habit` of the past's, of which the part `on_last` is the last
    release's alone. Nothing known yet inside: the measure alone.
    """
    known = past.counts(measure.size)[inside]
    total = float(known.sum())  # whole seconds: exact
    share = measure[inside] / float(measure[inside].sum())
    if total > 0:
        usual = known / total
        if on_last > 0 and past.last is not None:
            usual = (1.0 - on_last) * usual + on_last * (inside == past.last)
        share = (1.0 - habit) * share + habit * usual
    jumps = np.zeros(measure.size)
    jumps[inside] = jump * share
    return jumps


@dataclass(frozen=True, eq=False)
class Release(Locked):
    """One released location a tick of the public clock, and a cell of it as a place.

    `fence`: the number of the fence at ticks spent in one (0: none); fenced ticks cost nothing. `seeded`: made for
    research with a seed, which protects nobody.
    """

    user: str
    clock: Clock
    location: IntArray
    lat: FloatArray
    lon: FloatArray
    fence: IntArray
    seeded: bool = False

    @property
    def paid_hours(self) -> float:
        """Hours outside fences: what the release is charged for."""
        return float((self.fence == 0).sum()) * self.clock.step_s / 3600

    @property
    def moves(self) -> int:
        """How often the released place changes."""
        return int((self.location[1:] != self.location[:-1]).sum())

    def __len__(self) -> int:
        return int(self.location.size)


def habit_of(past: Habit | Release | Iterable[Release] | None) -> Habit:
    """The habit that earlier releases show; fenced ticks are no part of it."""
    if past is None:
        return Habit()
    if isinstance(past, Habit):
        return past
    habit = Habit()
    for release in [past] if isinstance(past, Release) else past:
        habit = habit.after(release.location[release.fence == 0].tolist(), round(release.clock.step_s))
    return habit
