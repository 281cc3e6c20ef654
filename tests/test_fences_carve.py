# SPDX-License-Identifier: Apache-2.0
"""Fences carved into a built metric: what holds inside, outside and across, next to a build from scratch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import geoelastic as ge
from geoelastic.errors import InputError
from geoelastic.evaluation.carving import carving_cost, rebuilt
from geoelastic.fences import disc, fences_to_cells
from geoelastic.fences.shapes import cells_to_shape
from maps import PARIS, small_mass, small_metric

pytestmark = pytest.mark.jit

KINDS = [(method, layout) for method in ("conformal", "paper") for layout in ("uniform", "adaptive")]
FENCE = disc(*PARIS, 210)
SHAPE = {"rows": 14, "cols": 14, "l_top": 1.0}


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: "-".join(kind))
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """A metric and the same with a fence carved in."""
    metric = small_metric(*request.param, **SHAPE)
    return metric, metric.with_fences([FENCE])


def test_carved_metrics_verify(pair: tuple[Any, Any]) -> None:
    _, carved = pair
    checked = ge.verify(carved)
    assert checked["ok"]
    assert checked["fences"]["number"] == 1
    assert carved.certificate["carve"]["checked_again"] > 0


def test_the_fence_is_exact_to_the_cell(pair: tuple[Any, Any]) -> None:
    metric, carved = pair
    np.testing.assert_array_equal(carved.fence[carved.locations.owner], fences_to_cells(metric.grid, FENCE))


def test_zero_inside_and_infinite_across(pair: tuple[Any, Any]) -> None:
    _, carved = pair
    inside = carved.fence == 1
    for i in range(carved.n):
        distance = carved.distances_from(i)
        assert np.all(np.isinf(distance[inside != inside[i]]))
        if inside[i]:
            assert np.all(distance[inside] == 0)


def test_reports_inside_are_even_and_outside_are_private(pair: tuple[Any, Any]) -> None:
    _, carved = pair
    mechanism = ge.ElasticMechanism(carved)
    inside = carved.fence == 1
    rows = np.array([mechanism.probabilities(i) for i in range(carved.n)])
    area = np.where(inside, carved.locations.area_cells, 0)
    for i in np.flatnonzero(inside):
        np.testing.assert_allclose(rows[i], area / area.sum(), rtol=1e-12)
    outside = np.flatnonzero(~inside)
    assert not rows[np.ix_(outside, np.flatnonzero(inside))].any()
    for i in outside:
        reachable = rows[i] > 0
        loss = np.log(rows[outside][:, reachable] / rows[i, reachable]).max(axis=1)
        assert np.all(loss <= carved.distances_from(int(i))[outside] + 1e-9)


def test_carved_is_about_as_good_as_built_from_scratch(pair: tuple[Any, Any]) -> None:
    metric, carved = pair
    scratch = ge.build_metric(
        small_mass(14, 14),
        method=metric.method,
        layout=metric.locations.kind,
        l_top=1.0,
        frame=0.0,
        fences=[FENCE],
        sharpen=False,
    )
    assert ge.verify(scratch)["ok"]
    cost = carving_cost(metric, carved, scratch=scratch, places=60)
    assert cost["places"] == 60
    assert abs(cost["error_against_scratch"]) <= 0.1


def test_removing_gives_the_ground_back(pair: tuple[Any, Any]) -> None:
    _, carved = pair
    bare = carved.with_fences(remove=[1])
    assert not bare.fence.any()
    assert ge.verify(bare)["ok"]
    assert np.all(np.isfinite(bare.distances_from(bare.locate(*PARIS))))


def test_moving_is_removing_and_carving(pair: tuple[Any, Any]) -> None:
    _, carved = pair
    corner = np.zeros(carved.grid.shape, dtype=bool)
    corner[10:13, 9:13] = True
    moved = carved.with_fences([cells_to_shape(carved.grid, corner)], remove=[1])
    np.testing.assert_array_equal(moved.fence[moved.locations.owner] == 1, corner)
    assert ge.verify(moved)["ok"]


def test_a_second_fence_joins_the_first_where_they_touch(pair: tuple[Any, Any]) -> None:
    metric, carved = pair
    lat, lon = metric.grid.cell_to_latlon(7, 9)
    joined = carved.with_fences([disc(float(lat), float(lon), 150)])
    assert joined.fence.max() == 1
    apart = carved.with_fences([cells_to_shape(metric.grid, np.arange(14)[:, None] + np.arange(14) < 3)])
    assert apart.fence.max() == 2
    assert ge.verify(joined)["ok"]
    assert ge.verify(apart)["ok"]


def test_rebuilt_has_the_same_fences_and_parameters(pair: tuple[Any, Any]) -> None:
    _, carved = pair
    fresh, seconds = rebuilt(carved)
    assert seconds > 0
    assert (fresh.method, fresh.locations.kind, fresh.l_from, fresh.l_top) == (
        carved.method, carved.locations.kind, carved.l_from, carved.l_top,
    )  # fmt: skip
    np.testing.assert_array_equal(fresh.fence[fresh.locations.owner], carved.fence[carved.locations.owner])


def test_a_fence_that_leaves_too_little_is_refused() -> None:
    metric = small_metric(**SHAPE)
    most = np.ones(metric.grid.shape, dtype=bool)
    most[0, :2] = False
    with pytest.raises(InputError, match="mass"):
        metric.with_fences([cells_to_shape(metric.grid, most)])


def test_a_wall_cuts_the_map_or_is_refused() -> None:
    """Either each side has enough mass of its own, and then nothing crosses, or the wall is refused."""
    wall = np.zeros((14, 14), dtype=bool)
    wall[:, 6:9] = True  # thicker than the longest step between neighbours
    metric = small_metric(**SHAPE)
    cut = metric.with_fences([cells_to_shape(metric.grid, wall)])
    assert ge.verify(cut)["ok"]
    west, east = (int(cut.locations.owner[5, col]) for col in (2, 11))
    assert math.isinf(cut.distances_from(west)[east])
    wall[:, 6:9], wall[:, 3:6] = False, True  # the strip left in the west is as large as the wall itself
    thin = small_metric(rows=14, cols=14, l_top=2.5)
    with pytest.raises(InputError, match="fences cut off a part of the map"):
        thin.with_fences([cells_to_shape(thin.grid, wall)])


@pytest.mark.parametrize(("method", "layout"), KINDS)
def test_a_pocket_with_too_little_mass_is_covered(method: str, layout: str) -> None:
    ring = np.zeros((14, 14), dtype=bool)
    ring[3:11, 3:11] = True
    ring[6:8, 6:8] = False
    fence = cells_to_shape(small_metric(**SHAPE).grid, ring)
    carved = small_metric(method, layout, **SHAPE).with_fences([fence])
    built = ge.build_metric(small_mass(14, 14), method=method, layout=layout, l_top=1.0, frame=0.0, fences=[fence])
    ring[6:8, 6:8] = True
    for metric in (carved, built):
        np.testing.assert_array_equal(metric.fence[metric.locations.owner] == 1, ring)
        assert ge.verify(metric)["ok"]


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "place"), [("vancouver_2015", (49.2612, -123.1139)), ("malta_2016", (35.8955, 14.4820))]
)
def test_carving_real_maps(data_dir: Any, name: str, place: tuple[float, float]) -> None:
    quality = ge.quality_from_osm(data_dir / "osm" / f"{name}.osm.pbf", ge.Area.around(*place, size_km=8), cell_m=200)
    metric = ge.build_metric(ge.mass_from_quality(quality), l_from=0.5, l_top=1.2)
    carved = metric.with_fences([disc(*place, 700)])
    checked = ge.verify(carved)
    assert checked["ok"]
    assert checked["violations"] == 0
    assert checked["fences"]["number"] == 1


def test_carving_what_is_there_already_changes_nothing_and_can_be_saved(tmp_path):
    metric = small_metric(fences=[disc(*PARIS, 160)])
    same = metric.with_fences([disc(*PARIS, 160)])
    assert same.certificate["carve"]["locations_changed"] == 0
    assert same.graph is metric.graph
    same.save(tmp_path / "same.geoelastic")
    assert ge.verify(ge.load(tmp_path / "same.geoelastic"))["ok"]
