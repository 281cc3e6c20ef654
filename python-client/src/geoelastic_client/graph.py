# SPDX-License-Identifier: Apache-2.0
"""Graphs with whole weights, and searches in them that can be continued."""

from __future__ import annotations

from array import array
from heapq import heappop, heappush
from itertools import accumulate

from .schema import MAX_SPREAD, MAX_WEIGHT, refuse

__all__ = ["Graph", "Search", "conformal_graph", "edge_graph", "lowered"]

#: A distance and a location as one number, distance x 2^26 + location, so that one comparison orders both.
SHIFT = 26
MASK = (1 << SHIFT) - 1
_RISE_BITS = 7
_NONE = 1 << 62


class Graph:
    """Compressed rows: the neighbours of i are index[start[i]:start[i + 1]], at distance `weight`, in level units."""

    def __init__(self, start: array[int], index: array[int], weight: array[int]) -> None:
        self.start, self.index, self.weight = start, index, weight
        self._arcs: list[list[tuple[int, int]] | None] = [None] * (len(start) - 1)

    def __len__(self) -> int:
        return len(self.start) - 1

    def arcs(self, i: int) -> list[tuple[int, int]]:
        """(neighbour, weight x 2^26) of a location; made when asked for, since most of a map is never looked at."""
        known = self._arcs[i]
        if known is None:
            first, last = self.start[i], self.start[i + 1]
            known = [(j, w << SHIFT) for j, w in zip(self.index[first:last], self.weight[first:last])]
            self._arcs[i] = known
        return known

    def components(self) -> list[int]:
        """Of each location, the first (lowest) one that it is connected with."""
        first = [-1] * len(self)
        for source in range(len(self)):
            if first[source] >= 0:
                continue
            first[source] = source
            stack = [source]
            while stack:
                v = stack.pop()
                for u in self.index[self.start[v] : self.start[v + 1]]:
                    if first[u] < 0:
                        first[u] = source
                        stack.append(u)
        return first

    def require_sound(self, parts: list[int]) -> None:
        """Refuse an edge that is too long, and locations too far from the first that they can reach."""
        require_weights(self.weight)
        search = Search(self, sorted(set(parts)))
        search.expand(_NONE >> SHIFT)
        if any(key >> SHIFT > MAX_SPREAD for key in search.order):
            raise refuse(f"a location is farther than {MAX_SPREAD} from the first that it can reach")


def require_weights(weights: array[int]) -> None:
    if len(weights) and max(weights) > MAX_WEIGHT:
        raise refuse(f"an edge is longer than {MAX_WEIGHT}")


def conformal_graph(rows: list[tuple[list[int], list[int]]], scale: list[int], rise: list[int] | None) -> Graph:
    """weight(i, j) = floor(length x (scale_i + scale_j) / 2^17), then floor(rise x weight / 2^7) for a rise of each
    pair of neighbours i < j, by i and then by j; a rise of 0 is no edge."""
    start = array("q", [0])
    start.extend(accumulate(len(index) for index, _ in rows))
    index = array("i", (j for near, _ in rows for j in near))
    weight = array("q")
    for i, (near, lengths) in enumerate(rows):
        own = scale[i]
        weight.extend([(length * (own + scale[j])) >> 17 for j, length in zip(near, lengths)])
    require_weights(weight)
    if rise is not None and 2 * len(rise) != len(index):
        raise refuse("'edge_rise' has not one number a pair of neighbours")
    return Graph(start, index, weight) if rise is None else _raised(start, index, weight, rise)


def _raised(start: array[int], index: array[int], weight: array[int], rise: list[int]) -> Graph:
    n = len(start) - 1
    met = list(start[:n])  # rows are in increasing order: the next arc of each that leads back
    factor = [0] * len(index)
    pair = 0
    for i in range(n):
        for a in range(met[i], start[i + 1]):
            j = index[a]
            factor[a] = factor[met[j]] = rise[pair]
            met[j] += 1
            pair += 1
    kept = array("q", [0])
    kept.extend(accumulate(sum(map(bool, factor[start[i] : start[i + 1]])) for i in range(n)))
    near = array("i", (j for j, times in zip(index, factor) if times))
    raised = array("q", ((w * times) >> _RISE_BITS for w, times in zip(weight, factor) if times))
    return Graph(kept, near, raised)


def edge_graph(n: int, tails: list[int], tips: list[int], levels: list[int]) -> Graph:
    """The graph of an edge list, each undirected edge once; rows are in the order of the list."""
    rows: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for i, j, level in zip(tails, tips, levels):
        rows[i].append((j, level))
        rows[j].append((i, level))
    start = array("q", [0])
    start.extend(accumulate(map(len, rows)))
    return Graph(
        start, array("i", (j for row in rows for j, _ in row)), array("q", (w for row in rows for _, w in row))
    )


def lowered(graph: Graph, height: list[int]) -> Graph:
    """weight - floor(weight / 2^7) - 4 - |difference of heights|, at least 0: what sharpened reports go by."""
    weight = array("q", graph.weight)
    for i in range(len(graph)):
        own = height[i]
        for a in range(graph.start[i], graph.start[i + 1]):
            w = weight[a]
            less = w - (w >> 7) - 4 - abs(own - height[graph.index[a]])
            weight[a] = less if less > 0 else 0
    return Graph(graph.start, graph.index, weight)


class Search:
    """Settles locations by distance from the sources (Dijkstra), as far as it is asked to, and can go on from there.

    `order` holds distance x 2^26 + location of all that are settled, nearest first.
    """

    def __init__(self, graph: Graph, sources: list[int]) -> None:
        self._graph = graph
        self._best = [_NONE] * len(graph)
        self._heap = sorted(sources)
        for source in sources:
            self._best[source] = 0
        self.order: list[int] = []

    def expand(self, limit: int, *, enough: int | None = None, mass: list[int] | None = None) -> bool:
        """Settle all within `limit` level units; whether anything is left beyond. With `enough`: stop once this much
        mass is inside, but not between locations that are equally far."""
        heap, best, graph = self._heap, self._best, self._graph
        known, arcs_of = graph._arcs, graph.arcs
        settle, end = self.order.append, (limit + 1) << SHIFT
        inside = 0
        while heap:
            key = heap[0]
            if key >= end:
                return True
            if enough is not None and inside >= enough and key >> SHIFT > self.order[-1] >> SHIFT:
                return True
            heappop(heap)
            v = key & MASK
            d = key - v
            if best[v] != d:  # it was found nearer since
                continue
            settle(key)
            if mass is not None:
                inside += mass[v]
            arcs = known[v]
            for u, w in arcs_of(v) if arcs is None else arcs:
                through = d + w
                if through < best[u]:
                    best[u] = through
                    heappush(heap, through + u)
        return False
