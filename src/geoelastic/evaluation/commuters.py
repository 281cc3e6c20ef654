# SPDX-License-Identifier: Apache-2.0
"""Made-up commuters whose home and work are known: to try the finding of places and the attack on fences.

A city of straight streets at an angle. Everyone has a home, a workplace and some places for lunch and leisure, a way of
recording (a phone that fixes indoors, or a logger that falls silent there and starts late) and two habitual routes
between any two places. No real person's trace is needed or used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..area import Area
from ..arrays import FloatArray
from ..errors import require_count, require_latlon
from ..sources.traces import Fix, Trace, clean_trace

_BLOCK_M = 120.0
_STREET_ANGLE = np.radians(23.0)
_CITY_M = 4000.0
_GPS_M = 6.0
_INDOOR_M = 25.0
_HOUR = 3600.0
#: Monday 2 March 2026, 00:00 UTC.
_MONDAY_S = 1_772_409_600.0

Point = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Commuter:
    """A trace and the truth about it: (lat, lon) of home and work."""

    trace: Trace
    home: Point
    work: Point


def synthetic_commuters(
    count: int, *, seed: int, days: int = 28, lat: float = 48.8567, lon: float = 2.3487
) -> list[Commuter]:
    """`count` people in a made-up city around (lat, lon), each over `days` days; the same for the same seed."""
    area = Area.around(*require_latlon(lat, lon), size_km=40)
    children = np.random.SeedSequence(seed).spawn(require_count("count", count))
    return [_Person(np.random.default_rng(child), area).live(require_count("days", days)) for child in children]


def home_density(xy: FloatArray) -> FloatArray:
    """How likely homes are at places (n, 2) in metres from the middle of the city, up to a constant."""
    return np.asarray(np.exp(-(xy[:, 0] ** 2 + xy[:, 1] ** 2) / (2 * _CITY_M**2)), np.float64)


class _Person:
    def __init__(self, rng: np.random.Generator, area: Area) -> None:
        self.rng, self.area = rng, area
        self.home = self._spot((0.0, 0.0), _CITY_M)
        self.work = self._spot((0.0, 0.0), _CITY_M / 2)
        while np.hypot(self.work[0] - self.home[0], self.work[1] - self.home[1]) < 1500:
            self.work = self._spot((0.0, 0.0), _CITY_M / 2)
        self.lunch = [self._spot(self.work, 300.0) for _ in range(2)]
        self.leisure = [self._spot(self.home if k % 2 else (0.0, 0.0), 2500.0) for k in range(4)]
        walks = np.hypot(self.work[0] - self.home[0], self.work[1] - self.home[1]) < 3000
        self.speed_m_s = 1.4 if walks else float(rng.choice([4.5, 8.0]))
        self.interval_s = float(rng.choice([5.0, 15.0, 30.0]))
        self.logger = bool(rng.random() < 0.5)
        self.routes: dict[tuple[Point, Point], list[FloatArray]] = {}

    def _spot(self, centre: Point, spread_m: float) -> Point:
        x, y = self.rng.normal(centre, spread_m)
        return float(x), float(y)

    def live(self, days: int) -> Commuter:
        offset_s = _HOUR * round(self.area.lon / 15)
        time_s, x, y = np.vstack(
            [rows for day in range(days) if day == 0 or self.rng.random() > 0.1 for rows in self._day(day)]
        ).T
        lat, lon = self.area.to_latlon(x, y)
        fixes = map(Fix, [""] * len(lat), lat.tolist(), lon.tolist(), (time_s - offset_s).tolist())
        home, work = ((float(a), float(o)) for a, o in (self.area.to_latlon(*p) for p in (self.home, self.work)))
        return Commuter(clean_trace("", fixes), home, work)

    def _day(self, day: int) -> Iterator[FloatArray]:
        """Rows (local time, x, y) of one day, from midnight at home to midnight at home."""
        midnight, at = _MONDAY_S + 86_400 * day, self.home
        now = midnight
        for where, leave in self._plan(weekend=day % 7 >= 5):
            leave = max(midnight + leave, now + 0.2 * _HOUR)
            yield self._rest(at, now, leave)
            travel = self._travel(at, where, leave)
            yield travel
            now, at = float(travel[-1, 0]), where
        yield self._rest(at, now, midnight + 24 * _HOUR)

    def _plan(self, *, weekend: bool) -> list[tuple[Point, float]]:
        """Where to go, and when to set out, in order; ends at home."""
        rng = self.rng
        fun = self.leisure[rng.integers(len(self.leisure))]
        if weekend:
            start = rng.normal(14, 2) * _HOUR
            return [(fun, start), (self.home, start + 2.5 * _HOUR)] if rng.random() < 0.7 else []
        plan = [(self.work, rng.normal(8, 0.4) * _HOUR)]
        if rng.random() < 0.4:
            lunch = self.lunch[rng.integers(len(self.lunch))]
            plan += [(lunch, rng.normal(12.3, 0.2) * _HOUR), (self.work, rng.normal(13.3, 0.2) * _HOUR)]
        end = rng.normal(17.6, 0.6) * _HOUR
        if rng.random() < 0.35:
            plan += [(fun, end)]
            end += rng.uniform(1.2, 2.5) * _HOUR
        return [*plan, (self.home, end)]

    def _rest(self, at: Point, begin: float, end: float) -> FloatArray:
        """Fixes indoors, every 5 to 20 minutes; a logger has none."""
        times = begin + np.cumsum(self.rng.uniform(300, 1200, max(0, int((end - begin) / 300) + 1)))
        times = times[times < end] if not self.logger else times[:0]
        return np.column_stack([times, np.array(at) + self.rng.normal(0, _INDOOR_M, (len(times), 2))])

    def _travel(self, start: Point, goal: Point, begin: float) -> FloatArray:
        path = self._route(start, goal)
        length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(path, axis=0).T))])
        late_s = self.rng.uniform(0, 90) if self.logger else 0.0  # a logger needs a while for its first fix
        speed = self.speed_m_s * self.rng.uniform(0.85, 1.15)
        whole_s = length[-1] / speed
        elapsed = np.append(np.arange(min(late_s, whole_s), whole_s, self.interval_s), whole_s)
        xy = np.column_stack([np.interp(elapsed * speed, length, path[:, axis]) for axis in (0, 1)])
        return np.column_stack([begin + elapsed, xy + self.rng.normal(0, _GPS_M, xy.shape)])

    def _route(self, start: Point, goal: Point) -> FloatArray:
        """One of the two habitual ways, over the streets."""
        ways = self.routes.setdefault((start, goal), [])
        if len(ways) < 2:
            ways.append(self._streets(start, goal))
        return ways[int(self.rng.integers(len(ways)))]

    def _streets(self, start: Point, goal: Point) -> FloatArray:
        """From door to the nearest corner, along streets in a few straight runs, to the corner nearest the goal."""
        cos, sin = np.cos(_STREET_ANGLE), np.sin(_STREET_ANGLE)
        turn = np.array([[cos, sin], [-sin, cos]])
        ends = np.array([start, goal]) @ turn.T
        corner, last = np.round(ends / _BLOCK_M)
        runs = 1 + int(np.abs(last - corner).sum() / self.rng.uniform(4, 12))  # a turn every 240 to 720 m
        cuts = np.sort(self.rng.random((runs - 1, 2)), axis=0) if runs > 1 else np.empty((0, 2))
        stops = np.round(corner + np.vstack([cuts, [[1.0, 1.0]]]) * (last - corner))
        points = [ends[0], corner * _BLOCK_M]
        first_axis = int(self.rng.integers(2))
        for stop in stops:
            bend = points[-1].copy()
            bend[first_axis] = stop[first_axis] * _BLOCK_M
            points += [bend, stop * _BLOCK_M]
        path: FloatArray = np.array([*points, ends[1]]) @ turn
        return path
