# SPDX-License-Identifier: Apache-2.0
"""`demo`, `map` and `bench`."""

from __future__ import annotations

import json
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import geoelastic as ge
from geoelastic import bench, demo
from geoelastic.cli import main
from geoelastic.demo import run_demo
from geoelastic.errors import FileError

pytestmark = pytest.mark.jit  # whole metrics are built here


def geoelastic(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("story") / "deep" / "demo"
    return folder, run_demo(folder, quality=ge.synthetic_quality("city", rows=32, cols=32, cell_m=375))


def test_the_story_is_told(story: tuple[Path, dict[str, Any]]) -> None:
    folder, figures = story
    assert figures["ok"] is True
    paper, conformal, sharpened = figures["builders"]
    assert [row["builder"] for row in figures["builders"]] == ["paper", "conformal", "sharpened"]
    assert paper["least_ratio"] >= 1
    assert conformal["least_ratio"] >= 1
    assert conformal["mean_ratio"] < paper["mean_ratio"]
    assert sharpened["mean_ratio"] == conformal["mean_ratio"]
    assert sharpened["expected_error_m"] < 0.95 * conformal["expected_error_m"]
    assert figures["least_mass_elastic"] >= 1 > figures["least_mass_laplace"]
    pictures = {"overview.png", "slack.png", "balls.png", "reports.png", "compare.png"}
    assert {p.name for p in folder.iterdir()} == pictures | {
        "report.html", "city-paper.geoelastic", "city-conformal.geoelastic", "city-sharpened.geoelastic",
    }  # fmt: skip


def test_the_report_holds_its_pictures_and_needs_nothing_else(story: tuple[Path, dict[str, Any]]) -> None:
    page = (story[0] / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 5
    assert not re.search(r"https?://", page)
    assert "planar Laplace" in page


def test_the_metrics_of_the_story_verify(story: tuple[Path, dict[str, Any]]) -> None:
    for name in ("paper", "conformal", "sharpened"):
        assert geoelastic("verify", story[0] / f"city-{name}.geoelastic").exit_code == 0


def test_the_command_prints_the_figures(
    story: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "run_demo", lambda output, progress: story[1] | {"report": output})
    result = geoelastic("demo", "-o", tmp_path)
    assert result.exit_code == 0
    assert "conformal:" in result.stdout
    assert json.loads(geoelastic("demo", "-o", tmp_path, "--json").stdout)["ok"] is True
    monkeypatch.setattr(demo, "run_demo", lambda output, progress: story[1] | {"report": output, "ok": False})
    assert geoelastic("demo", "-o", tmp_path).exit_code == 1


def test_a_demo_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be made"):
        run_demo(tmp_path / "file")


@pytest.mark.parametrize("suffix", ["png", "html", "tif"])
def test_map_writes_what_the_name_says(suffix: str, story: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    out = tmp_path / f"ball.{suffix}"
    result = geoelastic("map", story[0] / "city-conformal.geoelastic", "ball", "-o", out, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"output": str(out), "kind": "ball"}
    assert out.stat().st_size > 1000


def test_map_of_a_quality(tmp_path: Path) -> None:
    ge.save_quality(ge.synthetic_quality("city", rows=20, cols=20), tmp_path / "q.parquet")
    assert geoelastic("map", tmp_path / "q.parquet", "quality", "-o", tmp_path / "q.png").exit_code == 0
    assert (tmp_path / "q.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["quality", "-o", "x.png"], "not a quality file"),
        (["ball", "-o", "x.jpg"], "must end in .png, .html, .tif"),
        (["ball", "-o", "none/x.png"], "cannot be written"),
        (["ball", "-o", "x.png", "--at", "0,0"], "outside the map"),
        (["ball", "-o", "x.png", "--at", "48.8567,2.2684"], "in the frame"),
        (["report", "-o", "x.png", "--reports", "0"], "'reports' must be"),
        (["report", "-o", "x.png", "--measure", "x"], "'output' must be"),
        (["error", "-o", "x.png", "--points", "-1"], "'points' must be"),
        (["fences", "-o", "x.png"], "at least one fence"),
    ],
)
def test_bad_maps(
    arguments: list[str],
    message: str,
    story: tuple[Path, dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = geoelastic("map", story[0] / "city-conformal.geoelastic", *arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert "48.8567, 2.2684" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_bench_finds_and_runs_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("geoelastic.bench.nothing", "Nothing at all.\n\nMore.")
    module.run = lambda progress: {"rows": [{"took": 0}], "text": "| took |\n|---|\n| 0 |"}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entry = types.SimpleNamespace(name="nothing")
    monkeypatch.setattr(bench.pkgutil, "iter_modules", lambda _: [entry, types.SimpleNamespace(name="_private")])
    assert re.search(r"^nothing +\? +Nothing at all\.$", geoelastic("bench", "--list").stdout, re.MULTILINE)
    for arguments in (["bench"], ["bench", "nothing"]):
        assert geoelastic(*arguments).stdout.startswith("## Nothing at all\n\n| took |")
        assert json.loads(geoelastic(*arguments, "--json").stdout) == {"benches": {"nothing": [{"took": 0}]}}
    result = geoelastic("bench", "speed")
    assert result.exit_code == 2
    assert "'name' must be one of 'nothing', got 'speed'" in result.stderr


def test_every_bench_has_a_title_and_a_run() -> None:
    for name, title in bench.bench_names().items():
        assert title, name
        assert callable(__import__(f"geoelastic.bench.{name}", fromlist=["run"]).run)
