# SPDX-License-Identifier: Apache-2.0
"""Adversaries who see released traces and know the mechanism.

*Tracking*: forward-backward smoothing under a prior of people who stay where they are and now and then go where the
mass is; the guess is the posterior mean of the place at each tick. *Running mean*: the mean of the released places
around each tick. *Home*: the released places of the nights, averaged, or by Bayes with the mass as prior; a night is
spent at home, and the habit of earlier releases, which the adversary knows, is accounted for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..levels import LEVEL_UNIT, UNREACHABLE, FloatArray, IntArray
from ..traces import Habit, Release
from ..traces.mechanism import TraceMechanism

__all__ = [
    "Night",
    "home_by_bayes",
    "home_by_mean",
    "log_weights",
    "mean_distance",
    "nights_of",
    "running_mean",
    "smooth",
]

#: The adversary's idea of a person: this many moves a day.
_MOVES = 4.0
_NIGHT_HOURS = (0.0, 6.0)
#: Candidates for a home whose normaliser is computed exactly.
_CANDIDATES = 300


def smooth(
    released: IntArray, emission: Callable[[int], FloatArray], prior: FloatArray, xy: FloatArray, *, step_s: float
) -> FloatArray:
    """Posterior means (T, 2) of the place at each tick; see `believe`."""
    return believe(released, emission, prior, xy, step_s=step_s)[0]


def believe(
    released: IntArray, emission: Callable[[int], FloatArray], prior: FloatArray, xy: FloatArray, *, step_s: float
) -> tuple[FloatArray, FloatArray]:
    """Posterior means (T, 2) of the place at each tick, and the mean distance of the place from them. `emission(z)`:
    ln of the likelihood of each place when z is released at a tick (a constant a row does not matter)."""
    jump = min(0.5, _MOVES * step_s / 86_400)
    likely = {int(z): _normalised(emission(int(z))) for z in np.unique(released)}
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


def log_weights(mechanism: TraceMechanism, z: int) -> FloatArray:
    """ln w(d(x, z)) of every place x for one released location."""
    units = mechanism.searches(np.array([z]))[z]
    return np.where(units == UNREACHABLE, -np.inf, -float(mechanism.weights.exponent) * LEVEL_UNIT * units)


def _normalised(logs: FloatArray) -> FloatArray:
    return np.asarray(np.exp(logs - logs.max()), np.float64)


def running_mean(xy: FloatArray, window: int) -> FloatArray:
    """The mean of `window` released places around each tick."""
    ends = np.cumsum(np.vstack([np.zeros(2), xy]), axis=0)
    low = np.maximum(np.arange(len(xy)) - window // 2, 0)
    high = np.minimum(np.arange(len(xy)) + window // 2 + 1, len(xy))
    return np.asarray((ends[high] - ends[low]) / (high - low)[:, None], np.float64)


@dataclass(frozen=True)
class Night:
    """What was released of one night: the location held longest, for how many ticks, and the habit before it."""

    location: int
    ticks: int
    past: Habit


def nights_of(releases: Sequence[Release], pasts: Sequence[Habit], *, offset_s: float) -> list[Night]:
    """The night of each released day (local hours 0 to 6)."""
    found = []
    for release, past in zip(releases, pasts, strict=True):
        hour = (release.clock.ticks + offset_s) / 3600 % 24
        inside = release.location[(hour >= _NIGHT_HOURS[0]) & (hour < _NIGHT_HOURS[1]) & (release.fence == 0)]
        if inside.size:
            locations, counts = np.unique(inside, return_counts=True)
            found.append(Night(int(locations[counts.argmax()]), int(counts.max()), past))
    return found


def home_by_mean(mechanism: TraceMechanism, nights: Sequence[Night]) -> FloatArray:
    """The middle (by coordinates) of the nights' released places."""
    return np.asarray(np.median(mechanism.metric.xy[[night.location for night in nights]], axis=0), np.float64)


def home_by_bayes(mechanism: TraceMechanism, nights: Sequence[Night]) -> FloatArray:
    """The posterior mean of the home.

    A night at h is released as z with chance m(z) e^(-b d(h, z)) / S_m(h), b = beta x ticks, m half of the mass and
    half of the habit before that night. S_m is exact for the best candidates by a first look without it.
    """
    metric, share = mechanism.metric, mechanism.measure / mechanism.measure.sum()
    beta = float(mechanism.weights.exponent)
    visited = np.unique([night.location for night in nights] + [z for night in nights for z in night.past.seconds])
    rows = {z: row * LEVEL_UNIT for z, row in mechanism.searches(visited).items()}
    logs = np.log(np.maximum(metric.mass, 1e-12))
    for night in nights:
        logs = logs - beta * night.ticks * rows[night.location]
    best = np.argsort(-np.where(metric.secret, logs, -np.inf))[:_CANDIDATES]
    exact = logs[best].copy()
    longest = sorted({night.ticks for night in nights})
    own = mechanism.searches(best)
    sums = {
        ticks: np.array([float(share @ np.exp(-beta * ticks * (own[int(h)] * LEVEL_UNIT))) for h in best])
        for ticks in longest
    }
    for night in nights:
        known = night.past.seconds
        total = sum(known.values())
        part = mechanism.habit if total else 0.0
        usual = sum(
            (s / total * np.exp(-beta * night.ticks * rows[z][best]) for z, s in known.items()), np.zeros(best.size)
        )
        exact -= np.log((1 - part) * sums[night.ticks] + part * usual)
    belief = _normalised(exact)
    return np.asarray(belief @ metric.xy[best] / belief.sum(), np.float64)


def mean_distance(a: FloatArray, b: FloatArray) -> float:
    """Mean distance in metres between two lists of places."""
    return float(np.mean(np.hypot(*(np.asarray(a) - np.asarray(b)).T))) if len(a) else math.nan
