# SPDX-License-Identifier: Apache-2.0
"""Leaves of a layout and the neighbours between them, in whole numbers: the same as everywhere."""

from __future__ import annotations

from itertools import chain
from math import isqrt

from .schema import refuse

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
        given = exponents[len(row)] if len(row) < n else 9
        if given == k and r + (1 << k) <= rows and c + (1 << k) <= cols:
            row.append(r)
            col.append(c)
        elif given > k or k == 0:
            break
        else:
            half = 1 << (k - 1)
            stack += [(r + half, c + half, k - 1), (r + half, c, k - 1), (r, c + half, k - 1), (r, c, k - 1)]
    if stack or len(row) != n:
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
        lines = [[-1, *owner[at : at + cols], -1] for at in range(0, rows * cols, cols)]
        self._owner = list(chain([-1] * (cols + 2), *lines, [-1] * (cols + 2)))
        self._wide, self._leaves, self._centre, self._span = cols + 2, leaves, _centres(leaves), _Spans()
        #: Where a leaf is and how large, as one number: the difference of two says how one is seen from the other.
        self._shape = [(centre << 4) + side.bit_length() for centre, side in zip(self._centre, leaves[2])] + [1 << 60]
        self._touching: list[list[int] | None] = [None] * len(leaves[2])
        #: Of leaves that see the same leaves touch them: whether one beyond these is a neighbour, by how it is seen.
        self._direct: dict[tuple[int, ...], dict[int, bool]] = {}

    def touching(self, i: int) -> list[int]:
        """Leaves that share a side or a corner with a leaf, cell by cell: some more than once, -1 at the border."""
        seen = self._touching[i]
        if seen is None:
            row, col, size = self._leaves
            side, wide, owner = size[i], self._wide, self._owner
            south = row[i] * wide + col[i]
            here, north, across = south + wide, south + (side + 1) * wide, side + 2
            seen = owner[south : south + across] + owner[north : north + across]
            seen += owner[here:north:wide] + owner[here + side + 1 : north + side + 1 : wide]
            self._touching[i] = seen
        return seen

    def after(self, i: int) -> list[int]:
        """The neighbours of a leaf that come after it, and some others that touch it."""
        around, shape, mine = self.touching(i), self._shape, self._shape[i]
        seen = (self._leaves[2][i], *[shape[j] - mine for j in around])
        direct = self._direct.setdefault(seen, {})
        others = set(around) - {-1}
        near = list(others)
        for k in set().union(*map(self.touching, others)):
            if k > i and k not in others:
                way = shape[k] - mine
                if way not in direct:
                    direct[way] = self._is_direct(i, others, k)
                if direct[way]:
                    near.append(k)
        return near

    def _is_direct(self, i: int, others: set[int], k: int) -> bool:
        """Whether every way to a leaf by one that touches both is a detour of more than 1/32."""
        span, centre, a, b = self._span, self._centre, self._centre[i], self._centre[k]
        between = [centre[j] for j in others.intersection(self.touching(k))]
        return 32 * min([span[a - c] + span[c - b] for c in between]) > 33 * span[a - b]


def _evens(rows: int, cols: int, owner: list[int], leaves: Leaves) -> dict[int, list[int]]:
    """Leaves in the middle of five by five equal ones, and their neighbours: those around and the knight's moves. A row
    of bytes is one number: laid over each other, each moved by a byte, five show where five in a row are equal."""
    size = leaves[2]
    found: dict[int, list[int]] = {}
    for side in set(size):
        wide, high = cols // side, rows // side
        grid = [owner[at : at + wide * side : side] for at in range(0, high * side * cols, side * cols)]
        equal = [int.from_bytes(bytes([size[i] == side for i in line]), "little") for line in grid]
        across = [e & e >> 8 & e >> 16 & e >> 24 & e >> 32 for e in equal]
        for r in range(high - 4):
            whole = across[r] & across[r + 1] & across[r + 2] & across[r + 3] & across[r + 4]
            at, marks = -1, whole.to_bytes(wide, "little")
            a, b, c, d, e = grid[r : r + 5]
            while (at := marks.find(1, at + 1)) >= 0:
                two, five = slice(at + 1, at + 4, 2), slice(at, at + 5)
                found[c[at + 2]] = a[two] + b[five] + c[two] + d[five] + e[two]
    return found


def neighbours(rows: int, cols: int, owner: list[int], leaves: Leaves, fence: list[int]) -> Pairs:
    """Leaves that touch, and leaves that touch these unless some leaf between makes a detour of at most 1/32. Leaves of
    a fence (fence > 0) have no neighbours."""
    around, even = _Around(rows, cols, owner, leaves), _evens(rows, cols, owner, leaves)
    tails: list[int] = []
    tips: list[int] = []
    for i, fenced in enumerate(fence):
        if not fenced:
            near = even.get(i) or around.after(i)
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
