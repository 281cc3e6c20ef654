# SPDX-License-Identifier: Apache-2.0
"""Adversaries who see released traces and know the mechanism, and what they make of files, judged by the truth.

*Tracking*: forward-backward smoothing under a prior of people who stay where they are and now and then go where the
mass is; the guess is the posterior mean of the place at each tick. *Running mean*: the mean of the released places
around each tick. Those who look for a home are in `trace_homes`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import FloatArray, IntArray
from ...errors import InputError
from ...levels import LEVEL_UNIT, UNREACHABLE
from ...sources.traces import Trace, read_traces
from ...store.atomic import writing
from ...traces import Clock, Habit, Release, TraceMechanism
from .trace_homes import home_by_mean, homes_by_bayes, nights_of

#: Ticks of the running means that are tried; the best one counts.
WINDOWS = (3, 6, 12, 36, 72)
#: The adversary's idea of a person: this many moves a day.
_MOVES = 4.0


def believe(
    released: IntArray, emission: Callable[[int], FloatArray], prior: FloatArray, xy: FloatArray, *, step_s: float
) -> tuple[FloatArray, FloatArray]:
    """Posterior means (T, 2) of the place at each tick, and the mean distance of the place from them. `emission(z)`:
    ln of the likelihood of each place when z is released at a tick (a constant a row does not matter)."""
    jump = min(0.5, _MOVES * step_s / 86_400)
    logs = {int(z): emission(int(z)) for z in np.unique(released)}
    likely = {z: np.exp(log - log.max()) for z, log in logs.items()}
    steps = released.size
    forward = np.empty((steps, prior.size))
    now = prior.copy()
    for t, z in enumerate(released.tolist()):
        now = now * likely[z]
        now /= now.sum()
        forward[t] = now
        now = (1 - jump) * now + jump * prior
    means, spread, later = np.empty((steps, 2)), np.empty(steps), np.ones(prior.size)
    for t in range(steps - 1, -1, -1):
        belief = forward[t] * later
        belief /= belief.sum()
        means[t] = belief @ xy
        spread[t] = belief @ np.hypot(xy[:, 0] - means[t, 0], xy[:, 1] - means[t, 1])
        later = later * likely[int(released[t])]
        later = (1 - jump) * later + jump * float(prior @ later)
        later /= later.max()
    return means, spread


def running_mean(xy: FloatArray, window: int) -> FloatArray:
    """The mean of `window` released places around each tick."""
    ends = np.cumsum(np.vstack([np.zeros(2), xy]), axis=0)
    low = np.maximum(np.arange(len(xy)) - window // 2, 0)
    high = np.minimum(np.arange(len(xy)) + window // 2 + 1, len(xy))
    return np.asarray((ends[high] - ends[low]) / (high - low)[:, None], np.float64)


def mean_distance(a: FloatArray, b: FloatArray) -> float:
    """Mean distance in metres between two lists of places."""
    return float(np.mean(np.hypot(*(np.asarray(a) - np.asarray(b)).T))) if len(a) else math.nan


_DAY_S = 86_400
_LEAST_NIGHTS = 3


def attack_releases(
    mechanism: TraceMechanism, released: str | Path, truth: Sequence[str | Path], *, user: str | None = None,
    lat: str | None = None, lon: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What adversaries who know the mechanism make of a file of releases: errors in metres over its ticks, by user.

    Only the errors come out: nothing in the result tells a true place.
    """
    true = {trace.user: trace for trace in read_traces(*truth, user=user, lat=lat, lon=lon)}
    rows = []
    for trace in read_traces(released):
        owner = true.get(trace.user) or (next(iter(true.values())) if len(true) == 1 else None)
        if owner is not None:
            rows.append({"user": trace.user or owner.user} | _attack(mechanism, trace, owner))
    if not rows:
        raise InputError("the releases and the truth must be of the same people: no user is in both")
    return {"users": rows}


def map_release(
    mechanism: TraceMechanism, released: str | Path, truth: Sequence[str | Path], target: str | Path, *,
    user: str | None = None, lat: str | None = None, lon: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A page of one person's release beside the truth; the page is its owner's, readable by nobody else."""
    from ...figures.page import trace_page

    owner, shown_trace = read_traces(*truth, user=user, lat=lat, lon=lon), read_traces(released, user=user)
    if len(owner) != 1 or len(shown_trace) != 1:
        raise InputError("a map is of one person: choose one with 'user'")
    location, shown, true_xy, step_s = _seen(mechanism, shown_trace[0], owner[0])
    guess, spread = track(mechanism, location, step_s)
    page = trace_page(
        mechanism.metric, title="A released trace", times_s=shown_trace[0].time_s, truth=true_xy, released=shown,
        belief=guess, spread_m=spread,
    )  # fmt: skip
    with writing(target, private=True) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return {"output": str(target), "ticks": len(shown_trace[0])}


def _seen(mechanism: TraceMechanism, released: Trace, truth: Trace) -> tuple[IntArray, FloatArray, FloatArray, float]:
    """Released locations, their places and the true ones in metres, and the step."""
    grid = mechanism.metric.grid
    fix = np.maximum(np.searchsorted(truth.time_s, released.time_s, side="right") - 1, 0)
    row, col = grid.latlon_to_cell(released.lat, released.lon)
    if np.any(row < 0):
        raise InputError("the releases must lie on this map")
    location = np.asarray(mechanism.metric.locations.owner[row, col], np.int64)
    step_s = float(np.median(np.diff(released.time_s))) if len(released) > 1 else float(mechanism.step_s)
    true_xy = np.column_stack(grid.area.to_xy(truth.lat[fix], truth.lon[fix]))
    return location, np.column_stack(grid.cell_to_xy(row, col)), true_xy, step_s


def track(mechanism: TraceMechanism, location: IntArray, step_s: float) -> tuple[FloatArray, FloatArray]:
    """What one believes who knows the mechanism and expects people where the mass is; see `believe`."""
    mass, xy = np.asarray(mechanism.metric.mass), np.asarray(mechanism.metric.xy)

    def log_weights(z: int) -> FloatArray:
        units = mechanism.searches(np.array([z]))[z]
        return np.where(units == UNREACHABLE, -np.inf, -float(mechanism.weights.exponent) * LEVEL_UNIT * units)

    return believe(location, log_weights, mass / mass.sum(), xy, step_s=step_s)


def _attack(mechanism: TraceMechanism, released: Trace, truth: Trace) -> dict[str, Any]:
    location, shown, true_xy, step_s = _seen(mechanism, released, truth)
    guess, _ = track(mechanism, location, step_s)
    means = {w: mean_distance(running_mean(shown, w), true_xy) for w in WINDOWS}
    found: dict[str, Any] = {
        "ticks": len(released),
        "release_m": mean_distance(shown, true_xy),
        "tracking_m": mean_distance(guess, true_xy),
        "running_mean_m": min(means.values()),
        "running_mean_ticks": min(means, key=lambda w: means[w]),
    }
    return found | _attack_home(mechanism, released, location, true_xy, step_s)


def _attack_home(
    mechanism: TraceMechanism, released: Trace, location: IntArray, true_xy: FloatArray, step_s: float
) -> dict[str, Any]:
    """Where the nights were spent, if there are several: the truth is the middle of the true nights."""
    offset = 3600.0 * round(float(np.median(released.lon)) / 15)
    hour = (released.time_s + offset) / 3600 % 24
    days = np.floor((released.time_s + offset) / _DAY_S)
    releases, pasts, past = list[Release](), list[Habit](), Habit()
    for day in np.unique(days):
        here = np.flatnonzero(days == day)
        clock = Clock(float(released.time_s[here[0]]), step_s, int(here.size))
        fence = np.asarray(mechanism.metric.fence, np.int64)[location[here]]
        releases.append(Release("", clock, location[here], released.lat[here], released.lon[here], fence))
        pasts.append(past)
        past = past.after(location[here].tolist(), round(step_s))
    nights = nights_of(releases, pasts, offset_s=offset)
    if len(nights) < _LEAST_NIGHTS:
        return {"nights": len(nights)}
    home = np.median(true_xy[hour < 6], axis=0)
    (by_bayes,) = homes_by_bayes(mechanism, nights, [len(nights)])
    guesses = {"home_mean_m": home_by_mean(mechanism, nights), "home_bayes_m": by_bayes}
    return {"nights": len(nights)} | {name: float(np.hypot(*(at - home))) for name, at in guesses.items()}
