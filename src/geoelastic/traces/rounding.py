# SPDX-License-Identifier: Apache-2.0
"""What rounding may do to the law of a release, and who pays for it.

**Lemma.** Let u = 2^-53. The law that the program draws from is, for every trace x and every release Z of T steps,

    P(Z | x) = N(Z | x) E(Z | x) / C(x),     |ln E| <= eta = T (B + 513) u / (1 - u),

where N is the numerator of the theorem with the program's own constants (doubles for keep and jump, whole numbers for
the weights), C(x) does not depend on Z, and B is the number of blocks of 512 locations. Proof: see ``docs/traces.md``;
a step takes three roundings, and a jump draws from a sum that was added up in 511 + (B - 1) further ones.

Summing over Z, C(x) is within e^(eta) of the true normaliser, so

    |ln P(Z | x) / P(Z | x')| <= sum_t 2 beta' d(x_t, x'_t) + 4 eta.

The program uses beta' = beta (1 - 2^-8). Two traces at distance 0 in every step have the same whole distances to all
locations, so the program does the same with both, bit for bit. Any others differ by at least one unit, 2^-13, in some
step, and what was kept back, 2^-8 x 2 beta x 2^-13, must be at least 4 eta: `require_room` checks just that.
"""

from __future__ import annotations

from fractions import Fraction

from .. import _kernels as kernels
from ..errors import InputError
from ..levels import LEVEL_BITS

#: The share of every exponent that pays for rounding.
KEPT_BACK = Fraction(1, 2**8)
_UNIT_ROUNDOFF = Fraction(1, 2**53)


def rounding_bound(steps: int, n: int) -> Fraction:
    """eta: the largest |ln| by which rounding changes a release's probability before it is normalised."""
    blocks = -(-n // kernels.SUM_BLOCK)
    return steps * (blocks + kernels.SUM_BLOCK + 1) * _UNIT_ROUNDOFF / (1 - _UNIT_ROUNDOFF)


def require_room(steps: int, n: int, twice_beta: Fraction) -> None:
    """Refuse blocks of so many short steps that rounding could cost more than what was kept back for it."""
    kept = KEPT_BACK * twice_beta / 2**LEVEL_BITS
    if not 4 * rounding_bound(steps, n) <= kept:
        most = int(kept / (4 * rounding_bound(1, n)))
        raise InputError(
            f"a block must have at most {most} steps at this rate and step (rounding is paid for up to there), "
            f"got {steps}: take longer steps or shorter blocks"
        )
