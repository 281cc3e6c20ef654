# SPDX-License-Identifier: Apache-2.0
"""The optimal mechanism of a small metric, by HiGHS with all constraints: the slow twin of `evaluation.optimum`.

Minimise the expected distance sum_x pi(x) sum_z K(x)(z) |x - z| over all K that are d-private, that is
K(x)(z) <= e^d(x,x') K(x')(z) for every output z. By the triangle inequality the constraints of edges imply all
others, so only pairs are kept that no third location lies between (Bordenabe, Chatzikokolakis, Palamidessi, CCS 2014).
"""

from __future__ import annotations

import numpy as np
from scipy import optimize, sparse

from geoelastic.arrays import FloatArray, IntArray

__all__ = ["direct_edges", "exponential_matrix", "optimal_matrix"]


def direct_edges(distances: FloatArray) -> list[tuple[int, int]]:
    """Pairs i < j with no third location between them: d(i, j) < d(i, k) + d(k, j) for all k."""
    n = len(distances)
    pairs = []
    for i in range(n):
        for j in range(i + 1, n):
            through = distances[i] + distances[:, j]
            through[[i, j]] = np.inf
            if distances[i, j] < through.min() * (1 - 1e-12) or not np.isfinite(through.min()):
                pairs.append((i, j))
    return pairs


def optimal_matrix(distances: FloatArray, cost_m: FloatArray, prior: FloatArray) -> FloatArray:
    """The d-private K with the least expected cost; rows are secrets, columns reports, both over the same locations."""
    n = len(prior)
    pairs = [(i, j) for i, j in direct_edges(distances) if np.isfinite(distances[i, j])]
    both = np.array(pairs + [(j, i) for i, j in pairs], dtype=np.int64).reshape(-1, 2)
    solution = optimize.linprog(
        (prior[:, None] * cost_m).ravel(),
        A_ub=_privacy(both, distances, n),
        b_ub=np.zeros(len(both) * n),
        A_eq=sparse.csr_array(sparse.kron(sparse.eye_array(n), np.ones((1, n)))),
        b_eq=np.ones(n),
        bounds=(0, 1),
        method="highs",
    )
    assert solution.status == 0, solution.message
    matrix = np.maximum(solution.x.reshape(n, n), 0)
    normalised: FloatArray = matrix / matrix.sum(axis=1, keepdims=True)
    return normalised


def _privacy(both: IntArray, distances: FloatArray, n: int) -> sparse.csr_array:
    """Rows e^-d K(x)(z) - K(x')(z) <= 0, one for each ordered pair and output (scaled so that no entry exceeds 1)."""
    m = len(both) * n
    z = np.tile(np.arange(n), len(both))
    left, right = (np.repeat(both[:, k], n) * n + z for k in (0, 1))
    weight = np.exp(-np.repeat(distances[both[:, 0], both[:, 1]], n))
    rows = np.arange(m)
    values = np.concatenate([weight, -np.ones(m)])
    return sparse.csr_array((values, (np.tile(rows, 2), np.concatenate([left, right]))), shape=(m, n * n))


def exponential_matrix(distances: FloatArray, measure: FloatArray) -> FloatArray:
    """The exponential mechanism on the same small set, mu(z) exp(-d/2)."""
    weights = measure[None, :] * np.exp(-distances / 2)
    normalised: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return normalised
