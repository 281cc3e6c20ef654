# SPDX-License-Identifier: Apache-2.0
"""What seams cost: expected errors of a metric built in tiles against those of the same map built in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray
from ..mass import Mass
from ..mechanism import ElasticMechanism
from ..metric import AnyMetric, build_metric
from ..tiles import Engine, build_tiles

__all__ = ["seam_rows"]

#: Cells from the nearest seam; the last stretch has no end.
_STRETCHES = (0, 8, 32)


def seam_rows(
    mass: Mass, folder: str, *, tile: int, engine: Engine, places: int, **levels: Any
) -> list[dict[str, Any]]:
    """One row for each stretch of distances from the seams, with the errors at `places` random secrets there.

    `mean_error` compares the means over these places; `largest` is the largest difference at any of them.
    """
    tiled = build_tiles(mass, folder, tile=tile, engine=engine, **levels)
    whole = build_metric(mass, **levels)
    away = _from_seams(whole, tile)
    rng = np.random.Generator(np.random.PCG64(1))
    rows = []
    for low, high in zip(_STRETCHES, (*_STRETCHES[1:], np.inf), strict=True):
        inside = np.flatnonzero(whole.secret & (away >= low) & (away < high))
        some = np.sort(rng.permutation(inside)[:places])
        ours, theirs = (_errors(metric, some) for metric in (tiled, whole))
        rows.append({
            "cells_from_a_seam": f"{low} to {high:g}" if np.isfinite(high) else f"{low} and more",
            "locations": inside.size,
            "places": some.size,
            "error_m": round(float(ours.mean())),
            "untiled_m": round(float(theirs.mean())),
            "mean_error_percent": round(100 * float(ours.mean() / theirs.mean() - 1), 3),
            "largest_percent": round(100 * float(np.abs(ours / theirs - 1).max()), 3),
        })  # fmt: skip
    return rows


def _errors(metric: AnyMetric, some: npt.NDArray[Any]) -> FloatArray:
    return ElasticMechanism(metric).expected_errors(locations=some)["mean"]


def _from_seams(metric: AnyMetric, tile: int) -> FloatArray:
    """Cells between the centre of each location and the nearest seam."""
    at = metric.locations
    away = np.full(at.n, np.inf)
    for low, cells in ((at.row, metric.grid.rows), (at.col, metric.grid.cols)):
        centre = low + at.size / 2
        for seam in range(tile, cells, tile):
            np.minimum(away, np.abs(centre - seam), out=away)
    return away
