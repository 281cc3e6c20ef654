# SPDX-License-Identifier: Apache-2.0
"""The verifier accepts what holds and fails just beyond: a longer edge, a missing edge, a leak, a heavier
requirement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import geoelastic as ge
from geoelastic import _kernels as kernels
from geoelastic.fences import disc
from geoelastic.metric import Graph
from maps import PARIS, edge_list, small_metric
from reference.graphs import floyd_warshall, holds


def with_edges(metric, edges, **changes):
    """The metric with another edge list; fences' zero edges are the metric's own."""
    return replace(metric, graph=Graph.from_edges(metric.n, *zip(*edges, strict=True)), **changes)


def outside_edges(metric):
    return [tuple(map(int, e)) for e in zip(*metric.graph.edges(), strict=True)]


@pytest.mark.parametrize("method", ["conformal", "paper"])
def test_its_answer_equals_the_definition_for_every_single_longer_edge(method):
    metric = small_metric(method, "uniform", rows=5, cols=5)
    edges = outside_edges(metric)
    answers = set()
    for k in range(0, len(edges), 5):
        i, j, w = edges[k]
        longer = with_edges(metric, [*edges[:k], (i, j, 2 * w + 50), *edges[k + 1 :]], certificate={})
        d = floyd_warshall(metric.n, edge_list(longer))
        expected = all(
            holds(d[x], metric.mass_units, metric.requirement, metric.l_from, metric.l_top) for x in range(metric.n)
        )
        assert ge.verify(longer)["ok"] == expected
        answers.add(expected)
    assert False in answers


def test_a_longer_edge_fails_even_where_the_requirement_has_slack():
    metric = small_metric()
    edges = outside_edges(metric)
    longer = with_edges(metric, [(edges[0][0], edges[0][1], edges[0][2] + 1), *edges[1:]])
    result = ge.verify(longer)
    assert not result["ok"]
    assert not result["same_graph_as_certified"]


def test_a_truncated_graph_fails():
    metric = small_metric("paper", "uniform")
    edges = outside_edges(metric)
    result = ge.verify(with_edges(metric, edges[: len(edges) // 2], certificate={}))
    assert not result["ok"]
    assert result["violations"] > 0


def test_a_fence_that_leaks_fails():
    metric = small_metric(fences=[disc(*PARIS, 160)])
    assert ge.verify(metric)["ok"]
    inside, outside = int(np.flatnonzero(metric.fence)[0]), int(np.flatnonzero(metric.fence == 0)[0])
    result = ge.verify(with_edges(metric, [*outside_edges(metric), (inside, outside, 5000)], certificate={}))
    assert not result["ok"]
    assert result["fences"]["leaking_edges"] == 1


def test_a_fence_with_length_inside_fails():
    metric = small_metric(fences=[disc(*PARIS, 160)])
    a, b = (int(i) for i in np.flatnonzero(metric.fence)[:2])
    result = ge.verify(with_edges(metric, [*outside_edges(metric), (a, b, 3)], certificate={}))
    assert not result["ok"]


def test_it_fails_just_beyond_what_holds():
    metric = small_metric("paper", "uniform")
    ratio = metric.certificate["ratio"]["min"]
    assert ge.verify(metric)["ok"]
    heavier = ge.Custom(lambda level: ratio * 1.001 * ge.Quadratic().mass_at(level))
    beyond = ge.verify(replace(metric, requirement=heavier, certificate={}))
    assert not beyond["ok"]
    assert beyond["violations"] >= 1


def test_a_sample_checks_that_many():
    metric = small_metric()
    assert ge.verify(metric, sample=10)["checked"] == 10
    assert ge.verify(metric)["checked"] == metric.n


def test_nothing_to_check_is_not_ok():
    metric = small_metric()
    assert not ge.verify(replace(metric, frame_cells=50, certificate={}))["ok"]


@pytest.mark.parametrize("whole", [False, True])
def test_one_search_leaves_nothing_behind_for_the_next(whole):
    """Searches that stop early leave places noted but not reached; each must be as if it were the first."""
    metric = small_metric()
    table = metric.requirement.table(metric.l_from, metric.l_top)
    graph = kernels.adjacency(metric.n, *metric.edge_units())
    probes = np.linspace(table.size // 2, table.size - 1, 4).astype(np.int64)
    sources = np.arange(metric.n, dtype=np.int32)
    together = kernels.check_balls(*graph, metric.mass_units, table, sources, probes, whole)
    for k in range(metric.n):
        alone = kernels.check_balls(*graph, metric.mass_units, table, sources[k : k + 1], probes, whole)
        for one, all_of_them in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one, all_of_them[k : k + 1])
