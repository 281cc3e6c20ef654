# SPDX-License-Identifier: Apache-2.0
"""The evaluation of traces: error over the day, adversaries, cost, places released, per user, against the baselines.

Days are split: every second one of each person is for tuning the baselines, the others are measured. The trace
mechanism has nothing tuned here. Errors of traces without habit and of clocks are expectations, not draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import require_count
from ..levels import LN2, FloatArray
from ..mechanism.elastic import ElasticMechanism
from ..progress import Bar
from ..randomness import SeededRandom
from ..sources.traces import Trace
from ..traces import Habit, TraceMechanism
from ..traces.release import Release
from .commuters import Commuter, synthetic_commuters
from .trace_adversaries import (
    home_by_bayes,
    home_by_mean,
    log_weights,
    mean_distance,
    nights_of,
    running_mean,
    smooth,
)
from .trace_baselines import CLOCKS, Scene, best_clock, clock_errors, predictive_error, tune_predictive
from .trace_days import Day, find_days, split_days

__all__ = ["expected_error", "home_study", "step_study", "trace_study"]

_TUNED_DAYS = 8
_WINDOWS = (3, 6, 12, 36, 72)


def rate_for(cost: float) -> float:
    """The rate per hour at which a day costs `cost` at ln 2 by the pure bound."""
    return cost / (24 * LN2)


def expected_error(mechanism: TraceMechanism, day: Day) -> float:
    """The mean error in metres over a day without habit: exact, by the law of each tick."""
    xy, total = np.asarray(mechanism.metric.xy), 0.0
    for t, law in _tick_laws(mechanism, day):
        total += float(law @ np.hypot(xy[:, 0] - day.xy[t, 0], xy[:, 1] - day.xy[t, 1]))
    return total / day.places.size


def _tick_laws(mechanism: TraceMechanism, day: Day) -> Iterator[tuple[int, FloatArray]]:
    """(tick, law of the released location at it), from the last to the first: forward times backward."""
    passes = mechanism.passes(day.places)
    steps, later = passes.steps(), np.ones(mechanism.metric.n)
    for t in range(len(steps) - 1, -1, -1):
        law = steps[t][0] * later
        yield t, law / law.sum()
        weighted = passes.weights_at(t) * later
        later = passes.keep * weighted + float(passes.jump @ weighted)
        later /= later.max()


def trace_study(
    mechanism: ElasticMechanism, traces: Sequence[Trace], *, costs: Sequence[float] = (10.0, 20.0),
    most_days: int | None = 30, runs: int = 3, seed: int = 0, bar: Bar | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Compare a released trace with clocks and the predictive mechanism at equal costs a day."""
    require_count("runs", runs)
    base = TraceMechanism(mechanism)
    days = find_days(base, traces, most=most_days)
    tuned, measured = split_days(days)
    tuned, measured = (tuned, measured) if measured else (days, days)
    rows: list[dict[str, Any]] = []
    for done, cost in enumerate(costs):
        if bar is not None:
            bar.update(done, note=f"cost {cost:g} a day")
        rows += _at_cost(mechanism, base, tuned, measured, float(cost), runs, seed)
    best = {c: min(r["error_m"] for r in rows if r["cost"] == c and r["kind"] == "clock, sharpened") for c in costs}
    for row in rows:
        row["of_best_clock"] = row["error_m"] / best[row["cost"]]
    return {"days": len(days), "measured_days": len(measured), "users": len({d.user for d in days}), "rows": rows}


def _at_cost(
    mechanism: ElasticMechanism,
    base: TraceMechanism,
    tuned: Sequence[Day],
    measured: Sequence[Day],
    cost: float,
    runs: int,
    seed: int,
) -> list[dict[str, Any]]:
    scene, rows = Scene.of(base), list[dict[str, Any]]()

    def add(kind: str, error_m: float, **more: Any) -> None:
        rows.append({"cost": cost, "kind": kind, "error_m": error_m} | more)

    for sharpened in (False, True):
        name = ", sharpened" if sharpened else ""
        k = best_clock([clock_errors(scene, day, cost, sharpened=sharpened, reports=CLOCKS) for day in tuned])
        errors = [clock_errors(scene, day, cost, sharpened=sharpened, reports=(k,))[k] for day in measured]
        add(f"clock{name}", float(np.mean(errors)), reports=k)
        settings, _ = tune_predictive(scene, tuned[:_TUNED_DAYS], cost, sharpened=sharpened, seed=seed)
        rng = np.random.default_rng(seed)
        found = [predictive_error(scene, day, cost, settings, rng, sharpened=sharpened) for day in measured]
        add(f"predictive{name}", float(np.mean([f[0] for f in found])), reports=float(np.mean([f[1] for f in found])),
            manager=settings.manager)  # fmt: skip
    for block in (24.0, 8.0):
        traces = TraceMechanism(mechanism, rate=rate_for(cost), block_hours=block)
        if block == 24:
            add("trace", float(np.mean([expected_error(traces, day) for day in measured])))
            rows[-1]["users"] = {
                user: float(np.mean([expected_error(traces, d) for d in measured if d.user == user]))
                for user in sorted({d.user for d in measured})
            }
        add(f"trace, {block:g} h, habit", **_released(traces, measured, runs, seed))
    return rows


def _released(traces: TraceMechanism, days: Sequence[Day], runs: int, seed: int) -> dict[str, Any]:
    """Errors of released days in order, with habit, and of those who attack them."""
    xy, prior = np.asarray(traces.metric.xy), np.asarray(traces.metric.mass) / np.asarray(traces.metric.mass).sum()
    rng = SeededRandom(seed)
    errors, tracked, means, places = list[float](), list[float](), list[list[float]](), list[int]()
    for run in range(runs):
        past: dict[str, Habit] = {}
        for day in days:
            release = traces.release(day.places.tolist(), past.get(day.user), rng)
            known = past.get(day.user, Habit())
            places.append(len(set(release.location.tolist()) - set(known.seconds)))
            past[day.user] = known.after(release.location.tolist(), traces.step_s)
            errors.append(mean_distance(xy[release.location], day.xy))
            if run == 0:
                guess = smooth(release.location, lambda z: log_weights(traces, z), prior, xy, step_s=traces.step_s)
                tracked.append(mean_distance(guess, day.xy))
                means.append([mean_distance(running_mean(xy[release.location], w), day.xy) for w in _WINDOWS])
    first = errors[: len(days)]
    return {
        "error_m": float(np.mean(errors)), "median_m": float(np.median(errors)), "new_places": float(np.mean(places)),
        "attacked_error_m": float(np.mean(first)), "tracked_m": float(np.mean(tracked)),
        "running_mean_m": float(np.mean(means, axis=0).min()),
    }  # fmt: skip


def step_study(
    mechanism: ElasticMechanism, traces: Sequence[Trace], *, cost: float = 10.0, most_days: int = 6
) -> dict[str, float]:
    """Mean errors with ticks of 1 and of 10 minutes, over the same minutes of the same days."""
    errors = {}
    fine = TraceMechanism(mechanism, rate=rate_for(cost), step_minutes=1)
    days = find_days(fine, traces, most=most_days)
    errors["1"] = float(np.mean([expected_error(fine, day) for day in days]))
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


def home_study(
    mechanism: ElasticMechanism,
    *,
    commuters: int = 8,
    nights: int = 10,
    cost: float = 10.0,
    runs: int = 2,
    seed: int = 0,
) -> dict[str, Any]:
    """How far the home of made-up commuters is from where adversaries put it, with and without habit."""
    middle = mechanism.metric.grid.area.middle
    people = synthetic_commuters(
        require_count("commuters", commuters), seed=seed, days=nights + 4, lat=middle[0], lon=middle[1]
    )
    result: dict[str, Any] = {"nights": nights, "cost": cost}
    for habit in (0.0, 0.5):
        traces = TraceMechanism(mechanism, rate=rate_for(cost), habit=habit)
        errors = [found for person in people for found in _attack_home(traces, person, nights, runs, seed)]
        mean, bayes = np.array(errors).T
        result["habit" if habit else "no habit"] = {
            "people": len(errors) // runs, "mean_m": float(np.mean(mean)), "bayes_m": float(np.mean(bayes)),
            "median_bayes_m": float(np.median(bayes)),
        }  # fmt: skip
    result["times_further"] = result["habit"]["bayes_m"] / result["no habit"]["bayes_m"]
    return result


def _attack_home(
    traces: TraceMechanism, person: Commuter, nights: int, runs: int, seed: int
) -> list[tuple[float, float]]:
    home = np.array(traces.metric.grid.area.to_xy(*person.home), np.float64)
    try:
        days = find_days(traces, [person.trace], most=nights)
    except ValueError:
        return []
    if len(days) < nights:
        return []
    found, rng = [], SeededRandom(seed)
    offset = 3600.0 * round(person.home[1] / 15)
    for _ in range(runs):
        releases, pasts, past = list[Release](), list[Habit](), Habit()
        for day in days:
            release = traces.release(day.places.tolist(), past, rng)
            releases.append(_dated(release, day))
            pasts.append(past)
            past = past.after(release.location.tolist(), traces.step_s)
        seen = nights_of(releases, pasts, offset_s=offset)
        guesses = home_by_mean(traces, seen), home_by_bayes(traces, seen)
        found.append(tuple(float(np.hypot(*(guess - home))) for guess in guesses))
    return found  # type: ignore[return-value]


def _dated(release: Release, day: Day) -> Release:
    return Release(day.user, day.clock, release.location, release.lat, release.lon, release.fence, release.seeded)
