# SPDX-License-Identifier: Apache-2.0
"""The verifier's own search over the edge list's adjacency. It shares no line with the builders, on purpose."""

import numpy as np

from ._compile import kernel


@kernel
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


@kernel
def check_balls(offset, vertex, cost, mass, table, sources, probes, whole):
    """Check sum of mass within D >= table[D] for every integer level D, at each source.

    The mass within D is a step function that jumps at the distances of the graph and `table` is non-decreasing, so it
    is enough to look at the last level before each jump and at the last level of all. Returns, per source, the least
    ratio mass / table and its level, whether the check holds, and, if `whole`, the ratio at each level of `probes`
    (otherwise the search stops as soon as the mass within suffices for every level that is left).
    """
    top = np.int64(table.size - 1)
    n = offset.size - 1
    far = np.int64(2**62)
    best = np.full(n, far, np.int64)
    shelf = np.full(top + 1, -1, np.int64)  # shelf[d]: the last note that was filed at distance d
    noted = np.empty(vertex.size + 1, np.int32)
    below = np.empty(vertex.size + 1, np.int64)
    least = np.full(sources.size, np.inf)
    level = np.zeros(sources.size, np.int32)
    holds = np.ones(sources.size, np.bool_)
    profile = np.full((sources.size if whole else 0, probes.size), np.nan)
    for k in range(sources.size):
        best[sources[k]] = 0
        noted[0], below[0], shelf[0] = sources[k], -1, 0
        count = np.int64(1)
        inside = np.int64(0)
        probe = 0
        furthest = np.int64(0)
        for d in range(top + 2):
            if d > top or shelf[d] >= 0:
                if d > 0 and table[d - 1] > 0:
                    if inside < table[d - 1]:
                        holds[k] = False
                    if inside / table[d - 1] < least[k]:
                        least[k] = inside / table[d - 1]
                        level[k] = d - 1
                while whole and probe < probes.size and probes[probe] < d:
                    if table[probes[probe]] > 0:
                        profile[k, probe] = inside / table[probes[probe]]
                    probe += 1
            if d > top or (not whole and inside >= table[top]):
                break
            while shelf[d] >= 0:
                note = shelf[d]
                shelf[d] = below[note]
                v = noted[note]
                if best[v] != d:
                    continue
                inside += mass[v]
                best[v] = -d - 1  # settled: no path is shorter than a negative one
                for a in range(offset[v], offset[v + 1]):
                    u = vertex[a]
                    through = d + cost[a]
                    if through < best[u] and through <= top:
                        best[u] = through
                        noted[count], below[count] = u, shelf[through]
                        shelf[through] = count
                        furthest = max(furthest, through)
                        count += 1
        for note in range(count):
            best[noted[note]] = far
        shelf[min(d, top) : furthest + 1] = -1  # shelves before d are empty
    return least, level, holds, profile
