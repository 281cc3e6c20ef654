# SPDX-License-Identifier: Apache-2.0
"""Map objects out of lines of text."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._compile import kernel

_END, _BLANK = ord("\n"), ord(" ")
_COMMA, _MINUS, _POINT, _ZERO = (ord(letter) for letter in ",-.0")
_WAY, _TAGS, _CHANGED, _CORNERS, _X, _Y = (ord(letter) for letter in "wTtNxy")


@kernel
def _number(text, i):
    """The decimal number at `i`, NaN if there is none, and what follows it.

    Digits as a whole number below 2^53 by a power of ten below 10^22 is one rounding: the nearest double.
    """
    first, digits, scale, after = i, np.int64(0), 1.0, False
    negative = text[i] == _MINUS
    i += negative
    while True:
        digit = np.int64(text[i]) - _ZERO
        if 0 <= digit <= 9:
            digits = digits * 10 + digit
            if after:
                scale *= 10.0
        elif text[i] == _POINT:
            after = True
        else:
            break
        i += 1
    value = np.nan if i == first else digits / scale
    return (-value if negative else value), i


@kernel
def _digits(text, i, value):
    """The digits from `i` on, written after those of `value`, and what follows them."""
    while _ZERO <= text[i] <= _ZERO + 9:
        value = value * 10 + (np.int64(text[i]) - _ZERO)
        i += 1
    return value, i


def parse_lines(text: Any, count: int) -> Any:
    """Objects as libosmium writes them: ``n1 Ta=b x1.5 y2``, ``w2 Ta=b Nn1x1.5y2,n3xy`` or ``w2 Ta=b Nn1,n3``, and
    relations, whose members are passed over; other fields may stand between.

    `text`: uint8, `count` whole lines. Returns number and whether it is a way of each object; first letter of the tags
    of each and one more, and the tags, without the T; first corner of each and one more, and node (0 if it is the
    object), x and y (NaN if unknown) of each corner; the latest date of change, all digits as one number.
    """
    number, way = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    tag_start, tags = np.zeros(count + 1, np.int32), np.empty_like(text)
    start, most = np.zeros(count + 1, np.int64), text.size // 3  # the shortest is n1 and a comma
    ref, (x, y) = np.empty(most, np.int64), np.empty((2, most), np.float64)
    newest = read_lines(text, number, way, tag_start, tags, start, ref, x, y)
    t, n = tag_start[-1], start[-1]
    return number, way, tag_start, tags[:t], start, ref[:n], x[:n], y[:n], newest


@kernel
def read_lines(text, number, way, tag_start, tags, start, ref, x, y):
    """Fill all that `parse_lines` returns but for the latest date of change, which is returned."""
    i, n, t, newest = 0, 0, 0, np.int64(0)
    for k in range(number.size):
        way[k] = text[i] == _WAY
        number[k], i = _digits(text, i + 1, np.int64(0))
        while text[i] != _END:
            letter, i = text[i + 1], i + 2
            if letter == _TAGS:
                while text[i] > _BLANK:
                    tags[t] = text[i]
                    t, i = t + 1, i + 1
            elif letter == _CHANGED:
                changed = np.int64(0)
                while text[i] > _BLANK:
                    changed, i = _digits(text, i, changed)
                    i += text[i] > _BLANK
                newest = max(newest, changed)
            elif letter == _X:
                x[n], i = _number(text, i)
            elif letter == _Y:
                y[n], i = _number(text, i)
                ref[n] = 0
                n += 1
            elif letter == _CORNERS:
                while text[i] > _BLANK:
                    ref[n], i = _digits(text, i + 1, np.int64(0))
                    x[n], y[n] = np.nan, np.nan
                    if text[i] == _X:
                        x[n], i = _number(text, i + 1)
                        y[n], i = _number(text, i + 1)
                    n, i = n + 1, i + (text[i] == _COMMA)
            while text[i] > _BLANK:
                i += 1
        tag_start[k + 1], start[k + 1], i = t, n, i + 1
    return newest
