# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from geoelastic._kernels import coverage, simple_rings
from geoelastic.area import Area
from geoelastic.locations import Grid
from geoelastic.quality.score import share_features
from geoelastic.sources.features import Areas, Features
from reference import coverage as slow

EIGHTHS = st.integers(-24, 72).map(lambda k: Fraction(k, 8))
RINGS = st.lists(st.tuples(EIGHTHS, EIGHTHS), min_size=3, max_size=9)


def closed(ring: list[tuple[Fraction, Fraction]]) -> np.ndarray:
    return np.array([[float(x), float(y)] for x, y in [*ring, ring[0]]])


@given(ring=RINGS)
def test_coverage_is_the_signed_area_in_each_cell(ring: list[tuple[Fraction, Fraction]]) -> None:
    """Any ring on a grid of eighths, also beyond the 5 x 4 cells: floats are exact enough for 1e-12."""
    xy = closed(ring)
    _, cell, part = coverage(
        xy[:, 0].copy(), xy[:, 1].copy(), np.array([0, len(xy)]), np.array([0, 1]), np.array([1.0]), 5, 4, 1e-9
    )
    expected = {r * 4 + c: float(slow.covered(ring, r, c)) for r in range(5) for c in range(4)}
    got = dict(zip(cell.tolist(), part.tolist(), strict=True))
    for index, value in expected.items():
        if value > 1e-9:
            assert got.pop(index) == pytest.approx(value, abs=1e-12)
    assert got == {}


@given(ring=RINGS)
def test_rings_called_simple_are_simple(ring: list[tuple[Fraction, Fraction]]) -> None:
    """Never a false yes; and a no only for rings that cross, touch or double back."""
    xy = closed(ring)
    said = bool(simple_rings(xy[:, 0].copy(), xy[:, 1].copy(), np.array([0, len(xy)]), 40)[0])
    if said:
        assert not slow.crosses(ring)
        assert shapely.Polygon(xy).is_valid
    if not slow.crosses(ring):
        assert said


def test_long_rings_are_left_to_the_full_check() -> None:
    circle = np.asarray(shapely.Point(0, 0).buffer(1, quad_segs=16).exterior.coords)
    start = np.array([0, len(circle)])
    assert simple_rings(circle[:, 0].copy(), circle[:, 1].copy(), start, 100).tolist() == [True]
    assert simple_rings(circle[:, 0].copy(), circle[:, 1].copy(), start, 40).tolist() == [False]
    areas, index = Areas.from_rings(circle[:, 0].copy(), circle[:, 1].copy(), start)
    assert (len(areas), index.tolist()) == (1, [0])


def test_outlines_that_cross_are_left_out_and_those_that_touch_are_kept() -> None:
    square = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]
    bow = [(0, 0), (1, 1), (1, 0), (0, 1), (0, 0)]
    spike = [(0, 0), (1, 0), (1, 1), (1, 3), (1, 1), (0, 1), (0, 0)]
    flat = [(0, 0), (1, 0), (2, 0), (0, 0)]
    rings = [square, bow, spike, flat]
    corners = np.array([p for ring in rings for p in ring], dtype=float)
    start = np.concatenate([[0], np.cumsum([len(r) for r in rings])])
    areas, index = Areas.from_rings(corners[:, 0].copy(), corners[:, 1].copy(), start)
    assert sorted(index.tolist()) == [0, 2]
    assert areas.boxes()[2].max() == 1.0


def grid_and_polygons(seed: int) -> tuple[Grid, np.ndarray]:
    grid = Grid.over(Area.around(46.2, 6.15, size_km=1.0, height_km=0.8), 100)
    rng = np.random.default_rng(seed)
    shapes = []
    for _ in range(60):
        x, y = rng.uniform(-600, 600, 2)
        shape = shapely.Point(x, y).buffer(rng.uniform(3, 300), quad_segs=4)
        if rng.random() < 0.5:
            shape = shape.difference(shapely.Point(x + 2, y).buffer(rng.uniform(1, 80), quad_segs=3))
        if rng.random() < 0.3:
            shape = shape.union(shapely.box(x + 350, y, x + 390, y + 40))
        if not shape.is_empty:
            shapes.append(shape)
    return grid, np.array(shapes, dtype=object)


@pytest.mark.parametrize("seed", [1, 2])
def test_shares_are_intersections_with_cells(seed: int) -> None:
    """Holes, several parts, and areas across the border, against GEOS."""
    grid, plane = grid_and_polygons(seed)

    def to_degrees(xy: np.ndarray) -> np.ndarray:
        lat, lon = grid.area.to_latlon(xy[:, 0], xy[:, 1])
        return np.column_stack([lon, lat])

    areas = Areas.from_shapely(shapely.transform(plane, to_degrees))
    shares = share_features(Features.of_rows([], [], areas), grid)
    got = np.zeros((len(plane), grid.rows * grid.cols))
    got[shares.feature, shares.cell] = shares.share
    row, col = np.divmod(np.arange(grid.rows * grid.cols), grid.cols)
    x, y = grid.cell_to_xy(row, col)
    cells = shapely.box(x - 50, y - 50, x + 50, y + 50)
    expected = shapely.area(shapely.intersection(plane[:, None], cells[None, :])) / shapely.area(plane)[:, None]
    np.testing.assert_allclose(got, expected, atol=1e-8)
    np.testing.assert_allclose(shares.inside, expected.sum(axis=1), atol=1e-8)


def test_points_and_areas_together_keep_their_numbers() -> None:
    grid = Grid.over(Area.around(0, 0, size_km=0.4), 100)
    lat, lon = grid.area.to_latlon([-150.0, 150.0, 900.0], [-150.0, 150.0, 0.0])
    south, west = grid.area.to_latlon(-10.0, -10.0)
    north, east = grid.area.to_latlon(10.0, 10.0)
    areas = Areas.from_shapely(np.array([shapely.box(west, south, east, north)], dtype=object))
    shares = share_features(Features.of_rows(lat, lon, areas), grid)
    assert shares.feature.tolist() == [0, 1, 3, 3, 3, 3]
    assert shares.cell.tolist() == [0, 15, 5, 6, 9, 10]
    np.testing.assert_allclose(shares.share, [1, 1, 0.25, 0.25, 0.25, 0.25], rtol=1e-6)
    np.testing.assert_allclose(shares.inside, [1, 1, 0, 1], rtol=1e-9)


def test_areas_can_be_chosen_and_joined() -> None:
    shapes = np.array(
        [shapely.box(0, 0, 1, 1), shapely.box(5, 5, 9, 9).difference(shapely.box(6, 6, 7, 7))], dtype=object
    )
    both = Areas.from_shapely(shapes)
    again = Areas.concatenate([both.take(np.array([1])), both.take(np.array([True, False])), Areas.none()])
    assert len(again) == 2
    assert again.hole.tolist() == [False, True, False]
    assert [tuple(float(v[i]) for v in again.boxes()) for i in (0, 1)] == [(5, 5, 9, 9), (0, 0, 1, 1)]
    assert both.touching((0.5, 0.5, 2, 2)).tolist() == [True, False]
    assert both.touching((0, 364.5, 9, 364.9)).tolist() == [False, False]
    assert both.touching((0, 360.5, 9, 366)).tolist() == [True, True]
