# SPDX-License-Identifier: Apache-2.0
"""The elastic mechanism: a report for a place, exactly as every other client draws it from the same bytes."""

from __future__ import annotations

import os
from typing import NamedTuple

from .errors import InputError
from .graph import MASK, SHIFT, Search
from .metric import Metric
from .randomness import RandomSource, SystemRandom, uniform_below
from .sampler import Sampler
from .weights import make_weights

__all__ = ["Elastic", "Report"]

_EVERYWHERE = 2**31 - 2


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
        self._sampler = Sampler(metric.reporting, metric.measure, self.weights)
        self._random = SystemRandom()
        self._totals: dict[int, int] = {}
        for first, share in zip(metric.part, metric.measure):
            self._totals[first] = self._totals.get(first, 0) + share

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
        source = random or self._random
        return self._cell(self.sample(i, random=source)[0], source)

    def sample(self, i: int, count: int = 1, *, random: RandomSource | None = None) -> list[int]:
        """Reported locations, independent of each other. They share a search."""
        self.metric.require_secret(i)
        source = random or self._random
        if self.metric.fence[i]:
            return [self._in_fence(i, source) for _ in range(count)]
        total = self._totals[self.metric.part[i]]
        if not total > 0:
            raise InputError("nothing that can be reached from this location may be reported")
        return self._sampler.draw(i, total, source, count)

    def _in_fence(self, i: int, random: RandomSource) -> int:
        members = self.metric.fence_members(self.metric.fence[i])
        cells = [self.metric.size[j] ** 2 for j in members]
        offset = uniform_below(random, sum(cells))
        for j, count in zip(members, cells):
            if offset < count:
                return j
            offset -= count
        raise AssertionError("the offset lies within the fence")

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
            search = Search(metric.reporting, [i])
            search.expand(_EVERYWHERE)
            for key in search.order:
                shell, place = divmod(key >> SHIFT, len(self.weights))
                chance[key & MASK] = metric.measure[key & MASK] * self.weights[place] * 2.0**-shell
        total = sum(chance)
        return [part / total for part in chance]
