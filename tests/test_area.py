# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyproj import Geod

from geoelastic.area import Area
from geoelastic.errors import InputError

EARTH = Geod(ellps="WGS84")
PLACES = {"equator": (0.0, 20.0), "paris": (48.8567, 2.3487), "70 north": (70.0, 25.0), "180th": (-17.0, 179.99)}
places = pytest.mark.parametrize(("lat", "lon"), PLACES.values(), ids=PLACES.keys())


@places
def test_the_plane_is_true_to_scale(lat: float, lon: float) -> None:
    """Straight lines of the plane against geodesics: within 0.01 % in 75 km, in every direction."""
    area = Area.around(lat, lon, size_km=75)
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-37_500, 37_500, (2, 400))
    lats, lons = area.to_latlon(x, y)
    for k in range(0, 400, 2):
        metres = EARTH.inv(lons[k], lats[k], lons[k + 1], lats[k + 1])[2]
        assert math.hypot(x[k] - x[k + 1], y[k] - y[k + 1]) == pytest.approx(metres, rel=1e-4)


@given(lat=st.floats(-80, 80), lon=st.floats(-180, 180), x=st.floats(-200_000, 200_000), y=st.floats(-200_000, 200_000))
def test_there_and_back_again(lat: float, lon: float, x: float, y: float) -> None:
    area = Area(lat, lon, 400_000, 400_000)
    back = area.to_xy(*area.to_latlon(x, y))
    assert math.hypot(back[0] - x, back[1] - y) < 0.01


@places
def test_north_is_up_and_east_is_right(lat: float, lon: float) -> None:
    area = Area.around(lat, lon, size_km=10)
    assert area.to_xy(lat, lon) == pytest.approx((0, 0), abs=1e-6)
    assert area.to_xy(lat + 0.01, lon)[1] == pytest.approx(EARTH.inv(lon, lat, lon, lat + 0.01)[2], rel=1e-4)
    assert area.to_xy(lat, lon + 0.01)[0] == pytest.approx(EARTH.inv(lon, lat, lon + 0.01, lat)[2], rel=1e-4)


@places
def test_bounds_hold_the_area_and_little_more(lat: float, lon: float) -> None:
    area = Area.around(lat, lon, size_km=40, height_km=20)
    south, west, north, east = area.bounds
    assert south < lat < north
    assert west < lon < east
    x, y = np.meshgrid(np.linspace(-20_000, 20_000, 21), np.linspace(-10_000, 10_000, 21))
    lats, lons = area.to_latlon(x, y)
    lons = lon + (lons - lon + 540) % 360 - 180
    assert (south - 1e-9 <= lats).all()
    assert (lats <= north + 1e-9).all()
    assert (west - 1e-9 <= lons).all()
    assert (lons <= east + 1e-9).all()
    again = Area.from_bounds(south, west, north, (east + 540) % 360 - 180)
    assert again.width_m == pytest.approx(40_000, rel=0.02)
    assert again.height_m == pytest.approx(20_000, rel=0.02)


def test_contains() -> None:
    area = Area.around(*PLACES["180th"], size_km=10)
    lat, lon = area.to_latlon([0, 4_999, 5_001, 0, 0], [0, 0, 0, 4_999, -5_001])
    assert area.contains(lat, lon).tolist() == [True, True, False, True, False]
    assert lon[1] < -179
    assert not area.contains(0.0, 0.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Area.around(float("nan"), 0), "a place must be"),
        (lambda: Area.around(91, 0), "a place must be"),
        (lambda: Area.around(0, float("inf")), "a place must be"),
        (lambda: Area.around(0, 0, size_km=0), "'size_km' must be a finite number > 0, got 0"),
        (lambda: Area.around(0, 0, size_km=float("nan")), "'size_km'"),
        (lambda: Area.around(0, 0, size_km=1, height_km=-1), "'height_km'"),
        (lambda: Area.around(0, 0, size_km=4001), "at most 4000 km"),
        (lambda: Area(0, 0, -1, 1), "'width_m'"),
        (lambda: Area.from_bounds(1, 0, 1, 1), "lat_min < lat_max"),
        (lambda: Area.from_bounds(0, 1, 1, 1), "lon_min != lon_max"),
        (lambda: Area.from_bounds(0, 0, float("nan"), 1), "a place must be"),
    ],
)
def test_bad_areas(make: Callable[[], Area], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_a_part_keeps_the_plane_of_its_area() -> None:
    whole = Area.around(48.8567, 2.3487, size_km=75)
    part = Area(48.8567, 2.3487, 5000, 4000, 12_000.0, -7_000.0)
    lat, lon = whole.to_latlon(12_300.0, -6_900.0)
    assert part.to_xy(lat, lon) == pytest.approx((300.0, 100.0), abs=1e-6)
    assert part.middle == pytest.approx(tuple(float(v) for v in whole.to_latlon(12_000.0, -7_000.0)), abs=1e-9)
    assert whole.middle == (48.8567, 2.3487)
    with pytest.raises(InputError, match="finite"):
        Area(48.8567, 2.3487, 5000, 4000, float("nan"), 0.0)
