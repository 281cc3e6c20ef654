# SPDX-License-Identifier: Apache-2.0
"""Rasters (GeoTIFF such as GHSL or WorldPop) to features: every pixel is a small polygon worth what the pixel counts.

Sharing pixels among cells by area keeps totals, whatever the two resolutions and projections are; resampling does not.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pyproj import Transformer

from ..arrays import FloatArray
from ..errors import FileError, InputError, import_extra, require_choice
from .features import Areas, Bounds, Features

RASTER_SUFFIXES = (".tif", ".tiff", ".vrt")


def read_raster(
    path: str | Path, *, bounds: Bounds | None = None, band: int = 1, per: str = "pixel", class_name: str = "raster"
) -> Features:
    """The pixels that touch `bounds`, as polygons worth their value.

    `per="pixel"`: a pixel holds a count (people in it). `per="km2"`: it holds a density, and counts for its area on
    the ground.
    """
    require_choice("per", per, ("pixel", "km2"))
    with _opened(path) as data:
        if not 1 <= band <= data.count:
            raise InputError(f"'band' must be from 1 to {data.count} for {Path(path).name}, got {band}")
        window = _window(data, bounds)
        values = np.ma.filled(data.read(band, window=window, masked=True).astype(np.float64), np.nan)
        corners = _corners(data, window)
    with np.errstate(invalid="ignore"):
        worth = values > 0
        empty = values == 0
    rows, cols = np.nonzero(worth)
    pixels = _pixels(corners, rows, cols)
    value = values[rows, cols]
    if per == "km2":
        value = value * _area_km2(pixels)
    dropped = {"no value, or a negative one": int(values.size - len(rows) - np.count_nonzero(empty))}
    areas = Areas.of_squares(*np.ascontiguousarray(pixels.reshape(-1, 2).T))
    info = {"source": Path(path).name, "pixels": int(values.size)}
    return Features.of_rows([], [], areas, value=value, classes=(class_name,), dropped=dropped, info=info)


def raster_box(path: str | Path) -> Bounds:
    """The raster's own box of degrees."""
    with _opened(path) as data:
        lon, lat = _to_degrees(data, *_border(data.width, data.height))
    return float(lat.min()), float(lon.min()), float(lat.max()), float(lon.max())


def _opened(path: str | Path) -> Any:
    rasterio = import_extra("rasterio", "raster")
    if not Path(path).is_file():
        raise FileError(f"{path}: there is no such file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
            data = rasterio.open(path)
    except rasterio.errors.RasterioIOError:
        raise FileError(f"{Path(path).name}: not a raster that can be read") from None
    if data.crs is None:
        data.close()
        raise InputError(f"{Path(path).name}: the raster has no coordinate reference system")
    return data


def _border(width: int, height: int) -> tuple[FloatArray, FloatArray]:
    """Columns and rows (of pixel corners) along the outline."""
    t = np.linspace(0, 1, 65)
    zero, one = np.zeros(65), np.ones(65)
    return np.concatenate([t, t, zero, one]) * width, np.concatenate([zero, one, t, t]) * height


def _to_degrees(data: Any, col: Any, row: Any) -> tuple[FloatArray, FloatArray]:
    x, y = _apply(data.transform, np.ravel(col), np.ravel(row))
    lon, lat = Transformer.from_crs(data.crs.to_wkt(), "EPSG:4326", always_xy=True).transform(x, y)
    return np.asarray(lon), np.asarray(lat)


def _apply(affine: Any, u: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The affine map of arrays, by its coefficients: the operator for it differs between versions of the package."""
    return affine.a * u + affine.b * v + affine.c, affine.d * u + affine.e * v + affine.f


def _window(data: Any, bounds: Bounds | None) -> Any:
    """The pixels that can touch the bounds, with two to spare."""
    from rasterio.windows import Window

    if bounds is None:
        return Window(0, 0, data.width, data.height)
    lat_min, lon_min, lat_max, lon_max = bounds
    u, v = _border(1, 1)
    to_raster = Transformer.from_crs("EPSG:4326", data.crs.to_wkt(), always_xy=True)
    x, y = to_raster.transform(lon_min + u * (lon_max - lon_min), lat_min + v * (lat_max - lat_min))
    col, row = _apply(~data.transform, np.asarray(x), np.asarray(y))
    if not (np.isfinite(col).all() and np.isfinite(row).all()):
        raise InputError(f"{Path(data.name).name}: the area lies outside the raster")
    c0, c1 = max(0, int(col.min()) - 2), min(data.width, int(np.ceil(col.max())) + 2)
    r0, r1 = max(0, int(row.min()) - 2), min(data.height, int(np.ceil(row.max())) + 2)
    if c0 >= c1 or r0 >= r1:
        raise InputError(f"{Path(data.name).name}: the area lies outside the raster")
    return Window(c0, r0, c1 - c0, r1 - r0)


def _corners(data: Any, window: Any) -> FloatArray:
    """(rows + 1, cols + 1, 2) degrees (lon, lat) of the corners of the window's pixels."""
    col, row = np.meshgrid(
        window.col_off + np.arange(window.width + 1.0), window.row_off + np.arange(window.height + 1.0)
    )
    lon, lat = _to_degrees(data, col, row)
    return np.stack([lon, lat], axis=-1).reshape(*col.shape, 2)


def _pixels(corners: FloatArray, rows: npt.NDArray[Any], cols: npt.NDArray[Any]) -> FloatArray:
    """(n, 5, 2) degrees (lon, lat) of the closed outlines of pixels."""
    ring = [corners[rows + dr, cols + dc] for dr, dc in ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))]
    return np.stack(ring, axis=1)


def _area_km2(outlines: FloatArray) -> FloatArray:
    """Area on the ground of small quadrilaterals of degrees, by an equal-area projection and the shoelace formula."""
    equal_area = Transformer.from_crs("EPSG:4326", "EPSG:6933", always_xy=True)
    x, y = equal_area.transform(outlines[..., 0], outlines[..., 1])
    x, y = x - x[:, :1], y - y[:, :1]
    twice = np.sum(x[:, :-1] * y[:, 1:] - x[:, 1:] * y[:, :-1], axis=1)
    area: FloatArray = np.abs(twice) / 2e6
    return area
