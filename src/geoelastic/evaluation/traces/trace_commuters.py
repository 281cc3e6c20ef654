# SPDX-License-Identifier: Apache-2.0
"""How far from the homes of made-up commuters adversaries end up, night after night, with and without habit.

The adversaries' prior is the very law that the homes were made up by. Steps are an hour long: the error of a release
does not depend on the step, and the adversary's work does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...arrays import FloatArray
from ...errors import InputError, require_count
from ...mechanism.elastic import ElasticMechanism
from ...randomness import SeededRandom
from ...traces import Habit, TraceMechanism
from ...traces.release import Release
from ..commuters import Commuter, home_density, synthetic_commuters
from .trace_days import Day, find_days
from .trace_homes import Told, home_by_mean, homes_by_bayes, nights_of
from .trace_study import rate_for

__all__ = ["AFTER", "home_study"]

#: The nights after which adversaries guess.
AFTER = (1, 3, 10)
_HABITS = {"no habit": 0.0, "habit": 0.5}
_STEP_MINUTES = 60
#: Who is within this of home is at home: indoors a phone errs.
_AT_HOME_M = 200.0


def home_study(
    mechanism: ElasticMechanism, *, commuters: int = 24, cost: float = 10.0, seed: int = 0,
    tell: Callable[[float], None] = lambda done: None,
) -> dict[str, Any]:  # fmt: skip
    """Mean distances in metres of the guesses from the homes, by habit and adversary, after each of `AFTER` nights.

    `tell` hears which part of the work is done.
    """
    middle = mechanism.metric.grid.area.middle
    wanted = 2 * AFTER[-1] + 4
    people = synthetic_commuters(
        require_count("commuters", commuters), seed=seed, days=wanted, lat=middle[0], lon=middle[1]
    )
    result: dict[str, Any] = {"after": list(AFTER), "cost": cost}
    errors: dict[str, FloatArray] = {}
    for name, habit in _HABITS.items():
        traces = TraceMechanism(mechanism, rate=rate_for(cost), habit=habit, step_minutes=_STEP_MINUTES)
        found = list[FloatArray]()
        for k, person in enumerate(people):
            tell((len(errors) + k / len(people)) / len(_HABITS))
            found += _attack(traces, person, SeededRandom(f"{seed} {k}".encode()))
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
