# SPDX-License-Identifier: Apache-2.0
"""The same traces in the JavaScript client, bit for bit for the same bytes."""

from __future__ import annotations

import json
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geoelastic as ge
import vectors
from geoelastic.mechanism.geox_mechanism import load_mechanism
from geoelastic.traces import Habit

CLIENT = Path(__file__).resolve().parents[1] / "client"
NODE = shutil.which("node")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(NODE is None, reason="Node is not installed")]


def asked_of(metric: Any, rng: np.random.Generator) -> list[dict[str, Any]]:
    secret = np.flatnonzero(metric.secret)
    fenced = np.flatnonzero((metric.fence > 0) & metric.secret)
    asked = []
    for seed in range(24):
        stays = rng.choice(secret, 5).tolist()
        if fenced.size and seed % 3 == 0:
            stays[2] = int(rng.choice(fenced))
        places = np.repeat(stays, rng.integers(1, 40, 5)).tolist()
        past = [
            [int(z), int(s)]
            for z, s in zip(rng.choice(metric.n, 6, replace=False), rng.integers(1, 9999, 6), strict=True)
        ]
        options = {"rate": [[1, 2], [5, 4], [1, 3]][seed % 3], "stepSeconds": [600, 300, 1800][seed % 3]}
        options["blockHours"] = [24, 1, 8][seed // 3 % 3]
        asked.append({"options": options, "places": places, "past": past if seed % 2 else [], "seed": seed})
    return asked


def test_python_and_javascript_release_the_same_traces() -> None:
    town = load_mechanism(vectors.FILE)
    rng = np.random.default_rng(4)
    asked = asked_of(town.metric, rng)
    secret = np.flatnonzero(town.metric.secret)
    live = {
        "options": {"tickSeconds": 3600},
        "places": rng.choice(secret, 30).tolist(),
        "seed": 9,
        "start": 7200,
        "every": 1800,
    }
    given = json.dumps({"releases": asked, "live": live})
    done = subprocess.run(
        [str(NODE), "test/traces.mjs", str(vectors.FILE)], input=given, capture_output=True, text=True, cwd=CLIENT,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    moves = 0
    for wanted, theirs in zip(asked, found["releases"], strict=True):
        options = wanted["options"]
        traces = ge.TraceMechanism(
            town, rate=Fraction(*options["rate"]), step_minutes=Fraction(options["stepSeconds"], 60),
            block_hours=options["blockHours"],
        )  # fmt: skip
        past = Habit(dict(wanted["past"]))
        ours = traces.release(wanted["places"], past, ge.SeededRandom(wanted["seed"]))
        assert ours.location.tolist() == theirs["location"]
        cells = np.stack(town.metric.grid.latlon_to_cell(ours.lat, ours.lon), axis=1)
        assert cells.tolist() == theirs["cells"]
        moves += ours.moves
    assert moves > 20
    ours_live = ge.LiveTrace(town, tick_minutes=60)
    source = ge.SeededRandom(9)
    for k, (place, cell) in enumerate(zip(live["places"], found["live"], strict=True)):
        told = ours_live.report(*town.metric.latlon(int(place)), time_s=7200 + 1800 * k, rng=source)
        assert [int(v) for v in town.metric.grid.latlon_to_cell(*told)] == cell
