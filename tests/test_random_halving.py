# SPDX-License-Identifier: Apache-2.0
"""The choice of a fence: it holds the crowd, and it depends on the place only through which core the place is in."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import distance_transform_edt, label

from geoelastic.errors import InputError, MassError, OutsideError
from geoelastic.fences.crowds import Crowd, area_crowd, metric_crowd, osm_crowd
from geoelastic.fences.places import Place
from geoelastic.fences.random_halving import random_core, widened
from geoelastic.fences.shapes import cells_to_shape, fences_to_cells
from geoelastic.fences.suggest import draw_fence, suggest_fences
from geoelastic.locations import Grid, uniform
from geoelastic.randomness import SeededRandom

GRID = Grid.of_shape((24, 20), 100.0, (48.85, 2.35))


def crowd_of(cells, amount, **options):
    return Crowd(GRID, cells, amount, "things", **options)


def uneven(seed):
    """Lumpy counts with empty cells."""
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.3, 4.0, GRID.shape)).astype(float)


def core_at(crowd, row, col, seed):
    lat, lon = crowd.grid.cell_to_latlon(row, col)
    return random_core(crowd, float(lat), float(lon), rng=SeededRandom(seed))


@settings(max_examples=5)
@given(seed=st.integers(0, 10**9), amount=st.sampled_from([15.0, 40.0, 200.0]))
def test_cores_of_the_same_bytes_are_a_partition(seed, amount):
    """P(core | x) = P(core | x') for x, x' in a core, byte for byte: the fence does not tell where the place is."""
    crowd = crowd_of(uneven(seed), amount)
    seen = np.zeros(GRID.shape, dtype=int)
    for row in range(GRID.rows):
        for col in range(GRID.cols):
            if seen[row, col]:
                continue
            core = core_at(crowd, row, col, seed)
            assert core[row, col]
            assert not seen[core].any()
            assert crowd.cells[core].sum() >= amount
            assert core.sum() >= crowd.min_cells
            assert label(core)[1] == 1
            seen[core] = 1
            inside = np.argwhere(core)
            for other in inside[:: max(1, len(inside) // 3)]:
                np.testing.assert_array_equal(core_at(crowd, *other, seed), core)


def test_cores_are_not_much_larger_than_they_must_be():
    crowd = crowd_of(np.ones(GRID.shape), 30.0)
    sizes = [core_at(crowd, 12, 10, seed).sum() for seed in range(40)]
    assert min(sizes) >= 30
    assert max(sizes) < 2 * 30 + 20
    assert len({core_at(crowd, 12, 10, seed).tobytes() for seed in range(40)}) == 40


def test_the_place_is_anywhere_in_its_core():
    """A place drawn evenly from the map is on average as far from the middle of its core as all its cells are."""
    crowd = crowd_of(np.ones(GRID.shape), 40.0)
    rng = np.random.default_rng(1)
    ratios = []
    for seed in range(80):
        row, col = rng.integers(GRID.rows), rng.integers(GRID.cols)
        cells = np.argwhere(core_at(crowd, row, col, seed))
        distance = np.hypot(*(cells - cells.mean(axis=0)).T)
        ratios.append(np.hypot(*((row, col) - cells.mean(axis=0))) / distance.mean())
    # a ratio has mean 1 and standard deviation < 0.5, so the mean of 80 is within 0.25 but for one time in 100,000
    assert abs(np.mean(ratios) - 1) < 0.25


@pytest.mark.system_random  # 40 seeds give 40 cores (above): that 12 draws are all the same is far below 1e-9
def test_the_operating_system_draws_by_default():
    crowd = crowd_of(np.ones(GRID.shape), 30.0)
    lat, lon = map(float, GRID.cell_to_latlon(12, 10))
    assert len({random_core(crowd, lat, lon).tobytes() for _ in range(12)}) > 1


def test_a_margin_surrounds_the_core():
    core = np.zeros((30, 30), dtype=bool)
    core[12:18, 10:20] = True
    fence = widened(core, 3.0)
    np.testing.assert_array_equal(fence, distance_transform_edt(~core) <= 3)
    assert fence[9, 12]
    assert not fence[8, 12]
    np.testing.assert_array_equal(widened(core, 0), core)


def test_regions_are_never_crossed():
    regions = np.ones(GRID.shape, dtype=np.int32)
    regions[:, 10:] = 2
    regions[0] = 0
    crowd = crowd_of(np.ones(GRID.shape), 20.0, regions=regions)
    for seed in range(5):
        assert set(regions[core_at(crowd, 12, 9, seed)]) == {1}
        assert set(regions[core_at(crowd, 12, 10, seed)]) == {2}
    with pytest.raises(OutsideError, match="outside the part of the map"):
        core_at(crowd, 0, 5, 1)


def test_what_cannot_be_a_crowd():
    with pytest.raises(MassError, match="holds 480 things, less than the 1000 asked"):
        core_at(crowd_of(np.ones(GRID.shape), 1000.0), 5, 5, 1)
    with pytest.raises(OutsideError, match="outside the map"):
        random_core(crowd_of(np.ones(GRID.shape), 10.0), 10.0, 10.0)
    for cells in (np.ones((3, 3)), np.full(GRID.shape, np.nan), -np.ones(GRID.shape)):
        with pytest.raises(InputError, match="'cells' must"):
            crowd_of(cells, 5.0)
    for amount in (0, float("nan"), -1):
        with pytest.raises(InputError, match="'amount' must be"):
            crowd_of(np.ones(GRID.shape), amount)


@pytest.mark.parametrize(
    ("lat", "lon"), [(48.85, 2.35), (0.01, -0.01), (-17.0, 179.999), (-17.0, -180.0), (69.97, 25.0), (-77.8, 166.7)]
)
def test_blocks_hold_their_places_and_are_the_same_for_neighbours(lat, lon):
    crowd = area_crowd(lat, lon, area_km2=2, cell_m=250)
    fence = draw_fence(Place("home", lat, lon, 0, 0, 0), crowd, rng=SeededRandom(3))
    plane = fences_to_cells(crowd.grid, fence.shape)
    assert plane[crowd.grid.locate(lat, lon)] == 1
    assert 2 <= fence.holds < 8
    assert fence.area_km2 == pytest.approx(int(plane.sum()) * 0.0625)
    same = area_crowd(np.floor(lat * 4) / 4 + 0.13, lon, area_km2=2, cell_m=250)
    assert same.grid == crowd.grid


def fake_metric(cells):
    locations = uniform(GRID)
    return SimpleNamespace(grid=GRID, mass=cells.ravel(), locations=locations)


def test_towns_and_the_sea_are_regions_of_their_own():
    cells = np.full(GRID.shape, 0.01)
    cells[2:8, 2:8] = 1.0  # a town of 36
    cells[14:20, 12:18] = 1.0  # and another
    cells[22, 2] = 1.0  # a house
    crowd = metric_crowd(fake_metric(cells), 10.0)
    np.testing.assert_allclose(crowd.cells, cells)
    town, other, house, sea = (crowd.regions[at] for at in ((4, 4), (16, 15), (22, 2), (10, 18)))
    assert len({town, other, house}) == 3
    assert house == sea
    assert crowd.regions[8 + 2, 4] == town  # within 300 m
    assert crowd.regions[8 + 3, 4] != town
    assert crowd.regions.min() > 0


def test_every_place_has_one_fence_and_kept_fences_stay():
    crowd = crowd_of(np.ones(GRID.shape), 20.0, margin_m=100)
    lat, lon = GRID.cell_to_latlon(np.array([4, 4, 19]), np.array([4, 5, 14]))
    places = [
        Place(name, float(a), float(o), 9, 9, 9) for name, a, o in zip(("home", "place", "work"), lat, lon, strict=True)
    ]
    # the first two are neighbours: with these bytes they share a core
    seed = next(s for s in range(99) if core_at(crowd, 4, 4, s)[4, 5])
    fences, notes = suggest_fences(places, lambda place: crowd, rng=SeededRandom(seed))
    assert [fence.label for fence in fences] == ["home", "work"]
    assert notes == ["place: inside a fence drawn for another place; no second one"]
    again, notes = suggest_fences(places, lambda place: crowd, keep=[(fence.shape, fence.label) for fence in fences])
    assert again == []
    assert notes[:3] == [f"{name}: inside a fence that is kept; no new one" for name in ("home", "place", "work")]
    assert fences[0].properties().keys() == {"name", "kind", "area_km2", "holds", "unit"}
    far, notes = suggest_fences([Place("home", 10.0, 10.0, 9, 9, 9)], lambda place: crowd)
    assert far == []
    assert notes[0].startswith("home: no fence: the place is outside the map")
    assert "10.0" not in notes[0]


def test_a_place_at_the_rim_of_another_fence_gets_its_own():
    crowd = crowd_of(np.ones(GRID.shape), 20.0, margin_m=300)
    cells = np.zeros(GRID.shape, dtype=bool)
    cells[8:16, 4:16] = True
    kept = cells_to_shape(GRID, cells)
    deep, shallow = (
        Place("work", *map(float, GRID.cell_to_latlon(row, 10)), days=9, nights=0, workdays=9) for row in (12, 15)
    )
    for place, name, drawn in ((deep, "home", 0), (shallow, "home", 1), (shallow, "work", 0), (shallow, None, 0)):
        fences, notes = suggest_fences([place], lambda place: crowd, keep=[(kept, name)], rng=SeededRandom(1))
        assert len(fences) == drawn
        assert len(notes) == 1
    fences, notes = suggest_fences([shallow], lambda place: crowd, keep=[(kept, "home")])
    assert notes == ["the fences of home and work overlap or touch: in a metric they are one"]


@pytest.mark.data
def test_buildings_and_pois_of_a_city(data_dir):
    path = data_dir / "osm" / "geneva_2025.osm.pbf"
    homes = osm_crowd(path, "buildings", 46.21, 6.13, amount=300)
    works = osm_crowd(path, "POIs", 46.21, 6.13, amount=60)
    assert 6_000 < homes.cells.sum() < 9_000  # the part of the file in this block
    assert works.cells.sum() > 1_000
    fence = draw_fence(Place("home", 46.21, 6.13, 0, 0, 0), homes, rng=SeededRandom(1))
    assert 300 <= fence.holds < 900
    assert fence.shape.intersects(shapely.Point(6.13, 46.21))
    lat, lon = homes.grid.cell_to_latlon(*np.nonzero(homes.regions))
    assert lat.min() > 46.19  # no fence where the file has no data
    assert lon.max() < 6.17
    with pytest.raises(InputError, match="'what' must be one of 'buildings', 'POIs', got 'trees'"):
        osm_crowd(path, "trees", 46.21, 6.13, amount=3)
