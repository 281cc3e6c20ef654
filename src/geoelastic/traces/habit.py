# SPDX-License-Identifier: Apache-2.0
"""`Habit`: how long earlier *releases* stayed at each location. It never sees a true place.

Half of a release's measure is the map's, half the time share of what was released before: who is seen at the same
places again is drawn there at no cost, because both are public. From true places it would void the guarantee.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..arrays import FloatArray, IntArray

__all__ = ["Habit", "jump_measure"]


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
