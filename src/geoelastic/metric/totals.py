# SPDX-License-Identifier: Apache-2.0
"""Normalisers S(x) = sum of mu(z) w(d(x, z)) from bounded searches, with what can be said for certain about them.

For a distance D let S = N + R, where N(x) = sum mu (w(d) - w(D))+ needs only what is nearer than D, and R(x) = sum mu
w(max(d, D)). Three facts bound how much S changes along an edge of length a (w never increases, and |ln w(s) - ln
w(t)| <= |s - t|, in levels):

* max(d, D) changes by at most a along the edge, so e^-a R(y) <= R(x) <= e^a R(y); and S itself likewise;
* R(x) >= w(D) mu{z: d(x, z) < D} = `least`;
* for a group G of sources that has x in it let r(z) = d(G, z) <= d(x, z). Then R(x) <= `most` = w(D) mu{r < D} + sum
  over D <= r < E of mu w(r) + w(E) mu{r >= E}, which takes one search for the whole group.

So S(x) / S(y) is at most the largest value of (N(x) + min(e^a rho, most(x))) / (N(y) + rho) for rho in [least(y),
most(y)]. Up to rho = e^-a most(x) that rises or falls throughout, from there on it falls: the ends and this point (if
it lies between them) are all that has to be tried.

Sums are in double precision, of at most n terms that are not negative, so that their relative errors are below
(n + 3) 2^-53: for ten million locations 1.2e-9, in level units 1e-5, four times over 4e-5. `MARGIN_UNITS` is more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .. import _kernels as kernels
from ..arrays import BoolArray, FloatArray, IndexArray, IntArray, read_only
from ..levels import LEVEL_BITS, LEVEL_UNIT
from ..locations import Locations
from ..progress import Bar
from .graph import Graph
from .threads import in_parts
from .weights import WHOLE, make_weights

#: What comparisons give up for rounding, in level units.
MARGIN_UNITS = 1e-4
#: Weights are looked up to this distance, 32 levels: at most 2^-46 of the weight at 0.
_SPAN = 2 ** (LEVEL_BITS + 5)


@dataclass(frozen=True, eq=False)
class Totals:
    """S = near + rest at each location, least <= rest <= most, relative to w(0); all 0 where nothing was searched.

    `most` is 0 everywhere if only an estimate was asked for. `bound`: D, in levels.
    """

    near: FloatArray
    least: FloatArray
    most: FloatArray
    bound: float

    def estimate(self, reach: FloatArray) -> FloatArray:
        """S as it would be if what is farther than D lay as evenly as in a plane: mu{d < t} like t^2, so that the rest
        is least x (1 + 2/D + 2/D^2); at most all that is left of `reach`, the measure of the component, at w(D)."""
        at_bound = float(weight_table()[int(self.bound * 2**LEVEL_BITS)])
        beyond = self.least * (2 / self.bound + 2 / self.bound**2)
        left = np.maximum(at_bound * reach - self.least, 0)
        return self.near + self.least + np.minimum(beyond, left)

    def beside(self, other: Totals) -> Totals:
        """These and those of searches from other locations, equally far, of the same graph."""
        return Totals(self.near + other.near, self.least + other.least, self.most + other.most, self.bound)


@lru_cache(maxsize=1)
def weight_table() -> FloatArray:
    """w(d) / w(0) of all of each distance, exactly: whole numbers below 2^32 by powers of two."""
    weights = make_weights(WHOLE)
    return read_only(weights.at(np.arange(_SPAN)) / float(weights.table[0]))


def totals_within(
    graph: Graph, measure: IntArray, sources: IndexArray, bound: float, *, tail: bool,
    workers: int | None = None, bar: Bar | None = None,
) -> Totals:  # fmt: skip
    """Normalisers at `sources` by searches up to `bound` levels; with `tail`, bounded above as well."""
    units, table = int(bound * 2**LEVEL_BITS), weight_table()
    parts = in_parts(
        lambda some: kernels.near_totals(*graph.rows, graph.buckets, measure, table, units, some, tail),
        sources, workers=workers, bar=bar,
    )  # fmt: skip
    near, within, most = np.zeros((3, graph.n))
    for k, values in enumerate((near, within, most)):
        values[sources] = np.concatenate([part[k] for part in parts])
    return Totals(near, table[units] * within, most, bound)


def log_ratio_units(
    length: IndexArray, near_x: FloatArray, most_x: FloatArray, near_y: FloatArray, least_y: FloatArray,
    most_y: FloatArray,
) -> FloatArray:  # fmt: skip
    """An upper bound of ln S(x) / S(y), in level units, along edges of these lengths."""
    growth = np.exp(length * LEVEL_UNIT)
    turn = np.clip(most_x / growth, least_y, most_y)
    worst = np.zeros(length.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        for rho in (least_y, turn, most_y):
            ratio = (near_x + np.minimum(growth * rho, most_x)) / (near_y + rho)
            worst = np.fmax(worst, ratio)  # 0 / 0, where nothing at all is in reach, says nothing
        found: FloatArray = np.minimum(np.log(worst) / LEVEL_UNIT, length)
    return found


def in_walking_order(locations: Locations, graph: Graph, chosen: BoolArray) -> IndexArray:
    """The chosen locations, component by component, along a curve on which all that follow one another are close.

    The curve is Hilbert's: without the jumps of a Z-order the hundred next ones lie within a small circle.
    """
    at = np.flatnonzero(chosen)
    place = _hilbert(2 * locations.row[at] + locations.size[at], 2 * locations.col[at] + locations.size[at])
    return at[np.lexsort((at, place, graph.components[at]))].astype(np.int32)


def in_groups(locations: Locations, walk: IndexArray, chosen: BoolArray) -> IndexArray:
    """Those of a walk that are chosen, in groups that share a search and are compact also where most are left out: cut
    in two across the longer side, again and again; inside a group the order is the walk's."""
    at = np.stack([2 * locations.row + locations.size, 2 * locations.col + locations.size])[:, walk]
    groups: list[IntArray] = []
    left = [np.flatnonzero(chosen[walk])]
    while left:
        some = left.pop()
        half = -(-some.size // kernels.TOGETHER) // 2 * kernels.TOGETHER
        if half == 0:
            groups.append(np.sort(some))
            continue
        places = at[:, some]
        order = np.argsort(places[np.argmax(np.ptp(places, axis=1))], kind="stable")
        left += [some[order[half:]], some[order[:half]]]
    return walk[np.concatenate(groups)]


def _hilbert(row: IndexArray, col: IndexArray) -> IntArray:
    """Position on Hilbert's curve through a square of 2^k."""
    x, y = row.astype(np.int64), col.astype(np.int64)
    place = np.zeros(x.size, np.int64)
    for bit in reversed(range(max(int(x.max(initial=1)), int(y.max(initial=1))).bit_length())):
        right, up, inside = (x >> bit) & 1, (y >> bit) & 1, (1 << bit) - 1
        place = 4 * place + ((3 * right) ^ up)
        x, y = x & inside, y & inside
        turned = (up == 0) & (right == 1)
        x, y = np.where(turned, inside - x, x), np.where(turned, inside - y, y)
        x, y = np.where(up == 0, y, x), np.where(up == 0, x, y)
    return place
