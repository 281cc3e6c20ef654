# SPDX-License-Identifier: Apache-2.0
"""Neighbours of the leaves of a layout, and the lengths between them. All arithmetic is on integers."""

import math
from typing import Any

import numpy as np

from ._compile import kernel

#: Lengths are in half cells with this many fractional bits.
LENGTH_BITS = 8


@kernel
def centre_distance(row_a, col_a, size_a, row_b, col_b, size_b):
    """floor(2^LENGTH_BITS x distance of two leaf centres in half cells).

    sqrt is correctly rounded and its argument below 2^52, so the floor is exact in every language.
    """
    dy = (2 * row_a + size_a) - (2 * row_b + size_b)
    dx = (2 * col_a + size_a) - (2 * col_b + size_b)
    return np.int64(math.sqrt(float((np.int64(dx) * dx + np.int64(dy) * dy) << (2 * LENGTH_BITS))))


@kernel
def _ring(owner, row, col, size, out):
    """Distinct leaves that touch a leaf (by a side or a corner), in order of first meeting; returns how many."""
    rows, cols = owner.shape
    count = 0
    for r in range(row - 1, row + size + 1):
        if r < 0 or r >= rows:
            continue
        full = r == row - 1 or r == row + size
        c = col - 1
        while c <= col + size:
            if 0 <= c < cols:
                leaf = owner[r, c]
                known = False
                for k in range(count):
                    if out[k] == leaf:
                        known = True
                        break
                if not known:
                    out[count] = leaf
                    count += 1
            c += 1 if full else size + 1
    return count


@kernel
def touching(owner, row, col, size, widest):
    """CSR of touching leaves, each row in increasing order. `widest`: largest size, which bounds a row's length."""
    n = row.size
    start = np.zeros(n + 1, np.int64)
    buffer = np.empty(4 * widest + 4, np.int32)
    index = np.empty(9 * n, np.int32)
    for i in range(n):
        count = _ring(owner, row[i], col[i], size[i], buffer)
        index = _with_room(index, start[i], count)
        index[start[i] : start[i] + count] = np.sort(buffer[:count])
        start[i + 1] = start[i] + count
    return start, index[: start[n]].copy()


@kernel
def _with_room(array, used, more):
    """The array, or a longer copy, with room for `more` entries after those that are used."""
    if used + more <= array.size:
        return array
    longer = np.empty(2 * (used + more), array.dtype)
    longer[:used] = array[:used]
    return longer


@kernel
def _second_ring(i, start, index, row, col, size, seen, out):
    """Neighbours of leaf i: those that touch it, and those that touch these unless a step in between is as short.

    A pair two steps apart is left out when some leaf between them makes a detour of at most 1/32: there the direct
    edge would add nothing. On equal cells this leaves exactly the 16 directions (0,1), (1,1), (1,2) and their turns.
    """
    count = 0
    seen[i] = i
    for a in range(start[i], start[i + 1]):
        seen[index[a]] = i
        out[count] = index[a]
        count += 1
    for a in range(start[i], start[i + 1]):
        j = index[a]
        for b in range(start[j], start[j + 1]):
            k = index[b]
            if seen[k] == i:
                continue
            seen[k] = i
            direct = centre_distance(row[i], col[i], size[i], row[k], col[k], size[k])
            short = False
            for c in range(start[i], start[i + 1]):
                via = index[c]
                for d in range(start[k], start[k + 1]):
                    if index[d] == via:
                        detour = centre_distance(row[i], col[i], size[i], row[via], col[via], size[via])
                        detour += centre_distance(row[via], col[via], size[via], row[k], col[k], size[k])
                        if 32 * detour <= 33 * direct:
                            short = True
                        break
                if short:
                    break
            if not short:
                out[count] = k
                count += 1
    return count


@kernel
def neighbours(start, index, row, col, size, group, widest):
    """CSR of the neighbour graph (symmetric, rows in increasing order) with integer lengths.

    Leaves of different `group` (inside and outside a fence) are no neighbours; neither are leaves of one fence (group
    > 0).
    """
    n = row.size
    seen = np.full(n, -1, np.int64)
    buffer = np.empty((4 * widest + 4) * (4 * widest + 5), np.int32)
    begin = np.zeros(n + 1, np.int64)
    target = np.empty(18 * n, np.int32)
    for i in range(n):
        at = begin[i]
        if group[i] == 0:
            count = _second_ring(i, start, index, row, col, size, seen, buffer)
            target = _with_room(target, at, count)
            ordered = np.sort(buffer[:count])
            for k in range(count):
                if group[ordered[k]] == 0:
                    target[at] = ordered[k]
                    at += 1
        begin[i + 1] = at
    target = target[: begin[n]].copy()
    length = np.empty(target.size, np.int32)
    for i in range(n):
        for a in range(begin[i], begin[i + 1]):
            j = target[a]
            length[a] = centre_distance(row[i], col[i], size[i], row[j], col[j], size[j])
    return begin, target, length


def lengths_between(start: Any, index: Any, place: Any) -> Any:
    """floor(distance) of the places of neighbours, (n, 2) in half cells with LENGTH_BITS fractional bits: as exact as
    `centre_distance`."""
    at = place.astype(np.int64)
    dx, dy = (np.repeat(at, np.diff(start), axis=0) - at[index]).T
    return np.sqrt((dx * dx + dy * dy).astype(np.float64)).astype(np.int32)


def paint_owner(rows: Any, cols: Any, row: Any, col: Any, size: Any) -> Any:
    """The leaf of each cell."""
    owner = np.full((rows, cols), -1, np.int32)
    number = np.arange(row.size, dtype=np.int32)
    for side in np.unique(size):
        mine = number[size == side]
        if side < 8:
            for r in range(side):
                for c in range(side):
                    owner[row[mine] + r, col[mine] + c] = mine
        else:
            for i in mine.tolist():
                owner[row[i] : row[i] + side, col[i] : col[i] + side] = i
    return owner


@kernel(small=2**16)
def unpack_leaves(rows, cols, exponents):
    """South-west cells of leaves given in Z-order by the exponents of their sides; False if they do not tile the
    grid.

    Walks the quadtree from a root square that covers the grid: a square beyond the grid is skipped; a square is the
    next leaf if it has that leaf's side; otherwise its four quarters follow in the order (south-west, south-east,
    north-west, north-east).
    """
    n = exponents.size
    row = np.empty(n, np.int32)
    col = np.empty(n, np.int32)
    root = 0
    while (1 << root) < max(rows, cols):
        root += 1
    stack = np.empty((4 * root + 4, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, root
    depth, at = 1, 0
    while depth > 0:
        depth -= 1
        r, c, k = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if r >= rows or c >= cols:
            continue
        if at >= n or exponents[at] > k:
            return row, col, False
        if exponents[at] == k and r + (1 << k) <= rows and c + (1 << k) <= cols:
            row[at], col[at] = r, c
            at += 1
            continue
        if k == 0:
            return row, col, False
        half = 1 << (k - 1)
        for q in range(4):
            quarter = 3 - q
            stack[depth, 0] = r + half * (quarter >> 1)
            stack[depth, 1] = c + half * (quarter & 1)
            stack[depth, 2] = k - 1
            depth += 1
    return row, col, at == n
