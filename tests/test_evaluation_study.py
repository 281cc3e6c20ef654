# SPDX-License-Identifier: Apache-2.0
"""Whole studies: channels of real metrics, stages that resume, claims, reports, commands, the paper's own figures."""

from __future__ import annotations

import csv
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

from geoelastic.bench import reproduce as bench_reproduce
from geoelastic.cli import main
from geoelastic.errors import FileError, InputError, OutsideError
from geoelastic.evaluation import frontier
from geoelastic.evaluation.adversary import binary_error, euclidean_error
from geoelastic.evaluation.attacks import home_recovery
from geoelastic.evaluation.baselines import laplace_channel, laplace_epsilons
from geoelastic.evaluation.elastic_channel import (
    _distances,
    cells_in,
    distance_table,
    elastic_channel,
    expected_errors,
    mechanism_channel,
    paper_channel,
    reporting_channel,
)
from geoelastic.evaluation.evaluate import TODAY, reproduce
from geoelastic.evaluation.frontier import by_density, four_laws, rate_of_error
from geoelastic.evaluation.paper_claims import judge_claims, judge_counts
from geoelastic.evaluation.paper_run import elastic_as_run, laplace_as_run
from geoelastic.evaluation.prior import Prior, prior_from_checkins
from geoelastic.evaluation.real_maps import AS_IN_THE_PAPER
from geoelastic.evaluation.study import AreaStudy, Study, run_study
from geoelastic.evaluation.study_areas import PAPER_AREAS, StudyArea, read_areas
from geoelastic.evaluation.study_stages import Stages, plain
from geoelastic.evaluation.utility import measure_utility
from geoelastic.fences import disc
from geoelastic.mass import Mass, mass_from_quality
from geoelastic.mechanism import ElasticMechanism
from geoelastic.metric import build_metric
from geoelastic.metric.sharpen import sharpen
from geoelastic.opening import load
from geoelastic.quality import quality_from_source, synthetic_quality
from geoelastic.sources.checkins import read_checkins

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "paris.toml"
ORIGIN = (48.85, 2.35)
pytestmark = pytest.mark.jit


@pytest.fixture(scope="module")
def metric() -> Any:
    """A map of 60 x 60 cells, dense on the left and five times thinner on the right."""
    rng = np.random.default_rng(7)
    mass = rng.uniform(0.5, 1.5, (60, 60)) / 28
    mass[:, 30:] /= 5
    return build_metric(Mass.from_array(mass, cell_m=100, origin=ORIGIN), sharpen=False)


@pytest.fixture(scope="module")
def prior(metric: Any) -> Prior:
    rng = np.random.default_rng(8)
    cell = np.flatnonzero(metric.secret[metric.locations.owner.ravel()])[rng.choice(2500, 40, replace=False)]
    xy = np.column_stack(metric.grid.cell_to_xy(*np.divmod(cell, metric.grid.cols)))
    return Prior(xy, cell, rng.dirichlet(np.ones(40)), sparse.csr_array((0, 40)), {})


@pytest.fixture(scope="module")
def files(metric: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The metric and some check-ins as files: 30 users with 1 to 6 of 80 places each."""
    folder = tmp_path_factory.mktemp("study")
    metric.save(folder / "map.geoelastic")
    rng = np.random.default_rng(9)
    row, col = rng.integers(6, 54, 80), rng.integers(6, 54, 80)
    lat, lon = metric.grid.cell_to_latlon(row, col)
    lines = [
        f"{user}\t2020-01-01T00:00:00Z\t{lat[p]:.6f}\t{lon[p]:.6f}\t{p}\n"
        for user in range(30)
        for p in rng.choice(80, rng.integers(1, 7), replace=False)
    ]
    (folder / "checkins.txt").write_text("".join(lines))
    points = [
        {
            "type": "Feature",
            "properties": {"name": name, "size_km": 2.4},
            "geometry": {
                "type": "Point",
                "coordinates": [float(v) for v in reversed(metric.grid.cell_to_latlon(30, c))],
            },
        }
        for name, c in (("dense", 17), ("thin", 43))
    ]
    (folder / "areas.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": points}))
    return folder


# --- channels of a metric


@pytest.mark.parametrize("output", ["mass", "uniform", "mass^2"])
def test_elastic_channel_is_the_mechanism(metric: Any, prior: Prior, output: str) -> None:
    channel = elastic_channel(distance_table(metric, prior), output=output)
    mechanism = ElasticMechanism(metric, output=output)
    exact = mechanism_channel(mechanism, prior)
    assert channel.total() == pytest.approx(1, abs=1e-12)
    for r in (0, 5, channel.n_inputs - 1):
        assert channel.row(r) == pytest.approx(exact.row(r), rel=1e-9)
    assert binary_error(channel, prior).overall == pytest.approx(binary_error(exact, prior).overall, rel=1e-9)


def test_a_fenced_secret_reports_evenly_over_its_fence(metric: Any) -> None:
    fenced = metric.with_fences([disc(*ORIGIN, 250)])
    cell = np.array([30 * 60 + 30, 10 * 60 + 10])
    xy = np.column_stack(fenced.grid.cell_to_xy(*np.divmod(cell, 60)))
    prior = Prior(xy, cell, np.array([0.5, 0.5]), sparse.csr_array((0, 2)), {})
    channel = elastic_channel(distance_table(fenced, prior))
    mechanism = ElasticMechanism(fenced)
    for place in (0, 1):
        location = int(fenced.locations.owner.ravel()[cell[place]])
        assert channel.row(int(channel.row_of_place[place])) == pytest.approx(
            mechanism.probabilities(location), rel=1e-9
        )
    assert binary_error(channel, prior).overall == pytest.approx(0)  # in the fence or not: that much a report tells


def test_the_papers_channel_is_cut(metric: Any, prior: Prior) -> None:
    table = distance_table(metric, prior)
    whole, full = paper_channel(table, prior), elastic_channel(table, output="uniform")
    assert whole.sound is False
    assert whole.total() == pytest.approx(1)
    row, other = whole.row(0), full.row(0)
    kept = row > 0
    assert not kept.all()
    assert np.array_equal(kept, metric.distances_from(int(table.inputs[0])) <= 2 * metric.l_top)
    assert row[kept] == pytest.approx(other[kept] / other[kept].sum(), rel=1e-6)
    box = paper_channel(table, prior, StudyArea("box", *ORIGIN, 3))
    assert box.outputs.n == len(np.union1d(cells_in(metric, StudyArea("box", *ORIGIN, 3)), prior.cell))
    assert box.total() == pytest.approx(1)


def test_expected_errors_are_the_utility_of_centres(metric: Any, prior: Prior) -> None:
    table = distance_table(metric, prior)
    single = np.flatnonzero(metric.locations.size[table.inputs] == 1)[:5]
    [found] = expected_errors(metric, table.inputs[single], elastic_channel)
    places = np.array([int(np.flatnonzero(table.row_of_place == r)[0]) for r in single])
    utility = measure_utility(elastic_channel(table), prior)
    assert found == pytest.approx(utility.per_place_m[places], rel=1e-6)


# --- stages


def test_stages_are_found_by_content_and_nothing_else(tmp_path: Path) -> None:
    calls = []

    def compute() -> dict[str, Any]:
        calls.append(1)
        return {"value": np.array([1.0, 2.0]), "worst": float("inf")}

    first = Stages(tmp_path).run("a stage", {"x": 1, "y": 2}, compute)
    again = Stages(tmp_path).run("a stage", {"y": 2, "x": 1}, compute)
    assert first == again == {"value": [1.0, 2.0], "worst": "infinite"}
    assert len(calls) == 1
    Stages(tmp_path).run("a stage", {"x": 1, "y": 3}, compute)
    Stages(tmp_path).run("another stage", {"x": 1, "y": 2}, compute)
    assert len(calls) == 3
    assert plain({"a": (1, 2)}) == plain({"a": np.array([1, 2])})
    assert plain({1: np.float64(2)}) == {"1": 2.0}


def test_a_stage_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> dict[str, Any]:
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        Stages(tmp_path).run("s", {}, broken)
    assert list(tmp_path.iterdir()) == []


# --- studies, claims, commands


def test_evaluate_command(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = [
        "evaluate", str(files / "map.geoelastic"), "--checkins", str(files / "checkins.txt"), "--areas",
        str(files / "areas.geojson"), "-o", str(tmp_path / "out"), "--json",
    ]  # fmt: skip
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    by_name = {(r["area"], r["mechanism"]): r for r in result["mechanisms"]}
    run = {"paper-run", "laplace=paper-run"}
    assert {m for _, m in by_name} >= run | {
        "elastic",
        "paper",
        "paper-box",
        "laplace=elastic",
        "grid-2km",
        "guard-high",
    }
    assert by_name["dense", "elastic"]["expected_m"] < by_name["thin", "elastic"]["expected_m"]
    # the pairs have the same noise everywhere: planar Laplace does not adapt
    laplace = [by_name[a, "laplace=elastic"]["expected_m"] for a in ("dense", "thin")]
    assert laplace[0] == pytest.approx(laplace[1], rel=0.02)
    assert by_name["dense", "paper"]["largest_loss_300m"] == "infinite"
    assert by_name["dense", "elastic"]["largest_loss_300m"] < 3
    out = tmp_path / "out"
    for name in ("maps", "errors", "binary", "euclidean", "trade-off", "recovery"):
        for kind in ("png", "svg", "pdf"):
            assert (out / "figures" / f"{name}.{kind}").stat().st_size > 1000
    report = (out / "index.html").read_text()
    assert "Mechanisms without a guarantee" in report
    assert "does not hold" in report or "holds" in report
    assert 'src="http' not in report  # needs nothing else
    rows = list(csv.DictReader((out / "mechanisms.csv").read_text().splitlines()))
    assert len(rows) == len(by_name)
    stored = json.loads((out / "results.json").read_text())
    _check_beyond(stored)
    before = {p.name: p.stat().st_mtime_ns for p in (out / "stages").iterdir()}
    # Figures are always drawn anew, and are looked at above.
    captions = {path.stem: "" for path in (out / "figures").iterdir()}
    monkeypatch.setattr(importlib.import_module("geoelastic.evaluation.evaluate"), "draw_figures", lambda *_: captions)
    again = CliRunner().invoke(main, arguments)
    assert json.loads(again.stdout) == result
    assert {p.name: p.stat().st_mtime_ns for p in (out / "stages").iterdir()} == before  # all found, none made anew


def _check_beyond(stored: dict[str, Any]) -> None:
    recovery = stored["recovery"]["results"]
    assert recovery["elastic"]["recovered"][-1] > recovery["elastic"]["recovered"][0]
    for name in ("elastic, sticky", "elastic, home in a fence"):
        assert len(set(recovery[name]["recovered"])) == 1  # more reports tell nothing more
    for gap in stored["gaps"].values():
        assert 0 < gap["bound_m"] <= gap["remapped_m"] <= gap["reported_m"]
    assert {c["mechanism"] for c in stored["claims"]} == {"paper-run", "elastic", "elastic-mass-squared"}


def test_own_prior_knows_more_than_the_global_one(metric: Any, files: Path) -> None:
    study = _study(metric, files, ("whole", 4.0))
    result = run_study(study, Stages(files / "own"), mechanisms=["elastic"])
    found = result["areas"]["whole"]["mechanisms"]["elastic"]
    assert found["own_prior"]["users"] == 30
    assert np.mean(found["own_prior"]["binary_per_user"]) < np.mean(found["binary_per_user"])
    assert found["worst"]["excluded"] == 0
    assert 0 < found["worst"]["entropy_bits"] < found["worst"]["prior_bits"]


def test_a_sharpened_metric_is_judged_by_what_it_reports(metric: Any, files: Path) -> None:
    sharp = sharpen(metric)
    study = _study(sharp, files, ("whole", 4.0))
    result = run_study(study, Stages(files / "sharp"), mechanisms=["elastic", "sharpened"])
    found = result["areas"]["whole"]["mechanisms"]
    assert set(found) == {"elastic", "sharpened", "laplace=elastic", "laplace=sharpened"}
    assert found["sharpened"]["expected_m"] < found["elastic"]["expected_m"]
    part = AreaStudy(study, study.areas[0])
    channel = mechanism_channel(ElasticMechanism(sharp), part.prior)
    assert found["sharpened"]["euclidean_m"] == pytest.approx(euclidean_error(channel, part.prior).overall)
    assert "sharpened" not in AreaStudy(_study(metric, files, ("whole", 4.0)), study.areas[0]).makers({})


def _study(metric: Any, files: Path, area: tuple[str, float], **options: Any) -> Study:
    areas = (StudyArea(area[0], *ORIGIN, area[1]),)
    return Study(metric, "m", read_checkins(files / "checkins.txt"), "c", areas, **options)


def test_areas_without_check_ins_are_refused(metric: Any, files: Path) -> None:
    study = _study(metric, files, ("whole", 4.0))
    with pytest.raises(OutsideError, match="the area 'sea' must hold check-ins"):
        AreaStudy(study, StudyArea("sea", 40.0, -30.0, 5))


def test_density_snapping_follows_people(metric: Any, files: Path) -> None:
    people = np.full(metric.grid.shape, 100.0)
    part = AreaStudy(_study(metric, files, ("whole", 4.0), people=people, people_min=1000), StudyArea("w", *ORIGIN, 4))
    channel = part.makers({})["density"]()
    # 4 x 4 cells hold 1600 people, 2 x 2 only 400: everybody is within a 400 m square
    assert measure_utility(channel, part.prior).per_place_m.max() <= 200 * np.sqrt(2)


def test_claims_need_two_areas_and_say_what_fails() -> None:
    def side(binary: float, metres: float) -> dict[str, Any]:
        return {"binary_per_user": [binary] * 3, "euclidean_per_user_m": [metres] * 3, "expected_m": 1478.0}

    def area(ours: tuple[float, float], pl: tuple[float, float], noise: float, events: int) -> dict[str, Any]:
        return {
            "mechanisms": {"paper-run": side(*ours), "laplace=paper-run": side(*pl)},
            "errors": {"paper_m": [noise] * 9 + [800.0], "elastic_m": [noise]},
            "prior": {"events": events, "checkins": events},
        }

    study = {
        "areas": {
            "city": area((0.95, 1056), (0.95, 1180), 1500, 9629),
            "suburb": area((0.9, 1500), (0.7, 900), 3100, 449),
        },
        "calibration": {"paper-run": {"a": 0.00132, "b": 0.00138}},
        "epsilons": {"paper-run": 0.001353},
    }  # fmt: skip
    claims = judge_claims(study) + judge_counts(study)
    assert {c.paper[:30]: c.holds for c in claims if not c.holds} == {}
    study["areas"]["city"]["mechanisms"]["paper-run"] = side(0.5, 2000) | {"expected_m": 1280.0}
    failed = [c.about for c in judge_claims(study) if not c.holds]
    assert failed == ["calibration", "binary error", "Euclidean error", "Euclidean error"]
    assert judge_claims({"areas": {"one": {}}}) == []


def test_homes_on_a_small_map(metric: Any) -> None:
    area = StudyArea("middle", *ORIGIN, 2.0)
    found = home_recovery(metric, area, homes=2, n=(1, 30), runs=5, epsilon=0.003, seed=3)
    assert set(found["results"]) == {"elastic", "elastic, sticky", "elastic, home in a fence", "planar Laplace"}
    assert found["results"]["planar Laplace"]["bayes_m"][1] < found["results"]["planar Laplace"]["bayes_m"][0]
    assert found == home_recovery(metric, area, homes=2, n=(1, 30), runs=5, epsilon=0.003, seed=3)
    with pytest.raises(InputError, match="must lie on the map"):
        home_recovery(metric, StudyArea("far", 40.0, 2.0, 2))


def test_distances_found_together_are_those_found_alone(metric: Any) -> None:
    """More sources than share one search, in no order, some of them behind a fence."""
    fenced = metric.with_fences([disc(*ORIGIN, 250)])
    some = np.random.default_rng(2).permutation(fenced.n)[:300]
    assert (fenced.fence[some] > 0).any()
    seen = 0
    for numbers, units in _distances(fenced, some, workers=2):
        for k, row in zip(numbers, units, strict=True):
            assert np.array_equal(row, fenced.distance_units_from(int(some[k])))
            seen += 1
    assert seen == len(some)


def test_the_frontier_on_a_small_map(metric: Any, files: Path, tmp_path: Path) -> None:
    """Rows of every kind, planar Laplace of equal error, nothing twice; no report leaves the prior's best guess."""
    sharp = sharpen(metric)
    areas = read_areas(files / "areas.geojson")
    checkins = read_checkins(files / "checkins.txt")
    priors = [prior_from_checkins(area.cut(checkins), metric.grid) for area in areas]
    ours = [frontier.sharpened(sharp, "digest", 300)]
    stages = Stages(tmp_path)
    first = frontier.area_rows(areas[0], priors[0], ours, stages)
    epsilon = 2 / first[0]["error_m"]
    every = [*ours, *frontier.baselines(metric.grid, [epsilon], np.full(metric.grid.shape, 50.0))]
    rows = [row for a, prior in zip(areas, priors, strict=True) for row in frontier.area_rows(a, prior, every, stages)]
    assert sum(entry["found"] for entry in stages.log) == 2  # ours and no report, in the first area
    assert [row["mechanism"] for row in rows[:3]] == ["elastic", "planar Laplace", "grid"]
    ratio = frontier.equal_utility(rows)[0]
    assert ratio["error_m"] == pytest.approx(1, abs=0.02)
    nothing = rows[len(rows) // 2 - 1]
    apart = np.hypot(*(priors[0].xy[:, None] - priors[0].xy[None]).transpose(2, 0, 1))
    guess = int(np.argmin(priors[0].weights @ apart))
    assert nothing["adversary_median_m"] == round(float(np.median(priors[0].per_user(apart[:, guess]))))
    assert nothing["error_m"] is None
    assert all(row["adversary_worst_tenth_m"] <= row["adversary_median_m"] for row in rows)
    channel = mechanism_channel(ElasticMechanism(sharp), priors[0])
    assert frontier.point(channel, priors[0])["adversary_median_m"] == first[0]["adversary_median_m"]
    assert frontier.frontier_png(rows, "nobody")[:4] == b"\x89PNG"


def test_laws_of_equal_error(metric: Any, files: Path) -> None:
    """The first law is what the map reports, the last planar Laplace over its locations; all err as much."""
    sharp = sharpen(metric)
    area = read_areas(files / "areas.geojson")[0]
    prior = prior_from_checkins(area.cut(read_checkins(files / "checkins.txt")), metric.grid)
    rows = four_laws(sharp, prior, area)
    assert [(row["distances"], row["reports"]) for row in rows] == [
        ("the map's", "by mass"), ("the map's", "even"), ("straight", "by mass"), ("straight", "even"),
    ]  # fmt: skip
    own = measure_utility(reporting_channel(sharp, prior), prior)
    for row in rows:
        assert row["error_m"] == pytest.approx(own.expected_m, rel=2e-3, abs=1)
        assert row["half_of_reports_within_m"] < row["95_percent_within_m"]
        assert 0 <= row["outside_the_square"] <= 1
    assert rows[0]["adversary_m"] == round(euclidean_error(reporting_channel(sharp, prior), prior).overall)
    with_goal = rate_of_error(lambda rate: 3 / rate**0.9, 7.0, 1.0)
    assert 3 / with_goal**0.9 == pytest.approx(7, rel=1e-3)


def test_tenths_hold_as_many_visits_each() -> None:
    weights = np.full(40, 1 / 40)
    prior = Prior(np.zeros((40, 2)), np.arange(40), weights, sparse.csr_array((0, 40)), {})
    density = np.random.default_rng(2).permutation(40).astype(float)
    rows = by_density(prior, density, error_m=10 * density)
    assert [row["tenth"] for row in rows] == list(range(1, 11))
    assert [row["error_m"] for row in rows] == pytest.approx([10 * row["density"] for row in rows])
    assert [row["density"] for row in rows] == sorted(row["density"] for row in rows)
    assert np.mean([row["density"] for row in rows]) == pytest.approx(density.mean(), rel=0.06)


def test_both_parts_of_a_reproduction(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a small map in place of Paris: reports of both parts, from what is built as in the paper and by default."""
    module = sys.modules["geoelastic.evaluation.evaluate"]
    plain_map = load(files / "map.geoelastic")
    built = []

    def paris(source: Any, size_km: float, **build: bool) -> Study:
        built.append(build)
        checkins, areas = read_checkins(files / "checkins.txt"), read_areas(files / "areas.geojson")
        chosen = plain_map if build else sharpen(plain_map)
        return Study(chosen, f"map {sorted(build)}", checkins, "some", areas)

    monkeypatch.setattr(module.RealData, "require", lambda self, names: None)
    monkeypatch.setattr(module, "_paris_study", paris)
    monkeypatch.setattr(module, "synthetic_quality", lambda name: synthetic_quality(name, rows=80, cols=80))
    monkeypatch.setattr(module, "beyond", lambda study, result, stages: {})
    # a process of its own would not know what is put in place here
    done = reproduce(tmp_path, tmp_path / "out", san_francisco=False, workers=1)
    assert built == [AS_IN_THE_PAPER, {}]
    assert set(done) == {"seconds", "paris", "paris today", "commuters today"}
    assert "paper-run" in done["paris"]["result"]["areas"]["dense"]["mechanisms"]
    for name in ("paris today", "commuters today"):
        for area in done[name]["result"]["areas"].values():
            assert set(area["mechanisms"]) == {*TODAY, "laplace=sharpened"}
            assert "sharpened_m" in area["errors"]
    recorded = bench_reproduce.figures(done, {"wall_s": 60, "cpu_s": 90, "peak_GB": 1.0, "found": 0})
    assert "| paris today | dense | sharpened |" in recorded["parts"]["paris-today"]
    assert bench_reproduce.summary(recorded["rows"])[0][2] == "1.0 min (90 s of processor time), 1.0 GB a process"


def test_reproduce_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="must hold paris/filosofi"):
        reproduce(tmp_path, tmp_path / "out")
    with pytest.raises(InputError, match="'workers' must be"):
        reproduce(tmp_path, tmp_path / "out", workers=0)
    done = CliRunner().invoke(main, ["reproduce", "--data", str(tmp_path), "-o", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert "must hold" in done.stderr


# --- the real city


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason="the real data is not beside the project")
def test_the_papers_figures_on_the_real_paris() -> None:
    """The mechanism as the paper ran it, on a map of 20 km: all of the paper's figures of the city within 5 %."""
    from geoelastic.area import Area

    quality = quality_from_source(EXAMPLE, Area.around(48.8567, 2.3487, size_km=20), 100)
    mass = mass_from_quality(quality, city=(48.8567, 2.3487, 5600.0))
    metric = build_metric(mass, cartogram=False, ascent=False, sharpen=False)
    paris = PAPER_AREAS[0]
    prior = prior_from_checkins(paris.cut(read_checkins(DATA / "checkins" / "gowalla_paris_30km.txt")), metric.grid)
    assert (prior.info["events"], prior.n_users) == (9_629, 1_138)
    run = elastic_as_run(distance_table(metric, prior), prior, paris)
    utility = measure_utility(run.utility, run.prior)
    epsilons = list(laplace_epsilons(utility).values())
    assert utility.expected_m == pytest.approx(2 / 0.001353, rel=0.05)
    assert np.mean(epsilons) == pytest.approx(0.001353, rel=0.05)
    assert max(epsilons) / min(epsilons) < 1.1
    laplace = laplace_as_run(metric, prior, paris, float(np.mean(epsilons)))
    for seen, median in ((run, 1056), (laplace, 1180)):
        metres = euclidean_error(seen.adversary, seen.prior, guesses=seen.adversary.outputs.xy)
        assert np.median(seen.prior.per_user(metres.per_place)) == pytest.approx(median, rel=0.05)


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason="the real data is not beside the project")
def test_planar_laplace_in_the_real_suburb() -> None:
    from geoelastic.area import Area
    from geoelastic.locations import Grid

    nanterre = PAPER_AREAS[1]
    grid = Grid.over(Area.around(48.8567, 2.3487, size_km=75), 100)
    prior = prior_from_checkins(nanterre.cut(read_checkins(DATA / "checkins" / "gowalla_paris_30km.txt")), grid)
    channel = laplace_channel(prior, grid, 0.001353)
    binary = prior.per_user(binary_error(channel, prior).per_place)
    metres = prior.per_user(euclidean_error(channel, prior).per_place)
    # the paper: as low as 0.62 for some, and lower than the 1180 m of the city
    assert np.percentile(binary, 5) < 0.75
    assert np.median(metres) < 1180
