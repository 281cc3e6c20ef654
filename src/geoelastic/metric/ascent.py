# SPDX-License-Identifier: Apache-2.0
"""Edges with factors of their own: paths that end too late are shortened, then everything rises until it binds.

One scale per location cannot use all the slack there is: shrinking it for one ball shortens every path through it. Most
locations that bind do so at the lowest levels, where a ball is a few cells. So scales only see to the levels from
`UPPER` on, and each edge has a factor of its own besides, its *rise*:

1. *Paths.* From each secret in turn whose ball falls short at a lower level, the path to one location just beyond is
   shortened until it arrives, and so on until the ball holds. This only brings locations nearer.
2. *Ascent.* For each secret s and each y of its ball, by distance, let W_s(y) be the level by which y must be inside,
   given all before it. Every edge of s's shortest-path tree on the way to y may rise by the factor W_s(y) / d(s, y) at
   most, and takes the least of these over all s and y. Edges longer than a path between their ends are on no
   shortest path and go; those that nobody asked about, in the frame, stay.

*Why every ball still holds after 2.* The old path to y has length at most W_s(y), so y is inside in time, for each y.
Limits are least values: they merge across threads, and across the tiles of a larger map, in any order. Nothing is
repaired afterwards, and it can run on any metric whose balls hold.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..arrays import BoolArray, ByteArray, IndexArray, IntArray
from ..levels import level_to_units
from ..progress import Bar, progress_bar
from .conformal import Neighbours, conformal_graph, repair
from .graph import Graph
from .threads import in_parts

#: The level from which on scales see to the requirement: from 0.5 to 0.8 it makes no difference.
UPPER = 0.6
#: After each pass paths are other paths. Measured on real maps, three passes bring nine tenths of what twelve bring.
PASSES = 3
#: The most that an edge rises in one pass: those that are not bound yet will be by the paths of the next.
STEP = int(1.3 * 2**kernels.LIMIT_BITS)


def upper_part(table: IntArray) -> IntArray:
    """The requirement that scales see to: that of the levels from `UPPER` on, or of the last one."""
    first = min(level_to_units(UPPER), table.size - 1)
    return np.where(np.arange(table.size) < first, 0, table)


def fit_edges(
    neighbours: Neighbours, scale: IndexArray, mass_units: IntArray, table: IntArray,
    sources: IndexArray, *, workers: int | None = None, progress: bool = False,
) -> tuple[IndexArray, ByteArray]:  # fmt: skip
    """From scales that meet the `upper_part` of a table: scales, and edges' rises, that meet all of it."""
    base = conformal_graph(neighbours, scale)
    lower = table[: int(np.argmax(upper_part(table) > 0)) + 1]
    rise, short = kernels.shorten_paths(base.start, base.index, base.weight, mass_units, base.buckets, lower, sources)
    if short.any():
        scale = repair(neighbours, scale, mass_units, table, sources[short], rise=rise, workers=workers)
        base = conformal_graph(neighbours, scale)
    with progress_bar("ascent", PASSES * sources.size, show=progress) as bar:
        return scale, ascend(base, rise, mass_units, table, sources, workers=workers, bar=bar)


def edge_limits(
    graph: Graph, mass_units: IntArray, table: IntArray, sources: IndexArray, *,
    workers: int | None = None, bar: Bar | None = None, done: float = 0,
) -> IndexArray:  # fmt: skip
    """By how much each edge of `graph` (in the order of `Graph.edges`) may rise, as far as `sources` say; the limits of
    further sources merge by the lesser of each edge."""
    lists: list[IndexArray] = []  # one for each thread: an entry for every arc is much to fill and to merge

    def limits(some: IndexArray) -> None:
        try:
            mine = lists.pop()
        except IndexError:
            mine = np.full(graph.index.size, kernels.STAYS, np.int32)
        kernels.rise_limits(*graph.rows, mass_units, graph.buckets, table, some, mine)
        lists.append(mine)

    in_parts(limits, sources, workers=workers, bar=bar, done=done)
    least = reduce(np.minimum, lists)
    both: IndexArray = kernels.least_of_both(graph.start, graph.index, least)
    return both


def rise_by(limits: IndexArray, full: npt.NDArray[Any], rise: ByteArray) -> ByteArray:
    """The rise of edges whose conformal weight is `full`, raised as far as their limits allow; 0 where one may go."""
    before = (full.astype(np.int64) * rise) >> kernels.RISE_BITS
    allowed = (before * np.minimum(limits, STEP)) >> kernels.LIMIT_BITS
    raised = (((allowed + 1) << kernels.RISE_BITS) - 1) // np.maximum(full, 1)
    raised = np.clip(raised, rise, np.maximum(rise, kernels.MOST_RISE))
    raised[limits == kernels.STAYS] = rise[limits == kernels.STAYS]
    raised[limits == kernels.LONGER] = 0
    rises: ByteArray = raised.astype(np.uint8)
    return rises


def ascend(
    base: Graph, rise: ByteArray, mass_units: IntArray, table: IntArray, sources: IndexArray, *,
    around: BoolArray | None = None, passes: int = PASSES, workers: int | None = None,
    bar: Bar | None = None,
) -> ByteArray:  # fmt: skip
    """The rise of each edge of `base`, a conformal graph whose balls hold with the rise given: raised, or 0.

    `around`: only edges with an end there move; then `sources` need only be the secrets whose balls reach such an end,
    for no other has them in its tree.
    """
    tail, tip, full = base.edges()
    free = np.ones(full.size, bool) if around is None else around[tail] | around[tip]
    for turn in range(passes):
        kept = rise > 0
        graph = Graph(*kernels.raise_edges(base.start, base.index, base.weight, rise))
        limits = edge_limits(graph, mass_units, table, sources, workers=workers, bar=bar, done=turn * sources.size)
        rise = rise.copy()
        rise[kept & free] = rise_by(limits[free[kept]], full[kept & free], rise[kept & free])
    return rise


def carry_rise(
    rise: ByteArray, before: Neighbours, after: Neighbours, origin: IntArray, otherwise: ByteArray | None = None
) -> ByteArray:
    """The rises of a layout for the neighbours of another, of which `origin` is each location's number in the first or
    -1; edges that were not there before have what is given `otherwise`, or their conformal weight."""
    n = before[0].size - 1
    old, new = _pairs(before), _pairs(after)
    keys = old[0].astype(np.int64) * n + old[1]
    ends = np.sort([origin[new[0]], origin[new[1]]], axis=0)
    at = np.minimum(np.searchsorted(keys, ends[0] * n + ends[1]), max(keys.size - 1, 0))
    carried = np.full(new[0].size, 1 << kernels.RISE_BITS, np.uint8) if otherwise is None else otherwise.copy()
    if keys.size:
        known = (ends[0] >= 0) & (keys[at] == ends[0] * n + ends[1])
        carried[known] = rise[at[known]]
    return carried


def restore_edges(
    rise: ByteArray, graph: Graph, after: Neighbours, scale: IndexArray, origin: IntArray, near: BoolArray
) -> ByteArray:
    """Edges that had gone, put back where an end is `near` (by its number before): as long as the distance between
    their ends in `graph`, the graph before, which leaves that as it is. What made them needless may be cut now."""
    tail, tip = _pairs(after)
    gone = np.flatnonzero((rise == 0) & (near[origin[tail]] | near[origin[tip]]))
    full = conformal_graph(after, scale).edges()[2].astype(np.int64)
    restored = rise.copy()
    for source in np.unique(origin[tail[gone]]):
        these = gone[origin[tail[gone]] == source]
        farthest = int((full[these].max() * (kernels.MOST_RISE + 1)) >> kernels.RISE_BITS) + 1  # beyond it: the most
        away = graph.distances(int(source), farthest)[origin[tip[these]]].astype(np.int64)
        longest = (((away + 1) << kernels.RISE_BITS) - 1) // np.maximum(full[these], 1)
        restored[these] = np.clip(longest, 1, kernels.MOST_RISE)
    return restored


def _pairs(neighbours: Neighbours) -> tuple[IndexArray, IndexArray]:
    """Neighbours i < j, in the order of their rows."""
    start, index, _ = neighbours
    tail = np.repeat(np.arange(start.size - 1, dtype=np.int32), np.diff(start))
    return tail[tail < index], index[tail < index]
