# SPDX-License-Identifier: Apache-2.0
"""An even sample of places, for quantities that cost a search each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray, IntArray
from ..errors import InputError, require_count

if TYPE_CHECKING:
    from ..metric import AnyMetric


@dataclass(frozen=True, eq=False)
class Sample:
    """`places`: locations, each once; `blocks`: the entry of `places` for each square of `step` cells, or -1."""

    shape: tuple[int, int]
    step: int
    cell_m: float
    places: IntArray
    blocks: npt.NDArray[Any]

    @property
    def note(self) -> str:
        """How dense the sample is."""
        every = "" if self.step == 1 else f", one every {self.step * self.cell_m:g} m"
        return f"{len(self.places):,} places{every}"

    def spread(self, values: FloatArray) -> FloatArray:
        """One value a cell: that of the cell's square; NaN where there is none."""
        coarse = np.where(self.blocks >= 0, values[self.blocks], np.nan)
        fine = np.repeat(np.repeat(coarse, self.step, axis=0), self.step, axis=1)
        return fine[: self.shape[0], : self.shape[1]]


def sample_places(metric: AnyMetric, points: int) -> Sample:
    """About `points` locations on a square lattice that can be secrets and lie in no fence; all, if there are fewer."""
    grid, owner = metric.grid, metric.locations.owner
    step = max(1, math.ceil(math.sqrt(grid.rows * grid.cols / require_count("points", points))))
    rows = np.minimum(np.arange(0, grid.rows, step) + step // 2, grid.rows - 1)
    cols = np.minimum(np.arange(0, grid.cols, step) + step // 2, grid.cols - 1)
    at = owner[np.ix_(rows, cols)].astype(np.int64)
    free = (metric.secret & (metric.fence == 0))[at]
    if not free.any():
        raise InputError("a picture of places needs a location outside the frame and all fences, got none")
    places = np.unique(at[free])
    blocks = np.where(free, np.searchsorted(places, at), -1)
    return Sample(grid.shape, step, grid.cell_m, places, blocks)
