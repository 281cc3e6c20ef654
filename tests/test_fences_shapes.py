# SPDX-License-Identifier: Apache-2.0
"""Fences on the cells of a grid: exact membership, merging, and what cannot be a fence."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from geoelastic.area import Area
from geoelastic.errors import FileError, InputError, OutsideError
from geoelastic.fences import cells_to_shape, disc, fence_outlines, fences_to_cells, fences_to_geojson, read_fences
from geoelastic.locations import Grid

CENTRES = [(48.85, 2.35), (0.0, 0.0), (70.0, 25.0), (-17.0, 179.99)]


def grid_at(lat=48.85, lon=2.35, rows=20, cols=30, cell_m=100.0):
    return Grid.of_shape((rows, cols), cell_m, (lat, lon))


def box(grid, row0, col0, row1, col1):
    """The outline of rows row0..row1-1 and columns col0..col1-1."""
    mask = np.zeros(grid.shape, dtype=bool)
    mask[row0:row1, col0:col1] = True
    return cells_to_shape(grid, mask)


@pytest.mark.parametrize(("lat", "lon"), CENTRES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.02, 0.9))
def test_outline_and_cells_are_inverse(lat, lon, seed, share):
    grid = grid_at(lat, lon)
    mask = np.random.default_rng(seed).random(grid.shape) < share
    mask[0, 0], mask[-1, -1] = True, False
    cells = fences_to_cells(grid, [cells_to_shape(grid, mask)])
    np.testing.assert_array_equal(cells == 1, mask)
    assert cells.dtype == np.int32
    assert not cells.flags.writeable


@pytest.mark.parametrize(("lat", "lon"), CENTRES)
def test_disc_holds_the_cells_within_its_radius(lat, lon):
    grid = grid_at(lat, lon, rows=41, cols=41, cell_m=50.0)
    cells = fences_to_cells(
        grid,
        {"type": "Feature", "properties": {"radius_m": 612}, "geometry": {"type": "Point", "coordinates": [lon, lat]}},
    )
    x, y = grid.cell_to_xy(*np.indices(grid.shape))
    np.testing.assert_array_equal(cells == 1, np.hypot(x, y) < 612)


def test_disc_is_round_in_metres_far_north():
    ring = shapely.get_coordinates(disc(70, 25, 500))
    x, y = Area.around(70, 25, size_km=5).to_xy(ring[:, 1], ring[:, 0])
    np.testing.assert_allclose(np.hypot(x, y), 500, atol=1e-3)


def test_fences_that_touch_are_one_and_numbers_follow_the_input():
    grid = grid_at()
    far, left, right, corner = (
        box(grid, 15, 20, 18, 25),
        box(grid, 2, 2, 5, 5),
        box(grid, 2, 5, 4, 8),
        box(grid, 5, 8, 7, 9),
    )
    cells = fences_to_cells(grid, [far, left, corner])
    assert [cells[16, 22], cells[3, 3], cells[5, 8], cells[0, 0]] == [1, 2, 3, 0]
    cells = fences_to_cells(grid, [left, far, right])
    assert [cells[3, 3], cells[16, 22], cells[3, 6]] == [1, 2, 1]
    # the last one meets the first at a corner and the second at a side: all three are one
    cells = fences_to_cells(grid, [corner, left, far, box(grid, 4, 5, 5, 8)])
    assert [cells[5, 8], cells[3, 3], cells[16, 22]] == [1, 1, 2]
    assert set(np.unique(cells)) == {0, 1, 2}


def test_a_multipolygon_is_one_fence():
    grid = grid_at()
    both = shapely.union_all([box(grid, 1, 1, 3, 3), box(grid, 10, 10, 12, 12)])
    cells = fences_to_cells(grid, both)
    assert cells[1, 1] == cells[11, 11] == 1
    assert cells.sum() == 8


def test_a_polygon_with_a_hole_keeps_the_hole_outside():
    grid = grid_at()
    cells = fences_to_cells(grid, box(grid, 2, 2, 9, 9).difference(box(grid, 4, 4, 6, 6)))
    assert cells[5, 5] == 0
    assert cells.sum() == 49 - 4


def test_pockets_are_covered_if_they_hold_too_little_and_join_the_fences_around_them():
    grid = grid_at()
    units = np.ones(grid.shape, dtype=np.int64)
    ring = box(grid, 2, 2, 9, 9).difference(box(grid, 4, 4, 6, 6))
    assert fences_to_cells(grid, ring, units=units, least=4).sum() == 49 - 4
    assert fences_to_cells(grid, ring, units=units, least=5).sum() == 49
    # the third fence lies inside the pocket: one fence in the end
    cells = fences_to_cells(grid, [box(grid, 15, 1, 16, 2), ring, box(grid, 4, 4, 5, 5)], units=units, least=5)
    assert cells[15, 1] == 1
    assert set(cells[2:9, 2:9].ravel()) == {2}
    # a thin frame around most of the map: what it cuts off is larger than itself, and stays
    thin = box(grid, 0, 0, 20, 30).difference(box(grid, 1, 1, 19, 29))
    assert fences_to_cells(grid, thin, units=units, least=10**6)[5, 5] == 0


def test_geojson_round_trip(tmp_path):
    grid = grid_at()
    fences = [box(grid, 1, 1, 4, 4), shapely.union_all([box(grid, 8, 1, 10, 4), box(grid, 8, 8, 10, 12)])]
    path = tmp_path / "fences.geojson"
    path.write_text(json.dumps(fences_to_geojson(fences, [{"name": "home"}, {"name": "work"}])))
    np.testing.assert_array_equal(fences_to_cells(grid, path), fences_to_cells(grid, fences))
    assert [f["properties"]["name"] for f in json.loads(path.read_text())["features"]] == ["home", "work"]
    assert len(read_fences([str(path), fences[0]])) == 3


def test_longitudes_written_either_way_across_the_180th_meridian():
    grid = grid_at(-17.0, 180.0)
    ring = [[179.997, -17.002], [-179.997, -17.002], [-179.997, -16.998], [179.997, -16.998], [179.997, -17.002]]
    wide = [[x % 360, y] for x, y in ring]
    first = fences_to_cells(grid, {"type": "Polygon", "coordinates": [ring]})
    second = fences_to_cells(grid, {"type": "Polygon", "coordinates": [wide]})
    np.testing.assert_array_equal(first, second)
    assert first.sum() == 6 * 4


def test_outlines_of_a_metric():
    grid = grid_at(rows=4, cols=6)
    fence = np.zeros(24, dtype=np.int32)
    fence[[7, 8, 13]] = 1
    fence[[16, 17]] = 2
    metric = SimpleNamespace(
        grid=grid, totals={"fences": 2}, fence_members=lambda number: np.flatnonzero(fence == number),
        leaves=lambda some: (some // 6, some % 6, np.ones(some.size, np.int32)),
    )  # fmt: skip
    outlines = fence_outlines(metric)
    cells = [fences_to_cells(grid, outline) for outline in outlines]
    np.testing.assert_array_equal(cells[0].ravel() + 2 * cells[1].ravel(), fence)
    assert fence_outlines(SimpleNamespace(grid=grid, totals={"fences": 0})) == []


def test_no_fences_is_no_fence():
    assert not fences_to_cells(grid_at(), []).any()


def point_feature(coordinates, **properties):
    return {"type": "Feature", "properties": properties, "geometry": {"type": "Point", "coordinates": coordinates}}


BAD = [
    ({"type": "Point", "coordinates": [2.35, 48.85]}, "radius_m"),
    (point_feature([2.3, 48.8], radius_m=-3), "'radius_m' must be"),
    (point_feature([None], radius_m=3), "coordinates"),
    ({"type": "Feature", "properties": {}, "geometry": None}, "must be a GeoJSON"),
    ({"type": "LineString", "coordinates": [[0, 0], [1, 1]]}, "got LineString"),
    ({"type": "Polygon"}, "coordinates"),
    ({"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [2, 0], [0, 0]]]}, "enclose some ground"),
    ({"type": "Polygon", "coordinates": [[[0, 95], [1, 95], [1, 96], [0, 95]]]}, "degrees"),
    ({"type": "FeatureCollection"}, "features"),
    (shapely.Point(2, 48), "got Point"),
    (42, "got int"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "message"), BAD)
def test_what_is_not_a_fence(source, message):
    with pytest.raises(InputError, match=message):
        read_fences(source)


def test_a_file_that_is_not_json(tmp_path):
    path = tmp_path / "f.geojson"
    path.write_bytes(b"\xff\xfe nothing")
    with pytest.raises(FileError, match=r"f\.geojson: not a whole GeoJSON file"):
        read_fences(path)


def test_a_fence_must_fit_the_map():
    grid = grid_at()
    with pytest.raises(OutsideError, match="outside the map"):
        fences_to_cells(grid, disc(45.0, 2.35, 300))
    with pytest.raises(OutsideError, match="outside the map"):
        fences_to_cells(grid, disc(-48.85, -177.65, 300))
    with pytest.raises(OutsideError, match="fence 2 reaches beyond"):
        fences_to_cells(grid, [disc(48.85, 2.35, 300), disc(48.859, 2.35, 300)])
    with pytest.raises(InputError, match="covers no cell centre"):
        fences_to_cells(grid, disc(48.85, 2.35, 20))
    with pytest.raises(InputError, match="cover every cell"):
        fences_to_cells(grid, [box(grid, 0, 0, 10, 30), box(grid, 10, 0, 20, 30)])
