# SPDX-License-Identifier: Apache-2.0
"""What phones and browsers do today, as channels: Location Guard's levels, and snapping to a grid.

Snapping is deterministic: the report is the centre of the cell one is in. NO GUARANTEE in the sense of a metric: two
neighbours on either side of a line are told apart for certain, and crossing the line gives a track away.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import InputError, require_choice, require_count, require_positive
from ..locations import Grid
from .channel import Channel, Outputs
from .laplace_channel import LOCATION_GUARD_EPSILON, laplace_channel
from .prior import Prior


def location_guard_channel(prior: Prior, grid: Grid, level: str) -> Channel:
    """Planar Laplace at one of the three levels that the browser extension Location Guard offers."""
    require_choice("level", level, LOCATION_GUARD_EPSILON)
    return laplace_channel(prior, grid, LOCATION_GUARD_EPSILON[level], name=f"Location Guard, {level}")


def grid_snap_channel(prior: Prior, grid: Grid, *, side_m: float = 2000) -> Channel:
    """The centre of the square of a fixed grid, by default 2 km as phones offer for an approximate location."""
    side = round(require_positive("side_m", side_m) / grid.cell_m)
    if side < 1:
        raise InputError(f"'side_m' must be at least a cell of {grid.cell_m:g} m, got {side_m:g}")
    row, col = np.divmod(prior.cell, grid.cols)
    squares = np.column_stack([row // side * side, col // side * side, np.full(len(row), side)])
    return _snapped(f"grid of {side * grid.cell_m / 1000:g} km (no guarantee)", squares, grid)


def density_snap_channel(
    prior: Prior, grid: Grid, people: FloatArray, *, people_min: float = 1000, max_side: int = 512
) -> Channel:
    """The centre of the smallest square of a quadtree that holds at least `people_min`: population decides the level.

    `people`: persons (or another count of the crowd) in each cell of the grid. This is how recent phones coarsen a
    location by density; their squares are S2 cells, these are powers of two of the grid's own.
    """
    if people.shape != grid.shape or not np.all(people >= 0):
        raise InputError(f"'people' must be counts >= 0 of the grid's shape {grid.shape}, got shape {people.shape}")
    require_positive("people_min", people_min)
    side = 1
    row, col = np.divmod(prior.cell, grid.cols)
    chosen = np.zeros((len(row), 3), dtype=np.int64)
    open_ = np.ones(len(row), dtype=bool)
    limit = 2 ** math.ceil(math.log2(require_count("max_side", max_side)))
    while open_.any():
        crowd = _pooled(people, side)
        enough = open_ & ((crowd[row // side, col // side] >= people_min) | (side >= limit))
        chosen[enough] = np.column_stack([row // side * side, col // side * side, np.full(len(row), side)])[enough]
        open_ &= ~enough
        side *= 2
    return _snapped(f"squares of {people_min:g} people (no guarantee)", chosen, grid)


def _pooled(cells: FloatArray, side: int) -> FloatArray:
    """Sum over squares of `side` cells."""
    rows, cols = (-(-n // side) * side for n in cells.shape)
    padded = np.zeros((rows, cols))
    padded[: cells.shape[0], : cells.shape[1]] = cells
    pooled: FloatArray = padded.reshape(rows // side, side, cols // side, side).sum(axis=(1, 3))
    return pooled


def _snapped(name: str, squares: IntArray, grid: Grid) -> Channel:
    """A deterministic channel: each place's square (row, col, side) is its output, reported as its centre."""
    unique, output_of = np.unique(squares, axis=0, return_inverse=True)
    row, col, side = unique.T
    xy = np.column_stack([col + side / 2 - grid.cols / 2, row + side / 2 - grid.rows / 2]) * grid.cell_m
    outputs = Outputs(xy, np.ones(len(unique), dtype=np.int64), grid.cell_m)
    identity = np.eye(len(unique))
    return Channel(name, output_of.ravel(), outputs, lambda start, stop: identity[:, start:stop], sound=False)
