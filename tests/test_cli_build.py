# SPDX-License-Identifier: Apache-2.0
"""The commands that make, show and check a metric: what they print, where, and with which exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.pipeline import Config, _tiled_mass, make_mass
from geoelastic.tiles import InlineEngine
from geoelastic.tiles.quality_parts import goes_by_parts

pytestmark = pytest.mark.jit  # whole metrics are built here

SMALL = ["--size", "2.4", "--cell", "100", "--l-top", "1.0"]


def geoelastic(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("built") / "city.geoelastic"
    result = geoelastic("build", "synthetic:city", *SMALL, "-o", path)
    assert result.exit_code == 0, result.output
    return path


def test_build_says_what_it_made(built: Path) -> None:
    metric = ge.load(built)
    assert metric.grid.shape == (24, 24)
    assert metric.certificate["ok"] is True
    assert metric.info["config"]["source"] == "synthetic:city"
    assert not built.with_name(built.name + ".work").exists()


def test_info_is_for_people_and_for_programs(built: Path) -> None:
    text = geoelastic("info", built)
    assert text.exit_code == 0
    assert "2.4 x 2.4 km around 48.85670, 2.34870" in text.stdout
    assert "holds: 0 violations" in text.stdout
    data = json.loads(geoelastic("info", built, "--json").stdout)
    assert data["cells"] == [24, 24]
    assert data["certificate"]["violations"] == 0
    assert "text" not in data


def test_verify_passes_what_holds(built: Path) -> None:
    for options in ([], ["--every"], ["--sample", "7"]):
        result = geoelastic("verify", built, "--json", "--l-top", "1", *options)
        assert result.exit_code == 0
        data = json.loads(result.stdout)
        assert data["ok"] is True
        assert data["checked"] == (7 if options[:1] == ["--sample"] else data["secret_outside_fences"])


def test_verify_fails_what_does_not(built: Path, tmp_path: Path) -> None:
    """A metric whose certificate was given for another graph is not believed."""
    metric = ge.load(built)
    forged = tmp_path / "forged.geoelastic"
    replace(metric, certificate=metric.certificate | {"graph_sha256": "0" * 64}).save(forged)
    result = geoelastic("verify", forged)
    assert result.exit_code == 1
    assert "DOES NOT HOLD" in result.stdout
    assert "not the one that was certified" in result.stdout


def test_a_second_run_of_the_same_takes_what_is_there(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = built.read_bytes()
    monkeypatch.setattr("geoelastic.metric.build_metric", None)
    assert geoelastic("build", "synthetic:city", *SMALL, "-o", built).exit_code == 0
    assert built.read_bytes() == before


def test_other_options_are_another_run(built: Path, tmp_path: Path) -> None:
    target = tmp_path / "again.geoelastic"
    target.write_bytes(built.read_bytes())
    result = geoelastic("build", "synthetic:city", *SMALL[:-1], "0.9", "-o", target, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["l_top"] == 0.9


def test_build_from_an_array_of_masses(tmp_path: Path) -> None:
    masses = np.full((20, 30), 0.02)
    np.save(tmp_path / "m.npy", masses)
    out = tmp_path / "m.geoelastic"
    options = ["--center", "-17,179.99", "--cell", "250", "--l-top", "ln(2)", "--method", "paper", "-o", out, "--json"]
    result = geoelastic("build", tmp_path / "m.npy", *options)
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["cells"] == [20, 30]
    assert data["l_top"] == pytest.approx(np.log(2))
    assert data["l_from"] == 0
    assert data["mass"] == pytest.approx(12, rel=1e-6)
    assert data["info"]["source"] == "m.npy"


def test_json_is_all_there_is_on_stdout(built: Path) -> None:
    """Progress goes to stderr: a program can read stdout as it is."""
    code = ["-m", "geoelastic.cli", "verify", str(built), "--stated", "--json", "--progress"]
    done = subprocess.run([sys.executable, *code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["ok"] is True
    assert "verify" in done.stderr


NPY = ["--center", "48.85,2.35", "--cell", "100"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["synthetic:atlantis"], "'name' must be one of"),
        (["synthetic:city", "--l-top", "9.9"], "'l_top' must be at most"),
        (["synthetic:city", "--l-top", "11"], "l_top"),
        (["synthetic:city", "--l-from", "1", "--l-top", "0.5"], "l_from <= l_top"),
        (["synthetic:city", "--size", "0"], "'size_km' must be a finite number > 0"),
        (["synthetic:city", "--size", "nan"], "'size_km' must be a finite number > 0"),
        (["synthetic:city", "--cell", "-5"], "'cell_m' must be"),
        (["synthetic:city", "--r-small", "nan"], "'r_small' must be"),
        (["synthetic:city", "--r-large", "100"], "'r_large' must exceed"),
        (["synthetic:city", "--l-star", "0"], "'l_star' must be"),
        (["synthetic:city", "--frame", "0.6"], "'frame' must be"),
        (["synthetic:city", "--workers", "0"], "'--workers': 0 is not in the range"),
        (["synthetic:city", "--city", "nowhere"], "'city' must be"),
        (["synthetic:city", "--strategy", "x", "--method", "paper"], "'strategy' must be one of"),
        (["synthetic:city", "--recipe", "default"], "recipe"),
        (["synthetic:city", "--at", "Tue 14:00"], "'at' is for the opening hours of OpenStreetMap objects"),
        (["nothing.osm.pbf"], "nothing.osm.pbf"),
        (["nothing.npy", *NPY], "nothing.npy: no such file"),
        (["nan.npy", *NPY], "finite numbers >= 0"),
        (["negative.npy", *NPY], "finite numbers >= 0"),
        (["flat.npy", *NPY], "rows and columns"),
        (["broken.npy", *NPY], "not an array"),
        (["zero.npy", *NPY], "0 everywhere"),
        (["zero.npy"], "--center LAT,LON --cell M"),
        (["zero.npy", *NPY, "--size", "3"], "brings its own size"),
        (["zero.npy", *NPY, "--at", "Tue 14:00"], "takes neither a recipe nor a time"),
        (["map.xyz"], "'source' must be"),
        (["points.csv", "--size", "3"], "both its center"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("nan.npy", np.array([[1, np.nan]]))
    np.save("negative.npy", np.array([[1, -1.0]]))
    np.save("flat.npy", np.ones(4))
    np.save("zero.npy", np.zeros((4, 4)))
    Path("broken.npy").write_bytes(b"\x93NUMPY")
    result = geoelastic("build", *arguments, "-o", "out.geoelastic")
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""
    assert not Path("out.geoelastic").exists()


@pytest.mark.parametrize("level", ["nan", "-1", "inf", "ln0", "ln(x)", "x"])
def test_bad_levels(level: str) -> None:
    result = geoelastic("build", "synthetic:city", "--l-top", level, "-o", "out.geoelastic")
    assert result.exit_code == 2
    assert "must be a level >= 0 such as 0.35 or ln6" in result.stderr


def test_an_unwritable_output_is_found_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geoelastic.pipeline.make_mass", None)
    for out in (tmp_path, tmp_path / "none" / "x.geoelastic"):
        result = geoelastic("build", "synthetic:city", "-o", out)
        assert result.exit_code == 2
        assert "cannot be written" in result.stderr


@pytest.mark.parametrize("command", [["info"], ["verify"], ["map", "mass", "-o", "x.png"]])
def test_bad_files(command: list[str], built: Path, tmp_path: Path) -> None:
    cut, foreign = tmp_path / "cut.geoelastic", tmp_path / "foreign.geoelastic"
    cut.write_bytes(built.read_bytes()[:-100])
    foreign.write_text("hello")
    cases: dict[Any, str] = {cut: "truncated", foreign: "not a geoelastic file", tmp_path / "none": "no such file"}
    for path, message in cases.items():
        result = geoelastic(command[0], path, *command[1:])
        assert result.exit_code == 2
        assert message in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1


def test_sample_and_every_exclude_each_other(built: Path) -> None:
    result = geoelastic("verify", built, "--every", "--sample", "3")
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr
    result = geoelastic("verify", built, "--proved", "--l-star", "2")
    assert result.exit_code == 2
    assert "--proved" in result.stderr


def a_town(folder: Path) -> Path:
    """Cafes open by day, bars open by night, in 24 x 24 cells; a line, and one place far outside."""
    stamp = "t2024-05-01T06:00:00Z"
    lines = [f"n1 v1 {stamp} x2 y2 Tamenity=cafe"]
    for k in range(576):
        place = f"x{0.0009 * (k % 24 - 11.5):.5f} y{0.0009 * (k // 24 - 11.5):.5f}"
        kind = ("cafe", "Mo-Su%20%08:00-18:00") if k % 24 < 12 else ("bar", "Mo-Su%20%20:00-04:00")
        lines.append(f"n{k + 10} v1 {stamp} {place} Tamenity={kind[0]},opening_hours={kind[1]}")
    lines.append("w1 v1 Tamenity=marketplace Nn10,n11")
    path = folder / "town.opl"
    path.write_text("\n".join(lines) + "\n")
    return path


TOWN = ["--center", "0,0", "--size", "2.4", "--l-top", "0.8"]


def test_a_build_and_its_file_state_the_data(tmp_path: Path) -> None:
    """Date, counts per class, what was left out and why, licence: in the text of `build`, `info` and `quality`."""
    town, out = a_town(tmp_path), tmp_path / "town.geoelastic"
    texts = [
        geoelastic("build", town, *TOWN, "-o", out).stdout,
        geoelastic("info", out).stdout,
        geoelastic("quality", town, *TOWN[:4], "-o", tmp_path / "q.parquet").stdout,
    ]
    for text in texts:
        for line in (
            "      source  town.opl, as of 2024-05-01T06:00:00Z",
            "      places  576 features, weight 3, quality 1,728.0",
            "              amenity=bar 288, amenity=cafe 288",
            "1 a line, not an area",
            "1 outside the area",
            "        note  layer 'buildings' found nothing in the area",
            "     licence  © OpenStreetMap contributors, ODbL 1.0",
        ):
            assert line in text


def test_a_build_for_a_time_of_the_day(tmp_path: Path) -> None:
    town = a_town(tmp_path)
    masses = {}
    for at in ("Tue 12:00", "Tue 22:00"):
        out = tmp_path / "town.geoelastic"  # the same file: another time is another run
        result = geoelastic("build", town, *TOWN, "--at", at, "-o", out, "--json")
        assert result.exit_code == 0, result.output
        info = json.loads(result.stdout)["info"]
        assert info["config"]["at"] == at
        assert info["quality"]["hours"]["features"]["open"] == 288
        metric = ge.load(out)
        masses[at] = metric.mass[metric.xy[:, 0] < 0].sum() / metric.mass.sum()
    assert masses["Tue 12:00"] > 0.8  # cafes are in the west
    assert masses["Tue 22:00"] < 0.2
    wrong = geoelastic("build", town, *TOWN, "--at", "noon", "-o", tmp_path / "x.geoelastic")
    assert wrong.exit_code == 2
    assert "'at' must be a time such as 'Tue 14:00'" in wrong.stderr


def test_tiles_for_a_time_of_the_day(tmp_path: Path) -> None:
    """Parts are read without a time: what is for one is read as a whole."""
    town = str(a_town(tmp_path))
    config = Config(source=town, center=(0, 0), size_km=2.4, at="Tue 12:00", tile=256)
    mass = _tiled_mass(config, str(tmp_path / "out"), InlineEngine())
    np.testing.assert_array_equal(mass.cells, make_mass(config).cells)
    recipe = tmp_path / "noon.toml"
    layer = '[[layer]]\nname = "places"\nmatch = ["amenity"]\n'
    recipe.write_text(f'name = "noon"\n{layer}[hours]\nday = "Tue 12:00"\n')
    assert goes_by_parts(town, str(recipe))
    recipe.write_text(recipe.read_text() + 'at = "day"\n')
    assert not goes_by_parts(town, str(recipe))


def test_reading_a_map_shows_how_far_it_is(tmp_path: Path) -> None:
    result = geoelastic("quality", a_town(tmp_path), *TOWN[:4], "-o", tmp_path / "q.parquet", "--progress", "--json")
    assert "read town.opl" in result.stderr
    assert "100%" in result.stderr
    json.loads(result.stdout)
