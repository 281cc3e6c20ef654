# SPDX-License-Identifier: Apache-2.0
"""The measurements, on maps small enough to run in seconds: that they run, agree with each other and print a table."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geoelastic.bench import (
    build,
    carve,
    client,
    commands,
    device,
    error,
    fences,
    growth,
    limit,
    paths,
    report,
    run_benches,
    scale,
    strategies,
    tightness,
    traces,
)
from geoelastic.bench._seams import both_row, both_ways, seam_rows, table_row
from geoelastic.bench._tools import markdown, steps, synthetic_mass
from geoelastic.levels import LEVEL_UNIT
from geoelastic.metric import build_metric
from geoelastic.metric.measures import output_measure
from geoelastic.metric.relief import lowered
from geoelastic.tiles import InlineEngine, Job

pytestmark = pytest.mark.jit  # whole metrics are built here

#: The middle of a city in 3 x 3 tiles of 128 cells; `geoelastic bench scale --seams` takes a whole one.
SEAMS_SIDE = 210


def test_build() -> None:
    result = build.run(maps=[("city", 30)])
    rows = {(row["method"], row["layout"]): row for row in result["rows"]}
    assert len(rows) == 6
    assert all(row["violations"] == 0 and row["least_ratio"] >= 1 for row in rows.values())
    assert rows["conformal", "adaptive"]["mean_ratio"] < rows["paper", "uniform"]["mean_ratio"]
    assert all(row["error_mass_m"] < row["error_uniform_m"] for row in rows.values())
    assert "error mass weighted ratio" in result["text"]
    assert [line[1] for line in build.summary(result["rows"])] == ["15 min, 6 GB, mean ratio 2.7", "0.75"]
    json.dumps(result["rows"])


def test_variants_of_the_papers_builder() -> None:
    rows = strategies.run(side=50)["rows"]
    assert [row["layout"] for row in rows] == ["uniform"] * 8 + ["adaptive"]
    assert [row["order"] for row in rows] == ["fourfold", "opposite", "golden", "sequence"] * 2 + ["fourfold"]
    assert [row["method"] for row in rows] == ["paper"] * 4 + ["paper, as listed"] * 4 + ["paper"]
    assert all(row["least_ratio"] >= 1 and row["error_mass_m"] > 0 for row in rows)


def test_paths() -> None:
    rows = paths.run(side=60)["rows"]
    assert [row["program"].split(",")[0] for row in rows] == [
        "scipy.sparse.csgraph.dijkstra", "geoelastic", "scipy.sparse.csgraph.dijkstra", "geoelastic", "geoelastic",
    ]  # fmt: skip
    assert all(row["times_scipy"] > 0 and row["million_relaxations"] > 0 for row in rows)
    assert paths.summary(rows)[0][2].count("times scipy") == 3


def test_limit() -> None:
    """A map of 6 km cuts the tail, so that errors come out a little smaller than on the whole one."""
    result = limit.run(side=60)
    rows = result["rows"]
    assert rows[0]["error_m"] == 866
    exact, metric, default, plain = (row["error_m"] for row in rows[2:])
    assert exact < metric < default < plain
    assert rows[5]["mean_ratio"] - rows[4]["mean_ratio"] > 0.15
    assert default < 0.95 * plain
    assert f"({default} m where 866 m is the least)" in limit.summary(rows)[0][2]
    assert result["parts"]["default"] == f"{default} m"


def test_error() -> None:
    result = error.run(side=60)
    found = result["rows"]
    rows = {row["output"]: row for row in found}
    assert result["parts"] == {
        "by-mass": str(rows["mass"]["error_to_uniform"]),
        "sharpened": str(rows["mass, sharpened"]["error_to_uniform"]),
        "of-before": f"{rows['mass, sharpened']['error_m'] / rows['uniform, without ascent']['error_m']:.3f}",
        "by-chance": str(rows["mass, sharpened"]["by_chance"]),
    }
    assert rows["uniform"]["by_chance"] == 0 < rows["mass, sharpened"]["by_chance"] < 0.1
    assert f"({rows['mass, sharpened']['error_m']:,} m of" in error.summary(found)[0][2]
    assert rows["uniform"]["error_to_uniform"] == 1
    assert rows["mass, sharpened"]["error_m"] < rows["mass"]["error_m"] < rows["uniform"]["error_m"]
    assert rows["mass, sharpened"]["adversary_m"] <= rows["mass, sharpened"]["error_m"]
    sharp, free, every = (
        rows[f"mass, {name}"]["error_m"]
        for name in ("sharpened", "without slack (no mechanism)", "all of each distance (no mechanism)")
    )
    assert every < free < sharp < 1.02 * free


def test_heights_without_slack_are_the_logarithms_of_the_sums() -> None:
    """On every edge what is given up is the difference of ln S, by sums over all of the map."""
    metric = build_metric(synthetic_mass("paris", 60))
    free = error.without_slack(metric)
    measure = output_measure(metric, "mass")
    tail, tip, low = free.graph.edges()
    some = np.flatnonzero(metric.graph.edges()[2] > 0)[::50]
    level = [np.log(measure @ np.exp(-free.distances_from(int(i)))) for i in np.concatenate([tail[some], tip[some]])]
    slope = np.abs(np.diff(np.reshape(level, (2, -1)), axis=0)[0]) / LEVEL_UNIT
    given_up = metric.graph.edges()[2][some] - low[some]
    assert np.quantile(np.abs(slope - given_up), 0.95) < 0.01 * np.median(metric.graph.edges()[2])


def test_growth() -> None:
    rows = growth.run(sides=(60, 90))["rows"]
    assert [row["cells"] for row in rows] == ["60 x 60", "90 x 90"]
    assert "at 60 x 60, 90 x 90: a factor of" in growth.summary(rows)[0][2]
    assert min(row["times_least"] for row in rows) == 1
    assert all(1 < row["ball"] <= row["locations"] for row in rows)
    assert all(row["violations"] == row["edges_over"] == 0 and row["sharpen_cpu_s"] < row["cpu_s"] for row in rows)


def test_carve() -> None:
    rows = carve.run(side=60, radii=(150,))["rows"]
    assert [row["fence"] for row in rows] == ["150 m in the centre", "150 m at a median place", "150 m in the suburbs"]
    assert all(row["checked"] and row["edges_over"] == 0 and row["worst"] <= 1 for row in rows)
    assert all(row["inside"] > 0 for row in rows)
    assert carve.summary(rows)[0][2].endswith("3 of 3 certified and checked")


def test_fences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A circle gives its centre away; a fence does not, and with a margin less than without."""
    monkeypatch.setenv("GEOELASTIC_DATA", str(tmp_path))
    found = fences.run(commuters=4)
    best = {row["fence"]: row["median_m"] for row in found["rows"] if row["guess"] == "best"}
    assert best["circle"] == 0
    assert best["ours"] > best["ours, no margin"] > 10
    assert found["parts"]["ours"] == f"{best['ours']} m"
    assert f"made-up commuters, ours: {best['ours']} m" in fences.summary(found["rows"])[0][2]
    assert "made-up commuters: ours, no margin" in found["text"]


def test_tightness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without real data only the made-up map is left; its heights are those of the plainest passes."""
    monkeypatch.setenv("GEOELASTIC_DATA", str(tmp_path))
    rows = tightness.run(side=60, folder=str(tmp_path))["rows"]
    assert [row["build"] for row in rows] == ["without ascent", "default", "sums over all of the map"]
    plain, default, sums = rows
    assert default["ratio_people"] < plain["ratio_people"]
    assert default["to_default"] == 1
    assert abs(sums["to_default"] - 1) < 0.01
    assert (sums["ratio_places"], sums["locations"]) == (default["ratio_places"], default["locations"])
    real = [row | {"map": "Malta"} for row in rows]
    first, last = tightness.summary(real)
    assert first[1] == "1.55; 0.95"
    assert first[2].startswith(f"{default['ratio_people']} ({plain['ratio_people']} without ascent)")
    assert last[2].endswith("(Malta)")
    assert len(tightness.summary(rows)) == 1


def test_whole_sums_of_a_large_map_begin_at_the_heights_of_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They move on from there, for at least two passes, and come to where those that begin flat come."""
    monkeypatch.setenv("GEOELASTIC_DATA", str(tmp_path))
    monkeypatch.setattr(tightness, "MANY", 0)
    _, _, again = tightness.run(side=60, whole=True)["rows"]
    assert again["build"] == "sums over all of the map, from the default's heights"
    assert again["passes"] >= 3
    assert abs(again["to_default"] - 1) < 0.01
    metric = build_metric(synthetic_mass("paris", 60))
    assert metric.relief is not None
    flat, near = tightness.by_whole_sums(metric), tightness.by_whole_sums(metric, begin=metric.relief.height)
    assert flat.relief is not None
    assert near.relief is not None
    lengths = [lowered(metric.graph, one.relief.height, one.relief.slack).edges()[2] for one in (flat, near)]
    assert np.abs(np.subtract(*lengths)).max() <= 0.01 * metric.graph.edges()[2].max()
    assert (near.relief.height != metric.relief.height).any()


def test_scale(tmp_path: Path) -> None:
    """The second run builds nothing, and still knows what the first one took; a torn last line does no harm."""

    class Refusing(InlineEngine):
        def run(self, jobs: Sequence[Job]) -> Iterable[tuple[str, dict[str, Any]]]:
            assert not any("kept" in job.spec["root"] for job in jobs), "what was built is built again"
            return super().run(jobs)

    options: dict[str, Any] = {"sides": (70, 130), "tile": 128, "reports": 3, "folder": str(tmp_path / "kept")}
    result = scale.run(engine=InlineEngine(), **options)
    first, second, *steps, reports = result["rows"]
    assert first["to_first"] == 1.0
    assert [step["step"] for step in steps] == ["tiles", "ascent", "check", "heights", "manifest"]
    assert all(step["wall_s"] >= 0 for step in steps)
    assert sum(step["cpu_s"] for step in steps) == pytest.approx(second["cpu_s"], abs=0.2)
    assert steps[3]["at_once_cpu_s"] == steps[3]["cpu_s"] > 0
    assert steps[0]["worker_GB"] > 0
    assert second["locations"] > first["locations"]
    assert second["violations"] == 0
    assert second["cpu_s_per_million_cells"] == pytest.approx(second["cpu_s"] * 1e6 / 130**2, rel=0.2)
    assert 0 < reports["cold_report_ms"] <= reports["nine_in_ten_ms"]
    assert 1 <= reports["tiles_opened"] <= second["tiles"] == 4
    assert "cpu s per million cells" in result["text"]
    assert [line[0] for line in scale.summary(result["rows"])] == [
        "cost per location, 4,900 to 16,900 cells", "one report from the largest, cold",
    ]  # fmt: skip
    with (tmp_path / "kept/70.jsonl").open("a", encoding="utf-8") as log:
        log.write('["torn')
    again = scale.run(engine=Refusing(), **options)["rows"]
    assert [row["cpu_s"] for row in again[:2]] == [first["cpu_s"], second["cpu_s"]]
    assert again[2:-1] == steps
    assert first["cpu_s"] > 0


def test_seams_of_a_city_cost_no_quality(tmp_path: Path) -> None:
    """Expected errors at the seams are within 3 % of the untiled build's (in fact, far closer)."""
    city = synthetic_mass("paris", SEAMS_SIDE)
    ways = both_ways(city, str(tmp_path), tile=128, engine=InlineEngine())
    rows = seam_rows(*ways, places=30)
    assert [row["cells_from_a_seam"] for row in rows] == ["0 to 8", "8 to 32", "32 and more"]
    for row in rows:
        assert row["locations"] >= row["places"] == 30
        assert row["error_m"] > 100
        assert abs(row["mean_error_percent"]) < 3
        assert row["largest_percent"] < 6
    sizes = {"to_first": 1.0, "cells": 9, "cpu_us_per_location": 1.0, "violations": 0}
    table = table_row(*ways, 400)
    assert 0.2 < table["cpu_ratio"] < 50
    assert (table["table_rows"], table["tiles"]) == (400, 4)
    both = both_row(*ways, places=30)
    assert abs(both["error_ratio"] - 1) < 0.02
    assert abs(both["in_tiles_mean_ratio"] - both["one_piece_mean_ratio"]) < 0.02
    said = [line[0] for line in scale.summary([sizes, {"cold_report_ms": 1}, *rows, both, table])[2:]]
    assert said == [
        "errors at the seams of tiles", "errors and mean ratio, in tiles and in one piece",
        "a table of 400 rows, in tiles / in one piece",
    ]  # fmt: skip


def test_a_country_says_what_its_steps_took() -> None:
    """Of the whole country all that is asked for; a run that was stopped counts with what it took till then."""
    size = {
        "to_first": 1.0, "cells": scale.WHOLE**2, "cpu_us_per_location": 1.0, "violations": 0, "locations": 784324,
        "driver_GB": 1.6, "worker_GB": 0.6,
    }  # fmt: skip
    steps = [{"step": name, "wall_s": 100.0, "cpu_s": 150.0} for name in ("tiles", "ascent", "check", "heights")]
    said = {line[0]: line[1:] for line in scale.summary([size, *steps, {"cold_report_ms": 1}])}
    assert said["country: tiles with a cartogram, raised and checked"] == (
        "600 s, 2 GB a process", "300 s, 1.6 GB a process at the most; 784,324 locations, 0 violations"
    )  # fmt: skip
    assert said["country: heights, certified on every edge"] == ("1200 s more", "100 s, 150 s of processor time")
    size |= {"wall_s": 1800.0, "cpu_s": 1764.7, "cpu_us_per_location": 2250.0, "mean_ratio": 1.148}
    found = scale.parts([size, *steps, {"cold_report_ms": 1}])
    assert found["country"].startswith("1,800 s, 1,765 s of processor time, at most 1.6 GB in a process (tiles 100 s,")
    assert (found["each"], found["planet"]) == ("2.25 ms", "265 hours")
    assert "bench scale --whole" in scale.parts([size | {"cells": 9}])["country"]


def test_a_clock_adds_up_the_runs_of_a_build(tmp_path: Path) -> None:
    log = tmp_path / "70.jsonl"
    lines = [
        ["job", "a", "tiles", 2.0, 0.5], ["step", 1, "tiles", 3.0, 0.5, 0.2], ["step", 1, "tiles", 4.0, 0.75, 0.3],
        ["job", "a", "tiles", 1.0, 0.4], ["step", 2, "tiles", 5.0, 0.25, 0.1],
    ]  # fmt: skip
    log.write_text("\n".join(map(json.dumps, lines)) + '\n["step", 2, "tiles", 9', encoding="utf-8")
    taken = scale._Clock(InlineEngine(), log, built=True).taken()
    assert taken == {"tiles": {"wall_s": 9.0, "cpu_s": 2.0, "at_once_cpu_s": 1.0, "driver_GB": 0.3, "worker_GB": 0.4}}


def test_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MANY", 300)
    monkeypatch.setattr(report, "COLD", 20)
    found = report.run(side=60)["rows"]
    rows = {row["what"]: row["value"] for row in found}
    assert report.summary(found)[0][2].startswith(f"median {rows['one cold report, median']} ms")
    assert rows["violations found"] == 0
    assert rows["one cold report, median"] <= rows["one cold report, 95 %"]


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some places of one town: a few hundred locations, and no data of the real Paris."""
    monkeypatch.setenv("GEOELASTIC_DATA", str(tmp_path))
    source = tmp_path / "town.csv"
    step = 0.0015
    lines = [f"{48 + step * i},{2 + 1.5 * step * j},{5 + (i * j) % 7}" for i in range(20) for j in range(20)]
    source.write_text("\n".join(["lat,lon,weight", *lines]), encoding="ascii")
    rows = commands.run(source=str(source), warm=str(source), places=30)["rows"]
    build_row, verify_row, table_row = rows
    assert build_row["violations"] == build_row["edges_over"] == 0
    assert build_row["edges"] > 0
    assert verify_row["holds"] is True
    assert table_row["reports_a_second"] > 0
    assert all(row["peak_MB"] > 50 and row["cpu_s"] > 0 for row in rows)
    assert len(commands.summary(rows)) == 3
    paris = commands.summary([*rows, build_row])[1]
    assert paris[0].startswith("default build of the real Paris")
    assert f"{build_row['ratio_people']} over people" in paris[2]


def test_client() -> None:
    rows = client.run(side=60, reports=150)["rows"]
    assert [row["unit"] for row in rows] == ["s"] * 4 + ["/s"] * 3
    assert all(row["value"] > 0 for row in rows)
    assert rows[1]["value"] < rows[0]["value"], "what was prepared is there sooner"
    assert [line[1] for line in client.summary(rows)] == ["<= 0.5"] * 4 + [">= 1000"] * 2


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")
def test_device() -> None:
    """A small map is checked, and so is a part of it with a fence, sharpened again."""
    result = device.run(side=60, part_km=5)
    whole, fenced = result["rows"]
    assert whole["holds"] is fenced["holds"] is True
    assert 0 < fenced["locations"] < whole["locations"]
    assert whole["seconds"] > 0
    assert [line[1] for line in device.summary(result["rows"])] == ["60 s", "60 s"]


def test_without_chromium_nothing_is_measured_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert device.run()["rows"] == []


def test_traces() -> None:
    found = traces.run(maps=(("city", 60, 400.0),), people=2, points=300)["rows"]
    rows = {row["what"]: row for row in found}
    assert {row["where"] for row in found} >= {"Python, city", "Python, table", "Python"}
    assert rows["days of people"]["count"] >= 2
    assert rows["a GPX file"]["running_mean_m"] > 0.5 * rows["a GPX file"]["release_m"] > 0
    assert len(traces.summary(found)) == len(found)


def test_steps_are_shown_from_the_first_one_on(capsys: pytest.CaptureFixture[str]) -> None:
    with steps("bench sums", show=True) as tell:
        tell("one", of=2)
        assert capsys.readouterr().err == ""
        tell("two")
    assert capsys.readouterr().err.startswith("bench sums: 100% after ")
    with steps("bench sums", show=True):
        pass
    assert capsys.readouterr().err == ""


def test_tables() -> None:
    rows = [{"name": "a", "n": 12345, "x": 0.123456}, {"name": "b", "x": 54321.9, "ok": True}]
    assert markdown(rows).splitlines() == [
        "| name | n | x | ok |", "|---|---|---|---|", "| a | 12,345 | 0.123 |  |", "| b |  | 54,322 | True |",
    ]  # fmt: skip


def test_an_option_that_was_not_given_leaves_each_measurement_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def run(*, progress: bool = False, size_km: float = 75) -> dict[str, Any]:
        seen.append(size_km)
        return {"rows": [], "text": ""}

    monkeypatch.setattr(limit, "run", run)
    for given in (None, 5.0):
        run_benches(["limit"], options={"size_km": given, "places": None, "whole": False})
    assert seen == [75, 5.0]
