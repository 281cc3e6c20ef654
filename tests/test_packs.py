# SPDX-License-Identifier: Apache-2.0
"""Packs: the same folder from the same maps, what changed and nothing else, and nothing believed."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import geoelastic as ge
import vectors
from geoelastic.area import Area
from geoelastic.cli import main
from geoelastic.context import Context, Name
from geoelastic.errors import CheckError, FileError, InputError
from geoelastic.mechanism.geox_mechanism import load_mechanism, mechanism_bytes
from geoelastic.packs import (
    CATALOGUE,
    check_pack,
    district_side_km,
    districts,
    make_pack,
    parse_catalogue,
    read_catalogue,
)

DAY = dt.date(2026, 11, 1)
pytestmark = pytest.mark.jit


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packs") / "towns"
    make_pack([str(vectors.SHARP)], str(folder), today=DAY)
    return folder


@pytest.fixture
def pack(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "towns"))


def test_a_pack_says_what_is_in_it(pack: Path) -> None:
    (region,) = read_catalogue(pack).regions
    content = (pack / region.file).read_bytes()
    assert (region.id, region.date, region.licence) == ("sharp", "2026-11-01", "made-up data (geoelastic)")
    assert (region.bytes, region.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    metric = load_mechanism(pack / region.file).metric
    assert (region.locations, region.secrets) == (metric.n, metric.secret.sum())
    area = metric.grid.area
    x, y = area.to_xy(*np.array(region.outline).T)
    on_border = np.maximum(np.abs(x) / area.width_m, np.abs(y) / area.height_m)
    assert on_border == pytest.approx(0.5, abs=1e-3)
    assert np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) / 2 == pytest.approx(area.width_m * area.height_m, rel=1e-3)


def test_again_it_is_the_same_and_what_changed_is_replaced(pack: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in pack.iterdir()}
    told = make_pack([str(vectors.SHARP)], str(pack), today=dt.date(2027, 1, 1))
    assert told["changed"] == []
    assert {path.name: path.read_bytes() for path in pack.iterdir()} == before
    # the same town with other words in its header is another file
    other = load_mechanism(vectors.SHARP)
    metric = replace(other.metric.whole(), info=dict(other.metric.info) | {"note": "newer"})
    (tmp_path / "sharp.geox").write_bytes(mechanism_bytes(ge.ElasticMechanism(metric)))
    told = make_pack([str(tmp_path / "sharp.geox")], str(pack), today=dt.date(2027, 1, 1))
    assert told["changed"] == ["sharp"]
    (region,) = read_catalogue(pack).regions
    assert region.date == "2027-01-01"
    assert sorted(path.name for path in pack.iterdir()) == [CATALOGUE, region.file]


def with_drawing(path: Path) -> Path:
    """The town with a street and a name."""
    corners = np.array([0, 400, 800], np.int32)
    drawn = Context(np.array([5, 0, 0], np.uint8), corners, corners[::-1].copy(), (Name(0, 0, 0, "Town"),))
    replace(load_mechanism(vectors.SHARP).metric.whole(), context=drawn).save(path)
    return path


def test_what_a_map_has_to_draw_is_in_the_pack(tmp_path: Path) -> None:
    folder, town = tmp_path / "towns", with_drawing(tmp_path / "sharp.geoelastic")
    make_pack([str(town)], str(folder), today=DAY)
    (region,) = read_catalogue(folder).regions
    assert region.context is not None
    content = (folder / region.context.file).read_bytes()
    assert json.loads(content)["lines"]["street"] == [[0, 800, 400, 400, 800, 0]]
    assert json.loads(content)["names"] == [[0, 0, 0, "Town"]]
    assert check_pack(str(folder)) == check_pack(str(folder)) | {"ok": True, "strays": []}
    (folder / region.context.file).write_bytes(content[:-1] + b" ")
    assert check_pack(str(folder))["faults"] == {
        "sharp": ["its drawing is not the one that the catalogue names: the digests differ"]
    }
    (folder / region.context.file).unlink()
    assert check_pack(str(folder))["faults"] == {"sharp": ["its drawing is missing"]}
    # without it the region is another one, of another day, and no file of the old one stays
    told = make_pack([str(vectors.SHARP)], str(folder), today=dt.date(2027, 1, 1))
    assert told["changed"] == ["sharp"]
    (region,) = read_catalogue(folder).regions
    assert (region.context, region.date) == (None, "2027-01-01")
    assert sorted(path.name for path in folder.iterdir()) == [CATALOGUE, region.file]


def test_check_finds_what_is_wrong(pack: Path) -> None:
    assert check_pack(str(pack))["ok"]
    (region,) = read_catalogue(pack).regions
    (pack / "notes.txt").write_text("hello", encoding="utf-8")
    assert check_pack(str(pack))["strays"] == ["notes.txt"]
    content = bytearray((pack / region.file).read_bytes())
    content[len(content) // 2] ^= 1
    (pack / region.file).write_bytes(content)
    assert check_pack(str(pack))["faults"] == {
        "sharp": ["its file is not the one that the catalogue names: the digests differ"]
    }
    (pack / region.file).write_bytes(content[:-1])
    assert "bytes, not" in check_pack(str(pack))["faults"]["sharp"][0]
    (pack / region.file).unlink()
    assert check_pack(str(pack))["faults"] == {"sharp": ["its file is missing"]}
    done = CliRunner().invoke(main, ["pack", "check", str(pack)])
    assert (done.exit_code, "1 do not hold" in done.stdout) == (1, True)


def test_a_map_that_does_not_keep_its_promise_makes_no_pack(tmp_path: Path) -> None:
    metric = ge.load(vectors.FILE)
    hollow = replace(metric, mass_units=metric.mass_units // 2, relief=None)
    (tmp_path / "hollow.geox").write_bytes(mechanism_bytes(ge.ElasticMechanism(hollow)))
    with pytest.raises((CheckError, InputError)):
        make_pack([str(tmp_path / "hollow.geox")], str(tmp_path / "pack"))
    assert not (tmp_path / "pack" / CATALOGUE).exists()
    assert list((tmp_path / "pack").glob("*.geox")) == []


def test_fences_that_everybody_will_see_are_said(tmp_path: Path) -> None:
    """The vectors' sharpened town has one."""
    told = CliRunner().invoke(main, ["pack", str(vectors.SHARP), "-o", str(tmp_path / "pack")])
    assert "note: sharp.geox has 1 fence, which all who take the pack will see" in told.stdout


def test_a_check_by_the_catalogue_is_no_check_of_the_map(pack: Path) -> None:
    """Digests are the maker's word: a map that states too little is found although all digests fit."""
    metric = load_mechanism(vectors.SHARP).metric.whole()
    hollow = mechanism_bytes(ge.ElasticMechanism(replace(metric, mass_units=metric.mass_units // 2, relief=None)))
    told = json.loads((pack / CATALOGUE).read_text(encoding="utf-8"))
    (region,) = told["regions"]
    (pack / region["file"]).unlink()
    digest = hashlib.sha256(hollow).hexdigest()
    region |= {"sha256": digest, "bytes": len(hollow), "file": f"sharp-{digest[:12]}.geox"}
    (pack / region["file"]).write_bytes(hollow)
    (pack / CATALOGUE).write_text(json.dumps(told), encoding="utf-8")
    faults = check_pack(str(pack))["faults"]["sharp"]
    assert any("have not the crowd" in fault or "crowd" in fault for fault in faults)


@pytest.mark.parametrize("size_km", [20.0, 60.0])
def test_every_place_is_far_from_the_border_of_some_district(size_km: float) -> None:
    area = Area.around(48.8, 2.3, size_km=75, height_km=131)
    parts = districts(area, size_km)
    rng = np.random.default_rng(1)
    # places near the border of the map itself are near that, in any district
    sides = np.array([area.width_m, area.height_m]) - size_km * 500
    lat, lon = area.to_latlon(*(rng.uniform(-0.5, 0.5, (300, 2)) * sides).T)
    best = np.full(300, -np.inf)
    for part in parts.values():
        x, y = part.to_xy(lat, lon)
        best = np.maximum(best, size_km * 500 - np.maximum(np.abs(x), np.abs(y)))
    assert best.min() > size_km * 1000 / 4 * 0.99
    assert list(parts) == sorted(parts, key=lambda name: tuple(map(int, name.split("-"))))


def test_the_side_of_districts_follows_from_size_and_number_alone() -> None:
    country = Area.around(48.8, 2.3, size_km=500)
    assert district_side_km(country, 784_324) == 100
    assert district_side_km(country, 4 * 784_324) == 50
    assert district_side_km(Area.around(48.8, 2.3, size_km=5), 10**9) == 10  # never less


def test_a_map_in_districts(tmp_path: Path) -> None:
    told = make_pack([str(vectors.SHARP)], str(tmp_path / "pack"), district_km=5.5, today=DAY)
    ids = [region["id"] for region in told["regions"]]
    assert ids
    assert all(region["part_of"] == "sharp" for region in told["regions"])
    assert len(ids) + len(told["left_out"]) == len(districts(ge.load(vectors.SHARP).grid.area, 5.5))
    assert check_pack(str(tmp_path / "pack"))["ok"]


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(FileError, match="must be a pack, or empty"):
        make_pack([str(vectors.SHARP)], str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_the_command_makes_and_refuses_in_one_line(tmp_path: Path) -> None:
    run = CliRunner()
    done = run.invoke(main, ["pack", str(vectors.SHARP), "-o", str(tmp_path / "a"), "--json"])
    assert json.loads(done.stdout)["changed"] == ["sharp"]
    for arguments, words in (
        (["nowhere.geox", "-o", str(tmp_path / "b")], "no such file"),
        ([str(vectors.SHARP), str(vectors.SHARP), "-o", str(tmp_path / "b")], "different names"),
        ([str(vectors.SHARP), "-o", str(tmp_path / "b"), "--districts", "nan"], "'district_km' must be"),
        ([str(vectors.SHARP), "-o", str(tmp_path / "b"), "--districts", "1e-9"], "choose a larger side"),
        (["check", str(tmp_path / "nothing")], "cannot be read"),
    ):
        done = run.invoke(main, ["pack", *arguments])
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1), done.stderr
        assert words in done.stderr


def spoilt(catalogue: dict[str, Any]) -> dict[str, bytes]:
    """Catalogues that must be refused, by what is wrong with them; the extension's tests refuse the same."""

    def change(edit: Callable[[dict[str, Any]], Any]) -> bytes:
        copy = json.loads(json.dumps(catalogue))
        edit(copy)
        return json.dumps(copy).encode()

    def region(**entries: Any) -> bytes:
        return change(lambda whole: whole["regions"][0].update(entries))

    digest = catalogue["regions"][0]["sha256"]
    drawn = f"sharp-{digest[:12]}"
    return {
        "empty": b"", "no json": b"{", "a list": b"[]", "not utf-8": b'{"format": "\xff"}',
        "a key twice": b'{"format": "geoelastic-pack", "format": "geoelastic-pack"}',
        "deep": b"[" * 100 + b"]" * 100, "long": b" " * 2**20 + change(lambda whole: None),
        "another format": change(lambda whole: whole.update(format="geox")),
        "another version": change(lambda whole: whole.update(version=2)),
        "version true": change(lambda whole: whole.update(version=True)),
        "an entry more": change(lambda whole: whole.update(script="https://example.org/x.js")),
        "an entry less": change(lambda whole: whole.pop("every_days")),
        "no regions": change(lambda whole: whole.update(regions=[])),
        "regions as an object": change(lambda whole: whole.update(regions={})),
        "the same region twice": change(lambda whole: whole["regions"].append(whole["regions"][0])),
        "too many regions": change(lambda whole: whole.update(regions=[0] * 1001)),
        "never": change(lambda whole: whole.update(every_days=0)),
        "a way out": region(file="../../secret.geox"),
        "an address": region(file="https://example.org/a.geox"),
        "a name with a way out": region(id="..", file=f"..-{digest[:12]}.geox"),
        "another name": region(file=f"town-{digest[:12]}.geox"),
        "a digest in capitals": region(sha256=digest.upper()), "a short digest": region(sha256=digest[:63]),
        "a line break": region(name="town\nmore"), "a long name": region(name="t" * 1001),
        "a name that is none": region(name=None), "half a character": region(name="\ud800"),
        "no bytes": region(bytes=0), "bytes too many": region(bytes=2**29 + 1), "bytes in part": region(bytes=1.5),
        "bytes as text": region(bytes="17836"), "more secrets than locations": region(secrets=10**6),
        "two corners": region(outline=[[0, 0], [1, 1]]), "corners beyond the pole": region(outline=[[91, 0]] * 4),
        "corners of three": region(outline=[[1, 2, 3]] * 4), "too many corners": region(outline=[[1, 2]] * 65),
        "one side": region(km=[1.0]), "sides below nothing": region(km=[-1, 1]),
        "no day": region(date="2026-13-01"), "the first of nothing": region(date="today"),
        "of a map with a way out": region(part_of="../a"), "an entry more in a region": region(url="x"),
        "no word of a drawing": change(lambda whole: whole["regions"][0].pop("context")),
        "a drawing as text": region(context="town.json"), "a drawing of nothing": region(context={}),
        **{
            f"a drawing {what}": region(context={"file": f"{drawn}.json", "bytes": 9, "sha256": digest} | bad)
            for what, bad in {
                "elsewhere": {"file": f"../{drawn}.json"}, "as a script": {"file": f"{drawn}.js"},
                "without end": {"bytes": 2**20 + 1}, "without a digest": {"sha256": ""}, "and more": {"url": "x"},
            }.items()
        },
        "infinite": change(lambda whole: None).replace(b'"every_days": 28', b'"every_days": 1e999'),
    }  # fmt: skip


def test_hostile_catalogues_are_refused(made: Path) -> None:
    content = (made / CATALOGUE).read_bytes()
    whole = json.loads(content)
    assert parse_catalogue(content).content() == content
    assert parse_catalogue(json.dumps(whole).encode()) == parse_catalogue(content)
    for what, bad in spoilt(whole).items():
        with pytest.raises(FileError):
            assert parse_catalogue(bad) is None, what
