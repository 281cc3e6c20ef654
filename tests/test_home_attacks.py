# SPDX-License-Identifier: Apache-2.0
"""Attacks on homes: the laws that adversaries use are those of the mechanisms, and what must hold of their success."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from geoelastic.bench._tools import synthetic_mass
from geoelastic.evaluation.attacks import home_prior, home_recovery
from geoelastic.evaluation.elastic_channel import distance_table, elastic_channel, mechanism_channel, reporting_channel
from geoelastic.evaluation.home_attacks import HomeScene, attack_rows
from geoelastic.evaluation.study_areas import StudyArea
from geoelastic.evaluation.traces.trace_homes import HomeTicks, LiveHome
from geoelastic.mechanism import ElasticMechanism
from geoelastic.metric import build_metric
from geoelastic.traces import Habit

pytestmark = pytest.mark.jit


@pytest.fixture(scope="module")
def metric() -> Any:
    return build_metric(synthetic_mass("city", 40))


@pytest.fixture(scope="module")
def area(metric: Any) -> StudyArea:
    return StudyArea("homes", *metric.grid.area.middle, 1.6)


def test_the_channel_is_what_the_default_reports(metric: Any, area: StudyArea) -> None:
    """Sharpened: not half of each distance, which `evaluate` took for home recovery before."""
    assert metric.relief is not None
    prior = home_prior(metric, area)
    ours, want = reporting_channel(metric, prior), mechanism_channel(ElasticMechanism(metric), prior)
    half = elastic_channel(distance_table(metric, prior))
    row = int(ours.row_of_place[0])
    assert ours.row(row) == pytest.approx(want.row(row), rel=1e-9)
    assert np.abs(ours.row(row) - half.row(row)).max() > 1e-4


def test_recovery_is_of_the_sharpened_mechanism(metric: Any, area: StudyArea) -> None:
    found = home_recovery(metric, area, homes=3, n=(1, 20), runs=20)["results"]
    half = home_recovery(replace(metric, relief=None), area, homes=3, n=(1, 20), runs=20)["results"]
    assert found["elastic"]["average_m"][0] < half["elastic"]["average_m"][0]
    assert found["elastic, home in a fence"]["recovered"] == half["elastic, home in a fence"]["recovered"]


def test_ticks_at_home_follow_the_law_of_the_mechanism(metric: Any, area: StudyArea) -> None:
    """ln P of each tick by the trace mechanism itself, as the habit grows, up to what is the same for all homes; and
    draws come from it."""
    owner = metric.locations.owner.ravel()[home_prior(metric, area).cell]
    locations = np.unique(owner).astype(np.int64)
    ticks = HomeTicks.of(ElasticMechanism(metric), locations)
    told, past, rng = LiveHome(ticks), Habit(), np.random.default_rng(3)
    for z in (int(owner[5]), int(owner[9]), int(owner[5])):
        laws = [ticks.traces._passes(np.array([location]), past, None).steps()[0][0] for location in locations[[0, 7]]]
        want = [math.log(law[z] / law.sum()) for law in laws]
        got = told.logs(z)[[0, 7]]
        assert got[1] - got[0] == pytest.approx(want[1] - want[0], abs=1e-9)
        law, drawn = laws[1] / laws[1].sum(), np.array([told.draw(7, rng) for _ in range(2000)])
        for place in {z, int(np.argmax(law))}:  # five standard errors: one false alarm in a million
            assert abs(np.mean(drawn == place) - law[place]) < 5 * math.sqrt(law[place] / 2000) + 1e-9
        told.say(z)
        past = past.after([z], ticks.traces.step_s)


def test_one_row_an_attack(metric: Any, area: StudyArea) -> None:
    second = build_metric(synthetic_mass("city", 40), cartogram=False)
    told: list[str] = []
    rows = attack_rows(
        metric, area, second=second, people=24, nights_of=2, reports=(1, 4, 40), nights=2, tell=told.append
    )  # fmt: skip
    off = {(row["attack"], row["seen"]): row["guess_off_m"] for row in rows}
    fresh = "the default, a fresh report each time"
    assert off[fresh, "40 from home"] < off[fresh, "1 from home"]
    assert off["sticky reports", "40 from home, all the same"] == off[fresh, "1 from home"]
    assert off["live reports, a tick every two hours", "40 ticks at home"] > off[fresh, "40 from home"]
    assert told == ["fresh", "live", "traced", "work", "two maps", "neighbours"]
    assert all(0 <= row["found"] <= 1 and row["guess_off_m"] >= 0 for row in rows)
    with_fence, without = (
        next(r for r in rows if r["attack"] == f"neighbours of a fence, {name}")
        for name in ("with it", "without the fence")
    )
    assert with_fence["report_off_m"] > 0 < without["report_off_m"]
    again = attack_rows(metric, area, people=24, nights_of=2, reports=(1, 4, 40), nights=2)
    assert again == [row for row in rows if "map" not in row["attack"] and "the two" not in row["attack"]]


def test_the_best_guess_by_hand(metric: Any, area: StudyArea) -> None:
    scene = HomeScene.of(metric, home_prior(metric, area))
    logs = np.full(scene.prior.n_places, -np.inf)
    logs[[4, 9]] = np.log([0.9, 0.1]) - np.log(scene.prior.weights[[4, 9]])
    assert scene.judge(logs, 4) == (1.0, 0.0)
    assert scene.judge(logs, 9) == (0.0, pytest.approx(scene.apart_m[4, 9]))
