# SPDX-License-Identifier: Apache-2.0
"""Releases of traces asked for by names: of a map, of files, of a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..accounts.budget import Budget
from ..errors import InputError
from ..mechanism.elastic import ElasticMechanism
from ..opening import load
from ..randomness import SeededRandom
from ..store.atomic import require_writable
from ..traces import TraceMechanism
from ..traces.cost_in_words import explain_cost
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
    if budget is None and per_hours is not None:
        raise InputError("'per' says what time a budget is for: give a budget too")
    if budget is not None and ledger is None:
        raise InputError("a budget needs a ledger that knows what was released before: give --ledger")
    limit = None if budget is None else Budget(budget, level=budget_level, hours=per_hours)
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
    """What a release over a map costs, in words."""
    return explain_cost(open_traces(file, **choices), hours=hours, level=level, at=at, within_m=within_m)


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
