# SPDX-License-Identifier: Apache-2.0
"""The law of a released trace by its definition, in fractions; the filter in plain Python, operation by operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np

BLOCK = 512


def weight_matrix(metric: Any, weights: Any) -> list[list[Fraction]]:
    """w(d(x, z)) in fractions, relative to w(0)."""
    rows = [metric.distance_units_from(x).tolist() for x in range(metric.n)]
    return [[weights.exact(d) / weights.exact(0) for d in row] for row in rows]


def numerator(
    released: Sequence[int], trace: Sequence[int], weight: Any, jump: Sequence[Fraction], keep: Fraction
) -> Fraction:
    """jump(Z_1) prod psi prod w."""
    total = jump[released[0]]
    for z, following in pairwise(released):
        total *= (keep if z == following else 0) + jump[following]
    for x, z in zip(trace, released, strict=True):
        total *= weight[x][z]
    return total


def law(trace: Sequence[int], weight: Any, jump: Sequence[Fraction], keep: Fraction) -> dict[tuple[int, ...], Fraction]:
    """The chance of every release of a short trace on a small map."""
    above = {z: numerator(z, trace, weight, jump, keep) for z in product(range(len(jump)), repeat=len(trace))}
    total = sum(above.values())
    return {z: value / total for z, value in above.items()}


def exact(values: Any) -> list[Fraction]:
    return [Fraction(float(value)) for value in values]


def drawn_law(
    steps: Sequence[tuple[Any, float]], jump: Any, keep: float, releases: Sequence[Sequence[int]]
) -> Iterator[Fraction]:
    """The chance of each release by the doubles that the program draws from, with nothing rounded any more."""
    rows = [exact(row) for row, _ in steps]
    for released in releases:
        chance = _from_row(steps[-1][0], rows[-1], released[-1])
        for t in range(len(steps) - 2, -1, -1):
            z, then = released[t], released[t + 1]
            stay = Fraction(float(keep * steps[t][0][then]))
            move = Fraction(float(jump[then] * steps[t][1]))
            chance *= (move * _from_row(steps[t][0], rows[t], z) + (stay if z == then else 0)) / (stay + move)
        yield chance


def _from_row(row: Any, fractions: list[Fraction], z: int) -> Fraction:
    """First a block by the blocks' sums as they were rounded, then a location of the block."""
    sums = exact(plain_sums(row))
    block = z // BLOCK
    inside = fractions[block * BLOCK : (block + 1) * BLOCK]
    return sums[block] / sum(sums) * fractions[z] / sum(inside)


def plain_sums(row: Any) -> list[float]:
    sums = []
    for first in range(0, len(row), BLOCK):
        total = 0.0
        for value in row[first : first + BLOCK]:
            total += float(value)
        sums.append(total)
    return sums


def plain_filter(
    before: Any, total: float, weights: Any, which: Sequence[int], jump: Any, keep: float
) -> tuple[Any, list[float], list[int]]:
    """`filter_steps` one operation at a time."""
    rows, sums, raised = [], [], []
    for k in which:
        row = [
            (keep * float(b) + float(j) * total) * float(w) for b, j, w in zip(before, jump, weights[k], strict=True)
        ]
        total, count = 0.0, 0
        for part in plain_sums(row):
            total += part
        while total < 2.0**-64:
            row, total, count = [value * 2.0**64 for value in row], total * 2.0**64, count + 1
        rows.append(row)
        sums.append(total)
        raised.append(count)
        before = row
    return np.array(rows), sums, raised
