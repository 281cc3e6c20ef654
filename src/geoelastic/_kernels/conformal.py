# SPDX-License-Identifier: Apache-2.0
"""Edge weights of a conformal metric: length times the mean of two local scales, in fixed point."""

import numpy as np
from numba import njit

#: Fractional bits of a local scale, which is in level units per half cell; lengths have 8 (see `layout`).
SCALE_BITS = 8
SHIFT = 8 + SCALE_BITS + 1


@njit(cache=True, nogil=True)
def conformal_weights(start, index, length, scale):
    """weight(i, j) = floor(length x (scale_i + scale_j) / 2^17): exact in 64-bit integers, and in doubles below 2^53."""
    weight = np.empty(index.size, np.int32)
    for i in range(start.size - 1):
        for a in range(start[i], start[i + 1]):
            weight[a] = (np.int64(length[a]) * (np.int64(scale[i]) + scale[index[a]])) >> SHIFT
    return weight


@njit(cache=True, nogil=True)
def smooth(start, index, value):
    """Mean of a value over each vertex (counted as often as it has neighbours) and its neighbours."""
    out = np.empty(value.size, np.float64)
    for i in range(start.size - 1):
        total = 0.0
        for a in range(start[i], start[i + 1]):
            total += value[index[a]]
        degree = start[i + 1] - start[i]
        out[i] = (total + degree * value[i]) / (2 * degree) if degree > 0 else value[i]
    return out
