# SPDX-License-Identifier: Apache-2.0
"""Integer weights along a search: totals by shell, the location at an offset, and sums for expected errors.

The weight of a location at distance D is weight[D mod period] x 2^-(D div period); all locations with the same D div
period form a shell.
"""

import math
from typing import Any

import numpy as np

from ._compile import kernel
from .paths import ENTRIES, LIVE, SETTLED, SMALL, UNREACHABLE, begin, clear, expand, workspace


@kernel(small=SMALL)
def add_to_shells(dist, order, first, last, measure, weight, by_shell, measure_by_shell):
    """Add the settled locations order[first:last] to the totals of their shells, weighted and plain."""
    period = weight.size
    for k in range(first, last):
        v = order[k]
        shell = dist[v] // period
        by_shell[shell] += measure[v] * weight[dist[v] - shell * period]
        measure_by_shell[shell] += measure[v]


@kernel
def _expand_shells(
    start, index, arc, unit, dist, head, entry_vertex, entry_next, order, state, frontier,
    counted, measure, weight, by_shell, measure_by_shell,
):  # fmt: skip
    """Settle all up to the frontier and add what is new, all but the first `counted`, to the totals of its shells."""
    far, all_of_it = np.int64(UNREACHABLE - 1), np.int64(2**62)
    expand(start, index, arc, unit, dist, head, entry_vertex, entry_next, order, state, frontier, far, all_of_it)
    add_to_shells(dist, order, counted, state[SETTLED], measure, weight, by_shell, measure_by_shell)


@kernel(small=SMALL)
def to_first_frontier(
    start, index, arc, unit, dist, head, entry_vertex, entry_next, order, state,
    measure, weight, by_shell, measure_by_shell, total, step, shells,
):  # fmt: skip
    """Expand by whole steps until four times the rest at its largest is at most what is settled, or nothing is left.

    Both sides are rounded up to whole shells, so that they compare in 64 bits. Returns the frontier.
    """
    frontier = np.int64(-1)
    counted = np.int64(0)
    while True:
        frontier += step
        _expand_shells(start, index, arc, unit, dist, head, entry_vertex, entry_next, order, state, frontier,
                       counted, measure, weight, by_shell, measure_by_shell)  # fmt: skip
        counted = state[SETTLED]
        if state[LIVE] == 0:
            return frontier
        near = np.int64(0)
        rest = np.int64(total)
        for k in range(measure_by_shell.size):
            rest -= measure_by_shell[k]
            if k <= shells:
                near += measure_by_shell[k] << (shells - k)
        beyond = (frontier + 1) // weight.size
        if beyond > shells or rest << (shells - beyond) <= near >> 2:
            return frontier


@kernel(small=SMALL)
def advance_among_blocks(
    start, index, arc, unit, dist, head, entry_vertex, entry_next, order, state,
    measure, weight, by_shell, measure_by_shell, block, at, box, slope, rim, left, seen, counted,
    frontier, step, last, times,
):  # fmt: skip
    """Expand by a whole step, and by more until `times` the rest is at most what is settled, nothing is left, or the
    next frontier would be beyond `last` or the shells there are. Returns the frontier and a bound of the rest; or,
    where the next step settles a vertex of the `rim`, beyond which there is more, the frontier before it and -1.

    `left`: what is not settled of each block; `seen`: (least, largest) y and x of all that was touched; `counted`: how
    many vertices and entries these know of. What is in a block is as far from the frontier as its box is from what was
    seen, at `slope`. The bound is in units of 2^-((frontier + 1) div period), each block rounded up.
    """
    period = weight.size
    while True:
        frontier += step
        _expand_shells(start, index, arc, unit, dist, head, entry_vertex, entry_next, order, state, frontier,
                       counted[0], measure, weight, by_shell, measure_by_shell)  # fmt: skip
        for k in range(counted[0], state[SETTLED]):
            if rim[order[k]]:
                return frontier - step, np.int64(-1)
        for k in range(counted[0], state[SETTLED]):
            left[block[order[k]]] -= measure[order[k]]
        for k in range(counted[1], state[ENTRIES]):
            for axis in range(2):
                seen[axis, 0] = min(seen[axis, 0], at[axis, entry_vertex[k]])
                seen[axis, 1] = max(seen[axis, 1], at[axis, entry_vertex[k]])
        counted[0], counted[1] = state[SETTLED], state[ENTRIES]
        if state[LIVE] == 0:
            return frontier, np.int64(0)
        scale = (frontier + 1) // period
        rest = np.int64(0)
        for b in range(left.size):
            if left[b] > 0:
                up = max(seen[0, 0] - box[b, 1], box[b, 0] - seen[0, 1], 0.0)
                across = max(seen[1, 0] - box[b, 3], box[b, 2] - seen[1, 1], 0.0)
                away = math.floor(min(slope * math.hypot(up, across) * (1 - 2.0**-40), float(UNREACHABLE)))
                shell = (frontier + 1 + away) // period
                heavy = left[b] * weight[frontier + 1 + away - shell * period]
                rest -= -heavy >> min(shell - scale, 62)
        known = 0.0
        for shell in range(scale + 1):
            known += by_shell[shell] * 2.0 ** (scale - shell)
        # this only decides where to stop: the line and its bound are whole numbers
        if times * rest <= known or frontier + step > last or (frontier + step) // period >= by_shell.size:
            return frontier, rest


@kernel
def _sort(numbers, first, last):
    """Sort a part in place (Shell 1959): numpy's own sort takes two seconds to compile."""
    gap = 1
    while 3 * gap < last - first:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(first + gap, last):
            number = numbers[k]
            while k >= first + gap and numbers[k - gap] > number:
                numbers[k] = numbers[k - gap]
                k -= gap
            numbers[k] = number
        gap //= 3


@kernel(small=SMALL)
def find_in_shell(dist, order, settled, measure, weight, shell, offset):
    """The location that holds `offset` when those of a shell are laid end to end in the order (distance, number).

    `order` is by distance already; only the locations of the one distance that holds the offset are put in order, in
    place.
    """
    period = weight.size
    low, high = 0, settled
    while low < high:
        middle = (low + high) >> 1
        if dist[order[middle]] < shell * period:
            low = middle + 1
        else:
            high = middle
    k = low
    while k < settled:
        d = dist[order[k]]
        unit = weight[d - shell * period]
        end = k
        group = np.int64(0)
        while end < settled and dist[order[end]] == d:
            group += measure[order[end]] * unit
            end += 1
        if offset < group:
            _sort(order, k, end)
            for at in range(k, end):
                v = order[at]
                if offset < measure[v] * unit:
                    return v
                offset -= measure[v] * unit
        offset -= group
        k = end
    return np.int32(-1)


@kernel
def mean_distance(row_a, col_a, size_a, row_b, col_b, size_b):
    """Mean distance, in cells, between a cell drawn evenly from one square and one drawn evenly from another.

    Exact for squares close together: the sum over all differences of rows and columns, each as often as it occurs.
    From eight sizes apart, the distance of the centres plus the variance across the line over twice the distance
    (relative error below 1e-5).
    """
    if size_a == 1 and size_b == 1:
        return math.hypot(float(row_a - row_b), float(col_a - col_b))
    dy = (row_a + 0.5 * size_a) - (row_b + 0.5 * size_b)
    dx = (col_a + 0.5 * size_a) - (col_b + 0.5 * size_b)
    apart = math.hypot(dy, dx)
    if apart >= 8.0 * max(size_a, size_b):
        return apart + (size_a * size_a + size_b * size_b - 2.0) / (24.0 * apart)
    total = 0.0
    for i in range(1 - size_b, size_a):
        rows = min(size_a, i + size_b) - max(0, i)
        y = float(row_a - row_b + i)
        for j in range(1 - size_b, size_a):
            cols = min(size_a, j + size_b) - max(0, j)
            x = float(col_a - col_b + j)
            total += rows * cols * math.sqrt(x * x + y * y)
    return total / (float(size_a) * size_a * size_b * size_b)


@kernel(small=SMALL)
def mean_distances(source, row, col, size):
    """`mean_distance` in cells from one location to each."""
    out = np.empty(row.size, np.float64)
    for v in range(row.size):
        out[v] = mean_distance(row[source], col[source], size[source], row[v], col[v], size[v])
    return out


def _cover_room(start, index, weight, buckets, sources, own, radius):
    place = np.full(start.size - 1, -1, np.int32)
    place[sources] = np.arange(sources.size)
    return (
        workspace(start.size - 1, index.size, buckets),
        np.zeros(start.size - 1, np.int64),
        place,
        np.full(sources.size, -1, np.int32),
        np.zeros(sources.size, np.int32),
    )


@kernel(small=SMALL, room=_cover_room)
def cover(start, index, weight, buckets, sources, own, radius, space, mass, place, centre, away):
    """The first centre within `radius` of each source, and how far it is: (its place among the sources, distance).

    In the given order, a source that no earlier centre has taken becomes a centre, which takes all that is near it and
    free. The first `own` sources are centres in any case.
    """
    dist, head, entry_vertex, entry_next, order, state = space
    for k in range(sources.size):
        if centre[k] >= 0:
            continue
        begin(np.int64(sources[k]), dist, head, entry_vertex, entry_next, state)
        expand(start, index, weight, mass, *space, radius, radius, np.int64(2**62))
        for j in range(state[SETTLED]):
            member = place[order[j]]
            if member == k or (member >= own and centre[member] < 0):
                centre[member] = k
                away[member] = dist[order[j]]
        clear(dist, head, entry_vertex, state)
    return centre, away


def within_workspace(vertices: Any, arcs: Any, buckets: Any) -> Any:
    """Arrays of `within`: distance from the target, heads of buckets, entries. `buckets`: more than any call's span."""
    return (
        np.full(vertices, UNREACHABLE, np.int32),
        np.full(buckets, -1, np.int32),
        np.empty(arcs + 1, np.int32),
        np.empty(arcs + 1, np.int32),
    )


@kernel
def within(start, index, weight, near, frontier, away, x, target, most, dist, head, entry_vertex, entry_next):
    """Is the distance between x and `target` at most `most`?

    `near` are distances from a centre, which is `away` from x, exact up to `frontier`. So near - away, with what lies
    beyond the frontier just beyond it, is a lower bound of the distance to x that no edge changes by more than its
    weight: a search from the target in the order of (distance so far + bound) meets only what is near the way to x
    (Hart, Nilsson and Raphael 1968).
    """
    if target == x:
        return most >= 0
    far = frontier + 1
    floor = min(np.int64(near[target]), far) - away
    span = most - floor
    if span < 0:
        return False
    base = away + floor
    dist[target] = 0
    entry_vertex[0], entry_next[0] = target, -1
    head[0] = 0
    used, live, f, top = np.int64(1), 1, np.int64(0), np.int64(0)
    found = False
    while live > 0 and not found:
        if head[np.uint64(f)] < 0:
            f += 1
            continue
        entry = np.uint64(head[np.uint64(f)])
        head[np.uint64(f)] = entry_next[entry]
        live -= 1
        v = np.uint64(entry_vertex[entry])
        g = np.int64(dist[v])
        if g + min(np.int64(near[v]), far) - base != f:
            continue
        for a in range(np.uint64(start[v]), np.uint64(start[v + np.uint64(1)])):
            u = np.uint64(index[a])
            through = g + weight[a]
            if through < dist[u]:
                slot = through + min(np.int64(near[u]), far) - base
                if slot <= span:
                    found |= index[a] == x and through <= most
                    dist[u] = through
                    entry_vertex[np.uint64(used)] = index[a]
                    entry_next[np.uint64(used)] = head[np.uint64(slot)]
                    head[np.uint64(slot)] = used
                    used += 1
                    live += 1
                    top = max(top, slot)
    for slot in range(f, top + 1):
        head[slot] = -1
    for e in range(used):
        dist[entry_vertex[e]] = UNREACHABLE
    return found
