# SPDX-License-Identifier: Apache-2.0
"""The verifier's own search over the edge list's adjacency, and its own sums over what can be reported. It shares no
line with the builders and with those who find heights, on purpose.

For sums, sources are taken `ABREAST` at a time, as they come. A search from all of them at once orders what is near; a
table of distances, a column a source, is then lowered along edges until no entry can be: every entry is then at most
the distance (a shortest path cannot undercut what is closed under all edges) and, being the length of a path, at least
it.
"""

from typing import Any

import numpy as np

from ._compile import kernel

ABREAST = 64
_NEVER = np.int32(2**30)


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
                v = _take(d, noted, below, shelf)
                if best[v] != d:
                    continue
                inside += mass[v]
                best[v] = -d - 1  # settled: no path is shorter than a negative one
                for a in range(offset[v], offset[v + 1]):
                    u = vertex[a]
                    through = d + cost[a]
                    if through < best[u] and through <= top:
                        best[u] = through
                        count = _file(u, through, count, noted, below, shelf)
                        furthest = max(furthest, through)
        for note in range(count):
            best[noted[note]] = far
        for left in range(min(d, top), furthest + 1):  # shelves before d are empty
            shelf[left] = -1
    return least, level, holds, profile


@kernel
def _file(vertex, distance, count, noted, below, shelf):
    """File a note of a vertex on the shelf of its distance; how many notes there are then."""
    noted[count], below[count] = vertex, shelf[distance]
    shelf[distance] = count
    return count + 1


@kernel
def _take(distance, noted, below, shelf):
    """The vertex of the uppermost note on a shelf, which is taken off."""
    note = shelf[distance]
    shelf[distance] = below[note]
    return noted[note]


@kernel
def sums_up_to(offset, vertex, cost, measure, weight, far, sources):
    """For each source x, over all z with d(x, z) < far: the sum of measure x weight[d], and of measure. And for each an
    upper bound of the sum of measure x weight[d] over all z with d(x, z) >= far, given that z is not nearer to x than
    to all the sources it was taken with."""
    exact, within, beyond = np.zeros(sources.size), np.zeros(sources.size), np.zeros(sources.size)
    n = offset.size - 1
    reach = np.full(n, _NEVER, np.int32)  # distance from the nearest source
    spot = np.full(n, -1, np.int32)  # row of a vertex in the table
    shelf = np.full(weight.size, -1, np.int64)  # shelf[d]: the last note that was filed at distance d
    noted, below = np.empty(vertex.size + ABREAST, np.int32), np.empty(vertex.size + ABREAST, np.int64)
    met = np.empty(n, np.int32)
    whole = np.int64(0)
    for z in range(n):
        whole += measure[z]
    for first in range(0, sources.size, ABREAST):
        some = sources[first : first + ABREAST]
        rows, tail = _reached(offset, vertex, cost, measure, weight, far, some, whole, reach, shelf, noted, below, met)
        for k in range(rows):
            spot[met[k]] = k
        table = _table(offset, vertex, cost, some, met[:rows], spot)
        for k in range(rows):
            z = met[k]
            spot[z] = -1
            amount = np.float64(measure[z])
            for lane in range(some.size):
                d = table[k, lane]
                if d < far:
                    exact[first + lane] += amount * weight[d]
                    within[first + lane] += amount
                else:  # nearer than `far` to another source of these, not to this one
                    beyond[first + lane] += amount * weight[far]
        for lane in range(some.size):
            beyond[first + lane] += tail
    return exact, within, beyond


@kernel
def _reached(offset, vertex, cost, measure, weight, far, some, whole, reach, shelf, noted, below, met):
    """Settle by distance from the nearest of `some`: how many are nearer than `far` (first in `met`), and at most what
    all others weigh. Stops where what is left could weigh little beside what lies just within `far`."""
    count = np.int64(0)
    for source in some:
        if reach[source] != 0:
            reach[source] = 0
            count = _file(source, 0, count, noted, below, shelf)
    settled, rows, d, furthest = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    inside, tail = np.int64(0), 0.0
    while d <= furthest:
        if d >= far and d % 4096 == 0 and 64.0 * weight[d] * (whole - inside) < weight[far] * inside:
            break
        while shelf[d] >= 0:
            z = _take(d, noted, below, shelf)
            if reach[z] != d:
                continue
            met[settled] = z
            settled += 1
            inside += measure[z]
            if d < far:
                rows = settled
            else:
                tail += weight[d] * measure[z]
            reach[z] = -d - 1  # settled: no path is shorter than a negative one
            for a in range(offset[z], offset[z + 1]):
                through = d + cost[a]
                if through < reach[vertex[a]]:
                    reach[vertex[a]] = through
                    at = min(through, weight.size - 1)
                    count = _file(vertex[a], at, count, noted, below, shelf)
                    furthest = max(furthest, at)
        d += 1
        if d == weight.size - 1:
            break
    if d <= furthest:
        tail += weight[d] * (whole - inside)
        shelf[d : furthest + 1] = -1
    for note in range(count):
        reach[noted[note]] = _NEVER
    return rows, tail


@kernel
def _table(offset, vertex, cost, some, met, spot):
    """Distances between each source (columns) and each vertex of `met` (rows) by paths among `met`."""
    links = 0
    for z in met:
        links += offset[z + 1] - offset[z]
    begin = np.empty(met.size + 1, np.int64)
    other, length = np.empty(links, np.int32), np.empty(links, np.int32)
    used = 0
    for k in range(met.size):
        begin[k] = used
        for a in range(offset[met[k]], offset[met[k] + 1]):
            if spot[vertex[a]] >= 0:
                other[used], length[used] = spot[vertex[a]], cost[a]
                used += 1
    begin[met.size] = used
    table = np.full((met.size, ABREAST), _NEVER, np.int32)
    stale = np.zeros(met.size, np.bool_)  # a neighbour changed since this row was looked at
    for lane in range(some.size):
        home = spot[some[lane]]
        table[home, lane] = 0
        for a in range(begin[home], begin[home + 1]):
            stale[other[a]] = True
    busy, outward = True, True
    while busy:
        busy = False
        for step in range(met.size):
            k = step if outward else met.size - 1 - step
            if stale[k]:
                stale[k] = False
                if _lower(table, k, other[begin[k] : begin[k + 1]], length[begin[k] : begin[k + 1]]):
                    busy = True
                    for a in range(begin[k], begin[k + 1]):
                        stale[other[a]] = True
        outward = not outward
    return table


@kernel
def _lower(table, k, other, length):
    """Lower a row to its neighbours' rows plus the edges to them; whether any entry fell."""
    fell = np.int32(0)
    mine = table[k]
    for a in range(other.size):
        theirs, more = table[other[a]], length[a]
        for lane in range(ABREAST):
            through = np.int32(theirs[lane] + more)
            fell |= through < mine[lane]
            mine[lane] = min(mine[lane], through)
    return fell != 0
