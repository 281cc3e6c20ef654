# SPDX-License-Identifier: Apache-2.0
"""Bounded shortest paths: our kernel against scipy's, same graph, same 1,000 sources, one thread each.

A relaxation is one look at one edge from a settled location; both sides settle the same locations, so their number is
the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from .. import _kernels as kernels
from ..levels import level_to_units
from ..metric import Metric, build_metric
from ..progress import progress_bar
from ._tools import markdown, synthetic_mass, timed, warm_up

__all__ = ["run"]

SOURCES = 1000
_BLOCK = 50


def run(*, progress: bool = False, side: int = 750) -> dict[str, Any]:
    """Seconds and relaxations a second of both, up to l_top."""
    warm_up()
    with progress_bar("bench paths", 3, show=progress) as bar:
        bar.update(0, note="building the graph")
        metric = build_metric(synthetic_mass("paris", side))
        free = np.flatnonzero(metric.secret)
        sources = free[np.linspace(0, free.size - 1, min(SOURCES, free.size)).astype(np.int64)].astype(np.int32)
        bar.update(1, note="geoelastic")
        _ours(metric, sources[:1])  # compiles for just these types
        ours = timed(lambda: _ours(metric, sources))
        bar.update(2, note="scipy")
        theirs = timed(lambda: _scipy(metric, sources))
    relaxations = theirs.value
    rows = [
        _row("geoelastic", ours.wall_s, relaxations, metric, sources.size),
        _row("scipy.sparse.csgraph.dijkstra", theirs.wall_s, relaxations, metric, sources.size),
    ]
    rows[0]["times_scipy"] = round(theirs.wall_s / ours.wall_s, 1)
    return {"rows": rows, "text": markdown(rows)}


def _row(name: str, seconds: float, relaxations: int, metric: Metric, sources: int) -> dict[str, Any]:
    return {
        "program": name,
        "locations": metric.n,
        "sources": sources,
        "seconds": round(seconds, 3),
        "million_relaxations": round(relaxations / 1e6, 1),
        "million_a_second": round(relaxations / seconds / 1e6, 1),
    }


def _ours(metric: Metric, sources: Any) -> None:
    graph = metric.graph
    table = metric.requirement.table(metric.l_from, metric.l_top)
    never_enough = np.int64(2**62)
    kernels.ratios(
        graph.start, graph.index, graph.weight, metric.mass_units, graph.buckets, table, sources, never_enough
    )


def _scipy(metric: Metric, sources: Any) -> int:
    """scipy's run, and the number of relaxations that it (and we) made."""
    graph, limit = metric.graph, level_to_units(metric.l_top)
    # scipy takes a stored 0 for "no edge"; a thousandth of a unit changes no integer distance
    weight = np.where(graph.weight == 0, 1e-3, graph.weight.astype(np.float64))
    matrix = csr_matrix((weight, graph.index, graph.start), shape=(graph.n, graph.n))
    degree = np.diff(graph.start)
    relaxations = 0
    for k in range(0, sources.size, _BLOCK):
        distance = dijkstra(matrix, indices=sources[k : k + _BLOCK], limit=limit)
        relaxations += int((np.isfinite(distance) * degree).sum())
    return relaxations
