# SPDX-License-Identifier: Apache-2.0
"""Flows: from which zone to which, from pairs of reports of one trip.

The two reports are drawn independently given the two true places, so the chance of a pair is the product of the two
chances, and the same maximisation works on the table of origins and destinations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..errors import InputError
from .counted_reports import FOLDS
from .estimate import Survey
from .maximum import MOST_STEPS, out_of_patience
from .reports import read_reports

_MOST_ZONES = 400


@dataclass(frozen=True, eq=False)
class Flows:
    """`shares[a, b]`: the share of trips from zone a to zone b; the last row and column are elsewhere."""

    shares: FloatArray
    names: tuple[str, ...]
    steps: int


def estimate_flows(survey: Survey, origins: Any, destinations: Any, *, seed: int = 0) -> Flows:
    """The table of origins and destinations from two lists of reports, a trip a row."""
    start, end = read_reports(origins), read_reports(destinations)
    if len(start) != len(end):
        raise InputError(f"every trip must have two reports, got {len(start)} origins and {len(end)} destinations")
    if survey.zones.n > _MOST_ZONES:
        raise InputError(f"flows need at most {_MOST_ZONES} zones, got {survey.zones.n}: use larger ones")
    zones = survey.by_zone
    a, b = (zones.matrix[:, survey.columns(0, reports)].T for reports in (start, end))
    begin = np.outer(zones.shares, zones.shares)
    part = np.random.default_rng(seed).integers(0, FOLDS, len(start))
    steps, found = _best_steps(a, b, part, begin), begin
    for _ in range(steps):
        found = _step(a, b, found)
    shares = np.zeros((survey.zones.n + 1, survey.zones.n + 1))
    shares[np.ix_(zones.number, zones.number)] = found
    return Flows(shares, (*survey.zones.names, "elsewhere"), steps)


def _step(a: FloatArray, b: FloatArray, shares: FloatArray) -> FloatArray:
    """One step of expectation and maximisation; a row of `a` and `b` is the chance of a trip's reports by zone."""
    predicted = np.einsum("nk,nk->n", a @ shares, b)
    moved: FloatArray = shares * ((a / predicted[:, None]).T @ b) / len(a)
    return moved


def _best_steps(a: FloatArray, b: FloatArray, part: Any, start: FloatArray) -> int:
    """The number of steps after which trips that were left out are most likely."""
    shares = [start] * FOLDS
    found: list[float] = []
    for _ in range(MOST_STEPS):
        score = 0.0
        for k in range(FOLDS):
            out = part == k
            if out.any():
                score += float(np.log(np.einsum("nk,nk->n", a[out] @ shares[k], b[out])).sum())
        found.append(score)
        if out_of_patience(found):
            break
        shares = [_step(a[part != k], b[part != k], shares[k]) if np.any(part != k) else start for k in range(FOLDS)]
    return int(np.argmax(found))
