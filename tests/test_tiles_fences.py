# SPDX-License-Identifier: Apache-2.0
"""Fences in tiles: what comes out is what carving the map in one piece gives, from the tiles around alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.errors import FileError, InputError, OutsideError
from geoelastic.fences import disc, fence_outlines
from geoelastic.tiles import InlineEngine, build_tiles, update_tiles
from geoelastic.tiles.carve_tiles import _regions
from geoelastic.tiles.store import CachedStore
from geoelastic.tiles.tiled_metric import TiledMetric, open_tiles
from geoelastic.tiles.tiling import Box
from tiled_maps import LEVELS, TILE, folder_digest, small_mass

pytestmark = pytest.mark.jit

SHAPE = (256, 640)


def mass() -> ge.Mass:
    return small_mass(shape=SHAPE, extra=(120, 520, 9))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiles") / "map.geoelastic"
    build_tiles(mass(), str(path), tile=TILE, engine=InlineEngine(), sharpen=False, **LEVELS)
    return path


@pytest.fixture(scope="module")
def tiled(folder: Path) -> TiledMetric:
    return open_tiles(folder)


def at(metric: Any, row: float, col: float) -> tuple[float, float]:
    lat, lon = metric.grid.cell_to_latlon(row, col)
    return float(lat), float(lon)


def around(metric: Any, row: float, col: float, radius_m: float) -> Any:
    return disc(*at(metric, row, col), radius_m)


def assert_same(ours: Any, theirs: ge.Metric) -> None:
    """The very same metric: every number that distances and reports depend on."""
    whole = ours.whole()
    assert whole.identity == theirs.identity
    for name in ("mass_units", "fence", "place", "rise"):
        assert np.array_equal(getattr(whole, name), getattr(theirs, name)), name
    assert np.all((whole.scale == theirs.scale) | (whole.fence > 0))  # inside fences there is nothing to scale
    assert ours.certificate["ok"]
    assert ours.certificate["graph_sha256"] == theirs.certificate["graph_sha256"]
    assert ours.totals == theirs.totals


def changed(before: TiledMetric, after: TiledMetric, kind: str = "tile") -> set[int]:
    pairs = zip(before.content["tiles"], after.content["tiles"], strict=True)
    return {k for k, (old, new) in enumerate(pairs) if old[kind] != new[kind]}


@pytest.mark.parametrize("known", [True, False], ids=["cells known", "cells not known"])
def test_carving_tiles_is_carving_the_map(folder: Path, tmp_path: Path, known: bool) -> None:
    tiled = open_tiles(folder)
    if not known:  # as in a copy of the folder, which leaves what it was built from behind
        tiled.save(tmp_path / "copy")
        tiled = open_tiles(tmp_path / "copy")
    home = around(tiled, 127, 60, 450)  # on a seam
    box = _regions(tiled, [home], set(), 1)[0].box
    assert box.col_end < SHAPE[1], "the region must be a part of the map"
    fenced = tiled.with_fences([home])
    assert_same(fenced, tiled.whole().with_fences([home], mass=mass() if known else None))
    assert changed(tiled, fenced) <= set(tiled.tiling.meeting(box))
    assert len(changed(tiled, fenced)) <= 4
    assert ge.verify(fenced)["ok"]


def test_several_fences_apart_joined_and_taken_away(tiled: TiledMetric) -> None:
    shapes = [around(tiled, 127, 60, 450), around(tiled, 120, 520, 400)]
    assert len(_regions(tiled, shapes, set(), 0)) == 2
    two, one_piece = tiled.with_fences(shapes), tiled.whole().with_fences(shapes, mass=mass())
    assert_same(two, one_piece)
    joined = [around(tiled, 127, 67, 450), around(tiled, 60, 130, 400)]
    assert_same(two.with_fences(joined), one_piece.with_fences(joined, mass=mass()))
    left = two.with_fences(remove=[1])
    assert_same(left, one_piece.with_fences(remove=[1], mass=mass()))
    assert left.totals["fences"] == 1
    assert left.fences_at(left.locate(*at(left, 120, 520))) == 1
    none = left.with_fences(remove=[1])
    assert "fences" not in none.content
    assert none.certificate["ok"]


def test_a_region_that_is_too_narrow_is_made_wider(tiled: TiledMetric, monkeypatch: pytest.MonkeyPatch) -> None:
    import geoelastic.tiles.carve_tiles as carving

    shape, tried = around(tiled, 64, 250, 300), []

    def regions(metric: Any, shapes: Any, gone: Any, wider: int) -> Any:
        tried.append(wider)
        return _regions(metric, shapes, gone, wider - 1)  # none around at first

    monkeypatch.setattr(carving, "_regions", regions)
    assert_same(tiled.with_fences([shape]), tiled.whole().with_fences([shape], mass=mass()))
    assert len(tried) > 1


def test_saved_and_opened_again_only_what_is_looked_at_is_read(tiled: TiledMetric, tmp_path: Path) -> None:
    shape = around(tiled, 127, 60, 450)
    tiled.with_fences([shape]).save(tmp_path / "mine")
    metric = open_tiles(tmp_path / "mine")
    inside, outside = metric.locate(*at(metric, 127, 60)), metric.locate(*at(metric, 120, 520))
    assert metric.fences_at([inside, outside]).tolist() == [1, 0]
    mechanism = ge.ElasticMechanism(metric)
    members = set(metric.fence_members(1).tolist())
    assert set(mechanism.sample(inside, 200, rng=ge.SeededRandom(1)).tolist()) <= members
    assert len(metric.opened) < metric.tiling.n
    assert not members & set(mechanism.sample(outside, 200, rng=ge.SeededRandom(2)).tolist())
    outline = fence_outlines(metric)[0]
    assert outline.symmetric_difference(fence_outlines(metric.whole())[0]).area == 0
    with pytest.raises(InputError, match="must be that of a fence"):
        metric.fence_members(2)


def test_from_parts_as_from_the_whole_around_a_fence(tiled: TiledMetric) -> None:
    metric = tiled.with_fences([around(tiled, 127, 60, 450)])
    part = ge.ElasticMechanism(metric)
    whole = ge.ElasticMechanism(metric.whole())
    for row, col in ((120, 72), (140, 50), (100, 300)):
        i = metric.locate(*at(metric, row, col))
        chances = whole.probabilities(i)
        drawn = part.sample(i, 300, rng=ge.SeededRandom(row))
        assert chances[drawn].all()
        assert metric.fences_at(drawn).max() == 0


def test_an_extract_has_the_fences(tiled: TiledMetric) -> None:
    metric = tiled.with_fences([around(tiled, 127, 60, 450)])
    area = ge.Area.around(*at(metric, 120, 70), size_km=9)
    ours, theirs = (ge.extract(one, area, sharpen=False) for one in (metric, metric.whole()))
    assert ours.identity == theirs.identity
    assert int(ours.fence.max()) == 1


def test_a_build_with_fences_goes_on_and_is_brought_up_to_date(tmp_path: Path) -> None:
    small = small_mass(shape=(140, 256))
    options: dict[str, Any] = {"tile": TILE, "engine": InlineEngine(), "sharpen": False, **LEVELS}
    plain = build_tiles(small, str(tmp_path / "plain"), **options)
    shape = around(plain, 60, 130, 300)
    first = build_tiles(small, str(tmp_path / "map"), fences=[shape], **options)
    assert_same(first, plain.with_fences([shape]).whole())
    before = folder_digest(tmp_path / "map")
    build_tiles(small, str(tmp_path / "map"), fences=[shape], **options)
    assert folder_digest(tmp_path / "map") == before
    later = update_tiles(
        str(tmp_path / "map"), small_mass(shape=(140, 256), extra=(100, 200, 6)), sharpen=False, engine=InlineEngine()
    )
    assert later.totals["fences"] == 1
    assert later.certificate["tiles"]["update"]["tiles_changed"] == 1
    assert ge.verify(later)["ok"]
    assert later.fences_at(later.locate(*at(later, 60, 130))) == 1


def test_heights_are_found_again(tmp_path: Path) -> None:
    small = small_mass(shape=(140, 256))
    tiled = build_tiles(small, str(tmp_path / "map"), tile=TILE, engine=InlineEngine(), **LEVELS)
    shape = around(tiled, 60, 130, 300)
    fenced, one = tiled.with_fences([shape]), tiled.whole().with_fences([shape], mass=small)
    assert_same(fenced, one)
    assert fenced.relief is not None
    assert one.relief is not None
    assert fenced.relief.digest == one.relief.digest
    found = ge.verify(ge.ElasticMechanism(fenced))
    assert found["ok"]
    assert found["relief"]["ok"]
    assert tiled.with_fences([shape], sharpen=False).relief is None


@pytest.mark.parametrize("lie", ["no column", "another number", "one more", "none told", "an open fence"])
def test_what_is_told_of_fences_is_checked(tiled: TiledMetric, lie: str) -> None:
    metric = tiled.with_fences([around(tiled, 127, 60, 450)])
    content = json.loads(json.dumps(metric.content))
    tile = min(k for k, one in enumerate(content["tiles"]) if "fences" in one)
    name = content["tiles"][tile]["tile"]
    store: Any = metric.store
    columns = dict(store.read_table(name)[0])
    if lie == "no column":
        del columns["fence"]
    elif lie == "another number":
        columns["fence"] = columns["fence"] * 2
    elif lie in ("one more", "an open fence"):
        columns["fence"] = columns["fence"].copy()
        columns["fence"][np.flatnonzero(columns["fence"] == 0)[-1] if lie == "one more" else 0] = 1
    else:
        del content["tiles"][tile]["fences"]

    class Forged(CachedStore):
        def read_table(self, wanted: str, columns_of: Any = None) -> Any:
            return (columns, {}) if wanted == name else store.read_table(wanted)

        def fetch(self, names: Any) -> None:
            """Nothing to do."""

    forged = TiledMetric(Forged(store.root), content)
    with pytest.raises(FileError, match="do not fit together"):
        forged.window(Box(0, 0, *SHAPE))
    with pytest.raises(FileError, match="do not fit together"):
        forged.whole()


def test_what_cannot_be_carved_is_refused(tiled: TiledMetric) -> None:
    with pytest.raises(OutsideError):
        tiled.with_fences([disc(10, 10, 500)])
    with pytest.raises(InputError, match=r"'remove' must name fences of the metric \(it has 0\)"):
        tiled.with_fences(remove=[1])
    with pytest.raises(InputError, match="'mass' must be on the grid"):
        tiled.with_fences([around(tiled, 127, 60, 450)], mass=small_mass())


def test_by_the_command_line(folder: Path, tiled: TiledMetric, tmp_path: Path) -> None:
    from geoelastic.fences import fences_to_geojson

    shapes = tmp_path / "home.geojson"
    shapes.write_text(json.dumps(fences_to_geojson([around(tiled, 127, 60, 450)])))
    before, runner = folder_digest(folder), CliRunner()
    words = ["fence", "carve", str(folder), "--fence", str(shapes), "-o", str(tmp_path / "mine")]
    done = runner.invoke(main, words)
    assert done.exit_code == 0, done.output
    assert "verified: holds" in done.output
    assert folder_digest(folder) == before
    listed = runner.invoke(main, ["fence", "list", str(tmp_path / "mine")])
    assert listed.output.startswith("fence 1: 0.6")
    (tmp_path / "file").write_text("")
    refused = runner.invoke(main, [*words[:-1], str(tmp_path / "file")])
    assert refused.exit_code == 2
    assert "a map in tiles is a directory" in refused.output
