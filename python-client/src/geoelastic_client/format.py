# SPDX-License-Identifier: Apache-2.0
"""Reading the bytes of a `.geox` file. Nothing is computed of them before the schema has seen all of it."""

from __future__ import annotations

import hashlib
import re
import zlib
from itertools import accumulate
from operator import add
from typing import Any

from .errors import FileError
from .schema import parse_json, require_arrays, require_header

_MAGIC = b"geox\r\n\x1a"
_VERSIONS = (1, 2, 3, 4)
_START, _DIGEST, _FILE_BYTES = 12, 32, 2**29
#: A number below 2^53, its sign included, takes at most eight bytes of seven bits.
_NUMBER_BYTES, _LIMIT = 8, 2**53
#: What rises of edges are differences from: an edge that keeps its weight.
_RISE_ONE = 128


def read_portable(content: bytes) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """The header and the arrays of whole numbers, by name, within the schema."""
    if len(content) < _START + _DIGEST or content[:7] != _MAGIC:
        raise FileError("not a portable metric")
    if content[7] not in _VERSIONS:
        raise FileError(f"written in format {content[7]}; this client reads formats 1 to {_VERSIONS[-1]}")
    if len(content) > _FILE_BYTES:
        raise FileError(f"a portable metric has at most {_FILE_BYTES} bytes")
    if hashlib.sha256(memoryview(content)[:-_DIGEST]).digest() != content[-_DIGEST:]:
        raise FileError("truncated or corrupt: the contents do not match their checksum")
    start = _START + int.from_bytes(content[8:_START], "little")
    if start > len(content) - _DIGEST:
        raise FileError("the header does not end within the file")
    head = parse_json(content[_START:start])
    require_header(head, content[7])
    most = sum(entry["count"] for entry in head["arrays"]) * _NUMBER_BYTES
    arrays = _decode(head["arrays"], _inflate(content[start:-_DIGEST], most))
    require_arrays(head, arrays)
    return head, arrays


def _inflate(pressed: bytes, most: int) -> bytes:
    """What the bytes were pressed from: all of them are used, and nothing is written beyond `most`."""
    stream = zlib.decompressobj(-15)
    try:
        raw = stream.decompress(pressed, most + 1)  # 0 would mean no bound
    except zlib.error:
        raise FileError("damaged: the contents cannot be unpacked") from None
    if len(raw) > most:
        raise FileError("the contents are larger than their description")
    if not stream.eof or stream.unused_data or stream.unconsumed_tail:
        raise FileError("damaged: the contents cannot be unpacked")
    return raw


def _decode(described: list[dict[str, Any]], raw: bytes) -> dict[str, list[int]]:
    arrays: dict[str, list[int]] = {}
    numbers, at = _numbers(sum(entry["count"] for entry in described), raw), 0
    for entry in described:
        name, count = entry["name"], entry["count"]
        changes = numbers[at : at + count]
        at += count
        if name == "edge_rise":
            values = [_RISE_ONE + change for change in changes]
        elif "times" in entry:
            ratio = float(entry["ratio"])
            bases = [int(mass * ratio) for mass in arrays["mass"]]
            if bases and max(bases) >= _LIMIT:
                raise _beyond(name)
            values = list(map(add, bases, changes))
        else:
            values = list(accumulate(changes))
        # beyond this doubles would begin to round, and another reader would see other numbers
        if values and not (min(values) >= 0 and max(values) < _LIMIT):
            raise _beyond(name)
        arrays[name] = values
    return arrays


def _beyond(name: str) -> FileError:
    return FileError(f"the array '{name}' has a number beyond [0, 2^53)")


class _Signed(dict[bytes, int]):
    """Numbers with signs (2k, or -2k - 1 if negative) by their bytes: seven bits each, least first."""

    def __missing__(self, digits: bytes) -> int:
        if len(digits) > _NUMBER_BYTES:
            raise FileError("an array has too long a number")
        number = 0
        for byte in reversed(digits):
            number = number << 7 | byte & 127
        self[digits] = value = -(number >> 1) - 1 if number & 1 else number >> 1
        return value


def _numbers(count: int, raw: bytes) -> list[int]:
    digits = _NUMBER.findall(raw)
    if len(digits) < count:
        raise FileError("an array is cut short")
    if len(digits) > count or raw[-1:] > b"\x7f":
        raise FileError("there is more in the file than its arrays")
    return list(map(_Signed().__getitem__, digits))


#: A byte of 128 or more is followed by another one of the same number.
_NUMBER = re.compile(rb"[\x80-\xff]*[\x00-\x7f]")
