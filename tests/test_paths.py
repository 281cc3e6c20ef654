# SPDX-License-Identifier: Apache-2.0
"""Search kernels against their slow twins, on random graphs: a search for each source, and one for many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geoelastic import _kernels as kernels
from geoelastic.metric import Graph
from reference.graphs import INF, floyd_warshall, least_ratio


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 14))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(0, 40))
    return n, [(i, j, w) for i, j, w in draw(st.lists(pair, max_size=40)) if i != j]


def make(n, edges):
    columns = list(zip(*edges, strict=True)) or [[], [], []]
    return Graph.from_edges(n, *columns)


def ratios(graph, mass, table, sources, kind):
    return kernels.ratios(graph.start, graph.index, graph.weight, mass, graph.buckets, table, sources, kind)


@given(graphs())
@settings(max_examples=80)
def test_distances_equal_floyd_warshall(case):
    n, edges = case
    graph, d = make(n, edges), floyd_warshall(n, edges)
    for source in range(n):
        assert list(graph.distances(source, INF - 1)) == d[source]
        assert list(graph.distances(source, 25)) == [x if x <= 25 else INF for x in d[source]]
    seeds = np.array([0, n - 1], np.int32)
    any_of = kernels.distances_from_any(graph.start, graph.index, graph.weight, graph.buckets, seeds, 30)
    assert list(any_of) == [min(a, b) if min(a, b) <= 30 else INF for a, b in zip(d[0], d[n - 1], strict=True)]


@given(graphs(), st.lists(st.integers(0, 9), min_size=14, max_size=14), st.integers(0, 5))
@settings(max_examples=80)
def test_ratios_and_the_verifier_equal_the_definition(case, masses, quiet):
    n, edges = case
    graph, d = make(n, edges), floyd_warshall(n, edges)
    mass = np.array(masses[:n], np.int64)
    table = np.array([0] * quiet + [1 + k // 4 for k in range(30 - quiet)], np.int64)
    sources = np.arange(n, dtype=np.int32)
    least = ratios(graph, mass, table, sources, np.uint16)
    many = np.tile(sources, 20)  # enough to share searches, and more than one search takes
    for kind in (np.uint16, np.uint32):
        np.testing.assert_array_equal(ratios(graph, mass, table, many, kind), np.tile(least, 20))
    offset, vertex, cost = kernels.adjacency(n, *graph.edges())
    probes = np.array([10, 29])
    checked = kernels.check_balls(offset, vertex, cost, mass, table, sources, probes, True)
    quick = kernels.check_balls(offset, vertex, cost, mass, table, sources, probes, False)
    for x in range(n):
        expected = least_ratio(d[x], mass, table)
        assert least[x] == expected
        assert checked[0][x] == expected
        assert checked[2][x] == quick[2][x] == (expected >= 1)
        for k, probe in enumerate(probes):
            inside = sum(int(m) for m, at in zip(mass, d[x], strict=True) if at <= probe)
            assert checked[3][x, k] == inside / table[probe]


@given(graphs())
@settings(max_examples=40)
def test_a_simplified_graph_is_the_same_metric_whatever_the_order_of_its_edges(case):
    n, edges = case
    one, other = make(n, edges).simplified(), make(n, edges[::-1]).simplified()
    for a, b in zip(one.edges(), other.edges(), strict=True):
        assert list(a) == list(b)
    d = floyd_warshall(n, edges)
    assert [list(one.distances(x, INF - 1)) for x in range(n)] == d


@given(graphs())
@settings(max_examples=40)
def test_laws_of_a_metric(case):
    n, edges = case
    graph = make(n, edges)
    d = np.array([graph.distances(x, INF - 1) for x in range(n)], dtype=np.int64)
    assert (d == d.T).all()
    assert (np.diag(d) == 0).all()
    through = (d[:, :, None] + d[None, :, :]).min(axis=1)
    assert (d <= through).all()


@given(graphs(), st.integers(0, 60))
@settings(max_examples=40)
def test_sources_that_share_a_search_have_the_distances_of_their_own(case, limit):
    n, edges = case
    graph, d = make(n, edges), floyd_warshall(n, edges)
    sources = np.random.default_rng(limit).integers(0, n, 1 + 3 * limit).astype(np.int32)[: kernels.TOGETHER]
    for kind in (np.uint16, np.uint32):
        space = kernels.bounded_workspace(n, graph.index.size, graph.buckets, kind)
        region, rows = kernels.bounded_paths(graph.start, graph.index, graph.weight, sources, limit + 1, kind, *space)
        assert sorted(region) == [v for v in range(n) if any(d[s][v] <= limit for s in sources)]
        for v, row in zip(region, rows.reshape(-1, kernels.TOGETHER), strict=True):
            assert list(row[: sources.size]) == [min(d[s][v], limit + 1) for s in sources]


def test_the_lanes_of_a_shared_search_hold_twice_its_limit():
    for top in (1, 30, 2**14, 2**15 - 2, 2**15 - 1, 2**15, 10 * 2**13):
        assert 2 * (top + 1) <= np.iinfo(kernels.lane_kind(top + 1)).max


def test_a_shared_search_at_the_far_end_of_its_type():
    top = 2**15 - 2
    chain = make(3, [(0, 1, top), (1, 2, 1), (0, 2, 40_000)])
    table = np.zeros(top + 1, np.int64)
    table[-1] = 10
    mass, sources = np.array([1, 10, 100], np.int64), np.array([0, 1, 2] * 6, np.int32)
    assert kernels.lane_kind(table.size) is np.uint16
    assert list(ratios(chain, mass, table, sources, np.uint16)) == [1.1, 11.1, 11] * 6


@pytest.mark.parametrize("times", [1, 20])
def test_shrinking_touches_only_balls_that_fall_short(times):
    edges = [(k, k + 1, 10) for k in range(9)]
    graph = make(10, edges)
    mass = np.full(10, 5, np.int64)
    mass[0] = 1
    table = np.array([0] * 5 + [5] * 6, np.int64)
    sources = np.tile(np.arange(10, dtype=np.int32), times)
    factor, short = kernels.shrink_factors(
        graph.start, graph.index, graph.weight, mass, graph.buckets, table, sources, 0.5, np.uint16
    )
    assert list(short) == ([True] + [False] * 9) * times
    assert factor[1] == pytest.approx(np.sqrt(1 / 5))  # at the ball's radius
    assert factor[0] == np.exp(-1)  # 25 times that near the centre, but no more than e at once
    assert (factor[2:] == 1).all()
