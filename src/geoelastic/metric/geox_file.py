# SPDX-License-Identifier: Apache-2.0
"""`.geox`: a metric as a phone reads it. One header of JSON, whole numbers as variable-length integers, one checksum.

    8 bytes     "geox", then 13, 10, 26 and the version: 4 if edges have a rise, else 3 if there are places, else 2 if
                there are heights, else 1; each of these is something that a reader must heed
    4 bytes     length of the header, little-endian
    header      JSON in UTF-8: the grid, the requirement, what each array is called and how long it is
    body        the arrays one after the other, compressed by DEFLATE without a wrapper (RFC 1951)
    32 bytes    SHA-256 of all bytes before

Each array is a list of whole numbers below 2^53, stored as the difference from the one before (the first from 0) or,
where the header says so, from floor(ratio x another array), and rises from 2^7; a difference k is 2k, or -2k - 1 if
negative, seven bits a byte, least first, the high bit set on all bytes but a number's last. ``docs/format.md`` says the
same for readers in other languages. A phone needs no more than this to locate, to measure and to report.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .. import _kernels as kernels
from ..arrays import ByteArray, IntArray
from ..errors import FileError, InputError
from ..store import schema
from ..store.digest import digest
from .decode import BY_EDGE, BY_LOCATION, BY_PAIR, COUNT, decode_metric, require_manifest
from .metric import Metric

MAGIC = b"geox\r\n\x1a"
_PLAIN, _WITH_HEIGHTS, _WITH_PLACES, _WITH_RISES = b"\x01", b"\x02", b"\x03", b"\x04"
_VERSION = slice(7, 8)
_DIGEST = 32
_LIMIT = 2**53
#: What rises are stored as differences from: no rise and no fall.
_RISE = 1 << kernels.RISE_BITS
#: Seven bits a byte: what a difference of two numbers below 2^53 takes at most.
_NUMBER_BYTES = 8
#: Bytes of a file; mass units in all, so that sums are exact in doubles; output measure in all, as the sampler needs.
_FILE_BYTES, _MASS, _MEASURE = 2**29, 2**52, 2**31
_ARRAYS = (*BY_LOCATION, *BY_EDGE, *BY_PAIR, "measure")
_ALSO = ("format", "exponent", "output", "sticky", "arrays")


def portable_bytes(metric: Metric, *, arrays: Mapping[str, IntArray], extra: Mapping[str, Any]) -> bytes:
    """A metric as the bytes of a portable file, with further `arrays` (one number per location) and header entries."""
    from .metric_file import metric_to_parts

    if not metric.by_paths:
        raise InputError(f"a portable file holds a graph; a {metric.method} metric has none")
    manifest, tables = metric_to_parts(replace(metric, context=None))  # a phone draws no maps
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
        base = np.floor(columns["mass"] * ratio).astype(np.int64) if ratio else None
        parts.append(_encoded(values, np.full(values.size, _RISE) if name == "edge_rise" else base))
    head = {"format": "geox", **manifest, **extra, "arrays": described}
    try:
        header = json.dumps(head, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"what a metric states about itself must be plain JSON data: {error}") from None
    press = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    body = press.compress(b"".join(parts)) + press.flush()
    if len(header) > schema.JSON_BYTES or int(columns["mass"].sum()) > _MASS:
        raise InputError(f"a portable file holds a header of {schema.JSON_BYTES} bytes and {_MASS} mass units at most")
    whole = MAGIC + _version(columns) + len(header).to_bytes(4, "little") + header + body
    return whole + bytes.fromhex(digest(whole))


def is_portable(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like a portable one."""
    try:
        with Path(path).open("rb") as file:
            return file.read(4) == MAGIC[:4]
    except OSError:
        return False


def read_portable(path: str | os.PathLike[str]) -> tuple[Metric, dict[str, Any], dict[str, IntArray]]:
    """The metric, the header and the arrays of a portable file; `FileError` says what is wrong with it."""
    target = Path(path)
    try:
        if target.stat().st_size > _FILE_BYTES:
            raise FileError(f"larger than any portable file, {_FILE_BYTES} bytes")
        return decode_portable(target.read_bytes())
    except FileError as error:
        raise FileError(f"{target}: {error}") from None
    except OSError as error:
        raise FileError(f"{target}: cannot be read: {(error.strerror or type(error).__name__).lower()}") from None


def decode_portable(content: bytes) -> tuple[Metric, dict[str, Any], dict[str, IntArray]]:
    """The same from the bytes of a file. Nothing is unpacked before the header has said how much there is, and
    nothing is made of it before all of it lies in its range."""
    if not content.startswith(MAGIC):
        raise FileError("not a portable metric")
    if content[_VERSION] not in (_PLAIN, _WITH_HEIGHTS, _WITH_PLACES, _WITH_RISES):
        raise FileError("written in a newer format; this geoelastic reads versions 1 to 4")
    begin = _VERSION.stop + 4
    if len(content) < begin + _DIGEST or digest(content[:-_DIGEST]) != content[-_DIGEST:].hex():
        raise FileError("truncated or corrupt: its contents do not match its checksum")
    end = begin + int.from_bytes(content[_VERSION.stop : begin], "little")
    if end > len(content) - _DIGEST:
        raise FileError("the header must end within the file")
    head = schema.parse_json(content[begin:end], "header")
    counts = _require_header(head, content[_VERSION])
    arrays = _arrays(head["arrays"], _inflated(content[end:-_DIGEST], _NUMBER_BYTES * sum(counts.values())))
    _require_sums(arrays)
    manifest = {name: value for name, value in head.items() if name not in _ALSO}
    columns = {name: values for name, values in arrays.items() if name != "measure"}
    return decode_metric(manifest, columns), head, arrays


def _require_header(head: Any, version: bytes) -> dict[str, int]:
    """Refuse a header that says what no portable file says; returns the number of entries of each array."""
    require_manifest(head, also=_ALSO)
    schema.text(head["format"], "format", choices=("geox",))
    for name in ("output", "sticky"):
        schema.text(head[name], name)
    exponent = [
        schema.whole(part, "exponent", 0, _LIMIT) for part in schema.listed(head["exponent"], "exponent", most=2)
    ]
    if exponent != ([1, 1] if "relief" in head else [1, 2]):
        raise FileError("its reports have an exponent that is not private for any map: build the file again")
    counts: dict[str, int] = {}
    for entry in schema.listed(head["arrays"], "arrays", most=len(_ARRAYS)):
        schema.closed(entry, "arrays", needs=("name", "count"), may=("times", "ratio"))
        name = schema.text(entry["name"], "name of an array", choices=_ARRAYS)
        if name in counts:
            raise FileError(f"the array {name!r} is given twice")
        if ("times" in entry) != ("ratio" in entry):
            raise FileError("'times' and 'ratio' of an array belong together")
        if "times" in entry:
            schema.text(entry["times"], "times", choices=("mass",))
            schema.number(entry["ratio"], "ratio", 0, 2.0**31)
            if name != "measure" or "mass" not in counts:
                raise FileError("only 'measure' may be stored beside 'mass', and after it")
        counts[name] = schema.whole(entry["count"], "count", 0, COUNT)
    for name in ("mass", "measure"):
        if name not in counts:
            raise FileError(f"the array {name!r} is missing")
    if any(counts[name] != counts["mass"] for name in counts if name in BY_LOCATION or name == "measure"):
        raise FileError("every array of locations must have as many entries as 'mass'")
    if not 1 <= counts["mass"] <= head["grid"]["rows"] * head["grid"]["cols"]:
        raise FileError("there must be as many locations as tile the grid")
    if version != _version(counts):
        raise FileError("the version is not that of its arrays")
    return counts


def _version(names: Collection[str]) -> bytes:
    if "edge_rise" in names:
        return _WITH_RISES
    return _WITH_PLACES if "place_east" in names else _WITH_HEIGHTS if "height" in names else _PLAIN


def _inflated(packed: bytes, most: int) -> bytes:
    """What a DEFLATE stream holds, if that is at most so many bytes and nothing follows."""
    unpack = zlib.decompressobj(-15)
    try:
        body = unpack.decompress(packed, most + 1)
    except zlib.error:
        raise FileError("corrupt: the arrays cannot be unpacked") from None
    if len(body) > most or not unpack.eof or unpack.unused_data:
        raise FileError("the arrays must be as long as the header says, with nothing after them")
    return body


def _require_sums(arrays: dict[str, IntArray]) -> None:
    if int(arrays["mass"].sum(dtype=np.float64)) > _MASS:
        raise FileError(f"'mass' must be at most {_MASS} units in all")
    schema.within(arrays, "measure", 0, _MEASURE)
    if not 1 <= int(arrays["measure"].sum(dtype=np.float64)) <= _MEASURE:
        raise FileError(f"'measure' must be between 1 and {_MEASURE} in all")


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
        name, count = entry["name"], int(entry["count"])
        ends = last[at : at + count] + 1
        begin = int(last[at - 1]) + 1 if at else 0
        if ends.size != count:
            raise FileError(f"the array {name!r} is cut short")
        change = _decoded(stream, begin, ends)
        if "times" in entry:
            base = np.floor(arrays[entry["times"]] * float(entry["ratio"]))
            if base.max(initial=0.0) >= _LIMIT:
                raise FileError(f"the array {name!r} must be whole numbers in [0, 2^53)")
            arrays[name] = base.astype(np.int64) + change
        elif name == "edge_rise":
            arrays[name] = _RISE + change
        else:
            arrays[name] = np.cumsum(change)
        # the first number that is out of range cannot have wrapped: changes are below 2^55
        if count and not (arrays[name].min() >= 0 and arrays[name].max() < _LIMIT):
            raise FileError(f"the array {name!r} must be whole numbers in [0, 2^53)")
        at += count
    if (int(last[at - 1]) + 1 if at else 0) != stream.size:
        raise FileError("there must be nothing after the arrays")
    return arrays


def _decoded(stream: ByteArray, begin: int, ends: npt.NDArray[Any]) -> IntArray:
    size = np.diff(ends, prepend=begin)
    if size.max(initial=0) > _NUMBER_BYTES:
        raise FileError(f"a number must take at most {_NUMBER_BYTES} bytes")
    total = np.zeros(ends.size, np.int64)
    for k in range(int(size.max(initial=0))):
        has = size > k
        total[has] |= (stream[(ends - size)[has] + k].astype(np.int64) & 127) << (7 * k)
    change = np.where(total & 1, -(total + 1) // 2, total // 2)
    if np.abs(change).max(initial=0) > _LIMIT:
        raise FileError("a number must differ from the one before by at most 2^53")
    return change
