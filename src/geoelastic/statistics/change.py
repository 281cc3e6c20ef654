# SPDX-License-Identifier: Apache-2.0
"""Time: shares by period, and whether two periods differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..errors import InputError, require_nonnegative, require_positive
from .counted_reports import counted_reports
from .estimate import Estimate, Survey, fitted
from .reports import read_reports


@dataclass(frozen=True, eq=False)
class Change:
    """The difference of two estimates, group by group. `p_value` of each group is corrected for how many there are
    (Holm 1979); `overall` tests that nothing changed at all (Wald)."""

    difference: FloatArray
    standard_error: FloatArray
    p_value: FloatArray
    overall: float

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """(low, high) of each group's difference."""
        from scipy.special import ndtri

        wide = float(ndtri((1 + level) / 2)) * self.standard_error
        return self.difference - wide, self.difference + wide


def compare(before: Estimate, after: Estimate) -> Change:
    """What changed between two estimates from different people over the same groups of zones."""
    if before.survey is not after.survey or not np.array_equal(before.groups.of_zone, after.groups.of_zone):
        raise InputError(
            "two estimates can be compared if they have the same survey and groups: give both the same 'groups_for'"
        )
    from scipy.special import chdtrc, ndtr

    difference = after.groups.shares - before.groups.shares
    covariance = before.groups.robust + after.groups.robust
    error = np.sqrt(np.diag(covariance))
    single = 2 * ndtr(-np.abs(difference) / np.where(error > 0, error, np.inf))
    # shares add up to 1: one difference follows from the others
    inverse = np.linalg.pinv(covariance, rcond=1e-10, hermitian=True)
    statistic = float(difference @ inverse @ difference)
    return Change(difference, error, _holm(single), float(chdtrc(max(difference.size - 1, 1), statistic)))


def _holm(values: FloatArray) -> FloatArray:
    order = np.argsort(values)
    steps = values[order] * np.arange(values.size, 0, -1)
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def estimate_periods(
    survey: Survey, reports: Any, *, user: str | None = None, time: str | None = None, hours: float = 1.0,
    daily: bool = True, smooth_hours: float = 0.0, seed: int = 0,
) -> list[tuple[float, Estimate]]:  # fmt: skip
    """(begin, estimate) for each period of `hours`: of the day (UTC) if `daily`, else since the epoch.

    With `smooth_hours`, reports of neighbouring periods count too, less and less up to that many hours away.
    """
    require_positive("hours", hours)
    require_nonnegative("smooth_hours", smooth_hours)
    read = read_reports(reports, user=user, time=time)
    if read.hour is None or not np.all(np.isfinite(read.hour)):
        raise InputError("estimates by time need a time for every report: name its column by 'time'")
    if daily and 24 % hours:
        raise InputError(f"'hours' must divide a day, got {hours:g}")
    clock = read.hour % 24 if daily else read.hour
    begins = np.arange(0.0, 24, hours) if daily else np.unique(np.floor(clock / hours)) * hours
    column, zone = survey.columns(0, read), survey.zone_numbers(read)
    person = np.arange(len(read)) if read.person is None else read.person
    done = []
    for begin in begins:
        away = np.maximum(np.maximum(begin - clock, clock - (begin + hours)), 0.0)
        if daily:
            away = np.minimum(away, np.maximum(24 - np.abs(clock - begin - hours / 2) - hours / 2, 0.0))
        counts = np.maximum(1 - away / smooth_hours, 0) if smooth_hours else (away == 0) & (clock != begin + hours)
        some = np.flatnonzero(counts)
        if some.size:
            weight = counts[some] / np.bincount(person[some])[person[some]]
            counted = counted_reports(
                survey.first_column[-1], survey.zones.n + 1, column[some], zone[some], person[some], weight, seed=seed
            )
            done.append((float(begin), fitted(survey, counted)))
    return done
