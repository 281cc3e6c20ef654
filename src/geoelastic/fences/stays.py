# SPDX-License-Identifier: Apache-2.0
"""Stay points: where and when a trace rests.

Definition of Li et al. (Mining user similarity based on location history, 2008): a stay begins at a fix if every later
fix up to one at least `min_minutes` after it lies within `radius_m` of it, and lasts until the first that does not. A
silent logger at home is a stay by the same rule: the fixes before and after the silence are close.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray
from ..errors import require_positive
from ..sources.traces import Trace, haversine_m

__all__ = ["Stay", "find_stays", "weighted_median"]


@dataclass(frozen=True)
class Stay:
    """A rest at (`lat`, `lon`) from `begin_s` to `end_s` (seconds since 1970, UTC)."""

    lat: float
    lon: float
    begin_s: float
    end_s: float

    @property
    def hours(self) -> float:
        return (self.end_s - self.begin_s) / 3600


def find_stays(
    trace: Trace, *, radius_m: float = 200, min_minutes: float = 20, max_gap_hours: float = 18
) -> list[Stay]:
    """All stays of a trace, in order of time.

    A silence of more than `max_gap_hours` ends a stay: after a day without a fix one may have been anywhere.
    Cost: linear in the fixes; only those that open a stay are looked at one by one.
    """
    radius_m, min_s = require_positive("radius_m", radius_m), 60 * require_positive("min_minutes", min_minutes)
    gap_s = 3600 * require_positive("max_gap_hours", max_gap_hours)
    lat, lon, time_s = trace.lat, trace.lon, trace.time_s
    # a stay that opens at i must still hold the first fix at least min_s later: this rules out all that move
    later = np.searchsorted(time_s, time_s + min_s)
    possible = np.flatnonzero(later < len(trace))
    near = haversine_m(lat[possible], lon[possible], lat[later[possible]], lon[later[possible]]) <= radius_m
    stays, end = [], 0
    for i in possible[near].tolist():
        if i < end:
            continue
        stop = _first_away(trace, i, radius_m, gap_s)
        if stop > later[i]:
            stays.append(_stay(lat[i:stop], lon[i:stop], time_s[i:stop]))
            end = stop
    return stays


def _first_away(trace: Trace, i: int, radius_m: float, gap_s: float) -> int:
    """Index of the first fix after i that is further than `radius_m` from it or comes after too long a silence."""
    start, size = i + 1, 64
    while start < len(trace):
        part = slice(start, start + size)
        away = haversine_m(trace.lat[i], trace.lon[i], trace.lat[part], trace.lon[part]) > radius_m
        away |= np.diff(trace.time_s[start - 1 : start + size]) > gap_s
        if away.any():
            return start + int(np.argmax(away))
        start, size = start + size, size * 2
    return len(trace)


def _stay(lat: FloatArray, lon: FloatArray, time_s: FloatArray) -> Stay:
    """Its place is the median of its fixes weighted by time: the walk to the door counts for minutes, not for fixes."""
    span = np.diff(time_s)
    weight = np.concatenate([span, [0.0]]) + np.concatenate([[0.0], span])
    return Stay(weighted_median(lat, weight), _median_lon(lon, weight), float(time_s[0]), float(time_s[-1]))


def _median_lon(lon: FloatArray, weight: FloatArray) -> float:
    """Median longitude of places close together, also across the 180th meridian."""
    offset = (lon - lon[0] + 540) % 360 - 180
    return float((lon[0] + weighted_median(offset, weight) + 540) % 360 - 180)


def weighted_median(values: FloatArray, weight: FloatArray) -> float:
    """The least value that has at least half of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weight[order])
    return float(values[order[min(int(np.searchsorted(total, total[-1] / 2)), len(values) - 1)]])
