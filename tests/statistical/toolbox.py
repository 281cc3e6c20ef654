# SPDX-License-Identifier: Apache-2.0
"""The statistical toolbox of the test suite: every test of chance goes through here, at a named false-alarm rate.

A sound sampler fails one of these assertions with probability at most `alpha`; critical values are computed for the
degrees of freedom at hand, never guessed. Tests still use seeded sources, so that a suite that passed once passes
again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

#: Chance that one assertion fails on a sound sampler. A thousand assertions: one false alarm in ten thousand suites.
ALPHA = 1e-7

#: For draws that no seed can reach (another process): a chi-square statistic follows its law less well this far out,
#: so that three powers of ten are left between this and the one in 10^9 that such a test may fail.
NEVER = 1e-12

#: A chi-square cell needs about this many expected draws for its statistic to follow the chi-square law.
LEAST_EXPECTED = 10.0


class ChiSquare(NamedTuple):
    """Outcome of a chi-square test; `critical` belongs to `df` degrees of freedom at the alpha asked for."""

    statistic: float
    df: int
    critical: float
    p_value: float

    @property
    def ok(self) -> bool:
        return self.statistic <= self.critical


def chi_square_critical(df: int, alpha: float = ALPHA) -> float:
    """The value a chi-square variable with `df` degrees of freedom exceeds with probability `alpha`."""
    return float(stats.chi2.isf(alpha, df))


def chi_square(counts: npt.ArrayLike, probabilities: npt.ArrayLike, alpha: float = ALPHA) -> ChiSquare:
    """Pearson's test of counts against probabilities; rare outcomes are pooled, impossible ones must not occur."""
    observed = np.asarray(counts, dtype=float).ravel()
    p = np.asarray(probabilities, dtype=float).ravel()
    assert observed.shape == p.shape, f"{observed.size} counts for {p.size} probabilities"
    assert abs(p.sum() - 1) < 1e-9, f"probabilities sum to {p.sum()!r}"
    assert not observed[p == 0].any(), "an outcome of probability 0 was drawn"
    expected = p * observed.sum()
    rare = expected < LEAST_EXPECTED
    kept_observed, kept_expected = observed[~rare], expected[~rare]
    if expected[rare].sum() >= LEAST_EXPECTED:
        kept_observed = np.append(kept_observed, observed[rare].sum())
        kept_expected = np.append(kept_expected, expected[rare].sum())
    elif kept_expected.size and rare.any():
        least = int(kept_expected.argmin())
        kept_observed[least] += observed[rare].sum()
        kept_expected[least] += expected[rare].sum()
    df = kept_expected.size - 1
    assert df >= 1, "too few draws: fewer than two outcomes have enough expected draws"
    statistic = float(((kept_observed - kept_expected) ** 2 / kept_expected).sum())
    return ChiSquare(statistic, df, chi_square_critical(df, alpha), float(stats.chi2.sf(statistic, df)))


def assert_chi_square(counts: npt.ArrayLike, probabilities: npt.ArrayLike, alpha: float = ALPHA) -> None:
    """Observed counts follow the probabilities."""
    result = chi_square(counts, probabilities, alpha)
    assert result.ok, (
        f"chi-square {result.statistic:.1f} > {result.critical:.1f} = critical value for {result.df} degrees of "
        f"freedom at alpha {alpha:g} (p = {result.p_value:.2e})"
    )


def assert_draws(draws: npt.ArrayLike, probabilities: npt.ArrayLike, alpha: float = ALPHA) -> None:
    """Drawn indices follow the probabilities of 0, 1, 2, ..."""
    p = np.asarray(probabilities)
    assert_chi_square(np.bincount(np.asarray(draws), minlength=p.size), p, alpha)


def assert_distribution(sample: npt.ArrayLike, cdf: Callable[[Any], Any], alpha: float = ALPHA) -> None:
    """Real numbers follow a continuous law (Kolmogorov and Smirnov)."""
    result = stats.kstest(np.asarray(sample, dtype=float), cdf)
    assert result.pvalue >= alpha, (
        f"Kolmogorov-Smirnov distance {result.statistic:.2e}: p = {result.pvalue:.2e} < {alpha:g}"
    )


def assert_mean(sample: npt.ArrayLike, mean: float, alpha: float = ALPHA) -> None:
    """The mean of many draws is `mean`, by the normal law with the sample's own spread (thousands of draws needed)."""
    values = np.asarray(sample, dtype=float)
    assert values.size >= 1000, "the normal law needs at least a thousand draws"
    margin = float(stats.norm.isf(alpha / 2)) * float(values.std(ddof=1)) / math.sqrt(values.size)
    assert abs(values.mean() - mean) <= margin, (
        f"mean {values.mean():.6g} is not {mean:.6g} +- {margin:.2g} at alpha {alpha:g}"
    )


def proportion_interval(hits: int, draws: int, alpha: float = ALPHA) -> tuple[float, float]:
    """Exact (Clopper and Pearson) two-sided interval for a probability; misses it with probability at most alpha."""
    low = float(stats.beta.ppf(alpha / 2, hits, draws - hits + 1)) if hits else 0.0
    high = float(stats.beta.isf(alpha / 2, hits + 1, draws - hits)) if hits < draws else 1.0
    return low, high


def assert_proportion(hits: int, draws: int, probability: float, alpha: float = ALPHA) -> None:
    """`hits` of `draws` is what a coin of this probability gives."""
    low, high = proportion_interval(hits, draws, alpha)
    assert low <= probability <= high, (
        f"{hits}/{draws} puts the probability in [{low:.6g}, {high:.6g}], not {probability:.6g}"
    )
