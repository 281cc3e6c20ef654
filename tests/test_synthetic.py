# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import tracemalloc
from typing import Any

import numpy as np
import pytest

import geoelastic as ge
from geoelastic.errors import InputError
from geoelastic.quality import SYNTHETIC_NAMES, synthetic_quality


def digest(quality: ge.Quality) -> str:
    return hashlib.sha256(quality.cells.astype("<i4").tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("name", "shape", "fingerprint"),
    [("city", (120, 120), "54bd9f79d676d2c9"), ("paris", (750, 750), "c16f024f505fae37")],
)
def test_the_same_counts_on_every_machine(name: str, shape: tuple[int, int], fingerprint: str) -> None:
    quality = synthetic_quality(name)
    assert quality.cells.shape == shape
    assert np.array_equal(quality.cells, np.floor(quality.cells))
    assert digest(quality) == fingerprint
    assert quality.info["source"] == f"synthetic:{name}"
    assert synthetic_quality(f"synthetic:{name}", seed=1).info["seed"] == 1


def test_even_is_even() -> None:
    assert np.unique(synthetic_quality("even", rows=7, cols=9).cells).tolist() == [1.0]


def test_city_has_a_centre_sub_centres_and_a_river() -> None:
    quality = synthetic_quality("city")
    centre = quality.cells[50:70, 50:70].mean()
    sub_centres = [
        quality.cells[r - 5 : r + 5, c - 5 : c + 5].mean() for r, c in [(83, 96), (79, 25), (23, 85), (27, 33)]
    ]
    open_land = quality.cells[:15].mean()
    assert centre > max(sub_centres)
    assert min(sub_centres) > 50 * open_land
    dry = np.diff(np.flatnonzero((quality.cells[40:80, 40:80] == 0).any(axis=0)))
    assert (dry == 1).all()


def test_paris_has_the_contrast_of_city_and_country() -> None:
    """The mean mass of the city is about 100 times that of empty land, which most of the country is."""
    mass = ge.mass_from_quality(synthetic_quality("paris"))
    x, y = mass.grid.cell_to_xy(*np.indices(mass.grid.shape))
    r = np.hypot(x, y)
    core, suburb = mass.cells[r < 5600].mean(), mass.cells[(r > 10_000) & (r < 20_000)].mean()
    assert 80 < core / np.median(mass.cells[r > 25_000]) < 125
    assert 3 < core / suburb < 12
    assert mass.info["city"]["choice"] == "disc"


def test_a_landscape_is_stretched_to_the_size_asked_for() -> None:
    small, large = synthetic_quality("city", rows=60, cols=60), synthetic_quality("city", rows=60, cols=60, cell_m=200)
    assert np.array_equal(small.cells, large.cells)
    assert large.grid.area.width_m == 12_000
    wide = synthetic_quality("paris", rows=30, cols=90, origin=(70.0, 179.9))
    assert wide.cells.shape == (30, 90)
    assert wide.grid.area.lat == 70.0


def test_memory_is_that_of_the_result() -> None:
    tracemalloc.start()
    quality = synthetic_quality("country", rows=1500, cols=1500)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert quality.cells.max() > 20
    assert peak < 3.5 * quality.cells.nbytes


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("atlantis", {}, "'name' must be one of 'city', 'country', 'even', 'paris', got 'atlantis'"),
        ("city", {"rows": 0}, "'rows' must be a whole number >= 1"),
        ("city", {"cols": 1.5}, "'cols' must be a whole number >= 1"),
        ("city", {"cell_m": float("nan")}, "'cell_m' must be"),
        ("city", {"seed": -1}, "'seed' must be"),
        ("city", {"seed": 1.5}, "'seed' must be"),
        ("even", {"seed": True}, "'seed' must be"),
        ("city", {"origin": (100.0, 0.0)}, "a place must be"),
    ],
)
def test_bad_options(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        synthetic_quality(name, **options)


def test_names() -> None:
    assert SYNTHETIC_NAMES == ("city", "country", "even", "paris")
