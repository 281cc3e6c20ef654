# SPDX-License-Identifier: Apache-2.0
"""`Quality`: how much of a crowd each cell offers, and where that number comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..errors import InputError
from ..locations import Grid
from ..shown import Shown

__all__ = ["Quality"]


@dataclass(frozen=True, eq=False, repr=False)
class Quality(Shown):
    """q(x) for every cell of a grid.

    `info` is plain JSON data that says where the numbers come from: source, timestamp, licence, recipe, counts per
    class, what was dropped and why. It is written into every file made from this quality.
    """

    grid: Grid
    cells: FloatArray
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cells = np.array(self.cells, dtype=np.float64)
        if cells.shape != self.grid.shape:
            raise InputError(f"'cells' must have the grid's shape {self.grid.shape}, got {cells.shape}")
        if not np.all(np.isfinite(cells) & (cells >= 0)):
            raise InputError("'cells' must be finite numbers >= 0 in every cell")
        cells.setflags(write=False)
        object.__setattr__(self, "cells", cells)

    def __repr__(self) -> str:
        source = self.info.get("source")
        return f"Quality({self.cells.sum():,.4g} in all{f' from {source}' if source else ''}, {self.grid.extent})"
