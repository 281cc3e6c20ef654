# SPDX-License-Identifier: Apache-2.0
"""Sharpened reports: private for the metric by brute force, and not beyond; far less noise; nothing that is stored for
one map is used on another."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner, Result

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.errors import FileError, InputError
from geoelastic.fences import disc
from geoelastic.mechanism.expected_errors import weight_totals
from geoelastic.mechanism.geox_mechanism import load_mechanism, mechanism_bytes, save_mechanism
from geoelastic.mechanism.sticky import Sticky
from geoelastic.metric import resharpen as resharpen_module
from geoelastic.metric import sharpen as sharpen_module
from geoelastic.metric.measures import output_measure
from geoelastic.metric.relief import COARSE, FINE, MOST_SLACK, Relief, lowered
from geoelastic.metric.sharpen import sharpen
from geoelastic.metric.verify_relief import check_relief
from maps import PARIS, small_mass, small_metric
from reference.mechanism import exact_rows, worst_use
from statistical.toolbox import NEVER, assert_chi_square
from test_privacy import dead_end


def geoelastic(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def city():
    """A made-up town of some hundred locations."""
    mass = ge.mass_from_quality(ge.synthetic_quality("city", rows=40, cols=44, seed=2), r_small=200, r_large=900)
    return ge.build_metric(mass, l_top=1.2, sharpen=False)


@pytest.fixture(scope="module")
def sharp(city):
    return sharpen(city)


@pytest.mark.parametrize("method", ["conformal", "paper"])
@pytest.mark.parametrize("output", ["mass", "uniform", "mass^2"])
def test_every_triple_on_a_small_map(method, output):
    metric = small_metric(method, "adaptive", rows=6, cols=6, l_top=0.8)
    mechanism = ge.ElasticMechanism(sharpen(metric, output=output), output=output)
    assert mechanism.sharpened
    assert mechanism.exponent == 1
    assert 0.1 < worst_use(metric, exact_rows(mechanism)) <= 1
    half = ge.ElasticMechanism(metric, output=output)
    assert np.mean(mechanism.expected_errors()["mean"]) < np.mean(half.expected_errors()["mean"])


def test_the_guarantee_is_nearly_used_up_beside_a_dense_block():
    metric = dead_end()
    assert 0.95 < worst_use(metric, exact_rows(ge.ElasticMechanism(sharpen(metric)))) <= 1


def test_flat_heights_are_too_much_beside_a_dense_block_and_the_check_says_so():
    """The other side: with all of each distance for the weights and nothing for the normaliser some pair exceeds d."""
    metric = dead_end()
    flat = replace(metric, relief=Relief(np.zeros(metric.n, np.int32), "mass", Relief.key(metric)))
    found = check_relief(flat)
    assert not found["ok"]
    assert found["worst"] > 1
    with pytest.raises(AssertionError):
        worst_use(metric, exact_rows(ge.ElasticMechanism(flat)))


def test_the_check_is_the_definition_on_every_edge(city, sharp):
    """w' + |ln S - ln S'| <= w, from probabilities: K(x)(x) = mu(x) w(0) / S(x)."""
    mechanism = ge.ElasticMechanism(sharp)
    report = check_relief(sharp)
    assert report["ok"]
    log_total = np.full(city.n, np.nan)
    for i in np.flatnonzero(city.secret):
        log_total[i] = np.log(mechanism.measure[i] / mechanism.probabilities(int(i))[i]) * 2**13
    used = [
        (low + abs(log_total[a] - log_total[b])) / w
        for (a, b, w), low in zip(
            zip(*city.graph.edges(), strict=True), mechanism.reporting.graph.edges()[2], strict=True
        )
    ]
    assert report["edges"] == len(used)
    assert report["worst"] >= np.nanmax(used) - 1e-6
    assert np.nanmax(used) <= 1


def test_heights_that_are_wrong_by_a_little_are_found(city, sharp):
    """One height is moved by more and more units: the check never passes where S by its definition fails, and it fails
    little before."""
    tail, tip, weight = city.graph.edges()
    middle = int(np.flatnonzero(city.secret)[city.n // 2])
    around = np.zeros(city.n, bool)
    around[np.concatenate([[middle], tip[tail == middle], tail[tip == middle]])] = True
    said = []
    for more in (0, 10, 20, 40, 80, 160):
        height = sharp.relief.height.copy()
        height[middle] += more
        spoilt = replace(sharp, relief=replace(sharp.relief, height=height))
        mechanism = ge.ElasticMechanism(spoilt)
        totals = weight_totals(mechanism, [mechanism.weights], only=around)[:, 0]
        log_total = np.log(np.where(around, totals, np.nan))
        low = mechanism.reporting.graph.edges()[2]
        used = low + np.abs(log_total[tail] - log_total[tip]) * 2**13
        exact = bool(np.nanmax(used / weight) <= 1)
        said.append((exact, check_relief(spoilt)["ok"]))
    assert said[0] == (True, True)
    assert said[-1] == (False, False)
    assert all(exact or not checked for exact, checked in said)
    assert sum(exact != checked for exact, checked in said) <= 1


def test_a_slack_that_is_less_than_heights_were_found_for_is_found(city):
    """A file may state any slack: heights that are good for a coarse one are over with a finer one, by S as it is, and
    the check says so; of a coarser one than they were found for it says what is true."""
    coarse = sharpen(city, slack=COARSE)
    assert coarse.relief.slack == COARSE
    tail, tip, weight = city.graph.edges()
    said = {}
    for slack in (1, COARSE, MOST_SLACK):
        stated = replace(coarse, relief=replace(coarse.relief, slack=slack))
        mechanism = ge.ElasticMechanism(stated)
        log_total = np.log(weight_totals(mechanism, [mechanism.weights])[:, 0])
        used = mechanism.reporting.graph.edges()[2] + np.abs(log_total[tail] - log_total[tip]) * 2**13
        said[slack] = check_relief(stated)["ok"]
        assert said[slack] <= bool(np.all(used <= weight))
    assert said[COARSE]
    assert not said[MOST_SLACK]


def test_a_map_that_does_not_settle_with_a_fine_slack_gets_a_coarse_one(city, sharp, monkeypatch):
    assert sharp.relief.slack == FINE
    monkeypatch.setattr(sharpen_module, "FINE_PASSES", 8)
    coarser = sharpen(city)
    assert coarser.relief.slack == COARSE
    assert check_relief(coarser)["ok"]
    assert full_use(coarser) <= 1
    errors = [ge.ElasticMechanism(one).expected_errors()["mean"].mean() for one in (city, coarser, sharp)]
    assert errors[0] > 1.1 * errors[1] > 1.1 * errors[2]


def test_a_file_states_a_slack_that_is_not_coarse(tmp_path, city, sharp):
    for one, stated in ((sharpen(city, slack=COARSE), False), (sharp, True)):
        one.save(tmp_path / "m.geoelastic")
        save_mechanism(ge.ElasticMechanism(one), tmp_path / "m.geox")
        assert (b'"slack":10' in (tmp_path / "m.geox").read_bytes()) is stated
        for name in ("m.geoelastic", "m.geox"):
            loaded = ge.load(tmp_path / name)
            assert loaded.relief.slack == one.relief.slack
            assert loaded.relief.digest == one.relief.digest
    renamed = replace(sharp.relief, slack=COARSE)
    assert renamed.digest != sharp.relief.digest  # keyed reports of the two have nothing in common


def test_the_heights_do_not_depend_on_the_number_of_threads(city, sharp):
    assert np.array_equal(sharpen(city, workers=1).relief.height, sharp.relief.height)
    assert np.array_equal(sharpen(city, workers=3).relief.height, sharp.relief.height)


@pytest.fixture(scope="module")
def strip():
    """A valley thirty times as long as wide, with towns in it: most of it is beyond any search."""
    rng = np.random.default_rng(11)
    cells = 0.02 + 0.2 * rng.random((8, 240)) ** 4
    for town in (30, 110, 190):
        cells[2:6, town : town + 8] += 0.5
    return ge.build_metric(ge.Mass.from_array(cells, cell_m=100, origin=PARIS), l_top=0.8, frame=0.0, sharpen=False)


@pytest.mark.parametrize("output", ["mass", "mass^2"])
def test_what_lies_beyond_the_searches_is_bounded(strip, output):
    """The inequality by full sums, on a map of which a search sees a small part."""
    sharp = sharpen(strip, output=output)
    mechanism = ge.ElasticMechanism(sharp, output=output)
    farthest = strip.distances_from(0).max()
    assert farthest > 3 * sharpen_module.CERTIFY_FINE
    totals = weight_totals(mechanism, [mechanism.weights])[:, 0]
    log_total = np.log(totals) * 2**13
    tail, tip, weight = strip.graph.edges()
    used = (mechanism.reporting.graph.edges()[2] + np.abs(log_total[tail] - log_total[tip])) / weight
    assert used.max() <= sharp.relief.certificate["worst"] <= 1
    assert used.max() > 0.9
    report = check_relief(sharp)
    assert report["ok"]
    assert used.max() <= report["worst"] <= 1


def test_the_measure_that_is_sampled_is_the_one_that_is_checked(city, sharp):
    measure = output_measure(city, "mass")
    assert check_relief(sharp, measure)["ok"]
    peaked = measure.copy()
    peaked[city.n // 2] = 2**30
    assert not check_relief(sharp, peaked)["ok"]


@pytest.mark.parametrize("slack", [1, 7, 10, 24])
def test_lowered_weights_by_hand(city, slack):
    rng = np.random.default_rng(3)
    height = rng.integers(0, 4000, city.n).astype(np.int32)
    low = lowered(city.graph, height, slack)
    for i in range(0, city.n, 17):
        for a in range(low.start[i], low.start[i + 1]):
            w, slope = int(city.graph.weight[a]), abs(int(height[i]) - int(height[low.index[a]]))
            assert low.weight[a] == max(0, w - w // 2**slack - 4 - slope)


def test_noise_falls_and_reports_follow_the_probabilities(city, sharp):
    half, mechanism = ge.ElasticMechanism(city), ge.ElasticMechanism(sharp)
    error, before = mechanism.expected_errors()["mean"], half.expected_errors()["mean"]
    assert error.mean() < 0.9 * before.mean()
    i = int(np.flatnonzero(city.secret)[city.secret.sum() // 2])
    chances = mechanism.probabilities(i)
    counts = np.bincount(mechanism.sample(i, 40_000, rng=ge.SeededRandom(1)), minlength=city.n)
    assert_chi_square(counts, chances, alpha=NEVER)
    rows, cols = mechanism.sample_cells(np.repeat([i, i + 1, i + 2], 20_000), rng=ge.SeededRandom(2))
    shared = np.bincount(city.locations.owner[rows, cols][:20_000], minlength=city.n)
    assert_chi_square(shared, chances, alpha=NEVER)
    full = ge.ElasticMechanism(sharp, lazy=False)
    assert_chi_square(
        np.bincount(full.sample(i, 20_000, rng=ge.SeededRandom(3)), minlength=city.n), chances, alpha=NEVER
    )


def test_other_measures_and_masks_do_not_use_the_relief(sharp):
    never = np.zeros(sharp.n, bool)
    never[0] = True
    for options in ({"output": "uniform"}, {"never": never}, {"output": sharp.mass}):
        mechanism = ge.ElasticMechanism(sharp, **options)
        assert not mechanism.sharpened
        assert mechanism.exponent < 1


def test_a_relief_for_another_metric_is_refused(city, sharp):
    other = ge.build_metric(
        ge.mass_from_quality(ge.synthetic_quality("city", rows=40, cols=44, seed=9)), l_top=0.8, sharpen=False
    )
    with pytest.raises(InputError, match="made for another metric"):
        ge.ElasticMechanism(replace(other, relief=sharp.relief))
    weight = city.graph.weight.copy()
    weight[:] += 1
    longer = replace(sharp, graph=type(city.graph)(city.graph.start, city.graph.index, weight))
    with pytest.raises(InputError, match="made for another metric"):
        ge.ElasticMechanism(longer)
    assert not check_relief(longer)["ok"]
    with pytest.raises(InputError, match="has no relief"):
        check_relief(city)


def full_use(metric):
    """The largest share of an edge that reports use, by full sums."""
    mechanism = ge.ElasticMechanism(metric)
    assert mechanism.sharpened
    totals = weight_totals(mechanism, [mechanism.weights])[:, 0]
    log_total = np.log(np.where(metric.fence == 0, totals, 1)) * 2**13
    tail, tip, weight = metric.graph.edges()
    return np.max((mechanism.reporting.graph.edges()[2] + np.abs(log_total[tail] - log_total[tip])) / weight)


def test_what_is_carved_or_cut_is_sharpened_again(sharp):
    lat, lon = sharp.latlon(int(np.flatnonzero(sharp.secret)[sharp.n // 2]))
    carved = sharp.with_fences([disc(lat, lon, 250)])
    assert check_relief(carved)["ok"]
    assert full_use(carved) <= 1
    inside = np.flatnonzero(carved.fence > 0)
    assert ge.ElasticMechanism(carved).probabilities(int(inside[0]))[carved.fence == 0].sum() == 0
    apart = carved.with_fences(remove=[1])
    assert check_relief(apart)["ok"]
    assert sharp.with_fences([disc(lat, lon, 250)], sharpen=False).relief is None
    cut = ge.extract(sharp, ge.Area.around(*PARIS, size_km=3))
    assert check_relief(cut)["ok"]
    assert full_use(cut) <= 1
    assert ge.extract(sharp, ge.Area.around(*PARIS, size_km=3), sharpen=False).relief is None
    other = ge.extract(sharp, ge.Area.around(*PARIS, size_km=3), output="uniform")
    assert other.relief.output == "uniform"
    assert check_relief(other)["ok"]


def test_far_from_a_fence_heights_stay_and_near_it_they_must_not(strip):
    """A fence in the first of three towns: by full sums everything holds, what is far is as it was, and with all of the
    old heights some edge is over, which the check finds."""
    sharp = sharpen(strip)
    carved = sharp.with_fences([disc(*sharp.latlon(sharp.locate(*strip.grid.cell_to_latlon(4, 33))), 250)])
    assert check_relief(carved)["ok"]
    assert full_use(carved) <= carved.relief.certificate["worst"] <= 1
    origin = strip.locations.owner[carved.locations.row, carved.locations.col]
    moved = carved.relief.height.astype(int) - sharp.relief.height[origin]
    far = carved.locations.col > 120
    assert np.unique(moved[far]).size == 1
    assert np.unique(moved[(carved.fence == 0) & ~far]).size > 10
    old = np.where(carved.fence == 0, sharp.relief.height[origin], 0).astype(np.int32)
    stale = replace(carved, relief=replace(carved.relief, height=old))
    assert not check_relief(stale)["ok"]
    assert full_use(stale) > 1


def test_what_is_far_is_searched_once_when_the_ground_around_a_fence_is_mended(strip, monkeypatch):
    """Edges around the fence are said to be over at first: they are mended before the rest of the map is searched, and
    then every edge is certified; by full sums everything holds."""
    sharp = sharpen(strip)
    searched, asked = [], []
    totals, edges_over = sharpen_module.totals_within, sharpen_module.Search.edges_over

    def noted(graph, measure, sources, bound, **options):
        searched.extend(sources if bound == sharpen_module.CERTIFY_FINE else ())
        return totals(graph, measure, sources, bound, **options)

    def over_at_first(search, state, found, among):
        asked.append(among)
        return np.flatnonzero(among)[:9] if len(asked) == 1 else edges_over(search, state, found, among)

    monkeypatch.setattr(sharpen_module, "totals_within", noted)
    monkeypatch.setattr(sharpen_module.Search, "edges_over", over_at_first)
    carved = sharp.with_fences([disc(*sharp.latlon(sharp.locate(*strip.grid.cell_to_latlon(4, 33))), 250)])
    outside, far = carved.fence == 0, carved.locations.col > 120
    times = np.bincount(searched, minlength=carved.n)
    assert len(asked) >= 2
    assert np.all(times[far] == 1)
    assert np.all(times[asked[0]] >= 2)
    tail, _, weight = carved.graph.edges()
    assert carved.relief.certificate["edges"] == np.count_nonzero(outside[tail] & (weight > 0))
    assert full_use(carved) <= carved.relief.certificate["worst"] <= 1
    assert check_relief(carved)["ok"]


def test_where_mending_around_does_not_do_all_of_the_map_is_done(strip, monkeypatch):
    monkeypatch.setattr(resharpen_module, "PASSES", 0)  # heights do not move
    sharp = sharpen(strip)
    carved = sharp.with_fences([disc(*sharp.latlon(sharp.locate(*strip.grid.cell_to_latlon(4, 33))), 250)])
    assert carved.relief.certificate["passes"] > 6
    assert check_relief(carved)["ok"]
    assert full_use(carved) <= 1


def test_heights_after_a_change_do_not_depend_on_the_number_of_threads(sharp):
    fence = disc(*sharp.latlon(int(np.flatnonzero(sharp.secret)[sharp.n // 2])), 250)
    one, three = (sharp.with_fences([fence], workers=workers).relief for workers in (1, 3))
    assert np.array_equal(one.height, three.height)
    assert one.certificate == three.certificate


def test_what_is_all_of_a_map_keeps_its_heights(tmp_path, sharp, monkeypatch):
    sharp.save(tmp_path / "m.geoelastic")
    monkeypatch.setattr(sharpen_module, "totals_within", None)  # nothing is searched
    assert np.array_equal(ge.extract(sharp, ge.Area.around(*PARIS, size_km=50)).relief.height, sharp.relief.height)
    told = json.loads(geoelastic("extract", tmp_path / "m.geoelastic", "-o", tmp_path / "m.geox", "--json").stdout)
    assert told["sharpened"]
    assert load_mechanism(tmp_path / "m.geox").sharpened
    plain = geoelastic("extract", tmp_path / "m.geoelastic", "--no-sharpen", "-o", tmp_path / "plain.geox", "--json")
    assert not json.loads(plain.stdout)["sharpened"]
    assert not load_mechanism(tmp_path / "plain.geox").sharpened


def test_a_map_that_does_not_settle_stays_as_it_is_and_says_so(monkeypatch):
    monkeypatch.setattr(sharpen_module, "PASSES", 1)
    with pytest.warns(UserWarning, match="not sharpened: the heights did not settle"):
        assert ge.build_metric(small_mass(rows=6, cols=6), l_top=0.6).relief is None


def test_fenced_small_map_by_brute_force():
    metric = small_metric("conformal", "uniform", rows=7, cols=7, l_top=0.6, fences=(disc(*PARIS, 90),))
    assert (metric.fence > 0).any()
    rows = exact_rows(ge.ElasticMechanism(sharpen(metric)))
    for i in np.flatnonzero(metric.fence > 0):
        rows[int(i)] = [int(metric.fence[j] == metric.fence[i]) for j in range(metric.n)]
    assert worst_use(metric, rows) <= 1


def test_a_file_keeps_the_relief_and_a_portable_one_reports_the_same(tmp_path, city, sharp):
    sharp.save(tmp_path / "m.geoelastic")
    loaded = ge.load(tmp_path / "m.geoelastic")
    assert np.array_equal(loaded.relief.height, sharp.relief.height)
    assert loaded.relief.certificate == sharp.relief.certificate
    mechanism = ge.ElasticMechanism(loaded)
    save_mechanism(mechanism, tmp_path / "m.geox")
    portable = load_mechanism(tmp_path / "m.geox")
    assert portable.sharpened
    some = [int(i) for i in np.flatnonzero(city.secret)[::97]]
    for k, i in enumerate(some):
        assert (
            portable.sample(i, 3, rng=ge.SeededRandom(k)).tolist()
            == mechanism.sample(i, 3, rng=ge.SeededRandom(k)).tolist()
        )
    assert Sticky(mechanism, bytes(32)).map_name == Sticky(portable, bytes(32)).map_name
    assert Sticky(mechanism, bytes(32)).map_name != Sticky(ge.ElasticMechanism(city), bytes(32)).map_name
    # heights, places and rises each make a version that readers without them refuse
    assert mechanism_bytes(ge.ElasticMechanism(replace(loaded, relief=None))) == mechanism_bytes(
        ge.ElasticMechanism(city)
    )
    assert (tmp_path / "m.geox").read_bytes()[7] == mechanism_bytes(ge.ElasticMechanism(city))[7] == 4
    broken = bytearray((tmp_path / "m.geox").read_bytes())
    broken[7] = 5
    (tmp_path / "m.geox").write_bytes(broken)
    with pytest.raises(FileError, match="newer format"):
        load_mechanism(tmp_path / "m.geox")


def test_remapping_knows_what_reports_go_by(sharp):
    mechanism = ge.ElasticMechanism(sharp)
    remapped = ge.Remapped(mechanism, sharp.mass)
    z = int(np.flatnonzero(sharp.secret)[40])
    likely = np.array([mechanism.probabilities(int(i))[z] if sharp.secret[i] else 0.0 for i in range(sharp.n)])
    posterior = likely * np.where(sharp.secret, sharp.mass, 0)
    np.testing.assert_allclose(remapped.posterior(z), posterior / posterior.sum(), rtol=1e-3)


def test_the_command_checks_resumes_and_is_believed_by_others(tmp_path, city):
    path, out = tmp_path / "m.geoelastic", tmp_path / "s.geoelastic"
    city.save(path)
    told = json.loads(geoelastic("sharpen", path, "-o", out, "--json").stdout)
    assert told["error_after_m"] < 0.9 * told["error_before_m"]
    assert told["edges_over"] == 0
    assert ge.load(path).relief is None
    assert "sharpened" in geoelastic("info", out).stdout
    assert geoelastic("verify", out, "--stated").exit_code == 0
    assert json.loads(geoelastic("verify", out, "--sample", 20, "--json").stdout)["relief"]["ok"]
    # a height that is wrong is found
    metric = ge.load(out)
    height = metric.relief.height.copy()
    height[city.n // 2] += 3000
    replace(metric, relief=replace(metric.relief, height=height)).save(out)
    spoilt = geoelastic("verify", out)
    assert spoilt.exit_code == 1
    assert "DOES NOT HOLD" in spoilt.stdout


def test_an_interrupted_run_goes_on(tmp_path, city, monkeypatch):
    path = tmp_path / "m.geoelastic"
    city.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(sharpen_module, "PASSES", 1)
    stopped = geoelastic("sharpen", path)
    assert stopped.exit_code == 1
    assert "did not settle" in stopped.stderr
    assert path.read_bytes() == before
    part = tmp_path / "m.geoelastic.part"
    assert part.exists()
    monkeypatch.undo()
    whole, looks = sharpen(city), []
    totals = sharpen_module.totals_within
    monkeypatch.setattr(sharpen_module, "totals_within", lambda *a, **o: looks.append(a[3]) or totals(*a, **o))
    rest = json.loads(geoelastic("sharpen", path, "--json").stdout)
    assert rest["passes"] == len(looks) + 1 == whole.relief.certificate["passes"]
    assert np.array_equal(ge.load(path).relief.height, whole.relief.height)
    assert not part.exists()
    sharpened = path.read_bytes()
    monkeypatch.setattr(sharpen_module, "PASSES", 1)  # too few, but nothing is left to do
    assert geoelastic("sharpen", path).exit_code == 0
    assert path.read_bytes() == sharpened
    assert "did not settle" in geoelastic("sharpen", path, "--no-resume").stderr


def test_a_build_is_sharpened_unless_told_not_to(tmp_path):
    np.save(tmp_path / "m.npy", small_mass(rows=12, cols=12).cells)
    given = ["build", tmp_path / "m.npy", "--center", "48.8567,2.3487", "--cell", "100", "--l-top", "0.8"]
    sharp = geoelastic(*given, "-o", tmp_path / "sharp.geoelastic")
    assert "the relief holds" in sharp.stdout
    assert ge.load(tmp_path / "sharp.geoelastic").relief is not None
    plain = geoelastic(*given, "--no-sharpen", "-o", tmp_path / "plain.geoelastic", "--json")
    assert not json.loads(plain.stdout)["sharpened"]
    assert ge.load(tmp_path / "plain.geoelastic").relief is None
    assert "sharpened  NO" in geoelastic("info", tmp_path / "plain.geoelastic").stdout


def test_a_build_that_was_stopped_while_sharpening_goes_on(tmp_path, monkeypatch):
    np.save(tmp_path / "m.npy", small_mass(rows=12, cols=12).cells)
    given = ["build", tmp_path / "m.npy", "--center", "48.8567,2.3487", "--cell", "100", "--l-top", "0.8"]
    whole, part = tmp_path / "whole.geoelastic", tmp_path / "part.geoelastic"
    assert geoelastic(*given, "-o", whole).exit_code == 0
    totals, looks = sharpen_module.totals_within, []

    def stop(*a, **o):
        looks.append(a[3])
        if len(looks) == 4:
            raise KeyboardInterrupt
        return totals(*a, **o)

    monkeypatch.setattr(sharpen_module, "totals_within", stop)
    assert geoelastic(*given, "-o", part).exit_code != 0
    assert not part.exists()
    monkeypatch.setattr("geoelastic.metric.build_metric", None)  # what was built is not built again
    assert geoelastic(*given, "-o", part).exit_code == 0
    assert np.array_equal(ge.load(part).relief.height, ge.load(whole).relief.height)
    assert len(looks) == 4 + ge.load(whole).relief.certificate["passes"] - 3
    assert not (tmp_path / "part.geoelastic.work").exists()


def test_what_cannot_be_sharpened_is_refused(tmp_path, city):
    with pytest.raises(InputError, match="only a metric that has a graph"):
        sharpen(ge.euclidean_metric(small_mass(), epsilon=0.01))
    save_mechanism(ge.ElasticMechanism(city), tmp_path / "m.geox")
    refused = geoelastic("sharpen", tmp_path / "m.geox")
    assert refused.exit_code == 2
    assert "extract it again" in refused.stderr
    city.save(tmp_path / "m.geoelastic")
    nowhere = geoelastic("sharpen", tmp_path / "m.geoelastic", "-o", tmp_path / "no" / "such" / "m.geoelastic")
    assert nowhere.exit_code == 2
    assert "such" in nowhere.stderr
