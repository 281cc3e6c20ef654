# SPDX-License-Identifier: Apache-2.0
"""One digest: SHA-256 of what was put in, and nothing of the machine it was put in on.

Certificates, ledgers, keyed reports and the names of files that are found again all know things by it, so what each
kind of part is turned into never changes: bytes are themselves, text is UTF-8, an array is its values in order, least
byte first, and plain data is JSON with sorted keys.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import FileError


class Digest:
    """A digest of parts that come one by one."""

    def __init__(self, *parts: Any) -> None:
        self._state = hashlib.sha256()
        self.add(*parts)

    def add(self, *parts: Any) -> None:
        """Go on with `parts`, in order. Nothing is put between them."""
        for part in parts:
            self._state.update(_bytes_of(part))

    @property
    def text(self) -> str:
        """64 hexadecimal digits."""
        return self._state.hexdigest()


def digest(*parts: Any) -> str:
    """The digest of `parts`, as 64 hexadecimal digits."""
    return Digest(*parts).text


def columns_digest(columns: Mapping[str, npt.NDArray[Any]]) -> str:
    """The digest of the names, types and values of columns, whatever their order."""
    state = Digest()
    for name, array in sorted(columns.items()):
        state.add(f"{name}:{array.dtype.str}:{array.size};", array)
    return state.text


def file_digest(path: str | os.PathLike[str]) -> str:
    """The digest of a file's content."""
    try:
        with Path(path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"{os.fspath(path)}: cannot be read") from error


def _bytes_of(part: Any) -> Any:
    if isinstance(part, bytes):
        return part
    if isinstance(part, str):
        return part.encode()
    if isinstance(part, np.ndarray):
        return np.ascontiguousarray(part, part.dtype.newbyteorder("<")).data
    return json.dumps(part, sort_keys=True, check_circular=False).encode()  # a third quicker
