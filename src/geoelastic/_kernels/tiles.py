# SPDX-License-Identifier: Apache-2.0
"""Graphs in tiles: rows of several tiles put together, and which searches meet flagged vertices."""

import numpy as np

from ._compile import kernel
from .layout import LENGTH_BITS, centre_distance
from .paths import SETTLED, begin, clear, expand, workspace


@kernel
def assemble(offset, around, degree, slot, step, place, fenced, row, col, size):
    """CSR of the leaves of some tiles that are kept, with integer lengths, and which of them lost a neighbour.

    Tile t holds the leaves offset[t]:offset[t + 1]; around[t, s] is the tile in slot s of the 3 x 3 tiles around it,
    or -1. Leaf i has degree[i] neighbours, in rows one after the other: each in a slot, at its own number in its tile
    plus a step. place[i] is the number of a leaf among those kept, or -1. A leaf that is fenced[i] is left without
    neighbours. row, col and size are those of all leaves.
    The last value tells whether the tiles fit together: every neighbour is a leaf, and is one in both directions.
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
    fits = True
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
                    if offset[tile] <= j < offset[tile + 1]:
                        other = place[j]
                    else:
                        fits = False
                if fenced[i] or (other >= 0 and fenced[j]):
                    arc += 1
                    continue
                if other < 0:
                    rim[new] = True
                else:
                    index[at] = other
                    length[at] = centre_distance(row[i], col[i], size[i], row[j], col[j], size[j])
                    at += 1
                arc += 1
            start[new + 1] = at
    index = index[:at].copy()
    return start, index, length[:at].copy(), rim, fits and is_symmetric(start, index)


@kernel
def is_symmetric(start, index):
    """Whether every arc has one that leads back."""
    for i in range(start.size - 1):
        for a in range(start[i], start[i + 1]):
            back = False
            j = index[a]
            for b in range(start[j], start[j + 1]):
                back |= index[b] == i
            if not back:
                return False
    return True


@kernel
def least_slopes(start, index, length, kept_start, kept_index, weight):
    """The least weight by length of each vertex's arcs in a graph of some of the arcs, in the same order; infinite
    where it has none. A length was rounded down: it is less than the next whole one."""
    least = np.full(start.size - 1, np.inf)
    for i in range(start.size - 1):
        at = start[i]
        for a in range(kept_start[i], kept_start[i + 1]):
            while index[at] != kept_index[a]:
                at += 1
            slope = weight[a] * float(1 << LENGTH_BITS) / (length[at] + 1.0)
            least[i] = min(least[i], slope)
    return least


def _met_room(start, index, weight, mass, buckets, table, sources, flag):
    return workspace(start.size - 1, index.size, buckets), np.zeros(sources.size, np.uint8)


@kernel(room=_met_room)
def met_flags(start, index, weight, mass, buckets, table, sources, flag, space, met):
    """For each source, the flags (bits) of all vertices that its search settles until it has the mass of the last
    level."""
    top = table.size - 1
    dist, head, entry_vertex, entry_next, order, state = space
    for k in range(sources.size):
        begin(np.int64(sources[k]), dist, head, entry_vertex, entry_next, state)
        expand(start, index, weight, mass, dist, head, entry_vertex, entry_next, order, state, top, top, table[top])
        for j in range(state[SETTLED]):
            met[k] |= flag[order[j]]
        clear(dist, head, entry_vertex, state)
    return met
