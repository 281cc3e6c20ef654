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
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ..arrays import IntArray
from ..errors import FileError, InputError, require_choice, require_nonnegative, require_positive
from ..levels import LEVEL_UNIT, LN2, MASS_BITS, level_to_units
from ..store import schema

#: The paper: "setting it to any value larger than 10 has no effect on the resulting metric".
MAX_LEVEL = 10.0
#: No map holds more mass than this: a file that asks for more is refused.
MOST_ASKED = 2.0**20


class Requirement:
    """A non-decreasing function of the level, known by its `kind`; subclasses define `mass_at` and what it says."""

    kind: ClassVar[str]
    #: What its plain data has besides its kind.
    entries: ClassVar[tuple[str, ...]]
    #: What it asks for within a level l, in plain words, with its entries in braces.
    asks: ClassVar[str]
    #: (l / l_star)^power, for checkers that know requirements by this; 0 for others.
    power: ClassVar[int] = 0

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
        return {"kind": self.kind, **{name: getattr(self, name) for name in self.entries}}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Requirement:
        """What `to_dict` described."""
        return cls(*(data[name] for name in cls.entries))

    @classmethod
    def mass_stated(cls, data: dict[str, Any], l_top: float) -> float:
        """What plain data from a stranger asks for at `l_top`; a `FileError` if it cannot be a requirement."""
        raise AssertionError("a requirement defines mass_stated()")

    @classmethod
    def words(cls, data: dict[str, Any]) -> str:
        """What its plain data asks for within a level l, in plain words."""
        named = [name for name in cls.entries if f"{{{name}}}" in cls.asks]
        return cls.asks.format(**{name: four_digits(data[name]) for name in named})


@lru_cache(maxsize=8)
def _table(requirement: Requirement, l_from: float, l_top: float) -> IntArray:
    """Who verifies asks for the same table several times, and one takes longer than all else on a small map."""
    return requirement._make_table(l_from, l_top)


@dataclass(frozen=True)
class _PowerOfLevel(Requirement):
    """req(l) = (l / l_star)^power."""

    l_star: float = LN2
    entries = ("l_star",)

    def __post_init__(self) -> None:
        require_positive("l_star", self.l_star)

    def mass_at(self, level: float) -> float:
        return (level / self.l_star) ** self.power

    def level_of(self, mass: float) -> float:
        return self.l_star * (math.sqrt(mass) if self.power == 2 else mass)

    @classmethod
    def mass_stated(cls, data: dict[str, Any], l_top: float) -> float:
        return float((l_top / schema.number(data["l_star"], "l_star", 2.0**-10, 2.0**10)) ** cls.power)


class Quadratic(_PowerOfLevel):
    """req(l) = (l / l_star)^2, the paper's requirement: one unit of mass within l_star."""

    kind, power, asks = "quadratic", 2, "(l / {l_star})² units of mass"


class Linear(_PowerOfLevel):
    """req(l) = l / l_star."""

    kind, power, asks = "linear", 1, "l / {l_star} units of mass"


@dataclass(frozen=True)
class Step(Requirement):
    """req(l) = `mass` from `level` on, and 0 before."""

    level: float = LN2
    mass: float = 1.0
    kind, entries, asks = "step", ("level", "mass"), "{mass} units of mass from l = {level} on"

    def __post_init__(self) -> None:
        require_nonnegative("level", self.level)
        require_positive("mass", self.mass)

    def mass_at(self, level: float) -> float:
        return self.mass if level >= self.level else 0.0

    @classmethod
    def mass_stated(cls, data: dict[str, Any], l_top: float) -> float:
        schema.number(data["level"], "level of the requirement", 0, l_top)
        return schema.number(data["mass"], "mass of the requirement", 0, MOST_ASKED)


@dataclass(frozen=True)
class Custom(Requirement):
    """Any non-decreasing callable. A file keeps its table, not its code."""

    function: Callable[[float], float]
    name: str = "custom"
    kind, entries, asks = "custom", ("name", "levels", "masses"), "as much mass as its table says"

    def mass_at(self, level: float) -> float:
        return float(self.function(level))

    def to_dict(self) -> dict[str, Any]:
        levels = [k * MAX_LEVEL / 4096 for k in range(4097)]
        masses = [self.mass_at(level) for level in levels]
        return {"kind": self.kind, "name": self.name, "levels": levels, "masses": masses}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Custom:
        """A step function that asks for at least as much."""
        levels, masses = np.array(data["levels"]), np.array(data["masses"])
        last = levels.size - 1  # beyond its table a requirement asks for what it asked for at the end
        return cls(lambda level: float(masses[min(int(np.searchsorted(levels, level)), last)]), data["name"])

    @classmethod
    def mass_stated(cls, data: dict[str, Any], l_top: float) -> float:
        schema.text(data["name"], "name of the requirement")
        levels, masses = (schema.listed(data[name], name, least=2, most=4097) for name in ("levels", "masses"))
        levels = [schema.number(level, "levels", 0, MAX_LEVEL) for level in levels]
        masses = [schema.number(mass, "masses", 0, 2.0**30) for mass in masses]
        rising = all(a < b for a, b in pairwise(levels)) and masses == sorted(masses)
        if len(levels) != len(masses) or not rising or levels[-1] < l_top:
            raise FileError("'levels' and 'masses' of the requirement must rise together, up to 'l_top'")
        return float(next(mass for level, mass in zip(levels, masses, strict=True) if level >= l_top))


#: Every requirement by its name in files and commands: one that is added here is read, written, checked and said.
REQUIREMENTS: dict[str, type[Requirement]] = {kind.kind: kind for kind in (Quadratic, Linear, Step, Custom)}


def requirement_from_dict(data: dict[str, Any]) -> Requirement:
    """The requirement that `to_dict` described."""
    return REQUIREMENTS[require_choice("requirement", str(data.get("kind")), REQUIREMENTS)].from_dict(data)


def require_stated(data: Any, kinds: Iterable[str] = REQUIREMENTS) -> type[Requirement]:
    """The requirement that plain data from a stranger names, of these `kinds`, with its entries and no others."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise FileError(f"the kind of 'requirement' must be {' or '.join(map(repr, kinds))}")
    schema.closed(data, "requirement", needs=("kind", *REQUIREMENTS[kind].entries))
    return REQUIREMENTS[kind]


def four_digits(value: float) -> str:
    """A number to four digits, without a power of ten."""
    return f"{float(f'{value:.4g}'):.15g}"
