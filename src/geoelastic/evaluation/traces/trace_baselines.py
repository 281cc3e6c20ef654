# SPDX-License-Identifier: Apache-2.0
"""Days of people, and what their traces are compared with: a public clock, the predictive mechanism and its budgets.

A day is the true places at the ticks of a public clock. All mechanisms spend the same cost a day, counted at ln 2 by
the better bound. A clock of k reports may use the metric scaled by `level_within(cost, k) / ln 2`. *Sharpened* means
weights e^(-d) instead of e^(-d/2) with a normaliser that is taken to be the same everywhere: better than any relief
that can be certified.

The predictive mechanism (Chatzikokolakis, Palamidessi and Stronati, PETS 2014) first tests, with Laplace noise, whether
the last report is still within a threshold of the place; only if not does it report again. The test is private because
d(x, z) changes by at most d(x, x') with x. A budget manager says what the next test and report may cost: *fixed
accuracy* spends the same on each until nothing is left, *fixed rate* what the share of passed tests lets it spend.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from ...accounts.accounting import level_within
from ...arrays import FloatArray, IntArray
from ...errors import InputError
from ...levels import LEVEL_UNIT, LN2
from ...sources.traces import Trace
from ...traces import Clock, TraceMechanism


@dataclass(frozen=True, eq=False)
class Day:
    """One local day: locations and metres (T, 2) at the ticks of its clock, in the order of `number`."""

    user: str
    number: int
    clock: Clock
    places: IntArray
    xy: FloatArray


_DAY_S = 86_400
#: A day with fewer ticks that have a fix of their own says little about a day.
_LEAST_SEEN = 6


def find_days(mechanism: TraceMechanism, traces: Sequence[Trace], *, most: int | None = None) -> list[Day]:
    """The days on which a person was seen at all and only on the map, by local sun time; at most `most` a person.

    Between fixes, and over night, the last place holds.
    """
    found: list[Day] = []
    for trace in traces:
        local = np.unique(np.floor((trace.time_s + _offset_s(trace)) / _DAY_S).astype(np.int64))
        days = (day for number in local.tolist() if (day := _day(mechanism, trace, number)) is not None)
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


Rows = Callable[[int], FloatArray]
#: Reports a day that are tried.
CLOCKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 48)


@dataclass(frozen=True, eq=False)
class TraceScene:
    """A map as the baselines need it: levels from a location to all, the measure's shares, metres."""

    rows: Rows
    share: FloatArray
    xy: FloatArray

    @classmethod
    def of(cls, mechanism: TraceMechanism) -> TraceScene:
        def rows(place: int) -> FloatArray:
            units = mechanism.searches(np.array([place]))[place]
            return np.asarray(units * LEVEL_UNIT, np.float64)

        return cls(rows, mechanism.measure / mechanism.measure.sum(), np.asarray(mechanism.metric.xy))

    def chances(self, place: int, exponent: float) -> FloatArray:
        """The law of a report from a place with weights e^(-exponent x d)."""
        weighted = self.share * np.exp(-exponent * self.rows(place))
        return np.asarray(weighted / weighted.sum(), np.float64)


def clock_errors(
    scene: TraceScene, day: Day, cost: float, *, sharpened: bool, reports: Sequence[int] = CLOCKS
) -> dict[int, FloatArray]:
    """The expected error in metres at each tick of a day by the number of reports: exact, no draws. Between reports the
    last one stands."""
    where, which = np.unique(day.xy, axis=0, return_inverse=True)
    away = np.hypot(scene.xy[:, :1] - where[:, 0], scene.xy[:, 1:] - where[:, 1])
    errors, steps = {}, day.places.size
    for k in reports:
        beta = 1.0 if sharpened else 0.5
        exponent = beta * level_within(cost, k, exponent=beta) / LN2
        starts = np.unique(np.arange(k) * steps // k)
        places, law = np.unique(day.places[starts], return_inverse=True)
        expected = np.array([scene.chances(place, exponent) for place in places.tolist()]) @ away
        stands = np.repeat(law, np.diff([*starts, steps]))
        errors[k] = expected[stands, which.ravel()]
    return errors


def best_clock(errors: Sequence[dict[int, FloatArray]]) -> int:
    """The number of reports a day with the least mean error."""
    return min(errors[0], key=lambda k: float(np.mean([by_count[k] for by_count in errors])))


@dataclass(frozen=True)
class Predictive:
    """Settings of the predictive mechanism: `tests` a day, the part `share` of the budget that they get, a report's
    scale relative to a test's, the threshold in levels, and the budget manager."""

    tests: int
    test_scale: float
    report_scale: float
    threshold: float
    manager: str = "fixed accuracy"


def predictive_error(
    scene: TraceScene, day: Day, cost: float, settings: Predictive, rng: np.random.Generator, *, sharpened: bool
) -> tuple[FloatArray, int, float]:
    """(error in metres at each tick, reports, spent) of one run over a day. The budget is pure: what is spent depends
    on the trace, so that only the sum counts; when it is used up, the last report stands."""
    left, steps = cost / LN2, day.places.size
    starts = set((np.arange(settings.tests) * steps // settings.tests).tolist())
    rate, passed = left / settings.tests, [0.0]
    z, reports, errors = -1, 0, np.empty(steps)
    for t in range(steps):
        if t in starts:
            place = int(day.places[t])
            test, scale = _next_budget(settings, rate, passed, left)
            if z >= 0 and test + scale <= left:
                left -= test
                noisy = scene.rows(place)[z] + rng.laplace(0, 1 / test)
                passed.append(float(noisy <= settings.threshold))
            if z < 0 or (passed[-1] == 0.0 and test + scale <= left):
                spent = min(scale, left)
                chances = scene.chances(place, spent * (1.0 if sharpened else 0.5))
                z = min(int(np.searchsorted(np.cumsum(chances), rng.random())), scene.share.size - 1)
                left, reports = left - spent, reports + 1
        errors[t] = math.hypot(*(scene.xy[z] - day.xy[t]))
    return errors, reports, cost - left * LN2


def _next_budget(settings: Predictive, rate: float, passed: list[float], left: float) -> tuple[float, float]:
    """(epsilon of the test, epsilon of a report) that the manager allows now."""
    if settings.manager == "fixed accuracy":
        return settings.test_scale, settings.report_scale
    share = min(float(np.mean(passed[-10:])), 0.95)
    test = rate * settings.test_scale / (settings.test_scale + settings.report_scale * (1 - share))
    return test, min((rate - test) / (1 - share), left)


def tune_predictive(scene: TraceScene, days: Sequence[Day], cost: float, *, sharpened: bool, seed: int) -> Predictive:
    """The settings with the least mean error on these days, over a grid of them."""
    budget, found = cost / LN2, list[tuple[float, Predictive]]()
    grid = product(("fixed accuracy", "fixed rate"), (12, 24, 72), (0.2, 0.4), (4, 8), (0.5, 1.0, 2.0))
    for manager, tests, part, reports, threshold in grid:
        settings = Predictive(tests, part * budget / tests, (1 - part) * budget / reports, threshold, manager)
        rng = np.random.default_rng(seed)
        runs = [np.mean(predictive_error(scene, d, cost, settings, rng, sharpened=sharpened)[0]) for d in days]
        found.append((float(np.mean(runs)), settings))
    return min(found, key=lambda pair: pair[0])[1]
