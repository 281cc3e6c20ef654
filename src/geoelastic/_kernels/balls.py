# SPDX-License-Identifier: Apache-2.0
"""How much crowd the balls of many sources hold, and how to let those that fall short hold more.

Sources that lie close together share a search (see `paths_bounded`); the rest have one each. Either way a ball is the
list of its vertices by distance, and what is read off it does not depend on how it was found.
"""

import math
from typing import Any

import numpy as np

from ._compile import kernel
from .paths import SETTLED, begin, clear, close_by, expand
from .paths_bounded import TOGETHER, bounded_paths, bounded_workspace

#: When sources share a search: see `close_by`.
CLOSE, FEW = 8 * TOGETHER, 16
#: Rows are turned into columns by so many lanes at a time: the part of a row that the nearest memory takes at once.
STRIP = 16

# Bounds of what `shrink_factors` does in one go. A ratio above the first counts as the first, so that repairs end soon;
# a vertex nearer than this part of the ball's radius counts as so near; no scale shrinks by more than e.
ALMOST_ONE = 1 - 2.0**-10
NEAREST = 0.2
MOST = -1.0


def ratios(start: Any, index: Any, weight: Any, mass: Any, buckets: Any, table: Any, sources: Any, kind: Any) -> Any:
    """For each source, the least m(B_D) / table[D] over the levels where the table asks for mass. `kind`: see
    `lane_kind`."""
    return balls(start, index, weight, mass, buckets, table, sources, 2**62, 0.0, kind)[0]


def shrink_factors(
    start: Any, index: Any, weight: Any, mass: Any, buckets: Any, table: Any, sources: Any, exponent: Any, kind: Any
) -> Any:
    """For each vertex, the least r(x)^(exponent / rho^2) over the sources x that fall short (r < 1) and whose violating
    ball holds it, rho of the ball's radius away from x.

    Every path from x begins near x, where few other paths pass: shrinking there brings most into this ball for what it
    costs the others. Returns the factors (1 where nothing falls short) and which sources fall short.
    """
    least, move = balls(start, index, weight, mass, buckets, table, sources, int(table[-1]), exponent, kind)
    return _exponentials(move), least < 1.0


def _exponentials(values):
    """e^value of each: the C library's, which unlike numpy's does not depend on the processor."""
    out = np.ones(values.size, np.float64)
    moved = np.flatnonzero(values)
    out[moved] = [math.exp(value) for value in values[moved].tolist()]
    return out


def _balls_room(start, index, weight, mass, buckets, table, sources, enough, exponent, kind):
    n, digit = start.size - 1, max((int(table.size - 1).bit_length() + 1) // 2, 1)  # two digits are the last level
    return (
        *bounded_workspace(n, index.size, buckets, kind),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n + 1, np.int32),
        np.empty((1 << digit) + 1, np.uint32),
        np.empty((1 << digit) + 1, np.uint32),
        digit,
        np.empty(sources.size, np.float64),
        np.zeros(n, np.float64),
    )


@kernel(room=_balls_room)
def balls(
    start, index, weight, mass, buckets, table, sources, enough, exponent, kind,
    space, number, nothing, edges, due, row, near, away, some, low, high, digit, least, move,
):  # fmt: skip
    """Least ratios of all sources, and the logarithms of the factors by which vertices are to shrink.

    A search alone stops once its mass is `enough`: from there on, every ratio is at least enough / table[-1].
    """
    top = np.int64(table.size - 1)
    first = np.int64(0)
    while first < sources.size:
        many = close_by(sources, first, TOGETHER, CLOSE, FEW)
        if many == 1:
            count = _alone(start, index, weight, mass, np.int64(sources[first]), top, enough, space, near, away)
            least[first] = _look(mass, near, away, count, table, exponent, move)
        else:
            group = sources[first : first + many]
            region, rows = bounded_paths(
                start, index, weight, group, top + 1, kind, space, number, nothing, edges, due, row
            )
            columns = _columns(rows, region.size, kind)
            for lane in range(many):
                distance = columns[lane * region.size : (lane + 1) * region.size]
                count = _by_distance(region, distance, top, np.uint64(digit), some, low, high, near, away)
                least[first + lane] = _look(mass, near, away, count, table, exponent, move)
        first += many
    return least, move


@kernel
def _alone(start, index, weight, mass, source, top, enough, space, near, away):
    """Fill `near` and `away` with the vertices of one ball by distance, and their distances. Returns their number."""
    dist, head, entry_vertex, entry_next, order, state = space
    begin(source, dist, head, entry_vertex, entry_next, state)
    expand(start, index, weight, mass, *space, top, top, enough)
    count = state[SETTLED]
    for k in range(count):
        near[k], away[k] = order[k], dist[order[k]]
    clear(dist, head, entry_vertex, state)
    return count


@kernel
def _columns(rows, many, kind):
    """Rows of TOGETHER lanes, end to end, as one row a lane, end to end."""
    columns = np.empty(rows.size, kind)
    for left in range(0, TOGETHER, STRIP):
        for k in range(np.uint64(many)):
            at = k * np.uint64(TOGETHER) + np.uint64(left)
            for lane in range(np.uint64(STRIP)):
                columns[(np.uint64(left) + lane) * np.uint64(many) + k] = rows[at + lane]
    return columns


@kernel
def _by_distance(region, distance, top, digit, some, low, high, near, away):
    """Fill `near` and `away` with the region's vertices up to `top` by distance. Returns their number.

    Sorted by two digits of so many bits, the lower one first; `some`, `low` and `high` are room for what is in between.
    """
    mask = np.uint64((1 << digit) - 1)
    for k in range(low.size):
        low[k] = high[k] = 0
    count = np.uint64(0)
    for k in range(np.uint64(region.size)):
        some[count] = k
        count += np.uint64(distance[k] <= top)
    for j in range(count):
        d = np.uint64(distance[np.uint64(some[j])])
        low[(d & mask) + np.uint64(1)] += np.uint32(1)
        high[(d >> digit) + np.uint64(1)] += np.uint32(1)
    for k in range(mask):
        low[k + np.uint64(1)] += low[k]
        high[k + np.uint64(1)] += high[k]
    for j in range(count):
        k = np.uint64(some[j])
        digits = np.uint64(distance[k]) & mask
        away[np.uint64(low[digits])] = k
        low[digits] += np.uint32(1)
    for j in range(count):
        some[j] = away[j]
    for j in range(count):
        k = np.uint64(some[j])
        d = np.uint64(distance[k])
        place = np.uint64(high[d >> digit])
        near[place], away[place] = region[k], d
        high[d >> digit] += np.uint32(1)
    return np.int64(count)


@kernel
def _look(mass, near, away, count, table, exponent, move):
    """The least ratio of one ball; if it falls short, `move`, the logarithm of a factor, is lowered in it."""
    # the jumps of m(B_D): just before each the ball is as light, for its level, as it gets
    inside = np.int64(0)
    at = np.int64(0)
    least = np.inf
    level = np.int64(0)
    for k in range(count):
        d = np.int64(away[k])
        if d > at:
            if table[d - 1] > 0:
                ratio = inside / table[d - 1]
                if ratio <= least:
                    least, level = ratio, d - 1
            at = d
        inside += mass[near[k]]
    top = table.size - 1
    if table[top] > 0 and inside / table[top] <= least:
        least, level = inside / table[top], top
    if least < 1.0 and exponent > 0.0:
        at_radius = exponent * math.log(max(min(least, ALMOST_ONE), 1e-9))
        for k in range(count):
            if away[k] > level + 1:
                break
            part = max(away[k] / (level + 1), NEAREST)
            move[near[k]] = min(move[near[k]], max(at_radius / (part * part), MOST))
    return least
