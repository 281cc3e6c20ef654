# SPDX-License-Identifier: Apache-2.0
"""Normalisers S(x) from what is near x, for many sources at once.

Sources that lie close together, a group G, share a search. Let r(z) be the distance of z from the nearest of them; one
search finds it, and the order in which it settles is the order of rows. Row z has a lane for each source x, which holds
d(x, z) - r(z): never negative, at most the width of the group, and so in sixteen bits however far the search goes. An
edge from v to z adds its length + r(v) - r(z), which is not negative either. Sweeps run outwards, where a row takes
from rows before it, and inwards, where it takes from rows after it (Yen 1970), until none changes: then no lane of any
row can be improved, which makes it the distance. What is close to the group is settled first: hardly anything farther
out has to be looked at twice.
"""

import numpy as np

from ._compile import kernel
from .paths import LIVE, MASS, SETTLED, UNREACHABLE, clear, expand, insert, workspace

#: Sources that share a search.
SIDE_BY_SIDE = 128
#: Lanes hold less than this; it means at least this much.
FULL = 2**16 - 1
#: Rows nearer than this many units (two levels) are settled before the others.
CORE = 2**14
#: The tail is looked at so many units (half a level) at a time, until what is left is below one part in LEFT of it.
STRETCH, LEFT = 2**12, 32


def _totals_room(start, index, weight, buckets, measure, table, bound, sources, tail):
    n = start.size - 1
    return (
        workspace(n, index.size + SIDE_BY_SIDE, buckets),
        np.full(n, -1, np.int32),
        np.empty(n, np.int32),
        (np.empty(n + 1, np.int32), *np.empty((2, n), np.int32)),
        (np.empty(index.size, np.uint32), np.empty(index.size, np.uint16)),
        (*np.empty((2, n), np.uint8), np.empty(SIDE_BY_SIDE, np.uint16), np.empty(n * SIDE_BY_SIDE, np.uint16)),
        table[: bound + 1] - table[bound],
        int(measure.sum()),
        *np.zeros((3, sources.size)),
    )


@kernel(room=_totals_room)
def near_totals(
    start, index, weight, buckets, measure, table, bound, sources, tail,
    space, number, away, ends, edges, sweep, shifted, total, near, within, most,
):  # fmt: skip
    """For each source x, up to d < `bound`: N(x) = sum of measure (w(d) - w(bound)), the measure within; and an upper
    bound of the sum of measure w(max(d, bound)) over all that x reaches, the same for each source of a group (0 unless
    `tail`).

    `table` holds w up to some distance beyond `bound`; w never increases. Sources that are close together should follow
    one another, and those of one component. All sums are of at most n terms, which are not negative, in double
    precision: relative errors are below (n + 3) 2^-53.
    """
    first, size = np.int64(0), np.int64(SIDE_BY_SIDE)
    while first < sources.size:
        size = min(size, sources.size - first)
        group = sources[first : first + size]
        region, far = _region(start, index, weight, measure, table, bound, group, tail, total, space, away)
        for k in range(region.size):
            number[region[k]] = k
        rows, fitting = _rows(start, index, weight, group, region, away, number, ends, edges, sweep, bound)
        for k in range(region.size):
            number[region[k]] = -1
        if fitting < size:
            size = fitting
            continue
        _add_up(rows, away, measure, region, shifted, first, size, near, within)
        for k in range(first, first + size):
            most[k] = far
        first += size
        size = np.int64(SIDE_BY_SIDE)
    return near, within, most


@kernel
def _region(start, index, weight, measure, table, bound, group, tail, total, space, away):
    """The vertices nearer than `bound` to the group, by distance, and the bound of the tail; `away` are their
    distances."""
    dist, head, entry_vertex, entry_next, order, state = space
    for slot in range(state.size):
        state[slot] = 0
    for k in range(group.size):
        insert(np.int64(group[k]), np.int64(0), dist, head, entry_vertex, entry_next, state)
    limit = np.int64(bound - 1)
    horizon = np.int64(UNREACHABLE - 1) if tail else limit
    expand(start, index, weight, measure, *space, limit, horizon, np.int64(2**62))
    region = order[: state[SETTLED]].copy()
    for k in range(region.size):
        away[k] = dist[region[k]]
    far = 0.0
    if tail:
        far = table[bound] * state[MASS]
        while state[LIVE] > 0 and table[limit + 1] * (total - state[MASS]) * LEFT > far and limit < table.size - 2:
            settled = state[SETTLED]
            limit = min(limit + STRETCH, np.int64(table.size - 2))
            expand(start, index, weight, measure, *space, limit, horizon, np.int64(2**62))
            for k in range(settled, state[SETTLED]):
                v = order[k]
                far += table[dist[v]] * measure[v]
        if state[LIVE] > 0:
            far += table[limit + 1] * (total - state[MASS])
    clear(dist, head, entry_vertex, state)
    return region, far


@kernel
def _rows(start, index, weight, group, region, away, number, ends, edges, sweep, bound):
    """d(x, z) - r(z) for every z of the region, in rows of a lane per source x; lanes left over repeat the last. And
    how many of the group, from its first on, may share a search: if not all, rows are not finished."""
    begin, before, after = ends
    other, cost = edges
    # Rows that may gain from rows before them, or after them; one row; all rows, in memory that is used again: new
    # pages for every group cost time.
    outward, inward, row, rows = sweep
    _edges_within(start, index, weight, region, away, number, begin, before, after, other, cost)
    for k in range(region.size * SIDE_BY_SIDE):
        rows[k] = FULL
    for lane in range(SIDE_BY_SIDE):
        rows[number[group[min(lane, group.size - 1)]] * SIDE_BY_SIDE + lane] = 0
    core = 0
    for k in range(region.size):
        outward[k] = inward[k] = 1
        core += away[k] < CORE
    _settle(core, begin, before, after, other, cost, rows, outward, inward, row)
    fitting = _fitting(rows, number, group) if bound > FULL else group.size
    if fitting == group.size:
        _settle(region.size, begin, before, after, other, cost, rows, outward, inward, row)
    return rows, fitting


@kernel
def _fitting(rows, number, group):
    """How many sources, from the first on, are less than a full lane apart, each from each: then every lane has room
    for its distance, as d(x, z) - r(z) is at most the way from x to the source that is nearest to z. Their rows tell,
    for r is 0 there, and before all rows are settled they hold no less than the distance."""
    for one in range(1, group.size):
        at = number[group[one]] * SIDE_BY_SIDE
        for lane in range(one):
            if rows[at + lane] >= FULL:
                return one
    return group.size


@kernel
def _edges_within(start, index, weight, region, away, number, begin, before, after, other, cost):
    """The edges between vertices of the region as rows see them: those of row k to rows before it are begin[k] to
    before[k], those to rows after it after[k] to begin[k + 1]; the other end, and what it costs to come from there."""
    begin[0] = 0
    for k in range(region.size):
        begin[k + 1] = begin[k] + start[region[k] + 1] - start[region[k]]
    for k in range(np.uint64(region.size)):
        v = np.uint64(region[k])
        low, high = np.uint64(begin[k]), np.uint64(begin[k + np.uint64(1)])
        for a in range(np.uint64(start[v]), np.uint64(start[v + np.uint64(1)])):
            j = number[np.uint64(index[a])]
            if j >= 0:
                at = low
                if np.uint64(j) < k:
                    low += np.uint64(1)
                else:
                    high -= np.uint64(1)
                    at = high
                other[at] = j
                # what costs too much brings nothing, but changes must still be told to the other end
                cost[at] = min(np.int64(weight[a]) + away[np.uint64(j)] - away[k], FULL)
        before[k], after[k] = low, high


@kernel
def _settle(count, begin, before, after, other, cost, rows, outward, inward, row):
    """Sweep over the first `count` rows, outwards and inwards in turn, until none of them changes."""
    changed = True
    while changed:
        changed = False
        for step in range(2 * count):
            out = step < count
            k = np.uint64(step if out else 2 * count - 1 - step)
            due = outward if out else inward
            if due[k]:
                due[k] = 0
                low, high = (begin[k], before[k]) if out else (after[k], begin[k + np.uint64(1)])
                if _pull(k, low, high, other, cost, rows, row):
                    changed = True
                    for a in range(np.uint64(begin[k]), np.uint64(before[k])):
                        inward[np.uint64(other[a])] = 1
                    for a in range(np.uint64(after[k]), np.uint64(begin[k + np.uint64(1)])):
                        outward[np.uint64(other[a])] = 1


@kernel
def _pull(k, begin, end, other, cost, rows, row):
    """Improve row k by the rows at the other ends of some edges, two at a time. Returns whether any lane changed."""
    at = k * np.uint64(SIDE_BY_SIDE)
    for lane in range(np.uint64(SIDE_BY_SIDE)):
        row[lane] = rows[at + lane]
    a, end = np.uint64(begin), np.uint64(end)
    while a + np.uint64(1) < end:
        p, to_p = np.uint64(other[a]) * np.uint64(SIDE_BY_SIDE), cost[a]
        q, to_q = np.uint64(other[a + np.uint64(1)]) * np.uint64(SIDE_BY_SIDE), cost[a + np.uint64(1)]
        room_p, room_q = np.uint16(FULL - to_p), np.uint16(FULL - to_q)  # sums end at FULL: one instruction of its own
        for lane in range(np.uint64(SIDE_BY_SIDE)):
            by_p = np.uint16(min(rows[p + lane], room_p) + to_p)
            by_q = np.uint16(min(rows[q + lane], room_q) + to_q)
            row[lane] = min(row[lane], min(by_p, by_q))
        a += np.uint64(2)
    if a < end:
        p, to_p = np.uint64(other[a]) * np.uint64(SIDE_BY_SIDE), cost[a]
        room_p = np.uint16(FULL - to_p)
        for lane in range(np.uint64(SIDE_BY_SIDE)):
            row[lane] = min(row[lane], np.uint16(min(rows[p + lane], room_p) + to_p))
    changed = np.uint16(0)
    for lane in range(np.uint64(SIDE_BY_SIDE)):
        changed |= row[lane] ^ rows[at + lane]
        rows[at + lane] = row[lane]
    return changed != 0


@kernel
def _add_up(rows, away, measure, region, shifted, first, size, near, within):
    """Sum measure x shifted weight, and measure, over all rows of the region below the bound, for each lane."""
    bound = np.int64(shifted.size - 1)
    for k in range(np.uint64(region.size)):
        amount = float(measure[region[k]])
        if amount > 0:
            at = k * np.uint64(SIDE_BY_SIDE)
            r = np.int64(away[k])
            for lane in range(np.uint64(size)):
                d = min(r + np.int64(rows[at + lane]), bound)
                near[np.uint64(first) + lane] += amount * shifted[np.uint64(d)]
                within[np.uint64(first) + lane] += amount if d < bound else 0.0
