# SPDX-License-Identifier: Apache-2.0
"""Areas, priors, planar Laplace cell by cell, utility, calibration, snapping and the linear program."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from geoelastic import _kernels as kernels
from geoelastic.area import Area
from geoelastic.errors import FileError, InputError
from geoelastic.evaluation.baselines import (
    calibrate,
    density_snap_channel,
    grid_snap_channel,
    laplace_channel,
    laplace_epsilons,
    laplace_expected_m,
    laplace_miss,
    location_guard_channel,
    rectangle_mass,
)
from geoelastic.evaluation.channel import Outputs, channel_from_matrix
from geoelastic.evaluation.prior import Prior, prior_from_checkins
from geoelastic.evaluation.study_areas import PAPER_AREAS, StudyArea, read_areas
from geoelastic.evaluation.utility import expected_distance, measure_utility, weighted_quantiles
from geoelastic.locations import Grid
from geoelastic.sources.checkins import Checkins, read_checkins
from reference import report as twin

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "checkins"
GRID = Grid.over(Area.around(48.85, 2.35, size_km=6), 100)


def checkins(user: Any, place: Any, lat: Any, lon: Any) -> Checkins:
    time = np.full(len(lat), "NaT", dtype="datetime64[s]")
    return Checkins(np.array(user), np.array(place), np.array(lat, float), np.array(lon, float), time)


def some_prior(n: int = 12, seed: int = 0) -> Prior:
    rng = np.random.default_rng(seed)
    cell = rng.choice(GRID.rows * GRID.cols, n, replace=False)
    # off the centres of cells: on them, hundreds of cells would lie at exactly 1500 m
    xy = np.column_stack(GRID.cell_to_xy(*np.divmod(cell, GRID.cols))) + rng.uniform(-50, 50, (n, 2))
    return Prior(xy, cell, rng.dirichlet(np.ones(n)), sparse.csr_array((0, n)), {})


# --- areas and priors


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason="the real data is not beside the project")
def test_the_papers_counts_are_met_by_distinct_visits() -> None:
    everything = read_checkins(DATA / "gowalla_paris_30km.txt")
    cuts = [area.cut(everything) for area in PAPER_AREAS]
    assert [len(c) for c in cuts] == [13_464, 724]
    assert [len(c.distinct_visits()) for c in cuts] == [9_629, 449]  # the paper: 9,635 and 429


@settings(max_examples=30, deadline=None)
@given(st.floats(-70, 70), st.floats(-179.9, 179.9), st.floats(0.5, 40))
def test_a_square_holds_what_is_within_half_its_side(lat: float, lon: float, size_km: float) -> None:
    area = StudyArea("a", lat, lon, size_km)
    plane = Area.around(lat, lon, size_km=size_km)
    for share, inside in ((0.98, True), (1.45, False)):  # 1.45 > sqrt(2): outside whatever the grid's north is
        x = share * size_km * 500
        assert bool(area.contains(*plane.to_latlon(0, x * 0.999 if inside else x))) is inside


def test_areas_from_geojson(tmp_path: Path) -> None:
    square = shapely.box(2.3, 48.8, 2.4, 48.9)
    features = [
        {"type": "Feature", "properties": {"name": "box"}, "geometry": json.loads(shapely.to_geojson(square))},
        {
            "type": "Feature",
            "properties": {"name": "spot", "size_km": 2},
            "geometry": {"type": "Point", "coordinates": [2.2, 48.9]},
        },
    ]
    path = tmp_path / "a.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    box, spot = read_areas(path)
    assert (box.name, bool(box.contains(48.85, 2.35)), bool(box.contains(48.85, 2.45))) == ("box", True, False)
    assert (spot.name, spot.size_km, spot.lat) == ("spot", 2, 48.9)
    line = {"type": "LineString", "coordinates": [[2.2, 48.9], [2.3, 48.9]]}
    path.write_text(json.dumps({"type": "Feature", "properties": {}, "geometry": line}))
    with pytest.raises(InputError, match="feature 1 must be"):
        read_areas(path)
    for text in ("{}", "nonsense"):
        path.write_text(text)
        with pytest.raises(FileError, match="not a whole GeoJSON"):
            read_areas(path)


def test_prior_counts_each_user_once_a_place() -> None:
    c = checkins([0, 0, 0, 1], [5, 5, 6, 6], [48.85, 48.85, 48.86, 48.86], [2.35, 2.35, 2.36, 2.36])
    visits = prior_from_checkins(c, GRID)
    assert visits.weights.tolist() == pytest.approx([1 / 3, 2 / 3])
    assert visits.users.toarray().tolist() == [[0.5, 0.5], [0, 1]]
    rows = prior_from_checkins(c, GRID, count="checkins")
    assert rows.weights.tolist() == [0.5, 0.5]
    assert rows.users.toarray()[0].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert visits.info["events"] == 3


def test_prior_by_cell_without_users() -> None:
    c = checkins([-1] * 3, [-1] * 3, [48.85, 48.85, 48.86], [2.35, 2.35, 2.36])
    prior = prior_from_checkins(c, GRID)
    assert (prior.n_places, prior.n_users, prior.info["places_by"]) == (2, 0, "cell")
    assert sorted(prior.weights.tolist()) == pytest.approx([1 / 3, 2 / 3])
    with pytest.raises(InputError, match="must lie on the map, 3 of 3"):
        prior_from_checkins(checkins([0] * 3, [0] * 3, [40] * 3, [2] * 3), GRID)
    with pytest.raises(InputError, match="at least one check-in"):
        prior_from_checkins(checkins([], [], [], []), GRID)


# --- planar Laplace


def test_rectangles_equal_adaptive_quadrature() -> None:
    for epsilon, south, west, side in ((0.0014, 0, 0, 1), (0.0014, -3, 5, 2), (0.01, 0, -7, 8), (0.004, 30, 1, 4)):
        table = _table(epsilon, 60)
        at = [np.array([v]) for v in (0, 0, south, west, side)]
        got = kernels.square_masses(table, epsilon, 100.0, *at)[0, 0]
        assert got == pytest.approx(twin.square_mass(epsilon, 100.0, south, west, side), rel=1e-8, abs=1e-15)


def _table(epsilon: float, n: int) -> Any:
    half = (np.arange(n) + 0.5) * 100.0
    return rectangle_mass(epsilon, *np.meshgrid(half, half))


def test_far_squares_keep_their_digits() -> None:
    epsilon = 0.01  # 45 cells away: exp(-45) is far below the rounding of a difference of corners
    at = [np.array([v]) for v in (0, 0, 45, 0, 1)]
    got = kernels.square_masses(_table(epsilon, 60), epsilon, 100.0, *at)[0, 0]
    assert got == pytest.approx(twin.square_mass(epsilon, 100.0, 45, 0, 1), rel=1e-4)


@pytest.mark.jit
@pytest.mark.parametrize("epsilon", [0.0005, 0.0013, 0.01])
def test_laplace_channel_is_planar_laplace(epsilon: float) -> None:
    prior = some_prior()
    channel = laplace_channel(prior, GRID, epsilon)
    assert channel.total() == pytest.approx(1, abs=5e-12)
    utility = measure_utility(channel, prior)
    # the place is up to 71 m from the centre of its cell, in any direction: second order, at most ~8 m at eps = 0.01
    assert utility.expected_m == pytest.approx(laplace_expected_m(epsilon), abs=10)
    assert utility.threshold[1500] == pytest.approx(laplace_miss(epsilon, 1500), abs=0.01)
    cells = channel.outputs.side.astype(float) ** 2
    assert len(np.unique(channel.outputs.xy, axis=0)) == channel.outputs.n
    width = (
        2 * np.abs(channel.outputs.xy[:, 0] - channel.outputs.xy[:, 0].mean()).max() / 100 + channel.outputs.side.max()
    )
    assert cells.sum() == pytest.approx(width**2)  # the squares tile: no gap, no overlap


@pytest.mark.jit
def test_location_guard_is_planar_laplace_at_two_over_radius() -> None:
    prior = some_prior(3)
    for level, metres in (("high", 2000), ("medium", 500)):
        assert measure_utility(location_guard_channel(prior, GRID, level), prior).expected_m == pytest.approx(
            metres, abs=10
        )
    with pytest.raises(InputError, match="'level' must be one of"):
        location_guard_channel(prior, GRID, "off")


# --- utility


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_utility_equals_cell_by_cell(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = 9, 4
    side = rng.choice([1, 2, 4, 8], m)
    outputs = Outputs(rng.uniform(-4000, 4000, (m, 2)), side.astype(np.int64), 100.0)
    xy = rng.uniform(-3000, 3000, (n, 2))
    prior = Prior(xy, np.arange(n), rng.dirichlet(np.ones(n)), sparse.csr_array((0, n)), {})
    matrix = rng.dirichlet(np.ones(m), size=2)
    rows = np.array([0, 1, 0, 1])
    utility = measure_utility(channel_from_matrix("t", matrix, outputs, rows), prior)
    expected, histogram = twin.report_distances(xy, rows, prior.weights, matrix, outputs.xy, side, 100.0, 20_000)
    assert utility.per_place_m == pytest.approx(expected, rel=2e-5)
    for radius_m, missed in utility.threshold.items():
        assert missed == pytest.approx(math.fsum(histogram[radius_m:]), abs=1e-12)
    assert expected_distance(matrix[rows], xy, outputs) == pytest.approx(expected, rel=2e-5)


def test_quantiles_of_weights() -> None:
    values, weights = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.1, 0.2, 0.3, 0.4])
    assert weighted_quantiles(values, weights, [0, 0.1, 0.11, 0.5, 0.6, 1]).tolist() == [1, 1, 2, 3, 3, 4]
    with pytest.raises(InputError, match="'quantiles'"):
        weighted_quantiles(values, weights, [1.1])


# --- calibration


@settings(max_examples=40, deadline=None)
@given(st.floats(1e-6, 0.5))
def test_calibration_inverts_planar_laplace(epsilon: float) -> None:
    assert calibrate(laplace_expected_m, 2 / epsilon) == pytest.approx(epsilon, rel=1e-9)
    missed = laplace_miss(epsilon, 1500)
    if 1e-200 < missed < 1 - 1e-6:
        assert calibrate(lambda e: laplace_miss(e, 1500), missed) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.jit
def test_calibration_to_a_measured_channel() -> None:
    prior = some_prior()
    found = laplace_epsilons(measure_utility(laplace_channel(prior, GRID, 0.001353), prior))
    assert list(found) == ["expected distance", "missed by 1200 m", "missed by 1500 m", "missed by 1800 m"]
    assert list(found.values()) == pytest.approx([0.001353] * 4, rel=0.005)
    with pytest.raises(InputError, match="no epsilon"):
        calibrate(laplace_expected_m, 1e-9)
    with pytest.raises(InputError, match="'target' must be"):
        calibrate(laplace_expected_m, math.nan)


# --- snapping


def test_grid_snapping() -> None:
    prior = some_prior(40)
    channel = grid_snap_channel(prior, GRID, side_m=2000)
    assert channel.sound is False
    assert channel.outputs.n <= 9
    assert measure_utility(channel, prior).per_place_m.max() <= 1000 * math.sqrt(2)
    with pytest.raises(InputError, match="'side_m'"):
        grid_snap_channel(prior, GRID, side_m=10)


def test_density_snapping_reports_the_smallest_square_that_is_full_enough() -> None:
    people = np.zeros(GRID.shape)
    people[:32, :32] = 50  # 4 x 4 cells hold 800, 8 x 8 hold 3200
    cell = np.array([5 * GRID.cols + 5, 50 * GRID.cols + 50])
    xy = np.column_stack(GRID.cell_to_xy(*np.divmod(cell, GRID.cols)))
    prior = Prior(xy, cell, np.array([0.5, 0.5]), sparse.csr_array((0, 2)), {})
    channel = density_snap_channel(prior, GRID, people, people_min=1000)
    dense, empty = channel.outputs.xy[channel.row_of_place]
    assert dense.tolist() == [(4 - GRID.cols / 2) * 100, (4 - GRID.rows / 2) * 100]  # centre of cells 0 to 7
    assert empty.tolist() == [(32 - GRID.cols / 2) * 100, (32 - GRID.rows / 2) * 100]  # only 64 x 64 holds anybody
    with pytest.raises(InputError, match="'people' must be"):
        density_snap_channel(prior, GRID, people[1:])
