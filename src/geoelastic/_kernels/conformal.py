# SPDX-License-Identifier: Apache-2.0
"""Edge weights of a conformal metric: length times the mean of two local scales, in fixed point."""

from typing import Any

import numpy as np

#: Fractional bits of a local scale, which is in level units per half cell; lengths have 8 (see `layout`).
SCALE_BITS = 8
SHIFT = 8 + SCALE_BITS + 1


def conformal_weights(start: Any, index: Any, length: Any, scale: Any) -> Any:
    """weight(i, j) = floor(length x (scale_i + scale_j) / 2^17): exact in 64-bit integers, and in doubles below
    2^53."""
    wide = scale.astype(np.int64)
    both = np.repeat(wide, np.diff(start)) + wide[index]
    return ((length * both) >> SHIFT).astype(np.int32)


def share(start: Any, index: Any, value: Any) -> Any:
    """Each vertex's value averaged with the mean of its neighbours' values; NaN is unknown, and 0 where nothing is
    known."""
    unknown = np.isnan(value)
    own, there = np.where(unknown, 0.0, value), np.repeat(np.arange(value.size), np.diff(start))
    total = np.bincount(there, own[index], minlength=value.size)  # adds in the order of the rows
    known = np.bincount(there, ~unknown[index], minlength=value.size)
    around = np.divide(total, known, out=own.copy(), where=known > 0)
    return np.where(unknown, around, np.where(known > 0, (around + own) / 2, own))
