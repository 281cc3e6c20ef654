# SPDX-License-Identifier: Apache-2.0
"""Every command on every kind of map: it works, or refuses in one line that says why; docs/kinds.md says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.fences import disc, fences_to_geojson
from geoelastic.tiles import InlineEngine, build_tiles
from tiled_maps import LEVELS, TILE, small_mass

pytestmark = pytest.mark.jit

KINDS = ("one piece", "sharpened", "fenced", "tiles", "tiles fenced", ".geox")
PLACE, SHAPE = (110, 90), (210, 200)
WORKS = "works"

#: Command, its arguments (FILE, OUT, PLACE, TABLE, FENCE stand for what is filled in), the ending of OUT, and what
#: happens on each kind if it is not `WORKS`: what is said.
COMMANDS: dict[str, tuple[list[str], str, dict[str, str]]] = {
    "info": (["info", "FILE"], "", {}),
    "verify": (["verify", "FILE", "--sample", "50", "--stated"], "", {}),
    "sanitize a place": (["sanitize", "FILE", "PLACE"], "", {}),
    "sanitize a table": (["sanitize", "FILE", "--input", "TABLE", "-o", "OUT"], ".csv", {}),
    "sanitize --outside snap": (["sanitize", "FILE", "--input", "TABLE", "-o", "OUT", "--outside", "snap"], ".csv", {}),
    "sanitize --sticky": (["sanitize", "FILE", "PLACE", "--sticky", "KEY"], "", {}),
    "sanitize --remap": (["sanitize", "FILE", "PLACE", "--remap"], "", {}),
    "sanitize --ledger": (["sanitize", "FILE", "PLACE", "--ledger", "LEDGER"], "", {}),
    "sanitize --measure mass^2": (["sanitize", "FILE", "PLACE", "--measure", "mass^2"], "", {}),
    "ledger map": (["ledger", "map", "FILE", "AT", "--reports", "3", "-o", "OUT"], ".html", {}),
    "extract a region": (["extract", "FILE", "CENTER", "--size", "12", "-o", "OUT"], ".geox", {}),
    "extract all": (["extract", "FILE", "-o", "OUT"], ".geox", {}),
    "sharpen": (["sharpen", "FILE", "-o", "OUT"], ".geoelastic", {".geox": "sharpen the .geoelastic file"}),
    "fence list": (["fence", "list", "FILE"], "", {}),
    "fence carve": (["fence", "carve", "FILE", "--fence", "FENCE", "-o", "OUT"], ".geoelastic", {}),
    "fence remove": (
        ["fence", "remove", "FILE", "--number", "1", "-o", "OUT"], ".geoelastic",
        dict.fromkeys(("one piece", "sharpened", "tiles", ".geox"), "must name fences of the metric (it has 0)"),
    ),
    "map mass": (["map", "FILE", "mass", "-o", "OUT"], ".html", {}),
    "map error": (["map", "FILE", "error", "--points", "40", "-o", "OUT"], ".html", {}),
    "map ball": (["map", "FILE", "ball", "AT", "-o", "OUT"], ".html", {}),
    "map report": (["map", "FILE", "report", "AT", "-o", "OUT"], ".html", {}),
    "map slack": (["map", "FILE", "slack", "-o", "OUT"], ".html", {}),
    "map cartogram": (["map", "FILE", "cartogram", "-o", "OUT"], ".html", {}),
    "map fences": (
        ["map", "FILE", "fences", "-o", "OUT"], ".html",
        dict.fromkeys(("one piece", "sharpened", "tiles", ".geox"), "needs a metric with at least one fence"),
    ),
    "map page": (["map", "FILE", "page", "-o", "OUT"], ".html", {}),
    "audit": (["audit", "PAIRS", "--metric", "FILE"], "", {}),
    "doctor": (["doctor", "FILE"], "", {}),
    "estimate": (["estimate", "FILE", "--reports", "TABLE", "--zones", "grid:4000", "-o", "OUT"], ".csv", {}),
    "trace cost": (["trace", "cost", "FILE"], "", {}),
    "trace release": (["trace", "release", "FILE", "TRACE", "-o", "OUT"], ".csv", {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the words in capitals stand for."""
    folder, grid = tmp_path_factory.mktemp("inputs"), small_mass(shape=SHAPE).grid
    rng = np.random.default_rng(1)
    lat, lon = grid.cell_to_latlon(rng.integers(90, 125, 40), rng.integers(75, 110, 40))
    rows = [f"{a:.6f},{b:.6f}" for a, b in zip(lat, lon, strict=True)]
    (folder / "table.csv").write_text("lat,lon\n" + "\n".join(rows) + "\n")
    (folder / "pairs.csv").write_text("lat,lon,lat2,lon2\n" + "\n".join(f"{row},{row}" for row in 5 * rows) + "\n")
    middle = [float(part) for part in grid.cell_to_latlon(*PLACE)]
    (folder / "fence.geojson").write_text(json.dumps(fences_to_geojson([disc(*middle, 400)], [{}])))
    at = f"{middle[0]},{middle[1]}"
    fixes = "".join(f"2026-05-04T0{hour}:00:00Z,{rows[hour]}\n" for hour in range(6, 10))
    (folder / "day.csv").write_text("time,lat,lon\n" + fixes)
    return {
        "PLACE": ["--lat", str(middle[0]), "--lon", str(middle[1])], "AT": ["--at", at], "CENTER": ["--center", at],
        "TABLE": [str(folder / "table.csv")], "PAIRS": [str(folder / "pairs.csv")],
        "FENCE": [str(folder / "fence.geojson")], "TRACE": [str(folder / "day.csv")],
    }  # fmt: skip


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("kinds")
    paths = {kind: folder / f"{kind.strip('.').replace(' ', '-')}.geoelastic" for kind in KINDS}
    paths[".geox"] = folder / "phone.geox"
    one = ge.build_metric(small_mass(shape=SHAPE), sharpen=False, **LEVELS)
    one.save(paths["one piece"])
    ge.sharpen(one).save(paths["sharpened"])
    lat, lon = map(float, one.grid.cell_to_latlon(150, 140))
    fences = [disc(lat, lon, 500)]
    one.with_fences(fences).save(paths["fenced"])
    ge.save_mechanism(ge.ElasticMechanism(one), paths[".geox"])
    tiled = build_tiles(small_mass(shape=SHAPE), str(paths["tiles"]), tile=TILE, engine=InlineEngine(), **LEVELS)
    tiled.with_fences(fences).save(paths["tiles fenced"])
    return paths


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_it_works_or_says_why_not(
    command: str, kind: str, maps: dict[str, Path], inputs: dict[str, list[str]], tmp_path: Path
) -> None:
    words, ending, refused = COMMANDS[command]
    known = inputs | {"FILE": [str(maps[kind])], "OUT": [str(tmp_path / f"out{ending}")]}
    known |= {"KEY": [str(tmp_path / "key")], "LEDGER": [str(tmp_path / "ledger.json")]}
    result = CliRunner().invoke(main, [part for word in words for part in known.get(word, [word])])
    if kind in refused:
        assert result.exit_code == 2, result.output
        assert refused[kind] in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
    else:
        assert result.exit_code in ((0, 1) if command == "audit" else (0,)), result.output
        assert result.stdout.strip()
        assert "OUT" not in words or (tmp_path / f"out{ending}").exists()


def test_the_docs_have_the_same_table() -> None:
    page = Path(__file__).parent.parent / "docs" / "kinds.md"
    rows = [line.strip("| ").split(" | ") for line in page.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    head, *body = [row for row in rows if len(row) == len(KINDS) + 1]
    assert head[1:] == list(KINDS)
    told = {row[0].strip("`"): row[1:] for row in body}
    assert told.keys() == COMMANDS.keys()
    for command, (_, _, refused) in COMMANDS.items():
        assert [cell == "yes" for cell in told[command]] == [kind not in refused for kind in KINDS], command


def test_every_kind_is_served(maps: dict[str, Path]) -> None:
    testclient: Any = pytest.importorskip("fastapi.testclient")
    from geoelastic.service.app import create_app
    from geoelastic.service.registry import publish

    published = publish(maps.values())
    lat, lon = (float(part) for part in small_mass(shape=SHAPE).grid.cell_to_latlon(*PLACE))
    with testclient.TestClient(create_app(published), base_url="http://localhost") as client:
        for name, one in published.items():
            one.warm()
            told = client.get(f"/v1/metrics/{name}").json()
            assert told["locations"] == one.metric.n
            report = client.post("/v1/sanitize", json={"metric": name, "lat": lat, "lon": lon})
            assert report.status_code == 200, report.text
            assert client.get(f"/v1/metrics/{name}/extracts/{next(iter(one.tiles))}").status_code == 200
            assert client.get(f"/v1/metrics/{name}/portable").status_code == 200
            assert client.get(f"/v1/metrics/{name}/file").status_code == (422 if one.in_tiles else 200)
