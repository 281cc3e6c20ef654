# SPDX-License-Identifier: Apache-2.0
"""Bounded shortest paths: our kernels against scipy's, same graph, same 1,000 sources, one thread each.

Once with sources spread over the map, once with neighbours, as a builder takes them: there one search serves 128. A
relaxation is one look at one edge from a location within the limit; their number is that of a search a source, on all
sides. scipy is asked for fifty sources at a time, which is quicker for it than all at once. Best of three runs each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from .. import _kernels as kernels
from ..arrays import IndexArray
from ..levels import level_to_units
from ..metric import Metric
from ._tools import Tell, markdown, quiet, synthetic_metric, timed, warm_up

SOURCES = 1000
_BLOCK, _RUNS = 50, 3

_Way = Callable[[Metric, IndexArray], None]


def run(*, tell: Tell = quiet, side: int = 750) -> dict[str, Any]:
    """Seconds and relaxations a second, up to l_top."""
    warm_up()
    tell("building the graph", of=3)
    metric = synthetic_metric("paris", side, sharpened=False)
    free = np.flatnonzero(metric.secret).astype(np.int32)
    spread = free[np.linspace(0, free.size - 1, min(SOURCES, free.size)).astype(np.int64)]
    middle = max(0, (free.size - SOURCES) // 2)
    tell("sources spread over the map")
    rows = _compare(metric, "spread", spread, {"a search each": _one_by_one})
    tell("neighbouring sources")
    ours = {"a search each": _one_by_one, f"a search for {kernels.TOGETHER}": _together}
    rows += _compare(metric, "neighbours", free[middle : middle + SOURCES], ours)
    return {"rows": rows, "text": markdown(rows)}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Our searches with scipy's, on spread and on neighbouring sources."""
    found = [
        f"{row['sources'].split(' of ')[0]}, {row['program'].removeprefix('geoelastic, ')}: "
        f"{row['million_a_second']:,.0f} million, {row['times_scipy']} times scipy"
        for row in rows
        if row["program"].startswith("geoelastic")
    ]
    target = "60 million relaxations a second; 20 times scipy"
    return [("bounded shortest paths, one core", target, "; ".join(found))]


def _compare(metric: Metric, name: str, sources: IndexArray, ours: Mapping[str, _Way]) -> list[dict[str, Any]]:
    matrix, limit = _matrix(metric), level_to_units(metric.l_top)
    blocks = [sources[k : k + _BLOCK] for k in range(0, sources.size, _BLOCK)]
    ways: dict[str, Callable[[], Any]] = {
        "scipy.sparse.csgraph.dijkstra": lambda: [
            dijkstra(matrix, indices=some, limit=limit) is None for some in blocks
        ]
    }
    for way, function in ours.items():
        function(metric, sources[:1])  # compiles for just these types
        ways[f"geoelastic, {way}"] = partial(function, metric, sources)
    seconds = {program: min(timed(way).wall_s for _ in range(_RUNS)) for program, way in ways.items()}
    relaxations = _relaxations(metric, sources) / 1e6
    scipy_s = next(iter(seconds.values()))
    return [
        {
            "program": program,
            "sources": f"{sources.size:,} {name} of {metric.n:,}",
            "seconds": round(wall_s, 3),
            "million_relaxations": round(relaxations, 1),
            "million_a_second": round(relaxations / wall_s, 1),
            "times_scipy": round(scipy_s / wall_s, 1),
        }
        for program, wall_s in seconds.items()
    ]


def _one_by_one(metric: Metric, sources: IndexArray) -> None:
    graph, limit = metric.graph, np.int64(level_to_units(metric.l_top))
    dist, head, entry_vertex, entry_next, _, state = space = kernels.workspace(graph.n, graph.index.size, graph.buckets)
    never_enough = np.int64(2**62)
    for source in sources:
        kernels.begin(source, dist, head, entry_vertex, entry_next, state)
        kernels.expand(graph.start, graph.index, graph.weight, metric.mass_units, *space, limit, limit, never_enough)
        kernels.clear(dist, head, entry_vertex, state)


def _together(metric: Metric, sources: IndexArray) -> None:
    graph, far = metric.graph, np.int64(level_to_units(metric.l_top) + 1)
    kind = kernels.lane_kind(int(far))
    space = kernels.bounded_workspace(graph.n, graph.index.size, graph.buckets, kind)
    for first in range(0, sources.size, kernels.TOGETHER):
        some = sources[first : first + kernels.TOGETHER]
        kernels.bounded_paths(graph.start, graph.index, graph.weight, some, far, kind, *space)


def _matrix(metric: Metric) -> Any:
    """The graph for scipy, which takes a stored 0 for "no edge": a thousandth of a unit changes no integer distance."""
    graph = metric.graph
    weight = np.where(graph.weight == 0, 1e-3, graph.weight.astype(np.float64))
    return csr_matrix((weight, graph.index, graph.start), shape=(graph.n, graph.n))


def _relaxations(metric: Metric, sources: IndexArray) -> int:
    """How many edges leave the locations within the limit, over all sources."""
    graph, limit = metric.graph, level_to_units(metric.l_top)
    degree = np.diff(graph.start)
    found = (graph.distances(source, limit) for source in sources)
    return sum(int(degree[distance < kernels.UNREACHABLE].sum()) for distance in found)
