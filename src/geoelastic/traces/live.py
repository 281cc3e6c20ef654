# SPDX-License-Identifier: Apache-2.0
"""`LiveTrace`: for those who must be seen now. One report per tick of a public clock, drawn around earlier reports.

A tick is a block of one step: K(z | x) is proportional to m(z) w(d(x, z)), with half of m from earlier reports, and
half of that from the last one. Between ticks the last report stands. A trace that is released later (`TraceMechanism`)
errs far less at the same cost, because it sees the whole day at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..accounts.accounting import DELTA, Cost
from ..errors import InputError
from ..mechanism.elastic import ElasticMechanism
from ..mechanism.remap import Remapped
from ..mechanism.sticky import Sticky
from ..randomness import RandomSource, SystemRandom
from .mechanism import TraceMechanism
from .release import Habit

#: The part of the habit that is on the last report.
_ON_LAST = 0.5
#: A block of one step only starts: the chance of a jump is a factor that cancels.
_JUMP = 0.25


class LiveTrace:
    """Live reports of one person.

    Guarantee: reports at the ticks t differ between two people by at most rate x tick x sum_t d(x_t, x'_t); when and
    how often a place is asked for between ticks changes nothing. `past`: what was reported before (public).
    """

    def __init__(
        self, mechanism: ElasticMechanism | Sticky | Remapped, *, rate: Fraction | float = Fraction(1, 2),
        tick_minutes: Fraction | float = 120, habit: float = 0.5, past: Habit | None = None,
    ) -> None:  # fmt: skip
        self._traces = TraceMechanism(
            mechanism, rate=rate, step_minutes=tick_minutes, moves_per_day=_JUMP * 1440 / float(tick_minutes),
            habit=habit, block_hours=float(tick_minutes) / 60, on_last=_ON_LAST,
        )  # fmt: skip
        self.habit = Habit() if past is None else past
        self._tick: int | None = None
        self._report: tuple[float, float] | None = None
        self._place: tuple[float, float] | None = None

    @property
    def mechanism(self) -> TraceMechanism:
        """What a tick is drawn by: a trace of one step."""
        return self._traces

    @property
    def tick_s(self) -> int:
        """Seconds between ticks; they fall on multiples of it since 1970, UTC."""
        return self._traces.step_s

    def report(
        self, lat: float | None = None, lon: float | None = None, *, time_s: float | None = None,
        rng: RandomSource | None = None,
    ) -> tuple[float, float]:  # fmt: skip
        """What others see now. A new report is drawn once a tick; without a place (no fix) the last one holds."""
        now = math.floor((time.time() if time_s is None else time_s) / self.tick_s)
        if (lat is None) != (lon is None):
            raise InputError("give both lat and lon, or none if there is no fix")
        if lat is not None and lon is not None:
            self._place = (float(lat), float(lon))
        if self._report is not None and self._tick == now:
            return self._report
        if self._place is None:
            raise InputError("the first report needs a place: give lat and lon")
        self._report, self._tick = self._draw(*self._place, SystemRandom() if rng is None else rng), now
        return self._report

    def cost(self, hours: float = 24, level: float = math.log(2), *, delta: float = DELTA) -> Cost:
        """What `hours` of live reports cost between people who are `level` apart all the time."""
        return self._traces.cost(hours, level, delta=delta)

    def state(self) -> dict[str, Any]:
        """All that must be kept to go on later: reports and nothing of the truth."""
        seconds = {str(location): kept for location, kept in self.habit.seconds.items()}
        return {"tick": self._tick, "report": self._report, "seconds": seconds, "last": self.habit.last}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on from a kept state of the same map."""
        try:
            seconds = {int(location): int(kept) for location, kept in state["seconds"].items()}
            last, tick, report = state["last"], state["tick"], state["report"]
            habit = Habit(seconds, None if last is None else int(last))
            shown = None if report is None else (float(report[0]), float(report[1]))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise InputError("a live trace must be resumed from what `state` gave") from None
        if not all(0 <= location < self._traces.metric.n for location in seconds):
            raise InputError("the state must be of the same map: it has locations that this one does not")
        self.habit, self._tick, self._report = habit, None if tick is None else int(tick), shown

    def _draw(self, lat: float, lon: float, rng: RandomSource) -> tuple[float, float]:
        place = self._traces.locate(np.array([lat]), np.array([lon]))
        release = self._traces.release(place.tolist(), self.habit, rng)
        if release.fence[0] == 0:
            self.habit = self.habit.after(release.location.tolist(), self.tick_s)
        return float(release.lat[0]), float(release.lon[0])
