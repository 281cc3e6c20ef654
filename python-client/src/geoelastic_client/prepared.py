# SPDX-License-Identifier: Apache-2.0
"""What a map became when it was opened, kept on the disk: a graph takes seconds to make in plain Python, and moments to
read. It is kept by the digest of the map's own bytes, so that no other map can be mistaken for it, and holds what the
map holds and nothing about anybody.

Whoever can write into this folder can also change the programs of its owner; so it is believed as those are.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["cache_folder", "load_prepared", "save_prepared"]

_MAGIC = b"geoelastic-client-1\n"
_DIGEST = 32
_TYPES = {"i": 4, "q": 8, "b": 1}


def cache_folder() -> Path | None:
    """Where prepared maps are kept: GEOELASTIC_CACHE (empty: nowhere), else the user's own cache folder."""
    named = os.environ.get("GEOELASTIC_CACHE")
    if named is not None:
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "geoelastic-client"
    except RuntimeError:  # nobody's home
        return None


def load_prepared(digest: str) -> tuple[dict[str, Any], dict[str, array[int]]] | None:
    """The header and arrays kept for a map, if they are there and whole."""
    folder = cache_folder()
    if folder is None or sys.byteorder != "little":
        return None
    try:
        content = (folder / f"{digest}.map").read_bytes()
        sealed = memoryview(content)
        if content[: len(_MAGIC)] != _MAGIC or hashlib.sha256(sealed[:-_DIGEST]).digest() != content[-_DIGEST:]:
            return None
        at = len(_MAGIC) + 4
        end = at + int.from_bytes(content[len(_MAGIC) : at], "little")
        described = json.loads(content[at:end])
        arrays = {}
        for name, kind, count in described["arrays"]:
            arrays[name] = array(kind)
            arrays[name].frombytes(sealed[end : end + _TYPES[kind] * count])
            end += _TYPES[kind] * count
    except (OSError, ValueError):
        return None
    return described["head"], arrays


def save_prepared(digest: str, head: Mapping[str, Any], arrays: Mapping[str, array[int]]) -> None:
    """Keep them, if that can be done; a map can be opened without."""
    folder = cache_folder()
    if folder is None or sys.byteorder != "little":
        return
    described = [[name, values.typecode, len(values)] for name, values in arrays.items()]
    text = json.dumps({"head": head, "arrays": described}).encode()
    content = b"".join(
        [_MAGIC, len(text).to_bytes(4, "little"), text, *(values.tobytes() for values in arrays.values())]
    )
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=folder)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(content + hashlib.sha256(content).digest())
            Path(name).replace(folder / f"{digest}.map")
        except OSError:
            Path(name).unlink()
