# SPDX-License-Identifier: Apache-2.0
"""The QGIS provider, run by QGIS itself without a screen (`./run test --more`: its packages are large), and what of it
can be looked at without QGIS."""

from __future__ import annotations

import ast
import configparser
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from geoelastic.cli import main

ROOT = Path(__file__).resolve().parents[1]
PLUGIN = ROOT / "qgis" / "geoelastic_qgis"
EXTRACT = ROOT.parent / "shared" / "data" / "osm" / "geneva_2025.osm.pbf"
#: Debian's wrapper looks for a Python library that only its development package has.
PROCESS = shutil.which("qgis_process.bin") or shutil.which("qgis_process")
NAMES = ("build", "verify", "error", "carve", "sanitize", "trace")

with_qgis = pytest.mark.skipif("GEOELASTIC_MORE" not in os.environ, reason="QGIS is part of ./run test --more")


def options_of(*words: str) -> set[str]:
    """The options of a command."""
    context, command = click.Context(main), main
    for word in words:
        command = command.get_command(context, word)
    return {name for option in command.params for name in option.opts + option.secondary_opts}


def test_the_plugin_has_the_version_of_the_package_and_all_that_the_store_asks_for():
    described = configparser.ConfigParser()
    described.read(PLUGIN / "metadata.txt", encoding="utf-8")
    general = described["general"]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{general["version"]}"' in project
    assert {"name", "description", "about", "author", "qgisminimumversion", "icon", "license"} <= set(general)
    assert (PLUGIN / general["icon"]).exists()
    assert general.getboolean("hasProcessingProvider")


def test_the_plugin_asks_only_for_options_that_the_commands_have():
    text = {path.name: path.read_text(encoding="utf-8") for path in PLUGIN.glob("*.py")}
    asked = {
        node.value
        for source in text.values()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("--")
    }
    commands = ("build",), ("verify",), ("map",), ("fence", "carve"), ("sanitize",), ("trace", "release")
    known = set().union(*(options_of(*words) for words in commands))
    assert len(asked) > 12
    assert asked <= known


@pytest.fixture(scope="module")
def qgis(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A QGIS of its own: `run(name, **parameters)` gives what an algorithm returns, or raises with what it said."""
    if PROCESS is None:
        pytest.fail("qgis_process is missing: tests/system-packages --more installs it")
    home = tmp_path_factory.mktemp("qgis")
    home.chmod(0o700)
    command = Path(sys.executable).with_name("geoelastic")
    environment = {
        **os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(home), "QT_QPA_PLATFORM": "offscreen",
        "QGIS_PLUGINPATH": str(PLUGIN.parent), "GEOELASTIC_COMMAND": str(command), "TMPDIR": str(home),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
    }  # fmt: skip

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([PROCESS, *arguments], capture_output=True, text=True, env=environment, timeout=900)

    assert "geoelastic_qgis" in call("plugins", "enable", "geoelastic_qgis").stdout

    def run(name: str, **parameters: Any) -> dict[str, Any]:
        given = [f"{key}={value}" for key, value in parameters.items()]
        done = call("--json", "run", f"geoelastic:{name}", "--", *given)
        assert not list(home.glob("geoelastic-*")), "true places were left behind"
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        return json.loads(done.stdout[done.stdout.index("{") :])["results"]

    run.call = call  # type: ignore[attr-defined]
    return run


@pytest.fixture(scope="module")
def metric(qgis: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A metric that QGIS built of a real extract; of a made-up one where that is not at hand."""
    path = tmp_path_factory.mktemp("maps") / "city.geoelastic"
    source = EXTRACT if EXTRACT.exists() and os.environ.get("CI") != "true" else "synthetic:city"
    built = qgis("build", SOURCE=source, OUTPUT=path)
    assert built["LOCATIONS"] > 300
    assert built["VERDICT"]
    return path


@pytest.fixture(scope="module")
def places(metric: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty fixes ten minutes apart around the middle of the map, in a projected plane."""
    import geopandas
    import pandas
    from shapely import Point

    import geoelastic as ge

    area = ge.load(metric).grid.area
    lat, lon = area.lat, area.lon
    frame = geopandas.GeoDataFrame(
        {
            "who": ["a", "b"] * 20, "street": ["x"] * 40,
            "time": pandas.date_range("2026-01-05T08:00Z", periods=40, freq="10min"),
        },
        geometry=[Point(lon + 0.0002 * k, lat - 0.0001 * k) for k in range(40)], crs="EPSG:4326",
    )  # fmt: skip
    path = tmp_path_factory.mktemp("layers") / "places.gpkg"
    frame.to_crs(frame.estimate_utm_crs()).to_file(path)
    return path


@with_qgis
def test_qgis_lists_every_algorithm_with_its_help(qgis):
    listed = qgis.call("list").stdout
    assert all(f"geoelastic:{name}" in listed for name in NAMES)
    for name in NAMES:
        told = qgis.call("help", f"geoelastic:{name}").stdout
        assert len(told.split("Description")[1].split("Arguments")[0]) > 150


@with_qgis
def test_a_metric_that_qgis_built_holds(qgis, metric):
    checked = qgis("verify", METRIC=metric)
    assert checked["HOLDS"] is True
    assert "places can be secrets" in checked["CLAIM"]


@with_qgis
def test_a_layer_is_reported_without_what_tells_the_place(qgis, metric, places, tmp_path):
    import geopandas

    answer = qgis("sanitize", METRIC=metric, INPUT=places, OUTPUT=tmp_path / "out.gpkg")
    reports, true = geopandas.read_file(tmp_path / "out.gpkg"), geopandas.read_file(places)
    assert answer["REPORTED"] == len(reports) == 40
    assert "who" in reports.columns
    assert "street" not in reports.columns
    assert (reports.to_crs(true.crs).distance(true) > 1).mean() > 0.5


@with_qgis
def test_the_expected_error_is_a_raster_of_metres(qgis, metric, tmp_path):
    import rasterio

    qgis("error", METRIC=metric, POINTS=200, OUTPUT=tmp_path / "error.tif")
    with rasterio.open(tmp_path / "error.tif") as raster:
        values = raster.read(1, masked=True)
        assert raster.crs is not None
    assert 10 < values.min() < values.max() < 20_000


@with_qgis
def test_fences_of_a_layer_are_carved(qgis, metric, places, tmp_path):
    import geopandas

    import geoelastic as ge

    fences = geopandas.read_file(places).iloc[[0]]
    fences.geometry = fences.buffer(250)
    fences.to_file(tmp_path / "fences.gpkg")
    qgis("carve", METRIC=metric, FENCES=tmp_path / "fences.gpkg", OUTPUT=tmp_path / "fenced.geoelastic")
    carved = ge.load(tmp_path / "fenced.geoelastic")
    assert ge.verify(carved)["facts"]["fences"] == 1


@with_qgis
def test_traces_are_released_on_a_clock(qgis, metric, places, tmp_path):
    out = tmp_path / "released.geojson"
    qgis("trace", METRIC=metric, INPUT=places, TIME="time", USER="who", STEP=20, OUTPUT=out)
    ticks = json.loads(out.read_text(encoding="utf-8"))["features"]
    assert {tick["properties"]["user"] for tick in ticks} == {"a", "b"}
    assert all(tick["properties"]["time"][14:16] in ("00", "20", "40") for tick in ticks)


@with_qgis
def test_what_is_wrong_is_said_in_a_line(qgis, metric, places, tmp_path):
    with pytest.raises(RuntimeError, match="no such file"):
        qgis("verify", METRIC=tmp_path / "missing.geoelastic")
    damaged = tmp_path / "damaged.geoelastic"
    damaged.write_bytes(metric.read_bytes()[:1000])
    with pytest.raises(RuntimeError, match=r"damaged\.geoelastic"):
        qgis("sanitize", METRIC=damaged, INPUT=places, OUTPUT=tmp_path / "none.gpkg")
    assert not (tmp_path / "none.gpkg").exists()
