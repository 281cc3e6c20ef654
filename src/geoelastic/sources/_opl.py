# SPDX-License-Identifier: Apache-2.0
"""The objects of an OpenStreetMap file as columns of text, block by block: libosmium writes them in its format OPL
(one object a line), Arrow parses the lines. No Python object is made for a map object, and one block is held at a time.

libosmium runs in a process of its own, since in this one it would hold the interpreter's lock while it waits.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from .areas import IntArray

__all__ = ["NODE", "RELATION", "WAY", "Columns", "degrees", "numbers", "objects", "references", "tags_of"]

NODE, WAY, RELATION = "NODE", "WAY", "RELATION"
#: what a line of each kind consists of
_COLUMNS = {NODE: ["id", "tags", "x", "y"], WAY: ["id", "tags", "refs"], RELATION: ["id", "tags", "members"]}
#: Larger than the longest line that OpenStreetMap allows (a relation of 32,000 members, a way of 2,000 nodes). Arrow
#: reads up to 32 blocks ahead.
_BLOCK_BYTES = {NODE: 1 << 20, WAY: 1 << 20, RELATION: 4 << 20}
#: libosmium's queues between its threads: two blocks each in place of ten or twenty, for half the memory
_QUEUES = {f"OSMIUM_MAX_{queue}_QUEUE_SIZE": "2" for queue in ("INPUT", "OSMDATA", "OUTPUT", "WORK")}
_WRITE = """
import sys, osmium
writer = osmium.SimpleWriter(osmium.io.File("-", "opl,add_metadata=false"))
try:
    with osmium.io.Reader(sys.argv[1], getattr(osmium.osm, sys.argv[2])) as reader:
        osmium.apply(reader, writer)
    writer.close()
except RuntimeError as error:
    sys.exit(str(error))
"""

Columns = Any


def objects(path: str | Path, kind: str) -> Iterator[Columns]:
    """Blocks of the columns of all objects of a kind, in the file's order; RuntimeError if it cannot be read."""
    names = _COLUMNS[kind]
    read = pyarrow.csv.ReadOptions(column_names=names, block_size=_BLOCK_BYTES[kind], use_threads=False)
    parse = pyarrow.csv.ParseOptions(delimiter=" ", quote_char=False)
    convert = pyarrow.csv.ConvertOptions(column_types={name: pa.string() for name in names})
    command = [sys.executable, "-c", _WRITE, str(path), kind]
    pipe, environment = subprocess.PIPE, {**os.environ, **_QUEUES}
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        try:
            if writer.stdout.peek(1):  # type: ignore[attr-defined]
                yield from pyarrow.csv.open_csv(pa.PythonFile(writer.stdout, mode="r"), read, parse, convert)
        except pa.ArrowInvalid as error:
            raise RuntimeError(str(error)) from None
        finally:
            writer.stdout.close()
            reason = writer.stderr.read().decode("utf-8", "replace")
    if writer.returncode != 0:
        raise RuntimeError(reason.strip().splitlines()[-1] if reason.strip() else "libosmium ended early")


def numbers(column: Any) -> IntArray:
    """``n12`` as 12."""
    values: IntArray = pc.cast(pc.utf8_slice_codeunits(column, 1), pa.int64()).to_numpy(zero_copy_only=False)
    return values


def degrees(column: Any) -> npt.NDArray[np.float64]:
    """``x1.5`` as 1.5, NaN for a node without a place."""
    text = pc.utf8_slice_codeunits(column, 1)
    known = pc.if_else(pc.equal(text, ""), None, text)
    values: npt.NDArray[np.float64] = pc.cast(known, pa.float64()).to_numpy(zero_copy_only=False)
    return values


def references(column: Any) -> tuple[IntArray, IntArray]:
    """Nodes of all ways one after the other (``Nn1,n2``), and where each way begins and one more."""
    split = pc.split_pattern(pc.utf8_slice_codeunits(column, 1), ",")
    flat = split.values.slice(split.offsets[0].as_py(), split.offsets[-1].as_py() - split.offsets[0].as_py())
    filled = pc.not_equal(flat, "")
    count = pc.list_value_length(split).to_numpy(zero_copy_only=False)
    count = np.where(pc.equal(pc.utf8_length(column), 1).to_numpy(zero_copy_only=False), 0, count)
    return numbers(flat.filter(filled)), np.concatenate([[0], np.cumsum(count)])


def tags_of(text: str) -> dict[str, str]:
    """``Tname=caf%e9%,shop=books`` as a mapping."""
    pairs = (pair.split("=", 1) for pair in text[1:].split(",") if "=" in pair)
    return {_plain(key): _plain(value) for key, value in pairs}


def _plain(text: str) -> str:
    """Without the escapes ``%e9%``."""
    if "%" not in text:
        return text
    parts = text.split("%")
    return "".join(chr(int(part, 16)) if i % 2 else part for i, part in enumerate(parts))
