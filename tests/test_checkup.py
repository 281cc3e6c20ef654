# SPDX-License-Identifier: Apache-2.0
"""The checkup of a map says in metres what reports will be like, and says so when a map is too small."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.judge import checkup, examine
from geoelastic.judge.checkup import Checkup, metres
from maps import small_metric

WELL = Checkup(
    places=101, error_m=(200.0, 400.0, 2300.0), held=0.05, hidden=0.95, framed=3, locations=100, km=(12.0, 8.0),
    sharpened=True, holds=True,
)  # fmt: skip


def test_errors_and_the_border_are_those_of_the_people_one_by_one():
    metric = small_metric()
    mechanism = ge.ElasticMechanism(metric)
    found = checkup(metric)
    people = [int(i) for i in np.flatnonzero(metric.secret) for _ in range(int(metric.mass_units[i] >> 22))]
    error_at = {i: mechanism.expected_error(i) for i in set(people)}
    errors = sorted(error_at[i] for i in people)
    spread = [errors[int(len(errors) * part)] for part in (0.03, 0.07, 0.48, 0.52, 0.93, 0.97)]
    for low, value, high in zip(spread[::2], found.error_m, spread[1::2], strict=True):
        assert low - 1e-6 <= value <= high + 1e-6
    half = np.array([metric.grid.cols, metric.grid.rows]) * metric.grid.cell_m / 2
    held_at = {}
    for i in set(people):
        edge = min(half[0] - abs(metric.xy[i][0]), half[1] - abs(metric.xy[i][1]))
        away = mechanism.distances_m(i)
        held_at[i] = sum(p for p, d in zip(mechanism.probabilities(i), away, strict=True) if d > edge)
    assert found.held == pytest.approx(np.mean([held_at[i] for i in people]), abs=0.03)
    assert found == checkup(mechanism)


def test_the_verdict_follows_the_border_and_the_frame():
    assert WELL.size == "large enough"
    assert WELL.advice == ()
    small = replace(WELL, held=0.2)
    assert small.size == "small"
    assert "its border holds 20% of their reports" in small.verdict
    assert "--size 14" in small.advice[0]  # 12 km and one more on each side
    assert "--size 24" in replace(small, error_m=(900.0, 2000.0, 4000.0)).advice[0]
    assert replace(WELL, hidden=0.3).size == "too small"
    assert replace(WELL, held=0.4).verdict.startswith("poor")
    assert "do not use" in replace(WELL, holds=False).verdict
    assert "sharpen" in replace(WELL, sharpened=False).advice[0]


def test_distances_are_said_as_people_say_them():
    assert [metres(value) for value in (823.4, 1234.0, 96.2)] == ["820 m", "1.2 km", "96 m"]


def test_info_and_doctor_say_it_in_words(tmp_path):
    path = tmp_path / "m.geoelastic"
    small_metric().save(path)
    shown = CliRunner().invoke(main, ["info", str(path)]).output
    assert "are off by" in shown
    assert "verdict" in shown
    facts = json.loads(CliRunner().invoke(main, ["info", str(path), "--json"]).output)
    assert len(facts["checkup"]["error_m"]) == 3
    told = CliRunner().invoke(main, ["doctor", str(path)])
    assert told.exit_code == 0
    for word in ("area", "fences", "sharpened", "border", "verdict", "next"):
        assert word in told.output
    assert "geoelastic fence" in told.output


def test_the_doctor_tells_strays_recipe_and_age(tmp_path):
    quality = {
        "timestamp": "2021-03-01T00:00:00Z", "recipe": {"name": "default"}, "layers": {"places": {"features": 12}},
        "strays": {"objects": 7, "farthest_km": 27.4},
    }  # fmt: skip
    path = tmp_path / "m.geoelastic"
    replace(small_metric(), info={"quality": quality}).save(path)
    said = examine(path, today=dt.date(2026, 3, 1))
    assert "7 objects up to 27.4 km away" in said["strays"]
    assert said["recipe"] == "default: 12 places"
    assert said["data"] == "of 2021-03-01, 5 years old"
    assert examine(path, today=dt.date(2022, 3, 1))["data"] == "of 2021-03-01, a year old"
    assert examine(path, today=dt.date(2021, 6, 1))["data"] == "of 2021-03-01, less than a year old"
    assert "build it again from newer data" in said["next"]
    replace(small_metric(), info={"quality": {"timestamp": 3, "recipe": [], "layers": 4, "strays": "x"}}).save(path)
    assert examine(path)["ok"]


def test_an_extract_that_hides_few_places_says_so(tmp_path):
    source, target = tmp_path / "m.geoelastic", tmp_path / "p.geox"
    small_metric(rows=24, cols=24, l_top=1.2).save(source)
    lat, lon = ge.load(source).grid.area.middle
    asked = ["extract", str(source), "--center", f"{lat},{lon}", "--size", "1", "-o", str(target), "--no-sharpen"]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    assert "small" in done.output
    assert "take in more around it" in done.output
