# SPDX-License-Identifier: Apache-2.0
"""The picture that a command line asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError, require_choice
from ..mass.mass import disc_sums
from .maps import ball_map, error_map, fences_map, mass_map, report_map, slack_map
from .picture import Picture

if TYPE_CHECKING:
    from ..metric import Metric

__all__ = ["MAP_KINDS", "busiest_place", "picture_of"]

#: The pictures of a metric.
MAP_KINDS = ("mass", "error", "ball", "report", "slack", "fences")


def picture_of(
    metric: Metric,
    kind: str,
    *,
    at: tuple[float, float] | None = None,
    measure: str = "mass",
    points: int = 4000,
    reports: int = 300,
    seed: int | None = None,
) -> Picture:
    """The picture `kind` of a metric; see the functions of `maps` for what each shows."""
    require_choice("kind", kind, MAP_KINDS)
    if kind == "mass":
        return mass_map(metric)
    if kind == "slack":
        return slack_map(metric)
    if kind == "fences":
        return fences_map(metric)
    from ..mechanism import ElasticMechanism, SeededRandom

    if kind == "error":
        return error_map(ElasticMechanism(metric, output=measure), points=points)
    place = busiest_place(metric) if at is None else metric.locate_secret(*at)
    if kind == "ball":
        return ball_map(metric, place)
    rng = None if seed is None else SeededRandom(seed)
    return report_map(ElasticMechanism(metric, output=measure), place, reports=reports, rng=rng)


def busiest_place(metric: Metric, *, radius_m: float = 500) -> int:
    """The location, among those that can be secrets and lie in no fence, around which most mass lies."""
    owner = metric.locations.owner
    spread = (metric.mass / metric.locations.area_cells)[owner]
    free = (metric.secret & (metric.fence == 0))[owner]
    if not free.any():
        raise InputError("a picture of a place needs a location outside the frame and all fences, got none")
    around = np.where(free, disc_sums(spread, radius_m / metric.grid.cell_m), -1.0)
    return int(owner.ravel()[int(np.argmax(around))])
