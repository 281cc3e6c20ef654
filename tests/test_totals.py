# SPDX-License-Identifier: Apache-2.0
"""Normalisers from bounded searches: what is near is exact, what is far is bounded, for those who build and those who
verify."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geoelastic import _kernels as kernels
from geoelastic.arrays import IndexArray
from geoelastic.metric import Graph
from geoelastic.metric.totals import Totals, in_groups, in_walking_order, log_ratio_units, totals_within, weight_table
from geoelastic.metric.verify_relief import _sums as verified_sums
from maps import JIT, small_metric
from reference.graphs import dijkstra
from reference.totals import split_total

LEVEL = 2**13


def loose_graph(seed: int, n: int, edges: int, longest: int) -> Graph:
    """Ends and weights at random, zero weights, long edges and loose parts among them."""
    rng = np.random.default_rng(seed)
    tail, tip = rng.integers(0, n, edges), rng.integers(0, n, edges)
    weight = np.where(rng.random(edges) < 0.1, 0, rng.integers(1, longest, edges)).astype(np.int32)
    return Graph.from_edges(n, tail[tail != tip], tip[tail != tip], weight[tail != tip])


def assert_right(graph: Graph, measure: Any, found: Totals, sources: Any, bound: int) -> None:
    at_bound = float(weight_table()[bound])
    edges = [(int(i), int(j), int(w)) for i, j, w in zip(*graph.edges(), strict=True)]
    for i in sources:
        near, within, rest = split_total(dijkstra(graph.n, edges, int(i)), measure, bound)
        assert found.near[i] == pytest.approx(float(near), rel=1e-12, abs=1e-6)
        assert found.least[i] == pytest.approx(at_bound * within, rel=1e-12)
        assert found.least[i] <= float(rest) * (1 + 1e-12)
        assert float(rest) <= found.most[i] * (1 + 1e-12)


@pytest.mark.no_cover
@settings(max_examples=25 if JIT else 2)
@given(
    seed=st.integers(0, 2**32 - 1),
    longest=st.sampled_from([50, 3000, 5 * LEVEL, 12 * LEVEL]),
    bound=st.sampled_from([1, 700, 2 * LEVEL, 11 * LEVEL]),
)
def test_sums_are_those_of_the_definition(seed: int, longest: int, bound: int) -> None:
    """With edges of some levels the sources of a group are too far apart for sixteen bits: they are taken apart."""
    n = 40 if JIT else 12
    graph = loose_graph(seed, n, 2 * n, longest)
    measure = np.random.default_rng(seed + 1).integers(0, 50, n)
    sources = np.argsort(graph.components, kind="stable").astype(np.int32)
    found = totals_within(graph, measure, sources, bound / LEVEL, tail=True, workers=2)
    assert_right(graph, measure, found, sources, bound)
    parts = [totals_within(graph, measure, some, bound / LEVEL, tail=True) for some in np.split(sources, [n // 3])]
    assert_right(graph, measure, parts[0].beside(parts[1]), sources, bound)
    near, least, most = verified_sums(
        kernels.adjacency(n, *graph.edges()), measure, np.arange(n, dtype=np.int32), 2, 1, None
    )
    assert_right(graph, measure, Totals(near, least, most, 2.0), range(n), 2 * LEVEL)


@pytest.mark.skipif(not JIT, reason="many locations")
def test_a_long_map_where_most_is_out_of_reach() -> None:
    """A chain of 3,000 locations: the tail is bounded without being walked to its end, and the bound is close."""
    n = 3000
    graph = Graph.from_edges(n, np.arange(n - 1), np.arange(1, n), np.full(n - 1, 700, np.int32))
    measure = np.random.default_rng(5).integers(1, 9, n)
    sources = np.arange(n, dtype=np.int32)
    found = totals_within(graph, measure, sources, 4.5, tail=True)
    some = sources[::251]
    assert_right(graph, measure, found, some, int(4.5 * LEVEL))
    estimate = found.estimate(np.full(n, float(measure.sum())))
    edges = [(int(i), int(j), int(w)) for i, j, w in zip(*graph.edges(), strict=True)]
    for i in some:
        near, _, rest = split_total(dijkstra(n, edges, int(i)), measure, int(4.5 * LEVEL))
        assert estimate[i] == pytest.approx(float(near + rest), rel=0.02)
    assert np.all(found.most - found.least < 0.2 * found.near)


def test_three_values_decide_the_largest_ratio() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        length = np.array([rng.integers(1, 2 * LEVEL)], np.int32)
        near_x, near_y = rng.random(2) * [1, 1] * rng.choice([0.0, 1.0, 1.0], 2)
        least_y, most_x = rng.random(2) * 0.3
        most_y = least_y + rng.random() * 0.3
        growth = math.exp(length[0] / LEVEL)
        tried = [
            (near_x + min(growth * rho, most_x)) / (near_y + rho)
            for rho in np.linspace(least_y, most_y, 400)
            if near_y + rho > 0
        ]
        found = log_ratio_units(length, *(np.array([v]) for v in (near_x, most_x, near_y, least_y, most_y)))[0]
        expected = min(math.log(max(tried)) * LEVEL, length[0])
        assert expected - 1e-6 <= found <= expected + 0.02 * LEVEL


def test_sources_that_follow_one_another_are_close_and_of_one_component() -> None:
    metric = small_metric("conformal", "uniform", rows=16, cols=16, l_top=0.5)
    chosen = np.ones(metric.n, bool)
    chosen[7] = False
    order = in_walking_order(metric.locations, metric.graph, chosen)
    assert sorted(order) == [i for i in range(metric.n) if i != 7]
    steps = np.abs(np.diff(metric.xy[order], axis=0)).sum(axis=1) / metric.grid.cell_m
    assert np.count_nonzero(steps > 1.5) <= 1
    halves = Graph.from_edges(metric.n, *(part[:0] for part in metric.graph.edges()))
    assert np.all(np.diff(halves.components[in_walking_order(metric.locations, halves, chosen)]) > 0)


@pytest.mark.skipif(not JIT, reason="many locations")
def test_sources_that_share_a_search_are_close_where_most_are_left_out() -> None:
    """A ring, not in the middle: on a walk through the whole square its parts follow one another from afar."""
    metric = small_metric("conformal", "uniform", rows=64, cols=64, l_top=0.5)
    walk = in_walking_order(metric.locations, metric.graph, np.ones(metric.n, bool))
    away = np.hypot(*(metric.xy / metric.grid.cell_m - [6, -3]).T)
    ring = (away > 12) & (away < 17)
    order = in_groups(metric.locations, walk, ring)
    assert sorted(order) == list(np.flatnonzero(ring))

    def widths(order: IndexArray) -> list[float]:
        groups = [order[first : first + 128] for first in range(0, order.size, 128)]
        return [np.ptp(metric.xy[some], axis=0).max() / metric.grid.cell_m for some in groups]

    assert np.mean(widths(order)) < 0.8 * np.mean(widths(walk[ring[walk]]))
    assert np.all(np.diff(np.argsort(walk)[order[:128]]) > 0)
    assert in_groups(metric.locations, walk, np.zeros(metric.n, bool)).size == 0


@pytest.mark.skipif(not JIT, reason="many locations")
def test_sources_too_far_apart_are_taken_apart_where_they_are() -> None:
    """Two heaps twelve levels apart, one of them the middle of the list: one search more for each, and right sums."""
    n, far = 240, 120
    chain = np.full(n - 1, 100, np.int32)
    chain[far - 1] = 12 * LEVEL
    graph = Graph.from_edges(n, np.arange(n - 1), np.arange(1, n), chain)
    measure = np.random.default_rng(8).integers(1, 9, n)
    sources = np.concatenate([np.arange(40), np.arange(far, n), np.arange(40, far)]).astype(np.int32)
    for bound in (10 * LEVEL, 16 * LEVEL):
        found = totals_within(graph, measure, sources, bound / LEVEL, tail=True)
        assert_right(graph, measure, found, range(0, n, 7), bound)


def test_weights_beyond_any_search_are_not_read() -> None:
    graph = Graph.from_edges(3, [0, 1], [1, 2], np.array([40 * LEVEL, 40 * LEVEL], np.int32))
    found = totals_within(graph, np.array([1, 1, 1]), np.arange(3, dtype=np.int32), 11.0, tail=True)
    assert np.all(found.most < 2e-5)
    assert np.all(found.near > 0.9)
