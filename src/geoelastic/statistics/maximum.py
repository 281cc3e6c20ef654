# SPDX-License-Identifier: Apache-2.0
"""Maximum likelihood by expectation and maximisation (iterative Bayesian update), and when to stop.

Each step moves the shares to the mean of the posteriors of all reports, which never lowers the likelihood (Dempster,
Laird and Rubin 1977; Agrawal and Aggarwal 2001; ElSalamouny and Palamidessi 2020). Far more steps than the data can
bear turn chance into detail: the number of steps is the one at which reports that were left out are most likely.
"""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray

MOST_STEPS = 2000
#: A search for the best number of steps ends when the likelihood of what was left out has not risen for this share of
#: the steps so far, and at least so many.
_PATIENCE, _LEAST_PATIENCE = 0.5, 15


def expectation_maximisation(matrix: FloatArray, counts: FloatArray, start: FloatArray) -> FloatArray:
    """One step: the mean posterior share of each row, over `counts` reports of each column."""
    predicted = start @ matrix
    shares: FloatArray = start * (matrix @ (counts / predicted)) / counts.sum()
    return shares


def out_of_patience(found: list[float]) -> bool:
    """Whether the likelihood of what was left out has not risen for long."""
    best = int(np.argmax(found))
    return len(found) - 1 - best > max(_LEAST_PATIENCE, _PATIENCE * best)
