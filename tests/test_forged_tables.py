# SPDX-License-Identifier: Apache-2.0
"""Every number in the tables of `.geoelastic` files, and everything in a folder of tiles, set to twenty other values by
somebody who knows the format: checksums, digests and totals are made to fit again wherever that can be done. Refused,
or failing `verify`, or private by brute force for the metric that is then stated. Nothing else."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
import shapely

import geoelastic as ge
from forging import NUMBERS, VALUES, chosen, require_private
from geoelastic.context import Name
from geoelastic.context.shores import context_of
from geoelastic.errors import FileError, InputError
from geoelastic.fences import cells_to_shape, disc
from geoelastic.judge import verify
from geoelastic.metric.measures import measure_digest
from geoelastic.metric.metric_file import metric_from_parts, metric_to_parts
from geoelastic.metric.relief import COARSE, FINE, Relief
from geoelastic.store import container_bytes
from geoelastic.tiles import InlineEngine
from geoelastic.tiles.decode_tiles import require_content
from geoelastic.tiles.folder import FORMAT_VERSION, MANIFEST
from geoelastic.tiles.parts import BLOCK_CELLS, PLACE_UNIT, measure_units
from geoelastic.tiles.store import CachedStore, TileStore
from geoelastic.tiles.tiled_metric import TiledMetric
from geoelastic.tiles.tiling import Box
from geoelastic.tiles.whole_graph import whole_metric
from geoelastic.tiles.window import centre_or_place, fence_of
from maps import PARIS, small_metric

pytestmark = pytest.mark.jit  # some hundred brute forces
#: Cases of a kind that every run takes.
SOME = 80


@functools.cache
def metric_of(kind: str) -> Any:
    options: dict[str, Any] = {"rows": 4, "cols": 4, "l_top": 0.5, "l_from": 0.3}
    fences = (disc(*PARIS, 90),) if "fenced" in kind else ()
    if kind == "paper":
        return small_metric("paper", "uniform", **options)
    metric = small_metric("conformal", "adaptive" if kind == "plain" else "uniform", fences=fences, **options)
    if kind == "plain":  # with what is drawn under its maps
        road = {"road": shapely.LineString([(-150, 10), (0, 20), (150, 10)])}
        drawn = context_of(shapely.box(-50, -50, 50, 50), road, [Name(0, 0, 0, "Here")], 400, 400, tolerance_m=0)
        metric = replace(metric, context=drawn)
    # with a coarse slack some numbers can be others
    return ge.sharpen(metric, slack=COARSE if kind == "sharp" else FINE) if "sharp" in kind else metric


def outcome(subject: Any) -> str:
    """Failing, or private by brute force; anything else is an error here."""
    mechanism = ge.ElasticMechanism(subject)
    found = verify(mechanism, workers=1)
    json.dumps(found, allow_nan=False)
    if not found["ok"]:
        return "failing"
    require_private(mechanism)
    return "private"


def with_number(column: Any, at: int, value: int) -> Any:
    """A column with another number in it, of its own type if that can hold it."""
    values = column.astype(object)
    values[at] = value
    info = np.iinfo(column.dtype) if column.dtype.kind in "iu" else np.iinfo(np.int8)
    fits = all(info.min <= int(v) <= info.max for v in (value,))
    return values.astype(column.dtype if fits else np.int64)


@pytest.mark.parametrize("kind", ["plain", "sharp", "fenced", "fenced and sharp", "paper"])
def test_every_number_of_the_tables_of_a_file(kind: str, tmp_path: Path) -> None:
    manifest, tables = metric_to_parts(metric_of(kind))
    manifest = manifest | {"certificate": {}, "info": {}}
    columns = [(t, c) for t, table in tables.items() for c in table.column_names]
    cases = [(t, c, at, value) for t, c in columns for at in range(len(tables[t])) for value in NUMBERS]
    seen = Counter[str]()
    for table, column, at, value in chosen(cases, SOME, kind):
        old = tables[table][column].to_numpy()
        new = pa.array(with_number(np.asarray(old), at, value))
        place = tables[table].column_names.index(column)
        forged = tables | {table: tables[table].set_column(place, column, new)}
        path = tmp_path / "m.geoelastic"
        try:
            path.write_bytes(container_bytes("metric", _made_for(manifest, forged), forged))
            seen[outcome(ge.load(path))] += 1
        except (FileError, InputError):
            seen["refused"] += 1
    assert min(seen["refused"], seen["failing"], seen["private"]) > 0


def _made_for(manifest: dict[str, Any], tables: dict[str, Any]) -> dict[str, Any]:
    """The manifest with heights that say they were made for the graph that the tables now make."""
    if "relief" not in manifest:
        return manifest
    return manifest | {"relief": manifest["relief"] | {"made_for": Relief.key(metric_from_parts(manifest, tables))}}


@functools.cache
def folder() -> tuple[dict[str, Any], dict[str, Any]]:
    """The content of the manifest of a map in two tiles, and its tables as columns."""
    cells = np.full((128, 256), 1.2e-5)
    cells[:, 128:] /= 3
    mass = ge.Mass.from_array(cells, cell_m=100, origin=PARIS)
    with tempfile.TemporaryDirectory() as name:
        tiled: Any = ge.build_tiles(mass, name, tile=128, l_from=0.2, l_top=0.33, frame=0.0, engine=InlineEngine())
        row, col, side = (int(part) for part in tiled.leaves(1))  # all of a location, so that none is divided
        mask = np.zeros(tiled.grid.shape, bool)
        mask[row : row + side, col : col + side] = True
        tiled.with_fences([cells_to_shape(tiled.grid, mask)]).save(name)
        tiled = ge.load(name)
        assert 2 * 4 <= tiled.n <= 40, tiled.n
        assert tiled.totals["fences"] == 1
        names = [tile[part] for tile in tiled.content["tiles"] for part in ("tile", "edges", "rises", "heights")]
        tables = {each: TileStore(name).read_table(each) for each in names}
    secrets = tiled.certificate["secret_outside_fences"]
    content = tiled.content | {"certificate": {"secret_outside_fences": secrets}, "info": {}}
    return content | {"relief": content["relief"] | {"certificate": {}}}, tables


class Believing(TiledMetric):
    """Tiles whose name and secrets are taken for what they are said to be, so that they can be found out."""

    identity = mock.ANY
    totals = {"secrets": mock.ANY}  # noqa: RUF012

    def __init__(self, store: CachedStore, content: Any) -> None:
        super().__init__(store, content)
        self.certificate = self.certificate | {"secret_outside_fences": mock.ANY}


def write(root: Path, content: Any, tables: dict[str, Any]) -> None:
    for name, (columns, summary) in tables.items():
        TileStore(str(root)).write_table(name, columns, summary)
    text = json.dumps(content, sort_keys=True)
    head = {"format": "geoelastic tiles", "version": FORMAT_VERSION, "content": content}
    (root / MANIFEST).write_text(json.dumps(head | {"sha256": hashlib.sha256(text.encode()).hexdigest()}))


def made_to_fit(root: Path, content: Any) -> Any:
    """The content with all that a manifest tells about its tiles as it is now; as it was, if that cannot be found."""
    require_content(content, BLOCK_CELLS)
    content = copy.deepcopy(content)
    for tile in content["tiles"]:
        columns = TileStore(str(root)).read_table(tile["tile"])[0]
        tile["mass"] = int(columns["mass"].sum())
        fences, counts = (part.tolist() for part in np.unique(fence_of(columns), return_counts=True))
        tile["fences"] = [[number, count] for number, count in zip(fences, counts, strict=True) if number > 0]
        if not tile["fences"]:
            del tile["fences"]
    metric = Believing(CachedStore(str(root)), content)
    window, columns = metric.window(Box(0, 0, *metric.grid.shape))
    at, across = window.locations, -(-metric.grid.cols // BLOCK_CELLS)
    block = at.row // BLOCK_CELLS * across + at.col // BLOCK_CELLS
    for output, told in content["measures"].items():
        parts = {"exponent": at.exponents(), "mass": window.mass_units}
        units = measure_units(parts, output, told["densest"], told["total"], metric.n)
        told["sha256"] = measure_digest(units)
        units = np.where(window.fence > 0, 0, units)
        told["block_units"] = np.bincount(block, units).astype(int).reshape(-1, across).tolist()
    x, y = centre_or_place(np.column_stack([at.row, at.col, at.size]), columns).T / PLACE_UNIT
    content["blocks"] = [
        [int(np.floor(y[block == k].min())), int(np.ceil(y[block == k].max())),
         int(np.floor(x[block == k].min())), int(np.ceil(x[block == k].max()))] for k in range(len(content["blocks"]))
    ]  # fmt: skip
    for tile in content["tiles"]:
        tile["slope"] = tile["low_slope"] = 0.0
    found = whole_metric(metric.store, metric.plan, *(metric.files(kind) for kind in ("tile", "edges", "rises")))[1]
    told = content["relief"]
    relief = Relief(metric.height(window), told["output"], Relief.key(found), slack=told["slack"])
    content["relief"] = told | {"made_for": relief.made_for, "digest": relief.digest}
    whole = Believing(CachedStore(str(root)), content).whole()
    content["identity"] = whole.identity
    inside = whole.fence > 0
    content["certificate"]["secret_outside_fences"] = int((whole.secret & ~inside).sum())
    content["fences"] = {"number": int(whole.fence.max()), "secrets": int((whole.secret & inside).sum())}
    return content


def judged(root: Path) -> str:
    """What becomes of a folder. What holds is also reported from part by part as in one piece."""
    try:
        tiled = ge.load(root)
        found = outcome(tiled)
    except (FileError, InputError):
        return "refused"
    if found == "private":
        for i in np.flatnonzero(tiled.secret)[:: max(tiled.n // 3, 1)].tolist():
            apart = ge.ElasticMechanism(ge.load(root))
            whole = ge.ElasticMechanism.from_measure(tiled.whole(), apart.measure, output="mass")
            drawn = [m.sample(i, 50, rng=ge.SeededRandom(i)).tolist() for m in (apart, whole)]
            assert drawn[0] == drawn[1]
    return found


@pytest.mark.parametrize("fitting", [False, True], ids=["as it is", "made to fit"])
def test_every_number_of_the_tables_of_tiles(fitting: bool, tmp_path: Path) -> None:
    content, tables = folder()
    columns = [(name, c) for name, (parts, _) in tables.items() for c in parts]
    cases = [(n, c, at, value) for n, c in columns for at in range(tables[n][0][c].size) for value in NUMBERS]
    seen = Counter[str]()
    for name, column, at, value in chosen(cases, SOME, f"tiles {fitting}"):
        parts, summary = tables[name]
        forged = parts | {column: with_number(parts[column], at, value)}
        write(tmp_path, content, tables | {name: (forged, summary)})
        if fitting:
            try:
                write(tmp_path, made_to_fit(tmp_path, content), {})
            except (FileError, InputError):
                seen["unfit"] += 1
        seen[judged(tmp_path)] += 1
    assert seen["refused"] > 0
    assert not fitting or min(seen["failing"], seen["private"]) > 0


def paths(value: Any, *before: Any) -> Iterator[tuple[Any, ...]]:
    """Where every entry of a value is, those of lists and of objects in it too."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*before, key)
        yield from paths(inner, *before, key)


@pytest.mark.parametrize("fitting", [False, True], ids=["as it is", "made to fit"])
def test_every_entry_of_the_manifest_of_tiles(fitting: bool, tmp_path: Path) -> None:
    content, tables = folder()
    write(tmp_path, content, tables)
    assert judged(tmp_path) == "private"
    cases = [(path, value) for path in paths(content) for value in VALUES]
    seen = Counter[str]()
    for (*path, last), value in chosen(cases, 2 * SOME, f"manifest {fitting}"):
        forged = copy.deepcopy(content)
        at = functools.reduce(lambda inner, key: inner[key], path, forged)
        at[last] = value
        if fitting:
            try:
                forged = made_to_fit(tmp_path, forged)
            except (FileError, InputError):
                seen["unfit"] += 1
        write(tmp_path, forged, {})
        seen[judged(tmp_path)] += 1
    assert seen["refused"] > 0
    assert seen["private"] > 0


def test_what_stands_around_the_content(tmp_path: Path) -> None:
    content, tables = folder()
    write(tmp_path, content, tables)
    head = json.loads((tmp_path / MANIFEST).read_text())
    for name in head:
        for value in VALUES:
            (tmp_path / MANIFEST).write_text(json.dumps(head | {name: value}))
            if head[name] != value:
                with pytest.raises(FileError):
                    ge.load(tmp_path)
