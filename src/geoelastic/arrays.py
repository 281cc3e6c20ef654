# SPDX-License-Identifier: Apache-2.0
"""Types of arrays, named by what is in them; arrays that are handed out: read-only; arrays as JSON has them: lists."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
ByteArray = npt.NDArray[np.uint8]
FloatArray = npt.NDArray[np.float64]
#: Numbers of locations and vertices, and what is stored as one for each.
IndexArray = npt.NDArray[np.int32]
#: Masses, sums, and everything else that is whole.
IntArray = npt.NDArray[np.int64]

Array = TypeVar("Array", bound=npt.NDArray[Any])


def read_only(array: Array) -> Array:
    """The array, which nobody can write any more."""
    array.setflags(write=False)
    return array


class Locked:
    """A data class whose arrays are read-only from the start."""

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                read_only(value)


def to_plain(value: Any, unbounded: Callable[[float], Any]) -> Any:
    """As JSON has it: lists for arrays and tuples, words for what it does not know, and `unbounded` of what it has no
    number for (an infinite distance, the mean of nothing)."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): to_plain(inner, unbounded) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(inner, unbounded) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else unbounded(value)
    return value if value is None or isinstance(value, str | int) else str(value)
