# SPDX-License-Identifier: Apache-2.0
"""The verifier's own search over the edge list's adjacency. It shares no line with the builders, on purpose."""

from typing import Any

import numpy as np

from ._compile import kernel


def adjacency(n: Any, tail: Any, tip: Any, level: Any) -> Any:
    """Adjacency of an undirected edge list, each edge once: offsets, vertices, levels."""
    there, back = np.stack([tail, tip], axis=1).ravel(), np.stack([tip, tail], axis=1).ravel()
    by_end = np.argsort(there, kind="stable")
    offset = np.concatenate([[0], np.cumsum(np.bincount(there, minlength=n))]).astype(np.int64)
    return offset, back[by_end].astype(np.int32), np.repeat(level, 2)[by_end].astype(np.int32)


def _check_room(offset, vertex, cost, mass, table, sources, probes, whole):
    return (
        np.full(offset.size - 1, 2**62, np.int64),
        np.full(table.size, -1, np.int64),
        np.empty(vertex.size + 1, np.int32),
        np.empty(vertex.size + 1, np.int64),
        np.full(sources.size, np.inf),
        np.zeros(sources.size, np.int32),
        np.ones(sources.size, np.bool_),
        np.full((sources.size if whole else 0, probes.size), np.nan),
    )


@kernel(room=_check_room)
def check_balls(
    offset, vertex, cost, mass, table, sources, probes, whole, best, shelf, noted, below, least, level, holds, profile
):
    """Check sum of mass within D >= table[D] for every integer level D, at each source.

    The mass within D is a step function that jumps at the distances of the graph and `table` is non-decreasing, so it
    is enough to look at the last level before each jump and at the last level of all. Returns, per source, the least
    ratio mass / table and its level, whether the check holds, and, if `whole`, the ratio at each level of `probes`
    (otherwise the search stops as soon as the mass within suffices for every level that is left).
    """
    top = np.int64(table.size - 1)
    far = np.int64(2**62)  # in `best`: not met; shelf[d]: the last note that was filed at distance d
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
        for left in range(min(d, top), furthest + 1):  # shelves before d are empty
            shelf[left] = -1
    return least, level, holds, profile
