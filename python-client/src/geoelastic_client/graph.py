# SPDX-License-Identifier: Apache-2.0
"""Graphs with whole weights, and searches in them that can be continued."""

from __future__ import annotations

from array import array
from heapq import heappop, heappush
from itertools import accumulate, chain, compress

from .layout import Pairs
from .schema import MAX_SPREAD, MAX_WEIGHT, refuse

#: A distance and a location as one number, distance x 2^26 + location, so that one comparison orders both.
SHIFT = 26
MASK = (1 << SHIFT) - 1
_RISE_BITS = 7
FAR = 1 << 62
#: Each undirected edge once: the lower location, the other one, the length.
Edges = tuple[list[int], list[int], list[int]]


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


def require_lengths(lengths: list[int]) -> None:
    if max(lengths, default=0) > MAX_WEIGHT:
        raise refuse(f"an edge is longer than {MAX_WEIGHT}")


def conformal_edges(pairs: Pairs, spans: list[int], scale: list[int], rise: list[int] | None) -> Edges:
    """length(i, j) = floor(span x (scale_i + scale_j) / 2^17), then floor(rise x length / 2^7) for a rise of each
    pair of neighbours; a rise of 0 is no edge."""
    tails, tips = pairs
    lengths = [(span * (scale[i] + scale[j])) >> 17 for i, j, span in zip(tails, tips, spans)]
    require_lengths(lengths)
    if rise is not None:
        if len(rise) != len(lengths):
            raise refuse("'edge_rise' has not one number per pair of neighbours")
        lengths = [(length * times) >> _RISE_BITS for length, times in zip(lengths, rise) if times]
        tails, tips = list(compress(tails, rise)), list(compress(tips, rise))
        require_lengths(lengths)
    return tails, tips, lengths


def lowered(edges: Edges, height: list[int], slack: int) -> list[int]:
    """length - floor(length / 2^slack) - 4 - |difference of heights|, at least 0: what sharpened reports go by."""
    less = [w - (w >> slack) - 4 - abs(height[i] - height[j]) for i, j, w in zip(*edges)]
    return [w if w > 0 else 0 for w in less]


def arcs_of(n: int, edges: Edges) -> tuple[array[int], list[int]]:
    """Where the arcs of each location start, and the edges of all arcs, ~k from the tip of k: in their order."""
    arcs: list[list[int]] = [[] for _ in range(n)]
    for edge, (i, j, _) in enumerate(zip(*edges)):
        arcs[i].append(edge)
        arcs[j].append(~edge)
    return array("q", accumulate(map(len, arcs), initial=0)), list(chain.from_iterable(arcs))


def laid_out(arcs: list[int], ahead: list[int], back: list[int]) -> array[int]:
    """A number for each arc: of its edge's two, for either way."""
    both = ahead + back[::-1]
    return array("i", map(both.__getitem__, arcs))


def parts(graph: Graph) -> list[int]:
    """Of each location, the lowest one that it is connected with. Refuses locations too far from that; any way there
    will do to see that they are not."""
    start, index, weight = graph.start, graph.index, graph.weight
    first, way = [-1] * len(graph), [0] * len(graph)
    for source in range(len(graph)):
        if first[source] < 0:
            first[source], met = source, [source]
            for v in met:
                here, begin, end = way[v], start[v], start[v + 1]
                for u, w in zip(index[begin:end], weight[begin:end]):
                    if first[u] < 0:
                        first[u], way[u] = source, here + w
                        met.append(u)
            if max([way[v] for v in met]) > MAX_SPREAD:
                search = Search(graph, source)
                search.expand()
                if search.order[-1] >> SHIFT > MAX_SPREAD:
                    raise refuse(f"a location is farther than {MAX_SPREAD} from the first that it can reach")
    return first


class Search:
    """Settles locations by distance from the source (Dijkstra), as far as it is asked to, and can go on from there.

    `order` holds distance x 2^26 + location of all that are settled, nearest first.
    """

    def __init__(self, graph: Graph, source: int) -> None:
        self._graph = graph
        self._best = [FAR] * len(graph)
        self._heap = [source]
        self.order: list[int] = []
        self._best[source] = 0

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
