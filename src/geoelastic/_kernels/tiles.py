# SPDX-License-Identifier: Apache-2.0
"""Graphs in tiles: rows of several tiles put together, and which searches meet flagged vertices."""

import math

import numpy as np

from ._compile import kernel
from .ascent import RISE_BITS, SHIFT
from .layout import LENGTH_BITS
from .paths import SETTLED, begin, clear, expand, workspace

#: Set on the first neighbour of each leaf; the lower bits are the slot of the neighbour's tile.
ROW_START = 0x80


def _link_room(offset, around, later, slot, step, rise, place, fenced):
    kept = int(np.count_nonzero(place >= 0))
    room = slot.size
    return (
        np.zeros(kept + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.int32), np.zeros(kept, np.bool_),
        np.empty((offset[-1] + 1, 2), np.int64), np.empty(kept, np.int64), np.empty(kept, np.int64),
    )  # fmt: skip


@kernel(room=_link_room)
def link_tiles(
    offset, around, later, slot, step, rise, place, fenced, start, index, given, rim, row, leaf, waiting
):  # fmt: skip
    """The graph of the leaves of some tiles that are kept: CSR with room left over, the rise of each arc to a later
    leaf, which leaves lost a neighbour, and how many arcs there are, or -1 if the tiles do not fit together.

    Tile t holds the leaves offset[t]:offset[t + 1]; around[t, s] is the tile in slot s of the 3 x 3 tiles around it,
    or -1, and later[t, s] tells whether the tile there comes after tile t (1), before it (-1) or is the same (0). Each
    leaf has a row of arcs, the first with ROW_START: each to a leaf in a slot, at its own number in its tile plus a
    step. `rise` has an entry for each arc to a later leaf, in their order, or none at all. place[i] is the number of a
    leaf among those kept, or -1. A leaf that is fenced[i] is left without neighbours.

    Every arc to an earlier leaf meets the one that leads back, which waits for it in the order of rows: so that all
    have met means that rows are in order and the graph is the same in both directions.
    """
    arcs = _link(offset, around, later, slot, step, rise, place, fenced, start, index, given, rim, row, leaf, waiting)
    return start, index, given, rim, arcs


def _join_room(offset, around, later, slot, step, rise, place, fenced, at, scale, height, slack_bits, slack_units):
    return *_link_room(offset, around, later, slot, step, rise, place, fenced), np.array([np.inf, 0.0])


@kernel(room=_join_room)
def join_tiles(
    offset, around, later, slot, step, rise, place, fenced, at, scale, height, slack_bits, slack_units,
    start, index, weight, rim, row, leaf, waiting, told,
):  # fmt: skip
    """The graph that reports from some leaves of some tiles go by, all at once: `link_tiles`, lengths between places,
    conformal weights, rises and heights. CSR with room left over; which leaves lost a neighbour; how many arcs there
    are, or -1 if the tiles do not fit together; the least weight by length; the longest weight before heights.

    at (n, 2): places with LENGTH_BITS fractional bits. height: none, or one a leaf; then a weight w gives up w >>
    slack_bits, slack_units and the difference of heights, but not more than it has. Edges whose rise is 0 go last.
    """
    arcs = _link(offset, around, later, slot, step, rise, place, fenced, start, index, weight, rim, row, leaf, waiting)
    if arcs >= 0:
        _weigh(start, index, weight, leaf, at, scale, height, slack_bits, slack_units, told)
        arcs = _without_gone(start, index, weight)
    return start, index, weight, rim, arcs, told[0], told[1]


@kernel
def _link(offset, around, later, slot, step, rise, place, fenced, start, index, given, rim, row, leaf, waiting):
    """How many arcs there are, or -1. An arc to an earlier leaf gets the number of the one that leads back."""
    if not _find_rows(offset, later, slot, step, rise, row):
        return np.int64(-1)
    return _join_rows(
        offset, around, later, slot, step, rise, place, fenced, start, index, given, rim, row, leaf, waiting
    )


@kernel
def _find_rows(offset, later, slot, step, rise, row):
    """Where the row of each leaf begins among the arcs and among the rises; whether every leaf has a row, every arc a
    slot that there is, and every arc to a later leaf a rise, if there are any."""
    arc, edge, size = np.uint64(0), np.int64(0), np.uint64(slot.size)
    for t in range(offset.size - 1):
        ahead = later[t]
        for i in range(np.uint64(offset[t]), np.uint64(offset[t + 1])):
            row[i, 0], row[i, 1] = arc, edge
            if arc >= size or slot[arc] < ROW_START:
                return False
            while True:
                s = slot[arc] & np.uint8(ROW_START - 1)
                if s >= ahead.size:
                    return False
                edge += _is_forward(ahead[s], step[arc])
                arc += np.uint64(1)
                if arc == size or slot[arc] >= ROW_START:
                    break
    row[offset[-1], 0] = arc
    return arc == size and (rise.size == 0 or edge == rise.size)


@kernel
def _is_forward(later, step):
    """Whether an arc leads to a later leaf."""
    return later > 0 or (later == 0 and step > 0)


@kernel
def _join_rows(
    offset, around, later, slot, step, rise, place, fenced, start, index, given, rim, row, leaf, waiting
):  # fmt: skip
    """`_link`, where the rows of all leaves are known."""
    count, new = np.int64(0), np.int64(-1)
    for t in range(offset.size - 1):
        ahead, near = later[t], around[t]
        for i in range(np.uint64(offset[t]), np.uint64(offset[t + 1])):
            if place[i] < 0:
                continue
            new += 1
            leaf[new], waiting[new] = i, -1
            last, edge = np.int64(-1), row[i, 1]
            end = row[i, 0] if fenced[i] else row[i + np.uint64(1), 0]
            for a in range(np.uint64(row[i, 0]), np.uint64(end)):
                s = slot[a] & np.uint8(ROW_START - 1)
                forward, own = _is_forward(ahead[s], step[a]), np.int64(1 << RISE_BITS)
                if forward and rise.size > 0:
                    own = np.int64(rise[np.uint64(edge)])
                    edge += 1
                tile, other = near[s], np.int64(-1)
                if tile >= 0:
                    tip = offset[tile] + (np.int64(i) - offset[t]) + step[a]
                    if tip < offset[tile] or tip >= offset[tile + 1]:
                        return np.int64(-1)
                    other = np.int64(place[np.uint64(tip)])
                    if other >= 0 and fenced[np.uint64(tip)]:
                        continue
                if other < 0:
                    rim[new] = True
                    continue
                if other <= last or other == new or (other > new) != forward:
                    return np.int64(-1)
                if forward and waiting[new] < 0:
                    waiting[new] = count
                if not forward:
                    own = waiting[np.uint64(other)]
                    if own < 0 or own >= start[np.uint64(other + 1)] or index[np.uint64(own)] != new:
                        return np.int64(-1)
                    waiting[np.uint64(other)] = own + 1
                index[np.uint64(count)], given[np.uint64(count)] = other, own
                last = other
                count += 1
            start[new + 1] = count
    met = True
    for k in range(waiting.size):
        met &= waiting[k] < 0 or waiting[k] == start[k + 1]
    return count if met else np.int64(-1)


@kernel
def _weigh(start, index, weight, leaf, at, scale, height, slack_bits, slack_units, told):
    """Weights in place of what `_link` left there, those of edges that have gone -1; the least by length and the
    longest before heights are told."""
    least, longest = np.inf, 0.0
    for new in range(np.uint64(leaf.size)):
        i = np.uint64(leaf[new])
        for a in range(np.uint64(start[new]), np.uint64(start[new + np.uint64(1)])):
            if index[a] < np.int64(new):
                weight[a] = weight[np.uint64(weight[a])]
                continue
            j, factor = np.uint64(leaf[np.uint64(index[a])]), np.int64(weight[a])
            dx, dy = np.int64(at[i, 0]) - at[j, 0], np.int64(at[i, 1]) - at[j, 1]
            length = np.int64(math.sqrt(float(dx * dx + dy * dy)))
            full = (length * (np.int64(scale[i]) + scale[j])) >> SHIFT
            raised = (full * factor) >> RISE_BITS
            longest = max(longest, float(max(full, raised)))
            if height.size > 0:
                climb = abs(np.int64(height[i]) - height[j])
                raised = max(raised - (raised >> slack_bits) - slack_units - climb, np.int64(0))
            slope = raised * float(1 << LENGTH_BITS) / (length + 1.0)
            least = min(least, slope if factor > 0 else np.inf)
            weight[a] = min(raised, np.int64(2**31 - 1)) if factor > 0 else np.int64(-1)
    told[0], told[1] = least, longest


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
