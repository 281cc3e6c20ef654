# SPDX-License-Identifier: Apache-2.0
"""The verifier's own search: a binary heap over the edge list's adjacency. It shares no line with the builders on
purpose."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def adjacency(n, tail, tip, level):
    """Adjacency of an undirected edge list, each edge once: offsets, vertices, levels."""
    offset = np.zeros(n + 1, np.int64)
    for e in range(tail.size):
        offset[tail[e] + 1] += 1
        offset[tip[e] + 1] += 1
    for v in range(n):
        offset[v + 1] += offset[v]
    fill = offset[:-1].copy()
    vertex = np.empty(2 * tail.size, np.int32)
    cost = np.empty(2 * tail.size, np.int32)
    for e in range(tail.size):
        for a, b in ((tail[e], tip[e]), (tip[e], tail[e])):
            vertex[fill[a]] = b
            cost[fill[a]] = level[e]
            fill[a] += 1
    return offset, vertex, cost


@njit(cache=True, nogil=True)
def _push(heap, size, key):
    heap[size] = key
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if heap[parent] <= heap[child]:
            break
        heap[parent], heap[child] = heap[child], heap[parent]
        child = parent
    return size + 1


@njit(cache=True, nogil=True)
def _pop(heap, size):
    top = heap[0]
    size -= 1
    last = heap[size]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= last:
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = last
    return top, size


@njit(cache=True, nogil=True)
def check_balls(offset, vertex, cost, mass, table, sources, probes, whole):
    """Check sum of mass within D >= table[D] for every integer level D, at each source.

    The mass within D is a step function that jumps at the distances of the graph and `table` is non-decreasing, so it
    is enough to look at the last level before each jump and at the last level of all. Returns, per source, the least
    ratio mass / table and its level, whether the check holds, and, if `whole`, the ratio at each level of `probes`
    (otherwise the search stops as soon as the mass within suffices for every level that is left).
    """
    top = np.int64(table.size - 1)
    n = offset.size - 1
    best = np.full(n, np.int64(2**62), np.int64)
    done = np.zeros(n, np.bool_)
    heap = np.empty(vertex.size + 1, np.int64)
    touched = np.empty(vertex.size + 1, np.int32)
    least = np.full(sources.size, np.inf)
    level = np.zeros(sources.size, np.int32)
    holds = np.ones(sources.size, np.bool_)
    profile = np.full((sources.size if whole else 0, probes.size), np.nan)
    for k in range(sources.size):
        source = sources[k]
        best[source] = 0
        size = _push(heap, 0, np.int64(source))
        touched[0] = source
        count = 1
        inside = np.int64(0)
        reached = np.int64(0)
        probe = 0
        while True:
            if size == 0:
                d, v = top + 1, -1
            else:
                key, size = _pop(heap, size)
                d, v = key >> 32, np.int32(key & 0xFFFFFFFF)
                if d <= top and (done[v] or best[v] != d):
                    continue
                if d > top:
                    d, v = top + 1, -1
            if d > reached:
                if table[d - 1] > 0:
                    if inside < table[d - 1]:
                        holds[k] = False
                    if inside / table[d - 1] < least[k]:
                        least[k] = inside / table[d - 1]
                        level[k] = d - 1
                while whole and probe < probes.size and probes[probe] < d:
                    if table[probes[probe]] > 0:
                        profile[k, probe] = inside / table[probes[probe]]
                    probe += 1
                reached = d
            if v < 0 or (not whole and inside >= table[top]):
                break
            done[v] = True
            inside += mass[v]
            for a in range(offset[v], offset[v + 1]):
                u = vertex[a]
                through = d + cost[a]
                if through < best[u] and through <= top:
                    best[u] = through
                    size = _push(heap, size, (through << 32) | u)
                    touched[count] = u
                    count += 1
        for t in range(count):
            best[touched[t]] = np.int64(2**62)
            done[touched[t]] = False
    return least, level, holds, profile
