# SPDX-License-Identifier: Apache-2.0
"""Requirements: the mass that must lie within each level, and their generalised inverse.

A requirement is any non-decreasing function req(l) >= 0. Builders and the verifier meet it through two exact tables
over integer levels (see `levels`):

* `table(...)`: entry D is the mass that the ball of integer radius D must hold. That ball serves every real level in
  [D, D + 1) units, so the entry is the supremum of req there, rounded up to whole mass units.
* `reach(mass)`: the largest integer level up to which a ball of that mass satisfies the requirement: req* rounded
  down.

Rounding errs towards more mass, so a metric that passes in integers satisfies the real requirement; to 2^-40 of a unit
of mass, because req itself is computed in doubles (docs/proof.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import IntArray
from ..errors import InputError, require_nonnegative, require_positive
from ..levels import LEVEL_UNIT, LN2, MASS_BITS, level_to_units

__all__ = ["Custom", "Linear", "Quadratic", "Requirement", "Step", "requirement_from_dict"]

#: The paper: "setting it to any value larger than 10 has no effect on the resulting metric".
MAX_LEVEL = 10.0


class Requirement:
    """A non-decreasing function of the level; subclasses define `mass_at`."""

    def mass_at(self, level: float) -> float:
        """req(level): the mass that must lie within `level`."""
        raise AssertionError("a requirement defines mass_at()")

    def level_of(self, mass: float) -> float:
        """req*(mass) = inf{l : req(l) >= mass}, by bisection (infinite where no level up to 2^10 asks for so much)."""
        low, high = 0.0, 1024.0
        if self.mass_at(low) >= mass:
            return low
        if self.mass_at(high) < mass:
            return math.inf
        while high - low > LEVEL_UNIT / 1024:
            middle = (low + high) / 2
            low, high = (low, middle) if self.mass_at(middle) >= mass else (middle, high)
        return high

    def table(self, l_from: float, l_top: float) -> IntArray:
        """Entry D: the mass units that the ball of integer radius D must hold, 0 below `l_from`, up to D =
        floor(l_top)."""
        return _table(self, l_from, l_top).copy()

    def _make_table(self, l_from: float, l_top: float) -> IntArray:
        if not 0 <= l_from <= l_top <= MAX_LEVEL:
            raise InputError(f"levels must satisfy 0 <= l_from <= l_top <= {MAX_LEVEL:g}, got {l_from!r} and {l_top!r}")
        first, last = level_to_units(l_from), level_to_units(l_top)
        tops = np.nextafter(np.arange(1, last + 2) * LEVEL_UNIT, 0.0)
        tops[last] = l_top
        masses = np.array([self.mass_at(float(level)) for level in tops])
        if not np.all(np.isfinite(masses) & (masses >= 0)) or np.any(np.diff(masses) < 0):
            raise InputError("a requirement must be finite, >= 0 and non-decreasing on [0, l_top]")
        units = np.ceil(masses * 2.0**MASS_BITS).astype(np.int64)
        units[:first] = 0
        return units

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the manifest of a file."""
        raise AssertionError("a requirement defines to_dict()")


@lru_cache(maxsize=8)
def _table(requirement: Requirement, l_from: float, l_top: float) -> IntArray:
    """Who verifies asks for the same table several times, and one takes longer than all else on a small map."""
    return requirement._make_table(l_from, l_top)


@dataclass(frozen=True)
class Quadratic(Requirement):
    """req(l) = (l / l_star)^2, the paper's requirement: one unit of mass within l_star."""

    l_star: float = LN2

    def __post_init__(self) -> None:
        require_positive("l_star", self.l_star)

    def mass_at(self, level: float) -> float:
        return (level / self.l_star) ** 2

    def level_of(self, mass: float) -> float:
        return self.l_star * math.sqrt(mass)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "quadratic", "l_star": self.l_star}


@dataclass(frozen=True)
class Linear(Requirement):
    """req(l) = l / l_star."""

    l_star: float = LN2

    def __post_init__(self) -> None:
        require_positive("l_star", self.l_star)

    def mass_at(self, level: float) -> float:
        return level / self.l_star

    def level_of(self, mass: float) -> float:
        return self.l_star * mass

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "linear", "l_star": self.l_star}


@dataclass(frozen=True)
class Step(Requirement):
    """req(l) = `mass` from `level` on, and 0 before."""

    level: float = LN2
    mass: float = 1.0

    def __post_init__(self) -> None:
        require_nonnegative("level", self.level)
        require_positive("mass", self.mass)

    def mass_at(self, level: float) -> float:
        return self.mass if level >= self.level else 0.0

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "step", "level": self.level, "mass": self.mass}


@dataclass(frozen=True)
class Custom(Requirement):
    """Any non-decreasing callable. A file keeps its table, not its code."""

    function: Callable[[float], float]
    name: str = "custom"

    def mass_at(self, level: float) -> float:
        return float(self.function(level))

    def to_dict(self) -> dict[str, Any]:
        levels = [k * MAX_LEVEL / 4096 for k in range(4097)]
        return {
            "kind": "custom",
            "name": self.name,
            "levels": levels,
            "masses": [self.mass_at(level) for level in levels],
        }


def requirement_from_dict(data: dict[str, Any]) -> Requirement:
    """The requirement that `to_dict` described. A custom one comes back as a step function that asks for at least as
    much."""
    kind = data.get("kind")
    if kind == "quadratic":
        return Quadratic(data["l_star"])
    if kind == "linear":
        return Linear(data["l_star"])
    if kind == "step":
        return Step(data["level"], data["mass"])
    if kind == "custom":
        levels, masses = np.array(data["levels"]), np.array(data["masses"])
        last = levels.size - 1  # beyond its table a requirement asks for what it asked for at the end
        return Custom(lambda level: float(masses[min(int(np.searchsorted(levels, level)), last)]), data["name"])
    raise InputError(f"'requirement' must be quadratic, linear, step or custom, got {kind!r}")
