# SPDX-License-Identifier: Apache-2.0
"""Graphs in tiles: rows of several tiles put together, and which searches meet flagged vertices."""

import math
from typing import Any

import numpy as np

from ._compile import kernel
from .ascent import RISE_BITS, SHIFT
from .layout import LENGTH_BITS
from .paths import SETTLED, begin, clear, expand, workspace

#: Set on the first neighbour of each leaf; the lower bits are the slot of the neighbour's tile.
ROW_START = 0x80
_NONE = np.zeros(0, np.uint8)


def link_tiles(
    offset: Any, around: Any, later: Any, slots: Any, steps: Any, rises: Any, place: Any, fenced: Any
) -> Any:  # fmt: skip
    """The graph of the leaves of some tiles that are kept: CSR with room left over, the rise of each arc to a later
    leaf, which leaves lost a neighbour, and how many arcs there are, or -1 if the tiles do not fit together.

    Tile t holds the leaves offset[t]:offset[t + 1]; around[t, s] is the tile in slot s of the 3 x 3 tiles around it,
    or -1, and later[t, s] tells whether the tile there comes after tile t (1), before it (-1) or is the same (0). Each
    leaf has a row of arcs, the first with ROW_START: each to a leaf in a slot, at its own number in its tile plus a
    step. `rises`, if there are any (None), have an entry for each arc to a later leaf, in their order. These three are
    given by tile: most of what they hold may be of leaves that are not kept, and is not copied. place[i] is the number
    of a leaf among those kept, or -1. A leaf that is fenced[i] is left without neighbours.

    Every arc to an earlier leaf meets the one that leads back, which waits for it in the order of rows: so that all
    have met means that rows are in order and the graph is the same in both directions.
    """
    kept, room, raised = int(np.count_nonzero(place >= 0)), sum(slot.size for slot in slots), rises is not None
    start, index, given = np.zeros(kept + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.int32)
    rim, waiting, arcs = np.zeros(kept, np.bool_), np.full(kept, -1, np.int64), 0
    for t in range(len(slots)):
        arcs = link_tile(
            t, offset, around[t], later[t], slots[t], steps[t], rises[t] if raised else _NONE, raised, place, fenced,
            arcs, start, index, given, rim, waiting,
        )  # fmt: skip
        if arcs < 0:
            break
    met = arcs >= 0 and bool(np.all((waiting < 0) | (waiting == start[1:])))
    return start, index, given, rim, int(arcs) if met else -1


def join_tiles(
    offset: Any, around: Any, later: Any, slots: Any, steps: Any, rises: Any, place: Any, fenced: Any, at: Any,
    scale: Any, height: Any, slack_bits: Any, slack_units: Any,
) -> Any:  # fmt: skip
    """The graph that reports from some leaves of some tiles go by, all at once: `link_tiles`, lengths between places,
    conformal weights, rises and heights. CSR with room left over; which leaves lost a neighbour; how many arcs there
    are, or -1 if the tiles do not fit together; the least weight by length; the longest weight before heights.

    Of those kept, in their order: at (n, 2), places with LENGTH_BITS fractional bits; scale; height, or none; then a
    weight w gives up w >> slack_bits, slack_units and the difference of heights, but not more than it has. Edges whose
    rise is 0 go last.
    """
    start, index, weight, rim, arcs = link_tiles(offset, around, later, slots, steps, rises, place, fenced)
    least, longest = np.inf, 0.0
    if arcs >= 0:
        arcs, least, longest = weigh_arcs(start, index, weight, at, scale, height, slack_bits, slack_units)
    return start, index, weight, rim, arcs, least, longest


@kernel
def link_tile(
    t, offset, around, later, slot, step, rise, raised, place, fenced, count, start, index, given, rim, waiting
):  # fmt: skip
    """`link_tiles` for tile t, when `count` arcs are there; how many there are then, or -1 if it does not fit: every
    leaf has a row, every arc a slot that there is, and every arc to a later leaf a rise, if there are any. An arc to an
    earlier leaf gets the number of the one that leads back."""
    arc, edges, size = np.uint64(0), np.int64(0), np.uint64(slot.size)
    for i in range(np.uint64(offset[t]), np.uint64(offset[t + 1])):
        begin, edge = arc, edges
        if arc >= size or slot[arc] < ROW_START:
            return np.int64(-1)
        while True:
            s = slot[arc] & np.uint8(ROW_START - 1)
            if s >= later.size:
                return np.int64(-1)
            edges += _is_forward(later[s], step[arc])
            arc += np.uint64(1)
            if arc == size or slot[arc] >= ROW_START:
                break
        if raised and edges > rise.size:
            return np.int64(-1)
        new, last = np.int64(place[i]), np.int64(-1)
        if new < 0:
            continue
        for a in range(begin, begin if fenced[i] else arc):
            s = slot[a] & np.uint8(ROW_START - 1)
            forward, own = _is_forward(later[s], step[a]), np.int64(1 << RISE_BITS)
            if forward and raised:
                own = np.int64(rise[np.uint64(edge)])
                edge += 1
            tile, other = around[s], np.int64(-1)
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
        start[np.uint64(new + 1)] = count
    return np.int64(count) if arc == size and (edges == rise.size or not raised) else np.int64(-1)


@kernel
def _is_forward(later, step):
    """Whether an arc leads to a later leaf."""
    return (later > 0) | ((later == 0) & (step > 0))


@kernel
def weigh_arcs(start, index, weight, at, scale, height, slack_bits, slack_units):
    """Weights in place of what `link_tiles` left there, without edges that have gone; how many arcs are left, the least
    weight by length and the longest before heights."""
    least, longest, gone = np.inf, 0.0, False
    for i in range(np.uint64(start.size - 1)):
        for a in range(np.uint64(start[i]), np.uint64(start[i + np.uint64(1)])):
            j = np.uint64(index[a])
            if j < i:
                weight[a] = weight[np.uint64(weight[a])]
                continue
            factor = np.int64(weight[a])
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
            gone |= factor == 0
            weight[a] = min(raised, np.int64(2**31 - 1)) if factor > 0 else np.int64(-1)
    return _without_gone(start, index, weight) if gone else start[-1], least, longest


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
