# SPDX-License-Identifier: Apache-2.0
"""Rasters: totals are preserved whatever the projections and resolutions are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from pyproj import Transformer
from rasterio import Affine

import geoelastic as ge
from geoelastic.errors import FileError, InputError
from geoelastic.sources.raster import raster_box, read_raster

# rasterio's own use of another package
pytestmark = pytest.mark.filterwarnings("ignore:Use `@` matmul:PendingDeprecationWarning")


def write(path: Path, values: np.ndarray, crs: str | None, west: float, north: float, pixel: float) -> Path:
    options: dict[str, Any] = {} if crs is None else {"crs": crs, "transform": Affine(pixel, 0, west, 0, -pixel, north)}
    bands = values if values.ndim == 3 else values[None]
    with rasterio.open(
        path, "w", driver="GTiff", height=bands.shape[1], width=bands.shape[2], count=len(bands), dtype="float32",
        nodata=-200, **options,
    ) as out:  # fmt: skip
        out.write(bands.astype("float32"))
    return path


def people(seed: int, shape: tuple[int, int] = (40, 50)) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 50, shape) * (rng.random(shape) < 0.7)


@pytest.mark.parametrize(
    ("crs", "pixel"), [("EPSG:4326", 0.001), ("EPSG:32632", 100.0), ("EPSG:32632", 37.0), ("ESRI:54009", 250.0)]
)
@pytest.mark.parametrize("cell_m", [40.0, 130.0])
def test_totals_are_preserved(tmp_path: Path, crs: str, pixel: float, cell_m: float) -> None:
    west, north = Transformer.from_crs("EPSG:4326", crs, always_xy=True).transform(6.1, 46.25)
    values = people(3)
    path = write(tmp_path / "p.tif", values, crs, west, north, pixel)
    south, left, top, right = raster_box(path)
    area = ge.Area.from_bounds(south - 0.002, left - 0.002, top + 0.002, right + 0.002)
    quality = ge.quality_from_raster(path, area, cell_m)
    assert quality.cells.sum() == pytest.approx(values.sum(), rel=1e-9)


def test_a_part_of_a_raster_keeps_what_lies_in_it(tmp_path: Path) -> None:
    """The sum over four quarters of an area is the sum over the area, and windows read no more than they need."""
    path = write(tmp_path / "p.tif", people(5, (80, 80)), "EPSG:32632", 500_000, 5_200_000, 100)
    back = Transformer.from_crs("EPSG:32632", "EPSG:4326", always_xy=True)
    lon, lat = back.transform(504_000, 5_196_000)
    whole = ge.quality_from_raster(path, ge.Area.around(lat, lon, size_km=4), 50).cells
    plain = read_raster(path)
    window = read_raster(path, bounds=ge.Area.around(lat, lon, size_km=1).bounds)
    assert window.info["pixels"] < plain.info["pixels"] / 8
    halves = [whole[:40, :40], whole[:40, 40:], whole[40:, :40], whole[40:, 40:]]
    assert sum(h.sum() for h in halves) == pytest.approx(whole.sum())
    inner = people(5, (80, 80))[20:60, 20:60].sum()
    assert whole.sum() == pytest.approx(inner, rel=0.03)


def test_aligned_pixels_fall_in_one_cell_each(tmp_path: Path) -> None:
    area = ge.Area.around(0, 0, size_km=0.4)
    values = np.arange(16).reshape(4, 4)
    path = tmp_path / "p.tif"
    transform = Affine(100, 0, -200, 0, -100, 200)
    with rasterio.open(
        path,
        "w",
        driver="GTiff",
        height=4,
        width=4,
        count=1,
        dtype="float32",
        crs=area.crs.to_wkt(),
        transform=transform,
    ) as out:
        out.write(values[None].astype("float32"))
    quality = ge.quality_from_raster(path, area, 100)
    np.testing.assert_allclose(quality.cells, values[::-1], atol=1e-5)


def test_densities_count_for_their_area(tmp_path: Path) -> None:
    """1000 people per square kilometre at 60 degrees north: pixels of 0.01 degrees are 1.11 x 0.56 km."""
    path = write(tmp_path / "d.tif", np.full((10, 10), 1000.0), "EPSG:4326", 10, 60.1, 0.01)
    features = read_raster(path, per="km2")
    km2 = 1.1141 * 0.5571 * (np.cos(np.radians(60.05)) / np.cos(np.radians(60)))
    assert features.value.sum() == pytest.approx(1000 * 100 * km2, rel=2e-3)
    assert ge.quality_from_raster(path, per="km2").cells.sum() == pytest.approx(features.value.sum(), rel=1e-6)


def test_pixels_without_a_count(tmp_path: Path) -> None:
    values = np.array([[1.0, -200.0, np.nan], [-5.0, 0.0, 2.0]])
    features = read_raster(write(tmp_path / "n.tif", values, "EPSG:4326", 0, 1, 0.1))
    assert sorted(features.value.tolist()) == [1, 2]
    assert features.dropped == {"no value, or a negative one": 3}


def test_bands(tmp_path: Path) -> None:
    path = write(tmp_path / "b.tif", np.stack([np.ones((2, 2)), np.full((2, 2), 5.0)]), "EPSG:4326", 0, 1, 0.01)
    assert ge.quality_from_raster(path, band=2).cells.sum() == pytest.approx(20, rel=1e-6)
    with pytest.raises(InputError, match="'band' must be from 1 to 2"):
        read_raster(path, band=3)


def test_helpful_errors(tmp_path: Path) -> None:
    path = write(tmp_path / "p.tif", np.ones((4, 4)), "EPSG:32632", 500_000, 5_200_000, 100)
    for place in ((46.9, 20.0), (-40.0, 9.0)):
        with pytest.raises(InputError, match="lies outside"):
            ge.quality_from_raster(path, ge.Area.around(*place, size_km=1))
    (tmp_path / "not.tif").write_bytes(b"II*\0 and so on")
    with pytest.raises(FileError, match=r"not\.tif: not a raster"):
        ge.quality_from_source(tmp_path / "not.tif")
    with pytest.raises(FileError, match="no such file"):
        read_raster(tmp_path / "none.tif")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bare = write(tmp_path / "bare.tif", np.ones((2, 2)), None, 0, 0, 1)
    with pytest.raises(InputError, match="no coordinate reference system"):
        read_raster(bare)
    with pytest.raises(InputError, match="'per' must be one of"):
        read_raster(path, per="acre")
