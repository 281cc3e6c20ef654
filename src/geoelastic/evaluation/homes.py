# SPDX-License-Identifier: Apache-2.0
"""Home recovery: how soon many reports from one place give it away, and what fences and sticky reports change.

The candidates are all cells of a square, with the mass as prior (homes are where people are). A home without protection
beyond the metric leaks n d after n reports; one that keeps its first report leaks once; one inside a fence is never
told apart from the other cells of the fence, however many reports are seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import IntArray
from ..errors import InputError, require_count
from ..fences import cells_to_shape
from ..metric import AnyMetric
from .attacks import RepeatedReports, repeated_reports
from .elastic_channel import cells_in, distance_table, elastic_channel, reporting_channel
from .laplace_channel import laplace_channel
from .prior import Prior
from .study_areas import StudyArea

__all__ = ["draw_homes", "home_fence", "home_prior", "home_recovery"]

#: an irregular fence of 15 cells that holds the home off its centre: rows and columns from the home
_FENCE = (
    (-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 0), (0, 1), (0, 2), (1, -2), (1, -1), (1, 0), (1, 1), (2, -1), (2, 0),
    (2, 1), (3, 0),
)  # fmt: skip


def home_prior(metric: AnyMetric, area: StudyArea) -> Prior:
    """Every cell of the area as a candidate, weighted by its share of the mass."""
    cells = cells_in(metric, area)
    if not len(cells):
        raise InputError(f"the area '{area.name}' must lie on the map")
    owner = metric.locations.owner.ravel()[cells]
    mass = metric.mass[owner] / metric.locations.area_cells[owner]
    xy = np.column_stack(metric.grid.cell_to_xy(*np.divmod(cells, metric.grid.cols)))
    info = {"places": len(cells), "places_by": "cell", "area": area.name}
    return Prior(xy, cells, mass / mass.sum(), sparse.csr_array((0, len(cells))), info)


def home_recovery(
    metric: AnyMetric, area: StudyArea, *, homes: int = 12, n: Sequence[int] = (1, 2, 5, 10, 20, 50, 100),
    runs: int = 10, epsilon: float | None = None, seed: int = 0, workers: int = 2,
) -> dict[str, Any]:  # fmt: skip
    """Recovery against the number of reports: elastic, sticky, fenced, and planar Laplace at `epsilon` if given."""
    prior = home_prior(metric, area)
    chosen = draw_homes(metric, prior, require_count("homes", homes), np.random.default_rng(seed))
    channel = reporting_channel(metric, prior, workers=workers)
    options: dict[str, Any] = {"n": n, "runs": runs, "seed": seed}
    found = {
        "elastic": repeated_reports(channel, prior, chosen, **options),
        "elastic, sticky": repeated_reports(channel, prior, chosen, sticky=True, **options),
    }
    fenced = metric.with_fences(
        [home_fence(metric, int(prior.cell[h])) for h in chosen], sharpen=False, workers=workers
    )
    # fences split leaves into cells, so the candidates are looked up again; inside a fence reports are even over it,
    # sharpened or not
    channel = elastic_channel(distance_table(fenced, prior, workers=workers))
    found["elastic, home in a fence"] = repeated_reports(channel, prior, chosen, **options)
    if epsilon is not None:
        channel = laplace_channel(prior, metric.grid, epsilon)
        found["planar Laplace"] = repeated_reports(channel, prior, chosen, **options)
    return {
        "homes": len(chosen), "runs": runs, "seed": seed, "candidates": prior.n_places, "fence_cells": len(_FENCE),
        "results": {name: _plain(result) for name, result in found.items()},
    }  # fmt: skip


def _plain(result: RepeatedReports) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in vars(result).items()}


def draw_homes(metric: AnyMetric, prior: Prior, count: int, rng: np.random.Generator) -> IntArray:
    """Homes drawn by mass, far enough apart that their fences do not touch, and inside the frame."""
    secret = metric.secret[metric.locations.owner.ravel()[prior.cell]]
    chosen: list[int] = []
    row, col = np.divmod(prior.cell, metric.grid.cols)
    for home in rng.choice(prior.n_places, size=prior.n_places, replace=False, p=prior.weights):
        apart = [max(abs(row[home] - row[h]), abs(col[home] - col[h])) > 8 for h in chosen]
        if secret[home] and all(apart):
            chosen.append(int(home))
        if len(chosen) == count:
            break
    if not chosen:
        raise InputError("no home lies inside the frame; choose an area further from the map's edge")
    return np.array(chosen, dtype=np.int64)


def home_fence(metric: AnyMetric, cell: int) -> Any:
    row, col = divmod(cell, metric.grid.cols)
    mask = np.zeros(metric.grid.shape, dtype=bool)
    for dr, dc in _FENCE:
        mask[row + dr, col + dc] = True
    return cells_to_shape(metric.grid, mask)
