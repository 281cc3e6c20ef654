# SPDX-License-Identifier: Apache-2.0
"""The paper's algorithm with Python's heap and plain lists: one edge a vertex a pass, levels raised until they
stand."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from .graphs import dijkstra


def paper_edges(
    rows: int,
    cols: int,
    mass_units: list[int],
    table: list[int],
    rings: list[tuple[int, int]],
    secret: list[bool],
    literal: bool,
) -> list[tuple[int, int, int]]:
    """Edges after passes that read the graph as it stood when the pass began; at most 8 passes of one edge each."""
    n, top = rows * cols, len(table) - 1
    level = [bisect_right(table, m) for m in mass_units]
    edges: list[tuple[int, int, int]] = []
    passes = 0
    while any(level[x] <= top and secret[x] for x in range(n)) and passes < 8:
        added: list[tuple[int, int, int]] = []
        for x in range(n):
            if level[x] > top:
                continue
            d: Any = dijkstra(n, edges, x)
            while True:
                inside = sum(m for at, m in zip(d, mass_units, strict=True) if at <= min(level[x], top))
                further = bisect_right(table, inside)
                if further <= level[x]:
                    break
                level[x] = further
                if further > top or literal:
                    break
            if level[x] > top:
                continue
            r0, c0 = divmod(x, cols)
            for dr, dc in rings:
                r, c = r0 + dr, c0 + dc
                if 0 <= r < rows and 0 <= c < cols and d[r * cols + c] > level[x]:
                    added.append((x, r * cols + c, level[x]))
                    break
        edges += added
        passes += 1
    return edges
