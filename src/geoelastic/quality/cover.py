# SPDX-License-Identifier: Apache-2.0
"""Features to cells: a point falls in one cell, an area is shared among the cells it covers, by area."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._kernels import coverage
from ..arrays import FloatArray, IntArray
from ..locations import Grid
from ..sources.features import Areas, Features

__all__ = ["Shares", "share_features"]

#: an area whose share of a cell is below this many cells' area is taken not to touch it: rounding, not geography
_LEAST_CELLS = 1e-9


@dataclass(frozen=True, eq=False)
class Shares:
    """Feature `feature[k]` has the fraction `share[k]` of itself in cell `cell[k]`; `inside` is a feature's total."""

    feature: IntArray
    cell: IntArray
    share: FloatArray
    inside: FloatArray


def share_features(features: Features, grid: Grid) -> Shares:
    """Every feature's fractions; they add up to 1 unless the feature crosses the border of the grid."""
    row, col = grid.latlon_to_cell(features.lat, features.lon)
    point = np.flatnonzero(row >= 0)
    found = [(point, (row * grid.cols + col)[point], np.ones(len(point)))]
    feature, cell, share = _share_areas(features.areas, grid)
    found.append((feature + len(features.lat), cell, share))
    feature, cell, share = (np.concatenate(parts) for parts in zip(*found, strict=True))
    inside = np.bincount(feature, weights=share, minlength=features.n).astype(np.float64)
    return Shares(feature, cell, share, inside)


def _share_areas(areas: Areas, grid: Grid) -> tuple[IntArray, IntArray, FloatArray]:
    x, y = grid.area.to_xy(areas.lat, areas.lon)
    x, y = x / grid.cell_m + grid.cols / 2, y / grid.cell_m + grid.rows / 2
    ring_area = _ring_areas(x, y, areas.ring_start)
    sign = np.where(areas.hole, -1.0, 1.0) * np.sign(ring_area)
    owner = np.repeat(np.arange(len(areas)), np.diff(areas.area_start))
    total = np.bincount(owner, weights=sign * ring_area, minlength=len(areas))
    sign[~np.isfinite(sign)] = 0.0
    feature, cell, covered = coverage(
        x, y, areas.ring_start, areas.area_start, sign, grid.rows, grid.cols, _LEAST_CELLS
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        share = covered / total[feature]
    real = np.isfinite(share) & (share > 0)
    return feature[real], cell[real], np.minimum(share[real], 1.0)


def _ring_areas(x: FloatArray, y: FloatArray, ring_start: IntArray) -> FloatArray:
    """Signed areas, positive for rings that run counter-clockwise.

    Corners are taken from the ring's first one: the shoelace formula on raw coordinates would cancel most of its
    digits.
    """
    if len(ring_start) == 1:
        return np.empty(0)
    origin = np.repeat(ring_start[:-1], np.diff(ring_start))
    dx, dy = x - x[origin], y - y[origin]
    cross = np.zeros(len(x))
    cross[:-1] = dx[:-1] * dy[1:] - dx[1:] * dy[:-1]
    cross[ring_start[1:] - 1] = 0.0
    areas: FloatArray = np.add.reduceat(cross, ring_start[:-1]) / 2
    return areas
