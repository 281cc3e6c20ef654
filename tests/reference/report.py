# SPDX-License-Identifier: Apache-2.0
"""Slow, obviously right twins of `_kernels.report_errors`: every cell of every output, one by one."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from scipy import integrate


def report_distances(
    xy: Any, row_of_place: Any, weights: Any, block: Any, out_xy: Any, side: Any, cell_m: float, bins: int
) -> tuple[list[float], list[float]]:
    """Expected distance of each place and the weighted histogram (1 m bins), cell by cell."""
    expected, histogram = [0.0] * len(xy), [0.0] * bins
    for p, (x, y) in enumerate(xy):
        for z, (ox, oy) in enumerate(out_xy):
            k = int(side[z])
            for i in range(k):
                for j in range(k):
                    cx, cy = ox + (j + 0.5 - k / 2) * cell_m, oy + (i + 0.5 - k / 2) * cell_m
                    d = math.dist((x, y), (cx, cy))
                    share = block[row_of_place[p]][z] / (k * k)
                    expected[p] += share * d
                    histogram[int(d)] += weights[p] * share
    return expected, histogram


def square_mass(epsilon: float, cell_m: float, south: int, west: int, side: int) -> float:
    """Planar Laplace mass of a square `south`, `west` cells from the source cell's own, by adaptive quadrature."""
    x0, y0 = (west - 0.5) * cell_m, (south - 0.5) * cell_m
    x1, y1 = x0 + side * cell_m, y0 + side * cell_m

    def density(y: float, x: float) -> float:
        return epsilon**2 / (2 * math.pi) * math.exp(-epsilon * math.hypot(x, y))

    # split at the source, where the density has its cusp
    xs, ys = sorted({x0, x1, min(max(0.0, x0), x1)}), sorted({y0, y1, min(max(0.0, y0), y1)})
    return sum(
        integrate.dblquad(density, a, b, c, d, epsabs=1e-15, epsrel=1e-11)[0]
        for a, b in pairwise(xs)
        for c, d in pairwise(ys)
    )
