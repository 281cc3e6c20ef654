# SPDX-License-Identifier: Apache-2.0
"""The JavaScript client: its own tests, and the same reports as Python for the same bytes, ten thousand of them."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geoelastic as ge
import vectors
from geoelastic.judge import README, verify
from geoelastic.mechanism.geox_mechanism import load_mechanism, save_mechanism
from statistical.toolbox import NEVER, assert_chi_square

CLIENT = Path(__file__).resolve().parents[1] / "client"
NODE = shutil.which("node")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(NODE is None, reason="Node is not installed")]


def node(script: str, *arguments: str, given: Any = None) -> Any:
    done = subprocess.run(
        [str(NODE), script, *arguments],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        cwd=CLIENT,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def town() -> ge.ElasticMechanism:
    return load_mechanism(vectors.FILE)


def test_its_own_tests_pass() -> None:
    tests = sorted(str(path.relative_to(CLIENT)) for path in CLIENT.glob("test/*.test.mjs"))
    assert len(tests) >= 2
    done = subprocess.run([str(NODE), "--test", *tests], capture_output=True, text=True, cwd=CLIENT, timeout=120)
    assert done.returncode == 0, done.stdout[-3000:]


def test_the_stored_vectors_are_what_python_gives(town: ge.ElasticMechanism) -> None:
    stored = json.loads(vectors.VECTORS.read_text(encoding="utf-8"))
    fresh = vectors.vectors(town, len(stored["reports"]))
    assert stored["reports"] == fresh["reports"]
    assert stored["sticky"] == fresh["sticky"]


def same_reports(mechanism: ge.ElasticMechanism, path: Path, count: int) -> None:
    metric = mechanism.metric
    secrets = np.flatnonzero(metric.secret)
    jobs = [(int(secrets[k * 7919 % secrets.size]), k) for k in range(count)]
    answer = node("test/reports.mjs", str(path), given=jobs)
    for (i, seed), cell in zip(jobs, answer["cells"], strict=True):
        lat, lon = mechanism.sanitize(*metric.latlon(i), rng=ge.SeededRandom(seed))
        assert list(metric.grid.locate(lat, lon)) == cell
    assert answer["distances"] == metric.distance_units_from(jobs[0][0]).tolist()
    for (i, _), (lat, lon, located) in zip(jobs, answer["places"], strict=False):
        assert located == i
        assert (lat, lon) == pytest.approx(metric.latlon(i), abs=1e-9)


@pytest.mark.jit
def test_ten_thousand_reports_are_equal(town: ge.ElasticMechanism) -> None:
    same_reports(town, vectors.FILE, 10_000)


def test_other_measures_and_edge_lists_are_equal_too(tmp_path: Path) -> None:
    mass = ge.mass_from_quality(ge.synthetic_quality("city", rows=24, cols=20, seed=3), r_small=200, r_large=600)
    path = tmp_path / "m.geox"
    for method, output in (("paper", "uniform"), ("conformal", "mass^1.5")):
        metric = ge.build_metric(mass, method=method, l_top=1.0)
        save_mechanism(ge.ElasticMechanism(metric, output=output), path)
        same_reports(load_mechanism(path), path, 150)


def test_sharpened_reports_are_equal_and_a_fence_drawn_on_the_device_takes_the_half_again(tmp_path: Path) -> None:
    path = tmp_path / "sharp.geox"
    save_mechanism(ge.ElasticMechanism(ge.sharpen(vectors.town())), path)
    mechanism = load_mechanism(path)
    assert mechanism.sharpened
    same_reports(mechanism, path, 300)
    lat, lon = mechanism.metric.latlon(int(np.flatnonzero(mechanism.metric.secret)[500]))
    ring = [(lat, lon), (lat, lon + 0.004), (lat + 0.003, lon + 0.004), (lat + 0.003, lon)]
    carved = node_eval(CARVE, {"path": str(path), "ring": ring})
    assert carved == {"exponent": [1, 2], "heights": False}


CARVE = """
import { carveFence, Elastic } from "./src/index.js";
import { readFileSync } from "node:fs";
const { path, ring } = JSON.parse(readFileSync(0, "utf8"));
const { metric } = await Elastic.fromBytes(new Uint8Array(readFileSync(path)));
const carved = carveFence(metric, ring).metric;
process.stdout.write(JSON.stringify({ exponent: carved.head.exponent, heights: carved.height !== undefined }));
"""


def test_after_a_fence_only_what_is_near_it_is_sharpened_again(tmp_path: Path) -> None:
    """A valley thirty times as long as wide: sums before the last check are made around the fence, heights at both ends
    stay, and every edge holds in the end."""
    cells = 0.02 + 0.2 * np.random.default_rng(11).random((8, 240)) ** 4
    cells[2:6, 110:118] += 0.5
    mass = ge.Mass.from_array(cells, cell_m=100, origin=(48.85, 2.35))
    mechanism = ge.ElasticMechanism(ge.build_metric(mass, l_top=0.8, frame=0.0))
    path = tmp_path / "valley.geox"
    save_mechanism(mechanism, path)
    lat, lon = mechanism.metric.latlon(mechanism.metric.locate(48.85, 2.35))
    ring = [(lat, lon), (lat, lon + 0.004), (lat + 0.002, lon + 0.004), (lat + 0.002, lon)]
    found = node_eval(SHARPEN, {"path": str(path), "ring": ring})
    assert found["ok"]
    assert found["certified"] == [found["outside"]]
    assert 0 < found["first"] < found["outside"] / 2
    moved = np.array(found["after"]) - np.array(found["before"])
    ends = [round(0.1 * moved.size), round(0.9 * moved.size)]
    assert len(set(moved[: ends[0]].tolist() + moved[ends[1] :].tolist())) == 1
    assert len(set(moved.tolist())) > 10


SHARPEN = """
import { carveFence, Elastic, sharpen } from "./src/index.js";
import { Crew } from "./src/workers.js";
import { readFileSync } from "node:fs";
const { path, ring } = JSON.parse(readFileSync(0, "utf8"));
const { metric } = await Elastic.fromBytes(new Uint8Array(readFileSync(path)));
const half = new Elastic(carveFence(metric, ring).metric);
const steps = [];
const { all } = Crew.prototype;
Crew.prototype.all = function (tasks, options) {
  steps.push([tasks[0].kind, tasks.reduce((sum, { given: [part] }) => sum + part.length, 0)]);
  return all.call(this, tasks, options);
};
const again = await sharpen(half);
const outside = Array.from(half.metric.fence.keys()).filter((i) => half.metric.fence[i] === 0);
const east = outside.sort((i, j) => half.metric.xy(i)[0] - half.metric.xy(j)[0]);
const checks = steps.flatMap(([kind], k) => (kind === "balls" ? [k] : []));
process.stdout.write(JSON.stringify({
  ok: again.metric.height !== undefined, first: steps[0][1], outside: east.length,
  certified: checks.slice(-1).map((k) => steps[k + 1][1]),
  before: east.map((i) => half.metric.heightBefore[i]), after: east.map((i) => again.metric.height[i]),
}));
"""


PROJECT = """
import { Projection } from "./src/index.js";
import { readFileSync } from "node:fs";
const { lat, lon, east, north, points } = JSON.parse(readFileSync(0, "utf8"));
const plane = new Projection(lat, lon, east, north);
const both = ([lat, lon]) => [plane.toXY(lat, lon), plane.toLatLon(...plane.toXY(lat, lon))];
process.stdout.write(JSON.stringify(points.map(both)));
"""


@pytest.mark.parametrize(("lat", "lon"), [(48.8567, 2.3487), (0.0, 0.0), (-33.9, 151.2), (69.65, 18.96), (17.0, 179.9)])
def test_the_projection_agrees_to_the_micrometre(lat: float, lon: float) -> None:
    area = ge.Area(lat, lon, 100_000, 100_000, 1500.0, -2500.0)
    x, y = (part.ravel() for part in np.meshgrid(*2 * [np.linspace(-100_000, 100_000, 9)]))
    lats, lons = area.to_latlon(x, y)
    given = {"lat": lat, "lon": lon, "east": 1500.0, "north": -2500.0, "points": np.column_stack([lats, lons]).tolist()}
    for (xy, back), *want in zip(node_eval(PROJECT, given), x, y, lats, lons, strict=True):
        assert math.hypot(xy[0] - want[0], xy[1] - want[1]) < 1e-6
        assert abs(back[0] - want[2]) < 1e-11
        assert abs((back[1] - want[3] + 180) % 360 - 180) < 1e-10


def node_eval(script: str, given: Any) -> Any:
    done = subprocess.run(
        [str(NODE), "--input-type=module", "-e", script], input=json.dumps(given), capture_output=True, text=True,
        cwd=CLIENT, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


OWN_DRAWS = """
import { Elastic } from "./src/index.js";
import { readFileSync } from "node:fs";
const { path, from, count } = JSON.parse(readFileSync(0, "utf8"));
const mechanism = await Elastic.fromBytes(new Uint8Array(readFileSync(path)));
const counts = new Array(mechanism.metric.n).fill(0);
for (const { location } of mechanism.reportsFrom(from, count)) counts[location]++;
process.stdout.write(JSON.stringify(counts));
"""


def test_its_own_draws_follow_the_probabilities(town: ge.ElasticMechanism) -> None:
    i = town.metric.locate(48.8567, 2.3387)
    counts = np.array(node_eval(OWN_DRAWS, {"path": str(vectors.FILE), "from": i, "count": 50_000}))
    assert_chi_square(counts, town.probabilities(i), alpha=NEVER)


VERIFY = """
import { verify } from "./src/index.js";
import { readFileSync } from "node:fs";
const { path } = JSON.parse(readFileSync(0, "utf8"));
const { ok, claim, facts, faults, short } = await verify(new Uint8Array(readFileSync(path)));
process.stdout.write(JSON.stringify({ ok, claim, facts, faults, short }));
"""


@pytest.mark.jit
def test_the_device_states_the_same_claim_in_the_same_words(tmp_path: Path) -> None:
    mass = ge.mass_from_quality(ge.synthetic_quality("city", rows=24, cols=20, seed=3), r_small=200, r_large=600)
    small, broken = tmp_path / "small.geox", tmp_path / "broken.geox"
    metric = ge.build_metric(mass, method="paper", l_top=1.0, requirement=ge.Linear(0.8))
    spread = replace(metric, info=metric.info | {"spread_m": 120.0})
    save_mechanism(ge.ElasticMechanism(spread, output="uniform"), small)
    halved = replace(metric, mass_units=metric.mass_units // 2, certificate={})
    save_mechanism(ge.ElasticMechanism(halved, output="uniform"), broken)
    for path in (vectors.FILE, vectors.SHARP, small, broken):
        told = node_eval(VERIFY, {"path": str(path)})
        want = verify(load_mechanism(path), require=README)
        assert told["ok"] == want["ok"] == (path in (vectors.FILE, vectors.SHARP))
        assert told["claim"] == want["claim"]
        assert told["faults"] == want["faults"]
        assert told["short"] == want["short"]
        assert set(told["facts"]) == set(want["facts"])
        for name, value in want["facts"].items():
            assert told["facts"][name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value)
