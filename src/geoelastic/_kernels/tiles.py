# SPDX-License-Identifier: Apache-2.0
"""Graphs in tiles: rows of several tiles put together, searches that walk from tile to tile, and which searches meet
flagged vertices."""

import numpy as np
from numba import njit

from .conformal import SHIFT
from .layout import centre_distance
from .paths import DISTANCE, ENTRIES, LIVE, SETTLED, UNREACHABLE, begin, clear, expand, workspace

#: What `expand_tiles` says: all is settled; a weight is too long for the buckets; a neighbour is none of its tile's.
ALL_SETTLED, FEW_BUCKETS, _NO_NEIGHBOUR = -1, -2, -3
#: Tiles around a tile, itself among them.
SLOTS = 9


@njit(cache=True, nogil=True)
def assemble(offset, around, degree, slot, step, place, row, col, size):
    """CSR of the leaves of some tiles that are kept, with integer lengths, and which of them lost a neighbour.

    Tile t holds the leaves offset[t]:offset[t + 1]; around[t, s] is the tile in slot s of the 3 x 3 tiles around it,
    or -1. Leaf i has degree[i] neighbours, in rows one after the other: each in a slot, at its own number in its tile
    plus a step. place[i] is the number of a leaf among those kept, or -1. row, col and size are those of all leaves.
    """
    kept = 0
    arcs = 0
    for i in range(degree.size):
        if place[i] >= 0:
            kept += 1
            arcs += degree[i]
    start = np.zeros(kept + 1, np.int64)
    index = np.empty(arcs, np.int32)
    length = np.empty(arcs, np.int32)
    rim = np.zeros(kept, np.bool_)
    at = np.int64(0)
    arc = np.int64(0)
    for t in range(offset.size - 1):
        for i in range(offset[t], offset[t + 1]):
            new = place[i]
            if new < 0:
                arc += degree[i]
                continue
            for _ in range(degree[i]):
                tile = around[t, slot[arc]]
                other = -1
                if tile >= 0:
                    j = offset[tile] + (i - offset[t]) + step[arc]
                    other = place[j]
                if other < 0:
                    rim[new] = True
                else:
                    index[at] = other
                    length[at] = centre_distance(row[i], col[i], size[i], row[j], col[j], size[j])
                    at += 1
                arc += 1
            start[new + 1] = at
    return start, index[:at].copy(), length[:at].copy(), rim


@njit(cache=True, nogil=True)
def met_flags(start, index, weight, mass, buckets, table, sources, flag):
    """For each source, the flags (bits) of all vertices that its search settles until it has the mass of the last
    level."""
    top = table.size - 1
    dist, head, entry_vertex, entry_next, order, state = workspace(start.size - 1, index.size, buckets)
    met = np.zeros(sources.size, np.uint8)
    for k in range(sources.size):
        begin(sources[k], dist, head, entry_vertex, entry_next, state)
        expand(start, index, weight, mass, dist, head, entry_vertex, entry_next, order, state, top, top, table[top])
        for j in range(state[SETTLED]):
            met[k] |= flag[order[j]]
        clear(dist, head, entry_vertex, state)
    return met


@njit(cache=True, nogil=True)
def expand_tiles(
    offset, around, start, slot, step, row, col, size, scale,
    dist, head, entry_vertex, entry_next, order, state, span, limit,
):  # fmt: skip
    """`expand` in the tiles that are open, with weights worked out on the way: only those that are walked.

    Tile t holds the vertices offset[t]:offset[t + 1]; around[t, s] is the tile in slot s around it, or negative if it
    is not open. Neighbours are as in `assemble`; the lower seven bits of `slot` count. `span`: the least and largest
    2 x row + size and 2 x col + size of all vertices that have been touched.

    Returns ALL_SETTLED; FEW_BUCKETS; t * SLOTS + s where the tile in slot s around t is needed first; or another
    negative number if the tiles do not fit together. Called again with the fault mended it goes on: what was queued
    before is queued rightly, for its vertex is settled only when all its neighbours have been seen.
    """
    mask = np.int64(head.size - 1)
    d, used, settled, live = state[DISTANCE], state[ENTRIES], state[SETTLED], state[LIVE]
    tile = 0
    outcome = np.int64(ALL_SETTLED)
    while live > 0 and d <= limit:
        bucket = d & mask
        entry = head[bucket]
        if entry < 0:
            d += 1
            continue
        head[bucket] = entry_next[entry]
        v = entry_vertex[entry]
        if dist[v] != d:
            live -= 1
            continue
        if not offset[tile] <= v < offset[tile + 1]:
            tile = np.searchsorted(offset, v, side="right") - 1
        for a in range(start[v], start[v + 1]):
            other = around[tile, slot[a] & 0x7F]
            if other < 0:
                outcome = np.int64(tile * SLOTS + (slot[a] & 0x7F))
                break
            u = offset[other] + (v - offset[tile]) + step[a]
            if not offset[other] <= u < offset[other + 1]:
                outcome = np.int64(_NO_NEIGHBOUR)
                break
            length = centre_distance(row[v], col[v], size[v], row[u], col[u], size[u])
            weight = (length * (np.int64(scale[v]) + scale[u])) >> SHIFT
            if weight > mask:
                outcome = np.int64(FEW_BUCKETS)
                break
            through = d + weight
            if through < dist[u]:
                if dist[u] == UNREACHABLE:
                    _touch(span, 2 * row[u] + size[u], 2 * col[u] + size[u])
                dist[u] = through
                entry_vertex[used] = u
                entry_next[used] = head[through & mask]
                head[through & mask] = used
                used += 1
                live += 1
        if outcome != ALL_SETTLED:
            entry_next[entry] = head[bucket]
            head[bucket] = entry
            break
        live -= 1
        order[settled] = v
        settled += 1
    state[DISTANCE], state[ENTRIES], state[SETTLED], state[LIVE] = d, used, settled, live
    return outcome


@njit(cache=True, nogil=True)
def _touch(span, y, x):
    span[0], span[1] = min(span[0], y), max(span[1], y)
    span[2], span[3] = min(span[2], x), max(span[3], x)


@njit(cache=True, nogil=True)
def more_buckets(head, entry_vertex, entry_next, dist, state, buckets):
    """The queue of a search in more buckets; entries whose distance has been improved since are left behind."""
    mask = np.int64(head.size - 1)
    d = state[DISTANCE]
    wider = np.full(buckets, -1, np.int32)
    live = 0
    for bucket in range(head.size):
        distance = d + ((bucket - d) & mask)
        entry = head[bucket]
        while entry >= 0:
            after = entry_next[entry]
            if dist[entry_vertex[entry]] == distance:
                entry_next[entry] = wider[distance & (buckets - 1)]
                wider[distance & (buckets - 1)] = entry
                live += 1
            entry = after
    state[LIVE] = live
    return wider
