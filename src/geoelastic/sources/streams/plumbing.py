# SPDX-License-Identifier: Apache-2.0
"""What readers and writers share: bytes in and out, compressed or not, and degrees from any reference system."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa
from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError

from ...arrays import FloatArray
from ...errors import FileError, InputError
from .columns import Layout

#: Decimals of a degree in what is written: about a centimetre.
DEGREE_DECIMALS = 7


def suffix_of(path: Path) -> str:
    """The suffix that says what a file holds, compressed or not."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


class ByteSource:
    """The bytes of a file, uncompressed, and how much of it has been read."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise FileError(f"{path}: there is no such file")
        self._path = path
        self._raw: IO[bytes] | None = None

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The file from its beginning."""
        with ExitStack() as opened:
            self._raw = raw = opened.enter_context(self._path.open("rb"))
            packed = self._path.suffix.lower() == ".gz"
            yield cast(IO[bytes], opened.enter_context(_Unzipped(raw, self._path.name))) if packed else raw
        self._raw = None

    def fraction(self) -> float:
        """The share of the file that has been read, in [0, 1]."""
        size = self._path.stat().st_size
        return self._raw.tell() / size if self._raw is not None and not self._raw.closed and size else 0.0


class DocumentReader:
    """What readers share whose places stand in the structure of a document and not in columns."""

    skipped = 0

    def __init__(self, path: Path, rest: Any, lat: str | None, lon: str | None, where: str) -> None:
        if lat is not None or lon is not None:
            raise InputError(f"{path.name}: {where}; columns cannot be named")
        self._path, self._source, self.withheld = path, ByteSource(path), list[str]()
        self.fraction = self._source.fraction
        self.layout = Layout((*rest.names, "lat", "lon"), rest)


class _Unzipped(gzip.GzipFile):
    """The content of a compressed file; damage is said in one way, wherever it is met."""

    def __init__(self, raw: IO[bytes], name: str) -> None:
        super().__init__(fileobj=raw)
        self._shown = name

    def read(self, size: int | None = -1) -> bytes:
        return self._whole(super().read, size)

    def read1(self, size: int = -1) -> bytes:
        return self._whole(super().read1, size)

    def _whole(self, read: Callable[..., bytes], size: int | None) -> bytes:
        try:
            return read(size)
        except (zlib.error, EOFError, OSError):
            raise FileError(f"{self._shown}: damaged or cut off: it cannot be uncompressed") from None


def open_write(path: Path, name: str) -> IO[bytes]:
    """A file to write, compressed if it is going to be called `name` with .gz."""
    if not name.lower().endswith(".gz"):
        return path.open("wb")
    raw = path.open("wb", buffering=0)
    # neither time nor temporary name in the header: the same rows give the same file
    compressed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
    compressed.myfileobj = raw  # closed together with the compressed stream
    return cast(IO[bytes], compressed)


def way_to_degrees(crs: Any, where: str) -> Any:
    """The way from a reference system to degrees; None if it is in degrees."""
    try:
        known = CRS.from_user_input(crs)
    except CRSError:
        raise InputError(f"{where}: its coordinate reference system is not known") from None
    if known.equals(CRS.from_epsg(4326), ignore_axis_order=True):
        return None
    return Transformer.from_crs(known, "EPSG:4326", always_xy=True)


def decimals(degrees: FloatArray) -> Any:
    """Degrees as a column of short decimals. (`pa.array` would load pandas, which takes longer than most tables.)"""
    short = np.ascontiguousarray(np.round(degrees, DEGREE_DECIMALS), dtype=np.float64)
    return pa.Array.from_buffers(pa.float64(), short.size, [None, pa.py_buffer(short)]).cast(pa.string())
