# SPDX-License-Identifier: Apache-2.0
"""Heights after a change: a map that a fence was carved into, or that was cut from a larger one, keeps the heights it
had wherever the change hardly matters.

What changed is known from the two graphs. A change at distance r (of the lowered graph) changes S by a factor of about
1 + e^-r at most: beyond `REACH` levels heights stay. Nearer, each goes to where it was, moved by what ln S moved: ln S
of both maps is estimated by the same bounded search, whose bias cancels, and so does what the old heights were off by.
Then *every* edge of the new map is certified with the heights as they are stored, as if nothing had been known: the
certificate of the old map, which a stranger may have written, is not believed. Edges close to the change come first.
Where one of them is over, heights around it go all the way to ln S, and the rest of the map, which that would change,
has not been searched yet; should that not do, all of the map makes its passes again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..arrays import BoolArray, FloatArray, IntArray
from ..levels import LEVEL_BITS
from ..progress import Bar, progress_bar
from .graph import Graph
from .measures import output_measure
from .metric import Metric
from .sharpen import Heights, Search, sharpened

#: How far from what changed heights are found again, and how far the passes that find them look, in levels.
REACH, LOOK = 8.0, 7.0
#: Closer than the first of these heights go to ln S; from the second on they keep what they were off by.
CORE = 2.0, 6.0
#: The same around edges that are over in spite of that, and how often it is tried.
AROUND, AGAIN = (1.0, 3.0), 3
#: A pass goes this part of the way.
STEP = 0.7
#: Edges closer than this are looked at before all others: those that were over lay within 4 levels.
FIRST = 5.0
#: Passes before every edge is looked at; each is made where heights moved in the last by more than so many units (an
#: edge's slack is mostly 7 to 30), and a level around.
PASSES, MOVES, BESIDE = 9, 2.5, 1.0


def resharpened(
    metric: Metric, before: Metric, origin: IntArray, *, workers: int | None = None, progress: bool = False
) -> Metric:
    """The metric with a relief for the measure of the one that `before` has, certified on every edge.

    `origin`: the number in `before` of each location; of the parts of one that was divided, its number.
    """
    relief = before.relief
    assert relief is not None
    slack = relief.slack
    bare = replace(metric, relief=None)
    measure, was = output_measure(bare, relief.output), output_measure(before, relief.output)
    search = Search(bare, measure, workers, slack)
    state = Heights(relief.height[origin].astype(np.float64), 0)
    away = _away(search.lowered(state), _touched(bare, before, origin), REACH)
    away = np.where(bare.fence == 0, away, REACH)
    core, look, near, first = CORE, LOOK, away < REACH, away < FIRST
    with progress_bar("sharpen", _cost(search, near), show=progress) as bar:
        above = _above(search, Search(replace(before, relief=None), was, workers, slack), before, origin, near, bar)
        above -= _log_factor(measure, was[origin])
        for _ in range(1 + AGAIN):
            state = _settle(search, state, near, _offset(above, away, core, near), look, bar)
            found = search.totals(state, search.certify, bar, note="edges around", only=first)
            over = search.edges_over(state, found, first)
            if over.size == 0:
                found = found.beside(search.totals(state, search.certify, bar, note="every edge", only=~first))
                report, over = search.edge_report(state, found, bar)
                if report["ok"]:
                    report["passes"] = state.passes
                    return replace(metric, relief=search.relief(state, relief.output, report))
            away = _away(search.lowered(state), over, AROUND[1])
            unseen = (away < AROUND[1]) & (found.near == 0)
            found = found.beside(search.totals(state, search.certify, bar, note="around these", only=unseen))
            above, core, look = state.height - search.estimate(found), AROUND, search.certify
            near = (found.near > 0) & (away < AROUND[1])
            first |= near
    return sharpened(metric, output=relief.output, near=state.height, slack=slack, workers=workers, progress=progress)


def _cost(search: Search, near: BoolArray) -> float:
    """Of a pass over both maps, of two more (each is smaller than the one before), and of looking at every edge."""
    part = np.count_nonzero(near) / max(near.size, 1)
    return search.cost((LOOK,) * 4) * part + search.cost((search.certify,))


def _touched(after: Metric, before: Metric, origin: IntArray) -> IntArray:
    """Locations with an edge that was not there before, or was of another length, or is gone."""
    tail, tip, weight = after.graph.edges()
    old_tail, old_tip, old_weight = before.graph.edges()
    old = old_tail.astype(np.int64) * before.n + old_tip
    order = np.argsort(old, kind="stable")
    ends = np.sort([origin[tail], origin[tip]], axis=0).astype(np.int64)
    key = ends[0] * before.n + ends[1]
    at = order[np.minimum(np.searchsorted(old[order], key), max(old.size - 1, 0))] if old.size else np.zeros_like(key)
    kept = (old[at] == key) & (old_weight[at] == weight) if old.size else np.zeros(key.size, bool)
    gone = np.ones(old.size, bool)
    gone[at[kept]] = False
    lost = np.zeros(before.n, bool)
    lost[old_tail[gone]] = lost[old_tip[gone]] = True
    return np.unique(np.concatenate([tail[~kept], tip[~kept], np.flatnonzero(lost[origin])]))


def _away(graph: Graph, seeds: npt.NDArray[np.integer], levels: float) -> FloatArray:
    """Distance in levels from the nearest of the seeds; `levels` where it is more than that."""
    limit = int(levels * 2**LEVEL_BITS)
    return np.minimum(graph.distances_from_any(seeds, limit), limit) / 2.0**LEVEL_BITS


def _above(search: Search, old: Search, before: Metric, origin: IntArray, near: BoolArray, bar: Bar) -> FloatArray:
    """How far the old heights were above the old ln S, at what is near; what was in a fence has the middle of that."""
    assert before.relief is not None
    known = np.zeros(before.n, bool)
    known[origin[near]] = True
    known &= before.fence == 0
    height = before.relief.height.astype(np.float64)
    above = height - old.estimate(old.totals(Heights(height, 0), LOOK, bar, note="as it was", only=known))
    search.follow(old)
    middle = np.median(above[known]) if known.any() else 0.0
    return np.where(known, above, middle)[origin]


def _offset(above: FloatArray, away: FloatArray, core: tuple[float, float], near: BoolArray) -> FloatArray:
    """What heights are to be above ln S: the same everywhere in the core, what they were at its edge, and in between
    step by step from the one to the other."""
    own = np.clip((away - core[0]) / (core[1] - core[0]), 0.0, 1.0)
    return own * above + (1 - own) * (np.median(above[near]) if near.any() else 0.0)


def _log_factor(measure: IntArray, was: IntArray) -> float:
    """ln of the factor between two measures of the same places, in level units: it moves no report."""
    both = (measure > 0) & (was > 0)
    return float(np.median(np.log(measure[both] / was[both]))) * 2**LEVEL_BITS if both.any() else 0.0


def _settle(search: Search, state: Heights, near: BoolArray, offset: FloatArray, look: float, bar: Bar) -> Heights:
    """Heights moved towards ln S + offset where they are `near`, until they hardly move."""
    height = state.height.copy()
    for turn in range(PASSES):
        if not near.any():
            break
        state = Heights(height, state.passes + 1)
        found = search.totals(
            state, look, bar, note=f"pass {turn + 1}, {np.count_nonzero(near):,} locations", only=near, tail=False
        )
        moves = np.where(near, STEP * (search.estimate(found) + offset - height), 0.0)
        height = height + moves
        moved = np.flatnonzero(np.abs(moves) > MOVES)
        near = near & (_away(search.lowered(state), moved, BESIDE) < BESIDE)
    return Heights(height, state.passes)
