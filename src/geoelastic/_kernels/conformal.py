# SPDX-License-Identifier: Apache-2.0
"""Edge weights of a conformal metric: length times the mean of two local scales, in fixed point."""

from typing import Any

import numpy as np

from ._compile import kernel

#: Fractional bits of a local scale, which is in level units per half cell; lengths have 8 (see `layout`).
SCALE_BITS = 8
SHIFT = 8 + SCALE_BITS + 1


def conformal_weights(start: Any, index: Any, length: Any, scale: Any) -> Any:
    """weight(i, j) = floor(length x (scale_i + scale_j) / 2^17): exact in 64-bit integers, and in doubles below
    2^53."""
    wide = scale.astype(np.int64)
    both = np.repeat(wide, np.diff(start)) + wide[index]
    return ((length * both) >> SHIFT).astype(np.int32)


@kernel
def share(start, index, value):
    """Each vertex's value averaged with the mean of its neighbours' values; NaN is unknown, and 0 where nothing is
    known."""
    out = np.zeros(value.size, np.float64)
    for i in range(start.size - 1):
        total = 0.0
        known = 0
        for a in range(start[i], start[i + 1]):
            if not np.isnan(value[index[a]]):
                total += value[index[a]]
                known += 1
        if known > 0 and not np.isnan(value[i]):
            out[i] = (total / known + value[i]) / 2
        elif known > 0:
            out[i] = total / known
        elif not np.isnan(value[i]):
            out[i] = value[i]
    return out
