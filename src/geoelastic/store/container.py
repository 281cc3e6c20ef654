# SPDX-License-Identifier: Apache-2.0
"""The `.geoelastic` file: a zip archive of Parquet tables and a JSON manifest, all of it open formats.

    manifest.json       {"format": "geoelastic", "version": 1, "kind": ..., "content": {...}, "tables": {name: sha256,
    ...}} NAME.parquet        one member per table, compressed inside (zstd) archive comment     SHA-256 of every byte
    before it, so that no damage goes unnoticed

Equal content gives equal bytes: members are in a fixed order and carry a fixed date. What a kind of file holds is
decided by those who write it (`metric/metric_file.py` for metrics).
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import FileError, InputError
from . import schema
from .atomic import write_bytes
from .digest import digest

FORMAT_VERSION = 1
_MANIFEST = "manifest.json"
_DIGEST_LENGTH = 64
#: A zip archive whose first member is the manifest begins like this; the name stands at byte 30.
_ZIP_MAGIC = b"PK\x03\x04"
_NAME_AT = 30
#: Bytes of a file, rows of a table and tables in a file: more than any that is written, less than would do harm.
_FILE_BYTES, _ROWS, _TABLES = 2**29, 2**26, 8


def write_container(
    path: str | os.PathLike[str], kind: str, manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]
) -> None:
    """Write `manifest` (plain JSON data) and `tables` as one file of this `kind`, atomically."""
    write_bytes(path, container_bytes(kind, manifest, tables))


def table_of(columns: Mapping[str, npt.NDArray[Any]]) -> pa.Table:
    """Columns of numbers as a table: `pa.table` of arrays would load pandas, if there is one, to ask it about each."""
    return pa.table({name: _column(np.ascontiguousarray(values)) for name, values in columns.items()})


def _column(values: npt.NDArray[Any]) -> pa.Array:
    kind = pa.from_numpy_dtype(values.dtype)
    content = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else values
    return pa.Array.from_buffers(kind, values.size, [None, pa.py_buffer(content)])


def container_bytes(kind: str, manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> bytes:
    """What `write_container` writes."""
    members = {name: _parquet(table) for name, table in sorted(tables.items())}
    head = {
        "format": "geoelastic",
        "version": FORMAT_VERSION,
        "kind": kind,
        "content": dict(manifest),
        "tables": {name: digest(content) for name, content in members.items()},
    }
    try:
        text = json.dumps(head, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"a manifest must be plain JSON data: {error}") from None
    if len(text.encode()) > schema.JSON_BYTES:
        raise InputError(
            f"a manifest must be at most {schema.JSON_BYTES} bytes long, this one has {len(text.encode())}"
        )
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
    return body + digest(body).encode()


def read_container(
    path: str | os.PathLike[str],
    *,
    kind: str | None = None,
    columns: Mapping[str, Mapping[str, pa.DataType]] | None = None,
) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """The manifest (with its "kind" under that name) and the tables; a `FileError` says what is wrong with the file.

    `columns`: by table, the columns that it may have and their types; any other is refused before it is read.
    """
    target = Path(path)
    content = _read(target)
    if not (content.startswith(_ZIP_MAGIC) and content[_NAME_AT:].startswith(_MANIFEST.encode())):
        if _ZIP_MAGIC.startswith(content[: len(_ZIP_MAGIC)]) and len(content) < _NAME_AT + len(_MANIFEST):
            raise FileError(f"{target}: truncated: it is only {len(content)} bytes long")
        raise FileError(f"{target}: not a geoelastic file")
    if digest(content[:-_DIGEST_LENGTH]).encode() != content[-_DIGEST_LENGTH:]:
        raise FileError(f"{target}: truncated or corrupt: its contents do not match its checksum")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            head = _head(archive)
            if kind is not None and head["kind"] != kind:
                raise FileError(f"holds a {head['kind']}, not a {kind}")
            tables = {
                name: _table(archive, name, seal, None if columns is None else columns.get(name, {}))
                for name, seal in head["tables"].items()
            }
    except FileError as error:
        raise FileError(f"{target}: {error}") from None
    except (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, NotImplementedError, RuntimeError, OSError):
        raise FileError(f"{target}: corrupt: it is no archive that geoelastic writes") from None
    return {**head["content"], "kind": head["kind"]}, tables


def _read(target: Path) -> bytes:
    try:
        if target.stat().st_size > _FILE_BYTES:
            raise FileError(f"{target}: larger than any file that geoelastic writes, {_FILE_BYTES} bytes")
        return target.read_bytes()
    except FileNotFoundError:
        raise FileError(f"{target}: no such file") from None
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{target}: cannot be read: {(error.strerror or type(error).__name__).lower()}") from None


def _head(archive: zipfile.ZipFile) -> dict[str, Any]:
    """The manifest, once it is known to be ours and not newer than this program."""
    head = schema.parse_json(_member(archive, _MANIFEST, schema.JSON_BYTES), "manifest")
    if not isinstance(head, dict) or head.get("format") != "geoelastic":
        raise FileError("not a geoelastic file")
    version = head.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version > FORMAT_VERSION:
        raise FileError(
            f"written in format {str(version)[:20]!r} by a newer geoelastic; this one reads up to {FORMAT_VERSION}"
        )
    schema.closed(head, "manifest", needs=("format", "version", "kind", "content", "tables"))
    schema.whole(version, "version", FORMAT_VERSION, FORMAT_VERSION)
    schema.text(head["kind"], "kind", pattern="[a-z]+")
    if not isinstance(head["content"], dict) or not isinstance(head["tables"], dict):
        raise FileError("'content' and 'tables' must be objects")
    if len(head["tables"]) > _TABLES:
        raise FileError(f"a file has at most {_TABLES} tables, got {len(head['tables'])}")
    for name, seal in head["tables"].items():
        schema.text(name, "name of a table", pattern="[a-z_]+")
        schema.text(seal, f"checksum of {name}", pattern="[0-9a-f]{64}")
    return head


def _member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """A member of an archive, which says how long it is, and is read no further than that."""
    entry = archive.getinfo(name)
    if entry.file_size > most or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileError(f"the member {name!r} must be at most {most} bytes long, stored or deflated")
    return archive.read(entry)


def _table(archive: zipfile.ZipFile, name: str, seal: str, types: Mapping[str, pa.DataType] | None) -> pa.Table:
    try:
        member = _member(archive, f"{name}.parquet", _FILE_BYTES)
        if digest(member) != seal:
            raise FileError(f"corrupt: the table {name!r} does not match its checksum")
        file = pq.ParquetFile(pa.BufferReader(member))
        if types is not None:
            _require_columns(name, file, types)
        return file.read()  # read_table would load pandas
    except (KeyError, pa.ArrowException, OSError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"corrupt: the table {name!r} is missing or unreadable") from None


def _require_columns(name: str, file: pq.ParquetFile, types: Mapping[str, pa.DataType]) -> None:
    """Refuse a table by what its footer says: other columns or types, or more rows or bytes than there can be."""
    fields = file.schema_arrow
    if len(set(fields.names)) != len(fields.names) or any(types.get(field.name) != field.type for field in fields):
        raise FileError(f"the table {name!r} must have columns among {', '.join(types)}, each of its own type")
    require_room(name, file)


def require_room(name: str, file: pq.ParquetFile) -> None:
    """Refuse a table of numbers by what its footer says: more rows or bytes than there can be."""
    if file.metadata.num_rows > _ROWS or file.metadata.num_row_groups > _ROWS // 1024:
        raise FileError(f"the table {name!r} must have at most {_ROWS} rows")
    groups = [file.metadata.row_group(k) for k in range(file.metadata.num_row_groups)]
    if sum(group.total_byte_size for group in groups) > 16 * file.metadata.num_rows * file.metadata.num_columns + 2**22:
        raise FileError(f"the table {name!r} must not take more room than its numbers")
