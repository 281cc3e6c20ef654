# SPDX-License-Identifier: Apache-2.0
"""What a map became when it was opened, kept on the disk by the digest of the map's own bytes. It holds nothing about
anybody, and is believed as its owner's programs are, which whoever can write there can change, too."""

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

_MAGIC = b"geoelastic-client-2\n"
_DIGEST = 32


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
            first, end = end, end + arrays[name].itemsize * count
            arrays[name].frombytes(sealed[first:end])
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
        write_whole(folder / f"{digest}.map", content + hashlib.sha256(content).digest())


def write_whole(target: Path, content: bytes) -> None:
    """The old file or the new one, never half of each, for its owner's eyes only."""
    handle, temporary = tempfile.mkstemp(prefix=".geoelastic-", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        Path(temporary).replace(target)
    finally:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
