# SPDX-License-Identifier: Apache-2.0
"""What a map states, as data and as one paragraph in plain words: the same data and words as geoelastic's own."""

from __future__ import annotations

import math
from typing import Any

from .metric import MASS_UNITS, Metric


def facts_of(metric: Metric) -> dict[str, Any]:
    """The facts of a map: read off what will be sampled. Whether they hold is for `verify` to say."""
    head = metric.head
    secret = [i for i in range(metric.n) if metric.is_secret(i)]
    hidden = [i for i in secret if not metric.fence[i]]
    cells = [side * side for side in metric.size]
    mass, units = sum(metric.mass), sum(metric.mass) / MASS_UNITS
    area_km2 = sum(cells) * (metric.cell_m / 1000) ** 2
    return {
        "locations": metric.n, "secrets": len(hidden), "fenced": len(secret) - len(hidden),
        "fences": len(set(metric.fence) - {0}), "share_of_locations": len(hidden) / metric.n,
        "share_of_area": sum(cells[i] for i in hidden) / sum(cells),
        "share_of_mass": sum(metric.mass[i] for i in hidden) / mass if mass else 0.0,
        "requirement": {name: part for name, part in head["requirement"].items() if name not in ("levels", "masses")},
        "l_from": head["l_from"], "l_top": head["l_top"], "mass": units, "mass_per_km2": units / area_km2,
        "unit_m": _stated(head, "r_small_m"), "spread_m": _stated(head, "spread_m") or 0.0,
        "output": head["output"], "sharpened": metric.sharpened,
    }  # fmt: skip


def _stated(head: dict[str, Any], name: str) -> float | None:
    """A number that a file states, if it is one and makes sense."""
    value = head["info"].get(name)
    sound = isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
    return float(value) if sound else None


def claim_words(facts: dict[str, Any], faults: list[str], short: list[str], *, required: bool) -> str:
    """The verdict, then the facts."""
    if faults:
        verdict = f"This map does not hold what it states: {'; '.join(faults)}."
    elif short and required:
        verdict = f"This map holds what it states, but that is less than is required: {'; '.join(short)}."
    else:
        verdict = "This map holds what it states."
    area, mass = (f"{math.floor(1000 * facts[name]) / 10:g} %" for name in ("share_of_area", "share_of_mass"))
    fenced = f", and {facts['fenced']:,} more inside fences, where all places are one" if facts["fenced"] else ""
    unit = "what one unit is, the file does not state"
    if facts["unit_m"] is not None:
        unit = f"a unit is what a disc of {four_digits(facts['unit_m'])} m holds on average where the map's city is"
    if facts["spread_m"] > 0:
        spread = four_digits(facts["spread_m"])
        unit += f"; mass was spread by {spread} m, so that crowds are counted where they are not"
    reports = "by half of each distance, so that between two places a report's chance changes by at most e^distance"
    if facts["sharpened"]:
        reports = "by all of each distance over a relief, so that along an edge its chance changes by at most e^length"
    return (
        f"{verdict} {facts['secrets']:,} of {facts['locations']:,} places can be secrets ({area} of the area, {mass} "
        f"of the mass){fenced}. Each of them must have, within every level l from {four_digits(facts['l_from'])} to "
        f"{four_digits(facts['l_top'])}, {_asked(facts['requirement'])} around it; the whole map has "
        f"{four_digits(facts['mass'])}, {four_digits(facts['mass_per_km2'])} a square kilometre; {unit}. Reports go by "
        f"the measure '{facts['output'][:40]}', {reports}. Not covered: places in the frame, "
        "and what several reports tell together."
    )


def _asked(requirement: dict[str, Any]) -> str:
    kind = requirement["kind"]
    if kind == "quadratic":
        return f"(l / {four_digits(requirement['l_star'])})² units of mass"
    if kind == "linear":
        return f"l / {four_digits(requirement['l_star'])} units of mass"
    if kind == "step":
        return f"{four_digits(requirement['mass'])} units of mass from l = {four_digits(requirement['level'])} on"
    return "as much mass as its table says"


def four_digits(value: float) -> str:
    """A number to four digits, without a power of ten."""
    return f"{float(f'{value:.4g}'):.15g}"
