# SPDX-License-Identifier: Apache-2.0
"""Where time is spent, from released traces.

A release rests at a place for hours and then jumps. As long as the person rests too, a stay of T ticks at z has a
chance in proportion to m(z) w(d(x, z))^T, with m and w of the trace mechanism: the law of a single report whose
exponent is T times that of a tick. So stays are reports, each counted by its hours, and those of like length share a
model. Who moved while the release stayed is taken for somebody who did not, and habit is not looked at: an estimate of
time is nearer to the truth than the histogram of the ticks (docs/statistics.md), but its intervals cover chance alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray, IntArray
from ..errors import InputError, require_able
from ..metric.weights import make_weights
from ..sources.traces import read_traces
from ..traces import Release, TraceMechanism
from .counted_reports import counted_reports
from .estimate import Estimate, fitted, prepare
from .model import Law
from .reports import ReadReports

#: Ticks of the models of stays: each stay goes by the nearest, as a ratio.
_LENGTHS = tuple(2**k for k in range(12))


def estimate_time(
    mechanism: TraceMechanism, releases: Any, *, zones: Any, prior: npt.ArrayLike | None = None,
    elsewhere: bool = True, seed: int = 0, cache: str | Path | None = None, workers: int | None = None,
    progress: bool = False,
) -> Estimate:  # fmt: skip
    """The share of time that is spent in each zone, everybody counting the same, from traces released by `mechanism`.

    `releases`: a list of `Release`, or the file or files that `geoelastic trace release` wrote. `raw` of the result is
    the share of the released ticks.
    """
    require_able("mechanism", mechanism, "release", "the TraceMechanism that made the releases")
    person, lat, lon, ticks = _stays(mechanism, releases)
    length = np.rint(np.log2(ticks)).astype(np.int64)
    metric, known = mechanism.metric.whole(), np.unique(np.minimum(length, len(_LENGTHS) - 1))
    laws = [
        Law(metric, metric.graph, mechanism.measure, make_weights(mechanism.weights.exponent * _LENGTHS[k]))
        for k in known.tolist()
    ]
    survey = prepare(
        laws, zones, prior=prior, elsewhere=elsewhere, cache=cache, workers=workers, progress=progress, metric=metric
    )
    model = np.searchsorted(known, np.minimum(length, known[-1]))
    column, zone = np.empty(ticks.size, np.int64), np.empty(ticks.size, np.int64)
    for k in range(known.size):
        some = np.flatnonzero(model == k)
        part = ReadReports(lat[some], lon[some])
        column[some], zone[some] = survey.columns(k, part), survey.zone_numbers(part)
    weight = ticks / np.bincount(person, ticks)[person]
    return fitted(
        survey, counted_reports(survey.first_column[-1], survey.zones.n + 1, column, zone, person, weight, seed=seed)
    )


def _stays(mechanism: TraceMechanism, releases: Any) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    """Person, place and ticks of each stay: the ticks for which a person's released place does not change."""
    found = []
    for number, (lat, lon) in enumerate(_released(mechanism, releases)):
        begin = np.flatnonzero(np.concatenate([[True], (np.diff(lat) != 0) | (np.diff(lon) != 0)]))
        ticks = np.diff(np.append(begin, lat.size))
        found.append((np.full(begin.size, number), lat[begin], lon[begin], ticks))
    person, lats, lons, lengths = (np.concatenate(part) for part in zip(*found, strict=True))
    return person, lats, lons, lengths


def _released(mechanism: TraceMechanism, releases: Any) -> list[tuple[FloatArray, FloatArray]]:
    """Released places tick by tick, a pair of arrays a person."""
    if isinstance(releases, str | Path):
        releases = [releases]
    if not isinstance(releases, Sequence) or not releases:
        raise InputError("'releases' must be released traces, or files of them, got none")
    if all(isinstance(part, str | Path) for part in releases):
        traces = read_traces(*releases)
        step = np.concatenate([np.diff(trace.time_s) for trace in traces])
        if np.any(step % mechanism.step_s):
            raise InputError(f"'releases' must tick every {mechanism.step_s} s as the mechanism does: these do not")
        return [(trace.lat, trace.lon) for trace in traces]
    if not all(isinstance(part, Release) for part in releases):
        raise InputError("'releases' must be released traces, or files of them")
    users: dict[str, list[Release]] = {}
    for k, part in enumerate(releases):
        users.setdefault(part.user or f" {k}", []).append(part)
    return [
        (np.concatenate([part.lat for part in parts]), np.concatenate([part.lon for part in parts]))
        for parts in users.values()
    ]
