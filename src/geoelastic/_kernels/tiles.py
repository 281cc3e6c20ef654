# SPDX-License-Identifier: Apache-2.0
"""Graphs in tiles: rows of several tiles put together, and which searches meet flagged vertices."""

import math

import numpy as np

from ._compile import kernel
from .ascent import RISE_BITS, SHIFT
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


#: Set on the first neighbour of each leaf; the lower bits are the slot of the neighbour's tile.
ROW_START = 0x80


def _join_room(offset, around, later, slot, step, rise, place, fenced, at, scale, height, slack_bits, slack_units):
    kept = int(np.count_nonzero(place >= 0))
    room = slot.size
    return (
        np.zeros(kept + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.int32), np.zeros(kept, np.bool_),
        np.empty(kept, np.int64), np.array([np.inf, 0.0]),
    )  # fmt: skip


@kernel(room=_join_room)
def join_tiles(
    offset, around, later, slot, step, rise, place, fenced, at, scale, height, slack_bits, slack_units,
    start, index, weight, rim, waiting, told,
):  # fmt: skip
    """The graph that reports from some leaves of some tiles go by, all at once: `assemble`, lengths between places,
    conformal weights, rises and heights. CSR with room left over; which leaves lost a neighbour; how many arcs there
    are, or -1 if the tiles do not fit together; the least weight by length; the longest weight before heights.

    Tiles, slots, steps, place and fenced are as for `assemble`, slots with their ROW_START; later[t, s] tells whether
    the tile in slot s comes after tile t (1), before it (-1) or is the same (0). `rise` has an entry for each arc to a
    later leaf, in their order, or none at all. at (n, 2): places with LENGTH_BITS fractional bits. height: none, or one
    a leaf; then a weight w gives up w >> slack_bits, slack_units and the difference of heights, but not more than it
    has.

    Every arc to an earlier leaf meets the one that leads back, which waits for it in the order of rows: so that all
    have met means that rows are in order and the graph is the same in both directions. Edges whose rise is 0 go last.
    """
    arcs = _join(
        offset, around, later, slot, step, rise, place, fenced, at, scale, height, slack_bits, slack_units,
        start, index, weight, rim, waiting, told,
    )  # fmt: skip
    if arcs >= 0:
        arcs = _without_gone(start, index, weight)
    return start, index, weight, rim, arcs, told[0], told[1]


@kernel
def _join(
    offset, around, later, slot, step, rise, place, fenced, at, scale, height, slack_bits, slack_units,
    start, index, weight, rim, waiting, told,
):  # fmt: skip
    """How many arcs there are, those that have gone with weight -1; or -1."""
    arc, edge, count, new = np.int64(0), np.int64(0), np.int64(0), np.int64(-1)
    raises, sharp = rise.size > 0, height.size > 0
    least, longest = np.inf, 0.0
    for t in range(offset.size - 1):
        ahead, near = later[t], around[t]
        for i in range(offset[t], offset[t + 1]):
            if arc >= slot.size or slot[arc] < ROW_START:
                return np.int64(-1)
            end = _row_end(slot, arc)
            if place[i] >= 0:
                new += 1
                waiting[new] = -1
                start[new + 1] = count
            if place[i] < 0 or fenced[i]:
                for a in range(np.uint64(arc), np.uint64(end)):
                    s = slot[a] & np.uint8(ROW_START - 1)
                    if s >= ahead.size:
                        return np.int64(-1)
                    edge += raises and (ahead[s] > 0 or (ahead[s] == 0 and step[a] > 0))
                arc = end
                continue
            last = np.int64(-1)
            for a in range(np.uint64(arc), np.uint64(end)):
                s = slot[a] & np.uint8(ROW_START - 1)
                if s >= ahead.size:
                    return np.int64(-1)
                forward = ahead[s] > 0 or (ahead[s] == 0 and step[a] > 0)
                factor = np.int64(1 << RISE_BITS)
                if forward and raises:
                    if edge >= rise.size:
                        return np.int64(-1)
                    factor = np.int64(rise[np.uint64(edge)])
                    edge += 1
                tile = near[s]
                if tile < 0:
                    rim[new] = True
                    continue
                j = offset[tile] + (i - offset[t]) + step[a]
                if j < offset[tile] or j >= offset[tile + 1]:
                    return np.int64(-1)
                tip = np.uint64(j)
                other = np.int64(place[tip])
                if other < 0:
                    rim[new] = True
                    continue
                if fenced[tip]:
                    continue
                if other <= last or other == new or (other > new) != forward:
                    return np.int64(-1)
                last = other
                at_arc = np.uint64(count)
                index[at_arc] = other
                if forward:
                    if waiting[new] < 0:
                        waiting[new] = count
                    dx, dy = np.int64(at[i, 0]) - at[tip, 0], np.int64(at[i, 1]) - at[tip, 1]
                    length = np.int64(math.sqrt(float(dx * dx + dy * dy)))
                    full = (length * (np.int64(scale[i]) + scale[tip])) >> SHIFT
                    raised = (full * factor) >> RISE_BITS
                    longest = max(longest, float(max(full, raised)))
                    if sharp:
                        climb = abs(np.int64(height[i]) - height[tip])
                        raised = max(raised - (raised >> slack_bits) - slack_units - climb, np.int64(0))
                    slope = raised * float(1 << LENGTH_BITS) / (length + 1.0)
                    least = min(least, slope if factor > 0 else np.inf)
                    weight[at_arc] = min(raised, np.int64(2**31 - 1)) if factor > 0 else np.int64(-1)
                else:
                    back = waiting[np.uint64(other)]
                    if back < 0 or back >= start[np.uint64(other + 1)] or index[np.uint64(back)] != new:
                        return np.int64(-1)
                    waiting[np.uint64(other)] = back + 1
                    weight[at_arc] = weight[np.uint64(back)]
                count += 1
            arc = end
            start[new + 1] = count
    told[0], told[1] = least, longest
    if arc != slot.size or edge != rise.size:
        return np.int64(-1)
    for i in range(start.size - 1):
        if waiting[i] >= 0 and waiting[i] != start[i + 1]:
            return np.int64(-1)
    return count


@kernel
def _row_end(slot, arc):
    """Where the row that begins at an arc ends."""
    end = np.uint64(arc + 1)
    while end < np.uint64(slot.size) and slot[end] < ROW_START:
        end += np.uint64(1)
    return np.int64(end)


@kernel
def _without_gone(start, index, weight):
    """Close up what arcs of weight -1 leave; returns how many are left."""
    begin, left = np.int64(0), np.int64(0)
    for i in range(start.size - 1):
        end = start[i + 1]
        for a in range(np.uint64(begin), np.uint64(end)):
            index[np.uint64(left)], weight[np.uint64(left)] = index[a], weight[a]
            left += weight[a] >= 0
        begin, start[i + 1] = end, left
    return left


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
