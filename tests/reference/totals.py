# SPDX-License-Identifier: Apache-2.0
"""Normalisers in exact fractions, by their definition."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from geoelastic.metric.weights import WHOLE, make_weights

INF = 2**31 - 1


def split_total(distances: Any, measure: Any, bound: int) -> tuple[Fraction, int, Fraction]:
    """N = sum of measure (w(d) - w(bound)) below the bound, the measure below it, and R = sum of measure w(max(d,
    bound)) over all that is in reach; w(0) = 1."""
    weights = make_weights(WHOLE)
    top = weights.exact(0)
    pairs = [(int(d), int(m)) for d, m in zip(distances, measure, strict=True) if d < INF]
    near = sum(((weights.exact(d) - weights.exact(bound)) * m / top for d, m in pairs if d < bound), Fraction(0))
    rest = sum((weights.exact(max(d, bound)) * m / top for d, m in pairs), Fraction(0))
    return near, sum(m for d, m in pairs if d < bound), rest
