# SPDX-License-Identifier: Apache-2.0
"""Draws for many places from few searches.

Places near one another have nearly the same distribution, so one search from a centre c serves all within a small
distance: z is drawn from K(c), exactly, and kept as a report from x with probability w(d(x, z)) / (C w(d(c, z))),
otherwise drawn again. What is kept has probability proportional to

    measure(z) w(d(c, z)) x w(d(x, z)) / (C w(d(c, z))) = measure(z) w(d(x, z)) / C,

which is K(x), exactly, for any constant C that keeps the quotient at most 1. With a = d(c, x), d(x, z) >= d(c, z) - a
and C = `ceiling(a)` >= (p/q)^a does (see `weights`). It takes C S(c) / S(x) <= e^a tries on average.

Whether to keep z is one whole number drawn below C w(d(c, z)), in units in which all is whole, and so a threshold t:
keep z if d(x, z) <= t. As d(x, z) <= d(c, z) + a, nothing needs to be searched when t is at least that; otherwise a
search from z towards x, led by the distances from c, answers (`kernels.within`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import _kernels as kernels
from ..arrays import IndexArray, IntArray
from ..levels import LEVEL_BITS
from ..metric.part import Part
from ..metric.weights import Weights
from ..randomness import RandomSource
from .sampler import Line, Sampler

#: How far from its centre a place may be, in level units at exponent 1/2. A larger one means fewer searches and more
#: tries, of which e^(exponent x radius) are needed.
RADIUS = (3 << LEVEL_BITS) // 2
#: A place with so many rows has a search of its own: tries for all of them would cost more.
MANY = 256
#: Fractional bits of C.
BITS = 24


@dataclass(frozen=True)
class Group:
    """A centre, and the places that share its search: (location, distance from the centre, its rows of the table)."""

    centre: int
    members: list[tuple[int, int, IntArray]]


def radius(weights: Weights) -> int:
    """How far from its centre a place may be for these weights."""
    return int(RADIUS / (2 * weights.exponent))


def groups_of(part: Part, weights: Weights, places: IntArray, rows: Sequence[IntArray]) -> list[Group]:
    """Groups of all `places` (of one part), those with many rows first as centres; rows[k]: rows of places[k]."""
    if len(places) == 1:  # there is nobody to share with, and nothing to compile
        return [Group(int(places[0]), [(int(places[0]), 0, rows[0])])]
    counts = np.array([len(mine) for mine in rows])
    order = np.argsort(-counts, kind="stable")
    own = int(np.count_nonzero(counts >= MANY))
    vertices = part.locals(places[order]).astype(np.int32)
    centre, away = kernels.cover(*part.graph.rows, part.graph.buckets, vertices, own, radius(weights))
    groups: dict[int, Group] = {}
    for k, at, distance in zip(order.tolist(), centre.tolist(), away.tolist(), strict=True):
        group = groups.setdefault(at, Group(int(places[order[at]]), []))
        group.members.append((int(places[k]), distance, rows[k]))
    return list(groups.values())


def ceiling(weights: Weights, away: int) -> int:
    """C in units of 2^-BITS, rounded up: at least w(D - away) / w(D) for every D."""
    result, factor, left = 1 << 60, weights.step_up, away
    while left:
        if left & 1:
            result = -(-result * factor >> 60)
        factor = -(-factor * factor >> 60)
        left >>= 1
    return -(-result >> (60 - BITS))


def threshold(weights: Weights, ceil: int, near: int, most: int, rng: RandomSource) -> int:
    """t such that, for each distance D <= most, t >= D with probability w(D) / (C w(near)) exactly; -1 if t < 0.

    `most` is the largest distance of interest: t is not told apart beyond it.
    """
    period, table = weights.period, weights.table
    home, last = near // period, most // period
    draw = rng.below((ceil * int(table[near - home * period])) << (last - home))
    for shell in range(last, -1, -1):
        value = draw >> (BITS + last - shell)
        if value < table[0]:
            return shell * period + weights.count_above(value) - 1
    return -1


class SharedSampler(Sampler):
    """Draws for all places of a group from one search; not to be shared between threads."""

    def enter(self, source: int, wider: int) -> bool:
        changed = super().enter(source, wider)
        if changed:
            self.__dict__.pop("_within", None)
        return changed

    @cached_property
    def _within(self) -> tuple[IndexArray, ...]:
        graph, span = self.part.graph, 2 * radius(self._weights) + 2
        space: tuple[IndexArray, ...] = kernels.within_workspace(graph.n, graph.index.size, span)
        return space

    def draw_group(self, group: Group, rng: RandomSource, out: IntArray) -> None:
        """A location for each row of the group's places, into out[rows]."""
        # a way from a member to a report stays within the report's distance from the centre plus the member's
        with self.line(group.centre, slack=radius(self._weights)) as line:
            for location, away, rows in group.members:
                ceil = ceiling(self._weights, away)
                out[rows] = [self._one(line, location, away, ceil, rng) for _ in range(len(rows))]

    def _one(self, line: Line, x: int, away: int, ceil: int, rng: RandomSource) -> int:
        while True:
            z = line.throw(rng)
            part = self.part
            if away == 0:
                return part.number(z)
            near, frontier = line.distances
            most = int(near[z]) + away
            keep = threshold(self._weights, ceil, int(near[z]), most, rng)
            if keep >= most or kernels.within(*self.rows, near, frontier, away, part.local(x), z, keep, *self._within):
                return part.number(z)
