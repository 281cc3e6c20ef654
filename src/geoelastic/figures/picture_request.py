# SPDX-License-Identifier: Apache-2.0
"""The picture that a command line asks for."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..errors import InputError, require_choice
from ..mass.mass import disc_sums
from ..mechanism import ElasticMechanism, SeededRandom
from ..metric import AnyMetric
from ..opening import load
from ..quality import load_quality
from .maps import ball_map, cartogram_map, error_map, fences_map, mass_map, quality_map, report_map, slack_map
from .picture import Picture

#: The pictures of a metric.
MAP_KINDS = ("mass", "error", "ball", "report", "slack", "cartogram", "fences")


def picture_of_file(path: str | os.PathLike[str], kind: str, **options: Any) -> Picture:
    """The picture `kind` of a metric's file, or ``"quality"`` of a quality's; `options` are those of `picture_of`."""
    if kind == "quality":
        return quality_map(load_quality(os.fspath(path)))
    return picture_of(load(path), kind, **options)


def picture_of(
    metric: AnyMetric,
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
    rng = None if seed is None else SeededRandom(seed)
    if kind == "mass":
        return mass_map(metric)
    if kind == "slack":
        return slack_map(metric)
    if kind == "cartogram":
        return cartogram_map(metric)
    if kind == "fences":
        return fences_map(metric, rng=rng)
    if kind == "error":
        return error_map(ElasticMechanism(metric, output=measure), points=points)
    place = busiest_place(metric) if at is None else metric.locate_secret(*at)
    if kind == "ball":
        return ball_map(metric, place)
    return report_map(ElasticMechanism(metric, output=measure), place, reports=reports, rng=rng)


def busiest_place(metric: AnyMetric, *, radius_m: float = 500) -> int:
    """The location, among those that can be secrets and lie in no fence, around which most mass lies."""
    owner = metric.locations.owner
    spread = (metric.mass / metric.locations.area_cells)[owner]
    free = (metric.secret & (metric.fence == 0))[owner]
    if not free.any():
        raise InputError("a picture of a place needs a location outside the frame and all fences, got none")
    around = np.where(free, disc_sums(spread, radius_m / metric.grid.cell_m), -1.0)
    return int(owner.ravel()[int(np.argmax(around))])
