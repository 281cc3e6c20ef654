# SPDX-License-Identifier: Apache-2.0
"""Pictures as GeoTIFF: the numbers themselves, where they are on Earth, for any GIS."""

from __future__ import annotations

import os

import numpy as np

from ..errors import MissingExtraError
from ..store import writing
from .picture import Picture

__all__ = ["write_geotiff"]


def write_geotiff(picture: Picture, path: str | os.PathLike[str]) -> None:
    """One band of 32-bit floats, north up, nothing = NaN, in the area's own plane of metres."""
    try:
        import rasterio
        from rasterio import Affine
    except ImportError:
        raise MissingExtraError("rasterio", "raster") from None
    grid = picture.grid
    west, north = -grid.cols * grid.cell_m / 2, grid.rows * grid.cell_m / 2
    profile = {
        "driver": "GTiff", "height": grid.rows, "width": grid.cols, "count": 1, "dtype": "float32", "nodata": np.nan,
        "crs": rasterio.CRS.from_wkt(grid.area.crs.to_wkt()),
        "transform": Affine(grid.cell_m, 0, west, 0, -grid.cell_m, north),
        "compress": "deflate", "predictor": 3, "tiled": True,
    }  # fmt: skip
    with writing(path) as temporary, rasterio.open(temporary, "w", **profile) as target:
        target.write(picture.cells[::-1].astype(np.float32), 1)
        target.set_band_description(1, picture.label)
        target.update_tags(title=picture.title, credit=picture.credit, note=picture.note)
