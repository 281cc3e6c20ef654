# SPDX-License-Identifier: Apache-2.0
"""One pass of the paper's algorithm over vertices that read the graph as it stood when the pass began."""

import numpy as np

from ._compile import kernel
from .paths import MASS, begin, clear, expand, insert, workspace


@kernel
def _first_lacking(table, mass):
    """The least level D whose requirement exceeds `mass`: up to D - 1 a ball of that mass is enough. len(table) if
    none."""
    low, high = 0, table.size
    while low < high:
        middle = (low + high) >> 1
        if table[middle] > mass:
            high = middle
        else:
            low = middle + 1
    return low


def _paper_room(start, index, weight, mass, buckets, table, sources, level, pointer, cap, *_):
    return (
        workspace(start.size - 1, index.size + cap, buckets),
        np.full((sources.size, cap), -1, np.int32),
        np.zeros((sources.size, cap), np.int32),
    )


@kernel(room=_paper_room)
def paper_pass(
    start, index, weight, mass, buckets, table, sources, level, pointer, cap, literal,
    owner, row, col, size, fence, ring_row, ring_col, space, chosen, at_level,
):  # fmt: skip
    """For each source: raise its level l_x as far as its ball allows and add an edge, at most `cap` times.

    l_x := req*(m(B_{l_x}(x))) keeps the invariant (the requirement holds at x below l_x), so it is repeated until it
    stands still; with `literal` it is done once, as in the paper's listing. pointer[x] is x's place in
    next-by-geodistance, which only moves forward because a candidate within l_x stays within. Returns the candidates
    and levels of the edges added, -1 where there is none.
    """
    top = table.size - 1
    dist, head, entry_vertex, entry_next, order, state = space
    for k in range(sources.size):
        x = np.int64(sources[k])
        begin(x, dist, head, entry_vertex, entry_next, state)
        reach = np.int64(level[x])
        for edge in range(cap):
            while True:
                expand(
                    start, index, weight, mass, dist, head, entry_vertex, entry_next, order, state,
                    min(reach, top), top, table[top],
                )  # fmt: skip
                further = _first_lacking(table, state[MASS])
                if further <= reach:
                    break
                reach = further
                if reach > top or literal:
                    break
            if reach > top:
                break
            v = _next_candidate(x, reach, dist, pointer, owner, row, col, size, fence, ring_row, ring_col)
            if v < 0:
                break
            chosen[k, edge], at_level[k, edge] = v, reach
            insert(v, reach, dist, head, entry_vertex, entry_next, state)
        level[x] = reach
        clear(dist, head, entry_vertex, state)
    return chosen, at_level


@kernel
def _next_candidate(x, reach, dist, pointer, owner, row, col, size, fence, ring_row, ring_col):
    """The vertex nearest by geography that is not yet within `reach` of x, or -1 when the map has none left."""
    rows, cols = owner.shape
    r0 = row[x] + size[x] // 2
    c0 = col[x] + size[x] // 2
    at = pointer[x]
    while at < ring_row.size:
        r = r0 + ring_row[at]
        c = c0 + ring_col[at]
        if 0 <= r < rows and 0 <= c < cols:
            v = owner[r, c]
            if fence[v] == 0 and dist[v] > reach:
                pointer[x] = at
                return v
        at += 1
    pointer[x] = at
    return np.int32(-1)


@kernel
def merge_edges(start, index, weight, tail, tip, level):
    """The CSR graph with undirected edges added; of parallel edges the shorter counts (searches see to that)."""
    n = start.size - 1
    begin_ = np.zeros(n + 1, np.int64)
    for v in range(n):
        begin_[v + 1] = start[v + 1] - start[v]
    for e in range(tail.size):
        begin_[tail[e] + 1] += 1
        begin_[tip[e] + 1] += 1
    for v in range(n):
        begin_[v + 1] += begin_[v]
    fill = begin_[:-1].copy()
    new_index = np.empty(begin_[n], np.int32)
    new_weight = np.empty(begin_[n], np.int32)
    for v in range(n):
        for a in range(start[v], start[v + 1]):
            new_index[fill[v]] = index[a]
            new_weight[fill[v]] = weight[a]
            fill[v] += 1
    for e in range(tail.size):
        a, b = tail[e], tip[e]
        new_index[fill[a]], new_weight[fill[a]] = b, level[e]
        new_index[fill[b]], new_weight[fill[b]] = a, level[e]
        fill[a] += 1
        fill[b] += 1
    return begin_, new_index, new_weight
