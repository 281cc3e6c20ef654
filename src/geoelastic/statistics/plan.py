# SPDX-License-Identifier: Apache-2.0
"""Before anything is collected: how many reports tell what, by the information they carry at the public guess."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import require_positive
from .estimate import Survey
from .information import covariance_of, grouped, linear_estimator, merge_zones


@dataclass(frozen=True, eq=False)
class Plan:
    """What `people` reports, one each, can tell. `groups`: zones that cannot be told apart have the same number;
    `relative_error`: standard error of each group's share, as a part of it; `needed`: people for each zone by itself to
    be told to `precision` (infinite where no number is enough); `distance`: the least mean total variation distance,
    over zones, of any unbiased estimate."""

    people: float
    groups: IntArray
    relative_error: FloatArray
    needed: FloatArray
    distance: float


def plan(survey: Survey, people: float, *, precision: float = 0.25) -> Plan:
    """What can be told about the zones of a survey from the reports of so many people."""
    require_positive("people", people)
    zones = survey.by_zone
    variance = np.maximum(np.diag(covariance_of(zones.information, zones.shares)), 0)
    group = merge_zones(zones.information, zones.shares, zones.xy, people, precision=precision)
    merged, shares = grouped(zones.matrix, zones.shares, group)
    spread = np.sqrt(np.maximum(np.diag(linear_estimator(merged, shares).covariance), 0) / people)
    # E|error| of a normal error is sqrt(2/pi) of its deviation
    distance = 0.5 * float(np.sqrt(2 / np.pi * variance / people).sum())
    return Plan(people, group, spread / shares, variance / (precision * zones.shares) ** 2, min(distance, 1.0))
