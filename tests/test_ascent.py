# SPDX-License-Identifier: Apache-2.0
"""Edges with factors of their own: every ball still holds, raised edges bind, and nothing depends on the threads."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import geoelastic as ge
from geoelastic import _kernels as kernels
from geoelastic.fences import disc
from geoelastic.levels import UNREACHABLE
from geoelastic.metric import verify
from geoelastic.metric.ascent import ascend, carry_rise, edge_limits, fit_edges, rise_by, upper_part
from geoelastic.metric.cartogram import neighbours_between
from geoelastic.metric.conformal import conformal_graph
from geoelastic.metric.extract import extract
from geoelastic.metric.graph import Graph
from maps import JIT, L_TOP, PARIS, edge_list, small_mass, small_metric
from reference.ascent import rise_limits
from reference.graphs import floyd_warshall, holds

ONE = 1 << kernels.LIMIT_BITS


def random_graph(seed: int, n: int = 14) -> tuple[Graph, np.ndarray, np.ndarray]:
    """A graph whose distances from any vertex all differ (by odds), masses, and a table its balls may or may not
    meet."""
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if j == i + 1 or rng.random() < 0.3]
    tail, tip = zip(*pairs, strict=True)
    graph = Graph.from_edges(n, tail, tip, rng.integers(100, 4000, len(pairs))).simplified()
    mass = rng.integers(1, 50, n)
    table = np.zeros(6000, np.int64)
    for source in range(n):  # the most that is asked for with every ball holding
        inside, distance = np.zeros(6000, np.int64), graph.distances(source, 5999)
        for y in np.flatnonzero(distance < 6000):
            inside[distance[y] :] += mass[y]
        table = inside if source == 0 else np.minimum(table, inside)
    table[:500] = 0
    return graph, mass, np.maximum.accumulate(table // 2)


def raised_metric(**options: Any) -> Any:
    return small_metric(ascent=True, **options)


def shortfalls(metric: Any, edges: list[tuple[int, int, int]]) -> int:
    """Secrets whose ball falls short, by all distances and the definition."""
    distances = floyd_warshall(metric.n, edges)
    ball = (metric.mass_units, metric.requirement, metric.l_from, metric.l_top)
    return sum(not holds(distances[i], *ball) for i in np.flatnonzero(metric.secret & (metric.fence == 0)))


@pytest.mark.parametrize("seed", range(6))
def test_limits_equal_those_of_the_slow_twin(seed: int) -> None:
    graph, mass, table = random_graph(seed)
    sources = np.arange(0, graph.n, 2, dtype=np.int32)
    found = edge_limits(graph, mass, table, sources, workers=2)
    edges = [tuple(map(int, edge)) for edge in zip(*graph.edges(), strict=True)]
    limits, longer = rise_limits(graph.n, edges, mass.tolist(), table.tolist(), sources.tolist())
    assert limits
    for (i, j, _), limit in zip(edges, found, strict=True):
        if (i, j) in limits:
            assert limit == math.floor(limits[i, j] * ONE)
        else:
            assert limit == kernels.STAYS or (limit == kernels.LONGER and (i, j) in longer)
    near = {(i, j) for i, j in longer if i in sources and graph.distances(i, 5999)[j] < table.size}
    assert near
    assert all(limit == kernels.LONGER for (i, j, _), limit in zip(edges, found, strict=True) if (i, j) in near)


@pytest.mark.parametrize("seed", range(6))
def test_every_ball_holds_with_every_edge_at_its_limit(seed: int) -> None:
    graph, mass, table = random_graph(seed)
    sources = np.arange(graph.n, dtype=np.int32)
    tail, tip, weight = graph.edges()
    for turn in range(3):
        limit = edge_limits(graph, mass, table, sources, workers=1)
        raised = weight * np.clip(limit.astype(np.int64), ONE, 2**24) >> kernels.LIMIT_BITS
        raised[limit == kernels.STAYS] = weight[limit == kernels.STAYS]
        kept = limit != kernels.LONGER
        assert turn or (raised > weight).any()
        tail, tip, weight = tail[kept], tip[kept], raised[kept].astype(np.int32)
        graph = Graph.from_edges(graph.n, tail, tip, weight).simplified()
        assert kernels.ratios(
            graph.start, graph.index, graph.weight, mass, graph.buckets, table, sources, kernels.lane_kind(table.size)
        ).min() >= 1  # fmt: skip


def test_limits_of_parts_of_the_sources_merge_by_the_least() -> None:
    graph, mass, table = random_graph(3)
    whole = edge_limits(graph, mass, table, np.arange(graph.n, dtype=np.int32))
    parts = [edge_limits(graph, mass, table, np.arange(k, graph.n, 3, dtype=np.int32)) for k in range(3)]
    np.testing.assert_array_equal(whole, np.minimum.reduce(parts))


def test_on_a_line_an_edge_rises_to_its_limit_and_not_a_unit_further() -> None:
    """0 -5- 1 -7- 2: with 1 unit of mass each, level 9 needs two and level 15 three: 1 may come 4 later, 2 only 3."""
    graph = Graph.from_edges(3, [0, 1], [1, 2], [5, 7])
    table = np.array([0] * 9 + [2] * 6 + [3], np.int64)
    mass, source = np.ones(3, np.int64), np.zeros(1, np.int32)
    limit = edge_limits(graph, mass, table, source)
    assert limit.tolist() == [15 * ONE // 12, 15 * ONE // 12]

    def least(first: int, second: int) -> float:
        line = Graph.from_edges(3, [0, 1], [1, 2], [first, second])
        arrays = (line.start, line.index, line.weight, mass, line.buckets, table, source)
        return float(kernels.ratios(*arrays, kernels.lane_kind(table.size))[0])

    assert least(5 * 15 // 12, 7 * 15 // 12) >= 1
    assert least(8, 7) >= 1
    assert least(9, 7) < 1
    assert least(5, 10) >= 1
    assert least(5, 11) < 1


def test_rises_are_rounded_down_and_never_fall() -> None:
    full = np.array([1000, 1000, 1000, 3, 0, 1000, 1000], np.int64)
    rise = np.array([128, 100, 255, 128, 128, 128, 7], np.uint8)
    limit = np.array([ONE * 9 // 8, ONE, ONE * 2, ONE * 2, ONE * 2, kernels.STAYS, kernels.LONGER])
    raised = rise_by(limit.astype(np.int32), full, rise)
    assert raised.tolist() == [144, 100, 255, 170, 128, 128, 0]
    weight, before = full * raised >> kernels.RISE_BITS, full * rise >> kernels.RISE_BITS
    assert (weight <= before * 13 // 10)[:5].all()


@pytest.mark.parametrize("fenced", [False, True])
def test_the_default_metric_holds_by_brute_force_and_its_edges_bind(fenced: bool) -> None:
    fences = [disc(*PARIS, 160)] if fenced else []
    metric = raised_metric(fences=fences)
    edges = edge_list(metric)
    assert shortfalls(metric, edges) == 0
    assert metric.rise is not None
    assert (metric.rise == 0).any()
    assert (metric.rise > 1 << kernels.RISE_BITS).any()
    if not fenced:
        loose = small_metric(ascent=False)
        assert metric.certificate["ratio"]["mean"] < 0.95 * loose.certificate["ratio"]["mean"]
        broken = [_breaks(metric, edge) for edge in range(0, len(edges), 19)]
        assert np.mean(broken) > 0.5  # one edge in two cannot be 5 % longer
        assert np.mean(broken) > 2 * np.mean(
            [_breaks(loose, edge) for edge in range(0, loose.graph.index.size // 2, 19)]
        )


def _breaks(metric: Any, edge: int) -> bool:
    """Whether some ball falls short if one edge is 5 % longer."""
    tail, tip, weight = (part.copy() for part in metric.graph.edges())
    weight[edge] += weight[edge] // 20 + 1
    longer = Graph.from_edges(metric.n, tail, tip, weight)
    return not verify(replace(metric, graph=longer, certificate={}), workers=1)["ok"]


def test_the_same_for_any_number_of_threads() -> None:
    one, three = (
        ge.build_metric(small_mass(), ascent=True, l_top=L_TOP, frame=0.0, workers=workers) for workers in (1, 3)
    )
    np.testing.assert_array_equal(one.rise, three.rise)
    assert one.certificate == three.certificate


@pytest.mark.parametrize(
    "options",
    [
        {"requirement": ge.Step(level=0.5, mass=0.4)},
        {"l_from": 0.0, "l_top": 0.7},
        {"l_from": 0.65},
        {"l_top": 0.5},
        {"layout": "uniform"},
        {"cartogram": False},
    ],
)
def test_any_requirement_holds(options: dict[str, Any]) -> None:
    metric = raised_metric(**options)
    assert verify(metric)["ok"]
    assert shortfalls(metric, edge_list(metric)) == 0


def test_paths_that_cannot_be_shortened_leave_it_to_the_scales() -> None:
    """An empty location whose neighbours all lie beyond the last level that paths look at."""
    start, index = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)
    neighbours = start, index, np.array([2**12, 2**12, 2**12, 2**12], np.int32)
    mass = np.array([0, 9, 9], np.int64)
    table = np.where(np.arange(9001) >= 1500, 5, 0)
    scale, rise = fit_edges(neighbours, np.full(3, 2**16, np.int32), mass, table, np.zeros(1, np.int32))
    weight = conformal_graph(neighbours, scale, rise).weight
    assert 0 < weight[0] <= 1500


def test_scales_see_to_the_upper_levels() -> None:
    table = ge.Quadratic().table(0.35, 1.8)
    upper = upper_part(table)
    assert np.argmax(upper > 0) == math.floor(0.6 * 2**13)
    np.testing.assert_array_equal(upper[upper > 0], table[upper > 0])
    assert np.argmax(upper_part(table[:4000]) > 0) == 3999


def test_further_passes_only_raise() -> None:
    metric = raised_metric()
    neighbours = neighbours_between(metric.locations, metric.fence, metric.place)
    base = conformal_graph(neighbours, metric.scale)
    sources = np.flatnonzero(metric.secret).astype(np.int32)
    table = metric.requirement.table(metric.l_from, metric.l_top)
    more = ascend(base, metric.rise, metric.mass_units, table, sources, passes=4)
    assert (more[more > 0] >= metric.rise[more > 0]).all()
    raised = replace(metric, graph=conformal_graph(neighbours, metric.scale, more), rise=more, certificate={})
    assert verify(raised)["ok"]


def test_edges_around_some_places_rise_by_the_balls_that_reach_there() -> None:
    """From rises a tenth lower: edges of one corner go up again, all others stay, and every ball holds."""
    metric = raised_metric()
    neighbours = neighbours_between(metric.locations, metric.fence, metric.place)
    base = conformal_graph(neighbours, metric.scale)
    table = metric.requirement.table(metric.l_from, metric.l_top)
    lower = np.where(metric.rise > 0, np.maximum(metric.rise // 10 * 9, 1), 0).astype(np.uint8)
    around = np.hypot(*(metric.xy - metric.xy.min(axis=0)).T) < 500
    low = Graph(*kernels.raise_edges(base.start, base.index, base.weight, lower))
    seeds = np.flatnonzero(around).astype(np.int32)
    reach = kernels.distances_from_any(low.start, low.index, low.weight, low.buckets, seeds, table.size - 1)
    sources = np.flatnonzero(metric.secret & (reach != UNREACHABLE)).astype(np.int32)
    assert 0 < seeds.size < metric.n
    risen = ascend(base, lower, metric.mass_units, table, sources, around=around)
    tail, tip, _ = base.edges()
    inside = around[tail] | around[tip]
    assert (risen[inside] > lower[inside]).any()
    np.testing.assert_array_equal(risen[~inside], lower[~inside])
    raised = replace(metric, graph=conformal_graph(neighbours, metric.scale, risen), rise=risen, certificate={})
    assert shortfalls(raised, edge_list(raised)) == 0


def test_rises_go_with_their_edges_into_a_cut_and_a_carving() -> None:
    metric = raised_metric()
    neighbours = metric.locations.neighbours(metric.fence)
    np.testing.assert_array_equal(carry_rise(metric.rise, neighbours, neighbours, np.arange(metric.n)), metric.rise)
    unknown = np.full(metric.n, -1)
    assert (carry_rise(metric.rise, neighbours, neighbours, unknown) == 1 << kernels.RISE_BITS).all()
    part = extract(metric, ge.Area(*PARIS, 900.0, 800.0))
    assert part.rise is not None
    assert verify(part)["ok"]
    whole, cut = by_square(metric), by_square(part)
    assert all(whole[pair] == weight for pair, weight in cut.items() if pair in whole)
    assert len(cut.keys() & whole.keys()) > 0.8 * len(cut)


def by_square(metric: Any) -> dict[Any, int]:
    """The edges by where their ends lie, in metres: the same for a part of a map."""
    area = metric.grid.area
    at = [(round(x + area.east_m), round(y + area.north_m)) for x, y in metric.xy]
    return {(min(at[i], at[j]), max(at[i], at[j])): w for i, j, w in edge_list(metric)}


@pytest.mark.no_cover
@pytest.mark.skipif(not JIT, reason="a hundred times slower without numba")
def test_a_fence_puts_back_the_edges_around_it_and_leaves_the_others_alone() -> None:
    metric = raised_metric(rows=24, cols=24, seed=5)
    carved = metric.with_fences([disc(*PARIS, 250)])
    assert carved.certificate["ok"]
    assert shortfalls(carved, edge_list(carved)) == 0
    before, after = by_square(metric), by_square(carved)
    middle = {pair: np.hypot(*np.mean(pair, axis=0)) for pair in before.keys() | after.keys()}
    back = after.keys() - before.keys()
    assert back
    assert max(middle[pair] for pair in back) < 800  # three rings around the fence, and its own radius
    far = [pair for pair in before if middle[pair] > 1100]
    assert sum(after[pair] == before[pair] for pair in far) > 0.5 * len(far)
