# SPDX-License-Identifier: Apache-2.0
"""Whole weights that fall by at most e^x a unit, x = 2^-13 / part: w(D) = table[D mod N] x 2^-(D div N)."""

from __future__ import annotations

_TOP = 1 << 31
_LEVEL_BITS = 13


def _fraction(part: int) -> tuple[int, int]:
    """1 + x + x²/2 as numerator and denominator: less than e^x."""
    b = part << _LEVEL_BITS
    return 2 * b * b + 2 * b + 1, 2 * b * b


def make_weights(part: int) -> list[int]:
    """The table of the exponent 1 / part."""
    up, down = _fraction(part)
    table, value = [], _TOP
    while value > _TOP // 2:
        table.append(value)
        value = -(-value * down // up)
    return table


def weights_hold(table: list[int], part: int) -> bool:
    """Whether w never rises and falls by at most that fraction a unit, in whole numbers; after the last entry comes
    half of the first."""
    up, down = _fraction(part)
    after = [*table[1:], table[0] // 2]
    return all(0 < below <= value and value * down <= below * up for value, below in zip(table, after))
