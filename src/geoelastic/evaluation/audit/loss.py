# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on the loss between two places from samples of their reports.

An event A with P(A) = p from one place and q from the other shows a loss of at least ln(p/q). One half of each sample
chooses the event (half-planes and discs along the line between the places, and single outputs), the other half counts
it; exact binomial bounds (Clopper and Pearson) on both counts then give a bound that holds with the stated
confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import betainccinv, betaincinv

from ...arrays import BoolArray, FloatArray

__all__ = ["loss_bound"]

Event = tuple[str, Callable[[FloatArray], BoolArray]]

_QUANTILES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
_LEAST_P = 1e-300


def loss_bound(
    first: FloatArray, second: FloatArray, towards: tuple[float, float], claimed: float, confidence_alpha: float
) -> tuple[float, float, str]:
    """(lower bound, p-value of the claim, event) from reports in metres (n, 2) around the first place.

    `towards` is the second place. The p-value is the least alpha at which the bound exceeds `claimed`.
    """
    half, half2 = len(first) // 2, len(second) // 2
    best: tuple[float, Event] | None = None
    for event in _events(first[:half], np.array(towards)):
        hits = int(np.count_nonzero(event[1](first[:half]))), int(np.count_nonzero(event[1](second[:half2])))
        score = _bound(hits[0], half, hits[1], half2, confidence_alpha)
        if best is None or score > best[0]:
            best = score, event
    if best is None:
        return 0.0, 1.0, "none"
    name, event_of = best[1]
    n, n2 = len(first) - half, len(second) - half2
    hits = int(np.count_nonzero(event_of(first[half:]))), int(np.count_nonzero(event_of(second[half2:])))
    lower = _bound(hits[0], n, hits[1], n2, confidence_alpha)
    return max(0.0, lower), _p_value(hits[0], n, hits[1], n2, claimed), name


def _events(first: FloatArray, place2: FloatArray) -> Iterator[Event]:
    axis = -place2 / max(1e-9, float(np.hypot(*place2)))
    scores: tuple[tuple[str, Callable[[FloatArray], FloatArray]], ...] = (
        ("beyond the first, away from the second", lambda z: z @ axis),
        ("near the first", lambda z: -np.hypot(z[:, 0], z[:, 1])),
        ("far from the second", lambda z: np.hypot(z[:, 0] - place2[0], z[:, 1] - place2[1])),
    )
    for name, score in scores:
        for threshold in np.unique(np.quantile(score(first), 1 - np.array(_QUANTILES))):
            yield name, lambda z, score=score, t=threshold: score(z) >= t  # type: ignore[misc]
    points, counts = np.unique(first, axis=0, return_counts=True)
    if points.shape[0] < len(first) // 2:  # outputs repeat: single ones can be events
        for k in np.argsort(counts)[::-1][:20]:
            yield "one output", lambda z, at=points[k]: np.all(z == at, axis=1)  # type: ignore[misc]


def _bound(hits: int, n: int, hits2: int, n2: int, alpha: float) -> float:
    """ln(p/q) with p at its lower and q at its upper exact bound, each failing with probability alpha/2 at most."""
    if not hits:
        return -math.inf
    low = float(betaincinv(hits, n - hits + 1, alpha / 2))
    high = float(betainccinv(hits2 + 1, n2 - hits2, alpha / 2)) if hits2 < n2 else 1.0
    return math.log(low / high) if low > 0 else -math.inf


def _p_value(hits: int, n: int, hits2: int, n2: int, claimed: float) -> float:
    """The least alpha whose bound exceeds the claim, by bisection on its logarithm; 1 if none does."""
    low, high = math.log(_LEAST_P), 0.0
    if not _bound(hits, n, hits2, n2, 1.0) > claimed:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _bound(hits, n, hits2, n2, math.exp(middle)) > claimed:
            high = middle
        else:
            low = middle
    return math.exp(high)
