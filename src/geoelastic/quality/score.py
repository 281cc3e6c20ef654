# SPDX-License-Identifier: Apache-2.0
"""From what lies in each cell to one number: sum, diversity, sensitive classes, prior, cap, spread, in this order.

All are functions of arrays. `Amounts` is sparse: (cell, class, layer, amount) where there is anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import InputError
from .recipe import Cap, Diversity, Sensitive

__all__ = ["Amounts", "apply_cap", "apply_prior", "apply_sensitive", "hill_numbers", "spread", "sum_with_diversity"]


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
    numbers: FloatArray = np.where(sums > 0, sums, 1.0) ** (1 / (1 - order))
    return numbers


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
        member = np.array([_matches(c, patterns) for c in amounts.classes], dtype=bool)
        rows = member[amounts.code]
        share = np.divide(amounts.total(rows), total, out=np.zeros_like(total), where=total > 0)
        counts[name] = int(np.count_nonzero(share > 0.5))
        largest = np.maximum(largest, share)
    factor = 1 - (1 - sensitive.cover) * largest**2
    return cells * factor, {"cover": sensitive.cover, "cells mostly of one group": counts}


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(name == p or (p.endswith("=*") and name.startswith(p[:-1])) for p in patterns)


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
    return cells * (floor + (1 - floor) * prior / mean), {
        "floor": floor,
        "cells never visited": int(np.sum(prior == 0)),
    }


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


def spread(cells: FloatArray, cell_m: float, spread_m: float) -> FloatArray:
    """Each cell's quality given to its surroundings by a Gaussian of this standard deviation, (rows, cols). The sum
    stays: what would leave the map comes back from its border."""
    from scipy import ndimage  # slow to load

    return np.asarray(ndimage.gaussian_filter(cells, spread_m / cell_m, mode="reflect"), dtype=np.float64)
