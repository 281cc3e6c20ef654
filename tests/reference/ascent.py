# SPDX-License-Identifier: Apache-2.0
"""By how much edges may rise, from the definition: every source, every end, every edge of the path to it."""

from __future__ import annotations

from fractions import Fraction

from .graphs import dijkstra

Edge = tuple[int, int]


def rise_limits(
    n: int, edges: list[tuple[int, int, int]], mass: list[int], table: list[int], sources: list[int]
) -> tuple[dict[Edge, Fraction], set[Edge]]:
    """The least due level / distance over all ends behind each edge, and the edges that are longer than some path
    between their ends. No two distances from a source may be equal."""
    weight = {frozenset((i, j)): w for i, j, w in edges}
    limits: dict[Edge, Fraction] = {}
    for source in sources:
        distance = dijkstra(n, edges, source)
        ball = sorted(range(n), key=lambda y: distance[y])
        for k, y in enumerate(ball[1:], 1):
            before = sum(mass[v] for v in ball[:k])
            if before >= table[-1]:
                break
            due = next(level for level, asked in enumerate(table) if asked > before)
            while y != source:
                way = next(v for v in ball if weight.get(frozenset((v, y)), -1) + distance[v] == distance[y] and v != y)
                edge = (min(v := way, y), max(v, y))
                end = ball[k]
                limits[edge] = min(limits.get(edge, Fraction(10**9)), Fraction(due, distance[end]))
                y = way
    longer = {(min(i, j), max(i, j)) for i, j, w in edges if dijkstra(n, edges, i)[j] < w}
    return limits, longer
