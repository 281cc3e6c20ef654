# SPDX-License-Identifier: Apache-2.0
"""The even plane: how close reports come to the least error that the requirement allows, and where the rest goes.

In an even plane with one unit of mass within 300 m at l* = ln 2, Euclidean distances that meet the requirement exactly
and reports that use all of them (the planar Laplace mechanism) err by 2 x 300 / ln 2 = 866 m. Each row takes one step
from there to what is built: 29 cells lie within 300 m, which is a little more than the disc; reports are cell centres;
balls of whole cells hold more than they must (`mean_ratio`); sharpened reports use nearly all of each distance. The
rows between the first and the last are no mechanisms to use: they only say where the metres go. Errors are means over
the locations within 1 km of the middle of `synthetic:even`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..levels import LN2
from ..mechanism import ElasticMechanism
from ..metric import Metric, build_metric
from ._tools import Tell, errors_at, markdown, quiet, synthetic_mass, warm_up

#: The default of `mass_from_quality`: a disc in the city that holds one unit.
R_SMALL_M = 300.0
_RADIUS_M = 1000.0


def run(*, tell: Tell = quiet, side: int = 120) -> dict[str, Any]:
    """One row per step from the limit to the default, and one for the default without ascent."""
    warm_up()
    mass = synthetic_mass("even", side)
    tell("the default", of=2)
    metric = build_metric(mass)
    tell("without ascent")
    plain = build_metric(mass, ascent=False)
    per_metre = LN2 * math.sqrt(math.pi * float(np.median(mass.cells))) / mass.grid.cell_m
    places = np.flatnonzero(metric.secret & (np.hypot(*metric.xy.T) <= _RADIUS_M))

    def straight(i: int) -> FloatArray:
        """Exact levels from a location to all others."""
        levels: FloatArray = per_metre * np.hypot(*(metric.xy - metric.xy[i]).T)
        return levels

    ratio = metric.certificate["ratio"]["mean"]
    steps = [
        ("the limit: exact distances, all used, in the plane", 2 * R_SMALL_M / LN2, 1.0),
        ("the same, with the crowd of the cells within 300 m", 2 / per_metre, 1.0),
        ("the same, over cells", errors_all_used(metric, places, straight).mean(), 1.0),
        ("the metric's distances, all used", errors_all_used(metric, places, metric.distances_from).mean(), ratio),
        ("the default: what a certified relief allows of them", errors_at(metric, places).mean(), ratio),
        ("without ascent", errors_at(plain, places).mean(), plain.certificate["ratio"]["mean"]),
    ]  # fmt: skip
    limit = steps[0][1]
    rows = [
        {"step": name, "error_m": round(error), "share_of_limit": round(limit / error, 3), "mean_ratio": round(r, 3)}
        for name, error, r in steps
    ]
    return {"rows": rows, "text": markdown(rows), "parts": parts(rows)}


def parts(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The default's error, and how near that is to the limit."""
    default = rows[-2]
    return {"default": f"{default['error_m']:,} m", "share": f"{100 * default['share_of_limit']:.0f} %"}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The default against the limit."""
    limit, default, plain = rows[0], rows[-2], rows[-1]
    found = (
        f"{default['share_of_limit']:.1%} ({default['error_m']:,} m where {limit['error_m']:,} m is the least); "
        f"{plain['share_of_limit']:.1%} without ascent"
    )
    return [("even plane: the least error that the requirement allows / the default's", "92 %, aim 95", found)]


def errors_all_used(metric: Metric, places: Any, distances: Any) -> FloatArray:
    """Errors at the places of reports with weights mass x exp(-d), whether or not that is private."""
    mechanism = ElasticMechanism(metric, output="mass")
    errors = []
    for i in places:
        weights: FloatArray = metric.mass * np.exp(-distances(int(i)))
        errors.append(float(weights @ mechanism.distances_m(int(i)) / weights.sum()))
    return np.array(errors)
