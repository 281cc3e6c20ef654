# SPDX-License-Identifier: Apache-2.0
"""Traces from files to files: the public clock, fences, the border, habit, live ticks, the ledger, the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import geoelastic as ge
from geoelastic.accounts.budget import Budget
from geoelastic.accounts.ledger import Ledger
from geoelastic.cli import main
from geoelastic.fences import cells_to_shape
from geoelastic.sources.traces import Trace, traces_from_frame
from geoelastic.traces import Clock, Habit
from geoelastic.traces.trace_files import charge, read_habits, release_file, write_releases
from maps import PARIS, small_metric

DAY_S = 1_772_409_600.0  # Monday 2 March 2026, 00:00 UTC


def mechanism(metric: Any = None, **options: Any) -> Any:
    return ge.TraceMechanism(ge.ElasticMechanism(small_metric() if metric is None else metric), **options)


def walk(user: str = "", hours: float = 3, every_s: float = 47, seed: int = 3) -> Trace:
    """Fixes at a rhythm of their own, back and forth over the middle of the small map."""
    rng = np.random.default_rng(seed)
    time_s = DAY_S + 8 * 3600 + np.cumsum(rng.uniform(0.5, 1.5, int(hours * 3600 / every_s)) * every_s)
    area = small_metric().grid.area
    lat, lon = area.to_latlon(400 * np.sin(time_s / 2000), 300 * np.cos(time_s / 3000))
    return Trace(user, lat, lon, time_s)


def save_csv(path: Path, traces: list[Trace]) -> Path:
    rows = [f"{t.user},{a},{o},{s}" for t in traces for a, o, s in zip(t.lat, t.lon, t.time_s, strict=True)]
    path.write_text("\n".join(["user,lat,lon,time", *rows]) + "\n")
    return path


def fenced_metric() -> Any:
    metric = small_metric()
    mask = np.zeros(metric.grid.shape, bool)
    mask[
        metric.grid.rows // 2 - 1 : metric.grid.rows // 2 + 1, metric.grid.cols // 2 - 1 : metric.grid.cols // 2 + 1
    ] = True
    return metric.with_fences([cells_to_shape(metric.grid, mask)], workers=1)


def test_the_clock_holds_the_last_place_and_keeps_nothing_of_the_rhythm() -> None:
    trace = Trace("", np.array([48.0, 49.0, 50.0]), np.zeros(3), np.array([1000.0, 1250.0, 5000.0]))
    clock = Clock.of(trace, 600)
    assert clock.ticks.tolist() == [600 * k for k in range(1, 10)]
    assert clock.fixes(trace).tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 2]
    whole_day = Clock.between(0, 86_400, 600)
    assert whole_day.steps == 144
    assert whole_day.fixes(trace)[-1] == 2
    with pytest.raises(ge.InputError, match="the clock must tick every"):
        mechanism().places(walk(), Clock(0, 60, 3))


def test_the_border_is_not_an_error_and_is_told_to_the_owner_only(tmp_path: Path) -> None:
    metric = small_metric(frame=0.1)
    traces = mechanism(metric)
    area = metric.grid.area
    lat, lon = area.to_latlon(np.array([0.0, 50_000.0, 590.0]), np.array([0.0, 0.0, 0.0]))
    trace = Trace("", lat, lon, DAY_S + np.array([0.0, 600.0, 1200.0]))
    places = traces.places(trace)[1]
    assert metric.secret[places].all()
    assert traces.clamped(trace) == 2
    source, out = save_csv(tmp_path / "t.csv", [trace]), tmp_path / "out.csv"
    told = release_file(traces, [source], out)
    assert told["clamped_ticks"] == 2
    assert "clamp" not in out.read_text()


def test_a_fence_cuts_the_trace_and_a_stay_in_it_is_told_as_the_fence() -> None:
    metric = fenced_metric()
    traces = mechanism(metric)
    inside = np.flatnonzero(metric.fence > 0)
    outside = np.flatnonzero((metric.fence == 0) & metric.secret)[:2]
    trace = [outside[0]] * 5 + [inside[0]] * 4 + [outside[1]] * 6
    release = traces.release(trace, rng=ge.SeededRandom(1))
    assert (release.fence > 0).tolist() == [False] * 5 + [True] * 4 + [False] * 6
    assert np.all(metric.fence[release.location[5:9]] > 0)
    assert len(set(release.location[5:9].tolist())) == 1
    assert np.all(metric.fence[release.location[:5]] == 0)
    assert release.paid_hours == pytest.approx(11 * 10 / 60)
    other = [outside[0]] * 5 + [inside[-1]] * 4 + [outside[1]] * 6
    assert traces.bound(trace, other) == 0
    assert traces.log_probability(release, trace) == traces.log_probability(release, other)
    assert traces.bound(trace, [outside[0]] * 15) == math.inf
    assert traces.log_probability(release, [outside[0]] * 15) == -math.inf


def test_blocks_use_what_was_released_before_and_their_chances_multiply() -> None:
    traces = mechanism(block_hours=0.5, step_minutes=10)
    trace = [3, 3, 9, 9, 20, 20, 20]
    release = traces.release(trace, rng=ge.SeededRandom(4))
    assert [piece[:2] for piece in traces._pieces(np.array(trace))] == [(0, 3), (3, 6), (6, 7)]
    whole = traces.log_probability(release, trace)
    first = mechanism(block_hours=0.5).log_probability(release.location[:3], trace[:3])
    rest = whole - first
    habit = Habit().after(release.location[:3].tolist(), 600)
    passes = traces._passes(np.array(trace[3:6]), habit, int(release.location[2]))
    last = traces._passes(
        np.array(trace[6:]), habit.after(release.location[3:6].tolist(), 600), int(release.location[5])
    )
    parts = passes.log_probability(release.location[3:6]) + last.log_probability(release.location[6:])
    assert rest == pytest.approx(parts, rel=1e-12)


@pytest.mark.parametrize("name", ["out.gpx", "out.csv", "out.parquet", "out.geojson"])
def test_many_people_to_any_format_and_back_as_a_habit(tmp_path: Path, name: str) -> None:
    traces = mechanism()
    source = save_csv(tmp_path / "in.csv", [walk("ann"), walk("bob", seed=8)])
    out = tmp_path / name
    told = release_file(traces, [source], out, rng=ge.SeededRandom(2))
    assert told["users"] == 2
    assert told["seeded"]
    again = ge.read_traces(out)
    assert {t.user for t in again} == ({""} if name.endswith("gpx") else {"ann", "bob"})
    ticks = np.concatenate([t.time_s for t in again])
    assert np.all(ticks % 600 == 0)
    habits = read_habits(traces, [out])
    assert sum(sum(h.seconds.values()) for h in habits.values()) == len(ticks) * 600
    with pytest.raises(ge.InputError, match="not released ones"):
        read_habits(traces, [source])


def test_habit_draws_later_releases_to_earlier_ones() -> None:
    traces = mechanism(small_metric(), rate=0.05)
    place = 17
    habit = Habit({place: 86_400})
    hits = [
        np.mean([traces.release([place] * 6, past, ge.SeededRandom(k)).location[0] == place for k in range(60)])
        for past in (None, habit)
    ]
    assert hits[1] > hits[0] + 0.2


def test_live_reports_change_at_ticks_only_and_go_on_from_what_was_kept() -> None:
    live = ge.LiveTrace(ge.ElasticMechanism(small_metric()), tick_minutes=120)
    rng = ge.SeededRandom(5)
    first = live.report(*PARIS, time_s=DAY_S, rng=rng)
    area = small_metric().grid.area
    elsewhere = [float(v) for v in area.to_latlon(300.0, 200.0)]
    assert live.report(*elsewhere, time_s=DAY_S + 7199, rng=rng) == first
    later = {live.report(time_s=DAY_S + 7200 * k, rng=rng) for k in range(1, 30)}
    assert len(later) > 1
    assert live.cost(24).pure == pytest.approx(0.5 * 24 * math.log(2))
    kept = json.loads(json.dumps(live.state()))
    other = ge.LiveTrace(ge.ElasticMechanism(small_metric()), tick_minutes=120)
    other.resume(kept)
    assert other.habit == live.habit
    assert other.report(*PARIS, time_s=DAY_S + 7200 * 29) == live.report(time_s=DAY_S + 7200 * 29)
    with pytest.raises(ge.InputError, match="resumed"):
        other.resume({"seconds": 3})
    with pytest.raises(ge.InputError, match="first report"):
        ge.LiveTrace(ge.ElasticMechanism(small_metric())).report()


def test_blocks_and_reports_add_up_in_one_ledger_and_windows_hold(tmp_path: Path) -> None:
    traces = mechanism()
    place, path = [5] * 144, tmp_path / "ledger.json"
    days = [traces.release(place, rng=ge.SeededRandom(1))]
    charge(traces, days, path, None, "me")
    book = Ledger.load(path)
    assert book.cost("me", math.log(2)).pure == pytest.approx(12 * math.log(2))
    assert book.cost("me", math.log(2)).rho == pytest.approx(traces.cost(24).rho)
    book.charge("me", "elastic:x", fresh=3)
    assert book.cost("me", 1.0).pure == pytest.approx(15)
    # half of the day costs half
    assert book.cost("me", 1.0, since=0, until=11).pure == pytest.approx(6)
    with pytest.raises(ge.CheckError, match="more than the budget"):
        charge(traces, days, path, Budget(9, hours=24), "me")
    assert Ledger.load(path).cost("me", 1.0).pure == pytest.approx(12)
    parquet = tmp_path / "ledger.parquet"
    book.save(parquet)
    assert Ledger.load(parquet).users == book.users


def test_nothing_is_in_its_place_before_the_charge(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    release = mechanism().release(walk(), rng=ge.SeededRandom(1))

    def refuse() -> None:
        raise ge.CheckError("no")

    with pytest.raises(ge.CheckError):
        write_releases([release], out, before=refuse)
    assert not out.exists()


def test_frames_with_a_time_index_are_traces() -> None:
    pd, gpd = pytest.importorskip("pandas"), pytest.importorskip("geopandas")
    trace = walk(hours=0.5)
    frame = gpd.GeoDataFrame(
        {"traj_id": ["ann"] * len(trace)},
        geometry=gpd.points_from_xy(trace.lon, trace.lat),
        crs=4326,
        index=pd.DatetimeIndex(pd.to_datetime(trace.time_s, unit="s", utc=True), name="t"),
    )
    (found,) = traces_from_frame(frame)
    assert found.user == "ann"
    assert np.allclose(found.time_s, trace.time_s)
    assert np.allclose(found.lat, trace.lat)


def test_the_command_line_releases_charges_and_tells_the_cost(tmp_path: Path) -> None:
    small_metric().save(tmp_path / "map.geoelastic")
    source = save_csv(tmp_path / "day.csv", [walk()])
    common = [str(tmp_path / "map.geoelastic"), str(source), "--json"]
    run = CliRunner().invoke
    first = run(
        main,
        ["trace", "release", *common, "-o", str(tmp_path / "a.gpx"), "--from", "2026-03-02", "--until", "2026-03-03",
         "--ledger", str(tmp_path / "ledger.json"), "--budget", "9", "--per", "day"],
    )  # fmt: skip
    assert first.exit_code == 0, first.output
    told = json.loads(first.stdout)
    assert told["ticks"] == 144
    assert told["spent"]["me"]["cost"] == pytest.approx(12 * math.log(2))
    again = ["trace", "release", *common, "-o", str(tmp_path / "b.gpx"), "--past", str(tmp_path / "a.gpx"), "--from"]
    again += ["2026-03-02", "--until", "2026-03-03", "--ledger", str(tmp_path / "ledger.json"), "--budget", "9"]
    second = run(main, [*again, "--per", "day"])
    assert second.exit_code == 1
    assert not (tmp_path / "b.gpx").exists()
    cost = run(main, ["trace", "cost", common[0]])
    assert "an hour's stop is told from" in cost.output
    at = run(main, ["trace", "cost", common[0], "--at", f"{PARIS[0]},{PARIS[1]}"])
    assert "300 m away by at most a factor of" in at.output
    assert run(main, ["trace", "release", *common, "-o", str(tmp_path / "c.gpx"), "--budget", "9"]).exit_code == 2
