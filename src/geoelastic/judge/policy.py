# SPDX-License-Identifier: Apache-2.0
"""`Claim`: what a metric and its reports state, as data and in plain words. `Policy`: the least that it must say.

A claim is read off what will be sampled: graph, masses, fences, frame, measure and relief. Whether it holds is for
`verify` to say; whether it is enough, for a `Policy`.

The default policy is the README's promise. A requirement is enough if it asks for at least as much at every whole level
between the policy's two; so a claim is compared by what it demands, whatever kind of requirement it has.
"""

from __future__ import annotations

import math
import os
import tomllib
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, InputError
from ..levels import LN2, level_to_units, units_to_level, units_to_mass
from ..mass import Custom, Quadratic, Requirement, requirement_from_dict
from ..mass.requirement import REQUIREMENTS, require_stated
from ..mass.requirement import four_digits as _short
from ..metric import Metric
from ..store import schema

NOT_COVERED = "places in the frame, and what several reports tell together"


@dataclass(frozen=True)
class Claim:
    """`secrets`: places that can be hidden, outside fences; shares are theirs. `unit_m`: the radius of the disc whose
    average crowd is one unit of mass, None if the file does not state it; `spread_m`: how far mass was spread over its
    surroundings. `output`: the measure that reports go by."""

    locations: int
    secrets: int
    fenced: int
    fences: int
    share_of_locations: float
    share_of_area: float
    share_of_mass: float
    requirement: dict[str, Any]
    l_from: float
    l_top: float
    mass: float
    mass_per_km2: float
    unit_m: float | None
    spread_m: float
    output: str
    sharpened: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @property
    def words(self) -> str:
        """The claim without a word on whether it holds."""
        shares = [f"{np.floor(1000 * part) / 10:g} %" for part in (self.share_of_area, self.share_of_mass)]
        fenced = f", and {self.fenced:,} more inside fences, where all places are one" if self.fenced else ""
        unit = "what one unit is, the file does not state"
        if self.unit_m is not None:
            unit = f"a unit is what a disc of {_short(self.unit_m)} m holds on average where the map's city is"
        if self.spread_m > 0:
            unit += f"; mass was spread by {_short(self.spread_m)} m, so that crowds are counted where they are not"
        reports = "by half of each distance, so that between two places a report's chance changes by at most e^distance"
        if self.sharpened:
            reports = (
                "by all of each distance over a relief, so that along an edge its chance changes by at most e^length"
            )
        asked = REQUIREMENTS[self.requirement["kind"]].words(self.requirement)
        return (
            f"{self.secrets:,} of {self.locations:,} places can be secrets ({shares[0]} of the area, {shares[1]} of "
            f"the mass){fenced}. Each of them must have, within every level l from {_short(self.l_from)} to "
            f"{_short(self.l_top)}, {asked} around it; the whole map has {_short(self.mass)}, "
            f"{_short(self.mass_per_km2)} a square kilometre; {unit}. Reports go by the measure {self.output[:40]!r}, "
            f"{reports}. Not covered: {NOT_COVERED}."
        )


def claim_of(metric: Metric, output: str | None = None) -> Claim:
    """The claim of a metric whose reports go by the measure called `output` [default: that of its relief, or mass]."""
    cells, mass = metric.locations.area_cells, metric.mass_units.astype(np.float64)
    hidden = metric.secret & (metric.fence == 0)
    total = float(mass.sum())
    area_km2 = float(cells.sum()) * (metric.grid.cell_m / 1000) ** 2
    requirement = {k: v for k, v in metric.requirement.to_dict().items() if k not in ("levels", "masses")}
    units = float(units_to_mass(total))
    relief = metric.relief
    return Claim(
        locations=metric.n, secrets=int(hidden.sum()), fenced=int((metric.secret & ~hidden).sum()),
        fences=int(np.unique(metric.fence[metric.fence > 0]).size),
        share_of_locations=float(hidden.mean()), share_of_area=float(cells[hidden].sum() / cells.sum()),
        share_of_mass=float(mass[hidden].sum() / total) if total else 0.0, requirement=requirement,
        l_from=metric.l_from, l_top=metric.l_top, mass=units, mass_per_km2=units / area_km2,
        unit_m=_positive(metric.info.get("r_small_m")), spread_m=_positive(metric.info.get("spread_m")) or 0.0,
        output=output or ("mass" if relief is None else relief.output), sharpened=relief is not None,
    )  # fmt: skip


def _positive(value: Any) -> float | None:
    """A number that a file states, if it is one and makes sense."""
    sound = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return float(value) if sound else None


_MOST_BYTES = 2**16


@dataclass(frozen=True)
class Policy:
    """The least that a claim must say.

    `requirement` from level `l_from` to `l_top`; at least so many `secrets` with such a `share_of_mass`; a unit of mass
    that, if the file states it, is the crowd of a disc of at least `unit_m`, and in that case at most two units in such
    a disc on average over the map; at most `mass_per_km2` units a square kilometre whatever is stated.
    """

    requirement: Requirement = field(default_factory=lambda: Quadratic(LN2))
    l_from: float = 0.35
    l_top: float = math.log(6)
    secrets: int = 2
    share_of_mass: float = 0.1
    unit_m: float = 300.0
    mass_per_km2: float = 1000.0

    def short_of(self, claim: Claim, metric: Metric) -> list[str]:
        """In what a claim is less than this policy; nothing if it is enough."""
        short = []
        if claim.secrets < self.secrets:
            short.append(f"{claim.secrets:,} places can be secrets, not {self.secrets:,} or more")
        if not claim.share_of_mass >= self.share_of_mass:
            short.append(
                f"they hold {100 * claim.share_of_mass:.3g} % of the mass, not {100 * self.share_of_mass:g} % or more"
            )
        if level_to_units(metric.l_from) > level_to_units(self.l_from):
            short.append(f"the crowd is asked for from level {metric.l_from:.4g} on, not from {self.l_from:.4g}")
        if level_to_units(metric.l_top) < level_to_units(self.l_top):
            short.append(f"the crowd is asked for up to level {metric.l_top:.4g}, not up to {self.l_top:.4g}")
        short += self._less_asked(metric) + self._unit_too_small(claim)
        return short

    def _less_asked(self, metric: Metric) -> list[str]:
        ours = self.requirement.table(self.l_from, self.l_top)
        theirs = metric.requirement.table(metric.l_from, metric.l_top)
        first = max(level_to_units(self.l_from), level_to_units(metric.l_from))
        last = ours.size if theirs.size >= ours.size else theirs.size - 1  # its last entry asks for part of a unit
        less = np.flatnonzero(theirs[first:last] < ours[first:last])
        if not less.size:
            return []
        worst = first + int(less[np.argmin(theirs[first:last][less] / ours[first:last][less])])
        asked, due = (float(units_to_mass(table[worst])) for table in (theirs, ours))
        return [f"at level {units_to_level(worst):.4g} it asks for {asked:.4g} units of mass, not {due:.4g}"]

    def _unit_too_small(self, claim: Claim) -> list[str]:
        if claim.unit_m is not None and claim.unit_m < self.unit_m:
            return [f"a unit of mass is the crowd of a disc of {claim.unit_m:g} m, not of {self.unit_m:g} m or more"]
        most = self.mass_per_km2
        if claim.unit_m is not None:
            most = min(most, 2 / (math.pi * (claim.unit_m / 1000) ** 2))
        if not claim.mass_per_km2 <= most:
            return [f"it states {claim.mass_per_km2:.4g} units of mass a square kilometre, more than {most:.4g}"]
        return []


#: What the README promises.
README = Policy()


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """A policy from a TOML file with any of the entries of `Policy`; the others are those of the README."""
    try:
        content = Path(path).read_bytes()
        data = tomllib.loads(content[:_MOST_BYTES].decode())
    except OSError as error:
        raise FileError(f"{os.fspath(path)}: cannot be read: {(error.strerror or '').lower()}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{os.fspath(path)}: a policy must be TOML in UTF-8: {error}") from None
    if len(content) > _MOST_BYTES:
        raise InputError(f"{os.fspath(path)}: a policy must be at most {_MOST_BYTES} bytes long")
    try:
        return _policy(data)
    except (FileError, InputError) as error:
        raise InputError(f"{os.fspath(path)}: {error}") from None


def policy_of(path: str | os.PathLike[str] | None, *, l_star: float | None = None, **changes: float | None) -> Policy:
    """The policy of a file (or the README's) with single entries changed, None for those that are not."""
    data: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    if l_star is not None:
        data["requirement"] = {"kind": "quadratic", "l_star": l_star}
    base = README if path is None else load_policy(path)
    try:
        return _policy(data, base)
    except FileError as error:
        raise InputError(str(error)) from None


def _policy(data: dict[str, Any], base: Policy = README) -> Policy:
    known = [entry.name for entry in fields(Policy)]
    schema.closed(data, "policy", needs=(), may=known)
    given: dict[str, Any] = {}
    for name, value in data.items():
        if name == "requirement":
            for part in require_stated(value, [kind for kind in REQUIREMENTS if kind != Custom.kind]).entries:
                schema.number(value[part], part, 0, 2.0**20)
            given[name] = requirement_from_dict(value)
        elif name == "secrets":
            given[name] = schema.whole(value, name, 1, 2**53)
        else:
            given[name] = schema.number(value, name, 0, {"l_from": 10, "l_top": 10, "share_of_mass": 1}.get(name, 1e12))
    policy = replace(base, **given)
    if not policy.l_from < policy.l_top:
        raise FileError(f"'l_from' must be below 'l_top', got {policy.l_from:g} and {policy.l_top:g}")
    return policy
