# SPDX-License-Identifier: Apache-2.0
"""Who touches whom, and who is whose neighbour, by arrays alone: what `_kernels.layout` does without compiling it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..arrays import IndexArray, IntArray

#: Locations up to which this is quicker than having the kernels compiled.
FEW = 2**15
#: Ways of two steps that are looked at together: bounds the memory.
_WAYS = 2**20


def touching(owner: IndexArray, n: int) -> tuple[IntArray, IndexArray]:
    """CSR of touching locations, each row in increasing order: those of cells side by side or corner to corner."""
    sides = (
        (owner[:, :-1], owner[:, 1:]),
        (owner[:-1], owner[1:]),
        (owner[:-1, :-1], owner[1:, 1:]),
        (owner[:-1, 1:], owner[1:, :-1]),
    )
    pairs = [np.zeros(0, np.int64)]
    for one, other in sides:
        apart = one != other
        a, b = one[apart].astype(np.int64), other[apart].astype(np.int64)
        pairs += [_distinct(a * n + b), _distinct(b * n + a)]
    return _rows(_distinct(np.concatenate(pairs)), n)


def neighbours(
    touch: tuple[IntArray, IndexArray], square: tuple[IndexArray, IndexArray, IndexArray], group: IndexArray
) -> tuple[IntArray, IndexArray, IndexArray]:
    """CSR of the neighbour graph with integer lengths: see `kernels.neighbours` for the rule. `square`: the rows,
    columns and sizes of locations."""
    start, index = touch
    n = start.size - 1
    tail = np.repeat(np.arange(n), np.diff(start))
    near = tail * n + index
    length = _lengths(square, tail, index)
    reach = np.concatenate([[0], np.cumsum(np.diff(start)[index])])[start]  # ways of two steps, up to each location
    pairs, first = [near], 0
    while first < n:
        last = max(first + 1, int(np.searchsorted(reach, reach[first] + _WAYS, side="right")) - 1)
        pairs.append(_second_ring(start, index, length, near, square, first, last))
        first = last
    found = np.sort(np.concatenate(pairs))
    found = found[(group[found // n] == 0) & (group[found % n] == 0)]
    begin, target = _rows(found, n)
    return begin, target, _lengths(square, found // n, target).astype(np.int32)


def _distinct(pairs: IntArray) -> IntArray:
    """Each pair once, in order; `np.unique`, which hashes them, takes many times as long (numpy 2.4)."""
    ordered = np.sort(pairs)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _second_ring(
    start: IntArray, index: IndexArray, length: IntArray, near: IntArray,
    square: tuple[IndexArray, IndexArray, IndexArray], first: int, last: int,
) -> IntArray:  # fmt: skip
    """Pairs two steps apart, of the locations first to last, unless some step in between makes a detour of at most
    1/32."""
    n = start.size - 1
    arcs = np.arange(start[first], start[last])
    many = np.diff(start)[index[arcs]]
    one = np.repeat(arcs, many)
    two = start[index[one]] + np.arange(one.size) - np.repeat(np.cumsum(many) - many, many)
    pair = near[one] // n * n + index[two]
    new = (pair // n != pair % n) & (near[np.minimum(np.searchsorted(near, pair), near.size - 1)] != pair)
    pair, detour = pair[new], (length[one] + length[two])[new]
    result: IntArray = pair
    if not pair.size:
        return result
    order = np.argsort(pair, kind="stable")
    begins = np.flatnonzero(np.diff(pair[order], prepend=-1))
    different, least = pair[order][begins], np.minimum.reduceat(detour[order], begins)
    direct = _lengths(square, different // n, different % n)
    result = different[32 * least > 33 * direct]
    return result


def _lengths(
    square: tuple[IndexArray, IndexArray, IndexArray], one: npt.NDArray[np.integer], other: npt.NDArray[np.integer]
) -> IntArray:
    """`kernels.centre_distance` of pairs."""
    row, col, size = (part.astype(np.int64) for part in square)
    y, x = 2 * row + size, 2 * col + size
    squared = (x[one] - x[other]) ** 2 + (y[one] - y[other]) ** 2
    length: IntArray = np.sqrt((squared << (2 * kernels.LENGTH_BITS)).astype(np.float64)).astype(np.int64)
    return length


def _rows(pairs: IntArray, n: int) -> tuple[IntArray, IndexArray]:
    """Compressed rows of pairs i n + j in increasing order."""
    start = np.concatenate([[0], np.cumsum(np.bincount(pairs // n, minlength=n))]).astype(np.int64)
    return start, (pairs % n).astype(np.int32)
