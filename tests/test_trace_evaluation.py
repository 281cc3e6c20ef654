# SPDX-License-Identifier: Apache-2.0
"""The evaluation of traces: baselines that spend what they may, adversaries that find what is there to find."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geoelastic as ge
from geoelastic.evaluation.commuters import synthetic_commuters
from geoelastic.evaluation.trace_adversaries import Night, home_by_bayes, home_by_mean, running_mean, smooth
from geoelastic.evaluation.trace_attack import attack_releases, map_release
from geoelastic.evaluation.trace_baselines import Predictive, Scene, clock_errors, predictive_error
from geoelastic.evaluation.trace_days import find_days, split_days
from geoelastic.evaluation.trace_study import expected_error, rate_for
from geoelastic.sources.traces import Trace
from geoelastic.traces import Habit
from geoelastic.traces.files import write_releases

pytestmark = pytest.mark.jit


@functools.cache
def town() -> Any:
    """A made-up city of 24 km, coarse: 200 m cells."""
    quality = ge.synthetic_quality("city", rows=120, cols=120, cell_m=200)
    mass = ge.mass_from_quality(quality, r_small=300, r_large=3000)
    return ge.ElasticMechanism(ge.build_metric(mass, workers=2))


@functools.cache
def days() -> Any:
    people = synthetic_commuters(3, seed=4, days=5, lat=town().metric.grid.area.lat, lon=town().metric.grid.area.lon)
    traces = [Trace(str(k), p.trace.lat, p.trace.lon, p.trace.time_s) for k, p in enumerate(people)]
    return find_days(ge.TraceMechanism(town()), traces)


def test_days_are_split_by_person_and_errors_are_expectations() -> None:
    tuned, measured = split_days(days())
    assert len(tuned) + len(measured) == len(days())
    day, traces = days()[0], ge.TraceMechanism(town(), rate=rate_for(20))
    expected = expected_error(traces, day)
    rng, xy = ge.SeededRandom(1), np.asarray(traces.metric.xy)
    drawn = [
        np.hypot(*(xy[traces.release(day.places.tolist(), rng=rng).location] - day.xy).T).mean() for _ in range(40)
    ]
    assert abs(np.mean(drawn) - expected) < 5 * np.std(drawn) / math.sqrt(len(drawn))


def test_a_trace_errs_less_than_the_best_sharpened_clock_of_the_same_cost() -> None:
    scene, traces = Scene.of(ge.TraceMechanism(town())), ge.TraceMechanism(town(), rate=rate_for(20))
    clock = [clock_errors(scene, day, 20, sharpened=True) for day in days()]
    best = min(np.mean([errors[k] for errors in clock]) for k in clock[0])
    assert np.mean([expected_error(traces, day) for day in days()]) < 0.8 * best


@pytest.mark.parametrize("manager", ["fixed accuracy", "fixed rate"])
def test_the_predictive_mechanism_never_spends_more_than_it_has(manager: str) -> None:
    scene, rng = Scene.of(ge.TraceMechanism(town())), np.random.default_rng(1)
    settings = Predictive(24, 0.2 * 20 / math.log(2) / 24, 0.8 * 20 / math.log(2) / 4, 1.0, manager)
    for day in days():
        error, reports, spent = predictive_error(scene, day, 20.0, settings, rng, sharpened=False)
        assert 0 < spent <= 20 * (1 + 1e-12)
        assert 1 <= reports <= 24
        assert math.isfinite(error)


def test_smoothing_finds_a_person_who_stays_from_noisy_ticks_and_a_mean_does_too() -> None:
    rng, n = np.random.default_rng(3), 400
    xy = rng.uniform(0, 1000, (n, 2))
    away = np.hypot(*(xy[:, None] - xy[None]).transpose(2, 0, 1))
    law = np.exp(-away / 200)
    law /= law.sum(axis=1, keepdims=True)
    here = int(np.hypot(*(xy - 500).T).argmin())  # at the edge a mean is drawn inwards
    ticks = rng.choice(n, 100, p=law[here])
    guess = smooth(ticks, lambda z: np.log(law[:, z]), np.full(n, 1 / n), xy, step_s=60)
    release = np.hypot(*(xy[ticks] - xy[here]).T).mean()
    assert np.hypot(*(guess - xy[here]).T).mean() < 0.3 * release
    assert np.hypot(*(running_mean(xy[ticks], 72) - xy[here]).T).mean() < 0.6 * release


def test_homes_are_found_from_many_nights_and_not_from_repeated_ones() -> None:
    """Ten independent nights say more than one night ten times over, which a habit makes of them."""
    traces = ge.TraceMechanism(town(), rate=rate_for(20))
    home = int(days()[0].places[0])
    drawn = [int(traces.release([home] * 36, rng=ge.SeededRandom(k)).location[0]) for k in range(10)]
    xy = np.asarray(traces.metric.xy)
    fresh = [Night(z, 36, Habit()) for z in drawn]
    error = np.hypot(*(home_by_bayes(traces, fresh) - xy[home]))
    assert error < np.mean(np.hypot(*(xy[drawn] - xy[home]).T)) + 1
    kept = [Night(drawn[0], 36, Habit({drawn[0]: 3600 * k})) for k in range(10)]
    assert np.hypot(*(home_by_mean(traces, kept) - xy[drawn[0]])) == 0


def test_attacks_on_a_file_give_errors_and_nothing_else(tmp_path: Path) -> None:
    traces = ge.TraceMechanism(town())
    area = traces.metric.grid.area
    seconds = 1_772_409_600 + 300.0 * np.arange(288 * 4)
    lat, lon = area.to_latlon(1500 * np.sin(seconds / 9000), 1000 * np.cos(seconds / 20000))
    truth = Trace("ann", lat, lon, seconds)
    rows = [f"ann,{a},{o},{s}" for a, o, s in zip(lat, lon, seconds, strict=True)]
    (tmp_path / "true.csv").write_text("\n".join(["user,lat,lon,time", *rows]))
    write_releases([traces.release(truth, rng=ge.SeededRandom(1))], tmp_path / "out.csv")
    (found,) = attack_releases(traces, tmp_path / "out.csv", [tmp_path / "true.csv"])["users"]
    assert found["nights"] >= 3
    assert found["release_m"] > 0
    assert found["tracking_m"] > 0.5 * found["release_m"]
    assert set(found) == {
        "user", "ticks", "release_m", "tracking_m", "running_mean_m", "running_mean_ticks", "nights", "home_mean_m",
        "home_bayes_m",
    }  # fmt: skip
    told = map_release(traces, tmp_path / "out.csv", [tmp_path / "true.csv"], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert told["ticks"] == found["ticks"]
    assert 'type="range"' in page
    assert "http" not in page.replace("http-equiv", "")
    assert (tmp_path / "page.html").stat().st_mode & 0o077 == 0
