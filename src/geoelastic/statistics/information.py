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

__all__ = ["LinearEstimator", "linear_estimator", "merge_zones", "relative_errors"]

#: Zones are merged until the standard error of each group is at most this part of its public share.
PRECISION = 0.25


@dataclass(frozen=True, eq=False)
class LinearEstimator:
    """`operator` M maps the shares of all reports to shares of groups; `covariance` times 1/n is theirs, at the shares
    for which M was made."""

    operator: FloatArray
    covariance: FloatArray


def linear_estimator(matrix: FloatArray, shares: FloatArray) -> LinearEstimator:
    """The unbiased linear estimator that is best at `shares` (all positive)."""
    predicted = shares @ matrix
    weighted = np.divide(matrix, predicted, out=np.zeros_like(matrix), where=predicted > 0)
    information = weighted @ matrix.T
    # scaled to 1 on the diagonal: shares of groups differ by orders of magnitude
    scale = 1 / np.sqrt(np.diag(information))
    inverse = np.linalg.pinv(information * np.outer(scale, scale), hermitian=True) * np.outer(scale, scale)
    return LinearEstimator(inverse @ weighted, inverse - np.outer(shares, shares))


def relative_errors(matrix: FloatArray, shares: FloatArray, n: float) -> FloatArray:
    """Standard error of each row's share from n reports, as a part of the share."""
    covariance = linear_estimator(matrix, shares).covariance
    return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0) / n) / shares)


def merge_zones(
    matrix: FloatArray, shares: FloatArray, xy: FloatArray, n: float, *, precision: float = PRECISION
) -> IntArray:
    """The group of each row: rows are merged, each with the nearest, until n reports tell every group's share to
    `precision`. It depends on public numbers and on n only, never on what was reported."""
    group = np.arange(shares.size)
    while True:
        rows, held, middle = grouped(matrix, shares, xy, group)
        if held.size == 1:
            return group
        wide = relative_errors(rows, held, n) > precision
        if not wide.any():
            return group
        group = _paired(held, middle, wide)[group]


def grouped(matrix: FloatArray, shares: FloatArray, xy: FloatArray, group: IntArray) -> tuple[Any, Any, Any]:
    """Matrix, shares and middles of groups of rows; a group's row is the mean of its rows by their shares."""
    count = int(group.max()) + 1
    held = np.bincount(group, shares, count)
    part = shares / held[group]
    rows = np.zeros((count, matrix.shape[1]))
    for k in np.argsort(group, kind="stable"):
        rows[group[k]] += part[k] * matrix[k]
    middle = np.column_stack([np.bincount(group, part * xy[:, axis], count) for axis in (0, 1)])
    return rows, held, middle


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
