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

from .. import _kernels as kernels
from ..errors import require_count
from ..progress import Bar

Result = TypeVar("Result")

#: Small enough for a lively progress bar, large enough that a kernel's workspace is worth its allocation.
_PART = 2048
#: A short list is still cut into so many parts that no thread waits long for the others. All but the last part are a
#: multiple of what kernels take together.
_FEW_PARTS, _MULTIPLE = 16, kernels.TOGETHER


def worker_count(workers: int | None) -> int:
    """The number of threads to use: as asked, or one per core."""
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
    items = np.ascontiguousarray(items)  # a kernel is compiled for each way that arrays lie in memory
    size = max(min(_PART, len(items) // _FEW_PARTS), 1)
    size += -size % _MULTIPLE
    parts = [items[first : first + size] for first in range(0, max(len(items), 1), size)]
    results: list[Result] = []
    threads = min(worker_count(workers), len(parts))
    with ThreadPoolExecutor(threads) as pool:  # which starts none before it is given something
        for part, result in zip(parts, (map if threads == 1 else pool.map)(function, parts), strict=True):
            results.append(result)
            done += len(part)
            if bar is not None:
                bar.update(done)
    return results
