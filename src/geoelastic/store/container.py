# SPDX-License-Identifier: Apache-2.0
"""The `.geoelastic` file: a zip archive of Parquet tables and a JSON manifest, all of it open formats.

    manifest.json       {"format": "geoelastic", "version": 1, "kind": ..., "content": {...}, "tables": {name: sha256,
    ...}} NAME.parquet        one member per table, compressed inside (zstd) archive comment     SHA-256 of every byte
    before it, so that no damage goes unnoticed

Equal content gives equal bytes: members are in a fixed order and carry a fixed date. What a kind of file holds is
decided by those who write it (`metric/file.py` for metrics).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import FileError, InputError
from .atomic import write_bytes

__all__ = ["FORMAT_VERSION", "container_bytes", "read_container", "write_container"]

FORMAT_VERSION = 1
_MANIFEST = "manifest.json"
_DIGEST_LENGTH = 64
#: A zip archive whose first member is the manifest begins like this; the name stands at byte 30.
_ZIP_MAGIC = b"PK\x03\x04"
_NAME_AT = 30


def write_container(
    path: str | os.PathLike[str], kind: str, manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]
) -> None:
    """Write `manifest` (plain JSON data) and `tables` as one file of this `kind`, atomically."""
    write_bytes(path, container_bytes(kind, manifest, tables))


def container_bytes(kind: str, manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> bytes:
    """What `write_container` writes."""
    members = {name: _parquet(table) for name, table in sorted(tables.items())}
    head = {
        "format": "geoelastic",
        "version": FORMAT_VERSION,
        "kind": kind,
        "content": dict(manifest),
        "tables": {name: hashlib.sha256(content).hexdigest() for name, content in members.items()},
    }
    try:
        text = json.dumps(head, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"a manifest must be plain JSON data: {error}") from None
    return _sealed_zip({_MANIFEST: text.encode()} | {f"{name}.parquet": content for name, content in members.items()})


def _parquet(table: pa.Table) -> bytes:
    """A table as Parquet. 32-bit columns hold what changes little from one location to the next: differences take half
    the room there; the others repeat themselves."""
    sink = io.BytesIO()
    steps = [field.name for field in table.schema if field.type == pa.int32()]
    others = [name for name in table.column_names if name not in steps]
    encoding = dict.fromkeys(steps, "DELTA_BINARY_PACKED")
    pq.write_table(
        table, sink, compression="zstd", compression_level=12, use_dictionary=others, column_encoding=encoding
    )
    return sink.getvalue()


def _sealed_zip(members: Mapping[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED if name == _MANIFEST else zipfile.ZIP_STORED
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
        archive.comment = b"0" * _DIGEST_LENGTH
    body = sink.getvalue()[:-_DIGEST_LENGTH]
    return body + hashlib.sha256(body).hexdigest().encode()


def read_container(
    path: str | os.PathLike[str], *, kind: str | None = None
) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """The manifest (with its "kind" under that name) and the tables; a `FileError` says what is wrong with the file."""
    target = Path(path)
    content = _read(target)
    if not (content.startswith(_ZIP_MAGIC) and content[_NAME_AT:].startswith(_MANIFEST.encode())):
        if _ZIP_MAGIC.startswith(content[: len(_ZIP_MAGIC)]) and len(content) < _NAME_AT + len(_MANIFEST):
            raise FileError(f"{target}: truncated: it is only {len(content)} bytes long")
        raise FileError(f"{target}: not a geoelastic file")
    head = _head(target, content)
    if kind is not None and head["kind"] != kind:
        raise FileError(f"{target}: holds a {head['kind']}, not a {kind}")
    return {**head["content"], "kind": head["kind"]}, _tables(target, content, head["tables"])


def _read(target: Path) -> bytes:
    try:
        return target.read_bytes()
    except FileNotFoundError:
        raise FileError(f"{target}: no such file") from None
    except OSError as error:
        raise FileError(f"{target}: cannot be read: {(error.strerror or type(error).__name__).lower()}") from None


def _head(target: Path, content: bytes) -> dict[str, Any]:
    """The manifest, once the file is known to be whole, ours and not newer than this program."""
    damaged = FileError(f"{target}: truncated or corrupt: its contents do not match its checksum")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            head = json.loads(archive.read(_MANIFEST))
    except (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, NotImplementedError, RuntimeError, OSError):
        raise damaged from None
    if not isinstance(head, dict) or head.get("format") != "geoelastic":
        raise FileError(f"{target}: not a geoelastic file")
    version = head.get("version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise FileError(
            f"{target}: written in format {version!r} by a newer geoelastic; this one reads up to {FORMAT_VERSION}"
        )
    if hashlib.sha256(content[:-_DIGEST_LENGTH]).hexdigest().encode() != content[-_DIGEST_LENGTH:]:
        raise damaged
    return head


def _tables(target: Path, content: bytes, digests: Mapping[str, str]) -> dict[str, pa.Table]:
    tables = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name, digest in digests.items():
            try:
                member = archive.read(f"{name}.parquet")
                if hashlib.sha256(member).hexdigest() != digest:
                    raise FileError(f"{target}: corrupt: the table {name!r} does not match its checksum")
                tables[name] = pq.ParquetFile(pa.BufferReader(member)).read()  # read_table would load pandas
            except (KeyError, pa.ArrowException):
                raise FileError(f"{target}: corrupt: the table {name!r} is missing or unreadable") from None
    return tables
