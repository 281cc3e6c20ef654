# SPDX-License-Identifier: Apache-2.0
"""Output measures: how much each location counts as a report, before distance is looked at.

Any public measure keeps the guarantee: it is the same for every secret and cancels in the ratio. It is a non-negative
integer a location, with a sum of at most 2^31, so that weights times measure add up in 64 bits. Weight 0 means never
reported.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..arrays import BoolArray, FloatArray, IntArray, read_only
from ..errors import InputError, require_nonnegative
from ..store.digest import digest
from .metric import Metric

MEASURES = ("mass", "uniform", "mass^GAMMA")
_TOTAL = 2**31


def output_measure(metric: Metric, output: str | npt.ArrayLike, *, never: npt.ArrayLike | None = None) -> IntArray:
    """The measure called "uniform" (area), "mass", or "mass^GAMMA" (area x (mass per area)^GAMMA), or given as
    numbers, one per location.

    `never`: a mask of locations, or of cells (rows, cols), that must not be reported, e.g. water. A location is left
    out if all its cells are. A location that may be reported counts for at least one unit.
    """
    weights = _weights(metric, output)
    allowed = weights > 0
    if never is not None:
        allowed &= ~_mask(metric, never)
    if not np.any(allowed[metric.fence == 0]):
        raise InputError("'output' must leave at least one location outside fences that can be reported")
    weights = np.where(allowed, weights, 0)
    scale = (_TOTAL - metric.n) / weights.sum()
    return read_only(np.where(allowed, np.maximum(np.floor(weights * scale), 1), 0).astype(np.int64))


def measure_digest(measure: IntArray) -> str:
    """SHA-256 of a measure: keyed reports know it by this."""
    return digest(measure)


def _weights(metric: Metric, output: str | npt.ArrayLike) -> FloatArray:
    area = metric.locations.area_cells.astype(np.float64)
    if isinstance(output, str):
        if output == "uniform":
            return area
        name, _, power = output.partition("^")
        if name != "mass":
            raise InputError(f"'output' must be one of {', '.join(MEASURES)} or an array, got {output!r}")
        try:
            gamma = require_nonnegative("gamma", float(power or 1))
        except ValueError:
            raise InputError(f"'output' must be like 'mass^1.5', got {output!r}") from None
        density = np.maximum(metric.mass, 0) / area
        weighted: FloatArray = area * (density / density.max()) ** gamma
        return weighted
    values = np.asarray(output, dtype=np.float64)
    if values.shape != (metric.n,) or not np.all(np.isfinite(values) & (values >= 0)):
        raise InputError(f"'output' must be {metric.n} finite numbers >= 0, one for each location")
    return values.copy()


def _mask(metric: Metric, never: npt.ArrayLike) -> BoolArray:
    mask = np.asarray(never, dtype=bool)
    if mask.shape == metric.grid.shape:
        return np.asarray(metric.locations.sum_over(mask.astype(np.int64)) == metric.locations.area_cells)
    if mask.shape != (metric.n,):
        raise InputError(f"'never' must be a mask of {metric.n} locations or of {metric.grid.shape} cells")
    return mask
