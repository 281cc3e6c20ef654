# SPDX-License-Identifier: Apache-2.0
"""Every code block of the docs: each line is run on small files of the names that it uses, or `NOT_RUN` says why not.

All pages share one folder, a made-up town under the names of all cities, and one process with its kernels ready. Lines
that are not run are still read: commands and options that do not exist are found. The tutorial and the bridges
are run by tests of their own, the recipes, policies and the proxy's settings are read by theirs.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.mechanism.geox_mechanism import save_mechanism
from tiny_town import CENTRE, write_town

pytestmark = pytest.mark.jit
ROOT = Path(__file__).resolve().parents[1]
ELSEWHERE = {
    "tutorial.md": "test_site.py", "bridges.md": "test_bridges.py", "recipes.md": "test_quality_recipe.py",
    "peers.md": "bench peers, in an environment of its own",
}  # fmt: skip
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

#: Lines that are only read, by what they begin with or hold, and why.
NOT_RUN = {
    "./run": "is what runs the tests, or takes minutes",
    ".ci/release": "builds every package twice (./run test --more)",
    "pip install": "clean installs are tests/installs.py (./run test --more)",
    "pipx install": "clean installs are tests/installs.py (./run test --more)",
    "postgresql://": "needs a server: test_sources_postgis.py starts one",
    "osm2pgsql": "needs a server: test_sources_postgis.py starts one",
    "osmium getid": "is about a file of 60 MB",
    "qgis": "needs QGIS: test_qgis.py (./run test --more)",
    "cd extension": "needs npm's packages: test_extension.py builds it",
    "curl": "test_service.py sends it",
    "geoelastic serve": "does not end: test_service.py starts it",
    "--proved": "needs Coq: test_proof.py",
    "synthetic:country": "takes minutes: test_tiles.py builds smaller ones",
    "country.geoelastic": "takes minutes: test_tiles.py builds smaller ones",
    "country.tiles": "takes minutes: test_packs.py packs smaller ones",
    "synthetic:paris": "takes a minute: bench build",
    "--cluster": "needs a cluster: test_scale.py starts one",
    "geoelastic reproduce": "needs the data of the paper: test_evaluation_study.py",
    "examples/paris.toml": "needs data of Paris: test_quality_recipe.py",
    "geoelastic evaluate": "takes minutes: test_evaluation_study.py",
    "fence attack": "takes minutes: test_fences_cli.py",
    "audit --metric": "takes a minute: test_audit.py",
    "pack check": "checks each map from scratch: test_packs.py",
    "geoelastic build city.osm.pbf": "the same town again",
    "SOURCE": "is a form to fill in",
    "FILE": "is a form to fill in",
}


def blocks(page: Path, *kinds: str) -> list[str]:
    """The code blocks of a page of these kinds, in order; what is marked `no-run` is left out."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^```(\S*)[^\n]*\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [block for kind, block in found if kind in kinds]


def lines() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        for block in blocks(page, "sh", "bash"):
            for line in block.splitlines():
                if page.name not in ELSEWHERE or page.name == "recipes.md":
                    given = re.sub(r"(^|\s)# .*$", "", line.removeprefix("$ ")).strip()
                    if given and (line.startswith("$ ") or "$ geoelastic" not in block):
                        yield page, given


def reason(line: str) -> str | None:
    return next((why for part, why in NOT_RUN.items() if part in line), None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of all names that the pages use."""
    at = tmp_path_factory.mktemp("docs")
    write_town(at / "malta.osm.pbf", count=1500, radius_m=2400)
    quality = ge.quality_from_osm(at / "malta.osm.pbf", cell_m=100)
    metric = ge.build_metric(ge.mass_from_quality(quality))
    metric.save(at / "malta.geoelastic")
    for name in ("paris", "lyon", "town", "city"):
        shutil.copy(at / "malta.geoelastic", at / f"{name}.geoelastic")
    ge.build_metric(ge.mass_from_quality(quality), sharpen=False).save(at / "old.geoelastic")
    for name in ("paris", "city"):
        shutil.copy(at / "malta.osm.pbf", at / f"{name}.osm.pbf")
    secrets = np.flatnonzero(metric.secret)
    lat, lon = np.array([metric.latlon(int(i)) for i in secrets[:: max(1, secrets.size // 400)]]).T
    stamps = pd.date_range("2026-11-16 06:00", periods=lat.size, freq="3min").strftime("%Y-%m-%dT%H:%M:%SZ")
    people = pd.DataFrame({"user": np.arange(lat.size) % 40, "time": stamps, "lat": lat, "lon": lon})
    for name in ("visits", "checkins", "team", "true"):
        people.to_csv(at / f"{name}.csv", index=False)
    # as SNAP has them: user, time, lat, lon, place
    people.assign(place=np.arange(lat.size)).to_csv(at / "checkins.txt", sep="\t", index=False, header=False)
    mechanism = ge.ElasticMechanism(metric)
    reported = mechanism.sanitize_frame(people)
    reported.to_csv(at / "reports.csv", index=False)
    noise = ge.PlanarLaplace.from_expected_error(500)
    noisy = [noise.sanitize(a, b) for a, b in zip(lat, lon, strict=True)]
    rows = pd.DataFrame({"true_lat": lat, "true_lon": lon, "lat": [a for a, _ in noisy], "lon": [b for _, b in noisy]})
    rows.to_csv(at / "rows.csv", index=False)
    points = [f'<trkpt lat="{a}" lon="{b}"><time>{t}</time></trkpt>' for a, b, t in zip(lat, lon, stamps, strict=True)]
    for name in ("track", "day"):
        (at / f"{name}.gpx").write_text(f"<gpx><trk><trkseg>{''.join(points[:100])}</trkseg></trk></gpx>")
    write_fortnight(at)
    for name, shift in (("home", 0.0), ("fences", 0.0), ("new", 0.004)):
        (at / f"{name}.geojson").write_text(json.dumps(square(CENTRE[0] + shift, CENTRE[1])))
    (at / "mymodule.py").write_text("def sanitize(lat, lon):\n    return lat, lon + 0.001\n")
    (at / "policy.toml").write_text(blocks(ROOT / "docs/guarantee.md", "toml")[0])
    return at


def write_fortnight(at: Path) -> None:
    """Somebody's two weeks between home and work, in the formats that the pages name."""
    draw = np.random.default_rng(3)
    begun = pd.Timestamp("2026-11-02T00:00:00Z")
    fixes = []
    for k in range(14 * 24 * 4):
        when = begun + pd.Timedelta(minutes=15 * k)
        away = 0.009 if 9 <= when.hour < 17 and when.day_of_week < 5 else 0.0
        fixes.append((CENTRE[0] + away + draw.normal(0, 5e-5), CENTRE[1] + draw.normal(0, 5e-5), when.isoformat()))
    points = [f'<trkpt lat="{a}" lon="{b}"><time>{t}</time></trkpt>' for a, b, t in fixes]
    (at / "traces").mkdir()
    for path in (at / "my-tracks.gpx", at / "traces/me.gpx"):
        path.write_text(f"<gpx><trk><trkseg>{''.join(points)}</trkseg></trk></gpx>")
    rows = [{"latitudeE7": round(1e7 * a), "longitudeE7": round(1e7 * b), "timestamp": t} for a, b, t in fixes]
    (at / "Records.json").write_text(json.dumps({"locations": rows}))


def square(lat: float, lon: float, half: float = 0.002) -> dict[str, Any]:
    corners = [[lon - half, lat - half], [lon + half, lat - half], [lon + half, lat + half], [lon - half, lat + half]]
    return {
        "type": "Feature",
        "properties": {},
        "geometry": {"type": "Polygon", "coordinates": [[*corners, corners[0]]]},
    }


def here(text: str) -> str:
    """The text with its places of Paris moved to the made-up town."""
    text = re.sub(r"\b48\.8\d*", lambda found: f"{float(found[0]) - 48.8567 + CENTRE[0]:.5f}", text)
    return re.sub(r"\b2\.3\d*", lambda found: f"{float(found[0]) - 2.3487 + CENTRE[1]:.5f}", text)


@pytest.mark.parametrize("line", sorted({line for _, line in lines()}))
def test_every_command_can_be_read(line: str) -> None:
    words = shlex.split(line)
    if words[0] == "geoelastic" and not {"SOURCE", "FILE"} & set(words):
        command: click.Command = main
        given = words[1:]
        while isinstance(command, click.Group) and given[0] in command.commands:
            command, given = command.commands[given[0]], given[1:]
        command.make_parser(click.Context(command)).parse_args(list(given))
    elif words[0] == "./run":
        assert words[1] in {"demo", *re.findall(r"[a-z]+", (ROOT / "run").read_text(encoding="utf-8"))}
    else:
        assert reason(line) or words[0] == "geoelastic-client", "a command that nothing runs"


def test_every_command_of_the_docs_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("GEOELASTIC_CACHE", str(folder / "cache"))
    done, failed = set(), []
    for page, line in lines():
        if line in done or reason(line):
            continue
        done.add(line)
        fault = failure(shlex.split(here(line)))
        if fault:
            failed.append(f"{page.name}: {line}\n    {fault}")
    assert len(done) >= 30
    assert not failed, "\n".join(failed)


def failure(words: list[str]) -> str | None:
    if words[0] == "geoelastic-client":
        from geoelastic_client.__main__ import main as plain

        return None if plain(words[1:]) == 0 else "it failed"
    drawn = Path(words[words.index("-o") + 1]) if words[1:3] == ["fence", "suggest"] else None
    if drawn:
        drawn.unlink(missing_ok=True)  # fences that were drawn are not drawn again
    told = CliRunner().invoke(main, words[1:])
    if drawn:
        drawn.write_text(json.dumps(square(*CENTRE)))  # one that a town as small as this has room for
    # an audit of what does not hold its claim says so by its code
    return None if told.exit_code == 0 or (words[1] == "audit" and told.exit_code == 1) else told.output[-400:]


#: What the examples in Python are given besides what they make themselves, and what is smaller here than there.
SMALLER = {
    "size_km=75": "size_km=6", "s3://bucket/": "", "function_or_mechanism": "ge.PlanarLaplace(0.004)",
    "10_000": "1_000", "(metric, 4.0)": "(metric, 1.0)", "grid:2000": "grid:4000", "hours=1)": "hours=12)",
}  # fmt: skip


#: Examples in Python of which only the names are looked up, and why.
ONLY_READ = {"statistics.md": "estimates by hour take minutes: test_statistics.py"}


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name not in ELSEWHERE and blocks(page, "python")],
    ids=lambda page: page.name,
)
def test_every_example_in_python_runs(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    metric = ge.load("malta.geoelastic")
    mechanism, noise = ge.ElasticMechanism(metric), ge.PlanarLaplace(0.004)
    people, reports = pd.read_csv("visits.csv"), pd.read_csv("reports.csv")
    mass = ge.mass_from_quality(ge.quality_from_osm("malta.osm.pbf", cell_m=100))
    given = {
        "ge": ge, "math": math, "metric": metric, "mech": mechanism, "mechanism": mechanism, "noise": noise,
        "df": people, "mass": mass, "newer_mass": mass, "prior": metric.mass, "weights": np.ones(len(people)),
        "lat": people.lat, "lon": people.lon, "lat2": reports.lat, "lon2": reports.lon,
        "starts": reports[["lat", "lon"]], "ends": reports[["lat", "lon"]],
    }  # fmt: skip
    for block in blocks(page, "python"):
        for long, short in SMALLER.items():
            block = block.replace(long, short)
        code = compile(here(block), page.name, "exec")
        if page.name in ONLY_READ:
            assert all(hasattr(ge, name) for name in re.findall(r"\bge\.(\w+)", block))
        else:
            exec(code, given)


_BEFORE = """
import { readFileSync } from "node:fs";
const bytes = new Uint8Array(readFileSync("centre.geox"));
globalThis.fetch = async (name) => new Response(readFileSync(name));
const key = new Uint8Array(32), bar = {}, controller = new AbortController();
"""


@pytest.mark.parametrize("page", ["docs/client.md", "client/README.md"])
def test_every_example_in_javascript_runs(page: str, folder: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is missing")
    metric = ge.load(folder / "malta.geoelastic")
    save_mechanism(ge.ElasticMechanism(metric), folder / "centre.geox")
    names = "import { carveFence, Elastic, Sticky, verify } from"
    source = "\n".join(re.sub(r"^import .*$", "", block, flags=re.MULTILINE) for block in blocks(ROOT / page, "js"))
    source = re.sub(r"^const mechanism", "globalThis.mechanism", source, flags=re.MULTILINE)
    text = f'{names} "{(ROOT / "client/src/index.js").as_uri()}";{_BEFORE}{here(source)}\nprocess.exit(ok ? 0 : 1);'
    done = subprocess.run([node, "--input-type=module", "-e", text], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_every_block_is_of_a_kind_that_is_run_or_read() -> None:
    kinds = {
        kind
        for page in PAGES
        for kind in re.findall(
            r"^```(\S*)[^\n]*\n.*?^```$", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
    }
    # `nginx`: test_service_limits.py; `html`: a script's name, run in a page by test_site.py and test_browser.py
    assert kinds <= {"sh", "bash", "python", "js", "toml", "nginx", "html", ""}
    for page in PAGES:
        for block in blocks(page, "toml"):
            tomllib.loads(block)
