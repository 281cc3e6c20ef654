# SPDX-License-Identifier: Apache-2.0
"""Types of arrays, named by what is in them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["BoolArray", "ByteArray", "FloatArray", "IndexArray", "IntArray"]

BoolArray = npt.NDArray[np.bool_]
ByteArray = npt.NDArray[np.uint8]
FloatArray = npt.NDArray[np.float64]
#: Numbers of locations and vertices, and what is stored as one for each.
IndexArray = npt.NDArray[np.int32]
#: Masses, sums, and everything else that is whole.
IntArray = npt.NDArray[np.int64]
