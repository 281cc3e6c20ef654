# SPDX-License-Identifier: Apache-2.0
"""Remapping: the best guess is the best, error falls under a prior that fits, and the loss never rises."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import geoelastic as ge
from geoelastic.errors import InputError
from geoelastic.mechanism.laplace import PlanarLaplace
from geoelastic.mechanism.remap import LOSSES, Remapped, RemappedLaplace, best_guess
from geoelastic.randomness import SeededRandom
from maps import one_town

coordinate = st.integers(-50, 50).map(lambda k: 100.0 * k)
weighted_points = st.lists(st.tuples(coordinate, coordinate, st.integers(1, 9)), min_size=1, max_size=8)


@given(weighted_points)
def test_best_guess_has_the_least_expected_loss(rows: list[tuple[float, float, int]]) -> None:
    points, weights = np.array([row[:2] for row in rows]), np.array([float(row[2]) for row in rows])

    def euclidean(p: np.ndarray) -> float:
        return float(weights @ np.hypot(*(points - p).T))

    median = np.array(best_guess(points, weights))
    around = [median + 20 * np.array([math.cos(t), math.sin(t)]) for t in np.linspace(0, 6, 12)]
    least = min(euclidean(p) for p in [*points, *around])
    assert euclidean(median) <= least + 0.01 * weights.sum()
    mean = np.array(best_guess(points, weights, "squared"))
    np.testing.assert_allclose(weights @ (points - mean), 0, atol=1e-6 * weights.sum() * 5000)
    assert weights[np.all(points == best_guess(points, weights, "binary"), axis=1)].max() == weights.max()


@pytest.fixture(scope="module")
def mechanism() -> ge.ElasticMechanism:
    return one_town(12, 0.1, slice(3, 6), 0.5, 200, method="paper", l_from=0, l_top=math.log(2))


@pytest.fixture(scope="module")
def prior(mechanism: ge.ElasticMechanism) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.where(rng.random(mechanism.metric.n) < 0.2, rng.random(mechanism.metric.n), 0.0)


def table(mechanism: ge.ElasticMechanism) -> tuple[np.ndarray, np.ndarray]:
    secret = np.flatnonzero(mechanism.metric.secret)
    return secret, np.array([mechanism.probabilities(int(i)) for i in secret])


@pytest.mark.jit
def test_posterior_is_bayes(mechanism: ge.ElasticMechanism, prior: np.ndarray) -> None:
    remapped = Remapped(mechanism, prior)
    secret, k = table(mechanism)
    joint = k * remapped.prior[secret, None]
    for z in (0, 17, 77, 143):
        np.testing.assert_allclose(remapped.posterior(z)[secret], joint[:, z] / joint[:, z].sum(), rtol=1e-3, atol=1e-9)


@pytest.mark.jit
@pytest.mark.parametrize("loss", LOSSES)
def test_expected_loss_falls_under_the_prior(mechanism: ge.ElasticMechanism, prior: np.ndarray, loss: str) -> None:
    remapped = Remapped(mechanism, prior, loss=loss)
    secret, k = table(mechanism)
    xy, weight = mechanism.metric.xy, remapped.prior[secret]

    def average(reported: np.ndarray) -> float:
        metres = np.hypot(*(xy[secret][:, None, :] - reported[None, :, :]).transpose(2, 0, 1))
        cost = {"euclidean": metres, "squared": metres**2, "binary": (metres > 1e-6).astype(float)}[loss]
        return float(weight @ (k * cost).sum(axis=1))

    guesses = np.array([remapped.remap(z) for z in range(mechanism.metric.n)])
    assert average(guesses) < 0.95 * average(xy)
    if loss == "euclidean":
        by_location = [remapped.expected_error(int(i)) for i in secret]
        assert float(weight @ by_location) == pytest.approx(average(guesses))


@pytest.mark.jit
def test_loss_never_rises(mechanism: ge.ElasticMechanism, prior: np.ndarray) -> None:
    remapped = Remapped(mechanism, prior)
    secret, k = table(mechanism)
    guesses = np.array([remapped.remap(z) for z in range(mechanism.metric.n)])
    cells = mechanism.metric.grid.xy_to_cell(guesses[:, 0], guesses[:, 1])
    target = np.ravel_multi_index(cells, mechanism.metric.grid.shape)
    pushed = np.array([np.bincount(target, weights=row, minlength=144) for row in k])
    used = pushed[0] > 0
    for a in range(0, len(secret), 7):
        levels = mechanism.metric.distances_from(int(secret[a]))
        worst = np.abs(np.log(pushed[a, used] / pushed[:, used])).max(axis=1)
        assert np.all(worst <= levels[secret] + 1e-9)
        assert remapped.loss(int(secret[a]), int(secret[0])) == mechanism.loss(int(secret[a]), int(secret[0]))


@pytest.mark.jit
def test_reports_are_the_guesses(mechanism: ge.ElasticMechanism, prior: np.ndarray) -> None:
    remapped, metric = Remapped(mechanism, prior), mechanism.metric
    i = int(np.flatnonzero(metric.secret)[20])
    plain = mechanism.sample_cells(np.full(50, i), rng=SeededRandom(1))
    moved = remapped.sample_cells(np.full(50, i), rng=SeededRandom(1))
    for row, col, row2, col2 in zip(*plain, *moved, strict=True):
        guess = remapped.remap(int(metric.locations.owner[row, col]))
        assert (row2, col2) == tuple(int(v) for v in metric.grid.xy_to_cell(*guess))
    lat, lon = remapped.sanitize(*metric.latlon(i))
    assert metric.grid.locate(lat, lon) is not None


@pytest.mark.jit
def test_given_totals_are_used(mechanism: ge.ElasticMechanism, prior: np.ndarray) -> None:
    totals = np.array([1.0 if s else 0.0 for s in mechanism.metric.secret])
    flat = Remapped(mechanism, prior, totals=totals)
    assert mechanism.sharpened
    weights = prior * mechanism.metric.secret * np.exp(-mechanism.reporting.distances_from(50))
    np.testing.assert_allclose(flat.posterior(50), weights / weights.sum(), rtol=1e-9)


@pytest.mark.jit
def test_bad_priors(mechanism: ge.ElasticMechanism) -> None:
    n = mechanism.metric.n
    for bad in (np.zeros(n), np.ones(n - 1), np.full(n, np.nan), -np.ones(n), ~mechanism.metric.secret * 1.0):
        with pytest.raises(InputError, match="'prior' must be"):
            Remapped(mechanism, bad)
    with pytest.raises(InputError, match="'loss' must be"):
        Remapped(mechanism, np.ones(n), loss="cubic")


def test_laplace_remap_moves_reports_onto_the_prior() -> None:
    rng = np.random.default_rng(2)
    lat, lon = 48.85 + rng.normal(0, 0.02, 40), 2.35 + rng.normal(0, 0.03, 40)
    weights = rng.random(40)
    noise = PlanarLaplace.from_expected_error(1500)
    area = ge.Area.around(48.85, 2.35, size_km=30)
    who = rng.choice(40, 600, p=weights / weights.sum())
    true = lat[who], lon[who]
    plain = noise.sanitize_many(*true, rng=SeededRandom(3))
    for loss in LOSSES:
        guess = RemappedLaplace(noise, lat, lon, weights, loss=loss).sanitize_many(*true, rng=SeededRandom(3))
        errors = [
            np.hypot(*(np.array(area.to_xy(*true)) - np.array(area.to_xy(*places)))).mean() for places in (plain, guess)
        ]
        assert errors[1] < 0.95 * errors[0]
    one = RemappedLaplace(noise, [48.85], [2.35])
    assert one.sanitize(48.9, 2.4) == pytest.approx((48.85, 2.35), abs=1e-6)


def test_laplace_remap_at_the_180th_meridian_and_bad_priors() -> None:
    noise = PlanarLaplace(0.01)
    lat, lon = RemappedLaplace(noise, [0.0, 0.0], [179.99, -179.99]).remap(0.0, 179.999)
    assert abs(lat[0]) < 1e-6
    assert abs(abs(lon[0]) - 180) < 0.011
    for arguments in ([[], []], [[1.0], [1.0, 2.0]], [[1.0], [1.0], [0.0]], [[1.0], [1.0], [math.nan]]):
        with pytest.raises(InputError, match="must be"):
            RemappedLaplace(noise, *arguments)


@pytest.mark.jit
def test_where_the_prior_is_silent_a_report_stays() -> None:
    cells = np.full((12, 12), 0.2)
    mass = ge.Mass.from_array(cells, cell_m=200, origin=(48.85, 2.35))
    metric = ge.build_metric(mass, method="paper", layout="uniform", l_from=0, l_top=math.log(2))
    i = int(np.flatnonzero(metric.secret)[40])
    x, y = metric.xy[i]
    corners = [(x - 50, y - 50), (x + 50, y - 50), (x + 50, y + 50), (x - 50, y + 50), (x - 50, y - 50)]
    ring = [tuple(float(v) for v in reversed(metric.grid.area.to_latlon(*corner))) for corner in corners]
    fenced = ge.ElasticMechanism(metric.with_fences([{"type": "Polygon", "coordinates": [ring]}]))
    inside = np.flatnonzero(fenced.metric.fence > 0)
    prior = np.where(fenced.metric.fence > 0, 0.0, 1.0)
    silent = Remapped(fenced, prior)
    assert silent.remap(int(inside[0])) == tuple(fenced.metric.xy[inside[0]])
    with pytest.raises(InputError, match="rules out"):
        silent.posterior(int(inside[0]))
    only = Remapped(fenced, 1 - prior)
    assert only.posterior(int(inside[0])).sum() == pytest.approx(1)
    frame = only.sanitize_frame(pa.table({"lat": [metric.latlon(i)[0]], "lon": [metric.latlon(i)[1]]}))
    assert frame.num_rows == 1
    assert (only.exponent, only.measure is fenced.measure) == (fenced.exponent, True)
