# SPDX-License-Identifier: Apache-2.0
"""Maps redrawn for even crowds: where the flow carries locations, and that a metric built there keeps its promise."""

from __future__ import annotations

import numpy as np
import pytest

import geoelastic as ge
from geoelastic.locations import Grid, split, uniform
from geoelastic.mass import Mass
from geoelastic.metric import Metric, verify
from geoelastic.metric.cartogram import UNITS, draw_cartogram, evening_radius, place_parts
from geoelastic.metric.metric_file import load
from maps import small_mass, small_metric
from reference.graphs import holds


def landscape(rows: int, cols: int) -> np.ndarray:
    """A smooth density with a town and a slope."""
    row, col = np.indices((rows, cols))
    town = np.exp(-((row - 0.6 * rows) ** 2 + (col - 0.4 * cols) ** 2) / (2 * 6.0**2))
    return 0.01 * (1 + 4 * town + col / cols)


def layout(cells: np.ndarray):
    return uniform(Grid.of_shape(cells.shape, 100.0, (48.85, 2.35)))


def test_even_land_stays_where_it_is():
    cells = np.full((9, 14), 0.02)
    drawn = draw_cartogram(layout(cells), cells, 5.0)
    at = layout(cells)
    still = np.column_stack([2 * at.col + at.size, 2 * at.row + at.size]) * (UNITS // 2)
    assert np.abs(drawn.place - still).max() <= 1
    assert drawn.density == pytest.approx(0.02)


@pytest.mark.parametrize("radius", [2.0, 8.0])
def test_the_flow_carries_the_mass_along(radius):
    """Room on the new map x density there is the mass that was in the cell, wherever it went."""
    cells = landscape(60, 80)
    drawn = draw_cartogram(layout(cells), cells, radius)
    x, y = (drawn.place[:, k].reshape(60, 80) / UNITS for k in (0, 1))
    room = np.gradient(x, axis=1) * np.gradient(y, axis=0) - np.gradient(x, axis=0) * np.gradient(y, axis=1)
    mass = room * drawn.density.reshape(60, 80)
    inner = (slice(3, -3), slice(3, -3))
    assert np.abs(mass[inner] / cells[inner] - 1).mean() < 0.03
    assert np.abs(mass[inner] / cells[inner] - 1).max() < 0.15
    moved = np.hypot(x - np.indices((60, 80))[1] - 0.5, y - np.indices((60, 80))[0] - 0.5)
    assert moved.max() > 0.1 * radius  # something did go somewhere


def test_the_longer_the_flow_the_more_even_the_density():
    cells = landscape(60, 80)
    spread = [float(np.std(draw_cartogram(layout(cells), cells, r).density)) for r in (1.0, 4.0, 12.0, 40.0)]
    assert spread == sorted(spread, reverse=True)
    assert spread[-1] < spread[0] / 5


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (1, 40), (25, 2), (33, 47)])
def test_any_land_stays_on_the_map(shape):
    rng = np.random.default_rng(3)
    cells = np.where(rng.random(shape) < 0.2, rng.random(shape) * 1e4, 0.0)
    cells[0, 0] = 1.0
    drawn = draw_cartogram(layout(cells), cells, 10.0)
    assert drawn.place.min() >= 0
    assert (drawn.place.max(axis=0) <= np.array(shape[::-1]) * UNITS).all()
    assert np.isfinite(drawn.density).all()
    assert (drawn.density > 0).all()


def test_how_far_to_even_out():
    table = ge.Quadratic().table(0.35, np.log(6))
    cells = np.full((400, 400), 1 / 2827)  # one unit within 30 cells: 6.7 units within 77
    assert evening_radius(cells, table) == pytest.approx(77.5, abs=0.2)
    assert evening_radius(cells[:100], table) == 20  # not beyond a fifth of the map


@pytest.mark.parametrize("fenced", [False, True])
def test_every_ball_of_a_redrawn_map_holds_what_it_must_by_brute_force(fenced):
    metric = _fenced() if fenced else small_metric(rows=14, cols=12, seed=6)
    assert metric.place is not None
    for i in np.flatnonzero(metric.secret & (metric.fence == 0)):
        found = list(metric.distance_units_from(int(i)))
        assert holds(found, metric.mass_units, metric.requirement, metric.l_from, metric.l_top)


def _fenced() -> Metric:
    mass = small_mass(14, 12, seed=6)
    lat, lon = (np.array(part) for part in mass.grid.cell_to_latlon(np.array([5, 7]), np.array([4, 6])))
    ring = [[lon[0], lat[0]], [lon[1], lat[0]], [lon[1], lat[1]], [lon[0], lat[1]], [lon[0], lat[0]]]
    return ge.build_metric(mass, l_top=0.8, frame=0.0, fences=[{"type": "Polygon", "coordinates": [ring]}])


def test_it_is_tighter():
    mass = ge.mass_from_quality(ge.synthetic_quality("city"))
    plain, redrawn = (ge.build_metric(mass, cartogram=choice) for choice in (False, True))
    assert plain.place is None
    assert plain.certificate["violations"] == redrawn.certificate["violations"] == 0
    assert redrawn.certificate["ratio"]["mean"] < 0.93 * plain.certificate["ratio"]["mean"]
    some = np.flatnonzero(plain.secret)[::40]
    before, after = (
        ge.ElasticMechanism(metric).expected_errors(locations=some)["mean"].mean() for metric in (plain, redrawn)
    )
    assert after < 0.93 * before


def test_a_file_and_a_cut_keep_the_places(tmp_path):
    metric = small_metric(rows=40, cols=40)
    metric.save(tmp_path / "m.geoelastic")
    loaded = load(tmp_path / "m.geoelastic")
    assert np.array_equal(loaded.place, metric.place)
    assert np.array_equal(loaded.graph.weight, metric.graph.weight)
    assert verify(loaded)["ok"]
    centre = metric.grid.cell_to_latlon(20, 20)
    part = ge.extract(metric, ge.Area.around(float(centre[0]), float(centre[1]), size_km=2.6))
    assert part.n < metric.n
    at = part.info["extract"]
    numbers = metric.locations.owner[part.locations.row + at["row"], part.locations.col + at["col"]]
    assert np.array_equal(part.place, metric.place[numbers])


def test_parts_of_a_location_lie_around_its_place():
    metric = ge.build_metric(ge.mass_from_quality(ge.synthetic_quality("city", rows=64, cols=64)), l_top=0.8)
    at = metric.locations
    big = int(np.argmax(at.size))
    assert at.size[big] > 1
    cells = np.zeros(metric.grid.shape, np.int32)
    cells[at.row[big], at.col[big]] = 1
    parts, parent = split(at, cells)
    placed = place_parts(at, metric.place, parts, parent)
    whole = parts.size == at.size[parent]
    assert np.array_equal(placed[whole], metric.place[parent[whole]])
    pieces = placed[~whole]
    assert len({tuple(place) for place in pieces.tolist()}) == pieces.shape[0]
    start, index = at.touching()
    nearest = np.linalg.norm(metric.place[index[start[big] : start[big + 1]]] - metric.place[big], axis=1)
    assert np.linalg.norm(pieces - metric.place[big], axis=1).max() < nearest[nearest > 0].max()


def test_masses_of_any_contrast_are_built():
    rng = np.random.default_rng(8)
    cells = np.where(rng.random((30, 30)) < 0.1, 10.0, 0.001)
    metric = ge.build_metric(Mass.from_array(cells, cell_m=100, origin=(48.0, 2.0)), l_top=0.8)
    assert metric.certificate["violations"] == 0
