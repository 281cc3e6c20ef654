# SPDX-License-Identifier: Apache-2.0
"""Small maps that several tests use."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

import geoelastic as ge

PARIS = (48.8567, 2.3487)
#: Plain Python is a hundred times slower: there the maps that nobody asks a size of are smaller still, and less deep.
JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
ROWS, COLS, L_TOP = (10, 12, math.log(4)) if JIT else (6, 7, 0.8)


def small_mass(rows: int = ROWS, cols: int = COLS, seed: int = 1, low: float = 0.02, high: float = 0.6) -> Any:
    """Uneven masses with a dense corner and some nearly empty cells."""
    rng = np.random.default_rng(seed)
    cells = low + (high - low) * rng.random((rows, cols)) ** 3
    cells[: rows // 3, : cols // 3] *= 3
    return ge.Mass.from_array(cells, cell_m=100, origin=PARIS)


def small_metric(
    method: str = "conformal", layout: str = "adaptive", *, fences: Sequence[Any] = (), **options: Any
) -> Any:
    """A metric over `small_mass`; the same one for all tests that ask for the same (without numba a build takes
    seconds)."""
    return _small_metric(method, layout, tuple(fences), **options)


@functools.cache
def _small_metric(method: str, layout: str, fences: tuple[Any, ...], **options: Any) -> Any:
    shape = {name: options.pop(name) for name in ("rows", "cols", "seed") if name in options}
    options.setdefault("l_top", L_TOP)
    options.setdefault("frame", 0.0)
    options.setdefault("sharpen", False)
    return ge.build_metric(small_mass(**shape), method=method, layout=layout, fences=fences, workers=2, **options)


def edge_list(metric: Any) -> list[tuple[int, int, int]]:
    """The edges of a metric as plain tuples of whole units."""
    return [(int(i), int(j), int(w)) for i, j, w in zip(*metric.edge_units(), strict=True)]


def one_town(side: int, low: float, town: slice, high: float, cell_m: float, **options: Any) -> Any:
    """The mechanism over an even square with one denser square in it."""
    cells = np.full((side, side), low)
    cells[town, town] = high
    mass = ge.Mass.from_array(cells, cell_m=cell_m, origin=(48.85, 2.35))
    return ge.ElasticMechanism(ge.build_metric(mass, layout="uniform", **options))
