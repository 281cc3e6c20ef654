# SPDX-License-Identifier: Apache-2.0
"""Integer weights that fall by at most e^(exponent x unit) a unit of distance, provably.

w(D) = table[D mod N] x 2^-(D div N), with table[0] = 2^31 and table[j + 1] = ceil(table[j] q / p), where p/q = 1 + x
+ x²/2 < e^x and x = exponent x 2^-13; N is the first j at which the table would reach 2^30. Then, exactly and in
integers:

* within a period w(D) / w(D + 1) <= p/q < e^x, by the ceiling;
* across its end w(N - 1) / w(N) = table[N - 1] / 2^30 <= p/q, because table[N - 1] q / p <= 2^30;
* w never increases.

So |ln w(D) - ln w(D')| <= x |D - D'|. No floating point is involved, and any language can rebuild the table from the
recipe.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray, IntArray, read_only
from ..levels import LEVEL_BITS

#: exp(-d/2): half of the level pays for the distance to the report, half for the normaliser that differs from place
#: to place.
HALF = Fraction(1, 2)
#: exp(-d'): all of it, over a relief that leaves the normaliser its part edge by edge.
WHOLE = Fraction(1)
TOP_BITS = 31


@dataclass(frozen=True, eq=False)
class Weights:
    """The table of one exponent; weights are table[D mod period] x 2^-(D div period)."""

    exponent: Fraction
    table: IntArray

    @property
    def period(self) -> int:
        return int(self.table.size)

    @cached_property
    def step_up(self) -> int:
        """p/q in units of 2^-60, rounded up: no weight is more than this times the next one."""
        numerator, denominator = _step(self.exponent)
        return -(-(numerator << 60) // denominator)

    def count_above(self, value: int) -> int:
        """How many weights of the table are above `value`."""
        return self.period - int(np.searchsorted(self.table[::-1], value, side="right"))

    def at(self, units: npt.NDArray[np.integer]) -> FloatArray:
        """w(D) of each distance, in doubles, which hold them exactly."""
        shell, place = np.divmod(units, self.period)
        return np.asarray(self.table[place] * np.exp2(-shell.astype(np.float64)), np.float64)

    def exact(self, units: int) -> Fraction:
        """w(D) as a fraction."""
        shell, place = divmod(int(units), self.period)
        return Fraction(int(self.table[place]), 2**shell)


def _step(exponent: Fraction) -> tuple[int, int]:
    """p and q of an exponent."""
    a, b = exponent.numerator, exponent.denominator << LEVEL_BITS
    return 2 * b * b + 2 * a * b + a * a, 2 * b * b


@lru_cache(maxsize=32)
def make_weights(exponent: Fraction) -> Weights:
    """The weights of an exponent, by the recipe above."""
    denominator, numerator = _step(exponent)
    table, value = [], 1 << TOP_BITS
    while value > 1 << (TOP_BITS - 1):
        table.append(value)
        value = -(-value * numerator // denominator)
    return Weights(exponent, read_only(np.array(table, dtype=np.int64)))
