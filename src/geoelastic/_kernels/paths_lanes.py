# SPDX-License-Identifier: Apache-2.0
"""Shortest paths from several sources at once, a lane each, for sources that lie close together.

The distances of a vertex in all lanes are one row, and one look at an edge relaxes all of them: it waits for memory
once and then costs the processor little more than a single one. The price is that a vertex may have to be looked at
again, when one lane improves after it was left. That is rare if vertices are taken by the *largest* distance in their
row, for then all lanes have arrived; where some have not, by the smallest and an allowance. The order decides only how
much work is done: in the end no lane of any row can be improved, which makes it the distance.
"""

from typing import Any

import numpy as np

from ._compile import kernel

LANES = 64
#: In an array of lanes: not reached so far. Far from overflow when a weight is added.
FAR = np.int32(2**29)

#: The queue has a bucket for each 2^9 units (a sixteenth of a level) of distance, modulo their number.
_SHIFT = 9
_BUCKETS = 4096

# Slots of `state`: the limit so far, vertices in buckets, vertices reached.
_LIMIT, _QUEUED, REACHED = 0, 1, 2

# Values of `bucket` for a vertex that is in none: never met, looked at, or beyond the limit (in a list of its own).
_UNSEEN, _OUT, _BEYOND = np.int32(-2), np.int32(-1), np.int32(2**30)


def lane_workspace(vertices: Any) -> Any:
    """Arrays of one search: dist (a row of lanes a vertex, end to end), reached, bucket, after, before, head, state."""
    return (
        np.full(vertices * LANES, FAR, np.int32),
        np.empty(vertices, np.int32),
        np.full(vertices, _UNSEEN, np.int32),
        np.empty(vertices, np.int32),
        np.empty(vertices, np.int32),
        np.full(_BUCKETS + 1, -1, np.int32),
        np.zeros(3, np.int64),
    )


@kernel
def lanes_begin(sources, dist, reached, bucket, after, before, head, state):
    """Put each source at distance 0 in its lane. There are at most LANES; lanes left over repeat the last one."""
    state[:] = 0
    for lane in range(LANES):
        v = sources[min(lane, sources.size - 1)]
        dist[v * LANES + lane] = 0
        _put(v, _BEYOND, reached, bucket, after, before, head, state)


@kernel
def _put(v, where, reached, bucket, after, before, head, state):
    """Put a vertex into a bucket; out of the one it is in, if that is a later one."""
    v, old = np.uint64(v), bucket[np.uint64(v)]
    if old >= 0:
        if old <= where:
            return
        _take(v, bucket, after, before, head, state)
    elif old == _UNSEEN:
        reached[np.uint64(state[REACHED])] = v
        state[REACHED] += 1
    slot = _slot(where)
    first = head[slot]
    bucket[v], after[v], before[v] = where, first, -1
    if first >= 0:
        before[np.uint64(first)] = v
    head[slot] = v
    state[_QUEUED] += where != _BEYOND


@kernel
def _take(v, bucket, after, before, head, state):
    """Take a vertex out of its bucket."""
    previous, following = before[v], after[v]
    if previous >= 0:
        after[np.uint64(previous)] = following
    else:
        head[_slot(bucket[v])] = following
    if following >= 0:
        before[np.uint64(following)] = previous
    state[_QUEUED] -= bucket[v] != _BEYOND
    bucket[v] = _OUT


@kernel
def _slot(where):
    return np.uint64(_BUCKETS) if where == _BEYOND else np.uint64(where & (_BUCKETS - 1))


@kernel
def lanes_expand(start, index, weight, dist, reached, bucket, after, before, head, state, limit):
    """Make every distance up to `limit` final, in all lanes; larger ones are upper bounds. Can be continued."""
    here = state[_LIMIT] >> _SHIFT
    state[_LIMIT] = limit
    row = np.empty(LANES, np.int32)
    nearer = np.full(LANES, FAR, np.int32)
    v = head[_BUCKETS]
    while v >= 0:
        following = after[v]
        where = _due(nearer, 0, dist, np.uint64(v) * np.uint64(LANES), limit, here)
        _put(v, where, reached, bucket, after, before, head, state)
        v = following
    while state[_QUEUED] > 0:
        first = head[np.uint64(here & (_BUCKETS - 1))]
        if first < 0:
            here += 1
            continue
        u = np.uint64(first)
        _take(u, bucket, after, before, head, state)
        for lane in range(LANES):
            row[lane] = dist[u * np.uint64(LANES) + np.uint64(lane)]
        for a in range(np.uint64(start[u]), np.uint64(start[u + np.uint64(1)])):
            at = np.uint64(index[a]) * np.uint64(LANES)
            if _improves(row, weight[a], dist, at):
                where = _due(row, weight[a], dist, at, limit, here)
                _put(index[a], where, reached, bucket, after, before, head, state)


@kernel
def _improves(row, weight, dist, at):
    """Whether a row and an edge from it improve any of the lanes from `at` on."""
    changed = np.int32(0)
    for lane in range(LANES):
        old = dist[at + np.uint64(lane)]
        changed |= min(np.int32(row[lane] + weight), old) ^ old
    return changed != 0


@kernel
def _due(row, weight, dist, at, limit, here):
    """Improve the lanes from `at` on by a row and an edge from it. Returns the bucket in which that vertex is due."""
    least, most = FAR, np.int32(0)
    for lane in range(LANES):
        new = min(np.int32(row[lane] + weight), dist[at + np.uint64(lane)])
        dist[at + np.uint64(lane)] = new
        least = min(least, new)
        most = max(most, new if new < FAR else np.int32(0))
    if least > limit:
        return np.int64(_BEYOND)
    return max(np.int64(most) >> _SHIFT, here)


@kernel
def lanes_clear(dist, reached, bucket, after, before, head, state):
    """Make the workspace ready for the next sources."""
    for k in range(state[REACHED]):
        v = np.uint64(reached[k])
        bucket[v] = _UNSEEN
        for lane in range(LANES):
            dist[v * np.uint64(LANES) + np.uint64(lane)] = FAR
    head[:] = -1
