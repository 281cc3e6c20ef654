# SPDX-License-Identifier: Apache-2.0
"""Graphs with whole weights, and searches in them that can be continued."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import accumulate, chain, compress

from .layout import Pairs
from .schema import MAX_SPREAD, MAX_WEIGHT, refuse

__all__ = ["Graph", "Search", "conformal_graph", "edge_graph", "lowered"]

#: A distance and a location as one number, distance x 2^26 + location, so that one comparison orders both.
SHIFT = 26
MASK = (1 << SHIFT) - 1
_RISE_BITS = 7
FAR = 1 << 62


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

    def parts(self) -> list[int]:
        """Of each location, the lowest one that it is connected with. Refuses an edge that is too long, and
        locations too far from the first that they can reach."""
        require_weights(self.weight)
        first = [-1] * len(self)
        search = Search(self, [])
        for source in range(len(self)):
            if first[source] < 0:
                met = len(search.order)
                search.begin(source)
                search.expand()
                for key in search.order[met:]:
                    first[key & MASK] = source
        if any(key >> SHIFT > MAX_SPREAD for key in search.order):
            raise refuse(f"a location is farther than {MAX_SPREAD} from the first that it can reach")
        return first


def require_weights(weights: Iterable[int]) -> None:
    if max(weights, default=0) > MAX_WEIGHT:
        raise refuse(f"an edge is longer than {MAX_WEIGHT}")


def conformal_graph(pairs: Pairs, lengths: list[int], scale: list[int], rise: list[int] | None) -> Graph:
    """weight(i, j) = floor(length x (scale_i + scale_j) / 2^17), then floor(rise x weight / 2^7) for a rise of each
    pair of neighbours; a rise of 0 is no edge."""
    tails, tips = pairs
    weights = [(length * (scale[i] + scale[j])) >> 17 for i, j, length in zip(tails, tips, lengths)]
    require_weights(weights)
    if rise is not None:
        if len(rise) != len(weights):
            raise refuse("'edge_rise' has not one number per pair of neighbours")
        weights = [(w * times) >> _RISE_BITS for w, times in zip(weights, rise) if times]
        tails, tips = list(compress(tails, rise)), list(compress(tips, rise))
    return edge_graph(len(scale), tails, tips, weights)


def edge_graph(n: int, tails: list[int], tips: list[int], levels: list[int]) -> Graph:
    """The graph of an edge list, each undirected edge once; rows are in the order of the list, increasing if it is."""
    rows: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for i, j, level in zip(tails, tips, [level << SHIFT for level in levels]):
        rows[i].append((j, level))
        rows[j].append((i, level))
    start = array("q", accumulate(map(len, rows), initial=0))
    arcs = [arc for row in rows for arc in row]
    graph = Graph(start, array("i", [j for j, _ in arcs]), array("q", [w >> SHIFT for _, w in arcs]))
    graph._arcs[:] = rows
    return graph


def lowered(graph: Graph, height: list[int]) -> array[int]:
    """weight - floor(weight / 2^7) - 4 - |difference of heights|, at least 0: what sharpened reports go by."""
    start = graph.start
    own = chain.from_iterable([h] * (start[i + 1] - start[i]) for i, h in enumerate(height))
    less = [w - (w >> 7) - 4 - abs(h - height[j]) for w, h, j in zip(graph.weight, own, graph.index)]
    return array("q", [w if w > 0 else 0 for w in less])


class Search:
    """Settles locations by distance from the sources (Dijkstra), as far as it is asked to, and can go on from there.

    `order` holds distance x 2^26 + location of all that are settled, nearest first.
    """

    def __init__(self, graph: Graph, sources: list[int]) -> None:
        self._graph = graph
        self._best = [FAR] * len(graph)
        self._heap: list[int] = []
        self.order: list[int] = []
        for source in sources:
            self.begin(source)

    def begin(self, source: int) -> None:
        """From another source, too."""
        self._best[source] = 0
        heappush(self._heap, source)

    def expand(self, limit: int = FAR, *, enough: int | None = None, mass: list[int] | None = None) -> bool:
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
