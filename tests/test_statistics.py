# SPDX-License-Identifier: Apache-2.0
"""Statistics from reports: against brute force on small maps, laws of the estimators, and their intervals' coverage."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
import shapely

import geoelastic as ge
from geoelastic.evaluation.spread import Known, Squares, _left, _mean_distance, make_squares
from geoelastic.locations import Grid
from geoelastic.randomness import SeededRandom
from geoelastic.statistics import compare, plan, prepare
from geoelastic.statistics.atoms import entries_of, make_atoms
from geoelastic.statistics.counted_reports import count_reports, counted_reports
from geoelastic.statistics.information import covariance_of, grouped, information_of, linear_estimator, merge_zones
from geoelastic.statistics.maximum import expectation_maximisation
from geoelastic.statistics.reports import ReadReports, report_batches
from geoelastic.statistics.scales import STRENGTHS, Tree, make_scales, strongest
from geoelastic.statistics.zones import grid_zones, make_zones, polygon_zones
from maps import JIT, PARIS, small_mass

pytestmark = pytest.mark.skipif(not JIT, reason="thousands of reports a test")


@pytest.fixture(scope="module")
def metric() -> Any:
    return ge.build_metric(small_mass(16, 18, low=1, high=6), l_top=1.0, frame=0.0)  # crowds enough for small noise


@pytest.fixture(scope="module")
def mechanism(metric: Any) -> Any:
    return ge.ElasticMechanism(metric)


@pytest.fixture(scope="module")
def survey(mechanism: Any) -> Any:
    return prepare(mechanism, "grid:600", fine=0)


def reports_from(mechanism: Any, survey: Any, shares: Any, n: int, seed: int) -> tuple[Any, Any, Any]:
    """n people spread over zones as `shares` say, inside a zone as the prior does, and their reports."""
    rng = np.random.default_rng(seed)
    atoms = survey.atoms
    within = atoms.prior / atoms.by_zone(atoms.prior)[atoms.zone]
    atom = rng.choice(atoms.n, n, p=(shares[atoms.zone] * within) / (shares[atoms.zone] * within).sum())
    column = np.empty(n, np.int64)
    for a in np.unique(atom):
        here = atom == a
        column[here] = rng.choice(survey.matrix.shape[1], here.sum(), p=survey.matrix[a] / survey.matrix[a].sum())
    lat, lon = mechanism.metric.grid.area.to_latlon(*mechanism.metric.xy[column].T)
    return lat, lon, atoms.zone[atom]


def test_the_model_is_the_mechanism_averaged_over_each_atom(metric: Any, mechanism: Any, survey: Any) -> None:
    atom, location, shares = entries_of(metric, survey.atoms)
    for a in range(survey.atoms.n):
        mine = atom == a
        assert shares[mine].sum() == pytest.approx(1)
        expected = sum(
            share * mechanism.probabilities(int(x)) for x, share in zip(location[mine], shares[mine], strict=True)
        )
        np.testing.assert_allclose(survey.matrix[a], expected, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(survey.matrix.sum(axis=1), 1, rtol=1e-9)


def test_fenced_places_report_evenly_over_their_fence(metric: Any) -> None:
    grid = metric.grid
    lat, lon = grid.cell_to_latlon([5, 5, 8, 8], [9, 12, 12, 9])
    fenced = metric.with_fences([shapely.Polygon(np.column_stack([lon, lat]))])
    survey = prepare(ge.ElasticMechanism(fenced), "grid:600")
    inside = np.flatnonzero(fenced.fence > 0)
    atom, location, shares = entries_of(fenced, survey.atoms)
    held = np.isin(location, inside)
    assert held.any()
    for a in np.unique(atom[held]):
        mine = atom == a
        expected = sum(
            share * ge.ElasticMechanism(fenced).probabilities(int(x))
            for x, share in zip(location[mine], shares[mine], strict=True)
        )
        np.testing.assert_allclose(survey.matrix[a], expected, rtol=1e-9, atol=1e-15)


def log_likelihood(matrix: Any, counts: Any, shares: Any) -> float:
    """The mean log-likelihood of a report."""
    seen = counts > 0
    return float(counts[seen] @ np.log(shares @ matrix[:, seen]) / counts.sum())


def log_prior(tree: Tree, shares: Any, parts: Any, strength: float) -> float:
    """The logarithm of the prior's density, up to a constant."""
    total, held = 0.0, shares
    for k, (parent, part) in enumerate(zip(tree.parent, parts, strict=True)):
        above = np.bincount(parent, weights=held)
        total += strength * (len(tree.parent) - k) ** 2 * float(part @ np.log(held / above[parent]))
        held = above
    return total


def test_likelihood_never_falls_and_ends_at_the_maximum(survey: Any) -> None:
    from scipy.optimize import minimize

    number = survey.atoms.zone
    rows, held = grouped(survey.matrix, survey.atoms.prior, number)
    rows, held = rows[:5], held[:5] / held[:5].sum()
    counts = np.random.default_rng(5).multinomial(400, rows.mean(axis=0) / rows.mean(axis=0).sum()).astype(float)
    shares, before = held, -np.inf
    for _ in range(4000):
        now = log_likelihood(rows, counts, shares)
        assert now >= before - 1e-12
        before, shares = now, expectation_maximisation(rows, counts, shares)
    best = minimize(
        lambda s: -log_likelihood(rows, counts, np.append(s, 1 - s.sum())),
        held[:-1], bounds=[(1e-9, 1)] * 4, constraints={"type": "ineq", "fun": lambda s: 1 - s.sum() - 1e-9},
        options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert before <= -best.fun + 1e-7
    assert before >= -best.fun - 1e-5  # it comes near a share of 0 slowly
    np.testing.assert_allclose(shares[:-1], best.x, atol=0.01)


def test_another_packages_iterative_bayesian_update_agrees() -> None:
    oracle = pytest.importorskip("multi_freq_ldpy.pure_frequency_oracles.GRR")
    k, epsilon, rng = 6, 1.5, np.random.default_rng(8)  # randomized response: its update asks for a symmetric matrix
    stay = np.exp(epsilon) / (np.exp(epsilon) + k - 1)
    rows = np.full((k, k), (1 - stay) / (k - 1)) + np.eye(k) * (stay - (1 - stay) / (k - 1))
    reports = rng.choice(k, 4000, p=rng.dirichlet(np.ones(k)) @ rows)
    theirs = oracle.GRR_Aggregator_IBU(reports, k, epsilon)
    ours = np.full(k, 1 / k)
    for _ in range(10_000):
        ours = expectation_maximisation(rows, np.bincount(reports, minlength=k).astype(float), ours)
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


@pytest.fixture(scope="module")
def tree(survey: Any) -> Tree:
    return make_scales(survey.atoms).trees[1]


def test_divisions_of_a_tree_are_counts_and_guess(tree: Tree, survey: Any) -> None:
    guess, rng = survey.atoms.prior, np.random.default_rng(2)
    counts = rng.integers(0, 50, guess.size).astype(float)
    found = tree.most_likely(counts, tree.parts(guess), 2.0)
    assert found.sum() == pytest.approx(1)
    level = np.arange(guess.size)
    for k, parent in enumerate(tree.parent):  # one square after the other, as it is written down
        above, seen = parent[level], 2.0 * (len(tree.parent) - k) ** 2
        for node in np.unique(above):
            inside = above == node
            for child in np.unique(level[inside]):
                here = level == child
                people = counts[here].sum() + seen * guess[here].sum() / guess[inside].sum()
                assert found[here].sum() / found[inside].sum() == pytest.approx(people / (counts[inside].sum() + seen))
        level = above
    assert len(np.unique(level)) == 1
    np.testing.assert_allclose(tree.most_likely(counts, tree.parts(guess), 1e12), guess, rtol=1e-6)
    np.testing.assert_allclose(
        tree.most_likely(counts, tree.parts(guess), 0.0)[counts > 0] * counts.sum(), counts[counts > 0]
    )


def test_posterior_under_a_tree_never_falls_and_ends_at_its_maximum(tree: Tree, survey: Any) -> None:
    from scipy.optimize import minimize

    guess, rows, strength = survey.atoms.prior, survey.matrix, 0.5
    parts = tree.parts(guess)
    counts = np.random.default_rng(6).multinomial(300, guess[::-1] @ rows / (guess @ rows).sum()).astype(float)

    def posterior(shares: Any) -> float:
        return counts.sum() * log_likelihood(rows, counts, shares) + log_prior(tree, shares, parts, strength)

    shares, before = guess, -np.inf
    for _ in range(500):
        assert posterior(shares) >= before - 1e-9
        before = posterior(shares)
        people = counts.sum() * expectation_maximisation(rows, counts, shares)
        shares = tree.most_likely(people, parts, strength)
    best = minimize(
        lambda s: -posterior(np.exp(s) / np.exp(s).sum()), np.log(guess), options={"maxiter": 3000, "gtol": 1e-6}
    )
    assert before == pytest.approx(-best.fun, abs=1e-3)


def test_the_strongest_prior_is_taken_that_chance_may_have_put_behind() -> None:
    """The slow way writes down every person: the mean difference to the best and its standard error."""
    rng, weaker, most = np.random.default_rng(4), 0, 0
    for _ in range(60):
        left_out = rng.integers(0, 4, (5, 7)).astype(float)
        keys = [(guess, strength) for guess in ("prior", "half even") for strength in STRENGTHS[:4]]
        logs = {key: rng.normal(-3 - rng.uniform(0, 0.3), 0.5, left_out.shape) for key in keys}
        each = {key: np.repeat(found.ravel(), left_out.ravel().astype(int)) for key, found in logs.items()}
        mean = {key: float(found.mean()) for key, found in each.items()}
        best = max(mean, key=lambda key: mean[key])
        near = [key for key in keys if mean[best] - mean[key] <= np.std(each[best] - each[key]) / each[key].size ** 0.5]
        chosen = strongest(left_out, logs, mean)
        assert chosen in near
        assert all((key[1], mean[key]) <= (chosen[1], mean[chosen]) for key in near)
        weaker += chosen[1] > best[1]
        most += chosen[1] == STRENGTHS[0]
    assert weaker > 10
    assert most < 60
    nobody = np.zeros((0, 7))
    assert strongest(nobody, dict.fromkeys(keys, nobody), dict.fromkeys(keys, 0.0)) == ("prior", STRENGTHS[0])


@pytest.mark.parametrize(("people", "nearer"), [(300, 1.0), (3000, 0.5)])
def test_made_up_truths_are_nearer_to_the_estimate_than_to_the_raw_histogram(
    mechanism: Any, survey: Any, people: int, nearer: float
) -> None:
    """The truth is what people are drawn from: in a few zones, anyhow, nearly even. A single draw of 300 people may be
    nearer as it is, by chance: of 30 that were looked at 4 are, 3 of them nearly even; of 3000 people none."""
    rng = np.random.default_rng(people)
    for evenness in (0.2, 1.0, 5.0):
        off = []
        for seed in range(5):
            truth = rng.dirichlet(np.full(survey.zones.n, evenness))
            found = ge.estimate(survey, reports_from(mechanism, survey, truth, people, seed)[:2])
            off.append([np.abs(spread - truth).sum() for spread in (found.shares, found.raw)])
        estimate, raw = np.mean(off, axis=0)
        assert estimate < nearer * raw


def test_zones_are_merged_as_if_every_group_had_rows_of_its_own(survey: Any) -> None:
    """Information is computed once and added up: the slow way makes the rows of the groups and starts again."""
    zones = survey.by_zone
    for n in (30, 300, 3000):
        group = merge_zones(zones.information, zones.shares, zones.xy, n)
        rows, held = grouped(zones.matrix, zones.shares, group)
        error = np.sqrt(np.diag(linear_estimator(rows, held).covariance) / n)
        assert held.size == 1 or np.all(error <= 0.25 * held * (1 + 1e-9))
        part = np.array([np.where(group == g, zones.shares, 0) / held[g] for g in range(held.size)])
        np.testing.assert_allclose(information_of(rows, held), part @ zones.information @ part.T, rtol=1e-9)
    np.testing.assert_allclose(
        covariance_of(zones.information, zones.shares), linear_estimator(zones.matrix, zones.shares).covariance
    )


def test_batches_are_counted_as_the_whole_is(mechanism: Any, survey: Any, tmp_path: Any) -> None:
    lat, lon, _ = reports_from(mechanism, survey, survey.atoms.by_zone(survey.atoms.prior)[:-1], 400, 2)
    parts = [ReadReports(lat[k : k + 90], lon[k : k + 90]) for k in range(0, 400, 90)]
    some, whole = (count_reports(survey, [given], seed=1) for given in (parts, [ReadReports(lat, lon)]))
    np.testing.assert_array_equal(some.by_part.sum(axis=0), whole.by_part.sum(axis=0))
    np.testing.assert_array_equal(some.zones, whole.zones)
    assert some.people.effective == 400
    who = np.arange(400) % 150
    names = [f"{w}" for w in who]
    table = "\n".join(["who,lat,lon", *(f"{w},{a},{b}" for w, a, b in zip(names, lat, lon, strict=True))])
    (tmp_path / "r.csv").write_text(table)
    named = count_reports(survey, [report_batches(tmp_path / "r.csv", user="who")], seed=1)
    # slowly: everybody counts once, however often they report
    zone = survey.zones.locate(lat, lon)
    by_zone = [sum(1 / np.sum(who == who[k]) for k in np.flatnonzero(zone == z)) for z in range(survey.zones.n)]
    np.testing.assert_allclose(named.zones[:-1], by_zone)
    assert named.by_part.sum() == pytest.approx(150)


def test_very_many_people_are_put_together_without_a_bias(survey: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    columns, zones = survey.first_column[-1], survey.zones.n + 1
    column, zone, person = (rng.integers(0, top, 6000) for top in (columns, zones, 4000))
    given = (columns, zones, column, zone, person, np.ones(6000))
    apart = counted_reports(*given, seed=0).people
    monkeypatch.setattr("geoelastic.statistics.counted_reports._MOST_ROWS", 800)
    together = counted_reports(*given, seed=0).people
    assert together.often.size == 800
    assert together.effective == apart.effective
    operator = rng.normal(size=(3, columns))
    mean = [p.often @ p.say(operator) / p.total for p in (apart, together)]
    np.testing.assert_allclose(*mean)
    spread = [p.resampled(p.say(operator)).std(axis=0) for p in (apart, together)]
    np.testing.assert_allclose(*spread, rtol=0.15)


def test_time_shares_of_released_traces(metric: Any, mechanism: Any) -> None:
    """People rest at one of three places; what is released of half a day tells how many at which."""
    traces = ge.TraceMechanism(mechanism, rate=1 / 8, step_minutes=60, habit=0)
    places = np.flatnonzero(metric.secret)[[20, 130, 200]]
    days = [[int(places[k % 5 % 3])] * 12 for k in range(150)]
    releases = [traces.release(day, rng=ge.SeededRandom(k)) for k, day in enumerate(days)]
    found = ge.estimate_time(traces, releases, zones="grid:600", workers=1)
    lat, lon = np.array([metric.latlon(int(place)) for place in places]).T
    truth = np.bincount(found.zones.locate(lat, lon), [0.4, 0.4, 0.2], found.zones.n)
    assert np.abs(found.shares - truth).sum() < np.abs(found.raw - truth).sum()
    assert found.n == pytest.approx(150)
    for wrong in ([], [7], 7):
        with pytest.raises(ge.InputError, match="'releases' must be released traces"):
            ge.estimate_time(traces, wrong, zones="grid:600")


def test_squares_by_which_estimates_are_judged() -> None:
    grid = Grid(ge.Area.around(48.8567, 2.3487, size_km=50), 500.0, 100, 100)
    squares = make_squares(grid)
    assert squares.zones.n == 40 * 40 + 40 * 40 - 20 * 20
    east = np.array([-9900.0, -9900.0, 9900.0, 15_000.0])
    places = squares.locate(*grid.area.to_latlon(east, np.array([-9900.0, -9600.0, 100.0, 100.0])))
    one, other = (np.bincount(places[which], minlength=squares.zones.n + 1) / 2 for which in ([0, 2], [1, 3]))
    assert squares.distance("square", 500, one, other) == pytest.approx(0.5)  # of the other one half is in the square
    assert squares.distance("square", 4000, one, one) == 0
    assert squares.distance("all", 1000, one, other) == pytest.approx(0.5)
    for (way, size), number in squares.larger.items():
        width = {"square": 20_000, "all": 40_000}[way] // size
        assert np.unique(number[number >= 0]).size == width**2 + (way == "all")


def _known(metric: Any, mechanism: Any) -> tuple[Known, np.random.Generator]:
    """3,000 people in four zones, single and in pairs; "square" does not look at the first."""
    zones, rng = grid_zones(metric.grid, 900), np.random.default_rng(12)
    cells = rng.choice(np.flatnonzero(metric.secret[metric.locations.owner]), 60)
    row, col = np.divmod(rng.choice(cells, 3000), metric.grid.cols)
    lat, lon = metric.grid.cell_to_latlon(row, col)
    number = np.append(np.arange(zones.n), -1)
    single = {"all": number, "square": np.maximum(number - 1, -1)}
    larger = {(way, size): of // size for way, of in single.items() for size in (1, 2)}
    return Known(Squares(zones, larger), mechanism, lat, lon), rng


@pytest.mark.no_cover
def test_no_unbiased_estimate_from_some_peoples_reports_is_nearer_to_all_than_the_bound(
    metric: Any, mechanism: Any
) -> None:
    """The bound is reached: by the linear estimator that is best at the truth, from reports drawn again and again of
    people chosen again and again; over all zones, and over all but one; and over pairs of zones, by somebody who does
    not know how people are divided inside a pair, for whom it is wider."""
    known, rng = _known(metric, mechanism)
    row, col = metric.grid.latlon_to_cell(known.lat, known.lon)
    some = np.array([rng.permutation(3000)[:600] for _ in range(300)])
    reports = mechanism.sample_cells(metric.locations.owner[row, col][some.ravel()], rng=SeededRandom(1))
    columns = known._model.outputs(*metric.grid.cell_to_latlon(*reports)).reshape(some.shape)
    for way, of in (("all", 0), ("square", 1)):
        rows, truth = known._rows(way, 1)
        assert truth.size == 4
        linear, off = linear_estimator(rows, truth), []
        for seen in columns:
            found = linear.operator @ np.bincount(seen, minlength=rows.shape[1]) / seen.size
            off.append(found[of:] / found[of:].sum() - truth[of:] / truth[of:].sum())
        bound = known.least_unbiased(way, 1, 600)
        pairs = np.add.reduceat(off, range(0, truth.size - of, 2), axis=1)
        for least, errors in ((bound, off), (known.least_unbiased(way, 2, 600, inside=1), pairs)):
            distances = np.abs(errors).sum(axis=1) / 2
            # four standard errors of the mean
            assert abs(least - np.mean(distances)) < 4 * np.std(distances) / np.sqrt(300)
        assert known.least_unbiased(way, 2, 600) < known.least_unbiased(way, 2, 600, inside=1)
        # everybody's reports leave the blur alone, no chance of who reports
        assert known.least_unbiased(way, 1, 3000) < bound / np.sqrt(5)


def test_no_estimate_is_nearer_than_the_bound_on_average_over_truths_around_a_guess(
    metric: Any, mechanism: Any
) -> None:
    """The bound is reached by what predicts truths best from normal reports, found from many pairs of both and not by
    formula; without a guess it is the bound of unbiased estimates, and with the truth for a guess 0."""
    known, rng = _known(metric, mechanism)
    true = np.bincount(known.squares.locate(known.lat, known.lon), minlength=known.squares.zones.n + 1) / 3000
    guess = true * rng.uniform(0.3, 1.7, true.size)
    for way, people in (("all", 600), ("square", 600), ("all", 3000)):
        rows, truth = known._rows(way, 0)
        prior, added = known._prior(way, truth, guess), {size: known._added(way, size, 0, truth) for size in (1, 2)}
        chance = np.diag(truth) - np.outer(truth, truth)
        blur = linear_estimator(rows, truth).covariance - chance
        noise = blur / people + chance * (1 / people - 1 / 3000)
        truths, off = (rng.multivariate_normal(0 * truth, c, 20_000, method="eigh") for c in (prior, noise))
        # shares add up to 1: all but one say it all
        best = np.linalg.lstsq((truths + off)[:, 1:], truths, rcond=None)[0]
        errors = truths - (truths + off)[:, 1:] @ best
        for size, least in known.least_of_any(way, people, guess).items():
            distances = np.abs(errors @ added[size].T).sum(axis=1) / 2
            # four standard errors of the mean: a false alarm in 16,000
            assert abs(least - distances.mean()) < 4 * distances.std() / np.sqrt(20_000)
            assert _mean_distance(added[size], prior) == pytest.approx(known.squares.distance(way, size, guess, true))
            unbiased = known.least_unbiased(way, size, people, inside=1)
            wide = _mean_distance(added[size], _left(rows, truth, people, 3000, prior * 1e9))
            assert 0 < least < wide == pytest.approx(unbiased, rel=1e-4)
        assert known.least_of_any(way, people, true) == pytest.approx({1: 0, 2: 0}, abs=1e-9)


def test_linear_estimator_is_unbiased_for_any_truth(survey: Any) -> None:
    number = survey.atoms.zone
    rows, held = grouped(survey.matrix, survey.atoms.prior, number)
    linear = linear_estimator(rows, held)
    rng = np.random.default_rng(3)
    for _ in range(5):
        truth = rng.dirichlet(np.full(held.size, 0.3))
        np.testing.assert_allclose(linear.operator @ (truth @ rows), truth, atol=1e-6)
    # its covariance at the guess is the Cramér-Rao bound: M (diag(p) - p p') M'
    p = held @ rows
    direct = linear.operator @ (np.diag(p) - np.outer(p, p)) @ linear.operator.T
    np.testing.assert_allclose(direct, linear.covariance, rtol=1e-5, atol=1e-8)


def test_intervals_cover_as_often_as_they_say(mechanism: Any, survey: Any) -> None:
    """Of groups, of sums and differences of two, and of changes between two periods, on 200 made-up days."""
    rng, runs = np.random.default_rng(11), 200
    hits: dict[tuple[str, str], list[int]] = {}
    truth = rng.dirichlet(3 * survey.atoms.by_zone(survey.atoms.prior)[:-1] * survey.zones.n + 1)
    before = None

    def look(what: str, method: str, interval: Any, value: Any) -> None:
        low, high = interval
        hits.setdefault((what, method), []).extend(((low <= value) & (value <= high)).tolist())

    for run in range(runs):
        lat, lon, _ = reports_from(mechanism, survey, truth, 5000, run)
        estimate = ge.estimate(survey, (lat, lon))
        found = estimate.groups
        shares, one = np.bincount(found.of_zone[:-1], truth, found.n), np.eye(found.n)
        for method in ("fisher", "robust", "bootstrap"):
            for what, sums in (("group", one), ("sum", one[:-1] + one[1:]), ("difference", one[:-1] - one[1:])):
                look(what, method, found.interval(sums=sums, method=method), sums @ shares)
        if run % 2:
            look("change", "robust", compare(before, estimate).interval(), 0 * shares)
        before = estimate
    assert found.n >= 4
    for key, seen in hits.items():
        assert 0.93 <= np.mean(seen) <= 0.97, (key, np.mean(seen), len(seen))


def test_the_best_guess_is_nearer_than_the_raw_histogram(mechanism: Any, survey: Any) -> None:
    truth = np.zeros(survey.zones.n)
    truth[[0, 5, 7]] = [0.5, 0.3, 0.2]
    lat, lon, _ = reports_from(mechanism, survey, truth, 20_000, 1)
    found = ge.estimate(survey, (lat, lon))
    assert np.abs(found.shares - truth).sum() < 0.5 * np.abs(found.raw - truth).sum()
    assert found.fit.steps > 0
    assert found.elsewhere == 0  # the grid covers the map


def test_data_that_say_nothing_leave_the_public_guess(mechanism: Any, survey: Any) -> None:
    prior = survey.atoms.by_zone(survey.atoms.prior)[:-1]
    lat, lon, _ = reports_from(mechanism, survey, prior, 40, 7)
    found = ge.estimate(survey, (lat, lon))
    assert np.abs(found.shares - prior).sum() < np.abs(found.raw - prior).sum()
    assert found.groups.n < survey.zones.n
    assert not found.alone.all()
    low, high = found.interval()
    np.testing.assert_array_equal(np.isfinite(low) & (low < high), found.alone)
    assert sum(len(row["zones"]) for row in found.merged) == survey.zones.n


def test_two_mechanisms_at_once(metric: Any, mechanism: Any) -> None:
    laplace = ge.PlanarLaplace.from_expected_error(200)
    survey = prepare([mechanism, laplace], "grid:600")
    truth = np.zeros(survey.zones.n)
    truth[[1, 6]] = [0.7, 0.3]
    lat, lon, _ = reports_from(mechanism, prepare(mechanism, "grid:600"), truth, 3000, 2)
    atom, location, _ = entries_of(metric, survey.atoms)
    place = metric.latlon(int(location[atom == np.argmax(survey.atoms.zone == 6)][0]))
    noisy = laplace.sample(*place, size=3000, rng=ge.SeededRandom(4))
    found = ge.estimate(survey, [(lat, lon), noisy])
    assert found.shares[6] == pytest.approx((0.3 + 1) / 2, abs=0.12)
    with pytest.raises(ge.InputError, match="each of 2 mechanisms"):
        ge.estimate(survey, (lat, lon))


def test_two_maps_at_once(metric: Any, mechanism: Any) -> None:
    """A map of other cells and mass over the same places: each report by its own map's probabilities."""
    coarse = ge.Mass.from_array(np.random.default_rng(4).uniform(4, 20, (8, 9)), cell_m=200, origin=PARIS)
    other = ge.ElasticMechanism(ge.build_metric(coarse, l_top=1.0, frame=0.0))
    survey = prepare([mechanism, other], "grid:600", fine=0)
    rows, cols = np.divmod(survey.atoms.cell, metric.grid.cols)
    lat, lon = metric.grid.cell_to_latlon(rows, cols)
    for a in range(survey.atoms.n):
        mine = np.flatnonzero(survey.atoms.cell_atom == a)
        expected = sum(
            survey.atoms.cell_share[k] * other.probabilities(other.metric.locate(float(lat[k]), float(lon[k])))
            for k in mine
        )
        np.testing.assert_allclose(survey.models[1].matrix[a], expected, rtol=1e-9, atol=1e-15)
    small = ge.ElasticMechanism(ge.build_metric(small_mass(10, 10), l_top=1.0, frame=0.0))
    with pytest.raises(ge.InputError, match="all places of the zones"):
        prepare([mechanism, small], "grid:600")


def test_planar_laplace_rows_are_its_density(metric: Any) -> None:
    laplace = ge.PlanarLaplace.from_expected_error(300)
    survey = prepare(laplace, "grid:600", metric=metric)
    np.testing.assert_allclose(survey.matrix.sum(axis=1), 1, atol=1e-9)
    lat, lon = metric.latlon(100)
    out = survey.models[0].outputs(*laplace.sample(lat, lon, size=4000, rng=ge.SeededRandom(2)))
    zone = survey.zones.locate(lat, lon)[()]
    seen = np.bincount(out, minlength=survey.matrix.shape[1]) / out.size
    near = survey.matrix[survey.atoms.zone == zone].mean(axis=0)
    far = survey.matrix[survey.atoms.zone == (int(zone) + 4) % survey.zones.n].mean(axis=0)
    assert np.abs(seen - near).sum() < np.abs(seen - far).sum()
    with pytest.raises(ge.InputError, match="give 'metric'"):
        prepare(laplace, "grid:600")


def test_people_who_report_often_count_once(mechanism: Any, survey: Any) -> None:
    frame = pytest.importorskip("pandas").DataFrame
    lat, lon, _ = reports_from(mechanism, survey, np.eye(survey.zones.n)[0], 50, 3)
    lat2, lon2, _ = reports_from(mechanism, survey, np.eye(survey.zones.n)[-1], 950, 4)
    table = frame({"lat": np.r_[lat, lat2], "lon": np.r_[lon, lon2], "who": [*range(50), *[99] * 950]})
    once = ge.estimate(survey, table, user="who")
    assert once.n == pytest.approx(51, abs=0.01)
    assert once.shares[0] > 0.8 > 0.3 > ge.estimate(survey, table).shares[0]


def test_change_between_two_periods(mechanism: Any, survey: Any) -> None:
    prior = survey.atoms.by_zone(survey.atoms.prior)[:-1]
    moved = prior.copy()
    moved[0] += 0.2
    one, same, other = (
        ge.estimate(survey, reports_from(mechanism, survey, shares / shares.sum(), 3000, seed)[:2], groups_for=3000)
        for shares, seed in ((prior, 1), (prior, 2), (moved, 3))
    )
    assert compare(one, same).overall > 0.01
    change = compare(one, other)
    assert change.overall < 1e-6
    group = one.groups.of_zone[0]
    assert change.interval()[0][group] > 0
    assert np.argmin(change.p_value) == group
    with pytest.raises(ge.InputError, match="groups_for"):
        compare(one, ge.estimate(survey, reports_from(mechanism, survey, prior, 60, 1)[:2]))


def test_false_alarms_of_the_overall_test(mechanism: Any, survey: Any) -> None:
    prior = survey.atoms.by_zone(survey.atoms.prior)[:-1]
    found = [
        ge.estimate(survey, reports_from(mechanism, survey, prior, 1500, seed)[:2], groups_for=1500)
        for seed in range(80)
    ]
    alarms = sum(compare(a, b).overall < 0.05 for a, b in zip(found[::2], found[1::2], strict=True))
    assert alarms <= 6  # 40 tests at 5 %: more than 6 has a chance below 0.4 %


def test_hours_of_the_day(mechanism: Any, survey: Any) -> None:
    frame = pytest.importorskip("pandas").DataFrame
    by_day, by_night = np.eye(survey.zones.n)[[0, -1]]
    lat, lon, _ = reports_from(mechanism, survey, by_day, 600, 3)
    lat2, lon2, _ = reports_from(mechanism, survey, by_night, 600, 4)
    hours = [f"2024-05-01T{12 if k < 600 else 2:02d}:{k % 60:02d}:00Z" for k in range(1200)]
    table = frame({"lat": np.r_[lat, lat2], "lon": np.r_[lon, lon2], "time": hours})
    found = dict(ge.estimate_periods(survey, table, time="time", hours=6))
    assert sorted(found) == [0.0, 12.0]
    assert found[12.0].shares[0] > 0.8
    assert found[0.0].shares[-1] > 0.8
    smooth = dict(ge.estimate_periods(survey, table, time="time", hours=6, smooth_hours=5))
    assert sorted(smooth) == [0.0, 6.0, 12.0, 18.0]
    with pytest.raises(ge.InputError, match="time for every report"):
        ge.estimate_periods(survey, table)


def test_flows_from_pairs_of_reports(mechanism: Any) -> None:
    survey = prepare(mechanism, "grid:1200")
    n = survey.zones.n
    lat, lon, _ = reports_from(mechanism, survey, np.eye(n)[0], 800, 3)
    lat2, lon2, _ = reports_from(mechanism, survey, np.eye(n)[-1], 800, 4)
    flows = ge.estimate_flows(survey, (lat, lon), (lat2, lon2))
    assert flows.shares.sum() == pytest.approx(1)
    assert np.unravel_index(np.argmax(flows.shares), flows.shares.shape) == (0, n - 1)
    assert flows.shares[0, n - 1] > 0.6
    with pytest.raises(ge.InputError, match="two reports"):
        ge.estimate_flows(survey, (lat, lon), (lat2[:5], lon2[:5]))


def test_a_plan_promises_what_estimates_keep(mechanism: Any, survey: Any) -> None:
    few, many = plan(survey, 100), plan(survey, 100_000)
    assert few.groups.max() < many.groups.max()
    assert many.distance < few.distance <= 1
    assert np.all(many.relative_error <= 0.25)
    prior = survey.atoms.by_zone(survey.atoms.prior)[:-1]
    runs = [ge.estimate(survey, reports_from(mechanism, survey, prior, 1500, k)[:2]).groups.shares for k in range(60)]
    spread = np.std(runs, axis=0) / np.mean(runs, axis=0)
    np.testing.assert_allclose(spread, plan(survey, 1500).relative_error, rtol=0.45)


def test_zones_of_every_kind(metric: Any) -> None:
    squares = grid_zones(metric.grid, 600)
    assert squares.n == 3 * 3
    assert squares.cells.sum() == 16 * 18
    leaves = make_zones(metric, "leaves:10")
    assert 5 <= leaves.n <= 40
    assert (leaves.label >= 0).all()
    again = polygon_zones(metric.grid, list(squares.shapes))
    np.testing.assert_array_equal(again.label, squares.label)
    h3 = pytest.importorskip("h3")
    cells = make_zones(metric, "h3:8")
    lat, lon = metric.grid.cell_to_latlon(3, 3)
    assert cells.names[cells.label[3, 3]] == h3.latlng_to_cell(float(lat), float(lon), 8)
    assert make_zones(metric, "grid:1e300").n == 1
    for wrong in ("grid:x", "grid:nan", "leaves:nan", "h3:inf", "leaves:0", "nowhere.geojson", "h3:99"):
        with pytest.raises(ge.InputError):
            make_zones(metric, wrong)


def test_nobody_elsewhere_unless_asked(metric: Any) -> None:
    square = grid_zones(metric.grid, 600).shapes[5]
    some = polygon_zones(metric.grid, [square])
    assert make_atoms(metric, some).zone.min() == -1
    assert make_atoms(metric, some, elsewhere=False).zone.min() == 0


def test_a_model_is_kept_by_content(mechanism: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = prepare(mechanism, "grid:600", cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr("geoelastic.statistics.model._matrix", None)
    np.testing.assert_array_equal(prepare(mechanism, "grid:600", cache=tmp_path).matrix, first.matrix)
    with pytest.raises(TypeError):
        prepare(mechanism, "grid:400", cache=tmp_path)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ((np.array([np.nan]), np.array([2.0])), "must have a place"),
        ((np.zeros(0), np.zeros(0)), "at least one place"),
        ((np.array([0.0]), np.array([0.0])), "outside the map"),
        (7, "must be a file"),
    ],
)
def test_bad_reports(survey: Any, wrong: Any, message: str) -> None:
    with pytest.raises(ge.InputError, match=message) as caught:
        ge.estimate(survey, wrong)
    assert "48." not in str(caught.value)


@pytest.fixture(scope="module")
def files(metric: Any, mechanism: Any, survey: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("statistics")
    metric.save(folder / "town.geoelastic")
    lat, lon, _ = reports_from(mechanism, survey, survey.atoms.by_zone(survey.atoms.prior)[:-1], 3000, 8)
    rows = [f"{k % 500},{a:.6f},{b:.6f}" for k, (a, b) in enumerate(zip(lat, lon, strict=True))]
    (folder / "reports.csv").write_text("\n".join(["user,lat,lon", *rows]))
    return folder


def run(*words: Any) -> Any:
    from click.testing import CliRunner

    from geoelastic.cli import main

    return CliRunner().invoke(main, ["estimate", *map(str, words)])


def test_command_writes_what_its_name_says(files: Any, tmp_path: Any) -> None:
    geopandas = pytest.importorskip("geopandas")
    given = (files / "town.geoelastic", "--reports", files / "reports.csv", "--zones", "grid:600")
    done = run(*given, "-o", tmp_path / "e.csv", "--picture", tmp_path / "e.png", "--cache", tmp_path / "c")
    shown = run(*given, "-o", tmp_path / "e.html", "--truth", files / "reports.csv", "--cache", tmp_path / "c")
    assert shown.exit_code == 0, shown.output
    assert done.exit_code == 0, done.output
    assert "3,000 people, 9 zones" in done.output
    assert (tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")
    header, *rows = (tmp_path / "e.csv").read_text().splitlines()
    assert header == "zone,raw,share,group,group_share,group_low,group_high,told_apart"
    assert len(rows) == 9
    assert sum(float(row.split(",")[2]) for row in rows) == pytest.approx(1)
    page = (tmp_path / "e.html").read_text()
    assert "reports 0." in page
    assert not re.search(r"<script|<link|https?:", page)
    for name in ("e.geojson", "e.parquet", "e.tif"):
        done = run(*given, "-o", tmp_path / name, "--user-column", "user", "--cache", tmp_path / "c", "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["people"] == pytest.approx(500)
    frame = geopandas.read_parquet(tmp_path / "e.parquet")
    assert len(frame) == len(geopandas.read_file(tmp_path / "e.geojson")) == 9
    assert frame.share.sum() == pytest.approx(1)


def test_command_plans(files: Any) -> None:
    done = run("plan", files / "town.geoelastic", "--zones", "leaves:6", "--people", 2000, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert 1 <= found["groups"] <= found["zones"]
    assert "groups of" in run("plan", files / "town.geoelastic", "--zones", "leaves:6", "--people", 2000).output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--zones", "grid:600", "-o", "x.xyz"), "must end in .csv"),
        (("--zones", "squares", "-o", "x.csv"), "'zones' must be"),
        (("--zones", "grid:600", "-o", "x.csv", "--user-column", "whom"), "no column 'whom'"),
    ],
)
def test_command_refuses_in_one_line(files: Any, words: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    done = run("town.geoelastic", "--reports", "reports.csv", *words)
    assert done.exit_code == 2
    assert message in done.output
    assert len(done.output.strip().splitlines()) == 1
