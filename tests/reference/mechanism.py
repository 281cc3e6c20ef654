# SPDX-License-Identifier: Apache-2.0
"""The exponential mechanism in exact fractions, and bounds of e that are fractions too."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from geoelastic.levels import LEVEL_BITS

INF = 2**31 - 1
#: ln 2 rounded up, to thirty digits.
LN2_ABOVE = Fraction(693147180559945309417232121459, 10**30)


def exact_probabilities(distances: Any, measure: Any, weights: Any) -> list[Fraction]:
    """K(x)(z) for all z, as fractions."""
    weighted = [
        Fraction(0) if d >= INF else int(mu) * weights.exact(int(d)) for d, mu in zip(distances, measure, strict=True)
    ]
    total = sum(weighted)
    return [w / total for w in weighted]


def exp_upper(units: int) -> Fraction:
    """A fraction not below e^(units 2^-13) and above it by less than 1e-12 of it."""
    x = Fraction(units, 2**LEVEL_BITS)
    term, total, k = Fraction(1), Fraction(1), 0
    while term > Fraction(1, 10**15) or k < 2 * x:
        k += 1
        term = term * x / k
        total += term
    return total + 2 * term


@functools.cache
def exp_lower(units: int) -> Fraction:
    """A fraction not above e^(units 2^-13): whole powers of two, and a partial sum of the series of the rest."""
    doublings = int(Fraction(units, 2**LEVEL_BITS) / LN2_ABOVE)
    x = Fraction(units, 2**LEVEL_BITS) - doublings * LN2_ABOVE
    term, total, k = Fraction(1), Fraction(1), 0
    while term > Fraction(1, 10**15):
        k += 1
        term = term * x / k
        total += term
    return total * 2**doublings


def exact_rows(mechanism: Any) -> list[list[int]]:
    """For each location, the integers that its probabilities are proportional to, exactly."""
    metric, weights = mechanism.reporting, mechanism.weights
    units = np.array([metric.distance_units_from(i) for i in range(metric.n)])
    finest = int(units[units < INF].max()) // weights.period
    return [
        [
            0 if d >= INF else int(mu) * int(weights.exact(int(d)) * 2**finest)
            for d, mu in zip(row, mechanism.measure, strict=True)
        ]
        for row in units
    ]


def worst_use(metric: Any, rows: list[list[int]]) -> float:
    """The largest ln(K(x)(z)/K(x')(z)) / d(x, x') over all triples, after checking in integers that it is at most 1."""
    worst, totals = 0.0, [sum(row) for row in rows]
    units = [metric.distance_units_from(x) for x in range(metric.n)]
    bounds = {int(d): exp_lower(int(d)) for d in np.unique(units) if d < INF}
    for x, y in product(range(metric.n), repeat=2):
        d = int(units[x][y])
        if x == y or d >= INF:
            continue
        p, q = bounds[d].numerator * totals[x], bounds[d].denominator * totals[y]
        assert all(a * q <= p * b for a, b in zip(rows[x], rows[y], strict=True))
        assert all((a > 0) == (b > 0) for a, b in zip(rows[x], rows[y], strict=True))
        if d > 0:
            ratio = max(a / b for a, b in zip(rows[x], rows[y], strict=True) if b) * totals[y] / totals[x]
            worst = max(worst, math.log(ratio) / (d * 2.0**-13))
    return worst
