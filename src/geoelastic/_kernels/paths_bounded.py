# SPDX-License-Identifier: Apache-2.0
"""Shortest paths up to a limit from many sources that lie close together, all at once.

The vertices that any source reaches are numbered by their distance from the nearest one. Each has a row of distances, a
lane per source, in the narrowest whole numbers that hold the limit, so that one instruction serves many lanes. A pull
makes a row the least of its neighbours' rows, each plus its edge. Sweeps, inwards and outwards in turn, pull every row
beside one that has changed, until none changes: then no lane of any row can be improved, which makes it the distance.
"""

from typing import Any

import numpy as np

from ._compile import kernel
from .paths import SETTLED, clear, expand, insert, workspace

#: Sources that share a search. The rows of a usual region then just fit the second level of a processor's memory.
TOGETHER = 128


def lane_kind(far: int) -> Any:
    """The narrowest type for the distances of a shared search below `far`."""
    return np.uint16 if 2 * far < 2**16 else np.uint32


def bounded_workspace(vertices: Any, arcs: Any, buckets: Any, kind: Any) -> Any:
    """Arrays for `bounded_paths`: those of a search, which also serve one alone; each vertex's number in the region; no
    mass anywhere; edges by number: first, other end, length; which rows are due; one row."""
    return (
        workspace(vertices, arcs + TOGETHER, buckets),
        np.full(vertices, -1, np.int32),
        np.zeros(vertices, np.int64),
        (np.empty(vertices + 1, np.int32), np.empty(arcs, np.uint32), np.empty(arcs, kind)),
        np.empty(vertices, np.uint8),
        np.empty(TOGETHER, kind),
    )


@kernel
def bounded_paths(start, index, weight, sources, far, kind, space, number, nothing, edges, due, row):
    """Distances below `far` from at most TOGETHER sources: the vertices met, and a row of TOGETHER lanes for each.

    A lane that does not arrive below `far` has `far`; lanes left over repeat the last source. `kind` is the type of the
    rows, such as np.uint16, which has to hold twice `far`.
    """
    region = _region(start, index, weight, sources, far, space, nothing)
    for k in range(region.size):
        number[region[k]], due[k] = k, 0
    first, other, length = edges
    _edges_within(start, index, weight, region, number, far, first, other, length)
    rows = np.empty(region.size * TOGETHER, kind)
    for k in range(rows.size):
        rows[k] = far
    for lane in range(TOGETHER):
        k = number[sources[min(lane, sources.size - 1)]]
        rows[k * TOGETHER + lane] = 0
        for a in range(first[k], first[k + 1]):
            due[other[a]] = 1
    inwards = True
    changed = True
    while changed:
        changed = False
        for step in range(region.size):
            k = np.uint64(region.size - 1 - step if inwards else step)
            if due[k]:
                due[k] = 0
                if _pull(k, first, other, length, rows, row, kind):
                    changed = True
                    for a in range(np.uint64(first[k]), np.uint64(first[k + np.uint64(1)])):
                        due[np.uint64(other[a])] = 1
        inwards = not inwards
    for k in range(region.size):
        number[region[k]] = -1
    return region, rows


@kernel
def _region(start, index, weight, sources, far, space, nothing):
    """The vertices nearer than `far` to some source, by distance from the nearest."""
    dist, head, entry_vertex, entry_next, order, state = space
    for slot in range(state.size):
        state[slot] = 0
    for k in range(sources.size):
        insert(np.int64(sources[k]), np.int64(0), dist, head, entry_vertex, entry_next, state)
    limit = far - 1
    expand(start, index, weight, nothing, *space, limit, limit, np.int64(2**62))
    region = order[: state[SETTLED]].copy()
    clear(dist, head, entry_vertex, state)
    return region


@kernel
def _edges_within(start, index, weight, region, number, far, first, other, length):
    """The edges shorter than `far` between vertices of the region, by number: first, other end, length."""
    used = np.uint64(0)
    for k in range(region.size):
        first[k] = used
        v = np.uint64(region[k])
        for a in range(np.uint64(start[v]), np.uint64(start[v + np.uint64(1)])):
            u = number[np.uint64(index[a])]
            if u >= 0 and weight[a] < far:
                other[used], length[used] = u, weight[a]
                used += np.uint64(1)
    first[region.size] = used


@kernel
def _pull(k, first, other, length, rows, row, kind):
    """Improve row k by its neighbours' rows, four at a time. Returns whether any lane changed."""
    at = k * np.uint64(TOGETHER)
    for lane in range(np.uint64(TOGETHER)):
        row[lane] = rows[at + lane]
    a, end = np.uint64(first[k]), np.uint64(first[k + np.uint64(1)])
    while a + np.uint64(3) < end:
        p, to_p = np.uint64(other[a]) * np.uint64(TOGETHER), length[a]
        q, to_q = np.uint64(other[a + np.uint64(1)]) * np.uint64(TOGETHER), length[a + np.uint64(1)]
        r, to_r = np.uint64(other[a + np.uint64(2)]) * np.uint64(TOGETHER), length[a + np.uint64(2)]
        s, to_s = np.uint64(other[a + np.uint64(3)]) * np.uint64(TOGETHER), length[a + np.uint64(3)]
        for lane in range(np.uint64(TOGETHER)):
            near_pq = min(kind(rows[p + lane] + to_p), kind(rows[q + lane] + to_q))
            near_rs = min(kind(rows[r + lane] + to_r), kind(rows[s + lane] + to_s))
            row[lane] = min(row[lane], min(near_pq, near_rs))
        a += np.uint64(4)
    while a < end:
        p, to_p = np.uint64(other[a]) * np.uint64(TOGETHER), length[a]
        for lane in range(np.uint64(TOGETHER)):
            row[lane] = min(row[lane], kind(rows[p + lane] + to_p))
        a += np.uint64(1)
    changed = kind(0)
    for lane in range(np.uint64(TOGETHER)):
        changed |= row[lane] ^ rows[at + lane]
        rows[at + lane] = row[lane]
    return changed != 0
