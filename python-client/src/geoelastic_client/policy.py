# SPDX-License-Identifier: Apache-2.0
"""The least that a map must state to be worth its name: by default what geoelastic's README promises."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .metric import LEVEL_UNITS, MASS_UNITS
from .schema import mass_at

#: `requirement` from level `l_from` to `l_top`; so many `secrets` with such a `share_of_mass`; a unit of mass that,
#: if it is stated, is the crowd of a disc of at least `unit_m`, and then at most two units in such a disc on average.
README: Mapping[str, Any] = {
    "requirement": {"kind": "quadratic", "l_star": math.log(2)}, "l_from": 0.35, "l_top": math.log(6), "secrets": 2,
    "share_of_mass": 0.1, "unit_m": 300, "mass_per_km2": 1000,
}  # fmt: skip


def required_units(head: Mapping[str, Any]) -> list[int]:
    """Entry D: the mass units that the ball of D level units must hold, up to l_top; 0 below l_from. It serves all
    levels below D + 1."""
    first, last = int(head["l_from"] * LEVEL_UNITS), int(head["l_top"] * LEVEL_UNITS)
    table = [0] * (last + 1)
    for d in range(first, last + 1):
        # the largest number below d + 1
        level = head["l_top"] if d == last else (d + 1) / LEVEL_UNITS * (1 - 2.0**-53)
        table[d] = math.ceil(mass_at(head["requirement"], level) * MASS_UNITS)
    return table


def short_of(policy: Mapping[str, Any], facts: Mapping[str, Any], head: Mapping[str, Any]) -> list[str]:
    """In what a map (its facts and its header) is less than a policy; nothing if it is enough."""
    short = []
    if facts["secrets"] < policy["secrets"]:
        short.append(f"{facts['secrets']:,} places can be secrets, not {policy['secrets']:,} or more")
    if not facts["share_of_mass"] >= policy["share_of_mass"]:
        share, least = 100 * facts["share_of_mass"], 100 * policy["share_of_mass"]
        short.append(f"they hold {share:.3g} % of the mass, not {least:g} % or more")
    if _units(head["l_from"]) > _units(policy["l_from"]):
        short.append(f"the crowd is asked for from level {head['l_from']:.4g} on, not from {policy['l_from']:.4g}")
    if _units(head["l_top"]) < _units(policy["l_top"]):
        short.append(f"the crowd is asked for up to level {head['l_top']:.4g}, not up to {policy['l_top']:.4g}")
    return short + _less_asked(policy, head) + _unit_too_small(policy, facts)


def _units(level: float) -> int:
    return int(level * LEVEL_UNITS)


def _less_asked(policy: Mapping[str, Any], head: Mapping[str, Any]) -> list[str]:
    ours, theirs = required_units(policy), required_units(head)
    first = max(_units(policy["l_from"]), _units(head["l_from"]))
    # if theirs ends first, its last entry asks for part of a unit
    end = len(ours) if len(theirs) >= len(ours) else len(theirs) - 1
    less = [d for d in range(first, end) if theirs[d] < ours[d]]
    if not less:
        return []
    worst = min(less, key=lambda d: theirs[d] / ours[d])
    asked, due = theirs[worst] / MASS_UNITS, ours[worst] / MASS_UNITS
    return [f"at level {worst / LEVEL_UNITS:.4g} it asks for {asked:.4g} units of mass, not {due:.4g}"]


def _unit_too_small(policy: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    radius, most = facts["unit_m"], policy["mass_per_km2"]
    if radius is not None and radius < policy["unit_m"]:
        return [f"a unit of mass is the crowd of a disc of {radius:g} m, not of {policy['unit_m']:g} m or more"]
    if radius is not None:
        most = min(most, 2 / (math.pi * (radius / 1000) ** 2))
    if facts["mass_per_km2"] <= most:
        return []
    return [f"it states {facts['mass_per_km2']:.4g} units of mass a square kilometre, more than {most:.4g}"]
