# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geoelastic.area import Area
from geoelastic.errors import InputError, OutsideError
from geoelastic.locations import Grid
from geoelastic.quality import Quality

PLACES = {"equator": (0.0, 20.0), "paris": (48.8567, 2.3487), "70 north": (70.0, 25.0), "180th": (65.0, 179.999)}


@pytest.mark.parametrize(("lat", "lon"), PLACES.values(), ids=PLACES.keys())
@pytest.mark.parametrize(("rows", "cols", "cell_m"), [(40, 40, 100.0), (17, 90, 250.0), (3, 2, 7.5)])
def test_every_cell_there_and_back(lat: float, lon: float, rows: int, cols: int, cell_m: float) -> None:
    grid = Grid.of_shape((rows, cols), cell_m, (lat, lon))
    row, col = np.indices(grid.shape)
    lats, lons = grid.cell_to_latlon(row, col)
    again = grid.latlon_to_cell(lats, lons)
    assert np.array_equal(again[0], row)
    assert np.array_equal(again[1], col)
    x, y = grid.area.to_xy(lats, lons)
    there = grid.cell_to_xy(row, col)
    assert np.hypot(x - there[0], y - there[1]).max() < 0.001


@given(dx=st.floats(-0.49, 0.49), dy=st.floats(-0.49, 0.49), row=st.integers(0, 29), col=st.integers(0, 49))
def test_a_point_belongs_to_the_cell_around_it(dx: float, dy: float, row: int, col: int) -> None:
    grid = Grid.of_shape((30, 50), 80, PLACES["70 north"])
    x, y = grid.cell_to_xy(row, col)
    assert grid.locate(*map(float, grid.area.to_latlon(x + 80 * dx, y + 80 * dy))) == (row, col)


def test_row_0_is_south_and_column_0_is_west() -> None:
    grid = Grid.over(Area.around(*PLACES["paris"], size_km=4, height_km=2), 100)
    assert grid.shape == (20, 40)
    assert grid.cell_to_latlon(0, 0)[0] < grid.cell_to_latlon(19, 0)[0]
    assert grid.cell_to_latlon(0, 0)[1] < grid.cell_to_latlon(0, 39)[1]
    assert grid.cell_to_xy(0, 0) == (-1950, -950)


def test_outside_is_outside() -> None:
    grid = Grid.of_shape((10, 10), 100, PLACES["paris"])
    row, col = grid.xy_to_cell([0, 501, -501, 0, 0, math.inf, math.nan], [0, 0, 0, 501, -501, 0, 0])
    assert (row < 0).tolist() == [False, True, True, True, True, True, True]
    assert np.array_equal(row < 0, col < 0)
    with pytest.raises(OutsideError, match="outside the map, which is 1 x 1 km") as caught:
        grid.locate(51.23456, 7.65432)
    assert "51.2" not in str(caught.value)
    assert "7.65" not in str(caught.value)


@pytest.mark.parametrize("lat", [float("nan"), 91.0])
def test_nowhere_is_an_error_that_keeps_the_place_to_itself(lat: float) -> None:
    with pytest.raises(InputError, match="a place must be") as caught:
        Grid.of_shape((10, 10), 100, PLACES["paris"]).locate(lat, 7.65432)
    assert "7.65" not in str(caught.value)


@given(radius=st.floats(0, 1500), cell=st.sampled_from([50.0, 100.0, 130.0]))
def test_discs_are_counted_on_the_grid(radius: float, cell: float) -> None:
    grid = Grid.of_shape((3, 3), cell, PLACES["paris"])
    reach = range(-31, 32)
    assert grid.disc_size(radius) == sum(i * i + j * j <= (radius / cell) ** 2 for i in reach for j in reach)


def test_the_paper_s_discs() -> None:
    grid = Grid.of_shape((3, 3), 100, PLACES["paris"])
    assert (grid.disc_size(300), grid.disc_size(3000), grid.disc_size(99)) == (29, 2821, 1)


def test_bad_grids() -> None:
    area = Area.around(0, 0, size_km=1)
    for cell_m in (0, -5, float("nan"), float("inf")):
        with pytest.raises(InputError, match="'cell_m' must be a finite number > 0"):
            Grid.over(area, cell_m)
    with pytest.raises(InputError, match="at most the side of the area"):
        Grid.over(area, 2001)


def test_quality_is_finite_nonnegative_and_of_the_grid_s_shape() -> None:
    grid = Grid.of_shape((2, 2), 100, PLACES["paris"])
    for bad in ([[1, 2], [3, float("nan")]], [[1, 2], [3, -1]], [[1, 2], [3, float("inf")]]):
        with pytest.raises(InputError, match="finite numbers >= 0"):
            Quality(grid, np.array(bad))
    with pytest.raises(InputError, match="grid's shape"):
        Quality(grid, np.ones((2, 3)))
    with pytest.raises(ValueError, match="read-only"):
        Quality(grid, np.ones((2, 2))).cells[0, 0] = 5
