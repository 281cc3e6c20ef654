# SPDX-License-Identifier: Apache-2.0
"""`.geox`: a metric as a phone reads it. One header of JSON, whole numbers as variable-length integers, one checksum.

    8 bytes     "geox", then 13, 10, 26 and the version: 3 if there are places, 2 if there are heights and no places,
                else 1; each of these is something that a reader must heed
    4 bytes     length of the header, little-endian
    header      JSON in UTF-8: the grid, the requirement, what each array is called and how long it is
    body        the arrays one after the other, compressed by DEFLATE without a wrapper (RFC 1951)
    32 bytes    SHA-256 of all bytes before

Each array is a list of whole numbers below 2^53, stored as the difference from the one before (the first from 0) or,
where the header says so, from floor(ratio x another array); a difference k is 2k, or -2k - 1 if negative, seven bits a
byte, least first, the high bit set on all bytes but a number's last. ``docs/format.md`` says the same for readers in
other languages. A phone needs no more than this to locate, to measure and to report.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import FileError, InputError
from ..levels import IntArray
from .metric import Metric

__all__ = ["MAGIC", "is_portable", "portable_bytes", "read_portable"]

MAGIC = b"geox\r\n\x1a"
_PLAIN, _WITH_HEIGHTS, _WITH_PLACES = b"\x01", b"\x02", b"\x03"
_VERSION = slice(7, 8)
_DIGEST = 32
_LIMIT = 2**53
_COLUMNS = ("mass", "exponent", "fence", "framed", "scale", "place_east", "place_north", "height")


def portable_bytes(metric: Metric, *, arrays: Mapping[str, IntArray], extra: Mapping[str, Any]) -> bytes:
    """A metric as the bytes of a portable file, with further `arrays` (one number a location) and header entries."""
    from .file import metric_to_parts

    if not metric.by_paths:
        raise InputError(f"a portable file holds a graph; a {metric.method} metric has none")
    manifest, tables = metric_to_parts(metric)
    columns: dict[str, IntArray] = {}
    for prefix, table in (("", tables["locations"]), ("edge_", tables.get("edges", pa.table({})))):
        for name in table.column_names:
            columns[prefix + name] = np.array(table[name]).astype(np.int64)
    described, parts = [], []
    for name, values in (columns | dict(arrays)).items():
        entry: dict[str, Any] = {"name": name, "count": int(values.size)}
        ratio = _ratio(values, columns["mass"]) if name in arrays else 0.0
        if ratio:
            entry |= {"times": "mass", "ratio": ratio}
        described.append(entry)
        parts.append(_encoded(values, np.floor(columns["mass"] * ratio).astype(np.int64) if ratio else None))
    head = {"format": "geox", **manifest, **extra, "arrays": described}
    try:
        header = json.dumps(head, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"what a metric states about itself must be plain JSON data: {error}") from None
    press = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    body = press.compress(b"".join(parts)) + press.flush()
    version = _WITH_PLACES if "place_east" in columns else _WITH_HEIGHTS if "height" in columns else _PLAIN
    whole = MAGIC + version + len(header).to_bytes(4, "little") + header + body
    return whole + hashlib.sha256(whole).digest()


def is_portable(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like a portable one."""
    try:
        with Path(path).open("rb") as file:
            return file.read(4) == MAGIC[:4]
    except OSError:
        return False


def read_portable(path: str | os.PathLike[str]) -> tuple[Metric, dict[str, Any], dict[str, IntArray]]:
    """The metric, the header and the arrays of a portable file; `FileError` says what is wrong with it."""
    from .file import metric_from_parts

    target = Path(path)
    try:
        content = target.read_bytes()
    except OSError as error:
        raise FileError(f"{target}: cannot be read: {(error.strerror or type(error).__name__).lower()}") from None
    head, body = _opened(target, content)
    try:
        if head["exponent"] != ([1, 1] if "relief" in head else [1, 2]):
            raise FileError(
                f"{target}: its reports have an exponent that is not private for any map: build the file again"
            )
        arrays = _arrays(head["arrays"], body)
        tables = {"locations": pa.table({name: arrays[name] for name in _COLUMNS if name in arrays})}
        if "edge_i" in arrays:
            tables["edges"] = pa.table({name: arrays[f"edge_{name}"] for name in ("i", "j", "level")})
        return metric_from_parts(head, tables), head, arrays
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise FileError(f"{target}: the metric in this file is not sound ({error})") from error


def _opened(target: Path, content: bytes) -> tuple[dict[str, Any], bytes]:
    if not content.startswith(MAGIC):
        raise FileError(f"{target}: not a portable metric")
    if content[_VERSION] not in (_PLAIN, _WITH_HEIGHTS, _WITH_PLACES):
        raise FileError(f"{target}: written in a newer format; this geoelastic reads versions 1 to 3")
    damaged = FileError(f"{target}: truncated or corrupt: its contents do not match its checksum")
    begin = _VERSION.stop + 4
    if len(content) < begin + _DIGEST or hashlib.sha256(content[:-_DIGEST]).digest() != content[-_DIGEST:]:
        raise damaged
    end = begin + int.from_bytes(content[_VERSION.stop : begin], "little")
    try:
        head = json.loads(content[begin:end])
        return head, zlib.decompress(content[end:-_DIGEST], -15)
    except (ValueError, zlib.error):
        raise damaged from None


def _ratio(values: IntArray, mass: IntArray) -> float:
    """values / mass where that is nearly one number (an output measure by mass), else 0. The product is rounded once,
    the same way in every language."""
    total = int(mass.sum())
    ratio = float(values.sum()) / total if total else 0.0
    return ratio if ratio and np.abs(np.floor(mass * ratio) - values).max() <= 64 else 0.0


def _encoded(values: IntArray, base: IntArray | None) -> bytes:
    if values.size and (values.min() < 0 or values.max() >= _LIMIT):
        raise InputError("numbers in a portable file must be in [0, 2^53)")
    change = np.diff(values, prepend=0) if base is None else values - base
    left = np.where(change < 0, -2 * change - 1, 2 * change).astype(np.uint64)
    size = np.ones(left.size, np.int64)
    for bits in range(7, 63, 7):
        size += left >= np.uint64(1 << bits)
    ends = np.cumsum(size)
    out = np.zeros(int(ends[-1]) if ends.size else 0, np.uint8)
    for k in range(int(size.max(initial=0))):
        has = size > k
        byte = ((left[has] >> np.uint64(7 * k)) & np.uint64(127)).astype(np.uint8)
        out[(ends - size)[has] + k] = byte | np.where(size[has] > k + 1, 128, 0).astype(np.uint8)
    return out.tobytes()


def _arrays(described: list[dict[str, Any]], body: bytes) -> dict[str, IntArray]:
    stream = np.frombuffer(body, np.uint8)
    last = np.flatnonzero(stream < 128)
    arrays: dict[str, IntArray] = {}
    at = 0
    for entry in described:
        count = int(entry["count"])
        ends = last[at : at + count] + 1
        begin = int(last[at - 1]) + 1 if at else 0
        if ends.size != count:
            raise FileError(f"the array {entry['name']!r} is cut short")
        change = _decoded(stream, begin, ends)
        if "times" in entry:
            arrays[entry["name"]] = np.floor(arrays[entry["times"]] * float(entry["ratio"])).astype(np.int64) + change
        else:
            arrays[entry["name"]] = np.cumsum(change)
        at += count
    return arrays


def _decoded(stream: npt.NDArray[np.uint8], begin: int, ends: npt.NDArray[Any]) -> IntArray:
    size = np.diff(ends, prepend=begin)
    total = np.zeros(ends.size, np.int64)
    for k in range(int(size.max(initial=0))):
        has = size > k
        total[has] |= (stream[(ends - size)[has] + k].astype(np.int64) & 127) << (7 * k)
    return np.where(total & 1, -(total + 1) // 2, total // 2)
