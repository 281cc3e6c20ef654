# SPDX-License-Identifier: Apache-2.0
"""From features to cells (a point falls in one cell, an area is shared among the cells it covers, by area), and from
what lies in each cell to one number: sum, diversity, sensitive classes, prior, cap, spread, in this order.

All are functions of arrays. `Amounts` is sparse: (cell, class, layer, amount) where there is anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._kernels import coverage
from ..arrays import FloatArray, IntArray
from ..errors import InputError
from ..locations import Grid
from ..sources.features import Areas, Features
from .recipe import Cap, Diversity, Sensitive


@dataclass(frozen=True, eq=False)
class Amounts:
    """`amount[k]` of class `classes[code[k]]` from layer `layers[layer[k]]` lies in cell `cell[k]` of `n_cells`."""

    n_cells: int
    cell: IntArray
    code: IntArray
    layer: IntArray
    amount: FloatArray
    classes: tuple[str, ...]
    layers: tuple[str, ...]

    def total(self, rows: Any = slice(None)) -> FloatArray:
        """Sum per cell of all or some entries."""
        sums = np.bincount(self.cell[rows], weights=self.amount[rows], minlength=self.n_cells)
        return sums.astype(np.float64, copy=False)


def hill_numbers(n_cells: int, cell: IntArray, code: IntArray, amount: FloatArray, order: float) -> FloatArray:
    """Effective number of classes in each cell: (sum p^order)^(1 / (1 - order)) over the classes' shares p; 1 where
    empty.

    Order 0 counts classes, 1 is the exponential of Shannon's entropy, 2 the inverse of Simpson's index, infinity the
    inverse of the largest share (Hill, Ecology 54, 1973).
    """
    positive = amount > 0
    width = int(code.max(initial=0)) + 1
    pair, place = np.unique(cell[positive] * width + code[positive], return_inverse=True)
    mass = np.bincount(place, weights=amount[positive], minlength=len(pair))
    where = pair // width
    share = mass / np.bincount(where, weights=mass, minlength=n_cells)[where]
    if order == 1:
        exponent = np.bincount(where, weights=-share * np.log(share), minlength=n_cells)
        return np.exp(exponent)
    if math.isinf(order):
        largest = np.zeros(n_cells)
        np.maximum.at(largest, where, share)
        return 1 / np.where(largest > 0, largest, 1.0)
    sums = np.bincount(where, weights=share**order, minlength=n_cells)
    return np.where(sums > 0, sums, 1.0) ** (1 / (1 - order))


def sum_with_diversity(amounts: Amounts, diversity: Diversity | None) -> FloatArray:
    """Quality per cell: the plain sum, with the chosen layers multiplied by their Hill number to the given strength."""
    if diversity is None:
        return amounts.total()
    chosen = np.isin(amounts.layer, [amounts.layers.index(name) for name in diversity.layers if name in amounts.layers])
    numbers = hill_numbers(
        amounts.n_cells, amounts.cell[chosen], amounts.code[chosen], amounts.amount[chosen], diversity.order
    )
    return amounts.total(~chosen) + amounts.total(chosen) * numbers**diversity.strength


def apply_sensitive(cells: FloatArray, amounts: Amounts, sensitive: Sensitive) -> tuple[FloatArray, dict[str, Any]]:
    """Less for cells that one sensitive group fills: times 1 - (1 - cover) s^2, s the largest group's share.

    The square leaves mixed cells almost alone (s = 0.2 loses at most 4 %), and more of anything never lowers the
    plain sum: with o of other things and h sensitive, (o + h)(1 - (1 - c) h^2 / (o + h)^2) grows in both o and h for
    every c in [0, 1].
    """
    total = amounts.total()
    largest = np.zeros(amounts.n_cells)
    counts = {}
    for name, patterns in sensitive.groups.items():
        starts = tuple(pattern[:-1] for pattern in patterns if pattern.endswith("=*"))
        member = np.array([c in patterns or c.startswith(starts) for c in amounts.classes], dtype=bool)
        rows = member[amounts.code]
        share = np.divide(amounts.total(rows), total, out=np.zeros_like(total), where=total > 0)
        counts[name] = int(np.count_nonzero(share > 0.5))
        largest = np.maximum(largest, share)
    factor = 1 - (1 - sensitive.cover) * largest**2
    return cells * factor, {"cover": sensitive.cover, "cells mostly of one group": counts}


def apply_prior(cells: FloatArray, prior: FloatArray, *, floor: float) -> tuple[FloatArray, dict[str, Any]]:
    """Quality scaled by how likely the users are to be there, keeping the total: `floor` of it stays where they never
    are.
    """
    if prior.shape != cells.shape or not np.all(np.isfinite(prior) & (prior >= 0)):
        raise InputError(f"'prior' must be finite numbers >= 0 of the grid's shape, got shape {prior.shape}")
    quality = float(cells.sum())
    mean = float((cells * prior).sum()) / quality if quality > 0 else 0.0
    if not mean > 0:
        raise InputError("'prior' must be > 0 in at least one cell that has quality")
    report = {"floor": floor, "cells never visited": int(np.sum(prior == 0))}
    return cells * (floor + (1 - floor) * prior / mean), report


def apply_cap(cells: FloatArray, cap: Cap) -> tuple[FloatArray, dict[str, Any]]:
    """Outliers cut to a stated value: given, a quantile of the cells that have any quality, or mean + amount x
    deviation.
    """
    if cap.rule == "value":
        most = cap.amount
    elif cap.rule == "quantile":
        some = cells[cells > 0]
        most = float(np.quantile(some, cap.amount)) if len(some) else 0.0
    else:
        most = float(cells.mean() + cap.amount * cells.std())
    above = cells > most
    report = {
        "rule": cap.rule,
        "amount": cap.amount,
        "value": most,
        "cells cut": int(np.count_nonzero(above)),
        "quality cut": float((cells[above] - most).sum()),
    }
    return np.minimum(cells, most), report


def spread(cells: FloatArray, cell_m: float, spread_m: float, *, mode: str = "reflect") -> FloatArray:
    """Each cell's quality given to its surroundings by a Gaussian of this standard deviation, (rows, cols). The sum
    stays: what would leave the map comes back from its border; with the mode "constant" it is gone."""
    from scipy import ndimage  # slow to load

    return np.asarray(ndimage.gaussian_filter(cells, spread_m / cell_m, mode=mode), dtype=np.float64)


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
    return np.add.reduceat(cross, ring_start[:-1]) / 2
