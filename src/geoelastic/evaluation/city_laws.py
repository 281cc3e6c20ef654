# SPDX-License-Identifier: Apache-2.0
"""What decides between mechanisms of equal error: which distances reports go by, and by which measure they fall.

Four laws over the locations of one map, measure x exp(-rate x distance): distances that follow the crowd, as the map
has them, or straight ones; reports by mass, or even over the land. The rate of each is such that all err as much on
average, so that only the shape differs. The first is what a sharpened map reports, and straight distances with even
reports are planar Laplace; the two between keep no promise at these rates and only tell the two choices apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..levels import LEVEL_UNIT
from ..metric import Metric
from ..metric.relief import reporting_metric
from .adversary import Guesser
from .channel import Channel, read
from .elastic_channel import DistanceTable, distance_table, law_channel
from .prior import Prior
from .study_areas import StudyArea
from .utility import DistanceReader, measure_utility

__all__ = ["by_density", "four_laws", "rate_of_error"]

#: straight distances are kept in whole parts of a metre
_PER_METRE = 10
_CLOSE = 1e-3
_STEPS = 8
_TENTHS = 10


def by_density(prior: Prior, density: FloatArray, **per_place: FloatArray) -> list[dict[str, float]]:
    """Averages over tenths of the visits, from the emptiest surroundings to the densest."""
    order = np.argsort(density, kind="stable")
    tenth = np.minimum((np.cumsum(prior.weights[order]) * _TENTHS).astype(np.int64), _TENTHS - 1)
    rows = []
    for k in range(_TENTHS):
        some = order[tenth == k]
        if len(some):
            columns = {"density": density, **per_place}
            found = {name: float(np.average(v[some], weights=prior.weights[some])) for name, v in columns.items()}
            rows.append({"tenth": k + 1, **found})
    return rows


def four_laws(metric: Metric, prior: Prior, area: StudyArea, *, workers: int = 2) -> list[dict[str, Any]]:
    """A row a law, all with the mean error of what the map reports."""
    assert metric.relief is not None, "a default build is sharpened"
    table = distance_table(reporting_metric(metric), prior, workers=workers)
    xy = np.asarray(metric.xy)
    apart = np.hypot(*(xy[table.inputs][:, None, k] - xy[None, :, k] for k in (0, 1)))
    straight = replace(table, units=np.rint(_PER_METRE * apart).astype(np.int32))
    inside = np.asarray(area.contains(*metric.grid.area.to_latlon(*xy.T)))
    goal = measure_utility(law_channel(table, "mass", LEVEL_UNIT), prior).expected_m
    rows = []
    for distances, over, start in (("the map's", table, LEVEL_UNIT), ("straight", straight, 2 / goal / _PER_METRE)):
        for output in ("mass", "uniform"):
            rate = rate_of_error(lambda r, t=over, o=output: _error(t, o, r, prior), goal, start)  # type: ignore[misc]
            found = _row(law_channel(over, output, rate), prior, inside)
            rows.append({"distances": distances, "reports": _NAMES[output], **found})
    return rows


_NAMES = {"mass": "by mass", "uniform": "even"}


def rate_of_error(error: Callable[[float], float], goal: float, start: float) -> float:
    """The rate at which `error`, which falls with it about like 1/rate, is `goal`: secants in logarithms."""
    known: list[tuple[float, float]] = []
    at = math.log(start)
    for _ in range(_STEPS):
        off = math.log(error(math.exp(at)) / goal)
        if abs(off) < _CLOSE:
            break
        slope = (off - known[-1][1]) / (at - known[-1][0]) if known else -1.0
        known.append((at, off))
        at -= off / slope
    return math.exp(at)


def _error(table: DistanceTable, output: str, rate: float, prior: Prior) -> float:
    return measure_utility(law_channel(table, output, rate), prior).expected_m


class _Outside:
    """Reads how likely reports fall outside an area."""

    def __init__(self, channel: Channel, inside: Any) -> None:
        self._inside, self.chance = inside, np.zeros(channel.n_inputs)

    def add(self, part: slice, block: FloatArray) -> None:
        self.chance += block[:, ~self._inside[part]].sum(axis=1)


def _row(channel: Channel, prior: Prior, inside: Any) -> dict[str, Any]:
    distances, guesser, outside = DistanceReader(channel, prior), Guesser(channel, prior), _Outside(channel, inside)
    read(channel, distances, guesser, outside)
    utility, adversary = distances.utility((0.5, 0.95)), guesser.error()
    users = prior.per_user(adversary.per_place)
    return {
        "error_m": round(utility.expected_m),
        "half_of_reports_within_m": round(utility.quantile_m[0.5]),
        "95_percent_within_m": round(utility.quantile_m[0.95]),
        "outside_the_square": round(float(prior.weights @ outside.chance[channel.row_of_place]), 3),
        "adversary_m": round(adversary.overall),
        "adversary_median_m": round(float(np.median(users))),
        "adversary_worst_tenth_m": round(float(np.percentile(users, 10))),
    }
