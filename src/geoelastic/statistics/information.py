# SPDX-License-Identifier: Apache-2.0
"""What reports can tell: Fisher information, the unbiased linear estimator, and zones that cannot be told apart.

With p = shares A the chances of all reports and I = A diag(1/p) A', the estimator M c/n with M = I^-1 A diag(1/p) has
mean M p(truth) = truth for *any* truth, since M A' = 1; its shares add up to 1, since I shares = 1. At the truth its
covariance is (I^-1 - shares shares')/n, which no unbiased estimator undercuts (Cramér and Rao, with the constraint
that shares add up to 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray

#: Zones are merged until the standard error of each group is at most this part of its public share.
PRECISION = 0.25


def sums(where: IntArray, values: FloatArray, least: int = 0) -> FloatArray:
    """The sum of the values of each number, from 0 to the largest and at least `least` of them."""
    return np.asarray(np.bincount(where, values, least), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class LinearEstimator:
    """`operator` M maps the shares of all reports to shares of groups; `covariance` times 1/n is theirs, at the shares
    for which M was made."""

    operator: FloatArray
    covariance: FloatArray


def linear_estimator(matrix: FloatArray, shares: FloatArray) -> LinearEstimator:
    """The unbiased linear estimator that is best at `shares` (all positive)."""
    weighted, inverse = _weighted(matrix, shares), covariance_of(information_of(matrix, shares), shares)
    return LinearEstimator((inverse + np.outer(shares, shares)) @ weighted, inverse)


def information_of(matrix: FloatArray, shares: FloatArray) -> FloatArray:
    """I = A diag(1/p) A' at the shares."""
    return np.asarray(_weighted(matrix, shares) @ matrix.T)


def _weighted(matrix: FloatArray, shares: FloatArray) -> FloatArray:
    predicted = shares @ matrix
    return np.divide(matrix, predicted, out=np.zeros(matrix.shape), where=predicted > 0)


def covariance_of(information: FloatArray, shares: FloatArray) -> FloatArray:
    """The least covariance of unbiased shares from one report."""
    # scaled to 1 on the diagonal: shares of groups differ by orders of magnitude
    scale = 1 / np.sqrt(np.diag(information))
    inverse = np.linalg.pinv(information * np.outer(scale, scale), hermitian=True) * np.outer(scale, scale)
    return np.asarray(inverse - np.outer(shares, shares))


def merge_zones(
    information: FloatArray, shares: FloatArray, xy: FloatArray, n: float, *, precision: float = PRECISION
) -> IntArray:
    """The group of each zone: zones are merged, each with the nearest, until n reports tell every group's share to
    `precision`. It depends on public numbers and on n only, never on what was reported.

    A group's row is the mean of its zones' rows by their shares, so p stays as it is and I becomes P I P'.
    """
    group = np.arange(shares.size)
    while True:
        held = sums(group, shares)
        if held.size == 1:
            return group
        part = np.zeros((held.size, shares.size))
        part[group, np.arange(shares.size)] = shares / held[group]
        variance = np.diag(covariance_of(part @ information @ part.T, held))
        wide = np.sqrt(np.maximum(variance, 0) / n) > precision * held
        if not wide.any():
            return group
        group = _paired(held, part @ xy, wide)[group]


def grouped(matrix: FloatArray, shares: FloatArray, group: IntArray) -> tuple[FloatArray, FloatArray]:
    """Matrix and shares of groups of rows; a group's row is the mean of its rows by their shares."""
    held = sums(group, shares)
    part = shares / held[group]
    rows = np.zeros((held.size, matrix.shape[1]))
    for k in np.argsort(group, kind="stable"):
        rows[group[k]] += part[k] * matrix[k]
    return rows, held


def _paired(held: FloatArray, middle: FloatArray, wide: Any) -> IntArray:
    """Each wide group, the smallest first, joins the nearest that has no partner yet, or else the pair of the nearest.
    Returns the new number of each group."""
    from scipy.spatial import cKDTree

    root, single = np.arange(held.size), np.ones(held.size, bool)
    near = np.atleast_2d(cKDTree(middle).query(middle, k=min(held.size, 9))[1])
    for k in sorted(np.flatnonzero(wide), key=lambda k: held[k]):
        if single[k]:
            others = [j for j in near[k].tolist() if j != k]
            other = next((j for j in others if single[j]), others[0])
            root[k] = root[other]
            single[[k, other]] = False
    return np.asarray(np.unique(root, return_inverse=True)[1])
