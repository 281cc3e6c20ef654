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
from geoelastic import _kernels as kernels
from geoelastic.evaluation.commuters import synthetic_commuters
from geoelastic.evaluation.traces.trace_attack import attack_releases, believe, map_release, running_mean
from geoelastic.evaluation.traces.trace_baselines import (
    Predictive,
    TraceScene,
    clock_errors,
    find_days,
    predictive_error,
    split_days,
)
from geoelastic.evaluation.traces.trace_homes import Told, home_beliefs, home_by_mean, homes_by_bayes
from geoelastic.evaluation.traces.trace_report import evaluate_traces, report_lines
from geoelastic.evaluation.traces.trace_study import expected_errors, home_study, rate_for
from geoelastic.mechanism.remap import best_guess
from geoelastic.sources.traces import Trace
from geoelastic.traces import Habit
from geoelastic.traces.trace_files import write_releases
from maps import small_metric

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
    expected = expected_errors(traces, day).mean()
    rng, xy = ge.SeededRandom(1), np.asarray(traces.metric.xy)
    drawn = [
        np.hypot(*(xy[traces.release(day.places.tolist(), rng=rng).location] - day.xy).T).mean() for _ in range(40)
    ]
    assert abs(np.mean(drawn) - expected) < 5 * np.std(drawn) / math.sqrt(len(drawn))


def test_a_trace_errs_less_than_the_best_sharpened_clock_of_the_same_cost() -> None:
    scene, traces = TraceScene.of(ge.TraceMechanism(town())), ge.TraceMechanism(town(), rate=rate_for(20))
    clock = [clock_errors(scene, day, 20, sharpened=True) for day in days()]
    best = min(np.mean([errors[k] for errors in clock]) for k in clock[0])
    assert np.mean([expected_errors(traces, day) for day in days()]) < 0.8 * best


@pytest.mark.parametrize("manager", ["fixed accuracy", "fixed rate"])
def test_the_predictive_mechanism_never_spends_more_than_it_has(manager: str) -> None:
    scene, rng = TraceScene.of(ge.TraceMechanism(town())), np.random.default_rng(1)
    settings = Predictive(24, 0.2 * 20 / math.log(2) / 24, 0.8 * 20 / math.log(2) / 4, 1.0, manager)
    for day in days():
        error, reports, spent = predictive_error(scene, day, 20.0, settings, rng, sharpened=False)
        assert 0 < spent <= 20 * (1 + 1e-12)
        assert 1 <= reports <= 24
        assert np.isfinite(error).all()


def test_smoothing_finds_a_person_who_stays_from_noisy_ticks_and_a_mean_does_too() -> None:
    rng, n = np.random.default_rng(3), 400
    xy = rng.uniform(0, 1000, (n, 2))
    away = np.hypot(*(xy[:, None] - xy[None]).transpose(2, 0, 1))
    law = np.exp(-away / 200)
    law /= law.sum(axis=1, keepdims=True)
    here = int(np.hypot(*(xy - 500).T).argmin())  # at the edge a mean is drawn inwards
    ticks = rng.choice(n, 100, p=law[here])
    guess, _ = believe(ticks, lambda z: np.log(law[:, z]), np.full(n, 1 / n), xy, step_s=60)
    release = np.hypot(*(xy[ticks] - xy[here]).T).mean()
    assert np.hypot(*(guess - xy[here]).T).mean() < 0.3 * release
    assert np.hypot(*(running_mean(xy[ticks], 72) - xy[here]).T).mean() < 0.6 * release


@pytest.mark.parametrize("habit", [0.0, 0.5])
def test_the_adversary_who_is_told_all_but_the_home_uses_the_very_law_of_a_release(habit: float) -> None:
    """On a small map: the posterior of every home by `log_probability`, release by release."""
    metric = small_metric("conformal", "uniform", rows=5, cols=5, l_top=0.5)
    traces = ge.TraceMechanism(ge.ElasticMechanism(metric), step_minutes=120, moves_per_day=3, habit=habit, rate=1)
    secret = np.flatnonzero(metric.secret)
    at_home = np.array([True, True, False, False, True])
    rng, past, pieces = ge.SeededRandom(7), Habit(), list[Told]()
    exact, prior = np.zeros(secret.size), np.arange(1.0, metric.n + 1)
    for day in range(3):
        places = np.where(at_home, secret[3], secret[5 + day])
        release = traces.release(places.tolist(), past, rng)
        pieces.append(Told(release.location, at_home, places, past))
        exact += [
            traces.log_probability(release.location.tolist(), np.where(at_home, h, places).tolist(), past)
            for h in secret
        ]
        past = past.after(release.location.tolist(), traces.step_s)
    belief = prior[secret] * np.exp(exact - exact.max())
    candidates, (found,) = home_beliefs(traces, pieces, [3], prior)
    assert candidates.tolist() == secret.tolist()
    np.testing.assert_allclose(found, belief / belief.sum(), rtol=1e-9)
    nearest = np.array(best_guess(np.asarray(metric.xy)[secret], belief))
    np.testing.assert_allclose(homes_by_bayes(traces, pieces, [3], prior)[0], nearest, atol=1e-3)


def test_a_repeated_release_tells_an_adversary_less_than_a_fresh_one() -> None:
    """The same place ten nights over: drawn afresh it settles the matter, from a habit it says next to nothing."""
    traces = ge.TraceMechanism(town(), rate=rate_for(20))
    home = int(days()[0].places[0])
    z = int(traces.release([home] * 36, rng=ge.SeededRandom(3)).location[0])
    every, at_home = np.full(36, z), np.ones(36, bool)
    fresh = [Told(every, at_home, every, Habit()) for _ in range(10)]
    kept = [Told(every, at_home, every, Habit({z: 3600 * k})) for k in range(10)]

    def spread(pieces: list[Told]) -> float:
        candidates, (belief,) = home_beliefs(traces, pieces, [10])
        return float(belief @ np.hypot(*(traces.metric.xy[candidates] - traces.metric.xy[z]).T))

    assert spread(kept) > 1.5 * spread(fresh)
    assert np.hypot(*(home_by_mean(traces, kept) - traces.metric.xy[z])) == 0


def test_the_normaliser_alone_is_that_of_the_passes() -> None:
    traces = ge.TraceMechanism(town(), rate=rate_for(20))
    places = days()[0].places
    passes = traces.passes(places)
    unique, which = np.unique(places, return_inverse=True)
    weights = np.array([passes.weights_at(int(np.flatnonzero(places == place)[0])) for place in unique])
    found = kernels.filter_sum(np.zeros(traces.metric.n), 1.0, weights, which, passes.jump, passes.keep)
    assert found == pytest.approx(passes.log_sum, abs=1e-9)


def test_the_whole_evaluation_on_made_up_days_with_figures(tmp_path: Path) -> None:
    (person,) = synthetic_commuters(1, seed=4, days=5, lat=town().metric.grid.area.lat, lon=town().metric.grid.area.lon)
    trace = person.trace
    rows = [f"ann,{a},{o},{s}" for a, o, s in zip(trace.lat, trace.lon, trace.time_s, strict=True)]
    (tmp_path / "true.csv").write_text("\n".join(["user,lat,lon,time", *rows]))
    done = evaluate_traces(town(), [tmp_path / "true.csv"], tmp_path / "out", costs=(20.0,), most_days=2, commuters=0)
    kinds = [row["kind"] for row in done["rows"]]
    assert kinds[:4] == ["clock", "predictive", "clock, sharpened", "predictive, sharpened"]
    for row in done["rows"]:
        assert row["error_m"] == pytest.approx(np.mean(row["hours"]))
        assert set(row["users"]) == {"ann"}
    assert done["rows"][2]["of_best_clock"] == 1
    assert 0.9 < done["steps"]["ratio"] < 1.1
    assert (tmp_path / "out" / "hours.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out" / "traces.md").read_text().startswith("\n".join(report_lines(done)))


def test_homes_of_commuters_are_harder_to_find_with_habit() -> None:
    """Few people: the factor that is promised of many is in docs/traces.md; here only that it is there."""
    found = home_study(town(), commuters=2, cost=20.0)
    assert found["people"] == 2
    assert found["habit"]["informed_m"][-1] > 1.2 * found["no habit"]["informed_m"][-1]
    assert found["no habit"]["informed_m"][-1] < found["no habit"]["informed_m"][0]


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
