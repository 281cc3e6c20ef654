# SPDX-License-Identifier: Apache-2.0
"""Far less noise for the same promise: reports that use nearly all of each distance instead of half of it.

Let d' be the shortest paths of a graph with the same edges, each at most as long, and K(x)(z) = mu(z) w(d'(x, z)) /
S(x) with exponent 1. Along an edge e = (x, x') of length w(e) in the metric and w'(e) in the other graph,

    ln K(x)(z) / K(x')(z)  =  d'(x', z) - d'(x, z) + ln S(x') - ln S(x)  <=  w'(e) + |ln S(x) - ln S(x')|.

If this is at most w(e) on *every* edge, it adds up along a shortest path to d(x, x') for all pairs: K is d-private.
With w' = w/2 it always is. But ln S changes far less than it might, so much more than half is left for w'. The heights
of a `Relief` say how much: w' is w less the difference of heights (and a little slack), and h = ln S would make the
two sides meet. S depends on w' in turn: the heights are found by iteration, each pass a full sum of S at every
location, and what is certified is the inequality itself, on every edge, with the heights as they are stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import CheckError, InputError
from ..levels import LEVEL_UNIT, FloatArray, IntArray
from ..metric import AnyMetric, Metric
from ..metric.relief import Relief, lowered
from .elastic import ElasticMechanism
from .errors import weight_totals
from .measures import output_measure

__all__ = ["check_relief", "sharpen"]

#: The first pass moves the heights all the way to ln S, the others by this part of it: all of it would overshoot.
STEP = 0.7
#: A map where this many passes are not enough has not been met.
PASSES = 40
#: S is a sum in double precision with a relative error below n x 2^-53 < 1e-9: in level units, this is more than it.
MARGIN_UNITS = 1e-4


def sharpen(
    metric: AnyMetric, *, output: str = "mass", workers: int | None = None, progress: bool = False,
    keep: Callable[[FloatArray], None] | None = None, begin: FloatArray | None = None,
) -> Metric:  # fmt: skip
    """The metric with a relief for `output`, certified on every edge: distances and requirement stay as they are.

    Cost: a search of the whole map from each location, about six times: quadratic in their number. After each pass the
    heights go to `keep`; `begin` goes on from such heights.
    """
    metric = metric.whole()
    if not metric.by_paths:
        raise InputError("only a metric that has a graph can be sharpened")
    bare = replace(metric, relief=None)
    search = _Search(bare, output_measure(bare, output), output, workers, progress)
    height = search.log_totals(None, "sharpen, start") if begin is None else begin
    for passes in range(1, PASSES + 1):
        stored = _stored(height)
        found = search.log_totals(stored, f"sharpen, pass {passes}")
        report = _edge_report(bare, stored, found)
        if report["ok"]:
            relief = Relief(stored, output, Relief.key(bare), report | {"passes": passes})
            return replace(metric, relief=relief)
        height = height + (STEP if passes > 1 or begin is not None else 1.0) * (found - height)
        if keep is not None:
            keep(height)
    raise CheckError(f"the heights did not settle in {PASSES} passes: {report['edges_over']} edges are left")


def check_relief(
    metric: Metric, *, sample: int | None = None, workers: int | None = None, progress: bool = False
) -> dict[str, Any]:
    """Check a metric's relief from scratch: S at every location (or at `sample` of them and their neighbours), and
    the inequality on every edge between them."""
    relief = metric.relief
    if relief is None:
        raise InputError("the metric has no relief: reports go by half of its distances, which needs no check")
    if relief.height.shape != (metric.n,) or relief.made_for != Relief.key(metric):
        return {"ok": False, "edges": 0, "edges_over": 0, "worst": 0.0, "same_metric": False}
    bare = replace(metric, relief=None)
    search = _Search(bare, output_measure(bare, relief.output), relief.output, workers, progress)
    only = None if sample is None else _with_neighbours(metric, sample)
    found = search.log_totals(relief.height, "verify reports", only)
    report = _edge_report(bare, relief.height, found, only)
    return report | {"same_metric": True}


class _Search:
    """Sums S for heights of one metric and measure."""

    def __init__(self, metric: Metric, measure: IntArray, output: str, workers: int | None, progress: bool) -> None:
        self._metric, self._measure, self._output = metric, measure, output
        self._workers, self._progress = workers, progress
        self._key = Relief.key(metric)

    def log_totals(
        self, height: npt.NDArray[Any] | None, title: str, only: npt.NDArray[np.bool_] | None = None
    ) -> FloatArray:
        """ln S in level units by the heights (None: by half of each distance), 0 inside fences and where not asked."""
        metric = self._metric
        if height is not None:
            metric = replace(metric, relief=Relief(height, self._output, self._key))
        mechanism = ElasticMechanism.from_measure(metric, self._measure, output=self._output)
        asked = (metric.fence == 0) & (only if only is not None else True)
        totals = weight_totals(
            mechanism, [mechanism.weights], only=asked, workers=self._workers, progress=self._progress, title=title
        )[:, 0]
        return np.log(totals, out=np.zeros(metric.n), where=totals > 0) / LEVEL_UNIT


def _stored(height: FloatArray) -> npt.NDArray[np.int32]:
    """Whole units from 0 up: only differences count."""
    stored: npt.NDArray[np.int32] = np.rint(height - height.min()).astype(np.int32)
    return stored


def _edge_report(
    metric: Metric, height: npt.NDArray[np.int32], log_total: FloatArray, only: npt.NDArray[np.bool_] | None = None
) -> dict[str, Any]:
    """The inequality w' + |ln S(x) - ln S(x')| <= w on every edge of some length outside fences."""
    tail, tip, weight = metric.graph.edges()
    _, _, low = lowered(metric.graph, height).edges()
    # Ends at distance 0 are at distance 0 in d' too: they have the same S.
    chosen = (weight > 0) & (metric.fence[tail] == 0)
    if only is not None:
        chosen &= only[tail] & only[tip]
    tail, tip, weight, low = tail[chosen], tip[chosen], weight[chosen], low[chosen]
    used = low + np.abs(log_total[tail] - log_total[tip]) + MARGIN_UNITS
    over = int(np.count_nonzero(~(used <= weight)))
    return {
        "ok": over == 0,
        "edges": int(tail.size),
        "edges_over": over,
        "worst": round(float((used / weight).max(initial=0.0)), 6),
        "exponents": [round(float(q), 4) for q in np.quantile(low / weight, [0.01, 0.1, 0.5, 0.9])]
        if tail.size
        else [],
    }


def _with_neighbours(metric: Metric, sample: int) -> npt.NDArray[np.bool_]:
    """`sample` locations outside fences, evenly spread, and all that have an edge with them."""
    outside = np.flatnonzero(metric.fence == 0)
    some = outside[np.linspace(0, outside.size - 1, min(sample, outside.size)).astype(np.int64)]
    chosen = np.zeros(metric.n, bool)
    chosen[some] = True
    tail, tip, _ = metric.graph.edges()
    near = chosen.copy()
    near[tip[chosen[tail]]] = True
    near[tail[chosen[tip]]] = True
    return near
