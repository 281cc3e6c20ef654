# SPDX-License-Identifier: Apache-2.0
"""A small map for the tests of tiled builds: open land with towns across the seams of its tiles."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from geoelastic.mass import Mass

TILE = 128
LEVELS: dict[str, Any] = {"l_from": 0.35, "l_top": 0.8, "frame": 0.08}
#: Rows and columns of town centres, radii in cells: on a seam, on a corner of four tiles, inside a tile.
TOWNS = [(128, 60, 9), (130, 250, 12), (200, 180, 7), (258, 128, 10), (60, 130, 5)]


def small_mass(*, extra: tuple[int, int, int] | None = None, shape: tuple[int, int] = (330, 300)) -> Mass:
    """Masses of a made-up region; `extra` adds one more town."""
    rng = np.random.default_rng(5)
    row, col = np.indices(shape)
    quality = np.zeros(shape)
    for r, c, radius in TOWNS + ([extra] if extra else []):
        away = np.hypot(row - r, col - c) / radius
        quality += np.where(away < 1, 4 * (1 - away**2) ** 2, 0)
    quality = np.floor(quality + rng.random(shape) * (quality > 0))
    return Mass.from_array(1 / 900 + 0.011 * quality, cell_m=100, origin=(47.0, 2.5))


def folder_digest(path: Path) -> str:
    """Hash of the names and contents of all files under a folder."""
    state = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        if file.is_file():
            state.update(str(file.relative_to(path)).encode() + b"\0" + file.read_bytes())
    return state.hexdigest()
