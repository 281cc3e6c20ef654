# SPDX-License-Identifier: Apache-2.0
"""A picture as a file of the kind that its name says."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InputError
from ..store import require_writable, write_bytes
from .draw import picture_png
from .geotiff import write_geotiff
from .page import picture_page
from .picture import Picture

__all__ = ["PICTURE_KINDS", "require_picture_path", "save_picture"]

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
