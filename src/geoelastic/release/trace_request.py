# SPDX-License-Identifier: Apache-2.0
"""Releases of traces asked for by names: of a map, of files, of a ledger."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..accounts.budget import Budget
from ..levels import LN2
from ..mechanism.elastic import ElasticMechanism
from ..opening import load
from ..randomness import SeededRandom
from ..store.atomic import require_writable
from ..traces import TraceMechanism
from ..traces.trace_files import release_file


def open_traces(
    file: str, *, rate: Fraction | float = Fraction(1, 2), step_minutes: Fraction | float = 10, block_hours: float = 24,
    moves: float = 2, habit: float = 0.5, measure: str = "mass",
) -> TraceMechanism:  # fmt: skip
    """The mechanism over the map in a file."""
    return TraceMechanism(
        ElasticMechanism(load(file), output=measure), rate=rate, step_minutes=step_minutes, moves_per_day=moves,
        habit=habit, block_hours=block_hours,
    )  # fmt: skip


def release_request(
    file: str, traces: Sequence[str], output: str, *, past: Sequence[str], start_s: float | None, end_s: float | None,
    user: str | None, lat_column: str | None, lon_column: str | None, ledger: str | None, account: str,
    budget: float | None, per_hours: int | None, budget_level: float, seed: int | None, progress: bool, **choices: Any,
) -> dict[str, Any]:  # fmt: skip
    """Release the traces in files and say what was done. Nothing in the answer tells a true place."""
    for path in (output, ledger):
        if path is not None:
            require_writable(path)
    limit = Budget.asked(budget, budget_level, per_hours, ledger)
    mechanism = open_traces(file, **choices)
    rng = None if seed is None else SeededRandom(seed)
    done = release_file(
        mechanism, traces, output, past=past, user=user, lat=lat_column, lon=lon_column, start_s=start_s, end_s=end_s,
        ledger=ledger, budget=limit, account=account, rng=rng, progress=progress,
    )  # fmt: skip
    return done | {"text": "\n".join(_told(done, mechanism))}


def cost_request(
    file: str, *, hours: float, level: float, at: tuple[float, float] | None, within_m: float, **choices: Any
) -> dict[str, Any]:
    """What `hours` of release over a map cost at distance `level`, and what an hour's stop gives away, in words that a
    courier or a hiker can use.

    With `at`, a place, the level is that of the furthest location within `within_m` of it.
    """
    mechanism, where = open_traces(file, **choices), "places that are"
    if at is not None:
        level = _level_around(mechanism, at, within_m)
        where = f"there, places up to {within_m:g} m away are"
    cost = mechanism.cost(hours, level)
    stop = math.exp(float(mechanism.rate) * level)
    near = f"one {within_m:g} m away" if at is not None else f"one {level:.3g} away (a crowd of {math.exp(level):.3g})"
    near = near if at is not None or abs(level - LN2) > 1e-9 else "one within the crowd of a city block (level ln 2)"
    lines = [
        f"an hour's stop is told from {near} by at most a factor of {stop:.2g}",
        f"{hours:g} hours cost at most {cost.best:.3g} ({where} {level:.3g} apart all the time; {cost.bound} bound)",
        "start, end and length of a release are public; a second release of the same trace costs again",
    ]
    told = {"hours": hours, "rate": float(mechanism.rate), "stop_factor": stop}
    return cost.as_dict() | told | {"text": "\n".join(lines)}


def _level_around(mechanism: TraceMechanism, at: tuple[float, float], within_m: float) -> float:
    metric = mechanism.metric
    here = int(mechanism.locate(np.array([at[0]]), np.array([at[1]]))[0])
    near = np.hypot(*(metric.xy - metric.xy[here]).T) <= within_m
    levels = metric.distances_from(here)[near]
    return float(np.max(levels[np.isfinite(levels)]))


def _told(done: dict[str, Any], mechanism: TraceMechanism) -> list[str]:
    people = "1 person" if done["users"] == 1 else f"{done['users']} people"
    cost = mechanism.cost(max(done["paid_hours"] / done["users"], mechanism.step_s / 3600))
    lines = [
        f"{people}, {done['hours']:,.4g} hours in {done['ticks']:,} ticks of {mechanism.step_s / 60:g} minutes: "
        f"{done['output']}",
        f"a person's release costs {cost.best:.3g} on average (places ln 2 apart all the time)",
    ]
    if done["clamped_ticks"]:
        lines.append(
            f"at {done['clamped_ticks']:,} ticks the place was off the map or in its frame: the nearest that can be "
            "hidden was taken. This line is for you only"
        )
    for who, spent in done.get("spent", {}).items():
        left = f", {spent['left']:.3g} left of the budget" if "left" in spent else ""
        lines.append(f"{who}: {spent['cost']:.3g} spent in all{left}")
    if done["seeded"]:
        lines.append("seeded: for research only, protects nobody")
    return lines
