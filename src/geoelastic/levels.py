# SPDX-License-Identifier: Apache-2.0
"""Levels and masses as integers.

A distinguishability level l is stored as a whole number of `LEVEL_UNIT` = 2^-13, always rounded *down*: distances only
shrink, balls only grow, and a requirement that was met stays met. A mass is stored as a whole number of `MASS_UNIT` =
2^-32, rounded down as well: a location never counts for more than it has. Integer sums do not depend on their order, so
every result is the same on any machine, with any number of threads and in any language.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import FloatArray, IntArray

LEVEL_BITS = 13
LEVEL_UNIT = 2.0**-LEVEL_BITS
MASS_BITS = 32
MASS_UNIT = 2.0**-MASS_BITS
LN2 = math.log(2.0)

#: Distances that no path realises; larger than any real one.
UNREACHABLE = np.iinfo(np.int32).max


def level_to_units(level: float) -> int:
    """Whole units in `level`, rounded down."""
    return math.floor(level * 2.0**LEVEL_BITS)


def units_to_level(units: npt.ArrayLike) -> Any:
    """Real level(s) of whole units; unreachable becomes infinite."""
    array = np.asarray(units)
    levels = np.where(array >= UNREACHABLE, np.inf, array * LEVEL_UNIT)
    return float(levels) if levels.ndim == 0 else levels


def mass_to_units(mass: npt.ArrayLike) -> IntArray:
    """Whole units in `mass`, rounded down."""
    return np.floor(np.asarray(mass, dtype=np.float64) * 2.0**MASS_BITS).astype(np.int64)


def units_to_mass(units: npt.ArrayLike) -> FloatArray:
    """Real masses of whole units."""
    return np.asarray(units, dtype=np.float64) * MASS_UNIT
