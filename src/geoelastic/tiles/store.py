# SPDX-License-Identifier: Apache-2.0
"""Tiles on disk or in an object store: Parquet tables that are whole or are not there.

Each table carries plain data (`summary`) and the SHA-256 of its columns in its own metadata, so that a damaged file
is recognised wherever it lies. Locally a file is written under a temporary name and renamed; object stores make an
object visible only when all of it has arrived. Addresses with ``://`` are opened by fsspec.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import FileError, MissingExtraError
from ..store import table_of, write_bytes
from ..store.container import require_room
from ..store.digest import columns_digest
from .decode_tiles import require_table

Columns = dict[str, npt.NDArray[Any]]
_META = b"geoelastic"


class TileStore:
    """The files under one folder, which is a path or an address that fsspec knows."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")

    @cached_property
    def _remote(self) -> Any:
        """(file system, prefix) of an address, None for a local folder."""
        if "://" not in self.root:
            return None
        try:
            import fsspec
        except ImportError:
            raise MissingExtraError("fsspec", "scale") from None
        return fsspec.core.url_to_fs(self.root)

    def address(self, name: str) -> str:
        """The file called `name`, as it is shown in messages."""
        return f"{self.root}/{name}"

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        try:
            if self._remote is None:
                with open(self.address(name), "rb", buffering=0) as file:  # noqa: PTH123 (a Path takes as long as the file)
                    return file.read()
            fs, prefix = self._remote
            content: bytes = fs.cat_file(f"{prefix}/{name}")
            return content
        except FileNotFoundError:
            raise FileError(f"{self.address(name)}: no such file") from None
        except OSError as error:
            raise FileError(f"{self.address(name)}: cannot be read: {_reason(error)}") from None

    def write(self, name: str, content: bytes) -> None:
        """`content` as the file `name`: all of it or nothing."""
        if self._remote is None:
            target = Path(self.root, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(target, content)
            return
        fs, prefix = self._remote
        try:
            fs.makedirs(f"{prefix}/{name}".rpartition("/")[0], exist_ok=True)
            fs.pipe_file(f"{prefix}/{name}", content)
        except OSError as error:
            raise FileError(f"{self.address(name)}: cannot be written: {_reason(error)}") from None

    def exists(self, name: str) -> bool:
        """Whether there is a file called `name`."""
        if self._remote is None:
            return Path(self.root, name).is_file()
        fs, prefix = self._remote
        return bool(fs.isfile(f"{prefix}/{name}"))

    def names(self, folder: str) -> list[str]:
        """The files in a folder, sorted."""
        if self._remote is None:
            return sorted(f"{folder}/{path.name}" for path in Path(self.root, folder).glob("*") if path.is_file())
        fs, prefix = self._remote
        with contextlib.suppress(FileNotFoundError):
            return sorted(f"{folder}/{path.rpartition('/')[2]}" for path in fs.ls(f"{prefix}/{folder}", detail=False))
        return []

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            if self._remote is None:
                Path(self.root, name).unlink()
            else:
                fs, prefix = self._remote
                fs.rm_file(f"{prefix}/{name}")

    def copy(self, name: str, target: TileStore) -> None:
        """A file as it is here, into another folder."""
        target.write(name, self.read(name))

    def write_table(self, name: str, columns: Mapping[str, npt.NDArray[Any]], summary: Mapping[str, Any]) -> None:
        """Columns and plain data as one Parquet file."""
        meta = json.dumps(
            {"sha256": columns_digest(columns), "summary": dict(summary)}, sort_keys=True, allow_nan=False
        )
        table = table_of(columns)
        # Reading counts: without dictionaries it takes half the time and files are no larger, with LZ4 in place of
        # Zstandard half of that and files are larger by 3/5; half of that again where nothing can be missing.
        full = pa.schema([field.with_nullable(False) for field in table.schema], {_META: meta.encode()})
        sink = io.BytesIO()
        pq.write_table(table.cast(full), sink, compression="lz4", use_dictionary=False, write_statistics=False)
        self.write(name, sink.getvalue())

    def read_table(self, name: str, columns: Sequence[str] | None = None) -> tuple[Columns, dict[str, Any]]:
        """The columns (some of them, without a check, if they are named) and the plain data of a file."""
        content = self.read(name)
        try:
            wanted = None if columns is None else list(columns)
            # a file of its own, not a dataset of one: half a millisecond less
            file = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)
            require_room(name, file)
            table = file.read(columns=wanted, use_threads=False)
            meta = json.loads(table.schema.metadata[_META])
            found = {key: table[key].to_numpy() for key in table.column_names}
        except (FileError, pa.ArrowException, KeyError, TypeError, ValueError, RecursionError, OSError):
            raise FileError(f"{self.address(name)}: truncated, corrupt or not a tile") from None
        if not isinstance(meta, dict) or not isinstance(meta.get("summary"), dict):
            raise FileError(f"{self.address(name)}: truncated, corrupt or not a tile")
        if columns is None and columns_digest(found) != meta.get("sha256"):
            raise FileError(f"{self.address(name)}: corrupt: its columns do not match their checksum")
        return found, meta["summary"]

    def summary(self, name: str) -> dict[str, Any] | None:
        """The plain data of a file that is there and whole; None otherwise."""
        if not self.exists(name):
            return None
        try:
            return self.read_table(name)[1]
        except FileError:
            return None


class CachedStore(TileStore):
    """A store that keeps the tables it read last: a metric's tiles never change under their names."""

    def __init__(self, root: str, *, tables: int = 128) -> None:
        super().__init__(root)
        self._limit = tables
        self._tables: dict[str, tuple[Columns, dict[str, Any]]] = {}
        self._asked: set[str] = set()

    def read_table(self, name: str, columns: Sequence[str] | None = None) -> tuple[Columns, dict[str, Any]]:
        found = self._tables.get(name)
        if found is None:
            found = super().read_table(name)
            try:
                require_table(name, found[0])
            except FileError as error:
                raise FileError(f"{self.address(name)}: {error}") from None
            while len(self._tables) >= self._limit:
                self._tables.pop(next(iter(self._tables)), None)
            self._tables[name] = found
        return found

    def fetch(self, names: Sequence[str]) -> None:
        """Read some tables at once, if they are far away: there reading is waiting. Ask the disk for them, if not."""
        missing = [name for name in names if name not in self._tables]
        if not 1 < len(missing) <= self._limit:
            return
        if self._remote is None:
            for name in missing:
                if name not in self._asked:
                    self._asked.add(name)
                    _ask_for(self.address(name))
        else:
            with ThreadPoolExecutor(min(len(missing), 4)) as pool:
                list(pool.map(self.read_table, missing))


def _ask_for(path: str) -> None:
    """Have the system read a file while something else is done, where it can be asked."""
    if hasattr(os, "posix_fadvise"):
        with contextlib.suppress(OSError), open(path, "rb", buffering=0) as file:  # noqa: PTH123 (as above)
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
