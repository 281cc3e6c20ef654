# SPDX-License-Identifier: Apache-2.0
"""The neighbour rule and the edge weights of a conformal metric, written down once more, slowly."""

from __future__ import annotations

import math
from typing import Any


def length(a: tuple[int, int, int], b: tuple[int, int, int]) -> int:
    """floor(256 x distance of centres in half cells) of two squares (row, col, size)."""
    dy = 2 * a[0] + a[2] - 2 * b[0] - b[2]
    dx = 2 * a[1] + a[2] - 2 * b[1] - b[2]
    return math.isqrt((dx * dx + dy * dy) << 16)


def touch(a: tuple[int, int, int], b: tuple[int, int, int]) -> bool:
    """Whether two different squares share a side or a corner."""
    return (
        a != b
        and a[0] <= b[0] + b[2]
        and b[0] <= a[0] + a[2]
        and a[1] <= b[1] + b[2]
        and b[1] <= a[1] + a[2]
    )  # fmt: skip


def neighbour_pairs(squares: list[tuple[int, int, int]]) -> set[tuple[int, int]]:
    """All pairs i < j that are neighbours."""
    n = len(squares)
    touching = [{j for j in range(n) if touch(squares[i], squares[j])} for i in range(n)]
    pairs = set()
    for i in range(n):
        for j in range(i + 1, n):
            if j in touching[i]:
                pairs.add((i, j))
                continue
            between = touching[i] & touching[j]
            direct = length(squares[i], squares[j])
            if between and not any(
                32 * (length(squares[i], squares[k]) + length(squares[k], squares[j])) <= 33 * direct for k in between
            ):
                pairs.add((i, j))
    return pairs


def unmoved(a: tuple[int, int, int]) -> list[int]:
    """The place (east, north) of a square's centre on a map that was not redrawn, in half cells with 8 fractional
    bits."""
    return [(2 * a[1] + a[2]) << 8, (2 * a[0] + a[2]) << 8]


def conformal_weight(a: list[int], b: list[int], scale_a: int, scale_b: int) -> int:
    """floor(length between places x (sum of scales) / 2^17)."""
    return (math.isqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) * (scale_a + scale_b)) >> 17


def mean_distance(a: tuple[int, int, int], b: tuple[int, int, int]) -> float:
    """Mean distance between all pairs of cells of two squares, in cells."""
    cells: Any = [[(s[0] + i, s[1] + j) for i in range(s[2]) for j in range(s[2])] for s in (a, b)]
    return sum(math.dist(p, q) for p in cells[0] for q in cells[1]) / (len(cells[0]) * len(cells[1]))
