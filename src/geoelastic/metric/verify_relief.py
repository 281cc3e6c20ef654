# SPDX-License-Identifier: Apache-2.0
"""Verification of a relief from what will be sampled: graph, heights and the integers of the output measure. It shares
no code with those who find heights.

With f(D) = weight at D, S(x) = A(x) + B(x): A over all z nearer than D, which the verifier sums, B over the others. Put
the part f(D) of every weight of A on the other side: N = A - f(D) M with M = measure nearer than D, and R = B + f(D) M.
Both R and S change by at most a factor e^a along an edge of length a of the lowered graph, since weights do. So, with
bounds p <= R(y) <= q and R(x) <= t,

    S(x) / S(y)  <=  max over p <= r <= q of (N(x) + min(t, r e^a)) / (N(y) + r).

The numerator has one bend, at r = t e^-a, and on either side of it the quotient is monotone: three values of r decide.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import _kernels as kernels
from ..arrays import BoolArray, FloatArray, IndexArray, IntArray
from ..errors import InputError
from ..levels import LEVEL_BITS
from ..progress import progress_bar
from .measures import output_measure
from .metric import Metric
from .relief import Relief
from .threads import in_parts
from .weights import WHOLE, make_weights

#: How far sums go, in levels; farther for the edges that this does not decide. Where edges give up less than a
#: 2^`TIGHT`th for what heights are not exact, hardly any is decided at 10.
REACHES, REACHES_TIGHT, TIGHT = (10, 16, 24), (12, 16, 24), 7
#: Sums of n terms in double precision are right to n 2^-53; this covers four of them for ten million locations.
ROUNDING = 1e-8
#: No two sums that are not 0 differ by a factor of e^100: growth beyond this decides nothing, and would overflow.
_LONG = 600.0


def check_relief(
    metric: Metric, measure: IntArray | None = None, *, sample: int | None = None, workers: int | None = None,
    progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Check a metric's relief from scratch: w' + |ln S(x) - ln S(x')| <= w on every edge outside fences (or on those
    around `sample` locations), for the very `measure` that is sampled [default: the one that the relief names].

    `edges_over`: edges on which this is not shown; `ok` if there are none and the relief was made for this metric.
    """
    relief = metric.relief
    if relief is None:
        raise InputError("the metric has no relief: reports go by half of its distances, which needs no check")
    if relief.height.shape != (metric.n,) or relief.made_for != Relief.key(metric):
        return {"ok": False, "edges": 0, "edges_over": 0, "worst": 0.0, "exponents": [], "same_metric": False}
    measure = output_measure(metric, relief.output) if measure is None else measure
    tail, tip, level = metric.graph.edges()
    rise = np.abs(relief.height[tail].astype(np.int64) - relief.height[tip])
    used = np.maximum(level - level // 2**relief.slack - 4 - rise, 0).astype(np.int32)
    graph = kernels.adjacency(metric.n, tail, tip, used)
    # where an edge has no length neither has it in the lowered graph, and S is the same at its ends
    asked = (metric.fence[tail] == 0) & (level > 0)
    if sample is not None:
        asked &= _around(metric, tail, tip, sample)
    edges = np.flatnonzero(asked)
    spent = np.full(edges.size, np.inf)
    open_ = np.arange(edges.size)
    reaches = REACHES if relief.slack <= TIGHT else REACHES_TIGHT
    for reach in reaches:
        at = edges[open_]
        ends = np.unique(np.concatenate([tail[at], tip[at]])).astype(np.int32)
        with progress_bar("verify reports", ends.size, show=progress and reach == reaches[0]) as bar:
            sums = _sums(graph, measure, ends, reach, workers, bar)
        spent[open_], least = _spent(tail[at], tip[at], used[at], sums)
        holds = spent[open_] <= level[at]
        if np.any(least > level[at]):
            break  # no wider look can help
        open_ = open_[~holds]
        if open_.size == 0:
            break
    over = int(np.count_nonzero(~(spent <= level[edges])))
    shares = used[edges] / level[edges]
    return {
        "ok": over == 0,
        "edges": int(edges.size),
        "edges_over": over,
        "worst": round(float((spent / level[edges]).max(initial=0.0)), 6),
        "exponents": [round(float(q), 4) for q in np.quantile(shares, [0.01, 0.1, 0.5, 0.9])] if edges.size else [],
        "same_metric": True,
    }


def _sums(
    graph: tuple[Any, ...], measure: IntArray, ends: IndexArray, reach: int, workers: int | None, bar: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """N, and the least and largest that R can be, at the locations `ends`; 0 at all others."""
    far = reach << LEVEL_BITS
    weight = _weights_up_to(2 * far)
    parts = in_parts(
        lambda some: kernels.sums_up_to(*graph, measure, weight, far, some), ends, workers=workers, bar=bar
    )
    exact, within, beyond = np.zeros((3, measure.size))
    for k, values in enumerate((exact, within, beyond)):
        values[ends] = np.concatenate([part[k] for part in parts])
    kept = within * weight[far]
    return exact - kept, kept, kept + beyond


@lru_cache(maxsize=len(REACHES))
def _weights_up_to(units: int) -> FloatArray:
    """w(D) for every D below `units`, in double precision, which holds them exactly."""
    weights, distance = make_weights(WHOLE), np.arange(units)
    return np.ldexp(weights.table[distance % weights.period].astype(np.float64), -31 - distance // weights.period)


def _spent(
    tail: IndexArray, tip: IndexArray, length: IndexArray,
    sums: tuple[FloatArray, FloatArray, FloatArray],
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """At most, and at least, w' + |ln S(x) - ln S(x')| of each edge, in level units."""
    near, low, high = sums
    growth = np.exp(np.minimum(length / 2.0**LEVEL_BITS, _LONG))
    most, least = np.ones(length.size), np.ones(length.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        for x, y in ((tail, tip), (tip, tail)):
            bend = np.minimum(np.maximum(high[x] / growth, low[y]), high[y])
            for rest in (low[y], bend, high[y]):
                most = np.fmax(most, (near[x] + np.minimum(high[x], rest * growth)) / (near[y] + rest))
            least = np.fmax(least, (near[x] + low[x]) / (near[y] + high[y]))
        at_most = np.minimum(np.log(most) + ROUNDING, length / 2.0**LEVEL_BITS)
        at_least = np.minimum(np.log(least) - ROUNDING, length / 2.0**LEVEL_BITS)
    return length + at_most * 2.0**LEVEL_BITS, length + at_least * 2.0**LEVEL_BITS


def _around(metric: Metric, tail: IndexArray, tip: IndexArray, sample: int) -> BoolArray:
    """The edges of `sample` locations outside fences, evenly spread."""
    outside = np.flatnonzero(metric.fence == 0)
    some = outside[np.linspace(0, outside.size - 1, min(sample, outside.size)).astype(np.int64)]
    chosen = np.zeros(metric.n, bool)
    chosen[some] = True
    return np.asarray(chosen[tail] | chosen[tip])
