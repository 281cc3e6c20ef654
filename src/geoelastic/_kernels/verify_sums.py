# SPDX-License-Identifier: Apache-2.0
"""The verifier's own sums over what can be reported. It shares no line with those who find heights, on purpose.

Sources are taken `ABREAST` at a time, as they come. A search from all of them at once orders what is near; a table of
distances, a column a source, is then lowered along edges until no entry can be: every entry is then at most the
distance (a shortest path cannot undercut what is closed under all edges) and, being the length of a path, at least it.
"""

import numpy as np

from ._compile import kernel

ABREAST = 64
_NEVER = np.int32(2**30)


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
            noted[count], below[count], shelf[0] = source, shelf[0], count
            count += 1
    settled, rows, d, furthest = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    inside, tail = np.int64(0), 0.0
    while d <= furthest:
        if d >= far and d % 4096 == 0 and 64.0 * weight[d] * (whole - inside) < weight[far] * inside:
            break
        while shelf[d] >= 0:
            note = shelf[d]
            shelf[d] = below[note]
            z = noted[note]
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
                    noted[count], below[count] = vertex[a], shelf[at]
                    shelf[at] = count
                    furthest = max(furthest, at)
                    count += 1
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
