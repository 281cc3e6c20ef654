# SPDX-License-Identifier: Apache-2.0
"""Bytes in and out, compressed or not, and degrees as text."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa

from ...errors import FileError
from ...levels import FloatArray

__all__ = ["DEGREE_DECIMALS", "decimals", "open_read", "open_write"]

#: Decimals of a degree in what is written: about a centimetre.
DEGREE_DECIMALS = 7


def open_read(path: Path) -> IO[bytes]:
    """The bytes of a file, uncompressed."""
    if not path.is_file():
        raise FileError(f"{path}: there is no such file")
    return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def open_write(path: Path, name: str) -> IO[bytes]:
    """A file to write, compressed if it is going to be called `name` with .gz."""
    # no time stamp in the header: the same rows give the same file
    return cast(IO[bytes], gzip.GzipFile(path, "wb", mtime=0)) if name.lower().endswith(".gz") else path.open("wb")


def decimals(degrees: FloatArray) -> Any:
    """Degrees as a column of short decimals."""
    return pa.array(np.round(degrees, DEGREE_DECIMALS)).cast(pa.string())
