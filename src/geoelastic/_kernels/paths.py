# SPDX-License-Identifier: Apache-2.0
"""Shortest paths over integer weights: one resumable search.

The queue is an array of buckets, one per distance modulo its length (Dial 1969). Each push is a new entry of a pool;
an entry whose distance has been improved since is recognised as stale when it is met. A search settles vertices in
order of distance and can be continued, so that a sampler expands only as far as a draw needs.
"""

from typing import Any

import numpy as np

from ._compile import kernel

UNREACHABLE = np.int32(2**31 - 1)

#: Elements of a graph and of what a search needs, up to which a search may be read by Python.
SMALL = 2**21

# Slots of `state`: current distance, entries used, vertices settled, live entries, mass settled.
DISTANCE, ENTRIES, SETTLED, LIVE, MASS = 0, 1, 2, 3, 4


def workspace(vertices: Any, arcs: Any, buckets: Any) -> Any:
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


@kernel(small=SMALL)
def begin(source, dist, head, entry_vertex, entry_next, state):
    """Put the source at distance 0."""
    dist[source] = 0
    entry_vertex[0] = source
    entry_next[0] = -1
    head[0] = 0
    state[DISTANCE], state[ENTRIES], state[SETTLED], state[LIVE], state[MASS] = 0, 1, 0, 1, 0


@kernel(small=SMALL)
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


@kernel
def close_by(sources, first, most, span, few):
    """How many sources from the first on can share a search, at most so many, their numbers less than `span` apart:
    numbers follow the ground. One if they are fewer than `few`, for which a search each is quicker."""
    end = first + 1
    while end < sources.size and end - first < most and abs(sources[end] - sources[first]) < span:
        end += 1
    return end - first if end - first >= few else np.int64(1)


@kernel(small=SMALL)
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


@kernel(small=SMALL)
def clear(dist, head, entry_vertex, state):
    """Make the workspace ready for the next source."""
    if state[LIVE] > 0:
        for slot in range(head.size):
            head[slot] = -1
    for e in range(state[ENTRIES]):
        dist[entry_vertex[e]] = UNREACHABLE


def distances_from_any(start: Any, index: Any, weight: Any, buckets: Any, sources: Any, limit: Any) -> Any:
    """Distances from the nearest of several sources up to `limit`; UNREACHABLE elsewhere."""
    seeds = np.unique(sources)
    space = workspace(start.size - 1, index.size + seeds.size, buckets)
    dist, head, entry_vertex, entry_next, _, state = space
    dist[seeds], entry_vertex[: seeds.size], entry_next[: seeds.size] = 0, seeds, np.arange(-1, seeds.size - 1)
    head[0], state[ENTRIES], state[LIVE] = seeds.size - 1, seeds.size, seeds.size
    expand(start, index, weight, np.zeros(start.size - 1, np.int64), *space, limit, limit, 2**62)
    return dist
