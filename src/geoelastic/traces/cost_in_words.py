# SPDX-License-Identifier: Apache-2.0
"""What a release costs, in words that a courier or a hiker can use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..accounts.accounting import DELTA
from ..levels import LN2
from .mechanism import TraceMechanism


def explain_cost(
    mechanism: TraceMechanism, *, hours: float = 24, level: float = LN2, delta: float = DELTA,
    at: tuple[float, float] | None = None, within_m: float = 300.0,
) -> dict[str, Any]:  # fmt: skip
    """The cost of `hours` of release at distance `level`, and what an hour's stop gives away.

    With `at`, a place, the level is that of the furthest location within `within_m` of it.
    """
    where = "places that are"
    if at is not None:
        level = _level_around(mechanism, at, within_m)
        where = f"there, places up to {within_m:g} m away are"
    cost = mechanism.cost(hours, level, delta=delta)
    stop = math.exp(float(mechanism.rate) * level)
    near = f"one {within_m:g} m away" if at is not None else f"one {level:.3g} away (a crowd of {math.exp(level):.3g})"
    near = near if at is not None or abs(level - LN2) > 1e-9 else "one within the crowd of a city block (level ln 2)"
    lines = [
        f"an hour's stop is told from {near} by at most a factor of {stop:.2g}",
        f"{hours:g} hours cost at most {cost.best:.3g} ({where} {level:.3g} apart all the time; {cost.bound} bound)",
        "start, end and length of a release are public; a second release of the same trace costs again",
    ]
    return cost.as_dict() | {
        "hours": hours,
        "rate": float(mechanism.rate),
        "stop_factor": stop,
        "text": "\n".join(lines),
    }


def _level_around(mechanism: TraceMechanism, at: tuple[float, float], within_m: float) -> float:
    metric = mechanism.metric
    here = int(mechanism.locate(np.array([at[0]]), np.array([at[1]]))[0])
    near = np.hypot(*(metric.xy - metric.xy[here]).T) <= within_m
    levels = metric.distances_from(here)[near]
    return float(np.max(levels[np.isfinite(levels)]))
