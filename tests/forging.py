# SPDX-License-Identifier: Apache-2.0
"""What tests of forged files share: twenty other values for anything, and privacy by brute force.

The largest tests take some of all places and values, always the same; `GEOELASTIC_FORGED=2000` has each of them take
so many, and `GEOELASTIC_FORGED=all` all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from itertools import product
from random import Random
from typing import Any, TypeVar

import numpy as np

from reference.graphs import floyd_warshall, holds
from reference.mechanism import INF, exp_lower

__all__ = ["NUMBERS", "VALUES", "chosen", "entries", "require_private"]

Thing = TypeVar("Thing")

VALUES = [0, 1, 2, -1, 3, 7, 0.5, 1.5, 1e-9, 1e9, 2**24, 2**31, 2**32 + 1, 2**53, "1", "", True, None, [], {}]
assert len(VALUES) == 20
#: Twenty other whole numbers for an entry of an array.
NUMBERS = [
    0, 1, 2, 3, 5, 9, -1, -7, 100, 1000, 8192, 10**5, 10**6, 2**23, 2**24 + 1, 2**28, 2**31, 2**32, 2**45, 2**53,
]  # fmt: skip
assert len(NUMBERS) == 20
#: What brute force has found to be private: many entries change nothing that is sampled.
KNOWN: set[Any] = set()


def require_private(mechanism: Any) -> None:
    """Slow and from scratch: distances by Floyd and Warshall, weights as fractions, all pairs of secrets, all reports,
    and the crowd of every secret as the definition has it."""
    metric = mechanism.metric
    n, fence, given = metric.n, metric.fence, (metric.graph, mechanism.reporting.graph)
    key = (json.dumps(metric.requirement.to_dict()), metric.l_from, metric.l_top, metric.secret.tobytes(),
           fence.tobytes(), metric.mass_units.tobytes(), mechanism.measure.tobytes(), mechanism.exponent,
           *(part.tobytes() for graph in given for part in (graph.start, graph.index, graph.weight)))  # fmt: skip
    if key in KNOWN:
        return
    graphs = [[(int(i), int(j), int(w)) for i, j, w in zip(*graph.edges(), strict=True)]
              for graph in given]  # fmt: skip
    d, low = (floyd_warshall(n, edges) for edges in graphs)
    outside = [int(i) for i in np.flatnonzero(metric.secret) if fence[i] == 0]
    finest = (
        max([int(low[x][z]) for x in outside for z in range(n) if low[x][z] < INF], default=0)
        // mechanism.weights.period
    )
    rows = {}
    for x in outside:
        assert not any(low[x][z] < INF for z in range(n) if fence[z] > 0)
        rows[x] = [
            0
            if low[x][z] >= INF
            else int(mechanism.measure[z]) * int(mechanism.weights.exact(int(low[x][z])) * 2**finest)
            for z in range(n)
        ]
        assert holds(list(d[x]), metric.mass_units, metric.requirement, metric.l_from, metric.l_top)
    totals = {x: sum(row) for x, row in rows.items()}
    for x, y in product(rows, repeat=2):
        if x != y and d[x][y] < INF and totals[x]:
            up, down = exp_lower(int(d[x][y])).as_integer_ratio()
            p, q = up * totals[x], down * totals[y]
            assert all(a * q <= p * b for a, b in zip(rows[x], rows[y], strict=True))
    KNOWN.add(key)


def entries(head: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Paths of all entries of a header, those inside objects too."""
    for name, value in head.items():
        yield f"{prefix}{name}"
        if isinstance(value, dict):
            yield from entries(value, f"{prefix}{name}.")


def chosen(things: Sequence[Thing], some: int, seed: str) -> list[Thing]:
    """So many of them, always the same; or all, if all are asked for."""
    asked = os.environ.get("GEOELASTIC_FORGED", str(some))
    many = len(things) if asked == "all" else min(int(asked), len(things))
    return Random(seed).sample(things, many)
