# SPDX-License-Identifier: Apache-2.0
"""Reading the bytes of a `.geox` file. Nothing is computed of them before the schema has seen all of it."""

from __future__ import annotations

import hashlib
import zlib
from itertools import accumulate
from typing import Any

from .errors import FileError
from .schema import parse_json, require_arrays, require_header

__all__ = ["read_portable"]

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
    at = 0
    for entry in described:
        name, count = entry["name"], entry["count"]
        changes, at = _numbers(name, raw, at, count)
        if name == "edge_rise":
            values = [_RISE_ONE + change for change in changes]
        elif "times" in entry:
            ratio = float(entry["ratio"])
            bases = [int(mass * ratio) for mass in arrays["mass"]]
            if bases and max(bases) >= _LIMIT:
                raise _beyond(name)
            values = [base + change for base, change in zip(bases, changes)]
        else:
            values = list(accumulate(changes))
        # beyond this doubles would begin to round, and another reader would see other numbers
        if values and not (min(values) >= 0 and max(values) < _LIMIT):
            raise _beyond(name)
        arrays[name] = values
    if at != len(raw):
        raise FileError("there is more in the file than its arrays")
    return arrays


def _beyond(name: str) -> FileError:
    return FileError(f"the array '{name}' has a number beyond [0, 2^53)")


def _numbers(name: str, raw: bytes, at: int, count: int) -> tuple[list[int], int]:
    """`count` numbers with signs (2k, or -2k - 1 if negative), seven bits a byte, least first; and where they end."""
    if count > len(raw) - at:
        raise FileError(f"the array '{name}' is cut short")
    if max(raw[at : at + count], default=0) < 128:  # one byte each, as most arrays have it
        return [_SMALL[byte] for byte in raw[at : at + count]], at + count
    changes: list[int] = []
    put = changes.append
    small, size = _SMALL, len(raw)
    for _ in range(count):
        if at >= size:
            raise FileError(f"the array '{name}' is cut short")
        byte = raw[at]
        at += 1
        if byte < 128:
            put(small[byte])
            continue
        number, bits = byte & 127, 7
        while True:
            if at >= size or bits >= 7 * _NUMBER_BYTES:
                raise FileError(f"the array '{name}' is cut short or has too long a number")
            byte = raw[at]
            at += 1
            number |= (byte & 127) << bits
            bits += 7
            if byte < 128:
                break
        put(-(number >> 1) - 1 if number & 1 else number >> 1)
    return changes, at


_SMALL = [-(byte >> 1) - 1 if byte & 1 else byte >> 1 for byte in range(128)]
