# SPDX-License-Identifier: Apache-2.0
"""A picture as a file of the kind that its name says: PNG, a page, or GeoTIFF for any GIS."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ..errors import InputError, import_extra
from ..store import require_writable, write_bytes, writing
from .draw import picture_png
from .page import picture_page
from .picture import Picture

#: What a picture can be saved as.
PICTURE_KINDS = (".png", ".html", ".tif")


def require_picture_path(path: str | os.PathLike[str]) -> Path:
    """`path` if a picture can be written there; asked before the work of making one."""
    target = Path(path)
    if target.suffix.lower() not in PICTURE_KINDS:
        raise InputError(f"a picture's file must end in {', '.join(PICTURE_KINDS)}, got {target.name!r}")
    return require_writable(target)


def save_picture(picture: Picture, path: str | os.PathLike[str]) -> None:
    """Write `picture` as .png, .html (a page that needs nothing else) or .tif (GeoTIFF of the values)."""
    target = require_picture_path(path)
    kind = target.suffix.lower()
    if kind == ".png":
        write_bytes(target, picture_png(picture))
    elif kind == ".html":
        write_bytes(target, picture_page(picture).encode())
    else:
        write_geotiff(picture, target)


def write_geotiff(picture: Picture, path: str | os.PathLike[str]) -> None:
    """One band of 32-bit floats, north up, nothing = NaN, in the area's own plane of metres."""
    rasterio = import_extra("rasterio", "raster")
    grid = picture.grid
    west, north = -grid.cols * grid.cell_m / 2, grid.rows * grid.cell_m / 2
    profile = {
        "driver": "GTiff", "height": grid.rows, "width": grid.cols, "count": 1, "dtype": "float32", "nodata": np.nan,
        "crs": rasterio.CRS.from_wkt(grid.area.crs.to_wkt()),
        "transform": rasterio.Affine(grid.cell_m, 0, west, 0, -grid.cell_m, north),
        "compress": "deflate", "predictor": 3, "tiled": True,
    }  # fmt: skip
    with writing(path) as temporary, rasterio.open(temporary, "w", **profile) as target:
        target.write(picture.cells[::-1].astype(np.float32), 1)
        target.set_band_description(1, picture.label)
        target.update_tags(title=picture.title, credit=picture.credit, note=picture.note)
