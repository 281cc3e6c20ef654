# SPDX-License-Identifier: Apache-2.0
"""Adversaries who see released traces and know the mechanism.

*Tracking*: forward-backward smoothing under a prior of people who stay where they are and now and then go where the
mass is; the guess is the posterior mean of the place at each tick. *Running mean*: the mean of the released places
around each tick. Those who look for a home are in `trace_homes`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...arrays import FloatArray, IntArray
from ...levels import LEVEL_UNIT, UNREACHABLE
from ...traces.mechanism import TraceMechanism

__all__ = [
    "WINDOWS", "believe", "log_weights", "mean_distance", "running_mean", "smooth",
]  # fmt: skip

#: Ticks of the running means that are tried; the best one counts.
WINDOWS = (3, 6, 12, 36, 72)
#: The adversary's idea of a person: this many moves a day.
_MOVES = 4.0


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


def mean_distance(a: FloatArray, b: FloatArray) -> float:
    """Mean distance in metres between two lists of places."""
    return float(np.mean(np.hypot(*(np.asarray(a) - np.asarray(b)).T))) if len(a) else math.nan
