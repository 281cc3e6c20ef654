# SPDX-License-Identifier: Apache-2.0
"""Leaves of a layout and the neighbours between them. Whole numbers only: the same as everywhere else, bit for bit."""

from __future__ import annotations

from math import isqrt

from .schema import refuse

__all__ = ["Leaves", "Pairs", "neighbours", "paint_owner", "spans", "uniform_leaves", "unpack_leaves"]

#: South-west rows, south-west columns and sides of the leaves, in cells.
Leaves = tuple[list[int], list[int], list[int]]
#: Each pair i < j of neighbours once, by i and then by j: all i, all j.
Pairs = tuple[list[int], list[int]]
#: (north, east) as one number, so that a difference of two says how far apart they are; either is far below half of it.
_SIDE = 1 << 20


def unpack_leaves(rows: int, cols: int, exponents: list[int]) -> Leaves:
    """The leaves whose exponents are listed in Z-order."""
    row: list[int] = []
    col: list[int] = []
    n = len(exponents)
    stack = [(0, 0, (max(rows, cols) - 1).bit_length())]
    while stack:
        r, c, k = stack.pop()
        if r >= rows or c >= cols:
            continue
        if len(row) >= n or exponents[len(row)] > k:
            raise refuse("the layout does not tile its grid")
        if exponents[len(row)] == k and r + (1 << k) <= rows and c + (1 << k) <= cols:
            row.append(r)
            col.append(c)
            continue
        if k == 0:
            raise refuse("the layout does not tile its grid")
        half = 1 << (k - 1)
        stack += [(r + half, c + half, k - 1), (r + half, c, k - 1), (r, c + half, k - 1), (r, c, k - 1)]
    if len(row) != n:
        raise refuse("the layout does not tile its grid")
    return row, col, [1 << k for k in exponents]


def uniform_leaves(rows: int, cols: int) -> Leaves:
    """One leaf a cell, row by row."""
    return [r for r in range(rows) for _ in range(cols)], list(range(cols)) * rows, [1] * (rows * cols)


def paint_owner(rows: int, cols: int, leaves: Leaves) -> list[int]:
    """The leaf of each cell, row by row."""
    owner = [-1] * (rows * cols)
    for i, (r, c, side) in enumerate(zip(*leaves)):
        for at in range(r * cols + c, (r + side) * cols + c, cols):
            owner[at : at + side] = [i] * side
    return owner


class _Spans(dict[int, int]):
    """floor(2^8 x distance of two centres in half cells) by how far apart they are: few ways there are."""

    def __missing__(self, apart: int) -> int:
        north, east = divmod(apart + _SIDE // 2, _SIDE)
        east -= _SIDE // 2
        self[apart] = span = isqrt((north * north + east * east) << 16)
        return span


class _Around:
    """What lies around leaves."""

    def __init__(self, rows: int, cols: int, owner: list[int], leaves: Leaves) -> None:
        self._rows, self._cols, self._owner, self._leaves = rows, cols, owner, leaves
        bits = [side.bit_length() for side in leaves[2]]
        self._bits = bytes([bits[i] for i in owner])
        self._touching: list[set[int] | None] = [None] * len(bits)

    def touching(self, i: int) -> set[int]:
        """Leaves that share a side or a corner with a leaf."""
        seen = self._touching[i]
        if seen is None:
            seen = self._touching[i] = set()
            r, c, side = (values[i] for values in self._leaves)
            cols, owner, west, east = self._cols, self._owner, max(c - 1, 0), min(c + side + 1, self._cols)
            for beyond in (r - 1, r + side):
                if 0 <= beyond < self._rows:
                    seen.update(owner[beyond * cols + west : beyond * cols + east])
            for beyond in (c - 1, c + side):
                if 0 <= beyond < cols:
                    seen.update(owner[r * cols + beyond : (r + side) * cols + beyond : cols])
        return seen

    def even(self, i: int) -> list[int] | None:
        """The neighbours of a leaf in the middle of five by five equal ones: those around it and the knight's moves."""
        r, c, side = (values[i] for values in self._leaves)
        cols, south, west = self._cols, r - 2 * side, c - 2 * side
        if south < 0 or west < 0 or south + 5 * side > self._rows or west + 5 * side > cols:
            return None
        starts = range(south * cols + west, (r + 3 * side) * cols, side * cols)
        lines = [slice(at, at + 5 * side, side) for at in starts]
        equal = bytes([side.bit_length()]) * 5
        if any(self._bits[line] != equal for line in lines):
            return None
        a, b, middle, d, e = [self._owner[line] for line in lines]
        return [a[1], a[3], *b, middle[1], middle[3], *d, e[1], e[3]]


def neighbours(rows: int, cols: int, owner: list[int], leaves: Leaves, fence: list[int]) -> Pairs:
    """Leaves that touch, and leaves that touch these unless some leaf between makes a detour of at most 1/32. Leaves of
    a fence (fence > 0) have no neighbours."""
    around, centre, span = _Around(rows, cols, owner, leaves), _centres(leaves), _Spans()
    tails: list[int] = []
    tips: list[int] = []
    for i, fenced in enumerate(fence):
        if fenced:
            continue
        near = around.even(i)
        if near is None:
            others, a = around.touching(i), centre[i]
            near = list(others)
            for k in set().union(*map(around.touching, others)) - others:
                if k > i:
                    b = centre[k]
                    most = 33 * span[a - b]
                    between = [centre[j] for j in others & around.touching(k)]
                    if 32 * min([span[a - c] + span[c - b] for c in between]) > most:
                        near.append(k)
        forward = sorted([k for k in near if k > i and not fence[k]])
        tails += [i] * len(forward)
        tips += forward
    return tails, tips


def _centres(leaves: Leaves) -> list[int]:
    """Centres in half cells."""
    return [(2 * r + side) * _SIDE + 2 * c + side for r, c, side in zip(*leaves)]


def spans(pairs: Pairs, leaves: Leaves, places: tuple[list[int], list[int]] | None) -> list[int]:
    """The distances of neighbours, of `places` (east, north) if it was redrawn: half cells with 8 fractional bits."""
    if places is None:
        centre, span = _centres(leaves), _Spans()
        return [span[centre[i] - centre[j]] for i, j in zip(*pairs)]
    east, north = places
    return [isqrt((east[i] - east[j]) ** 2 + (north[i] - north[j]) ** 2) for i, j in zip(*pairs)]
