# SPDX-License-Identifier: Apache-2.0
"""Shortest paths over integer weights: one resumable search, and what is read off its settled vertices.

The queue is an array of buckets, one per distance modulo its length (Dial 1969). Each push is a new entry of a pool;
an entry whose distance has been improved since is recognised as stale when it is met. A search settles vertices in
order of distance and can be continued, so that a sampler expands only as far as a draw needs.
"""

import math

import numpy as np
from numba import njit

UNREACHABLE = np.int32(2**31 - 1)

# Bounds of what `shrink_factors` does in one go. A ratio above the first counts as the first, so that repairs end soon;
# a vertex nearer than this part of the ball's radius counts as so near; no scale shrinks by more than e.
ALMOST_ONE = 1 - 2.0**-10
NEAREST = 0.2
MOST = -1.0

# Slots of `state`: current distance, entries used, vertices settled, live entries, mass settled.
DISTANCE, ENTRIES, SETTLED, LIVE, MASS = 0, 1, 2, 3, 4


@njit(cache=True, nogil=True)
def workspace(vertices, arcs, buckets):
    """Arrays of one search: dist, head, entry_vertex, entry_next, order, state. `buckets`: a power of two > every
    weight."""
    return (
        np.full(vertices, UNREACHABLE, np.int32),
        np.full(buckets, -1, np.int32),
        np.empty(arcs + 1, np.int32),
        np.empty(arcs + 1, np.int32),
        np.empty(vertices, np.int32),
        np.zeros(5, np.int64),
    )


@njit(cache=True, nogil=True)
def begin(source, dist, head, entry_vertex, entry_next, state):
    """Put the source at distance 0."""
    dist[source] = 0
    entry_vertex[0] = source
    entry_next[0] = -1
    head[0] = 0
    state[DISTANCE], state[ENTRIES], state[SETTLED], state[LIVE], state[MASS] = 0, 1, 0, 1, 0


@njit(cache=True, nogil=True)
def expand(start, index, weight, mass, dist, head, entry_vertex, entry_next, order, state, limit, horizon, enough):
    """Settle every vertex at distance <= limit, or stop after the distance at which the settled mass reaches
    `enough`.

    Vertices beyond `horizon` are never queued: a bounded search passes horizon = limit. `order` receives the settled
    vertices by distance; `dist` is final for these and an upper bound for the others.
    """
    mask = np.int64(head.size - 1)
    d = state[DISTANCE]
    used = state[ENTRIES]
    settled = state[SETTLED]
    live = state[LIVE]
    total = state[MASS]
    # Indices are made unsigned: for signed ones numba first asks whether they count from the end.
    while live > 0 and d <= limit:
        slot = np.uint64(d & mask)
        if head[slot] < 0:
            if total >= enough:
                break
            d += 1
            continue
        entry = np.uint64(head[slot])
        head[slot] = entry_next[entry]
        live -= 1
        v = np.uint64(entry_vertex[entry])
        if dist[v] != d:
            continue
        order[np.uint64(settled)] = v
        settled += 1
        total += mass[v]
        for a in range(np.uint64(start[v]), np.uint64(start[v + np.uint64(1)])):
            u = np.uint64(index[a])
            through = d + weight[a]
            if through < dist[u] and through <= horizon:
                dist[u] = through
                slot = np.uint64(through & mask)
                entry_vertex[np.uint64(used)] = u
                entry_next[np.uint64(used)] = head[slot]
                head[slot] = used
                used += 1
                live += 1
    state[DISTANCE], state[ENTRIES], state[SETTLED], state[LIVE], state[MASS] = d, used, settled, live, total


@njit(cache=True, nogil=True)
def insert(vertex, distance, dist, head, entry_vertex, entry_next, state):
    """Queue a vertex at a distance not below the current one, as if the source had an edge to it."""
    if distance < dist[vertex]:
        dist[vertex] = distance
        used = state[ENTRIES]
        slot = distance & (head.size - 1)
        entry_vertex[used] = vertex
        entry_next[used] = head[slot]
        head[slot] = used
        state[ENTRIES] += 1
        state[LIVE] += 1


@njit(cache=True, nogil=True)
def clear(dist, head, entry_vertex, state):
    """Make the workspace ready for the next source."""
    if state[LIVE] > 0:
        head[:] = -1
    for e in range(state[ENTRIES]):
        dist[entry_vertex[e]] = UNREACHABLE


@njit(cache=True, nogil=True)
def distances(start, index, weight, buckets, source, limit):
    """Distances from one source up to `limit`; UNREACHABLE elsewhere."""
    dist, head, entry_vertex, entry_next, order, state = workspace(start.size - 1, index.size, buckets)
    mass = np.zeros(start.size - 1, np.int64)
    begin(source, dist, head, entry_vertex, entry_next, state)
    expand(
        start, index, weight, mass, dist, head, entry_vertex, entry_next, order, state, limit, limit, np.int64(2**62)
    )
    return dist


@njit(cache=True, nogil=True)
def distances_from_any(start, index, weight, buckets, sources, limit):
    """Distances from the nearest of several sources up to `limit`; UNREACHABLE elsewhere."""
    dist, head, entry_vertex, entry_next, order, state = workspace(start.size - 1, index.size + sources.size, buckets)
    mass = np.zeros(start.size - 1, np.int64)
    for source in sources:
        insert(source, np.int64(0), dist, head, entry_vertex, entry_next, state)
    expand(
        start, index, weight, mass, dist, head, entry_vertex, entry_next, order, state, limit, limit, np.int64(2**62)
    )
    return dist


@njit(cache=True, nogil=True)
def ratios(start, index, weight, mass, buckets, table, sources, enough):
    """For each source, the least m(B_D) / table[D] over the levels where the table asks for mass, and the largest D
    that has it.

    A search stops once the settled mass is `enough` (from there on, every ratio is at least enough / table[-1]).
    """
    top = table.size - 1
    dist, head, entry_vertex, entry_next, order, state = workspace(start.size - 1, index.size, buckets)
    least = np.empty(sources.size, np.float64)
    level = np.empty(sources.size, np.int32)
    for k in range(sources.size):
        begin(sources[k], dist, head, entry_vertex, entry_next, state)
        expand(start, index, weight, mass, dist, head, entry_vertex, entry_next, order, state, top, top, enough)
        least[k], level[k] = _least_ratio(mass, dist, order, state[SETTLED], state[MASS], table)
        clear(dist, head, entry_vertex, state)
    return least, level


@njit(cache=True, nogil=True)
def _least_ratio(mass, dist, order, settled, total, table):
    """Walk the jumps of m(B_D): just before each jump the ball is as light, for its level, as it gets."""
    inside = np.int64(0)
    at = np.int32(0)
    least = np.inf
    level = np.int32(0)
    for k in range(settled):
        v = order[k]
        d = dist[v]
        if d > at:
            if table[d - 1] > 0:
                ratio = inside / table[d - 1]
                if ratio <= least:
                    least, level = ratio, d - 1
            at = d
        inside += mass[v]
    top = table.size - 1
    if table[top] > 0 and total / table[top] <= least:
        least, level = total / table[top], np.int32(top)
    return least, level


@njit(cache=True, nogil=True)
def shrink_factors(start, index, weight, mass, buckets, table, sources, exponent):
    """For each vertex, the least r(x)^(exponent / rho^2) over the sources x that fall short (r < 1) and whose violating
    ball holds it, rho of the ball's radius away from x.

    Every path from x begins near x, where few other paths pass: shrinking there brings most into this ball for what it
    costs the others. Returns the factors (1 where nothing falls short) and the sources' ratios.
    """
    top = table.size - 1
    dist, head, entry_vertex, entry_next, order, state = workspace(start.size - 1, index.size, buckets)
    move = np.zeros(start.size - 1, np.float64)
    least = np.empty(sources.size, np.float64)
    for k in range(sources.size):
        begin(sources[k], dist, head, entry_vertex, entry_next, state)
        expand(start, index, weight, mass, dist, head, entry_vertex, entry_next, order, state, top, top, table[top])
        least[k], level = _least_ratio(mass, dist, order, state[SETTLED], state[MASS], table)
        if least[k] < 1.0:
            at_radius = exponent * math.log(max(min(least[k], ALMOST_ONE), 1e-9))
            for j in range(state[SETTLED]):
                v = order[j]
                if dist[v] > level + 1:
                    break
                part = max(dist[v] / (level + 1), NEAREST)
                move[v] = min(move[v], max(at_radius / (part * part), MOST))
        clear(dist, head, entry_vertex, state)
    return np.exp(move), least
