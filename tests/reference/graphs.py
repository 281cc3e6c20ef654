# SPDX-License-Identifier: Apache-2.0
"""Distances, balls and the requirement by their definitions."""

from __future__ import annotations

import heapq
import math
from fractions import Fraction
from typing import Any

from geoelastic.levels import LEVEL_BITS, MASS_BITS

INF = 2**31 - 1


def floyd_warshall(n: int, edges: list[tuple[int, int, int]]) -> list[list[int]]:
    """All distances of an undirected graph, by the textbook's three loops."""
    d = [[0 if i == j else INF for j in range(n)] for i in range(n)]
    for i, j, w in edges:
        d[i][j] = min(d[i][j], w)
        d[j][i] = min(d[j][i], w)
    for k in range(n):
        for i in range(n):
            if d[i][k] < INF:
                for j in range(n):
                    if d[k][j] < INF and d[i][k] + d[k][j] < d[i][j]:
                        d[i][j] = d[i][k] + d[k][j]
    return d


def dijkstra(n: int, edges: list[tuple[int, int, int]], source: int) -> list[int]:
    """Distances from one vertex, with Python's heap."""
    near: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for i, j, w in edges:
        near[i].append((j, w))
        near[j].append((i, w))
    d, queue = [INF] * n, [(0, source)]
    d[source] = 0
    while queue:
        at, v = heapq.heappop(queue)
        if at > d[v]:
            continue
        for u, w in near[v]:
            if at + w < d[u]:
                d[u] = at + w
                heapq.heappush(queue, (at + w, u))
    return d


def holds(distances: list[int], mass_units: Any, requirement: Any, l_from: float, l_top: float) -> bool:
    """m(B_l) >= req(l) for all real l in [l_from, l_top], by its definition: checked where a violation must show
    first.

    req is non-decreasing and the mass within l is constant between distances, so on each stretch between two
    distances the largest requirement is the one at its end (approached from below) or at l_top.
    """
    unit = 2.0**-LEVEL_BITS
    ends = sorted({d * unit for d in distances if 0 < d < INF and d * unit <= l_top})
    for end in [*ends, None]:
        level = l_top if end is None else math.nextafter(end, 0.0)
        if level < l_from:
            continue
        inside = sum(int(m) for d, m in zip(distances, mass_units, strict=True) if d * unit <= level)
        if Fraction(inside, 2**MASS_BITS) < Fraction(requirement.mass_at(level)):
            return False
    return True


def least_ratio(distances: list[int], mass_units: Any, table: Any) -> float:
    """Least mass within D over table[D], over every integer level D where the table asks for something."""
    return min(
        sum(int(m) for d, m in zip(distances, mass_units, strict=True) if d <= level) / int(needed)
        for level, needed in enumerate(table)
        if needed > 0
    )
