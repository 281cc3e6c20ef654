# SPDX-License-Identifier: Apache-2.0
"""`geoelastic fence`: suggest and attack on traces, carve, move and remove on a metric."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from click.testing import CliRunner, Result

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.evaluation.commuters import synthetic_commuters
from geoelastic.fences import read_fences, read_named_fences

GEOLIFE = "gps/geolife_sample_skmob.txt.gz"


def fence(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["fence", *(str(argument) for argument in arguments)])


def answer(*arguments: object) -> dict[str, Any]:
    result = fence(*arguments, "--json")
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def write_csv(path: Path, people: dict[str, Any]) -> Path:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["user", "lat", "lon", "time"])
        for name, trace in people.items():
            rows.writerows(zip([name] * len(trace), trace.lat, trace.lon, trace.time_s, strict=True))
    return path


@pytest.fixture(scope="module")
def commuter() -> Any:
    return synthetic_commuters(1, seed=8, days=14)[0]


@pytest.fixture(scope="module")
def traces(commuter: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("traces") / "me.csv", {"": commuter.trace})


def test_suggest_fences_home_and_work_and_says_nothing_else(traces: Path, commuter: Any, tmp_path: Path) -> None:
    out = tmp_path / "fences.geojson"
    text = fence("suggest", traces, "--only", "home", "--only", "work", "-o", out)
    assert text.exit_code == 0, text.output
    assert "sees when you cross a fence" in text.stdout
    assert "Keep this file" in text.stdout
    named = read_named_fences(out)
    assert [note["name"] for _, note in named] == ["home", "work"]
    for (shape, note), (lat, lon) in zip(named, (commuter.home, commuter.work), strict=True):
        assert shape.intersects(shapely.Point(lon, lat))
        assert note.keys() == {"name", "kind", "area_km2", "holds", "unit"}
        assert 1 <= note["holds"] < note["area_km2"] < 12
    # neither the file nor the answer has a fix or a place in it
    for place in (commuter.home, commuter.work):
        assert f"{place[0]:.4f}" not in text.stdout


def test_fences_in_use_are_kept_as_they_are(traces: Path, tmp_path: Path) -> None:
    out = tmp_path / "fences.geojson"
    answer("suggest", traces, "--only", "home", "-o", out)
    first = read_named_fences(out)
    refused = fence("suggest", traces, "-o", out)
    assert refused.exit_code == 2
    assert "narrows its place down: give --keep fences.geojson" in refused.output
    data = answer("suggest", traces, "--only", "home", "--only", "work", "--keep", out, "-o", out)
    assert data["kept"] == 1
    assert [f["name"] for f in data["fences"]] == ["work"]
    assert "home: inside a fence that is kept; no new one" in data["notes"]
    second = read_named_fences(out)
    assert second[0][1] == first[0][1]
    assert second[0][0].equals(first[0][0])
    assert len(second) == 2


BAD = {
    "empty.csv": ("", "empty.csv: the table is empty"),
    "one.csv": ("lat,lon,time\n1,2,3\n", "at least two fixes to show a stay, got 1"),
    "columns.csv": ("a,b,c\n1,2,3\n", "name the columns with latitude and longitude"),
    "drive.csv": ("lat,lon,time\n" + "".join(f"1,{2 + k / 100},{k * 60}\n" for k in range(50)), "no stay"),
    "once.csv": ("lat,lon,time\n" + "".join(f"1,2,{k * 600}\n" for k in range(50)), "no recurrent place"),
    "people.csv": (
        "user,lat,lon,time\na,1,2,3\nb,1,2,3\n",
        "the traces are of 2 people: choose one with --user (a, b)",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_traces_get_one_line_and_exit_2(tmp_path: Path, name: str) -> None:
    text, message = BAD[name]
    (tmp_path / name).write_text(text)
    result = fence("suggest", tmp_path / name, "-o", tmp_path / "out.geojson")
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert not (tmp_path / "out.geojson").exists()


def test_other_refusals(traces: Path, tmp_path: Path) -> None:
    for arguments, message in (
        ([tmp_path / "no.csv", "-o", tmp_path / "o.json"], "no such file"),
        ([traces, "-o", tmp_path / "no" / "o.json"], "there is no directory"),
        ([traces, "--user", "x", "-o", tmp_path / "o.json"], "'user' must be one of"),
        ([traces, "--timezone", "Mars", "-o", tmp_path / "o.json"], "'timezone' must be"),
        ([traces, "--home", "-1", "-o", tmp_path / "o.json"], "'amount' must be a finite number > 0"),
        ([traces, "--home", "9999", "--work", "9999", "-o", tmp_path / "o.json"], "less than the 9999 asked"),
    ):
        result = fence("suggest", *arguments)
        assert result.exit_code == 2, result.output
        assert message in result.output


def test_unsorted_traces_give_the_same_places(commuter: Any, tmp_path: Path) -> None:
    trace = commuter.trace
    order = np.random.default_rng(1).permutation(len(trace))
    rows = np.column_stack([trace.lat, trace.lon, trace.time_s])[order].tolist()
    mixed = tmp_path / "mixed.csv"
    mixed.write_text("lat,lon,time\n" + "".join(f"{a!r},{o!r},{t!r}\n" for a, o, t in rows))
    data = answer("suggest", mixed, "--only", "home", "--only", "work", "-o", tmp_path / "o.json")
    assert [f["name"] for f in data["fences"]] == ["home", "work"]
    assert data["dropped"]["out of order (sorted, not dropped)"] > 0


def test_attack_reports_both_kinds_of_fence() -> None:
    data = answer("attack", "--commuters", 4, "--seed", 6)
    assert data["ok"] is True
    assert data["attacks"] == 8
    assert data["best"]["ours"]["median_m"] > 3 * max(10, data["best"]["circle"]["median_m"])
    text = fence("attack", "--commuters", 1).stdout
    assert "centred circle" in text
    assert "times harder" in text


def test_attack_on_a_given_fence(traces: Path, commuter: Any, tmp_path: Path) -> None:
    out = tmp_path / "fences.geojson"
    answer("suggest", traces, "--only", "home", "-o", out)
    # one attack on one fence may succeed by chance, and then the exit code says so
    assert json.loads(fence("attack", traces, "--fence", out, "--json").stdout)["attacks"] == 1
    point = {"type": "Point", "coordinates": [commuter.home[1], commuter.home[0]]}
    circle = tmp_path / "circle.json"
    circle.write_text(json.dumps({"type": "Feature", "properties": {"radius_m": 900}, "geometry": point}))
    seen_through = fence("attack", traces, "--fence", circle)
    assert seen_through.exit_code == 1
    assert "the fences are 1 times harder" in seen_through.stdout


@pytest.mark.data
def test_suggest_for_geolife(data_dir: Path, tmp_path: Path) -> None:
    data = answer("suggest", data_dir / GEOLIFE, "--user", "001", "--only", "home", "-o", tmp_path / "f.json")
    assert [f["name"] for f in data["fences"]] == ["home"]
    (shape,) = read_fences(tmp_path / "f.json")
    assert shape.within(shapely.box(116.2, 39.9, 116.4, 40.1))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("built") / "city.geoelastic"
    done = CliRunner().invoke(main, ["build", "synthetic:city", "--size", "4", "--l-top", "1.0", "-o", str(path)])
    assert done.exit_code == 0, done.output
    return path


def disc_file(path: Path, lon: float, radius_m: float) -> Path:
    point = {"type": "Point", "coordinates": [lon, 48.8567]}
    path.write_text(json.dumps({"type": "Feature", "properties": {"radius_m": radius_m}, "geometry": point}))
    return path


@pytest.mark.jit
def test_carve_move_list_remove(built: Path, tmp_path: Path) -> None:
    here, there = disc_file(tmp_path / "a.json", 2.3487, 400), disc_file(tmp_path / "b.json", 2.3560, 300)
    carved, moved, bare = (tmp_path / f"{name}.geoelastic" for name in ("carved", "moved", "bare"))
    data = answer("carve", built, "--fence", here, "--compare", "-o", carved)
    assert data["fences"] == 1
    assert data["certificate"]["violations"] == 0
    assert abs(data["carve"]["error_against_scratch"]) < 0.1
    assert data["carve"]["places"] > 0
    metric = ge.load(carved)
    assert ge.verify(metric)["ok"]
    assert metric.fence[metric.locate(48.8567, 2.3487)] == 1

    listed = answer("list", carved, "-o", tmp_path / "outline.json")
    assert listed["fences"][0]["area_km2"] == pytest.approx(np.pi * 0.16, rel=0.1)
    assert read_fences(tmp_path / "outline.json")[0].intersects(shapely.Point(2.3487, 48.8567))

    answer("move", carved, "--number", 1, "--fence", there, "-o", moved)
    metric = ge.load(moved)
    assert metric.fence[metric.locate(48.8567, 2.3487)] == 0
    assert metric.fence[metric.locate(48.8567, 2.3560)] == 1
    assert ge.verify(metric)["ok"]

    text = fence("remove", moved, "--number", 1, "-o", bare)
    assert text.exit_code == 0
    assert "0 fences (before: 1)" in text.stdout
    assert "verified: holds" in text.stdout
    assert fence("list", bare).stdout.strip() == "no fences"
    assert fence("remove", bare, "--number", 1, "-o", tmp_path / "x").exit_code == 2


@pytest.mark.jit
def test_suggest_on_the_mass_of_a_metric(built: Path, tmp_path: Path) -> None:
    person = synthetic_commuters(1, seed=8, days=7)[0]
    # the same life, brought onto the small map
    area = ge.load(built).grid.area
    lat = area.lat + (person.trace.lat - person.home[0]) / 50
    lon = area.lon + (person.trace.lon - person.home[1]) / 50
    path = tmp_path / "near.csv"
    path.write_text(
        "lat,lon,time\n" + "".join(f"{a},{o},{t}\n" for a, o, t in zip(lat, lon, person.trace.time_s, strict=True))
    )
    for draw in range(5):  # every draw is another fence, and all can be carved
        out = tmp_path / f"f{draw}.json"
        data = answer(
            "suggest", path, "--map", built, "--home", 2, "--margin", 0, "--min-days", 2, "--only", "home", "-o", out
        )
        assert data["fences"][0]["unit"] == "units of mass"
        assert data["fences"][0]["holds"] >= 2
        assert answer("carve", built, "--fence", out, "-o", tmp_path / "c.geoelastic")["ok"]


@pytest.mark.jit
def test_a_fence_that_does_not_fit_is_refused(built: Path, tmp_path: Path) -> None:
    for lon, radius_m, message in (
        (9.0, 300, "outside the map"),
        (2.3487, 20, "covers no cell"),
        (2.3487, 5000, "reaches beyond"),
    ):
        result = fence("carve", built, "--fence", disc_file(tmp_path / "f.json", lon, radius_m), "-o", tmp_path / "o")
        assert result.exit_code == 2
        assert message in result.output
        assert not (tmp_path / "o").exists()
