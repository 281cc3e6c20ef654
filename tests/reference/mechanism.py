# SPDX-License-Identifier: Apache-2.0
"""The exponential mechanism in exact fractions, and bounds of e that are fractions too."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from geoelastic.levels import LEVEL_BITS

INF = 2**31 - 1


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


def exp_lower(units: int) -> Fraction:
    """A fraction not above e^(units 2^-13): a partial sum of its series."""
    x = Fraction(units, 2**LEVEL_BITS)
    term, total, k = Fraction(1), Fraction(1), 0
    while term > Fraction(1, 10**15):
        k += 1
        term = term * x / k
        total += term
    return total
