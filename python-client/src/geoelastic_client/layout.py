# SPDX-License-Identifier: Apache-2.0
"""Leaves of a layout and the neighbours between them. Whole numbers only: the same as everywhere else, bit for bit."""

from __future__ import annotations

from math import isqrt

from .schema import refuse

__all__ = ["Leaves", "neighbours", "paint_owner", "place_lengths", "uniform_leaves", "unpack_leaves"]

#: South-west rows, south-west columns and sides of the leaves, in cells.
Leaves = tuple[list[int], list[int], list[int]]
#: Of each leaf, its neighbours in increasing order and the distances to them, in half cells with 8 fractional bits.
Rows = list[tuple[list[int], list[int]]]


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
        if side == 1:
            owner[r * cols + c] = i
            continue
        for at in range(r * cols + c, (r + side) * cols + c, cols):
            owner[at : at + side] = [i] * side
    return owner


def _touching(rows: int, cols: int, owner: list[int], leaves: Leaves) -> list[list[int]]:
    """Of each leaf, those that share a side or a corner with it, in increasing order."""
    near = []
    for r, c, side in zip(*leaves):
        west, east = max(c - 1, 0), min(c + side + 1, cols)
        seen: set[int] = set()
        if r > 0:
            seen.update(owner[(r - 1) * cols + west : (r - 1) * cols + east])
        if r + side < rows:
            seen.update(owner[(r + side) * cols + west : (r + side) * cols + east])
        first, last = r * cols, (r + side) * cols
        if c > 0:
            seen.update(owner[first + c - 1 : last + c - 1 : cols])
        if c + side < cols:
            seen.update(owner[first + c + side : last + c + side : cols])
        near.append(sorted(seen))
    return near


def neighbours(rows: int, cols: int, owner: list[int], leaves: Leaves, fence: list[int]) -> Rows:
    """Leaves that touch, and leaves that touch these unless some leaf between makes a detour of at most 1/32. Leaves of
    a fence (fence > 0) have no neighbours."""
    near = _touching(rows, cols, owner, leaves)
    row, col, size = leaves
    # centres in half cells
    north = [2 * r + side for r, side in zip(row, size)]
    east = [2 * c + side for c, side in zip(col, size)]
    span = _Spans(north, east)
    touched = [set(others) for others in near]
    found: Rows = []
    for i, others in enumerate(near):
        if fence[i]:
            found.append(([], []))
            continue
        two_apart = set().union(*(touched[j] for j in others)) - touched[i]
        two_apart.discard(i)
        side = size[i]
        if all(size[j] == side for j in others):
            # among equal squares only the knight's moves have no short detour; others are looked at one by one
            kept = [
                k
                for k in two_apart
                if (
                    abs(row[i] - row[k]) + abs(col[i] - col[k]) == 3 * side
                    if size[k] == side
                    else not _short_detour(span, touched, i, k)
                )
            ]
        else:
            kept = [k for k in two_apart if not _short_detour(span, touched, i, k)]
        index = sorted(k for k in (*others, *kept) if not fence[k])
        found.append((index, [span(i, k) for k in index]))
    return found


class _Spans:
    """floor(2^8 x distance of two centres in half cells), remembered by how far apart they are: few ways there are."""

    def __init__(self, north: list[int], east: list[int]) -> None:
        self._north, self._east = north, east
        self._known: dict[tuple[int, int], int] = {}

    def __call__(self, a: int, b: int) -> int:
        apart = (self._north[a] - self._north[b], self._east[a] - self._east[b])
        span = self._known.get(apart)
        if span is None:
            span = self._known[apart] = isqrt((apart[0] * apart[0] + apart[1] * apart[1]) << 16)
        return span


def _short_detour(span: _Spans, touched: list[set[int]], i: int, k: int) -> bool:
    """Whether some leaf that touches both makes a detour of at most 1/32."""
    most = 33 * span(i, k)
    return any(32 * (span(i, between) + span(between, k)) <= most for between in touched[i] & touched[k])


def place_lengths(found: Rows, east: list[int], north: list[int]) -> Rows:
    """The same neighbours with the distances of their places on a redrawn map."""
    redrawn: Rows = []
    for i, (index, _) in enumerate(found):
        x, y = east[i], north[i]
        redrawn.append((index, [isqrt((x - east[j]) ** 2 + (y - north[j]) ** 2) for j in index]))
    return redrawn
