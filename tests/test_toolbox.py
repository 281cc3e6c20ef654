# SPDX-License-Identifier: Apache-2.0
"""The toolbox itself: right critical values, and it does fail on wrong samplers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from statistical import toolbox


def test_critical_values_are_those_of_the_tables() -> None:
    assert toolbox.chi_square_critical(1, 0.05) == pytest.approx(3.841, abs=5e-4)
    assert toolbox.chi_square_critical(10, 0.01) == pytest.approx(23.209, abs=5e-4)
    assert toolbox.chi_square_critical(100, 0.001) == pytest.approx(149.449, abs=5e-4)


def test_false_alarm_rate_is_alpha() -> None:
    rng = np.random.default_rng(5)
    p = np.array([0.5, 0.3, 0.15, 0.05])
    failures = sum(not toolbox.chi_square(rng.multinomial(2000, p), p, alpha=0.05).ok for _ in range(2000))
    toolbox.assert_proportion(failures, 2000, 0.05)


def test_pooling_keeps_every_draw() -> None:
    p = np.array([0.9, 0.0999, 0.0001])
    assert toolbox.chi_square([900, 99, 1], p, 0.01).df == 1
    assert toolbox.chi_square([900, 0, 100], p, 0.01).df == 1
    many = np.append([0.5], np.full(1000, 0.0005))
    assert toolbox.chi_square(np.append([500], np.full(1000, 0.5)), many, 0.01).statistic == pytest.approx(0)


def test_wrong_samplers_are_caught() -> None:
    rng = np.random.default_rng(6)
    with pytest.raises(AssertionError, match="critical value for 3 degrees of freedom"):
        toolbox.assert_draws(rng.integers(0, 4, 10_000), [0.27, 0.25, 0.25, 0.23])
    with pytest.raises(AssertionError, match="probability 0"):
        toolbox.assert_draws([0, 1, 1], [1.0, 0.0])
    with pytest.raises(AssertionError, match="sum to"):
        toolbox.assert_draws([0, 1, 1], [0.5, 0.4])
    with pytest.raises(AssertionError, match="Kolmogorov"):
        toolbox.assert_distribution(rng.exponential(1.05, 50_000), stats.expon.cdf)
    with pytest.raises(AssertionError, match="mean"):
        toolbox.assert_mean(rng.exponential(1.05, 50_000), 1.0)
    with pytest.raises(AssertionError, match="puts the probability"):
        toolbox.assert_proportion(600, 1000, 0.5)


def test_right_samplers_pass() -> None:
    rng = np.random.default_rng(7)
    toolbox.assert_draws(rng.choice(3, 30_000, p=[0.2, 0.3, 0.5]), [0.2, 0.3, 0.5])
    toolbox.assert_distribution(rng.exponential(1.0, 50_000), stats.expon.cdf)
    toolbox.assert_mean(rng.exponential(1.0, 50_000), 1.0)
    assert toolbox.proportion_interval(0, 10)[0] == 0
    assert toolbox.proportion_interval(10, 10)[1] == 1
