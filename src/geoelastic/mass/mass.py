# SPDX-License-Identifier: Apache-2.0
"""`Mass`: how much privacy each cell is worth, m(x) = a + b q(x).

The paper fixes a and b by two sentences. *In the empty countryside one feels private within r_large*: a disc of that
radius with no quality at all holds one unit, 1 = a |B_large|. *On average in the city one feels private within
r_small*: such a disc holds one unit, 1 = a |B_small| + b avg_q. Discs are counted on the grid: the cells whose centre
lies within the radius of a cell's centre.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..arrays import BoolArray, FloatArray
from ..errors import InputError, MassError, require_able, require_positive
from ..locations import Grid
from ..shown import Shown
from .city import WHERE_QUALITY_IS, City, city_cells

if TYPE_CHECKING:
    from ..quality import Quality  # with all its sources: a mass that is read from a file needs none

__all__ = ["Mass", "disc_sums", "mass_from_quality"]


@dataclass(frozen=True, eq=False, repr=False)
class Mass(Shown):
    """m(x) for every cell of a grid; `info` is plain JSON data that says how it came about."""

    grid: Grid
    cells: FloatArray
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cells = np.array(self.cells, dtype=np.float64)
        if cells.ndim != 2 or 0 in cells.shape or cells.shape != self.grid.shape:
            raise InputError(f"masses must be a table of the grid's shape {self.grid.shape}, got {cells.shape}")
        if not np.all(np.isfinite(cells) & (cells >= 0)):
            raise InputError("masses must be finite numbers >= 0 in every cell")
        if not cells.any():
            raise MassError("masses must be > 0 in at least one cell, got 0 everywhere")
        cells.setflags(write=False)
        object.__setattr__(self, "cells", cells)

    def __repr__(self) -> str:
        return f"Mass({self.cells.sum():,.4g} units on {self.grid.extent})"

    @classmethod
    def from_array(
        cls, cells: npt.ArrayLike, *, cell_m: float, origin: tuple[float, float], info: dict[str, Any] | None = None
    ) -> Mass:
        """A plain (rows, cols) array of masses, row 0 in the south, centred on `origin` = (lat, lon)."""
        try:
            array = np.asarray(cells, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("masses must be a table of numbers") from None
        if array.ndim != 2 or 0 in array.shape:
            raise InputError(f"masses must be a table of rows and columns, got an array of shape {array.shape}")
        rows, cols = array.shape
        return cls(Grid.of_shape((rows, cols), cell_m, origin), array, {"source": "array"} if info is None else info)

    @property
    def total(self) -> float:
        """The mass of the whole map."""
        return float(self.cells.sum())


def mass_from_quality(
    quality: Quality, *, r_small: float = 300, r_large: float = 3000, city: City | None = None
) -> Mass:
    """The paper's mass of a quality: a = 1/|B_large|, b = (1 - |B_small|/|B_large|) / avg_q.

    avg_q is the mean of q(B_small(x)) over the cells x of the `city`: ``"where quality is"`` (the default, unless the
    source names its own `city_disc`) takes every cell with q > 0; a disc is given as (lat, lon, radius_m), a region
    as a polygon in degrees (shapely or GeoJSON). Discs cut by the map's border would pull the mean down and are left
    out, unless the city has no other. A city without quality gives b = 0: one mass everywhere, which is
    geo-indistinguishability. The result's `info` states all of it.
    """
    r_small, r_large = require_positive("r_small", r_small), require_positive("r_large", r_large)
    require_able("quality", quality, "cells", "a quality (ge.quality_from_source makes one)")
    small, large = quality.grid.disc_size(r_small), quality.grid.disc_size(r_large)
    if not small < large:
        raise InputError(
            f"'r_large' must exceed 'r_small' by at least one cell of {quality.grid.cell_m:g} m, "
            f"got {r_large:g} and {r_small:g} m"
        )
    if city is None:
        city = tuple(quality.info["city_disc"]) if "city_disc" in quality.info else WHERE_QUALITY_IS
    chosen, statement = city_cells(quality, city)
    avg_q, discs = _average(quality, r_small, chosen)
    a = 1 / large
    b = (1 - small / large) / avg_q if avg_q > 0 else 0.0
    info = {
        "quality": quality.info,
        "a": a,
        "b": b,
        "avg_q": avg_q,
        "r_small_m": r_small,
        **({"spread_m": quality.info["spread_m"]} if "spread_m" in quality.info else {}),
        "r_large_m": r_large,
        "disc_small_cells": small,
        "disc_large_cells": large,
        "city": statement | {"cells": int(np.count_nonzero(chosen)), "discs": discs},
    }
    return Mass(quality.grid, a + b * quality.cells, info)


def _average(quality: Quality, radius_m: float, chosen: BoolArray) -> tuple[float, int]:
    """Mean of q over discs centred on the chosen cells, and the number of discs it was taken over."""
    reach = int(radius_m / quality.grid.cell_m)
    whole = np.zeros_like(chosen)
    if 2 * reach < min(chosen.shape):
        whole[reach : chosen.shape[0] - reach, reach : chosen.shape[1] - reach] = True
    centres = chosen & whole
    if not centres.any():
        centres = chosen
    discs = int(np.count_nonzero(centres))
    if not discs:
        return 0.0, 0
    return float(disc_sums(quality.cells, radius_m / quality.grid.cell_m)[centres].sum() / discs), discs


def disc_sums(cells: FloatArray, radius_cells: float) -> FloatArray:
    """Sum of `cells` over the disc around each cell; nothing lies outside the map.

    A disc is one run of cells in each row, and a run is the difference of two running totals of its row: exact for
    whole counts.
    """
    rows, cols = cells.shape
    reach = int(radius_cells)
    totals = np.zeros((rows, cols + 1))
    np.cumsum(cells, axis=1, out=totals[:, 1:])
    sums = np.zeros((rows, cols))
    columns = np.arange(cols)
    for dr in range(-min(reach, rows - 1), min(reach, rows - 1) + 1):
        half = _half_width(dr, radius_cells)
        low, high = np.maximum(columns - half, 0), np.minimum(columns + half + 1, cols)
        source = totals[max(dr, 0) : rows + min(dr, 0)]
        sums[max(-dr, 0) : rows + min(-dr, 0)] += source[:, high] - source[:, low]
    return sums


def _half_width(dr: int, radius_cells: float) -> int:
    """Largest k with dr² + k² <= radius², by the same comparison that `Grid.disc_size` makes."""
    k = int(radius_cells)
    while k > 0 and not dr * dr + k * k <= radius_cells**2:
        k -= 1
    return k
