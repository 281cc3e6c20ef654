# SPDX-License-Identifier: Apache-2.0
"""Files of strangers: one strict decoder, before any kernel, that refuses by name; the same vectors as the client's."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import geoelastic as ge
import hostile
from geoelastic.cli import main
from geoelastic.errors import FileError
from geoelastic.fences import disc
from geoelastic.metric.geox_file import decode_portable
from geoelastic.metric.metric_file import metric_to_parts
from geoelastic.store import container_bytes
from geoelastic.store.container import _sealed_zip
from geoelastic.store.schema import parse_json
from maps import PARIS, small_metric

VECTORS = json.loads(hostile.FILE.read_text(encoding="utf-8"))


def test_the_vectors_are_what_their_maker_makes() -> None:
    made = {name: base64.b64encode(content).decode() for name, content in hostile.every()}
    assert {row["name"]: row["bytes"] for row in VECTORS} == made, "run .venv/bin/python tests/hostile.py"
    assert len(made) == len(VECTORS)
    assert sum(not row["accept"] for row in VECTORS) >= 200


def test_each_vector_is_accepted_or_refused_for_its_reason() -> None:
    odd = {name for name, _ in hostile.accepted()}
    for row in VECTORS:
        begun = time.monotonic()
        told = hostile.judged(base64.b64decode(row["bytes"]))
        assert time.monotonic() - begun < 5
        assert told | {"name": row["name"], "bytes": row["bytes"]} == row
        assert row["accept"] == (row["name"] in odd), row["name"]


@pytest.fixture(scope="module")
def parts() -> dict[str, tuple[dict[str, Any], dict[str, pa.Table]]]:
    """Metrics of each kind as they are put into files."""
    fences = [disc(*PARIS, 90)]
    plain = small_metric("conformal", "uniform", rows=7, cols=7, l_top=0.6, fences=fences)
    return {
        "conformal": metric_to_parts(ge.sharpen(plain)),
        "adaptive": metric_to_parts(small_metric(rows=6, cols=6, l_top=0.8)),
        "paper": metric_to_parts(small_metric("paper", "uniform", rows=6, cols=6, l_top=0.6)),
    }


def load(path: Path, content: bytes) -> Any:
    path.write_bytes(content)
    return ge.load(path)


def column(tables: dict[str, pa.Table], table: str, name: str, change: Any) -> dict[str, pa.Table]:
    """The tables with another first entry in one column, of the same type."""
    at = tables[table].column_names.index(name)
    values = np.array(tables[table][name]).copy()
    values[0] = change
    return tables | {table: tables[table].set_column(at, name, pa.array(values))}


@pytest.mark.parametrize(
    ("kind", "table", "name", "change"),
    [
        ("conformal", "locations", "scale", -(2**30)), ("conformal", "locations", "scale", 2**28 + 1),
        ("conformal", "locations", "place_east", 2**31 - 1), ("conformal", "locations", "place_north", -(2**31)),
        ("conformal", "locations", "fence", -1), ("conformal", "locations", "fence", -(2**31)),
        ("conformal", "locations", "height", -1), ("conformal", "locations", "height", 2**30),
        ("conformal", "locations", "mass", -1), ("conformal", "locations", "mass", 2**62),
        ("adaptive", "locations", "exponent", 7), ("adaptive", "locations", "exponent", 255),
        ("paper", "edges", "i", -1), ("paper", "edges", "i", 2**31 - 1), ("paper", "edges", "j", 0),
        ("paper", "edges", "level", -1), ("paper", "edges", "level", 2**23 + 1),
    ],
)  # fmt: skip
def test_a_number_beyond_its_range_is_refused_by_name(tmp_path, parts, kind, table, name, change):
    manifest, tables = parts[kind]
    path = tmp_path / "m.geoelastic"
    assert load(path, container_bytes("metric", manifest, tables)).n
    content = container_bytes("metric", manifest, column(tables, table, name, change))
    with pytest.raises(FileError) as caught:
        load(path, content)
    assert str(path) in str(caught.value)
    for command in (["verify"], ["info", "--json"], ["sanitize", "--lat", "48.8567", "--lon", "2.3487"]):
        told = CliRunner().invoke(main, [command[0], str(path), *command[1:]])
        assert (told.exit_code, told.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"grid": {"rows": 30000, "cols": 30000}}, {"grid": {"rows": 0}}, {"grid": {"cell_m": "100"}}, {"layout": "hex"},
        {"method": "lowered"}, {"l_top": 0}, {"l_from": 0.6}, {"requirement": {"l_star": 1e6}}, {"frame_cells": 4},
        {"frame_cells": True}, {"certificate": None}, {"info": []}, {"seed": 1}, {"relief": {"made_for": 5}},
        {"requirement": {"kind": "none"}},
    ],
)  # fmt: skip
def test_a_manifest_is_closed_too(tmp_path, parts, change):
    manifest, tables = parts["conformal"]
    changed = manifest | {
        name: manifest[name] | value if isinstance(value, dict) else value for name, value in change.items()
    }
    with pytest.raises(FileError, match="not sound"):
        load(tmp_path / "m.geoelastic", container_bytes("metric", changed, tables))


def test_tables_have_their_columns_and_types(tmp_path, parts):
    manifest, tables = parts["conformal"]
    where = tables["locations"]
    path = tmp_path / "m.geoelastic"
    for other in (
        where.append_column("more", pa.array(np.zeros(where.num_rows))),
        where.set_column(0, "mass", pa.array(np.zeros(where.num_rows))),
        where.set_column(0, "mass", pa.array(["1"] * where.num_rows)),
        where.drop_columns(["mass"]), where.drop_columns(["height"]), where.drop_columns(["place_east"]),
        where.slice(1), where.set_column(0, "mass", pa.array([None] + [1] * (where.num_rows - 1), pa.int64())),
    ):  # fmt: skip
        with pytest.raises(FileError):
            load(path, container_bytes("metric", manifest, {"locations": other}))
    with pytest.raises(FileError):
        load(path, container_bytes("metric", manifest, tables | {"more": where}))
    with pytest.raises(FileError, match="locations"):
        load(path, container_bytes("metric", manifest, {}))


def test_nothing_is_unpacked_beyond_what_it_may_hold(tmp_path, parts):
    """Two megabytes that would become gigabytes, as manifest, as arrays and as rows of one value."""
    content = container_bytes("metric", *parts["paper"])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    path = tmp_path / "m.geoelastic"
    with pytest.raises(FileError, match="at most"):
        load(path, _sealed_zip(members | {"manifest.json": b" " * 2**28 + members["manifest.json"]}))
    with pytest.raises(FileError, match="as long as the header says"):
        decode_portable(hostile.PLAIN.bytes(packed=hostile.deflated(bytes(2**27), 9)))
    manifest, tables = parts["paper"]
    many = pa.table({name: np.zeros(2**20, np.int32) for name in ("i", "j", "level")})
    begun = time.monotonic()
    with pytest.raises(FileError, match="an edge must join"):
        load(path, container_bytes("metric", manifest, tables | {"edges": many}))
    assert time.monotonic() - begun < 5


def test_an_archive_is_checked_before_it_is_read(tmp_path, parts):
    content = container_bytes("metric", *parts["paper"])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(members["manifest.json"])
    path = tmp_path / "m.geoelastic"
    for other in (
        head | {"tables": {"../locations": "0" * 64}}, head | {"tables": {"locations": 5}}, head | {"tables": []},
        head | {"content": 5}, head | {"kind": 5}, head | {"kind": "a b"}, head | {"more": 1}, head | {"version": 0},
        head | {"version": True}, [], 5, {"format": "geoelastic"},
    ):  # fmt: skip
        with pytest.raises(FileError):
            load(path, _sealed_zip(members | {"manifest.json": json.dumps(other).encode()}))
    deep = json.dumps(head)[:-1].encode() + b', "more": ' + b'{"a": ' * 5000 + b"1" + b"}" * 5001
    for text in (deep, b"[" * 10**5, b"\xff\xfe", b'{"format": 1' + b"0" * 10**5 + b"}"):
        with pytest.raises(FileError):
            load(path, _sealed_zip(members | {"manifest.json": text}))
    body = content[:-64].replace(b"PK\x01\x02", b"PK\x01\x03")
    with pytest.raises(FileError, match="corrupt"):
        load(path, body + hashlib.sha256(body).hexdigest().encode())


def test_json_that_is_deep_long_or_doubtful_is_refused_before_it_is_built():
    assert parse_json(b'{"a": [1, 2.5, "x"]}', "text") == {"a": [1, 2.5, "x"]}
    for text in (
        b"[" * 33 + b"]" * 33,
        b" " * (2**20 + 1),
        b"1" * 33,
        b'{"a":1,"a":2}',
        b"[NaN]",
        b"[1e999]",
        b'["\\ud800"]',
    ):
        with pytest.raises(FileError):
            parse_json(text, "text")
