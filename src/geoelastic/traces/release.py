# SPDX-License-Identifier: Apache-2.0
"""`Release`: what others get to see of a trace, and how the next one may learn from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..arrays import FloatArray, IntArray, Locked
from .clock import Clock
from .habit import Habit

__all__ = ["Release", "habit_of"]


@dataclass(frozen=True, eq=False)
class Release(Locked):
    """One released location a tick of the public clock, and a cell of it as a place.

    `fence`: the number of the fence at ticks spent in one (0: none); fenced ticks cost nothing. `outside_steps`: the
    ticks that are paid for. `seeded`: made for research with a seed, which protects nobody.
    """

    user: str
    clock: Clock
    location: IntArray
    lat: FloatArray
    lon: FloatArray
    fence: IntArray
    seeded: bool = False

    def __len__(self) -> int:
        return int(self.location.size)

    @property
    def paid_hours(self) -> float:
        """Hours outside fences: what the release is charged for."""
        return float((self.fence == 0).sum()) * self.clock.step_s / 3600

    @property
    def moves(self) -> int:
        """How often the released place changes."""
        return int((self.location[1:] != self.location[:-1]).sum())


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
