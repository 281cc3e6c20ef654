# SPDX-License-Identifier: Apache-2.0
"""The model of planar Laplace's reports: bins of a grid, and one bin for all that falls outside the map.

A report is put into a square bin of about an eighth of the mean error, which is done after the fact and so loses a
little information but no truth. The chance of a bin is the density at its middle, seen from the middles of the bins
that hold people: right to second order in bin over error, about 1 %, and summed to 1 with what lies outside.
"""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray, IntArray
from ..mechanism.laplace import PlanarLaplace
from .model import MOST_ENTRIES, Atoms, ReportModel

__all__ = ["laplace_model"]

_BINS_PER_ERROR = 8
_MOST_BINS = 40_000


def laplace_model(mechanism: PlanarLaplace, atoms: Atoms) -> ReportModel:
    """The model of a `PlanarLaplace` over the map of the zones."""
    grid = atoms.zones.grid
    side = max(1, int(2 / mechanism.epsilon / _BINS_PER_ERROR / grid.cell_m))
    while -(-grid.rows // side) * -(-grid.cols // side) > min(_MOST_BINS, MOST_ENTRIES // atoms.n):
        side += 1
    rows, cols = -(-grid.rows // side), -(-grid.cols // side)
    away = np.hypot(np.arange(1 - rows, rows)[:, None], np.arange(1 - cols, cols)[None, :]) * side * grid.cell_m
    density = mechanism.density(away)
    density[rows - 1, cols - 1] = mechanism.radius_cdf(side * grid.cell_m / np.sqrt(np.pi)) / (side * grid.cell_m) ** 2
    chance = density * (side * grid.cell_m) ** 2
    chance /= max(1.0, float(chance.sum()))
    matrix = np.zeros((atoms.n, rows * cols + 1))
    bins = atoms.cell // grid.cols // side * cols + atoms.cell % grid.cols // side
    pairs, entry = np.unique(atoms.cell_atom * np.int64(rows * cols) + bins, return_inverse=True)
    people = np.bincount(entry, atoms.cell_share)
    for pair, held in zip(pairs.tolist(), people.tolist(), strict=True):
        atom, row, col = pair // (rows * cols), pair // cols % rows, pair % cols
        seen = chance[rows - 1 - row : 2 * rows - 1 - row, cols - 1 - col : 2 * cols - 1 - col]
        matrix[atom, :-1] += held * seen.ravel()
    matrix[:, -1] = np.maximum(1 - matrix[:, :-1].sum(axis=1), 0)

    def of_place(lat: FloatArray, lon: FloatArray) -> IntArray:
        row, col = grid.latlon_to_cell(lat, lon)
        return np.where(row < 0, rows * cols, row // side * cols + col // side)

    return ReportModel(atoms, matrix, of_place)
