# SPDX-License-Identifier: Apache-2.0
"""Recurrent places of a person: stays that come back, told apart by the hours they are kept.

Stays by the definition of Li et al. (Mining user similarity based on location history, 2008): a stay begins at a fix if
every later fix up to one at least 20 minutes after it lies within 200 m of it, and lasts until the first that does
not. A silent logger at home is a stay by the same rule: the fixes before and after the silence are close.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from ..arrays import FloatArray
from ..errors import InputError, import_extra, require_count, require_positive
from ..sources.traces import EARTH_RADIUS_M, Trace, haversine_m

#: Local hours. Sun time may be two hours off the clock, so both windows keep away from the hours at which people move.
_NIGHT = (23, 30)  # 23:00 to 06:00 of the next day
_WORK = (9, 17)
#: A night or a working day is spent at a place from this many hours within the window.
_MIN_HOURS = 2.0
#: A second home or workplace has at least this share of the nights (working days) of the first.
_SECOND = 0.25
#: A place is recurrent from this share of the days on which the person stayed anywhere.
_RECURRENT = 0.05
#: One long rest must not outweigh many: a night counts in full, a week of silence does not.
_MAX_WEIGHT_HOURS = 12.0
_DAY_S = 86_400


@dataclass(frozen=True)
class Place:
    """A recurrent place: `label` is home, work or place; the counts say on how many days, nights, working days."""

    label: str
    lat: float
    lon: float
    days: int
    nights: int
    workdays: int


def local_clock(timezone: str | None, lon: float) -> Callable[[float], float]:
    """A function from UTC seconds to local seconds: by the time zone's rules, or else by the sun, in whole hours."""
    if timezone is None:
        offset_s = 3600.0 * round(lon / 15)
        return lambda time_s: time_s + offset_s
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError(f"'timezone' must be a name such as Europe/Paris, got {timezone!r}") from None

    def clock(time_s: float) -> float:
        offset = datetime.fromtimestamp(time_s, UTC).astimezone(zone).utcoffset()
        return time_s + (offset.total_seconds() if offset else 0.0)

    return clock


def find_places(trace: Trace, *, timezone: str | None = None, reach_m: float = 100, min_days: int = 3) -> list[Place]:
    """The recurrent places of a trace: homes first, then workplaces, then others, each by the days spent there.

    Stays are grouped by DBSCAN (density in metres on the sphere, `reach_m`), so a person may have been on two
    continents. A group is recurrent if it was visited on at least `min_days` days and 5 % of all days. The place with
    the most nights is home; the one with the most working days, and more of them than nights, is work; others with at
    least a quarter of these are further homes and workplaces. Raises `InputError` if there is no recurrent place.
    """
    require_positive("reach_m", reach_m)
    require_count("min_days", min_days)
    if len(trace) < 2:
        raise InputError(f"a trace must have at least two fixes to show a stay, got {len(trace)}")
    stays = find_stays(trace)
    spans = [_days(stay, local_clock(timezone, stay.lon)) for stay in stays]
    days = {day for span in spans for day in span}
    if not stays:
        raise InputError(f"the trace has {len(trace)} fixes but no stay: none of 20 minutes within 200 m")
    groups = _clusters(stays, [len(span) for span in spans], reach_m, min_days)
    found = [
        place for group in groups if (place := _place(group, timezone)).days >= max(min_days, _RECURRENT * len(days))
    ]
    if not found:
        raise InputError(
            f"the trace has {len(stays)} stays on {len(days)} days but no recurrent place: "
            f"one that is stayed at on at least {min_days} days ('min_days')"
        )
    return _labelled(found)


def _clusters(stays: Sequence[Stay], days: Sequence[int], reach_m: float, min_days: int) -> list[list[Stay]]:
    """Stays with at least `min_days` days of stays around, and what is within reach of them."""
    cluster = import_extra("sklearn.cluster", "traces", package="scikit-learn")
    radians = np.radians([(stay.lat, stay.lon) for stay in stays])
    model = cluster.DBSCAN(
        eps=reach_m / EARTH_RADIUS_M, min_samples=min_days, metric="haversine", algorithm="ball_tree"
    )
    labels = model.fit_predict(radians, sample_weight=days)
    return [
        [stay for stay, label in zip(stays, labels, strict=True) if label == k]
        for k in range(int(labels.max(initial=-1)) + 1)
    ]


def _place(stays: Sequence[Stay], timezone: str | None) -> Place:
    weight = np.array([min(stay.hours, _MAX_WEIGHT_HOURS) for stay in stays])
    lat, lon = np.array([stay.lat for stay in stays]), np.array([stay.lon for stay in stays])
    clock = local_clock(timezone, float(lon[0]))
    return Place(
        label="place",
        lat=weighted_median(lat, weight),
        lon=_median_lon(lon, weight),
        days=len({day for stay in stays for day in _days(stay, clock)}),
        nights=len(_windows(stays, clock, _NIGHT, weekdays=False)),
        workdays=len(_windows(stays, clock, _WORK, weekdays=True)),
    )


def _days(stay: Stay, clock: Callable[[float], float]) -> range:
    return range(int(clock(stay.begin_s) // _DAY_S), int(clock(stay.end_s) // _DAY_S) + 1)


def _windows(
    stays: Iterable[Stay], clock: Callable[[float], float], hours: tuple[int, int], *, weekdays: bool
) -> set[int]:
    """Days in whose window of local hours at least two hours were spent in these stays."""
    spent: dict[int, float] = {}
    for stay in stays:
        begin, end = clock(stay.begin_s), clock(stay.end_s)
        for day in range(int(begin // _DAY_S) - 1, int(end // _DAY_S) + 1):
            inside = min(end, day * _DAY_S + hours[1] * 3600) - max(begin, day * _DAY_S + hours[0] * 3600)
            if inside > 0 and not (weekdays and (day + 3) % 7 >= 5):  # 1 January 1970 was a Thursday
                spent[day] = spent.get(day, 0.0) + inside / 3600
    return {day for day, total in spent.items() if total >= _MIN_HOURS}


def _labelled(places: Sequence[Place]) -> list[Place]:
    most_nights = max(place.nights for place in places)
    homes = [p for p in places if p.nights > 0 and p.nights >= _SECOND * most_nights and _is_home(p, most_nights)]
    rest = [place for place in places if place not in homes]
    most_work = max((place.workdays for place in rest), default=0)
    works = [p for p in rest if p.workdays >= max(2, _SECOND * most_work) and p.workdays > p.nights]
    others = [place for place in rest if place not in works]

    def named(label: str, group: Sequence[Place], key: Callable[[Place], int]) -> list[Place]:
        ordered = sorted(group, key=lambda p: (key(p), p.days), reverse=True)
        return [Place(label, p.lat, p.lon, p.days, p.nights, p.workdays) for p in ordered]

    return [
        *named("home", homes, lambda p: p.nights),
        *named("work", works, lambda p: p.workdays),
        *named("place", others, lambda p: p.days),
    ]


def _is_home(place: Place, most_nights: int) -> bool:
    """The first home by its nights alone; a further one must be slept at at least as often as it is worked at."""
    return place.nights == most_nights or place.nights >= place.workdays


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


def find_stays(trace: Trace, *, max_gap_hours: float = 18) -> list[Stay]:
    """All stays of a trace, in order of time.

    A silence of more than `max_gap_hours` ends a stay: after a day without a fix one may have been anywhere.
    Cost: linear in the fixes; only those that open a stay are looked at one by one.
    """
    radius_m, min_s, gap_s = 200.0, 60 * 20.0, 3600 * require_positive("max_gap_hours", max_gap_hours)
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
