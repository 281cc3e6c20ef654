# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geoelastic.errors import FileError, InputError
from geoelastic.store import container_bytes, read_container, require_writable, write_bytes, write_container, writing

MANIFEST = {"name": "Zürich", "levels": [0.35, 1.79], "nested": {"a": None, "b": True}}
TABLES = {
    "edges": pa.table({"i": np.arange(50, dtype=np.int32), "level": np.arange(50, dtype=np.int64) ** 2}),
    "cells": pa.table({"mass": np.linspace(0, 1, 40)}),
}
CONTENT = container_bytes("metric", MANIFEST, TABLES)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "map.geoelastic"
    write_container(target, "metric", MANIFEST, TABLES)
    return target


def test_what_is_written_comes_back(path: Path) -> None:
    manifest, tables = read_container(path, kind="metric")
    assert manifest == MANIFEST | {"kind": "metric"}
    assert {name: table.to_pydict() for name, table in tables.items()} == {k: v.to_pydict() for k, v in TABLES.items()}


def test_equal_content_gives_equal_bytes(path: Path) -> None:
    shuffled = {name: TABLES[name] for name in sorted(TABLES)}
    assert path.read_bytes() == container_bytes("metric", dict(reversed(MANIFEST.items())), shuffled)


def test_open_formats_inside(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["manifest.json", "cells.parquet", "edges.parquet"]
        head = json.loads(archive.read("manifest.json"))
        assert head["tables"]["edges"] == hashlib.sha256(archive.read("edges.parquet")).hexdigest()


@settings(max_examples=150, deadline=None)
@given(at=st.integers(0, len(CONTENT) - 1), flip=st.integers(1, 255))
def test_any_changed_byte_is_noticed(at: int, flip: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    target = tmp_path_factory.mktemp("flip") / "x.geoelastic"
    target.write_bytes(CONTENT[:at] + bytes([CONTENT[at] ^ flip]) + CONTENT[at + 1 :])
    with pytest.raises(FileError):
        read_container(target)


@settings(max_examples=60, deadline=None)
@given(length=st.integers(0, len(CONTENT) - 1))
def test_any_truncation_is_noticed(length: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    target = tmp_path_factory.mktemp("cut") / "x.geoelastic"
    target.write_bytes(CONTENT[:length])
    with pytest.raises(FileError, match="truncated"):
        read_container(target)


def _resealed(change: dict[str, object], tmp_path: Path) -> Path:
    """The container with its manifest's head changed and everything else in order."""
    target = tmp_path / "x.geoelastic"
    write_container(target, "metric", MANIFEST, TABLES)
    with zipfile.ZipFile(target) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["manifest.json"] = json.dumps(json.loads(members["manifest.json"]) | change).encode()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = b"0" * 64
    body = target.read_bytes()[:-64]
    target.write_bytes(body + hashlib.sha256(body).hexdigest().encode())
    return target


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "newer geoelastic"),
        ({"version": "x"}, "newer geoelastic"),
        ({"format": "other"}, "not a geoelastic file"),
        ({"kind": "ledger"}, "holds a ledger, not a metric"),
        ({"tables": {"edges": "0" * 64}}, "does not match its checksum"),
        ({"tables": {"nodes": "0" * 64}}, "missing or unreadable"),
    ],
)
def test_a_well_formed_archive_that_is_not_for_us(change: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=message):
        read_container(_resealed(change, tmp_path), kind="metric")


@pytest.mark.parametrize("content", [b"hello, this is no archive at all", b"PK\x03\x04" + b"\0" * 60, b"\x89PNG"])
def test_foreign_files(content: bytes, tmp_path: Path) -> None:
    target = tmp_path / "foreign"
    target.write_bytes(content)
    with pytest.raises(FileError, match="not a geoelastic file"):
        read_container(target)


def test_missing_and_unreadable(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        read_container(tmp_path / "nothing")
    with pytest.raises(FileError, match="cannot be read"):
        read_container(tmp_path)


def test_a_manifest_is_plain_data(tmp_path: Path) -> None:
    for bad in (float("nan"), object()):
        with pytest.raises(InputError, match="plain JSON"):
            write_container(tmp_path / "x", "metric", {"bad": bad}, {})
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(path: Path) -> None:
    before = path.read_bytes()

    def fail() -> None:
        with writing(path) as temporary:
            temporary.write_bytes(b"half of it")
            raise KeyError("stop")

    with pytest.raises(KeyError):
        fail()
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_disk_that_refuses_is_one_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="cannot be written: no space left"):
        write_bytes(path, b"new")
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_unwritable_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileError, match="it is a directory"):
        write_bytes(tmp_path, b"x")
    with pytest.raises(FileError, match="there is no directory"):
        write_bytes(tmp_path / "none" / "x", b"x")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(FileError, match="no permission"):
        require_writable(tmp_path / "x")


def test_permissions_are_those_of_an_ordinary_file(tmp_path: Path) -> None:
    ordinary, ours = tmp_path / "a", tmp_path / "b"
    ordinary.write_bytes(b"x")
    write_bytes(ours, b"x")
    assert ours.stat().st_mode == ordinary.stat().st_mode
    ours.chmod(0o600)
    write_bytes(ours, b"y")
    assert ours.stat().st_mode & 0o777 == 0o600
