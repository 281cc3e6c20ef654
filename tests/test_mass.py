# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely.geometry import LineString, box, mapping

import geoelastic as ge
from geoelastic.errors import FileError, InputError, MassError
from geoelastic.locations import Grid
from geoelastic.mass import WHERE_QUALITY_IS, read_city
from geoelastic.mass.mass import disc_sums
from geoelastic.quality import Quality

ORIGIN = (48.85, 2.35)


def quality_of(cells: Any, cell_m: float = 100) -> Quality:
    cells = np.asarray(cells, dtype=float)
    return Quality(Grid.of_shape(cells.shape, cell_m, ORIGIN), cells)


def disc(row: int, col: int, shape: tuple[int, int], radius: Fraction) -> list[tuple[int, int]]:
    return [(r, c) for r in range(shape[0]) for c in range(shape[1]) if (r - row) ** 2 + (c - col) ** 2 <= radius**2]


def test_the_paper_by_hand_with_fractions() -> None:
    """m = a + b q on a 9 x 11 map, every sum written out as the paper has it."""
    rng = np.random.default_rng(5)
    cells = rng.integers(0, 4, (9, 11)) * rng.integers(0, 2, (9, 11))
    mass = ge.mass_from_quality(quality_of(cells), r_small=150, r_large=420)
    small, large = Fraction(3, 2), Fraction(42, 10)
    n_small = len(disc(50, 50, (101, 101), small))
    n_large = len(disc(50, 50, (101, 101), large))
    inner = [(r, c) for r in range(1, 8) for c in range(1, 10) if cells[r, c] > 0]
    avg_q = Fraction(sum(int(cells[y]) for x in inner for y in disc(*x, cells.shape, small)), len(inner))
    a = Fraction(1, n_large)
    b = (1 - Fraction(n_small, n_large)) / avg_q
    expected = [[float(a + b * int(q)) for q in row] for row in cells]
    np.testing.assert_allclose(mass.cells, expected, rtol=1e-14)
    assert mass.info["a"] == float(a)
    assert mass.info["avg_q"] == pytest.approx(float(avg_q), rel=1e-15)
    assert mass.info["b"] == pytest.approx(float(b), rel=1e-14)
    assert mass.info["city"]["choice"] == WHERE_QUALITY_IS
    assert mass.info["city"]["discs"] == len(inner)


def test_the_two_sentences_that_fix_a_and_b() -> None:
    """An empty large disc holds one unit, and so does a small disc of an even city."""
    even = ge.mass_from_quality(ge.synthetic_quality("even"), r_small=300, r_large=3000)
    assert disc_sums(even.cells, 3)[60, 60] == pytest.approx(1, rel=1e-12)
    empty = ge.mass_from_quality(quality_of(np.zeros((80, 80))), r_small=300, r_large=3000)
    assert disc_sums(empty.cells, 30)[40, 40] == pytest.approx(1, rel=1e-12)
    assert empty.info["b"] == 0.0


@given(rows=st.integers(1, 12), cols=st.integers(1, 12), tenths=st.integers(0, 150), seed=st.integers(0, 2**32 - 1))
def test_disc_sums_equal_the_definition(rows: int, cols: int, tenths: int, seed: int) -> None:
    cells = np.random.default_rng(seed).integers(0, 100, (rows, cols)).astype(float)
    radius = tenths / 10
    r, c = np.indices(cells.shape)
    expected = [[cells[(r - i) ** 2 + (c - j) ** 2 <= radius**2].sum() for j in range(cols)] for i in range(rows)]
    assert disc_sums(cells, radius).tolist() == expected


@given(tenths=st.integers(0, 120))
def test_disc_sums_count_what_the_grid_counts(tenths: int) -> None:
    grid = Grid.of_shape((27, 27), 100, ORIGIN)
    assert disc_sums(np.ones(grid.shape), tenths / 10)[13, 13] == grid.disc_size(tenths * 10)


def test_the_city_can_be_a_disc_or_a_polygon(tmp_path: Path) -> None:
    """Two towns of quality 1 and 9: the average is that of the town that was chosen."""
    cells = np.zeros((40, 40))
    cells[10:20, 10:20], cells[25:35, 25:35] = 1, 9
    quality = quality_of(cells)
    lat, lon = quality.grid.cell_to_latlon(30, 30)
    by_disc = ge.mass_from_quality(quality, r_small=100, r_large=500, city=(float(lat), float(lon), 250))
    assert by_disc.info["avg_q"] == 45
    assert by_disc.info["city"]["choice"] == "disc"
    (south, north), (west, east) = quality.grid.cell_to_latlon([12, 17], [12, 17])
    polygon = box(west, south, east, north)
    by_polygon = ge.mass_from_quality(quality, r_small=100, r_large=500, city=polygon)
    assert by_polygon.info["avg_q"] == 5
    feature = {"type": "Feature", "properties": {}, "geometry": mapping(polygon)}
    collection = {"type": "FeatureCollection", "features": [feature]}
    path = tmp_path / "city.geojson"
    path.write_text(json.dumps(collection))
    for city in (mapping(polygon), feature, collection, read_city(str(path))):
        again = ge.mass_from_quality(quality, r_small=100, r_large=500, city=city)
        assert again.info["b"] == by_polygon.info["b"]
    json.dumps(by_polygon.info)


def test_a_map_smaller_than_the_disc_uses_the_cut_ones() -> None:
    mass = ge.mass_from_quality(quality_of(np.ones((3, 3))), r_small=300, r_large=3000)
    assert mass.info["avg_q"] == 9
    assert mass.info["city"]["discs"] == 9


@pytest.mark.parametrize(
    ("city", "message"),
    [
        ("downtown", "'city' must be"),
        ((48.85, 2.35), r"\(lat, lon, radius_m\)"),
        ((48.85, 2.35, float("nan")), "'radius_m' must be a finite number > 0"),
        ((48.85, 2.35, -1.0), "'radius_m'"),
        ((95.0, 2.35, 100.0), "a place must be"),
        ((10.0, 2.35, 100.0), "at least one cell"),
        (LineString([(0, 0), (1, 1)]), "Polygon or MultiPolygon, got a LineString"),
        ({"type": "Feature"}, "GeoJSON"),
        ({"type": "Nonsense"}, "GeoJSON"),
        ({"type": "FeatureCollection", "features": [1]}, "GeoJSON"),
    ],
)
def test_bad_cities(city: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ge.mass_from_quality(quality_of(np.ones((5, 5))), r_small=100, r_large=200, city=city)


def test_cities_of_the_command_line(tmp_path: Path) -> None:
    assert read_city(WHERE_QUALITY_IS) == WHERE_QUALITY_IS
    assert read_city("48.85,2.35,5000") == (48.85, 2.35, 5000)
    with pytest.raises(InputError, match=r"GeoJSON file, got 'nowhere\.geojson'"):
        read_city("nowhere.geojson")
    for content in ("no json", "[1]"):
        (tmp_path / "x.geojson").write_text(content)
        with pytest.raises(FileError, match="not a whole GeoJSON file"):
            read_city(str(tmp_path / "x.geojson"))


@pytest.mark.parametrize(
    ("r_small", "r_large", "message"),
    [
        (0, 3000, "'r_small' must be a finite number > 0"),
        (300, float("nan"), "'r_large' must be"),
        (300, float("inf"), "'r_large' must be"),
        (300, 300, "'r_large' must exceed"),
        (3000, 300, "'r_large' must exceed"),
        (310, 315, "'r_large' must exceed"),
    ],
)
def test_bad_radii(r_small: float, r_large: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ge.mass_from_quality(quality_of(np.ones((5, 5))), r_small=r_small, r_large=r_large)


@pytest.mark.parametrize(
    "cells",
    [
        [[1, float("nan")]],
        [[1, -1e-9]],
        [[1, float("inf")]],
        [1, 2, 3],
        [[]],
        [],
        [["a"]],
        [[1, 2], [3]],
        [[[1.0]]],
        None,
    ],
)
def test_bad_arrays(cells: Any) -> None:
    with pytest.raises(InputError, match="masses must be"):
        ge.Mass.from_array(cells, cell_m=100, origin=ORIGIN)


def test_no_mass_at_all_is_an_error() -> None:
    with pytest.raises(MassError, match="0 everywhere"):
        ge.Mass.from_array(np.zeros((3, 3)), cell_m=100, origin=ORIGIN)


def test_from_array_lies_where_it_was_put_and_cannot_be_changed() -> None:
    cells = np.ones((4, 6))
    mass = ge.Mass.from_array(cells, cell_m=50, origin=ORIGIN)
    cells[0, 0] = 7
    assert mass.cells[0, 0] == 1
    assert mass.total == 24
    assert mass.grid.shape == (4, 6)
    assert (mass.grid.area.width_m, mass.grid.area.height_m) == (300, 200)
    with pytest.raises(ValueError, match="read-only"):
        mass.cells[0, 0] = 2
    with pytest.raises(InputError, match="grid's shape"):
        ge.Mass(mass.grid, np.ones((6, 4)))
