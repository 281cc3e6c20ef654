# SPDX-License-Identifier: Apache-2.0
"""Slow, obviously right twins of the kernels in `_kernels.coverage`, in exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Point = tuple[Fraction, Fraction]


def area(ring: Sequence[Point]) -> Fraction:
    """Signed area of a ring (not closed), positive counter-clockwise."""
    n = len(ring)
    return (
        sum((ring[i][0] * ring[(i + 1) % n][1] - ring[(i + 1) % n][0] * ring[i][1] for i in range(n)), Fraction(0)) / 2
    )


def clip(ring: Sequence[Point], axis: int, limit: int, keep_above: bool) -> list[Point]:
    """Sutherland and Hodgman: the part of a ring on one side of a line; its signed area is right for any ring."""
    result: list[Point] = []
    inside = [(p[axis] >= limit) if keep_above else (p[axis] <= limit) for p in ring]
    for i, p in enumerate(ring):
        q, p_in, q_in = ring[(i + 1) % len(ring)], inside[i], inside[(i + 1) % len(ring)]
        if p_in:
            result.append(p)
        if p_in != q_in:
            t = (limit - p[axis]) / (q[axis] - p[axis])
            result.append((p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])))
    return result


def covered(ring: Sequence[Point], row: int, col: int) -> Fraction:
    """Signed area of a ring inside one unit cell."""
    part = list(ring)
    for axis, low in ((0, col), (1, row)):
        part = clip(part, axis, low, True)
        part = clip(part, axis, low + 1, False)
    return area(part) if part else Fraction(0)


def crosses(ring: Sequence[Point]) -> bool:
    """Whether two sides of a ring meet anywhere but at the corner that neighbours share."""
    n = len(ring)

    def turn(a: Point, b: Point, c: Point) -> int:
        value = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        return (value > 0) - (value < 0)

    def on(a: Point, b: Point, c: Point) -> bool:
        return turn(a, b, c) == 0 and all(min(a[k], b[k]) <= c[k] <= max(a[k], b[k]) for k in (0, 1))

    for i in range(n):
        a, b = ring[i], ring[(i + 1) % n]
        if a == b or on(a, b, ring[(i + 2) % n]) or on(b, ring[(i + 2) % n], a):
            return True
        for j in range(i + 2, n):
            if i == 0 and j == n - 1:
                continue
            c, d = ring[j], ring[(j + 1) % n]
            if turn(a, b, c) != turn(a, b, d) and turn(c, d, a) != turn(c, d, b):
                return True
            if on(a, b, c) or on(a, b, d) or on(c, d, a) or on(c, d, b):
                return True
    return False
