# SPDX-License-Identifier: Apache-2.0
"""The model of planar Laplace's reports: bins of a grid, and one bin for all that falls outside the map.

A report is put into a square bin of about an eighth of the mean error (more on large maps), which is done after the
fact and so loses a little information but no truth. The chance of a bin is the mean of the density over people spread
evenly inside the bins that hold them, summed to 1 with what lies outside.
"""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray, IntArray
from ..mechanism.laplace import PlanarLaplace
from .atoms import Atoms
from .model import LARGE, MOST_ENTRIES, ReportModel

_BINS_PER_ERROR = 8
_MOST_BINS = 40_000
#: Places on each axis over which a density is averaged.
_POINTS = 8


def laplace_model(mechanism: PlanarLaplace, atoms: Atoms) -> ReportModel:
    """The model of a `PlanarLaplace` over the map of the zones."""
    grid = atoms.zones.grid
    side = max(1, int(2 / mechanism.epsilon / _BINS_PER_ERROR / grid.cell_m))
    while -(-grid.rows // side) * -(-grid.cols // side) > min(_MOST_BINS, MOST_ENTRIES // atoms.n):
        side += 1
    rows, cols = -(-grid.rows // side), -(-grid.cols // side)
    chance = _chances(mechanism, rows, cols, side * grid.cell_m)
    matrix = np.zeros((atoms.n, rows * cols + 1), np.float64 if atoms.n * rows * cols <= LARGE else np.float32)
    bins = atoms.cell // grid.cols // side * cols + atoms.cell % grid.cols // side
    pairs, entry = np.unique(atoms.cell_atom * np.int64(rows * cols) + bins, return_inverse=True)
    people = np.bincount(entry, atoms.cell_share)
    for pair, held in zip(pairs.tolist(), people.tolist(), strict=True):
        atom, row, col = pair // (rows * cols), pair // cols % rows, pair % cols
        seen = chance[rows - 1 - row : 2 * rows - 1 - row, cols - 1 - col : 2 * cols - 1 - col]
        matrix[atom, :-1] += held * seen.ravel()
    matrix[:, -1] = np.maximum(1 - matrix[:, :-1].sum(axis=1, dtype=np.float64), 0)

    def of_place(lat: FloatArray, lon: FloatArray) -> IntArray:
        row, col = grid.latlon_to_cell(lat, lon)
        return np.where(row < 0, rows * cols, row // side * cols + col // side)

    return ReportModel(atoms, matrix, of_place)


def _chances(mechanism: PlanarLaplace, rows: int, cols: int, side_m: float) -> FloatArray:
    """The chance of a bin so many bins away, (2 rows - 1, 2 cols - 1), for people spread evenly over theirs: the
    density at the mean over the difference of two places in squares, whose law is a triangle on each axis."""
    down, across = np.arange(1 - rows, rows) * side_m, np.arange(1 - cols, cols) * side_m
    step = (np.arange(_POINTS) + 0.5) / _POINTS * 2 - 1
    weight = (1 - np.abs(step)) / (1 - np.abs(step)).sum()
    chance = np.zeros((down.size, across.size))
    for a, u in zip(step * side_m, weight, strict=True):
        for b, v in zip(step * side_m, weight, strict=True):
            chance += u * v * mechanism.density(np.hypot(down[:, None] + a, across[None, :] + b))
    chance *= side_m**2
    return chance / max(1.0, float(chance.sum()))
