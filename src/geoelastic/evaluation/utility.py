# SPDX-License-Identifier: Apache-2.0
"""Utility: how far from the true place the report falls, for each place and under the prior.

Distances go from the place itself to the *cell* that is reported. For a square of side² cells the mean over its cells
is summed exactly where the square is near (closer than four sides, up to 8 x 8 parts), and is the distance of its
centre plus the second-order term s²/(2 c) elsewhere, s² being the variance of a coordinate inside: off by
less than 1e-5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import _kernels as kernels
from ..arrays import FloatArray, IntArray
from ..errors import InputError
from .channel import Channel, Outputs, read
from .prior import Prior

#: r of the paper's threshold distance d_r
PAPER_THRESHOLDS_M = (1200, 1500, 1800)
_FINE_M = max(PAPER_THRESHOLDS_M)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class Utility:
    """Expected metres per place and under the prior; chance of missing by r or more; quantiles of the distance."""

    per_place_m: FloatArray
    expected_m: float
    threshold: dict[int, float]
    quantile_m: dict[float, float]


def expected_distance(rows: FloatArray, xy: FloatArray, outputs: Outputs) -> FloatArray:
    """Mean metres from each point to its report, given one row of output probabilities a point."""
    expected = np.zeros(len(xy))
    histogram = np.zeros(_farthest(xy, outputs))
    _add(rows, np.arange(len(xy)), xy, np.zeros(len(xy)), outputs, slice(None), 0, expected, histogram)
    return expected


def measure_utility(channel: Channel, prior: Prior) -> Utility:
    """The utility of a channel for the places of a prior."""
    return read(channel, DistanceReader(channel, prior)).utility()


class DistanceReader:
    """Reads how far the reports of a channel fall from the places of a prior: thresholds are whole metres, and they and
    the quantiles are read off an exact histogram with bins of one metre."""

    def __init__(self, channel: Channel, prior: Prior) -> None:
        self._channel, self._prior = channel, prior
        self._expected = np.zeros(prior.n_places)
        self._histogram = np.zeros(max(_farthest(prior.xy, channel.outputs), _FINE_M + 1))

    def add(self, part: slice, block: FloatArray) -> None:
        prior, channel = self._prior, self._channel
        _add(
            block, channel.row_of_place, prior.xy, prior.weights, channel.outputs, part, _FINE_M, self._expected,
            self._histogram,
        )  # fmt: skip

    def utility(self, quantiles: Sequence[float] = QUANTILES) -> Utility:
        histogram = self._histogram
        middle = np.arange(len(histogram), dtype=np.float64) + 0.5
        found = weighted_quantiles(middle, histogram, quantiles)
        return Utility(
            self._expected,
            float(self._prior.weights @ self._expected),
            {r: float(histogram[r:].sum()) for r in PAPER_THRESHOLDS_M},
            {float(q): float(v) for q, v in zip(quantiles, found, strict=True)},
        )


def _add(
    block: FloatArray, rows: IntArray, xy: FloatArray, weights: FloatArray, outputs: Outputs, part: slice,
    fine_m: float, expected: FloatArray, histogram: FloatArray,
) -> None:  # fmt: skip
    kernels.report_distances(
        np.ascontiguousarray(xy), rows, weights, np.ascontiguousarray(block), np.ascontiguousarray(outputs.xy[part]),
        outputs.side[part], float(outputs.cell_m), float(fine_m), expected, histogram,
    )  # fmt: skip


def _farthest(xy: FloatArray, outputs: Outputs) -> int:
    """Bins of one metre that hold every distance between a point and a reported cell."""
    low, high = np.minimum(xy.min(axis=0), outputs.xy.min(axis=0)), np.maximum(xy.max(axis=0), outputs.xy.max(axis=0))
    return int(np.hypot(*(high - low)) + 2 * outputs.side.max() * outputs.cell_m) + 2


def weighted_quantiles(values: FloatArray, weights: FloatArray, quantiles: Sequence[float]) -> FloatArray:
    """The least value with at least the share q of the weight at or below it; `values` in ascending order."""
    if not all(0 <= q <= 1 for q in quantiles):
        raise InputError("'quantiles' must be in [0, 1]")
    share = np.cumsum(weights)
    at = np.searchsorted(share, np.asarray(quantiles) * share[-1] * (1 - 1e-12))
    found: FloatArray = np.asarray(values, dtype=np.float64)[np.minimum(at, len(values) - 1)]
    return found
