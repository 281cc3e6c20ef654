# SPDX-License-Identifier: Apache-2.0
"""The objects of an OpenStreetMap file as columns, block by block: libosmium writes them in its format OPL (one object
a line), a kernel parses the lines. No Python object is made for a map object, and one block is held at a time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._kernels import parse_lines
from ..arrays import BoolArray, FloatArray, IntArray

NODE, WAY, RELATION = "NODE", "WAY", "RELATION"
#: how libosmium writes what `located` reads
LOCATED = "opl,add_metadata=timestamp,locations_on_ways=true"
_BLOCK_BYTES = 1 << 20
#: libosmium's queues between its threads: two blocks each in place of ten or twenty; with blocks of half a megabyte
#: to write in place of four, it takes 37 MB in place of 72
_QUEUES = {f"OSMIUM_MAX_{queue}_QUEUE_SIZE": "2" for queue in ("INPUT", "OSMDATA", "OUTPUT", "WORK")}
_WRITE = """
import sys, osmium, osmium.filter
path, kinds, form, *keys = sys.argv[1:]
entities = osmium.osm.NOTHING
for kind in kinds.split():
    entities |= getattr(osmium.osm, kind)
filters = [osmium.filter.KeyFilter(*keys)] if keys else []
writer = osmium.SimpleWriter(osmium.io.File("-", form), 1 << 19)
try:
    with osmium.io.Reader(path, entities) as reader:
        osmium.apply(reader, *filters, writer)
    writer.close()
except RuntimeError as error:
    sys.exit(str(error))
"""


def objects(path: str | Path, kind: str) -> Iterator[Block]:
    """All objects of a kind, in the file's order; RuntimeError if it cannot be read. Ways know no places."""
    return map(_parsed, _written(path, kind, "opl,add_metadata=false"))


def newest_change(path: str | Path, keys: Sequence[str]) -> str:
    """When the youngest node or way that has one of the keys was changed."""
    blocks = _written(path, f"{NODE} {WAY}", LOCATED, *keys)
    return max((block.newest for block in map(_parsed, blocks)), default="")


def _written(path: str | Path, kinds: str, form: str, *keys: str) -> Iterator[bytes]:
    """What libosmium writes of a file, by blocks of whole lines.

    It runs in a process of its own, since in this one it would hold the interpreter's lock while it waits.
    """
    command = [sys.executable, "-c", _WRITE, str(path), kinds, form, *keys]
    pipe, environment = subprocess.PIPE, {**os.environ, **_QUEUES}
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        try:
            yield from _whole_lines(writer.stdout)
        finally:
            writer.stdout.close()
            reason = writer.stderr.read().decode("utf-8", "replace")
    if writer.returncode != 0:
        raise RuntimeError(reason.strip().splitlines()[-1] if reason.strip() else "libosmium ended early")


def _whole_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Blocks that end with a line; what comes after the last one is not a whole object."""
    rest = b""
    while text := stream.read(_BLOCK_BYTES):
        lines, end, more = text.rpartition(b"\n")
        if end:
            yield rest + lines + end
            rest = more
        else:
            rest += text


@dataclass(frozen=True, eq=False)
class Block:
    """Objects with the corners of all of them: `start` is the first corner of each object and one more, `ref` the node
    that a corner of a way is, `lon` and `lat` are NaN where it is not known. A node is one corner, a relation none.

    `text`: what was parsed. `tags`: ``shop=books,name=caf%e9%``. `newest`: when the youngest object was changed.
    """

    text: bytes
    id: IntArray
    is_way: BoolArray
    tags: Any
    newest: str
    start: IntArray
    ref: IntArray
    lon: FloatArray
    lat: FloatArray

    def lines(self, index: IntArray) -> list[str]:
        """Some of the objects as they were written."""
        every = self.text.split(b"\n")
        return [every[i].decode() for i in index.tolist()]


def located(path: str | Path) -> Iterator[Block]:
    """The nodes and ways in a file that libosmium wrote as `LOCATED`."""
    with Path(path).open("rb") as stream:
        yield from map(_parsed, _whole_lines(stream))


def _parsed(text: bytes) -> Block:
    letters = np.frombuffer(text, dtype=np.uint8)
    number, is_way, first, tags, start, ref, lon, lat, newest = parse_lines(letters, text.count(b"\n"))
    column = pa.StringArray.from_buffers(len(number), pa.py_buffer(first), pa.py_buffer(tags))
    date = datetime.strptime(f"{newest}Z", "%Y%m%d%H%M%S%z").strftime("%Y-%m-%dT%H:%M:%SZ") if newest else ""
    return Block(text, number, is_way, column, date, start, ref, lon, lat)


def tag_sets(column: Any, keys: Sequence[str]) -> tuple[list[dict[str, str]], IntArray]:
    """The different sets of tags with these keys that objects have, and the number of each object's set."""
    split = pc.split_pattern(column, ",")
    pairs = split.values.dictionary_encode()
    texts = [text.partition("=") for text in pairs.dictionary.to_pylist()]
    number = {key: i for i, key in enumerate(keys)}
    key_of = np.array([number.get(_plain(key), -1) for key, _, _ in texts])
    pair = pairs.indices.to_numpy()[::-1]  # of a key that is there twice the first counts
    owner = np.repeat(np.arange(len(split)), np.diff(split.offsets.to_numpy()))[::-1]
    sets: list[dict[str, str]] = [{}]
    which = np.zeros(len(split), dtype=np.int64)
    for key, i in number.items():
        here = (key_of == i)[pair]
        column = np.zeros(len(split), dtype=np.int64)
        column[owner[here]] = pair[here] + 1
        both, which = np.unique(which * (len(texts) + 1) + column, return_inverse=True)
        parts = (divmod(each, len(texts) + 1) for each in both.tolist())
        sets = [sets[before] | {key: _plain(texts[code - 1][2])} if code else sets[before] for before, code in parts]
    return sets, which


def _plain(text: str) -> str:
    """Without the escapes ``%e9%``."""
    if "%" not in text:
        return text
    parts = text.split("%")
    return "".join(chr(int(part, 16)) if i % 2 else part for i, part in enumerate(parts))
