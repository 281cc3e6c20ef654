# SPDX-License-Identifier: Apache-2.0
"""The measurements, on maps small enough to run in seconds: that they run, agree with each other and print a table."""

from __future__ import annotations

import json

import pytest

from geoelastic.bench import build, paths, report, scale
from geoelastic.bench._tools import markdown
from geoelastic.scale import InlineEngine

pytestmark = pytest.mark.jit  # whole metrics are built here


def test_build() -> None:
    result = build.run(maps=[("city", 30)])
    rows = {(row["method"], row["layout"]): row for row in result["rows"]}
    assert len(rows) == 4
    assert all(row["violations"] == 0 and row["least_ratio"] >= 1 for row in rows.values())
    assert rows["conformal", "adaptive"]["mean_ratio"] < rows["paper", "uniform"]["mean_ratio"]
    assert all(row["error_mass_m"] < row["error_uniform_m"] for row in rows.values())
    assert "error mass weighted ratio" in result["text"]
    json.dumps(result["rows"])


def test_paths() -> None:
    ours, theirs = paths.run(side=60)["rows"]
    assert ours["million_relaxations"] == theirs["million_relaxations"] > 0
    assert ours["times_scipy"] > 0


def test_scale() -> None:
    first, second, reports = scale.run(sides=(130, 150), tile=128, engine=InlineEngine(), reports=3)["rows"]
    assert first["to_first"] == 1.0
    assert second["locations"] > first["locations"]
    assert second["violations"] == 0
    assert reports["cold_report_ms"] > 0
    assert 1 <= reports["tiles_opened"] <= second["tiles"] == 4


def test_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MANY", 300)
    monkeypatch.setattr(report, "COLD", 20)
    rows = {row["what"]: row["value"] for row in report.run(side=60)["rows"]}
    assert rows["violations found"] == 0
    assert rows["one cold report, median"] <= rows["one cold report, 95 %"]


def test_tables() -> None:
    rows = [{"name": "a", "n": 12345, "x": 0.123456}, {"name": "b", "x": 54321.9, "ok": True}]
    assert markdown(rows).splitlines() == [
        "| name | n | x | ok |", "|---|---|---|---|", "| a | 12,345 | 0.123 |  |", "| b |  | 54,322 | True |",
    ]  # fmt: skip
