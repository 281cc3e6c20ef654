# SPDX-License-Identifier: Apache-2.0
"""`Atoms`: pieces of zones, each small enough that what is inside hardly matters, with a public guess of how people are
spread over them and inside them (the map's mass, or a prior)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray, IndexArray, IntArray
from ..errors import InputError
from ..locations import Grid
from ..metric import AnyMetric
from ..store.digest import digest
from .information import sums
from .zones import LARGEST_PIECE, Zones, leaf_zones

#: Atoms besides the zones themselves: enough to follow what is inside a zone of some kilometres.
FINE_ATOMS = 1500


@dataclass(frozen=True, eq=False)
class Atoms:
    """Pieces of zones: atom -> zone (-1 elsewhere), and the public share of people in each.

    `cell`, `cell_atom` and `cell_share` say how the people of each atom are spread over the cells of the grid, in the
    order of the atoms; the shares of an atom add up to 1.
    """

    zones: Zones
    zone: IntArray
    prior: FloatArray
    cell: IntArray
    cell_atom: IntArray
    cell_share: FloatArray

    def by_zone(self, values: FloatArray) -> FloatArray:
        """Sums over the atoms of each zone, and of elsewhere in the last entry."""
        return np.asarray(np.bincount(np.where(self.zone < 0, self.zones.n, self.zone), values, self.zones.n + 1))

    @property
    def n(self) -> int:
        return int(self.zone.size)

    @cached_property
    def digest(self) -> str:
        """A name of all that the atoms are made of."""
        return digest(self.cell, self.cell_atom, self.cell_share, self.zone)


def make_atoms(
    metric: AnyMetric,
    zones: Zones,
    *,
    prior: npt.ArrayLike | None = None,
    elsewhere: bool = True,
    fine: int = FINE_ATOMS,
) -> Atoms:
    """The zones, the larger ones cut along a quadtree of about `fine` squares of like prior mass; only what can be a
    secret.

    `prior`: a public guess of how many people are in each cell, (rows, cols) [default: the metric's mass]. Without
    `elsewhere` nobody is assumed to have been outside the zones.
    """
    at, secret = metric.locations, metric.secret
    guess = (metric.mass / at.area_cells)[at.owner] if prior is None else np.asarray(prior, dtype=np.float64)
    if guess.shape != metric.grid.shape or not np.all(np.isfinite(guess) & (guess >= 0)):
        raise InputError(f"'prior' must be a finite number >= 0 for each of {metric.grid.shape} cells")
    # nowhere quite 0: a place that the guess rules out could never be found
    guess = np.where(secret[at.owner], guess + guess.mean() * 1e-3, 0.0)
    label = zones.label.astype(np.int64)
    leaves = _cuts(metric.grid, label, guess, fine)
    used = secret[at.owner] & ((label >= 0) | elsewhere)
    if not used.any():
        raise InputError("'zones' must hold places that can be secrets; these lie in the frame of the map")
    keys, atom = np.unique((label[used] + 1) * (int(leaves.max()) + 1) + leaves[used], return_inverse=True)
    weight = guess[used]
    total = np.bincount(atom, weight)
    order = np.argsort(atom, kind="stable")
    return Atoms(
        zones, keys // (int(leaves.max()) + 1) - 1, total / total.sum(), np.flatnonzero(used)[order], atom[order],
        (weight / total[atom])[order],
    )  # fmt: skip


def entries_of(metric: AnyMetric, atoms: Atoms) -> tuple[IntArray, IndexArray, FloatArray]:
    """(atom, location, share): how the people of each atom are spread over the locations of a map, be it the one that
    the atoms were made for or another over the same places."""
    grid, at = atoms.zones.grid, metric.locations
    row, col = np.divmod(atoms.cell, grid.cols)
    if metric.grid != grid:
        row, col = metric.grid.latlon_to_cell(*grid.cell_to_latlon(row, col))
    location = np.where(row < 0, -1, at.owner[row, col])
    lost = np.count_nonzero((location < 0) | ~metric.secret[location])
    if lost:
        raise InputError(
            f"every mechanism's map must have all places of the zones as secrets: {lost} of {location.size} cells are "
            "none; use zones that lie in all maps, and no elsewhere"
        )
    pairs, entry = np.unique(atoms.cell_atom * np.int64(at.n) + location, return_inverse=True)
    return pairs // at.n, (pairs % at.n).astype(np.int32), sums(entry, atoms.cell_share)


def _cuts(grid: Grid, label: IntArray, guess: FloatArray, fine: int) -> IndexArray:
    """The square of the quadtree that each cell lies in; 0 throughout a zone that is no larger than a square."""
    if not fine:
        return np.zeros(grid.shape, np.int32)
    leaves = leaf_zones(grid, guess, fine).label
    held = np.bincount((label + 1).ravel(), guess.ravel())
    large = held > LARGEST_PIECE * guess.sum() / fine
    return np.where(large[label + 1], leaves, 0).astype(np.int32)
