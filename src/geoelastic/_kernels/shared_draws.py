# SPDX-License-Identifier: Apache-2.0
"""Places near one another share a search: who joins whom, and is a far vertex within a distance of a neighbour?"""

from typing import Any

import numpy as np

from ._compile import kernel
from .paths import SETTLED, SMALL, UNREACHABLE, begin, clear, expand, workspace


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
