# SPDX-License-Identifier: Apache-2.0
"""Planar Laplace: metres in every direction at every latitude, the right law, and variants that keep their word."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import lambertw

from geoelastic.errors import InputError, OutsideError
from geoelastic.locations import Grid
from geoelastic.mechanism.laplace import GridLaplace, PlanarLaplace, corrected_epsilon
from geoelastic.randomness import ReplayRandom, SeededRandom
from statistical.toolbox import assert_chi_square, assert_distribution, assert_mean

PLACES = {
    "equator": (0.0, 10.0),
    "Paris": (48.8567, 2.3487),
    "70 north": (70.0, 25.0),
    "south, at the 180th meridian": (-45.0, 179.999),
    "beside the pole": (89.9, 0.0),
}


def east_north(lat: float, lon: float, lats: np.ndarray, lons: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Metres east and north of a place by the ellipsoid's Cartesian coordinates: no code shared with the sampler."""
    a, f = 6378137.0, 1 / 298.257223563
    e2 = f * (2 - f)

    def cartesian(phi: np.ndarray, lam: np.ndarray) -> np.ndarray:
        n = a / np.sqrt(1 - e2 * np.sin(phi) ** 2)
        return np.stack([n * np.cos(phi) * np.cos(lam), n * np.cos(phi) * np.sin(lam), n * (1 - e2) * np.sin(phi)])

    p, q = math.radians(lat), math.radians(lon)
    d = cartesian(np.radians(lats), np.radians(lons)) - cartesian(np.array(p), np.array(q))[:, None]
    east = np.array([-math.sin(q), math.cos(q), 0.0])
    north = np.array([-math.sin(p) * math.cos(q), -math.sin(p) * math.sin(q), math.cos(p)])
    return east @ d, north @ d


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_noise_is_in_metres_north_south_and_east_west(place: tuple[float, float]) -> None:
    mechanism = PlanarLaplace.from_expected_error(500)
    lats, lons = mechanism.sample(*place, size=40_000, rng=SeededRandom(1))
    east, north = east_north(*place, lats, lons)
    one_axis = 2 / math.pi * 500  # the mean of |cos| over the circle times the mean radius
    assert_mean(np.abs(east), one_axis)
    assert_mean(np.abs(north), one_axis)
    assert_distribution(np.hypot(east, north), stats.gamma(2, scale=250).cdf)
    sector = (np.arctan2(north, east) / (2 * math.pi) % 1 * 16).astype(int)
    assert_chi_square(np.bincount(sector, minlength=16), np.full(16, 1 / 16))


def test_radius_law_agrees_with_itself() -> None:
    mechanism = PlanarLaplace(0.01)
    shares = np.array([0.0, 1e-6, 0.1, 0.5, 0.9, 0.999])
    np.testing.assert_allclose(mechanism.radius_cdf(mechanism.radius_quantile(shares)), shares, atol=1e-12)
    np.testing.assert_allclose(
        mechanism.radius_quantile(0.9), -100 * (lambertw(-0.1 / math.e, -1).real + 1), rtol=1e-12
    )
    total = integrate.quad(lambda r: 2 * math.pi * r * float(mechanism.density(r)), 0, 5000)[0]
    assert total == pytest.approx(1, abs=1e-9)


def test_ways_to_name_the_noise() -> None:
    assert PlanarLaplace.from_expected_error(870).expected_error() == pytest.approx(870)
    assert PlanarLaplace.from_level(math.log(2), 300).expected_error() == pytest.approx(2 * 300 / math.log(2))
    for level, metres in {"low": 200, "medium": 500, "high": 2000}.items():
        assert PlanarLaplace.from_location_guard(level).expected_error() == pytest.approx(metres)
    level = PlanarLaplace.from_level(math.log(2), 300)
    assert level.loss((0, 10), (0, 10 + math.degrees(300 / 6378137))) == pytest.approx(math.log(2), rel=1e-9)


@pytest.mark.parametrize("epsilon", [math.nan, 0, -1, math.inf, 1e-9])
def test_bad_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(InputError, match="'epsilon' must be"):
        PlanarLaplace(epsilon)


def test_bad_places_are_refused_without_repeating_them() -> None:
    mechanism = PlanarLaplace(0.01)
    for lat, lon in [(math.nan, 0.0), (91.5, 0.0), (0.0, math.inf)]:
        with pytest.raises(InputError, match="places must be") as caught:
            mechanism.sanitize(lat, lon)
        assert "91" not in str(caught.value)
    with pytest.raises(InputError, match="equal length"):
        mechanism.sanitize_many([1.0, 2.0], [1.0])
    with pytest.raises(InputError, match="level"):
        PlanarLaplace.from_location_guard("extreme")


def test_given_bytes_give_the_report_worked_out_by_hand() -> None:
    half = b"\x00" * 8 + b"\x80" + b"\x00" * 7  # mantissa 1.0, no leading zero: exactly 1/2
    east = b"\x40" + b"\x00" * 7  # a quarter turn from north
    lat, lon = PlanarLaplace(0.01).sanitize(0.0, 10.0, rng=ReplayRandom(half + half + east))
    assert lat == pytest.approx(0, abs=1e-7)
    assert math.radians(lon - 10) * 6378137 == pytest.approx(2 * math.log(2) / 0.01, abs=0.02)


@pytest.mark.system_random  # two equal draws of 53 bits each in two coordinates: never
def test_operating_system_randomness_by_default() -> None:
    mechanism = PlanarLaplace(0.01)
    assert mechanism.sanitize(48.0, 2.0) != mechanism.sanitize(48.0, 2.0)
    assert mechanism.sanitize(48.0, 2.0, SeededRandom(3)) == mechanism.sanitize(48.0, 2.0, SeededRandom(3))


@given(st.floats(1e-5, 0.05), st.floats(1, 500), st.floats(1e3, 1e6))
def test_corrected_epsilon_satisfies_the_theorem_and_costs_next_to_nothing(
    eps: float, step: float, reach: float
) -> None:
    drawn = corrected_epsilon(eps, step, reach)
    q = step / (reach * 2 * math.pi / 2**53)
    spread = 2 * math.exp(drawn * step)
    assert drawn + math.log1p(2 * spread / (q - spread)) / step <= eps
    assert drawn < eps
    if eps * step < math.log(q) - 10:  # nearer to what the precision can carry it costs more, and then is refused
        assert eps * (1 - 1e-3) < drawn


def test_cells_that_no_precision_can_carry_are_refused() -> None:
    with pytest.raises(InputError, match="too wide"):
        corrected_epsilon(1.0, 1000, 1e5)
    with pytest.raises(InputError, match="too small"):
        corrected_epsilon(1e-5, 1e-9, 1e7)


def cell_probability(mechanism: GridLaplace, x: float, y: float, row: int, col: int) -> float:
    """The drawn density integrated over a cell, which for a truncated variant stands for all beyond it too."""
    grid, drawn = mechanism.grid, PlanarLaplace(mechanism.epsilon_drawn)
    west, south = (col - grid.cols / 2) * grid.cell_m, (row - grid.rows / 2) * grid.cell_m
    bounds = [[west, west + grid.cell_m], [south, south + grid.cell_m]]
    for axis, (index, last) in enumerate([(col, grid.cols - 1), (row, grid.rows - 1)]):
        if mechanism.truncated and index == 0:
            bounds[axis][0] = -6000.0
        if mechanism.truncated and index == last:
            bounds[axis][1] = 6000.0

    def strip(v: float) -> float:
        def density(u: float) -> float:
            return float(drawn.density(math.hypot(u - x, v - y)))

        return integrate.quad(
            density, *bounds[0], points=[x] if bounds[0][0] < x < bounds[0][1] else None, epsabs=1e-12
        )[0]

    inside = bounds[1][0] < y < bounds[1][1]
    return integrate.quad(strip, *bounds[1], points=[y] if inside else None, epsabs=1e-9)[0]


def test_truncated_variant_keeps_epsilon_and_reports_what_the_integral_says() -> None:
    grid = Grid.of_shape((2, 3), 100, (48.0, 2.0))
    mechanism = GridLaplace(0.01, grid)
    centres = [(row, col, *map(float, grid.cell_to_xy(row, col))) for row in range(2) for col in range(3)]
    table = np.array([[cell_probability(mechanism, x, y, r, c) for r, c, *_ in centres] for *_, x, y in centres])
    np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-6)
    for i, (*_, x, y) in enumerate(centres):
        for j, (*_, x2, y2) in enumerate(centres):
            worst = np.abs(np.log(table[i] / table[j])).max()
            assert worst <= 0.01 * math.hypot(x - x2, y - y2) + 1e-6
    lat, lon = (float(v) for v in grid.cell_to_latlon(0, 1))
    lats, lons = mechanism.sanitize_many(np.full(20_000, lat), np.full(20_000, lon), rng=SeededRandom(4))
    rows, cols = grid.latlon_to_cell(lats, lons)
    assert_chi_square(np.bincount(rows * 3 + cols, minlength=6), table[1] / table[1].sum())


def test_discretised_variant_reports_cells_beyond_the_grid_and_truncated_does_not() -> None:
    grid = Grid.of_shape((20, 30), 50, (70.0, 25.0))
    noise = PlanarLaplace.from_expected_error(800)
    places = np.full(2000, 70.0), np.full(2000, 25.0)
    free = grid.latlon_to_cell(*noise.on_grid(grid, truncated=False).sanitize_many(*places, rng=SeededRandom(5)))
    cut = grid.latlon_to_cell(*noise.on_grid(grid).sanitize_many(*places, rng=SeededRandom(5)))
    assert np.count_nonzero(free[0] < 0) > 500
    assert np.all(cut[0] >= 0)
    inner = free[0] >= 0
    assert np.array_equal(free[0][inner], cut[0][inner])
    assert np.array_equal(free[1][inner], cut[1][inner])
    border = (cut[0] == 0) | (cut[0] == 19) | (cut[1] == 0) | (cut[1] == 29)
    assert np.all(border[~inner])


def test_expected_error_of_the_variants() -> None:
    grid = Grid.of_shape((40, 40), 50, (0.0, 10.0))
    noise = PlanarLaplace.from_expected_error(400)
    free, cut = noise.on_grid(grid, truncated=False), noise.on_grid(grid)
    assert free.expected_error(0.0, 10.0) == pytest.approx(400, rel=5e-3)
    corner = tuple(float(v) for v in grid.cell_to_latlon(1, 1))
    assert cut.expected_error(*corner) < 0.7 * free.expected_error(*corner)
    lats, lons = cut.sanitize_many(np.full(40_000, corner[0]), np.full(40_000, corner[1]), rng=SeededRandom(6))
    x, y = grid.area.to_xy(*corner)
    x2, y2 = grid.area.to_xy(lats, lons)
    assert float(np.hypot(x2 - x, y2 - y).mean()) == pytest.approx(cut.expected_error(*corner), rel=0.02)


def test_grid_variant_needs_places_on_the_grid() -> None:
    mechanism = GridLaplace(0.01, Grid.of_shape((4, 4), 100, (48.0, 2.0)))
    with pytest.raises(OutsideError):
        mechanism.sanitize(49.0, 2.0)
    north = mechanism.grid.cell_to_latlon(3, 0), mechanism.grid.cell_to_latlon(0, 0)
    assert mechanism.loss(*[(float(a), float(b)) for a, b in north]) == pytest.approx(3, rel=1e-9)
    assert mechanism.epsilon_drawn < mechanism.epsilon
