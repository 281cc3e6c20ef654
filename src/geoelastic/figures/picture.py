# SPDX-License-Identifier: Apache-2.0
"""`Picture`: a value for every cell of a grid and what to draw over it, before any drawing is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray
from ..context import Context
from ..locations import Grid


@dataclass(frozen=True)
class Mark:
    """Points in metres drawn over a picture, one place or a cloud of them; in the legend if it has a `label`."""

    x: FloatArray
    y: FloatArray
    label: str
    colour: str
    size: float = 8
    marker: str = "o"


@dataclass(frozen=True, eq=False)
class Picture:
    """`cells`: one value a cell, NaN where there is nothing to show; `label` names it with its unit.

    `backdrop` (0 to 1) is drawn in grey where `cells` has no value; `regions` are outlined where neighbouring cells
    differ. `numbered`: values are the numbers of things, which are written on them instead of a scale. `context`:
    what people know the place by.
    """

    grid: Grid
    cells: FloatArray
    title: str
    label: str
    log: bool = False
    low: float | None = None
    high: float | None = None
    backdrop: FloatArray | None = None
    regions: tuple[npt.NDArray[Any], ...] = ()
    marks: tuple[Mark, ...] = ()
    credit: str = ""
    note: str = ""
    numbered: bool = False
    context: Context | None = None

    def limits(self) -> tuple[float, float]:
        """The values at the two ends of the colour scale, never equal."""
        shown = self.cells[np.isfinite(self.cells) & ((self.cells > 0) | (not self.log))]
        if not shown.size:
            return (1.0, 2.0) if self.log else (0.0, 1.0)
        low = float(shown.min()) if self.low is None else self.low
        high = float(shown.max()) if self.high is None else self.high
        if not high > low:
            high = low * 1.01 if low > 0 else low + 1
        return low, high


def edges_of(region: npt.NDArray[Any], grid: Grid) -> FloatArray:
    """The line pieces, in metres, along which cells of different value meet: (pieces, 2 ends, x and y)."""
    x0, y0 = -grid.cols * grid.cell_m / 2, -grid.rows * grid.cell_m / 2
    row, col = np.nonzero(region[1:] != region[:-1])
    flat = [np.stack([col, row + 1], axis=1), np.stack([col + 1, row + 1], axis=1)]
    row, col = np.nonzero(region[:, 1:] != region[:, :-1])
    upright = [np.stack([col + 1, row], axis=1), np.stack([col + 1, row + 1], axis=1)]
    corners = np.concatenate([np.stack(flat, axis=1), np.stack(upright, axis=1)]).astype(float)
    pieces: FloatArray = corners * grid.cell_m + np.array([x0, y0])
    return pieces


def credit_of(info: Mapping[str, Any]) -> str:
    """Whom to name for the data, wherever in `info` (and the data it was made from) it is written."""
    return "; ".join(dict.fromkeys(_credits(info)))


def _credits(info: Any) -> Iterator[str]:
    if isinstance(info, Mapping):
        for key, value in info.items():
            if key in ("attribution", "credit", "licence") and isinstance(value, str) and value:
                yield value
            else:
                yield from _credits(value)
    elif isinstance(info, list | tuple):
        for value in info:
            yield from _credits(value)
