# SPDX-License-Identifier: Apache-2.0
"""Expected errors and their quantiles for all locations at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..arrays import BoolArray, FloatArray, IndexArray, IntArray
from ..metric.threads import in_parts
from ..progress import progress_bar

if TYPE_CHECKING:
    from .elastic import ElasticMechanism

QUANTILES = (0.5, 0.9, 0.95)
#: Quantiles are read off a histogram of this many bins over half the map's diagonal; they are right to one bin.
_BINS = 256
#: Weights are looked up for so many units of distance (16 levels); the few beyond are computed.
_SPAN = 2**17


def expected_errors(
    mechanism: ElasticMechanism,
    *,
    locations: npt.ArrayLike | None = None,
    weights: Any = None,
    workers: int | None = None,
    progress: bool = False,
) -> dict[str, FloatArray]:
    """Expected error in metres, and the quantiles 0.5, 0.9 and 0.95 of the error, for `locations` (default: every
    secret outside fences), by the mechanism's own weights unless others are given.

    Full sums over every location that can be reported, in double precision (relative error below 1e-9, plus 1e-5 for
    the mean distance between large squares far apart). Returns arrays `location`, `mean`, `q50`, `q90`, `q95`.
    """
    metric = mechanism.metric
    if locations is None:
        chosen = np.flatnonzero(metric.secret & (metric.fence == 0)).astype(np.int32)
    else:
        chosen = np.asarray(locations, dtype=np.int32)
    diagonal = float(np.hypot(*metric.grid.shape))
    totals, errors, histogram = _profiles(
        mechanism, chosen, [weights or mechanism.weights], _BINS, diagonal / _BINS, workers, progress
    )
    share = np.cumsum(histogram, axis=1) / totals[:, :1]
    cell_m, width = metric.grid.cell_m, diagonal / _BINS
    result = {"location": chosen.astype(np.float64), "mean": errors / totals[:, 0] * cell_m}
    for quantile in QUANTILES:
        result[f"q{round(100 * quantile)}"] = (np.argmax(share >= quantile, axis=1) + 1) * width * cell_m
    return result


def weight_totals(mechanism: ElasticMechanism, weights: list[Any], *, only: BoolArray | None = None) -> FloatArray:
    """S(x) / w(0) for every location outside fences, or `only` these (rows; 0 elsewhere), and every table of weights
    (columns)."""
    metric = mechanism.metric
    outside = np.flatnonzero(metric.fence == 0 if only is None else only).astype(np.int32)
    totals = np.zeros((metric.n, len(weights)))
    totals[outside] = _profiles(mechanism, outside, weights, 0, 1.0, None, False)[0]
    return totals


def weight_tables(weights: list[Any]) -> tuple[FloatArray, IntArray]:
    """Weights relative to that of distance 0, a row for each of `weights`, and their periods, as kernels read them."""
    periods = np.array([table.period for table in weights], np.int64)
    tables = np.empty((len(weights), max(_SPAN, int(periods.max()))))
    for row, table in zip(tables, weights, strict=True):
        row[:] = table.at(np.arange(row.size)) / float(table.table[0])
    return tables, periods


def _profiles(
    mechanism: ElasticMechanism, sources: IndexArray, weights: list[Any], bins: int, bin_cells: float,
    workers: int | None, progress: bool,
) -> tuple[FloatArray, FloatArray, FloatArray]:  # fmt: skip
    graph, at = mechanism.reporting.graph, mechanism.metric.locations
    tables, periods = weight_tables(weights)
    with progress_bar("error", sources.size, show=progress) as bar:
        parts = in_parts(
            lambda some: kernels.profiles(
                *graph.rows, graph.buckets, mechanism.measure, tables, periods, at.row, at.col, at.size, some, bins,
                bin_cells,
            ),
            sources, workers=workers, bar=bar,
        )  # fmt: skip
    totals, errors, histogram = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return totals, errors, histogram
