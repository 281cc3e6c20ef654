# SPDX-License-Identifier: Apache-2.0
"""Days of people, as the evaluation of traces sees them: true places at the ticks of a public day."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ...arrays import FloatArray, IntArray
from ...errors import InputError
from ...sources.traces import Trace
from ...traces import Clock, TraceMechanism

__all__ = ["Day", "find_days", "split_days"]

_DAY_S = 86_400
#: A day with fewer ticks that have a fix of their own says little about a day.
_LEAST_SEEN = 6


@dataclass(frozen=True, eq=False)
class Day:
    """One local day: locations and metres (T, 2) at the ticks of its clock, in the order of `number`."""

    user: str
    number: int
    clock: Clock
    places: IntArray
    xy: FloatArray

    @property
    def hours(self) -> FloatArray:
        """Local hours of the ticks."""
        return np.asarray(np.arange(self.clock.steps) * self.clock.step_s / 3600, np.float64)


def find_days(mechanism: TraceMechanism, traces: Sequence[Trace], *, most: int | None = None) -> list[Day]:
    """The days on which a person was seen at all and only on the map, by local sun time; at most `most` a person.

    Between fixes, and over night, the last place holds.
    """
    found: list[Day] = []
    for trace in traces:
        days = (day for number in _numbers(trace) if (day := _day(mechanism, trace, number)) is not None)
        found += islice(days, most)
    if not found:
        raise InputError("the traces must have days on the map: none was seen on it at six ticks or more")
    return found


def split_days(days: Sequence[Day]) -> tuple[list[Day], list[Day]]:
    """Every second day of each person to tune on, the others to measure."""
    tuned, measured, seen = list[Day](), list[Day](), dict[str, int]()
    for day in days:
        count = seen[day.user] = seen.get(day.user, 0) + 1
        (tuned if count % 2 else measured).append(day)
    return tuned, measured


def _numbers(trace: Trace) -> list[int]:
    local = np.floor((trace.time_s + _offset_s(trace)) / _DAY_S).astype(np.int64)
    return [int(number) for number in np.unique(local)]


def _offset_s(trace: Trace) -> float:
    return 3600.0 * round(float(np.median(trace.lon)) / 15)


def _day(mechanism: TraceMechanism, trace: Trace, number: int) -> Day | None:
    start = number * _DAY_S - _offset_s(trace)
    clock = Clock(start, mechanism.step_s, math.ceil(_DAY_S / mechanism.step_s))
    fix = clock.fixes(trace)
    own = np.flatnonzero((trace.time_s >= start) & (trace.time_s < start + _DAY_S))
    if np.unique((trace.time_s[own] - start) // 600).size < _LEAST_SEEN:
        return None
    used = np.unique(np.concatenate([own, fix]))
    grid = mechanism.metric.grid
    row, col = grid.latlon_to_cell(trace.lat[used], trace.lon[used])
    secret = np.asarray(mechanism.metric.secret)[mechanism.metric.locations.owner]
    if np.any(row < 0) or not np.all(secret[row, col]):
        return None
    xy = np.column_stack(grid.area.to_xy(trace.lat[fix], trace.lon[fix]))
    return Day(trace.user, number, clock, mechanism.locate(trace.lat[fix], trace.lon[fix]), xy)
