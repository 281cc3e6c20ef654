# SPDX-License-Identifier: Apache-2.0
"""The optimal adversary: equal to brute force over all strategies in exact rationals, and to independent programs."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from geoelastic.area import Area
from geoelastic.errors import InputError
from geoelastic.evaluation import adversary
from geoelastic.evaluation.adversary import binary_error, euclidean_error, loss_error, worst_case
from geoelastic.evaluation.attacks import Acquaintance, repeated_reports
from geoelastic.evaluation.baselines import laplace_channel
from geoelastic.evaluation.channel import Channel, Outputs, channel_from_matrix, read
from geoelastic.evaluation.prior import Prior
from geoelastic.locations import Grid


def make_prior(xy: Any, weights: Any, users: Any = None) -> Prior:
    xy = np.asarray(xy, dtype=float)
    rows = sparse.csr_array((0, len(xy))) if users is None else sparse.csr_array(np.asarray(users, dtype=float))
    return Prior(xy, np.arange(len(xy)), np.asarray(weights, dtype=float), rows, {})


def make_channel(matrix: Any, row_of_place: Any) -> Channel:
    matrix = np.asarray(matrix, dtype=float)
    m = matrix.shape[1]
    outputs = Outputs(np.column_stack([np.arange(m) * 100.0, np.zeros(m)]), np.ones(m, dtype=np.int64), 100.0)
    return channel_from_matrix("test", matrix, outputs, np.asarray(row_of_place))


def brute_force(rows: Any, prior: Any, loss: Any) -> Fraction:
    """Least AdvError over all guesses ** outputs strategies, in rationals."""
    outputs, guesses = len(rows[0]), len(loss[0])
    return min(
        sum(prior[p] * rows[p][z] * loss[p][h[z]] for p in range(len(prior)) for z in range(outputs))
        for h in itertools.product(range(guesses), repeat=outputs)
    )


@st.composite
def tiny(draw: Any) -> tuple[list[list[Fraction]], list[int], list[Fraction], list[tuple[int, int]]]:
    inputs, places, outputs = draw(st.integers(1, 3)), draw(st.integers(3, 4)), draw(st.integers(1, 4))
    counts = st.integers(0, 9)
    matrix = []
    for _ in range(inputs):
        row = draw(st.lists(counts, min_size=outputs, max_size=outputs).filter(any))
        matrix.append([Fraction(c, sum(row)) for c in row])
    row_of_place = list(range(inputs)) + [draw(st.integers(0, inputs - 1)) for _ in range(places - inputs)]
    weights = draw(st.lists(st.integers(1, 5), min_size=places, max_size=places))
    xy = [(draw(st.integers(0, 9)), draw(st.integers(0, 9))) for _ in range(places)]
    return matrix, row_of_place, [Fraction(w, sum(weights)) for w in weights], xy


@settings(max_examples=60, deadline=None)
@given(tiny())
def test_binary_equals_brute_force(case: Any) -> None:
    matrix, row_of_place, weights, xy = case
    loss = [[Fraction(int(p != h)) for h in range(len(weights))] for p in range(len(weights))]
    want = brute_force([matrix[r] for r in row_of_place], weights, loss)
    got = binary_error(make_channel(matrix, row_of_place), make_prior(xy, weights))
    assert got.overall == pytest.approx(float(want), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(tiny())
def test_distance_loss_equals_brute_force(case: Any) -> None:
    matrix, row_of_place, weights, xy = case
    # the city-block distance is rational; the Euclidean path below is the same code with another table
    loss = [[Fraction(abs(a - c) + abs(b - d)) for c, d in xy] for a, b in xy]
    want = brute_force([matrix[r] for r in row_of_place], weights, loss)
    prior = make_prior(xy, weights)
    got = loss_error(make_channel(matrix, row_of_place), prior, np.array(loss, dtype=float))
    assert got.overall == pytest.approx(float(want), abs=1e-11)
    euclid = np.hypot(*(prior.xy[:, None] - prior.xy[None]).transpose(2, 0, 1))
    same = loss_error(make_channel(matrix, row_of_place), prior, euclid)
    assert euclidean_error(make_channel(matrix, row_of_place), prior).overall == pytest.approx(same.overall)


@pytest.mark.parametrize("scale", [1.0, 1e-60], ids=["likely", "hardly ever"])
def test_ruling_guesses_out_loses_none(scale: float) -> None:
    """Places over 6 km, in many groups of both sizes: the strategy is that of the table of all losses.

    Half of the outputs have probabilities (up to `scale`) that 32 bits cannot hold.
    """
    rng = np.random.default_rng(4)
    xy, weights = rng.uniform(-3000, 3000, (300, 2)), rng.dirichlet(np.ones(300))
    reports = rng.uniform(-4000, 4000, (400, 2))
    apart = np.hypot(*(xy[:, None] - reports[None]).transpose(2, 0, 1))
    matrix = np.exp(-apart / rng.uniform(50, 2000, 400))
    matrix[:, ::2] *= scale
    matrix /= matrix.sum(axis=1)[:, None]
    prior, channel = make_prior(xy, weights), make_channel(matrix, np.arange(300))
    got = euclidean_error(channel, prior)
    want = loss_error(channel, prior, np.hypot(*(xy[:, None] - xy[None]).transpose(2, 0, 1)))
    assert np.array_equal(got.strategy, want.strategy)
    assert got.per_place == pytest.approx(want.per_place, rel=1e-12)
    near = [adversary._neighbourhoods(channel, prior, xy, side) for side in adversary._GROUPS_M]
    kept = [len(adversary._likely(matrix[:, [z]], matrix[:, [z]].max(axis=0), near, 300)) for z in range(0, 400, 7)]
    assert np.median(kept) < 60, "hardly any guess is ruled out"


def test_k_equal_places_in_one_cell_err_with_one_minus_one_over_k() -> None:
    channel = make_channel([[1.0, 0.0], [0.0, 1.0]], [0, 0, 0, 1])
    got = binary_error(channel, make_prior([(0, 0), (1, 0), (2, 0), (900, 0)], [0.25] * 4))
    assert got.per_place == pytest.approx([2 / 3, 2 / 3, 2 / 3, 0])


def test_users_are_averages_of_places_under_the_global_strategy() -> None:
    # the global prior favours place 0, so the adversary always says 0; a user who is only ever at 1 is never found
    channel = make_channel([[0.5, 0.5], [0.5, 0.5]], [0, 1])
    prior = make_prior([(0, 0), (300, 400)], [0.8, 0.2], [[1, 0], [0, 1], [0.5, 0.5]])
    assert prior.per_user(binary_error(channel, prior).per_place) == pytest.approx([0, 1, 0.5])
    assert prior.per_user(euclidean_error(channel, prior).per_place) == pytest.approx([0, 500, 250])


def test_blocks_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    matrix = rng.dirichlet(np.full(2500, 0.1), size=12)
    rows = rng.integers(0, 12, size=30)
    rows[:12] = np.arange(12)
    prior = make_prior(rng.uniform(0, 1000, (30, 2)), rng.dirichlet(np.ones(30)))
    channel = make_channel(matrix, rows)
    joint = prior.weights[:, None] * matrix[rows]
    loss = np.hypot(*(prior.xy[:, None] - prior.xy[None]).transpose(2, 0, 1))
    assert euclidean_error(channel, prior).overall == pytest.approx((loss.T @ joint).min(axis=0).sum(), rel=1e-12)
    assert binary_error(channel, prior).overall == pytest.approx(1 - joint.max(axis=0).sum(), rel=1e-12)


@pytest.mark.jit
def test_planar_laplace_agrees_with_libqif() -> None:
    qif = pytest.importorskip("qif", reason="libqif is not installed; the dense twin above stands alone")
    grid = Grid.over(Area.around(48.85, 2.35, size_km=4), 100)
    rng = np.random.default_rng(5)
    cell = rng.choice(grid.rows * grid.cols, 25, replace=False)
    xy = np.column_stack(grid.cell_to_xy(*np.divmod(cell, grid.cols)))
    prior = Prior(xy, cell, rng.dirichlet(np.ones(25)), sparse.csr_array((0, 25)), {})
    channel = laplace_channel(prior, grid, 0.004)
    dense = np.stack([channel.row(r) for r in channel.row_of_place])
    dense /= dense.sum(axis=1, keepdims=True)
    loss = np.hypot(*(xy[:, None] - xy[None]).transpose(2, 0, 1))
    # libqif's losses are (guesses, secrets)
    want = qif.measure.l_risk.posterior(loss.T.copy(), prior.weights.copy(), dense)
    assert euclidean_error(channel, prior).overall == pytest.approx(want, rel=1e-9)
    assert binary_error(channel, prior).overall == pytest.approx(
        qif.measure.bayes_risk.posterior(prior.weights.copy(), dense), rel=1e-9
    )
    found = worst_case(channel, prior)
    assert found.entropy_bits == pytest.approx(qif.measure.shannon.posterior(prior.weights.copy(), dense), rel=1e-6)


def test_own_prior_equals_brute_force() -> None:
    matrix = [[Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 4), Fraction(3, 4)], [Fraction(1), Fraction(0)]]
    own = [[Fraction(1, 3), Fraction(2, 3), Fraction(0)], [Fraction(0), Fraction(0), Fraction(1)]]
    prior = make_prior([(0, 0), (300, 400), (0, 100)], [0.2, 0.3, 0.5], [[float(p) for p in row] for row in own])
    channel = make_channel(matrix, [0, 1, 2])
    got = read(channel, Acquaintance(channel, prior))
    binary = [[Fraction(int(p != h)) for h in range(2)] for p in range(2)]
    metres = [[Fraction(500 * int(p != h)) for h in range(2)] for p in range(2)]
    assert got.binary == pytest.approx([float(brute_force(matrix[:2], own[0][:2], binary)), 0])
    assert got.euclidean_m == pytest.approx([float(brute_force(matrix[:2], own[0][:2], metres)), 0])
    assert got.places.tolist() == [2, 1]


def test_worst_case_of_known_channels() -> None:
    places = [(0, 0), (100, 0), (5000, 0)]
    certain = make_channel(np.eye(3), [0, 1, 2])
    prior = make_prior(places, [0.25, 0.25, 0.5])
    found = worst_case(certain, prior)
    assert found.prior_bits == pytest.approx(1.5)
    assert found.entropy_bits == pytest.approx(0, abs=1e-12)
    assert (found.luckiest_report, found.largest_loss) == (0, np.inf)
    assert found.excluded == pytest.approx(2 / 3)
    noisy = make_channel([[0.8, 0.2], [0.4, 0.6], [0.1, 0.9]], [0, 1, 2])
    found = worst_case(noisy, prior)
    assert found.largest_loss == pytest.approx(np.log(3))  # only the first two are within 300 m: 0.6 / 0.2
    assert found.excluded == 0
    assert 0 < found.entropy_bits < 1.5


def test_repeated_reports_recover_a_home_and_sticky_ones_do_not() -> None:
    rng = np.random.default_rng(1)
    matrix = np.full((20, 20), 0.6 / 19)
    np.fill_diagonal(matrix, 0.4)
    prior = make_prior(rng.uniform(0, 5000, (20, 2)), np.full(20, 0.05))
    channel = make_channel(matrix, np.arange(20))
    homes = np.arange(20)
    many = repeated_reports(channel, prior, homes, n=(1, 50), runs=20, seed=4)
    kept = repeated_reports(channel, prior, homes, n=(1, 50), runs=20, seed=4, sticky=True)
    # one report: the most likely place is the reported one, right with 0.4; five standard errors
    assert abs(many["recovered"][0] - 0.4) < 5 * many["stderr_recovered"][0]
    assert many["recovered"][1] > 0.95
    assert kept["recovered"][0] == kept["recovered"][1]
    again = repeated_reports(channel, prior, homes, n=(1, 50), runs=20, seed=4)
    assert again["average_m"] == many["average_m"]


def test_refusals() -> None:
    channel = make_channel(np.eye(2), [0, 1])
    prior = make_prior([(0, 0), (1, 1)], [0.5, 0.5])
    with pytest.raises(InputError, match="'loss' must be a finite table with 2 rows"):
        loss_error(channel, prior, np.full((2, 2), np.nan))
    with pytest.raises(InputError, match="rows that sum to 1"):
        make_channel([[0.5, 0.4], [1, 0]], [0, 1])
    with pytest.raises(InputError, match="'weights' must be > 0"):
        make_prior([(0, 0), (1, 1)], [1.5, -0.5])
    with pytest.raises(InputError, match="the channel must know 3 places"):
        euclidean_error(channel, make_prior([(0, 0), (1, 1), (2, 2)], [0.5, 0.25, 0.25]))
    with pytest.raises(InputError, match="'homes' must be"):
        repeated_reports(channel, prior, np.array([5]))
