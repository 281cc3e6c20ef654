# SPDX-License-Identifier: Apache-2.0
"""Edges with a factor of their own: how far each may rise while every ball holds, and paths that are made shorter.

Let a source's vertices be y_0, y_1, ... by distance. Vertex y_k is *due* at the first level that the mass of those
before it does not cover. If every y_k arrives by its due level, the ball holds at every level, whatever else changes:
at level D it holds all that are due by then, and their mass covers D. So an edge may rise by the factor f if, for every
y behind it in the source's shortest-path tree, f x distance of y <= due level of y. `metric.ascent` says what is
done with that.
"""

import math
from typing import Any

import numpy as np

from ._compile import kernel
from .paths import UNREACHABLE

#: Fractional bits of an edge's factor, its *rise*; a rise of 0 is no edge, and none is larger than this.
RISE_BITS, MOST_RISE = 7, 255
#: Fractional bits of a limit: by how much an edge may rise.
LIMIT_BITS = 20
#: What stands for a limit where an edge is in no tree, and where a path between its ends is shorter: no tree has that.
STAYS, LONGER = np.int32(2**31 - 1), np.int32(0)
_MOST_LIMIT = np.int64(2**31 - 2)

#: `shorten_paths` looks up to this many times the level at which a ball falls short; whatever lies closer beyond that
#: level than so many units counts as equally near.
_BEYOND, _NEAR = 1.8, 20.0


def raised_arcs(start: Any, index: Any, rise: Any) -> Any:
    """The start of each row without the edges of rise 0, the arcs that are left, and their rises.

    `rise`: one per pair i < j, in the order of the rows.
    """
    there, back = _both_ways(start, index)
    factor = np.empty(index.size, np.int64)
    factor[there] = factor[back] = rise
    kept = factor > 0
    return np.concatenate([[0], np.cumsum(kept)])[start], np.flatnonzero(kept), factor[kept]


def raise_edges(start: Any, index: Any, weight: Any, rise: Any) -> Any:
    """The graph whose edges are floor(rise x weight / 2^RISE_BITS), without those of rise 0: start, index, weight."""
    begin, kept, factor = raised_arcs(start, index, rise)
    return begin, index[kept], ((weight[kept] * factor) >> RISE_BITS).astype(np.int32)


def least_of_both(start: Any, index: Any, value: Any) -> Any:
    """The lesser value of the two arcs of each pair i < j, in the order of the rows."""
    there, back = _both_ways(start, index)
    return np.minimum(value[there], value[back])


def _both_ways(start, index):
    """The arcs i to j and j to i of each pair i < j, in the order of the rows, which are in increasing order."""
    from scipy.sparse import csr_matrix

    n = start.size - 1
    # by columns and then rows, the arcs that are k-th by rows and then columns come k-th the other way round
    back = csr_matrix((np.arange(index.size), index, start), shape=(n, n)).tocsc().data
    there = np.flatnonzero(np.repeat(np.arange(n), np.diff(start)) < index)
    return there, back[there]


def _rise_room(start, index, weight, mass, buckets, table, sources, limit):
    return _tree_workspace(start.size - 1, index.size, buckets), np.empty(start.size - 1, np.int32)


@kernel(room=_rise_room)
def rise_limits(start, index, weight, mass, buckets, table, sources, limit, space, slack):
    """Lower the `limit` of each arc to the least (due level of y) / (distance of y) over all sources and all y behind
    it in the source's tree, rounded down, or to LONGER. STAYS is above all."""
    dist, parent, via, order = space[0], space[1], space[2], space[3]
    top = np.int64(table.size - 1)
    for s in range(sources.size):
        source = np.int64(sources[s])
        count, entries = _grow_tree(start, index, weight, mass, source, top, table[top], *space)
        inside, due = np.int64(0), np.int64(0)
        for k in range(count):
            y = np.uint64(order[k])
            while table[due] <= inside:  # ends: what is inside before the last vertex is not enough
                due += 1
            slack[y] = min(_MOST_LIMIT, (due << LIMIT_BITS) // max(np.int64(dist[y]), 1))
            inside += mass[y]
        for k in range(count - 1, 0, -1):
            y = np.uint64(order[k])
            arc, tail = np.uint64(via[y]), np.uint64(parent[y])
            limit[arc] = min(limit[arc], slack[y])
            slack[tail] = min(slack[tail], slack[y])
        for a in range(start[source], start[source + 1]):
            if dist[index[a]] < weight[a]:
                limit[a] = LONGER
        _clear_tree(entries, *space)


def shorten_paths(start: Any, index: Any, full: Any, mass: Any, buckets: Any, table: Any, sources: Any) -> Any:
    """From each source in turn, as long as its ball falls short of the table: one path that ends just too late is made
    short enough, edge by edge in proportion. Edges begin at their `full` weight. Returns the rise of each pair i < j,
    in the order of the rows, and which sources still fall short.
    """
    there, back = _both_ways(start, index)
    twin = np.empty(index.size, np.int64)
    twin[there], twin[back] = back, there
    rise, short = np.full(index.size, 1 << RISE_BITS, np.uint8), np.zeros(sources.size, np.bool_)
    space = _tree_workspace(start.size - 1, index.size, buckets)
    shorten(start, index, full, mass, table, sources, full.copy(), twin, rise, short, space)
    return rise[there], short


@kernel
def shorten(start, index, full, mass, table, sources, weight, twin, rise, short, space):
    """`shorten_paths`, which gives it `weight`, `rise` and `short` as they are before, and each arc's other way."""
    top = np.int64(table.size - 1)
    for s in range(sources.size):
        source, due, wide = np.int64(sources[s]), top, False
        while True:  # twice for every path: as far as the table asks, and if that is too little, beyond
            far, enough = (np.int64(due * _BEYOND), np.int64(2**62)) if wide else (top, table[top])
            count, entries = _grow_tree(start, index, weight, mass, source, far, enough, *space)
            if wide:
                end = _cheapest(mass, space[0], space[3], count, due)
                short[s] = end < 0 or not _shorten(end, due, full, weight, rise, twin, space[0], space[1], space[2])
            else:
                due = _first_missed(mass, table, space[0], space[3], count)
            _clear_tree(entries, *space)
            if due > top or short[s]:
                break
            wide = not wide


@kernel
def _cheapest(mass, dist, order, count, due):
    """The vertex beyond `due` that brings much mass for little: the largest sqrt(mass) / (what it comes too late by);
    -1 if there is none."""
    best, end = 0.0, np.int64(-1)
    for k in range(count):
        v = order[k]
        if dist[v] > due:
            worth = math.sqrt(mass[v]) / (dist[v] - due + _NEAR)
            if worth > best:
                best, end = worth, np.int64(v)
    return end


@kernel
def _shorten(end, due, full, weight, rise, twin, dist, parent, via):
    """Multiply the edges of the path to `end` by due / its length, rounded down. Returns whether it arrives by `due`,
    which edges of the least rise may prevent."""
    whole, length = np.int64(dist[end]), np.int64(0)
    while dist[end] > 0:
        arc = via[end]
        allowed = weight[arc] * due // whole
        lower = (((allowed + 1) << RISE_BITS) - 1) // max(np.int64(full[arc]), 1)
        rise[arc] = max(1, min(np.int64(rise[arc]), lower))
        weight[arc] = (np.int64(full[arc]) * rise[arc]) >> RISE_BITS
        rise[twin[arc]], weight[twin[arc]] = rise[arc], weight[arc]
        length += weight[arc]
        end = np.int64(parent[end])
    return length <= due


@kernel
def _first_missed(mass, table, dist, order, count):
    """The first level that a ball does not cover; the table's size if there is none."""
    inside, due = np.int64(0), np.int64(0)
    for k in range(count + 1):
        while due < table.size and table[due] <= inside:
            due += 1
        if k == count or due == table.size or dist[order[k]] > due:
            break
        inside += mass[order[k]]
    return due


def _tree_workspace(vertices, arcs, buckets):
    """Arrays of a search that remembers its ways: dist, parent, via (the arc from the parent), order, and the queue's
    head, entry_vertex, entry_next."""
    return (
        np.full(vertices, UNREACHABLE, np.int32),
        np.empty(vertices, np.int32),
        np.empty(vertices, np.int32),
        np.empty(vertices, np.int32),
        np.full(buckets, -1, np.int32),
        np.empty(arcs + 1, np.int32),
        np.empty(arcs + 1, np.int32),
    )


@kernel
def _grow_tree(
    start, index, weight, mass, source, top, enough, dist, parent, via, order, head, entry_vertex, entry_next
):
    """A shortest-path tree up to distance `top`, or until its mass is `enough`. Returns how many vertices it has (in
    `order`, parents first) and how many entries of the queue it used."""
    mask = np.int64(head.size - 1)
    dist[source] = 0
    entry_vertex[0], entry_next[0], head[0] = source, -1, 0
    d, used, count, live, inside = np.int64(0), np.int64(1), np.int64(0), np.int64(1), np.int64(0)
    while live > 0 and d <= top and inside < enough:
        slot = np.uint64(d & mask)
        if head[slot] < 0:
            d += 1
            continue
        entry = np.uint64(head[slot])
        head[slot] = entry_next[entry]
        live -= 1
        v = np.uint64(entry_vertex[entry])
        if dist[v] != d:
            continue
        order[np.uint64(count)] = v
        count += 1
        inside += mass[v]
        for a in range(np.uint64(start[v]), np.uint64(start[v + np.uint64(1)])):
            u = np.uint64(index[a])
            through = d + weight[a]
            if through < dist[u] and through <= top:
                dist[u], parent[u], via[u] = through, v, a
                slot = np.uint64(through & mask)
                entry_vertex[np.uint64(used)] = u
                entry_next[np.uint64(used)] = head[slot]
                head[slot] = used
                used += 1
                live += 1
    return count, used


@kernel
def _clear_tree(entries, dist, parent, via, order, head, entry_vertex, entry_next):
    """Make the workspace ready for the next source."""
    for slot in range(head.size):
        head[slot] = -1
    for e in range(entries):
        dist[entry_vertex[e]] = UNREACHABLE


#: Fractional bits of a local scale, which is in level units per half cell; lengths have 8 (see `layout`).
SCALE_BITS = 8
SHIFT = 8 + SCALE_BITS + 1


def conformal_weights(start: Any, index: Any, length: Any, scale: Any) -> Any:
    """weight(i, j) = floor(length x (scale_i + scale_j) / 2^17): exact in 64-bit integers, and in doubles below
    2^53."""
    wide = scale.astype(np.int64)
    both = np.repeat(wide, np.diff(start)) + wide[index]
    return ((length * both) >> SHIFT).astype(np.int32)


def share(start: Any, index: Any, value: Any) -> Any:
    """Each vertex's value averaged with the mean of its neighbours' values; NaN is unknown, and 0 where nothing is
    known."""
    unknown = np.isnan(value)
    own, there = np.where(unknown, 0.0, value), np.repeat(np.arange(value.size), np.diff(start))
    total = np.bincount(there, own[index], minlength=value.size)  # adds in the order of the rows
    known = np.bincount(there, ~unknown[index], minlength=value.size)
    around = np.divide(total, known, out=own.copy(), where=known > 0)
    return np.where(unknown, around, np.where(known > 0, (around + own) / 2, own))
