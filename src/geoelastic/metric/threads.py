# SPDX-License-Identifier: Apache-2.0
"""Work split over threads. Kernels release the interpreter's lock; results come back in order, whatever the number of
threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import require_count
from ..progress import Bar

__all__ = ["in_parts", "worker_count"]

Result = TypeVar("Result")

#: Small enough for a lively progress bar, large enough that a kernel's workspace is worth its allocation.
_PART = 2048
#: A short list is still cut into so many parts, of so many items at least, that no thread waits long for the others.
_FEW_PARTS, _LEAST = 8, 64


def worker_count(workers: int | None) -> int:
    """The number of threads to use: as asked, or one a core."""
    return os.cpu_count() or 1 if workers is None else require_count("workers", workers)


def in_parts(
    function: Callable[[npt.NDArray[Any]], Result],
    items: npt.NDArray[Any],
    *,
    workers: int | None,
    bar: Bar | None = None,
    done: float = 0,
) -> list[Result]:
    """function(part) for consecutive parts of `items`; the parts do not depend on the number of workers."""
    many = max(min(_FEW_PARTS, len(items) // _LEAST), -(-len(items) // _PART))
    parts = np.array_split(items, max(1, min(many, 4096)))
    results: list[Result] = []
    with ThreadPoolExecutor(worker_count(workers)) as pool:
        for part, result in zip(parts, pool.map(function, parts), strict=True):
            results.append(result)
            done += len(part)
            if bar is not None:
                bar.update(done)
    return results
