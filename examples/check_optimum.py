# SPDX-License-Identifier: Apache-2.0
"""Check a bound of `geoelastic bench optimum --certificate FILE` with nothing but the standard library.

    python examples/check_optimum.py FILE

Prints metres that no mechanism between the file's places can fall below on average if it tells any two of them at
distance u (in units of 1/8192) apart by a factor of at most e^(u/8192). The argument is the few lines of
`certified_bound` in src/geoelastic/evaluation/optimum.py; the numbers in the file may come from anywhere.
"""

import gzip
import json
import math
import sys
from fractions import Fraction


def exp_above(units: int) -> Fraction:
    """A fraction that is at least e^(units/8192): e^h <= 1 / (1 - h + h^2/2 - h^3/6), by its alternating series."""
    h = Fraction(units, 8192 << 12)
    value = 1 / (1 - h + h**2 / 2 - h**3 / 6)
    for _ in range(12):
        value = Fraction(-(-(value * value * 2**80).numerator // (value * value * 2**80).denominator), 2**80)
    return value


def bound(file: dict) -> float:
    weight = file["weight"]
    edges = [(i, j) for i, j in file["edges"]] + [(j, i) for i, j in file["edges"]]
    growth = [exp_above(u) for u in file["units"]] * 2
    shift = 80
    whole = [-(-(g * 2**shift).numerator // (g * 2**shift).denominator) for g in growth]
    assert all(w >= 0 for w in weight)
    assert all(y >= 0 for row in file["multipliers"] for y in row)
    least = [None] * len(weight)
    for z, (zx, zy) in enumerate(file["reports_mm"]):
        value = [
            (w * math.isqrt((x - zx) ** 2 + (y - zy) ** 2)) << (shift + 20)
            for w, (x, y) in zip(weight, file["places_mm"], strict=True)
        ]
        for (tail, head), r, row in zip(edges, whole, file["multipliers"], strict=True):
            value[tail] += row[z] << shift
            value[head] -= r * row[z]
        least = [v if a is None else min(a, v) for a, v in zip(least, value, strict=True)]
    return float(Fraction(sum(least), (sum(weight) * 1000) << (shift + 20)))


if __name__ == "__main__":
    with gzip.open(sys.argv[1]) as file:
        print(f"no mechanism errs by less than {bound(json.load(file)):.2f} m on average")
