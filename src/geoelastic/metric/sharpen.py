# SPDX-License-Identifier: Apache-2.0
"""Far less noise for the same promise: reports that use nearly all of each distance instead of half of it.

Let d' be the shortest paths of a graph with the same edges, each at most as long, and K(x)(z) = mu(z) w(d'(x, z)) /
S(x) with exponent 1. Along an edge e = (x, x') of length w(e) in the metric and w'(e) in the other graph,

    ln K(x)(z) / K(x')(z)  =  d'(x', z) - d'(x, z) + ln S(x') - ln S(x)  <=  w'(e) + |ln S(x) - ln S(x')|.

If this is at most w(e) on *every* edge, it adds up along a shortest path to d(x, x') for all pairs: K is d-private.
With w' = w/2 it always is. But ln S changes far less than it might, so much more than half is left for w'. The heights
of a `Relief` say how much: w' is w less the difference of heights (and a little slack), and h = ln S would make the
two sides meet. S depends on w' in turn, so the heights are found by iteration. Most of S lies nearby: the first passes
look at what is within a few levels and take the rest for even. Then the inequality itself is certified on every edge,
with the heights as they are stored, by bounds of S that hold whatever lies beyond (`totals`). Every search is bounded:
the cost grows like the number of locations.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import BoolArray, FloatArray, IndexArray, IntArray
from ..errors import CheckError, InputError, require_able
from ..levels import LEVEL_UNIT
from ..progress import Bar, progress_bar
from ..store import table_of
from ..store.kept import KeptState
from .any_metric import AnyMetric
from .graph import Graph
from .measures import output_measure
from .metric import Metric
from .relief import COARSE, FINE, Relief, lowered
from .totals import MARGIN_UNITS, Totals, in_groups, in_walking_order, log_ratio_units, totals_within

#: How far the passes look, in levels, before the first that certifies: what is beyond is only estimated, so the last
#: are to see nearly as much as that one does.
SEARCH = (4.5,) * 6 + (6.0,) * 4 + (8.0,) * 2 + (10.0,) * 2
#: How far a pass that certifies looks: the less slack there is, the farther. Then, at the ends of edges that need it,
#: these.
CERTIFY, CERTIFY_FINE, DEEPER = 10.0, 12.0, (16.0, 24.0)
#: A pass moves the heights by this part of the way to the ln S that they lead to, by turns: a short step where all of
#: the way would overshoot, a long one where a location above its neighbours comes nearer slowly.
STEPS = 0.6, 1.2
#: So many of the passes before the first that certifies are made again where a map has changed a little.
AGAIN = 4
#: A map where so many passes are not enough for a fine slack goes on with a coarse one; more than `PASSES` have never
#: been asked for.
FINE_PASSES, PASSES = 24, 60


class Heights(NamedTuple):
    """Heights on their way, in level units, after so many passes."""

    height: FloatArray
    passes: int


def sharpen(
    metric: AnyMetric, *, output: str = "mass", workers: int | None = None, progress: bool = False,
    keep: Callable[[Heights], None] | None = None, begin: Heights | None = None, slack: int = FINE,
) -> Metric:  # fmt: skip
    """The metric with a relief for `output`, certified on every edge: distances and requirement stay as they are.

    Cost: about fifteen bounded searches from each location, linear in their number. After each pass the heights go to
    `keep`; `begin` goes on from such heights. `slack`: of the relief, or a coarse one if that does not settle. The
    result is the same for any number of workers.
    """
    require_able("metric", metric, "whole", "a metric (ge.load reads one from a file)")
    metric = metric.whole()
    if not metric.by_paths:
        raise InputError("only a metric that has a graph can be sharpened")
    bare = replace(metric, relief=None)
    search = Search(bare, output_measure(bare, output), workers, slack)
    state = Heights(np.zeros(metric.n), 0) if begin is None else begin
    with progress_bar("sharpen", search.cost((*SEARCH[state.passes :], search.certify)), show=progress) as bar:
        for passes in range(state.passes, PASSES):
            if passes >= FINE_PASSES and search.slack != COARSE:
                search = search.coarser()
            certify = passes >= len(SEARCH)
            bound = search.certify if certify else SEARCH[passes]
            found = search.totals(state, bound, bar, note=f"pass {passes + 1}, {bound:g} levels")
            if certify:
                report = search.edge_report(state, found, bar)[0]
                if report["ok"]:
                    return replace(metric, relief=search.relief(state, output, report | {"passes": passes + 1}))
            state = search.moved(state, found)
            if keep is not None:
                keep(state)
    raise CheckError(f"the heights did not settle in {PASSES} passes: reports go by half of each distance")


def sharpen_kept(
    metric: Metric, path: Path, *, output: str = "mass", resume: bool = True, workers: int | None = None,
    progress: bool = False,
) -> Metric:  # fmt: skip
    """`sharpen`, with the heights kept at `path` after each pass, and going on (if `resume`) from those that a run that
    was stopped left there.

    The caller removes the file when the result is safe. A metric that has such a relief already is left as it is.
    """
    made_for = Relief.key(metric)
    if resume and metric.relief is not None and (metric.relief.made_for, metric.relief.output) == (made_for, output):
        return metric
    kept = KeptState.at(path, "sharpening", f"{made_for}|{output}")

    def keep(state: Heights) -> None:
        kept.write({"passes": state.passes}, {"locations": table_of({"height": state.height})})

    found = kept.read() if resume else None
    begin = None if found is None else Heights(np.array(found[1]["locations"]["height"]), found[0]["passes"])
    return sharpen(metric, output=output, workers=workers, progress=progress, keep=keep, begin=begin)


def sharpened(
    metric: Metric, *, output: str = "mass", near: npt.ArrayLike | None = None, kept: Path | None = None,
    slack: int = FINE, workers: int | None = None, progress: bool = False,
) -> Metric:  # fmt: skip
    """The metric sharpened, for those who make one; should the heights not settle it stays as it is, and says so.

    `near`: heights of a map that was much like this one, a pass or two from those that this one needs. `kept`: where to
    keep heights after each pass (`sharpen_kept`).
    """
    begin = None if near is None else Heights(np.asarray(near, np.float64), len(SEARCH) - AGAIN)
    try:
        if kept is not None:
            return sharpen_kept(metric, kept, output=output, workers=workers, progress=progress)
        return sharpen(metric, output=output, workers=workers, progress=progress, begin=begin, slack=slack)
    except CheckError as error:
        warnings.warn(f"not sharpened: {error}", stacklevel=3)
        return metric


class Search:
    """Passes over one metric, which has no relief yet, and measure, for a relief of this slack. `certify`: how far
    those that certify look, in levels."""

    def __init__(self, metric: Metric, measure: IntArray, workers: int | None, slack: int) -> None:
        self._metric, self._measure, self._workers, self.slack = metric, measure, workers, slack
        self.certify = CERTIFY if slack <= COARSE else CERTIFY_FINE
        self._outside = metric.fence == 0
        self._order = in_walking_order(metric.locations, metric.graph, self._outside)
        parts = metric.graph.components
        self._reach = np.bincount(parts, weights=measure.astype(np.float64))[parts]
        self._passed = 0.0
        self._low: tuple[Heights, Graph] | None = None

    def cost(self, bounds: tuple[float, ...]) -> float:
        """What passes cost in all: what is within grows like the square of the distance."""
        return sum(bound**2 for bound in bounds) * self._order.size

    def coarser(self) -> Search:
        """The same for a coarse slack."""
        other = Search(self._metric, self._measure, self._workers, COARSE)
        other.follow(self)
        return other

    def follow(self, other: Search) -> None:
        """Count what another search has done as done, for one bar."""
        self._passed += other._passed

    def stored(self, state: Heights) -> IndexArray:
        """Whole units from 0 up: only differences count; 0 inside fences."""
        height = np.where(self._outside, state.height, np.inf)
        return np.where(self._outside, np.rint(height - height.min()), 0).astype(np.int32)

    def lowered(self, state: Heights) -> Graph:
        """The graph that these heights lead to; that of the last heights is kept."""
        if self._low is None or self._low[0] is not state:
            self._low = state, lowered(self._metric.graph, self.stored(state), self.slack)
        return self._low[1]

    def totals(
        self, state: Heights, bound: float, bar: Bar, *, note: str = "", only: BoolArray | None = None,
        tail: bool | None = None,
    ) -> Totals:  # fmt: skip
        """Normalisers that the heights lead to, at every location (or `only` these); bounded above as well (`tail`) if
        that is how far a pass that certifies looks, unless told otherwise."""
        order = self._order if only is None else in_groups(self._metric.locations, self._order, only)
        begun = self._passed
        share = Bar(lambda completed, **told: bar.update(begun + bound**2 * completed, note=told["note"] or note))
        self._passed += bound**2 * order.size
        tail = bound >= self.certify if tail is None else tail
        graph = self.lowered(state)
        return totals_within(graph, self._measure, order, bound, tail=tail, workers=self._workers, bar=share)

    def estimate(self, totals: Totals) -> FloatArray:
        """ln S in level units, as it would be if what is farther than was looked lay evenly."""
        return log_units(totals.estimate(self._reach))

    def moved(self, state: Heights, totals: Totals) -> Heights:
        """The next heights: a step towards the ln S that these lead to."""
        step = STEPS[state.passes % len(STEPS)]
        return Heights(state.height + step * (self.estimate(totals) - state.height), state.passes + 1)

    def relief(self, state: Heights, output: str, certificate: dict[str, Any]) -> Relief:
        return Relief(self.stored(state), output, Relief.key(self._metric), certificate, self.slack)

    def edge_report(self, state: Heights, totals: Totals, bar: Bar) -> tuple[dict[str, Any], IndexArray]:
        """The inequality w' + |ln S(x) - ln S(x')| <= w on every edge of some length outside fences; and the locations
        at the ends of edges on which it is not shown."""
        edges = self._edges(state, self._outside)
        used = _used(edges, totals)
        left = self._held_by_estimate(edges, used, totals)
        for bound in DEEPER:
            if left.size == 0:
                break
            ends = np.zeros(self._metric.n, bool)
            ends[edges[0][left]] = ends[edges[1][left]] = True
            deeper = self.totals(state, bound, bar, note="a wider look", only=ends)
            used[left] = _used(tuple(part[left] for part in edges), deeper)
            left = left[~(used[left] <= edges[2][left])]
        over = np.flatnonzero(~(used <= edges[2]))
        shares: Any = np.quantile(edges[3] / edges[2], [0.01, 0.1, 0.5, 0.9]) if used.size else []
        report = {
            "ok": over.size == 0,
            "edges": int(used.size),
            "edges_over": int(over.size),
            "worst": round(float((used / edges[2]).max(initial=0.0)), 6),
            "exponents": [round(float(share), 4) for share in shares],
        }
        return report, _ends(edges, over)

    def edges_over(self, state: Heights, totals: Totals, among: BoolArray) -> IndexArray:
        """The locations at the ends of edges between some, at which totals are known, where the heights are wrong; none
        if a wider look may show that all of these edges hold."""
        edges = self._edges(state, among & self._outside)
        used = _used(edges, totals)
        over = np.flatnonzero(~(used <= edges[2]))
        return _ends(edges, over[: 0 if self._held_by_estimate(edges, used, totals).size else over.size])

    def _edges(self, state: Heights, among: BoolArray) -> tuple[IndexArray, IndexArray, IndexArray, IndexArray]:
        """Ends, lengths and lowered lengths of the edges of some length between these locations."""
        tail, tip, weight = self._metric.graph.edges()
        low = self.lowered(state).edges()[2]
        # Ends at distance 0 are at distance 0 in d' too: they have the same S.
        chosen = (weight > 0) & among[tail] & among[tip]
        return tail[chosen], tip[chosen], weight[chosen], low[chosen]

    def _held_by_estimate(self, edges: Any, used: FloatArray, totals: Totals) -> IntArray:
        """Edges over the bound, if all of them would hold by what S is estimated to be: there the bound is too wide,
        not the heights wrong."""
        tail, tip, weight, low = edges
        over = np.flatnonzero(~(used <= weight))
        guess = self.estimate(totals)
        held = low[over] + np.abs(guess[tail[over]] - guess[tip[over]]) <= weight[over]
        return over if held.all() else over[:0]


def _used(edges: Any, totals: Totals) -> FloatArray:
    """At most how much of each edge reports use, in level units."""
    tail, tip, _, low = edges
    near, least, most = totals.near, totals.least, totals.most
    up, down = (
        log_ratio_units(low, near[x], most[x], near[y], least[y], most[y]) for x, y in ((tail, tip), (tip, tail))
    )
    used: FloatArray = low + np.maximum(up, down) + MARGIN_UNITS
    return used


def _ends(edges: Any, which: IntArray) -> IndexArray:
    return np.unique(np.concatenate([edges[0][which], edges[1][which]]))


def log_units(total: FloatArray) -> FloatArray:
    """ln S in level units; 0 where nothing is in reach."""
    return np.log(total, out=np.zeros(total.size), where=total > 0) / LEVEL_UNIT
