# SPDX-License-Identifier: Apache-2.0
"""The elastic mechanism: a report for a place, exactly as every other client draws it from the same bytes."""

from __future__ import annotations

import os
from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

from .errors import InputError
from .fresh import Rectangles
from .graph import MASK, SHIFT, Search
from .metric import Metric
from .randomness import RandomSource, SystemRandom, uniform_below
from .sampler import Line
from .weights import make_weights

#: Places with lines of their own until it pays to prepare for many; locations on lines that are kept.
_FEW, _KEPT = 12, 4_000_000


class Report(NamedTuple):
    """Where somebody says to be: degrees, and the location and cell of the map."""

    lat: float
    lon: float
    location: int
    row: int
    col: int


class Elastic:
    """Draws reports over a map. Not to be shared between threads."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        # no other exponent has a guarantee: all of the distances of a sharpened map, half of those of any other
        self.part = 1 if metric.sharpened else 2
        self.weights = make_weights(self.part)
        self._random = SystemRandom()
        self._totals: dict[int, int] = {}
        for first, share in zip(metric.part, metric.measure):
            self._totals[first] = self._totals.get(first, 0) + share
        self._main = max(self._totals, key=self._totals.__getitem__)
        self._lines: dict[int, Line] = {}
        self._rectangles: Rectangles | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Elastic:
        """The mechanism of a `.geox` file."""
        return cls(Metric.open(path))

    @classmethod
    def from_bytes(cls, content: bytes) -> Elastic:
        """The mechanism of the bytes of a `.geox` file."""
        return cls(Metric.from_bytes(content))

    @property
    def exponent(self) -> float:
        """The share of each distance that reports go by: 1 over a relief, else 1/2."""
        return 1 / self.part

    def report(self, lat: float, lon: float, *, random: RandomSource | None = None) -> Report:
        """A fresh report for a place; an error where it cannot be hidden. The operating system's random bits, unless
        others are given."""
        return self.report_from(self.metric.locate_secret(lat, lon), random=random)

    def report_from(self, i: int, *, random: RandomSource | None = None) -> Report:
        """A fresh report from a location."""
        return self._cell(self.sample(i, random=random)[0], random or self._random)

    def sample(self, i: int, count: int = 1, *, random: RandomSource | None = None) -> list[int]:
        """Reported locations, independent of each other. Of given random bits they share a search."""
        metric, source = self.metric, random or self._random
        metric.require_secret(i)
        if metric.fence[i]:
            return [self._in_fence(i, source) for _ in range(count)]
        part = metric.part[i]
        total = self._totals[part]
        if not total > 0:
            raise InputError("nothing that can be reached from this location may be reported")
        if random is None and part == self._main and (self._rectangles or len(self._lines) >= _FEW):
            fresh = self._rectangles = self._rectangles or self._prepared()
            return [fresh.draw(i, source) for _ in range(count)]
        line = self._lines.pop(i, None) or Line(metric.reporting, metric.measure, self.weights, i, total)
        drawn = line.throw_darts(source, count)
        self._lines[i] = line  # the latest are the last
        if len(self._lines) > max(_FEW, _KEPT // metric.n):
            del self._lines[next(iter(self._lines))]
        return drawn

    def _prepared(self) -> Rectangles:
        metric = self.metric
        members = [i for i, part in enumerate(metric.part) if part == self._main]
        if metric.head["layout"] == "uniform":  # row by row; of leaves, near ones are together
            members.sort(key=lambda i: (metric.row[i] // 8, metric.col[i] // 8))
        return Rectangles(metric.reporting, metric.measure, self.weights, members)

    def _in_fence(self, i: int, random: RandomSource) -> int:
        members = self.metric.fence_members(self.metric.fence[i])
        ends = list(accumulate(self.metric.size[j] ** 2 for j in members))
        return members[bisect_right(ends, uniform_below(random, ends[-1]))]

    def _cell(self, location: int, random: RandomSource) -> Report:
        """A cell drawn evenly from a reported location."""
        side = self.metric.size[location]
        down, across = divmod(uniform_below(random, side * side), side)
        row, col = self.metric.row[location] + down, self.metric.col[location] + across
        return Report(*self.metric.cell_to_latlon(row, col), location, row, col)

    def probabilities(self, i: int) -> list[float]:
        """The chance of reporting each location from location i."""
        metric, chance = self.metric, [0.0] * self.metric.n
        if metric.fence[i]:
            for j in metric.fence_members(metric.fence[i]):
                chance[j] = float(metric.size[j] ** 2)
        else:
            search = Search(metric.reporting, i)
            search.expand()
            for key in search.order:
                shell, place = divmod(key >> SHIFT, len(self.weights))
                chance[key & MASK] = metric.measure[key & MASK] * self.weights[place] * 2.0**-shell
        total = sum(chance)
        return [part / total for part in chance]
