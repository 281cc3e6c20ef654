# SPDX-License-Identifier: Apache-2.0
"""Files of metrics: portable ones, containers, folders of tiles. Most are damaged inside and sealed anew, so that no
checksum stands between the damage and what reads it."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import shapely

import geoelastic as ge
import hostile
from geoelastic.context import Name
from geoelastic.context.shores import context_of
from geoelastic.metric.metric_file import metric_to_parts
from geoelastic.store import container_bytes
from geoelastic.tiles import InlineEngine, build_tiles
from geoelastic.tiles.store import TileStore

from .judge import command, judge
from .mutate import damaged_bytes, damaged_json, damaged_text, odd_value, some

PARIS = (48.8567, 2.3487)


def damaged_numbers(rng: Random, values: list[int], least: int = -(2**63), most: int = 2**63 - 1) -> list[int]:
    """A list of whole numbers with some of them changed, or of another length."""
    values = list(values)
    for _ in range(rng.choice([1, 1, 2, 5])):
        action = rng.randrange(6)
        at = rng.randrange(len(values) or 1)
        if action == 0 or not values:
            values.insert(at, 0)
        elif action == 1:
            del values[at]
        elif action == 2:
            values = [values[at]] * len(values)
        elif action == 3:
            values[at] = values[rng.randrange(len(values))]
        else:
            new = odd_value(rng, values[at])
            if isinstance(new, int | float) and abs(new) < 2**70:
                values[at] = max(least, min(most, int(new)))
    return values


class Portable:
    """`.geox`, mostly of 4 x 4 cells."""

    name = "geox"

    def make(self, rng: Random) -> bytes:
        if rng.random() < 0.03:
            return self._foreign(rng, some(rng, _real_portables()))
        made = some(rng, _portables())
        kind = rng.randrange(10)
        if kind < 4:
            name = some(rng, list(made.arrays))
            return made.changed(**{name: damaged_numbers(rng, made.arrays[name], 0, 2**53)}).bytes()
        if kind < 8:
            copy = made.changed()
            copy.head = damaged_json(rng, copy.head)
            if not isinstance(copy.head, dict):
                copy.head = made.head | {"info": copy.head}
            if rng.random() < 0.2:
                copy.described = damaged_json(rng, made.entries)
            return self._spelt(copy)
        return self._foreign(rng, made.bytes())

    def _spelt(self, made: Any) -> bytes:
        try:
            return bytes(made.bytes())
        except (TypeError, ValueError, OverflowError):  # what cannot be written need not be read
            return b"geox"

    def _foreign(self, rng: Random, content: bytes) -> bytes:
        damaged = damaged_bytes(rng, content[:-32])
        return hostile.sealed(damaged) if rng.random() < 0.8 else damaged + content[-32:]

    def run(self, payload: bytes, folder: Path) -> str:
        path = folder / "m.geox"
        path.write_bytes(payload)
        return judge(path)


@cache
def _portables() -> list[Any]:
    plain = [hostile.PLAIN, hostile.PLACES, hostile.LEAVES, hostile.PAPER]
    fenced = hostile.PLAIN.changed(fence=[0, 1, 1, 0] * 4)
    framed = hostile.PLAIN.changed("frame_cells", 1)
    return [*plain, fenced, framed, *(hostile.sharp(made) for made in (*plain, fenced))]


@cache
def _real_portables() -> list[bytes]:
    here = Path(hostile.FILE).parent
    return [(here / name).read_bytes() for name in ("town.geox", "sharp.geox")]


class Container:
    """`.geoelastic`, small."""

    name = "geoelastic"

    def make(self, rng: Random) -> bytes:
        manifest, tables = some(rng, _containers())
        kind = rng.randrange(10)
        try:
            if kind < 4:
                return container_bytes("metric", damaged_json(rng, manifest), tables)
            if kind < 8:
                name = some(rng, list(tables))
                return container_bytes("metric", manifest, tables | {name: damaged_table(rng, tables[name])})
            whole = container_bytes(
                some(rng, ["metric", "checkpoint", ""]) if kind == 8 else "metric", manifest, tables
            )
        except Exception:  # what cannot be written need not be read
            return b"PK\x03\x04"
        return resealed(rng, whole) if rng.random() < 0.7 else damaged_bytes(rng, whole)

    def run(self, payload: bytes, folder: Path) -> str:
        path = folder / "m.geoelastic"
        path.write_bytes(payload)
        return judge(path)


def damaged_table(rng: Random, table: Any) -> Any:
    """A table with a column changed: its numbers, its type, holes in it, its name; without it, or with one more."""
    name = some(rng, table.column_names)
    column = table[name].to_pylist()
    kind = rng.randrange(10)
    if kind < 5:
        new = pa.array(damaged_numbers(rng, [int(v) for v in column], -(2**62), 2**62))
        new = new.cast(table[name].type) if rng.random() < 0.8 else new
        columns = {n: table[n] for n in table.column_names} | {name: new}
        short = min(len(c) for c in columns.values())
        return pa.table({n: c[:short] for n, c in columns.items()})
    if kind == 5:
        to = some(rng, [pa.float64(), pa.string(), pa.int8(), pa.uint64(), pa.bool_(), pa.float32()])
        return table.set_column(table.column_names.index(name), name, table[name].cast(to))
    if kind == 6:
        holes = pa.array([None if rng.random() < 0.3 else v for v in column], table[name].type)
        return table.set_column(table.column_names.index(name), name, holes)
    if kind == 7:
        return table.drop_columns([name])
    if kind == 8:
        return table.append_column(some(rng, ["height", "place_east", "framed", "x", "fence"]), table[name])
    return table.slice(rng.randrange(len(column) + 1), rng.randrange(len(column) + 1))


def resealed(rng: Random, whole: bytes) -> bytes:
    """A container of which one member is damaged, with every checksum made anew."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    name = some(rng, list(members))
    members[name] = damaged_text(rng, members[name]) if name.endswith(".json") else damaged_bytes(rng, members[name])
    if name.endswith(".parquet"):
        head = json.loads(members["manifest.json"])
        head["tables"][name.removesuffix(".parquet")] = hashlib.sha256(members[name]).hexdigest()
        members["manifest.json"] = json.dumps(head).encode()
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
        archive.comment = b"0" * 64
    body = sink.getvalue()[:-64]
    return body + hashlib.sha256(body).hexdigest().encode()


@cache
def _containers() -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(5)
    mass = ge.Mass.from_array(0.2 + rng.random((6, 6)), cell_m=100, origin=PARIS)
    fence = ge.Area.around(*PARIS, size_km=0.2)
    shape = {"type": "Polygon", "coordinates": [[[lon, lat] for lat, lon in _corners(fence)]]}
    options: Any = {"l_top": 0.8, "frame": 0.0, "workers": 1}
    built = [
        ge.build_metric(mass, layout="uniform", cartogram=False, **options),
        ge.build_metric(mass, **options),
        ge.build_metric(mass, fences=[shape], **options),
        ge.build_metric(mass, method="paper", **options),
        ge.build_metric(mass, layout="uniform", frame=0.2, l_top=0.8, workers=1),
    ]
    built += [ge.sharpen(metric) for metric in built[:4]]
    road = {"road": shapely.LineString([(-250, 10), (0, 20), (250, 10)])}
    drawn = context_of(shapely.box(-50, -50, 50, 50), road, [Name(0, 0, 0, "Here")], 600, 600, tolerance_m=0)
    built.append(replace(built[1], context=drawn))
    return [metric_to_parts(metric) for metric in built]


def _corners(area: Any) -> list[tuple[float, float]]:
    south, west, north, east = area.bounds
    return [(south, west), (south, east), (north, east), (north, west), (south, west)]


class Tiles:
    """A folder of tiles, each file with a checksum of its own; damaged files are written with theirs."""

    name = "tiles"

    def make(self, rng: Random) -> bytes:
        files = dict(_tiles())
        name = "manifest.json" if rng.random() < 0.5 else some(rng, sorted(n for n in files if n != "manifest.json"))
        if rng.random() < 0.2:
            files[name] = damaged_bytes(rng, files[name])
        elif name == "manifest.json":
            head = json.loads(files[name])
            head["content"] = damaged_json(rng, head["content"]) if rng.random() < 0.9 else head["content"]
            head = head if rng.random() < 0.9 else damaged_json(rng, head)
            try:
                text = json.dumps(head["content"], sort_keys=True)
                head["sha256"] = hashlib.sha256(text.encode()).hexdigest()
                files[name] = json.dumps(head).encode()
            except (TypeError, KeyError, ValueError):
                files[name] = b"{}"
        elif rng.random() < 0.1:
            del files[name]
        else:
            files[name] = self._table(rng, files[name])
        return json.dumps({n: base64.b64encode(c).decode() for n, c in files.items() if _tiles().get(n) != c}).encode()

    def _table(self, rng: Random, content: bytes) -> bytes:
        written: dict[str, bytes] = {}

        class Kept(TileStore):
            def read(self, name: str) -> bytes:
                return content

            def write(self, name: str, content: bytes) -> None:
                written[name] = content

        store = Kept("")
        columns, summary = store.read_table("x")
        name = some(rng, list(columns))
        kind = columns[name].dtype
        try:
            if rng.random() < 0.8:
                numbers = damaged_numbers(rng, columns[name].astype(np.int64).tolist())
                columns[name] = np.array(numbers, np.int64).astype(kind if rng.random() < 0.9 else np.int64)
            elif rng.random() < 0.5:
                del columns[name]
            else:
                columns[name] = columns[name].astype(some(rng, [np.float64, np.int8, np.uint64]))
            size = min((c.size for c in columns.values()), default=0)
            store.write_table("x", {n: c[:size] for n, c in columns.items()}, damaged_json(rng, summary) or {})
        except (TypeError, ValueError, OverflowError, pa.ArrowException):
            return damaged_bytes(rng, content)
        return written.get("x", b"")

    def run(self, payload: bytes, folder: Path) -> str:
        root = folder / "tiles"
        changed = json.loads(payload)
        for name, content in _tiles().items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(changed[name]) if name in changed else content)
        ended = [command("info", root, "--json"), command("sanitize", root, "--lat", PARIS[0], "--lon", PARIS[1])]
        if hashlib.sha256(payload).digest()[0] < 40:
            ended.append(command("verify", root, "--json", "--workers", 1))
        return "/".join(map(str, ended))


@cache
def _tiles() -> dict[str, bytes]:
    import tempfile

    rng = np.random.default_rng(8)
    cells = 0.002 + 0.001 * rng.random((128, 160))
    cells[40:60, 60:90] *= 20
    mass = ge.Mass.from_array(cells, cell_m=100, origin=PARIS)
    with tempfile.TemporaryDirectory() as folder:
        build_tiles(mass, folder, l_top=0.5, tile=128, engine=InlineEngine())
        kept = [p for p in Path(folder).rglob("*") if p.is_file() and "build" not in p.relative_to(folder).parts]
        return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(kept)}
