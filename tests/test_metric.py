# SPDX-License-Identifier: Apache-2.0
"""Both builders on small maps: distances by Floyd-Warshall, the requirement by its definition, fences, frame,
errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import geoelastic as ge
from geoelastic.errors import MassError
from geoelastic.fences import disc
from geoelastic.metric import Graph
from geoelastic.metric.conformal import repair
from geoelastic.metric.paper import build_paper_graph, candidate_order
from maps import PARIS, ROWS, edge_list, small_mass, small_metric
from reference.graphs import INF, floyd_warshall, holds
from reference.layouts import conformal_weight, neighbour_pairs, unmoved
from reference.paper import paper_edges

WAYS = [("conformal", "adaptive"), ("conformal", "uniform"), ("paper", "uniform"), ("paper", "adaptive")]


@pytest.mark.parametrize(("method", "layout"), WAYS)
def test_distances_equal_floyd_warshall_and_the_requirement_holds_by_definition(method, layout):
    metric = small_metric(method, layout)
    d = floyd_warshall(metric.n, edge_list(metric))
    for i in range(metric.n):
        assert list(metric.distance_units_from(i)) == d[i]
        assert holds(d[i], metric.mass_units, metric.requirement, metric.l_from, metric.l_top)
    assert metric.certificate["ok"]
    assert metric.certificate["checked"] == metric.n
    assert metric.certificate["ratio"]["min"] >= 1


@pytest.mark.parametrize(("method", "layout"), WAYS)
@pytest.mark.parametrize(
    "requirement",
    [ge.Linear(), ge.Step(0.5, 2.0), ge.Custom(lambda level: 2 * level**3)],
    ids=["linear", "step", "custom"],
)
def test_any_requirement(method, layout, requirement):
    metric = small_metric(method, layout, requirement=requirement, l_top=0.9, rows=5, cols=6)
    for i in range(metric.n):
        distances = list(metric.distance_units_from(i))
        assert holds(distances, metric.mass_units, requirement, metric.l_from, metric.l_top)


@given(st.integers(3, ROWS - 1), st.integers(3, ROWS - 1), st.integers(0, 10**6), st.sampled_from(WAYS))
@settings(max_examples=12)
def test_any_small_map(rows, cols, seed, way):
    metric = small_metric(*way, rows=rows, cols=cols, seed=seed, l_top=0.6, frame=0.03)
    assert metric.certificate["ok"]
    for i in np.flatnonzero(metric.secret):
        distances = list(metric.distance_units_from(int(i)))
        assert holds(distances, metric.mass_units, metric.requirement, metric.l_from, metric.l_top)


@pytest.mark.jit  # contrasts need room: 196 cells
@pytest.mark.parametrize("method", ["conformal", "paper"])
@pytest.mark.parametrize("contrast", ["block", "desert", "steep", "even"])
def test_hard_maps(method, contrast):
    cells = np.full((14, 14), 0.01)
    if contrast == "block":
        cells[6:8, 6:8] = 5
    elif contrast == "desert":
        cells[:, 7:] = 0
        cells[:, :7] = 0.2
    elif contrast == "steep":
        cells[:7] = 1e-4
        cells[7:] = 1.0
    else:
        cells[:] = 0.2
    mass = ge.Mass.from_array(cells, cell_m=100, origin=PARIS)
    metric = ge.build_metric(mass, method=method, l_top=math.log(3))
    assert metric.certificate["ok"]
    for i in np.flatnonzero(metric.secret)[::7]:
        distances = list(metric.distance_units_from(int(i)))
        assert holds(distances, metric.mass_units, metric.requirement, metric.l_from, metric.l_top)


def test_l_from_zero_is_the_papers_literal_requirement():
    metric = small_metric("conformal", "uniform", l_from=0.0, l_top=0.8)
    for i in range(metric.n):
        assert holds(list(metric.distance_units_from(i)), metric.mass_units, metric.requirement, 0.0, 0.8)


@pytest.mark.parametrize("cartogram", [True, False])
def test_conformal_weights_equal_their_written_form(cartogram):
    metric = small_metric(cartogram=cartogram)
    at = metric.locations
    squares = [tuple(map(int, s)) for s in zip(at.row, at.col, at.size, strict=True)]
    places = metric.place.tolist() if cartogram else [unmoved(square) for square in squares]
    expected = {
        (i, j): int(rise) * conformal_weight(places[i], places[j], int(metric.scale[i]), int(metric.scale[j])) // 128
        for (i, j), rise in zip(sorted(neighbour_pairs(squares)), metric.rise, strict=True)
        if rise > 0
    }
    assert {(i, j): w for i, j, w in edge_list(metric)} == expected


def test_a_repair_reaches_beyond_a_ball_that_is_at_zero_already():
    """Two locations at distance 0 with too little mass, and all others further than the last level."""
    start, index = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)
    length = np.array([512, 512, 2**20, 2**20], np.int32)
    scale, mass = np.array([0, 0, 2**20], np.int32), np.array([1, 1, 10], np.int64)
    table = np.array([0] * 10 + [5] * 11, np.int64)
    repaired = repair((start, index, length), scale, mass, table, np.array([0], np.int32), workers=1)
    assert 0 < (2**20 * int(repaired[2])) >> 17 <= 20
    with pytest.raises(MassError, match="0 already"):
        repair((np.arange(3), index[:2], length[:2]), scale[:2], mass[:2], table, np.array([0], np.int32), workers=1)


@pytest.mark.parametrize("literal", [False, True])
def test_the_paper_builder_equals_its_slow_twin(literal):
    mass = small_mass(6, 6, seed=4, low=0.2)
    metric = ge.build_metric(mass, method="paper", l_top=0.7, frame=0.0, literal=literal)
    table = [int(t) for t in metric.requirement.table(0.0, 0.7)]
    rings = list(zip(*(part.tolist() for part in candidate_order(6, "fourfold")), strict=True))
    twin = paper_edges(6, 6, [int(m) for m in metric.mass_units], table, rings, [True] * 36, literal)
    expected = Graph.from_edges(36, *zip(*twin, strict=True)).simplified()
    assert [list(part) for part in metric.graph.edges()] == [list(part) for part in expected.edges()]


def test_candidates_go_outwards_and_alternate_directions():
    rows, cols = candidate_order(3, "fourfold")
    first = list(zip(rows.tolist(), cols.tolist(), strict=True))[:8]
    assert first == [(-1, 0), (1, 0), (-1, 1), (1, -1), (0, 1), (0, -1), (1, 1), (-1, -1)]
    ring = np.floor(np.hypot(rows, cols))
    assert (np.diff(ring) >= 0).all()
    for strategy in ("opposite", "golden", "sequence"):
        other = candidate_order(3, strategy)
        assert set(zip(*(p.tolist() for p in other), strict=True)) == set(
            zip(rows.tolist(), cols.tolist(), strict=True)
        )


@pytest.mark.jit  # as plain Python threads take turns
@pytest.mark.parametrize(("method", "layout"), WAYS)
def test_the_number_of_threads_changes_nothing(method, layout):
    one = ge.build_metric(small_mass(), method=method, layout=layout, l_top=1.0, workers=1)
    three = ge.build_metric(small_mass(), method=method, layout=layout, l_top=1.0, workers=3)
    for a, b in zip(one.graph.edges(), three.graph.edges(), strict=True):
        assert list(a) == list(b)


@pytest.mark.parametrize(("method", "layout"), WAYS)
def test_a_file_gives_the_metric_back_bit_for_bit(method, layout, tmp_path):
    metric = small_metric(method, layout, fences=[disc(*PARIS, 160)])
    metric.save(tmp_path / "a.geoelastic")
    again = ge.load(tmp_path / "a.geoelastic")
    for a, b in zip(metric.edge_units(), again.edge_units(), strict=True):
        assert list(a) == list(b)
    assert again.certificate == metric.certificate
    assert ge.verify(again)["ok"]
    again.save(tmp_path / "b.geoelastic")
    assert (tmp_path / "a.geoelastic").read_bytes() == (tmp_path / "b.geoelastic").read_bytes()


@pytest.mark.parametrize(("method", "layout"), WAYS)
def test_fences_are_zero_inside_infinite_across_and_lend_nothing(method, layout):
    fence = disc(*PARIS, 160)
    metric = small_metric(method, layout, fences=[fence])
    inside = np.flatnonzero(metric.fence == 1)
    outside = np.flatnonzero(metric.fence == 0)
    assert inside.size
    d = floyd_warshall(metric.n, edge_list(metric))
    assert all(d[i][j] == 0 for i in inside for j in inside)
    assert all(d[i][j] == INF for i in inside for j in outside)
    for i in outside:
        assert list(metric.distance_units_from(int(i))) == d[i]
        assert holds(d[i], metric.mass_units, metric.requirement, metric.l_from, metric.l_top)


def test_locate_and_latlon_are_each_others_inverse():
    metric = small_metric()
    for i in range(metric.n):
        assert metric.locate(*metric.latlon(i)) == i


def test_the_frame_may_be_reported_but_not_be_a_secret():
    metric = small_metric(frame=0.2)
    corner = int(metric.locations.owner[0, 0])
    assert not metric.is_secret(corner)
    with pytest.raises(ge.FrameError, match="frame"):
        metric.locate_secret(*metric.latlon(corner))


def test_a_place_outside_is_a_clear_error_that_does_not_repeat_the_place():
    metric = small_metric()
    with pytest.raises(ge.OutsideError, match="outside the map") as caught:
        metric.locate(41.123456, 12.654321)
    assert "41.1" not in str(caught.value)


def test_more_mass_than_the_map_has_is_refused_with_what_would_work():
    with pytest.raises(ge.MassError, match="'l_top' must be at most"):
        ge.build_metric(small_mass(), l_top=9.0)
    limit = ge.Quadratic().level_of(small_mass().total)
    assert ge.build_metric(small_mass(), l_top=limit * 0.99).certificate["ok"]


def test_a_fence_that_cuts_off_too_little_mass_is_refused():
    wall = [disc(PARIS[0] + dy, PARIS[1], 150) for dy in np.linspace(-0.0048, 0.0048, 12)]
    with pytest.raises(ge.MassError, match="cut off"):
        ge.build_metric(small_mass(14, 14, low=0.02, high=0.03), l_top=1.2, fences=wall, frame=0.0)


@pytest.mark.parametrize(
    "options",
    [{"method": "best"}, {"layout": "hexagons"}, {"frame": 0.7}, {"frame": math.nan}, {"l_top": -1}, {"workers": 0}],
)
def test_bad_options_are_refused(options):
    with pytest.raises(ge.InputError):
        ge.build_metric(small_mass(), **options)


@pytest.mark.jit  # three builds of 144 cells, so that there are passes to stop between
def test_a_stopped_paper_build_goes_on_to_the_identical_file(tmp_path, monkeypatch):
    from geoelastic.metric import paper

    monkeypatch.setattr(paper, "_EVERY_S", 0.0)
    mass, path = small_mass(12, 12, low=0.01, high=0.05), tmp_path / "build.checkpoint"
    whole = ge.build_metric(mass, method="paper", l_top=1.0)
    passes = []

    def stop_after_two(self, state, original=paper.Checkpoint.write):
        original(self, state)
        passes.append(state.passes)
        if len(passes) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(paper.Checkpoint, "write", stop_after_two)
        with pytest.raises(KeyboardInterrupt):
            ge.build_metric(mass, method="paper", l_top=1.0, checkpoint=path)
    assert path.exists()
    resumed = ge.build_metric(mass, method="paper", l_top=1.0, checkpoint=path)
    assert not path.exists()
    whole.save(tmp_path / "whole.geoelastic")
    resumed.save(tmp_path / "resumed.geoelastic")
    assert (tmp_path / "whole.geoelastic").read_bytes() == (tmp_path / "resumed.geoelastic").read_bytes()


def test_a_checkpoint_of_other_inputs_is_not_used(tmp_path, monkeypatch):
    from geoelastic.metric import paper

    monkeypatch.setattr(paper, "_EVERY_S", 0.0)
    monkeypatch.setattr(paper.Checkpoint, "done", lambda self: None)
    path = tmp_path / "build.checkpoint"
    ge.build_metric(small_mass(seed=1), method="paper", l_top=0.8, checkpoint=path)
    other = ge.build_metric(small_mass(seed=2), method="paper", l_top=0.8, checkpoint=path)
    fresh = ge.build_metric(small_mass(seed=2), method="paper", l_top=0.8)
    assert [list(a) for a in other.graph.edges()] == [list(a) for a in fresh.graph.edges()]


def test_the_euclidean_metric_is_a_metric_and_never_exceeds_epsilon_times_distance():
    epsilon = math.log(2) / 300
    metric = ge.euclidean_metric(small_mass(6, 7), epsilon=epsilon)
    d = np.array([metric.distance_units_from(i) for i in range(metric.n)], dtype=np.int64)
    apart = np.hypot(*(metric.xy[:, None] - metric.xy[None]).T)
    assert (d * 2.0**-13 <= epsilon * apart + 1e-12).all()
    assert (d * 2.0**-13 >= epsilon * apart * 0.99).all()
    assert (d == d.T).all()
    assert (d <= (d[:, :, None] + d[None]).min(axis=1)).all()
    full = np.array(floyd_warshall(metric.n, edge_list(metric)))
    assert (full == d).all()


def test_the_euclidean_metric_refuses_nonsense():
    for epsilon in (0, -1, math.nan, 1e-9):
        with pytest.raises(ge.InputError, match="epsilon"):
            ge.euclidean_metric(small_mass(), epsilon=epsilon)


def test_build_paper_graph_says_when_it_cannot_go_on():
    metric = small_metric("paper", "uniform")
    table = metric.requirement.table(0.0, 1.0) * 1000
    with pytest.raises(ge.MassError, match="cannot be met"):
        build_paper_graph(metric.locations, metric.mass_units, table, metric.fence, metric.secret)
