# SPDX-License-Identifier: Apache-2.0
"""The public clock of a release: when it starts and ends and how it ticks say nothing of the trace.

Nothing of the input's own rhythm survives: at each tick a person is where they were last seen, or, before the first
fix, where they will first be seen. A gap holds the last place; no tick is ever left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import InputError, require_count
from ..sources.traces import Trace

__all__ = ["Clock"]

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
