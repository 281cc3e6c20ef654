# SPDX-License-Identifier: Apache-2.0
"""Damage: to bytes, to JSON, to text. Everything is drawn from one `random.Random`, so that a seed is an input."""

from __future__ import annotations

import copy
import math
from random import Random
from typing import Any

__all__ = ["NUMBERS", "damaged_bytes", "damaged_json", "damaged_text", "odd_value", "some"]

#: Ends of ranges, and what lies beyond them.
NUMBERS: list[Any] = [
    0,
    1,
    -1,
    2,
    3,
    7,
    8,
    9,
    10,
    16,
    100,
    127,
    128,
    255,
    256,
    1000,
    4096,
    4097,
    2**15,
    2**15 + 1,
    2**16,
    2**20,
    2**23,
    2**23 + 1,
    2**24,
    2**25,
    2**26,
    2**28,
    2**30,
    -(2**30),
    2**31 - 1,
    2**31,
    -(2**31),
    2**32,
    2**32 + 1,
    2**48,
    2**52,
    2**53,
    2**60,
    2**61,
    2**62,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64,
    10**20,
    10**40,
    10**400,
    0.5,
    0.25,
    1.5,
    1e-9,
    1e-300,
    -0.5,
    1e6,
    1e9,
    1e18,
    1e300,
    2.0**-10,
    2.0**-11,
    2.0**10,
    0.35,
    0.7,
    math.pi,
    math.inf,
    -math.inf,
    math.nan,
    -0.0,
]
_TEXTS = [
    "",
    "0",
    "a",
    "mass",
    "uniform",
    "adaptive",
    "paper",
    "conformal",
    "quadratic",
    "linear",
    "step",
    "custom",
    "lat",
    "\x00",
    "\u0000",
    "é",
    "\U0001d53c",
    "\ud800",
    "x" * 1001,
    "../..",
    "{}",
    "[]",
    "null",
    "nan",
    "inf",
    "1e999",
    "-1",
    "%s",
    "{0}",
    "0" * 64,
    "f" * 64,
    "__proto__",
    "-",
    "--",
    "=",
    "'",
    '"',
    "\n",
    "\r\n",
    ",",
    ";",
    "\t",
    "2026-01-01T00:00:00Z",
    "Z",
]
_BYTES = [
    b"\x00",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\n",
    b"\r\n",
    b'"',
    b",",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"9" * 400,
    b"[" * 300,
    b"<",
    b"&a;",
    b"PK\x03\x04",
    b"PAR1",
    b"\x1f\x8b",
    b"NaN",
    b"1e999",
    b"-",
    b"null",
    b"{",
    b"}",
]


def some(rng: Random, values: Any) -> Any:
    """One of several."""
    return values[rng.randrange(len(values))]


def odd_value(rng: Random, like: Any = None) -> Any:
    """A value that is unlikely to be right: of the same type as often as not."""
    kind = rng.randrange(8)
    if kind < 3 and isinstance(like, int | float) and not isinstance(like, bool):
        if rng.random() < 0.5 and abs(like) < 1e100:
            return some(
                rng, [like + 1, like - 1, -like, like * 2, like / 2, like + 2**32, float(like), like * 1.000001]
            )
        return some(rng, NUMBERS)
    if kind < 3 and isinstance(like, str):
        return some(rng, _TEXTS)
    if kind == 3:
        return some(rng, [None, True, False, [], {}, [[]], [None], {"a": {}}])
    if kind == 4:
        return nested(rng.choice([5, 31, 33, 200]))
    return some(rng, NUMBERS) if kind < 7 else some(rng, _TEXTS)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def damaged_json(rng: Random, value: Any) -> Any:
    """A copy of plain data with a few of its nodes changed, dropped, doubled or moved."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        nodes = list(_nodes(value))
        if not nodes:
            return odd_value(rng)
        inside, key = some(rng, nodes)
        action = rng.randrange(10)
        if action < 6:
            inside[key] = odd_value(rng, inside[key])
        elif action == 6:
            del inside[key]
        elif action == 7:
            other_inside, other_key = some(rng, nodes)
            inside[key] = copy.deepcopy(other_inside[other_key]) if other_key in _keys(other_inside) else None
        elif isinstance(inside, list):
            inside.insert(key, copy.deepcopy(inside[key]))
        else:
            inside[some(rng, _TEXTS)] = odd_value(rng, inside[key])
    return value


def _keys(inside: Any) -> Any:
    return inside if isinstance(inside, dict) else range(len(inside))


def _nodes(value: Any, most: int = 400) -> Any:
    waiting, found = [value], 0
    while waiting and found < most:
        inside = waiting.pop()
        for key in list(_keys(inside)):
            found += 1
            yield inside, key
            if isinstance(inside[key], dict | list):
                waiting.append(inside[key])


def damaged_bytes(rng: Random, content: bytes) -> bytes:
    """Bytes flipped, replaced, dropped, doubled, cut off."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 4, 8])):
        at = rng.randrange(len(data) + 1)
        action = rng.randrange(7)
        if action == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif action == 1 and at < len(data):
            data[at] = rng.randrange(256)
        elif action == 2:
            data[at:at] = some(rng, _BYTES)
        elif action == 3:
            del data[at : at + rng.choice([1, 2, 8, 64, 1000])]
        elif action == 4:
            data[at:at] = data[at : at + rng.choice([1, 8, 64, 512])]
        elif action == 5:
            data[at : at + rng.choice([1, 4, 8])] = rng.randbytes(rng.choice([1, 4, 8]))
        elif rng.random() < 0.3:
            del data[at:]
    return bytes(data)


def damaged_text(rng: Random, content: bytes) -> bytes:
    """Text with a number or a word replaced, or with its bytes damaged."""
    if rng.random() < 0.4:
        return damaged_bytes(rng, content)
    words = _split(content)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(words))
        new = rng.choice([some(rng, NUMBERS), some(rng, _TEXTS), words[rng.randrange(len(words))]])
        words[at] = new if isinstance(new, bytes) else str(new).encode("utf-8", "surrogatepass")
    return b"".join(words)


def _split(content: bytes) -> list[bytes]:
    """Words and what is between them."""
    words: list[bytes] = []
    for k in range(len(content)):
        piece = content[k : k + 1]
        alike = piece.isalnum() or piece in b".-_"
        if words and alike and (words[-1][-1:].isalnum() or words[-1][-1:] in b".-_"):
            words[-1] += piece
        else:
            words.append(piece)
    return words or [b""]
