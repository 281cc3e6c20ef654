# SPDX-License-Identifier: Apache-2.0
"""Shortest paths from several sources at once: the distances of one search each, whatever the order of the work."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from geoelastic import _kernels as kernels
from geoelastic.metric import Graph
from maps import small_metric


def in_lanes(graph: Graph, sources: list[int], limits: list[int], space: Any = None) -> np.ndarray:
    """Distances (one row per source) after a search in stages, by lanes."""
    space = kernels.lane_workspace(graph.n) if space is None else space
    kernels.lanes_begin(np.array(sources, np.int32), *space)
    for limit in limits:
        kernels.lanes_expand(graph.start, graph.index, graph.weight, *space, np.int64(limit))
    found = space[0].reshape(graph.n, kernels.LANES)[:, : len(sources)].T.copy()
    reached = space[1][: space[-1][kernels.REACHED]]
    assert set(np.flatnonzero((found < kernels.FAR).any(axis=0))) <= set(reached.tolist())
    kernels.lanes_clear(*space)
    assert np.all(space[0] == kernels.FAR)
    return found


def one_by_one(graph: Graph, source: int, limit: int) -> np.ndarray:
    found = graph.distances(source, limit)
    return np.where(found == kernels.UNREACHABLE, kernels.FAR, found)


def random_graph(seed: int, n: int, edges: int) -> Graph:
    """Ends and weights at random, zero weights and loose parts among them."""
    rng = np.random.default_rng(seed)
    tail, tip = rng.integers(0, n, edges), rng.integers(0, n, edges)
    weight = rng.choice([0, 1, 7, 600, 5000], edges).astype(np.int32)
    return Graph.from_edges(n, tail[tail != tip], tip[tail != tip], weight[tail != tip])


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    sources=st.lists(st.integers(0, 29), min_size=1, max_size=kernels.LANES),
    limits=st.lists(st.integers(0, 30_000), min_size=1, max_size=4).map(sorted),
)
def test_every_lane_is_a_search_of_its_own(seed: int, sources: list[int], limits: list[int]) -> None:
    graph = random_graph(seed, 30, 45)
    found = in_lanes(graph, sources, limits)
    for lane, source in enumerate(sources):
        exact = one_by_one(graph, source, 2**28)
        near = exact <= limits[-1]
        np.testing.assert_array_equal(found[lane][near], exact[near])
        assert np.all(found[lane][~near] >= exact[~near])


def test_a_workspace_serves_again() -> None:
    graph = small_metric("conformal", "adaptive", rows=8, cols=8, l_top=1.0).graph
    space = kernels.lane_workspace(graph.n)
    for first in (0, 5, 11):
        sources = list(range(first, min(first + kernels.LANES, graph.n)))
        found = in_lanes(graph, sources, [kernels.FAR - 1], space)
        for lane, source in enumerate(sources):
            np.testing.assert_array_equal(found[lane], one_by_one(graph, source, 2**28))
