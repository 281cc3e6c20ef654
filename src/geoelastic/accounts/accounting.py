# SPDX-License-Identifier: Apache-2.0
"""What n reports from one place cost, counted in two ways.

*Pure*: n reports of a d-private mechanism are n d-private. *Concentrated*: a mechanism with weights e^(-beta d) has
log-ratios that lie, for a given pair of places, in a range of width 2 beta d around a constant (the ratio of the two
normalisers): its range is bounded by 2 beta d, and such a mechanism is (2 beta d)²/8-zCDP (Dong, Durfee, Rogers, ICML
2020; Cesar and Rogers, ALT 2021). With beta = 1/2 that is d²/8. The sum over reports converts to an epsilon that
holds except with probability delta (Bun and Steinke, TCC 2016): rho + 2 sqrt(rho ln(1/delta)). Planar Laplace noise
is the case beta = 1 with d = epsilon metres.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray
from ..errors import InputError, require_count, require_nonnegative, require_positive

#: The default probability with which the concentrated bound may fail.
DELTA = 1e-6

#: The exponent that is always private: half of d pays for the weights, half for the normaliser.
HALF = 0.5


@dataclass(frozen=True)
class Cost:
    """The cost of telling two places apart after `reports`: both bounds, and the smaller."""

    reports: int
    level: float
    pure: float
    rho: float
    concentrated: float
    delta: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"best": self.best, "bound": self.bound}

    @property
    def best(self) -> float:
        """The smaller of the two; each of them holds."""
        return min(self.pure, self.concentrated)

    @property
    def bound(self) -> str:
        """The name of the one that is smaller, and so applies."""
        return "pure" if self.pure <= self.concentrated else "concentrated"


def rho(reports: int, level: float, *, exponent: float = HALF) -> float:
    """zCDP of `reports` reports between places at distance `level`."""
    require_count("reports", reports, least=0)
    # 8: Hoeffding's lemma for a variable in a range of this width; more than 2 d a d-private mechanism never has
    return reports * (2 * _require_exponent(exponent) * require_nonnegative("level", level)) ** 2 / 8


def rho_to_epsilon(total: float, delta: float = DELTA) -> float:
    """The epsilon that rho-zCDP gives except with probability `delta`."""
    return require_nonnegative("rho", total) + 2 * math.sqrt(total * math.log(1 / _require_delta(delta)))


def cost(reports: int, level: float, *, delta: float = DELTA, exponent: float = HALF) -> Cost:
    """The cost of `reports` reports between places at distance `level`."""
    total = rho(reports, level, exponent=exponent)
    return Cost(reports, level, reports * level, total, rho_to_epsilon(total, delta), delta)


def best_costs(levels: npt.ArrayLike, reports: int, *, delta: float = DELTA, exponent: float = HALF) -> FloatArray:
    """The better of both bounds for many distances at once; infinite where the distance is."""
    level = np.asarray(levels, dtype=np.float64)
    near = np.where(np.isfinite(level), level, 0.0)
    total = rho(reports, 1.0, exponent=exponent) * near**2
    concentrated = total + 2 * np.sqrt(total * math.log(1 / _require_delta(delta)))
    return np.where(np.isfinite(level), np.minimum(reports * near, concentrated), np.inf)


def level_within(budget: float, reports: int, *, delta: float = DELTA, exponent: float = HALF) -> float:
    """The largest distance of a place that `reports` reports keep within `budget`, by the better of both bounds.

    Infinite for no report at all. The inverse of `Cost.best`: pure, budget / n; concentrated, the level whose rho
    solves rho + 2 sqrt(rho c) = budget with c = ln(1/delta), which is (sqrt(c + budget) - sqrt(c))².
    """
    if require_count("reports", reports, least=0) == 0:
        return math.inf
    return level_of_widths(budget, reports, reports * (2 * _require_exponent(exponent)) ** 2, delta=delta)


def level_of_widths(budget: float, widths: float, squares: float, *, delta: float = DELTA) -> float:
    """The same for releases whose log-ratios at distance d lie in ranges of width x d: of the widths' sum and the sum
    of their squares."""
    budget = require_positive("budget", budget)
    c = math.log(1 / _require_delta(delta))
    most = (budget / (math.sqrt(c + budget) + math.sqrt(c))) ** 2
    return max(budget / widths, math.sqrt(8 * most / squares))


def reports_within(budget: float, level: float, *, delta: float = DELTA) -> int:
    """The largest number of reports whose cost at distance `level` stays within `budget`."""
    budget, level = require_positive("budget", budget), require_positive("level", level)
    c = math.log(1 / _require_delta(delta))
    most = (budget / (math.sqrt(c + budget) + math.sqrt(c))) ** 2
    guess = max(int(budget / level), int(most / rho(1, level)))
    # the closed forms round; the definition decides
    while cost(guess + 1, level, delta=delta).best <= budget:
        guess += 1
    while guess and cost(guess, level, delta=delta).best > budget:
        guess -= 1
    return guess


def _require_exponent(exponent: float) -> float:
    if not 0 < float(exponent) <= 1:
        raise InputError(f"'exponent' must be a number in (0, 1], got {exponent!r}")
    return float(exponent)


def _require_delta(delta: float) -> float:
    if not 0 < float(delta) < 1:
        raise InputError(f"'delta' must be a probability in (0, 1), got {delta!r}")
    return float(delta)
