# SPDX-License-Identifier: Apache-2.0
"""Numbers and places of corners out of text."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["parse_corners"]

_COMMA, _MINUS, _POINT, _ZERO, _X, _Y = (ord(letter) for letter in ",-.0xy")


@njit(cache=True, nogil=True)
def _number(text, i, end):
    """The decimal number at `i`, NaN if there is none, and what follows it.

    Digits as a whole number below 2^53 by a power of ten below 10^22 is one rounding: the nearest double.
    """
    sign, digits, scale, seen, after = 1.0, np.int64(0), 1.0, False, False
    while i < end:
        letter = text[i]
        if letter == _MINUS:
            sign = -1.0
        elif letter == _POINT:
            after = True
        elif _ZERO <= letter <= _ZERO + 9:
            digits, seen = digits * 10 + (letter - _ZERO), True
            if after:
                scale *= 10.0
        else:
            break
        i += 1
    return (sign * digits / scale if seen else np.nan), i


@njit(cache=True, nogil=True)
def parse_corners(text, field):
    """Corners ``n12x-1.5y2,n13xy`` of ways and ``x-1.5y2`` of nodes: first corner of each field and one more, number
    (0 where there is none), x and y (NaN where there are none) of each corner.

    `text`: uint8; `field`: int64, where each field begins and one more. Fields may begin with other letters.
    """
    most = field.size
    for i in range(field[0], field[-1]):
        most += text[i] == _COMMA
    start, ref = np.zeros(field.size, np.int64), np.zeros(most, np.int64)
    x, y = np.empty(most, np.float64), np.empty(most, np.float64)
    n = 0
    for k in range(field.size - 1):
        i, end = field[k], field[k + 1]
        while i < end:
            letter = text[i]
            if _ZERO <= letter <= _ZERO + 9:
                ref[n] = ref[n] * 10 + (letter - _ZERO)
            if letter == _X:
                x[n], i = _number(text, i + 1, end)
            elif letter == _Y:
                y[n], i = _number(text, i + 1, end)
                n += 1
            else:
                i += 1
        start[k + 1] = n
    return start, ref[:n], x[:n], y[:n]
