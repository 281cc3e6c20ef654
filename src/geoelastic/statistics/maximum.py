# SPDX-License-Identifier: Apache-2.0
"""Maximum likelihood by expectation and maximisation (iterative Bayesian update), and when to stop.

Each step moves the shares to the mean of the posteriors of all reports, which never lowers the likelihood (Dempster,
Laird and Rubin 1977; Agrawal and Aggarwal 2001; ElSalamouny and Palamidessi 2020). Far more steps than the data can
bear turn chance into detail: the number of steps is the one at which reports that were left out are most likely.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..levels import FloatArray, IntArray

__all__ = ["Fit", "expectation_maximisation", "log_likelihood", "out_of_patience", "stopped_fit"]

#: Parts into which reports are divided, each left out once.
FOLDS = 5
MOST_STEPS = 2000
#: A search for the best number of steps ends when the likelihood of what was left out has not risen for this share of
#: the steps so far, and at least so many.
_PATIENCE, _LEAST_PATIENCE = 0.5, 15


@dataclass(frozen=True, eq=False)
class Fit:
    """Shares of the atoms, and the mean log-likelihood of a report after each step: of all reports, and of those that
    were left out."""

    shares: FloatArray
    steps: int
    likelihood: FloatArray
    held_out: FloatArray


def expectation_maximisation(matrix: FloatArray, counts: FloatArray, start: FloatArray) -> FloatArray:
    """One step: the mean posterior share of each row, over `counts` reports of each column."""
    predicted = start @ matrix
    shares: FloatArray = start * (matrix @ (counts / predicted)) / counts.sum()
    return shares


def log_likelihood(matrix: FloatArray, counts: FloatArray, shares: FloatArray) -> float:
    """The mean log-likelihood of a report."""
    seen = counts > 0
    return float(counts[seen] @ np.log(shares @ matrix[:, seen]) / counts.sum())


def out_of_patience(found: list[float]) -> bool:
    """Whether the likelihood of what was left out has not risen for long."""
    best = int(np.argmax(found))
    return len(found) - 1 - best > max(_LEAST_PATIENCE, _PATIENCE * best)


def stopped_fit(matrix: FloatArray, column: IntArray, weight: FloatArray, part: IntArray, start: FloatArray) -> Fit:
    """Shares from reports (a column and a weight each), with as many steps as reports that are left out support.

    `part`: which of `FOLDS` parts each report belongs to; all reports of one person to the same.
    """
    seen, where = np.unique(column, return_inverse=True)
    narrow = np.ascontiguousarray(matrix[:, seen])
    by_part = np.array([np.bincount(where, weight * (part == k), seen.size) for k in range(FOLDS)])
    counts = by_part.sum(axis=0)
    held_out = _held_out(narrow, by_part, start)
    steps = int(np.argmax(held_out))
    shares, likelihood = start, [log_likelihood(narrow, counts, start)]
    for _ in range(steps):
        shares = expectation_maximisation(narrow, counts, shares)
        likelihood.append(log_likelihood(narrow, counts, shares))
    return Fit(shares, steps, np.array(likelihood), held_out)


def _held_out(matrix: FloatArray, by_part: FloatArray, start: FloatArray) -> FloatArray:
    """Mean log-likelihood, after each number of steps, of the reports that had no part in these steps."""
    total = by_part.sum()
    rest = by_part.sum(axis=0) - by_part  # what each fit sees
    usable = (rest.sum(axis=1) > 0) & (by_part.sum(axis=1) > 0)
    shares = np.tile(start, (int(usable.sum()), 1))
    rest, left_out = rest[usable], by_part[usable]
    found: list[float] = []
    for _ in range(MOST_STEPS + 1):
        predicted = shares @ matrix
        found.append(float((left_out * np.log(predicted)).sum() / total))
        if out_of_patience(found):
            break
        shares = shares * ((rest / predicted) @ matrix.T) / rest.sum(axis=1, keepdims=True)
    return np.array(found)
