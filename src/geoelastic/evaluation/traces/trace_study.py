# SPDX-License-Identifier: Apache-2.0
"""The evaluation of traces: error over the day, adversaries, cost, places released, per user, against the baselines.

Days are split: every second one of each person is for tuning the baselines, the others are measured. The trace
mechanism has nothing tuned here. Errors of traces without habit and of clocks are expectations, not draws.

`home_study` asks how far from the homes of made-up commuters adversaries end up, night after night, with and without
habit. The adversaries' prior is the very law that the homes were made up by. Steps are an hour long: the error of a
release does not depend on the step, and the adversary's work does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...arrays import FloatArray
from ...errors import InputError, require_count
from ...levels import LN2
from ...mechanism.elastic import ElasticMechanism
from ...progress import Bar
from ...randomness import SeededRandom
from ...sources.traces import Trace
from ...traces import Habit, TraceMechanism
from ...traces.release import Release
from ..commuters import Commuter, home_density, synthetic_commuters
from .trace_attack import WINDOWS, mean_distance, running_mean, track
from .trace_baselines import (
    CLOCKS,
    Day,
    TraceScene,
    best_clock,
    clock_errors,
    find_days,
    predictive_error,
    split_days,
    tune_predictive,
)
from .trace_homes import Told, home_by_mean, homes_by_bayes, nights_of

_TUNED_DAYS = 8
#: Releases of the days that are drawn, and by which seed.
_RUNS, _SEED = 3, 0


def rate_for(cost: float) -> float:
    """The rate per hour at which a day costs `cost` at ln 2 by the pure bound."""
    return cost / (24 * LN2)


def expected_errors(mechanism: TraceMechanism, day: Day) -> FloatArray:
    """The expected error in metres at each tick of a day without habit: exact, by the law of each tick."""
    xy, errors = np.asarray(mechanism.metric.xy), np.empty(day.places.size)
    for t, law in _tick_laws(mechanism, day):
        errors[t] = law @ np.hypot(xy[:, 0] - day.xy[t, 0], xy[:, 1] - day.xy[t, 1])
    return errors


def _tick_laws(mechanism: TraceMechanism, day: Day) -> Iterator[tuple[int, FloatArray]]:
    """(tick, law of the released location at it), from the last to the first: forward times backward."""
    passes = mechanism.passes(day.places)
    later, t = np.ones(mechanism.metric.n), day.places.size
    for row, _ in passes.steps_back():
        t -= 1
        law = row * later
        yield t, law / law.sum()
        later *= passes.weights_at(t)
        later = passes.keep * later + float(passes.jump @ later)
        later /= later.max()


def trace_study(
    mechanism: ElasticMechanism, traces: Sequence[Trace], *, costs: Sequence[float] = (10.0, 20.0),
    most_days: int | None = None, bar: Bar | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Compare a released trace with clocks and the predictive mechanism at equal costs a day."""
    base = TraceMechanism(mechanism)
    days = find_days(base, traces, most=most_days)
    tuned, measured = split_days(days)
    tuned, measured = (tuned, measured) if measured else (days, days)
    rows: list[dict[str, Any]] = []
    for done, cost in enumerate(costs):
        if bar is not None:
            bar.update(done, note=f"cost {cost:g} a day")
        rows += _at_cost(mechanism, base, tuned, measured, float(cost))
    best = {c: min(r["error_m"] for r in rows if r["cost"] == c and r["kind"] == "clock, sharpened") for c in costs}
    for row in rows:
        row["of_best_clock"] = row["error_m"] / best[row["cost"]]
    return {"days": len(days), "measured_days": len(measured), "users": len({d.user for d in days}), "rows": rows}


class _Table:
    """The rows of one cost: mean errors over the days, by person and by hour."""

    def __init__(self, cost: float, days: Sequence[Day]) -> None:
        self.cost, self.rows = cost, list[dict[str, Any]]()
        self._users = np.array([day.user for day in days])

    def add(self, kind: str, errors: Sequence[FloatArray], **more: Any) -> None:
        """`errors`: at each tick, of each day in order, and again for each further run over the days."""
        by_day = np.array([np.mean(one) for one in errors])
        users = np.resize(self._users, by_day.size)
        hours = np.mean(errors, axis=0).reshape(24, -1).mean(axis=1)
        self.rows.append(
            {
                "cost": self.cost, "kind": kind, "error_m": float(by_day.mean()), "median_m": float(np.median(by_day)),
                "users": {str(user): float(by_day[users == user].mean()) for user in np.unique(users)},
                "hours": hours.tolist(),
            }
            | more
        )  # fmt: skip


def _at_cost(
    mechanism: ElasticMechanism, base: TraceMechanism, tuned: Sequence[Day], measured: Sequence[Day], cost: float
) -> list[dict[str, Any]]:
    scene, table = TraceScene.of(base), _Table(cost, measured)
    for sharpened in (False, True):
        name = ", sharpened" if sharpened else ""
        k = best_clock([clock_errors(scene, day, cost, sharpened=sharpened, reports=CLOCKS) for day in tuned])
        errors = [clock_errors(scene, day, cost, sharpened=sharpened, reports=(k,))[k] for day in measured]
        table.add(f"clock{name}", errors, reports=k)
        settings = tune_predictive(scene, tuned[:_TUNED_DAYS], cost, sharpened=sharpened, seed=_SEED)
        rng = np.random.default_rng(_SEED)
        found = [predictive_error(scene, day, cost, settings, rng, sharpened=sharpened) for day in measured]
        reports = float(np.mean([f[1] for f in found]))
        table.add(f"predictive{name}", [f[0] for f in found], reports=reports, manager=settings.manager)
    traces = TraceMechanism(mechanism, rate=rate_for(cost))
    table.add("trace", [expected_errors(traces, day) for day in measured])
    for block in (24.0, 8.0):
        blocks = TraceMechanism(mechanism, rate=rate_for(cost), block_hours=block)
        table.add(f"trace, {block:g} h, habit", **_released(blocks, measured))
    return table.rows


def _released(traces: TraceMechanism, days: Sequence[Day]) -> dict[str, Any]:
    """Errors of released days in order, with habit, and of those who attack them."""
    xy, rng = np.asarray(traces.metric.xy), SeededRandom(_SEED)
    errors, tracked, means, places = list[FloatArray](), list[float](), list[list[float]](), list[int]()
    for run in range(_RUNS):
        past: dict[str, Habit] = {}
        for day in days:
            known = past.get(day.user, Habit())
            release = traces.release(day.places.tolist(), known, rng)
            places.append(len(set(release.location.tolist()) - set(known.seconds)))
            past[day.user] = known.after(release.location.tolist(), traces.step_s)
            errors.append(np.hypot(*(xy[release.location] - day.xy).T))
            if run == 0:
                tracked.append(mean_distance(track(traces, release.location, traces.step_s)[0], day.xy))
                means.append([mean_distance(running_mean(xy[release.location], w), day.xy) for w in WINDOWS])
    users = np.resize([day.user for day in days], len(places))
    return {
        "errors": errors, "new_places": float(np.mean(places)),
        "new_places_users": {str(u): float(np.mean(np.array(places)[users == u])) for u in np.unique(users)},
        "attacked_error_m": float(np.mean(errors[: len(days)])), "tracked_m": float(np.mean(tracked)),
        "running_mean_m": float(np.mean(means, axis=0).min()),
    }  # fmt: skip


def step_study(
    mechanism: ElasticMechanism, traces: Sequence[Trace], *, cost: float = 10.0, most_days: int = 6
) -> dict[str, float]:
    """Mean errors with ticks of 1 and of 10 minutes, over the same minutes of the same days."""
    errors = {}
    fine = TraceMechanism(mechanism, rate=rate_for(cost), step_minutes=1)
    days = find_days(fine, traces, most=most_days)
    errors["1"] = float(np.mean([expected_errors(fine, day) for day in days]))
    coarse = TraceMechanism(mechanism, rate=rate_for(cost), step_minutes=10)
    xy, found = np.asarray(coarse.metric.xy), list[float]()
    for day, fine_day in zip(find_days(coarse, traces, most=most_days), days, strict=True):
        total = 0.0
        for t, law in _tick_laws(coarse, day):
            where, counts = np.unique(fine_day.xy[10 * t : 10 * t + 10], axis=0, return_counts=True)
            for (x, y), count in zip(where, counts, strict=True):
                total += count * float(law @ np.hypot(xy[:, 0] - x, xy[:, 1] - y))
        found.append(total / fine_day.places.size)
    errors["10"] = float(np.mean(found))
    return errors | {"ratio": errors["1"] / errors["10"]}


#: The nights after which adversaries guess.
AFTER = (1, 3, 10)
_HABITS = {"no habit": 0.0, "habit": 0.5}
_STEP_MINUTES = 60
#: Who is within this of home is at home: indoors a phone errs.
_AT_HOME_M = 200.0


def home_study(
    mechanism: ElasticMechanism, *, commuters: int = 24, cost: float = 10.0,
    tell: Callable[[float], None] = lambda done: None,
) -> dict[str, Any]:  # fmt: skip
    """Mean distances in metres of the guesses from the homes, by habit and adversary, after each of `AFTER` nights.

    `tell` hears which part of the work is done.
    """
    middle = mechanism.metric.grid.area.middle
    wanted = 2 * AFTER[-1] + 4
    people = synthetic_commuters(
        require_count("commuters", commuters), seed=_SEED, days=wanted, lat=middle[0], lon=middle[1]
    )
    result: dict[str, Any] = {"after": list(AFTER), "cost": cost}
    errors: dict[str, FloatArray] = {}
    for name, habit in _HABITS.items():
        traces = TraceMechanism(mechanism, rate=rate_for(cost), habit=habit, step_minutes=_STEP_MINUTES)
        found = list[FloatArray]()
        for k, person in enumerate(people):
            tell((len(errors) + k / len(people)) / len(_HABITS))
            found += _attack(traces, person, SeededRandom(f"{_SEED} {k}".encode()))
        if not found:
            raise InputError("the made-up commuters must live on the map: none was on it for ten days")
        errors[name] = np.array(found)
        result[name] = _summary(errors[name])
    without, with_ = (errors[name][:, 2, -1] for name in ("no habit", "habit"))
    result |= {"people": int(without.size), "times_further": float(with_.mean() / without.mean())}
    spread = (with_ - result["times_further"] * without).std() / math.sqrt(without.size)
    return result | {"times_further_se": float(spread / without.mean())}


def _summary(errors: FloatArray) -> dict[str, Any]:
    """Of errors (people, adversaries, nights)."""
    names = ("mean_m", "bayes_m", "informed_m")
    found: dict[str, Any] = {name: errors[:, k].mean(axis=0).tolist() for k, name in enumerate(names)}
    found["informed_se_m"] = (errors[:, 2].std(axis=0) / math.sqrt(len(errors))).tolist()
    found["informed_median_m"] = np.median(errors[:, 2], axis=0).tolist()
    return found | {"release_m": float(errors[:, 3, 0].mean())}


def _attack(traces: TraceMechanism, person: Commuter, rng: SeededRandom) -> list[FloatArray]:
    """The errors of the three adversaries after each of `AFTER` nights, and of the release; nothing for who is not on
    the map."""
    metric = traces.metric
    home = np.array(metric.grid.area.to_xy(*person.home), np.float64)
    try:
        days = find_days(traces, [person.trace], most=AFTER[-1])
    except InputError:
        return []
    if len(days) < AFTER[-1]:
        return []
    releases, told = _release(traces, days, home, rng)
    nights = nights_of(releases, [piece.past for piece in told], offset_s=3600.0 * round(person.home[1] / 15))
    prior = np.asarray(metric.locations.area_cells) * home_density(np.asarray(metric.xy))
    guesses = [
        [home_by_mean(traces, nights[:count]) for count in AFTER],
        homes_by_bayes(traces, nights, AFTER, prior),
        homes_by_bayes(traces, told, AFTER, prior),
    ]
    off = [np.hypot(*(metric.xy[piece.released] - day.xy).T).mean() for piece, day in zip(told, days, strict=True)]
    return [np.vstack([np.hypot(*(np.array(guesses) - home).transpose(2, 0, 1)), np.full(len(AFTER), np.mean(off))])]


def _release(
    traces: TraceMechanism, days: Sequence[Day], home: FloatArray, rng: SeededRandom
) -> tuple[list[Release], list[Told]]:
    releases, told, past = list[Release](), list[Told](), Habit()
    for day in days:
        release = replace(traces.release(day.places.tolist(), past, rng), user=day.user, clock=day.clock)
        releases.append(release)
        told.append(Told(release.location, np.hypot(*(day.xy - home).T) < _AT_HOME_M, day.places, past))
        past = past.after(release.location.tolist(), traces.step_s)
    return releases, told
