# SPDX-License-Identifier: Apache-2.0
"""`ElasticMechanism`: the exponential mechanism over a metric, with full support and exact integer weights.

K(x)(z) = measure(z) w(d(x, z)) / S(x). With exponent 1/2 it is d-private for any metric and any measure: the weights
differ by at most e^(d/2) and so do the normalisers. A metric with a relief (`sharpen`) lets reports go by other,
certified distances with exponent 1, and errs much less. There is no other exponent to choose: none would be private.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..arrays import FloatArray, IndexArray, IntArray, read_only
from ..errors import FrameError, require_able, require_count
from ..levels import UNREACHABLE
from ..metric import AnyMetric, Metric
from ..metric.measures import output_measure
from ..metric.part import OnePart, Parts, require_reach
from ..metric.relief import reporting_metric
from ..metric.threads import worker_count
from ..metric.weights import HALF, WHOLE, make_weights
from ..randomness import RandomSource, SeededRandom, SystemRandom
from ..reports.protocols import Reporter
from .sampler import Sampler, draw_full
from .shared_draws import Group, SharedSampler, groups_of


class ElasticMechanism(Reporter):
    """Report locations through a metric.

    Guarantee: ln K(x)(z)/K(x')(z) <= d(x, x') for all secrets x, x' and all reports z; inside a fence reports are
    even over the fence, whatever the place. Distribution: exactly `probabilities(i)`; integers only from distance to
    report. Assumptions: the operating system's random bytes are uniform. Cost: one bounded search a report, usually a
    few milliseconds. References: McSherry and Talwar 2007; Chatzikokolakis, Palamidessi and Stronati 2015.

    `output`: "mass" (default), "uniform", "mass^GAMMA", or numbers, one per location; `never`: a mask of what must not
    be reported. Reports go by half of each distance of `metric` or, if it was sharpened for `output`, by its relief:
    by all of each distance of `reporting`, private for `metric`.
    """

    _lazy = True

    def __init__(
        self, metric: AnyMetric, *, output: str | npt.ArrayLike = "mass", never: npt.ArrayLike | None = None,
        lazy: bool = True,
    ) -> None:  # fmt: skip
        require_able("metric", metric, "locate_secret", "a metric (ge.load reads one from a file)")
        name = output if isinstance(output, str) else "given"
        parts = metric.parts(name) if never is None and lazy else None
        measure = None if parts is not None else output_measure(metric.whole(), output, never=never)
        sharp = never is None and metric.relief is not None and name == metric.relief.output
        self._begin(metric, parts, measure, name, sharp, lazy)

    @classmethod
    def from_measure(cls, metric: Metric, measure: IntArray, *, output: str) -> ElasticMechanism:
        """With the very integers of a measure that was made before: what `output` names need not be computed again. A
        relief is used if the metric has one; that it holds for these integers is what `verify` checks."""
        mechanism = cls.__new__(cls)
        mechanism._begin(metric, None, read_only(measure), output, metric.relief is not None, True)
        return mechanism

    def _begin(
        self, metric: AnyMetric, parts: Parts | None, measure: IntArray | None, output: str, sharp: bool, lazy: bool
    ) -> None:
        self._metric, self._given_parts, self._given_measure, self.output = metric, parts, measure, output
        self._lazy, self.sharpened = lazy and metric.by_paths, sharp
        self._weights = make_weights(WHOLE if sharp else HALF)
        if sharp and parts is None:
            _ = self.reporting  # refuses a relief that was made for another map

    def __repr__(self) -> str:
        how = "sharpened" if self.sharpened else "half of each distance"
        return f"ElasticMechanism(output={self.output!r}, {how}, {self._metric!r})"

    def twin(self) -> ElasticMechanism:
        """The same mechanism with a search workspace of its own, for another thread."""
        other = copy(self)
        other.__dict__.pop("_sampler", None)
        return other

    @property
    def metric(self) -> AnyMetric:
        return self._metric

    def for_user(self, user: str) -> ElasticMechanism:
        """The same: reports do not depend on whose they are."""
        return self

    @cached_property
    def reporting(self) -> Metric:
        """The metric by whose distances reports are drawn, all of it."""
        whole = self._metric.whole()
        return reporting_metric(whole) if self.sharpened else whole

    @cached_property
    def measure(self) -> IntArray:
        """The integer output measure of each location."""
        if self._given_measure is not None:
            return self._given_measure
        return self._parts.measure()

    @property
    def measure_digest(self) -> str:
        """The name of the output measure; see `measures.measure_digest`."""
        return self._parts.measure_digest()

    @cached_property
    def _parts(self) -> Parts:
        if self._given_parts is not None:
            return self._given_parts
        return OnePart(self.reporting.graph, self.measure)

    @property
    def exponent(self) -> Fraction:
        return self._weights.exponent

    @property
    def weights(self) -> Any:
        """The integer weights by distance."""
        return self._weights

    def probabilities(self, i: int) -> FloatArray:
        """The probability of reporting each location from location i."""
        whole = self._metric.whole()
        if whole.fence[self._secret(i)] > 0:
            even = np.where(whole.fence == whole.fence[i], whole.locations.area_cells, 0).astype(np.float64)
            return even / float(even.sum())
        weighted = self._weighted(self.reporting.distance_units_from(i))
        total: float = math.fsum(weighted)
        return weighted / total

    def sample(self, i: int, size: int = 1, *, rng: RandomSource | None = None) -> IntArray:
        """Reported locations drawn from location i, each independently."""
        require_count("size", size)
        source = SystemRandom() if rng is None else rng
        return self._draw(self._secret(i), [source] * size, self._sampler)

    def sample_cells(
        self, i: npt.ArrayLike, *, rng: RandomSource | None = None, workers: int | None = None
    ) -> tuple[IntArray, IntArray]:
        """(rows, columns) of one reported cell for each secret location in `i`; repeated locations share their search.

        A location stands for its cells; which of them is reported is drawn evenly, after the fact.
        """
        secrets = np.asarray(i, dtype=np.int64).ravel()
        if secrets.size and not self._metric.secrets_at(secrets).all():
            raise FrameError("some locations are in the frame: they may be reported but not be hidden")
        unique, where = np.unique(secrets, return_inverse=True)
        rows = np.split(np.argsort(where, kind="stable"), np.cumsum(np.bincount(where))[:-1])
        reported = np.empty(secrets.size, np.int64)
        for some in self._parts.together(unique):
            self._draw_table(self._groups(unique[some], [rows[k] for k in some]), reported, rng, workers)
        return draw_cells(self._metric, reported, SystemRandom() if rng is None else rng)

    def _draw_table(
        self, groups: list[Group], reported: IntArray, rng: RandomSource | None, workers: int | None
    ) -> None:
        """A location for each row of the groups of one part, into `reported`."""
        streams: list[RandomSource | None] = [None if rng is None else SeededRandom(rng.bytes(32)) for _ in groups]
        jobs = iter(list(zip(groups, streams, strict=True)))  # all threads take from one list, the next when free

        def work(_: int) -> None:
            sampler, system = (self._sampler if threads == 1 else self._new_sampler()), SystemRandom()
            for group, stream in jobs:
                self._draw_group(group, sampler, stream or system, reported)

        threads = min(worker_count(workers), max(1, len(groups)))
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(threads)))

    def _sanitize_one(self, lat: float, lon: float, rng: RandomSource | None) -> tuple[float, float]:
        source = SystemRandom() if rng is None else rng
        reported = self.sample(self._metric.locate_secret(lat, lon), rng=source)
        row, col = draw_cells(self._metric, reported, source)
        out_lat, out_lon = self._metric.grid.cell_to_latlon(row[0], col[0])
        return float(out_lat), float(out_lon)

    def expected_error(self, i: int) -> float:
        """Mean distance in metres between a cell of location i and the reported cell, over both draws."""
        return float(self.probabilities(i) @ self.distances_m(i))

    def distances_m(self, i: int) -> FloatArray:
        """Mean distance in metres between a cell of location i and a cell of each location."""
        at = self._metric.whole().locations
        cells: FloatArray = kernels.mean_distances(self._secret(i), at.row, at.col, at.size)
        return cells * self._metric.grid.cell_m

    def nearby(self, i: int, *, times: int) -> tuple[FloatArray, FloatArray]:
        """Probability and mean distance in metres of all that is near location i, which lies outside fences: at most
        one report in `times` falls on what is left out. Opens the tiles around."""
        with self._sampler.line(self._secret(i)) as line:
            numbers, lengths = line.nearest(times)
        leaves = (np.ascontiguousarray(part) for part in self._metric.leaves(numbers))
        cells: FloatArray = kernels.mean_distances(int(np.flatnonzero(numbers == i)[0]), *leaves)
        return lengths / lengths.sum(), cells * self._metric.grid.cell_m

    def loss(self, i: int, j: int) -> float:
        """The worst |ln K(i)(z)/K(j)(z)| over all reports z; infinite across a fence."""
        p, q = self.probabilities(i), self.probabilities(j)
        possible = (p > 0) | (q > 0)
        if np.any((p > 0) != (q > 0)):
            return math.inf
        return float(np.abs(np.log(p[possible] / q[possible])).max())

    def expected_errors(
        self, *, locations: npt.ArrayLike | None = None, workers: int | None = None, progress: bool = False
    ) -> dict[str, FloatArray]:
        """Expected error and quantiles for many locations; see `errors.expected_errors`."""
        from .expected_errors import expected_errors

        return expected_errors(self, locations=locations, workers=workers, progress=progress)

    @cached_property
    def _sampler(self) -> SharedSampler:
        return self._new_sampler()

    def _new_sampler(self) -> SharedSampler:
        return SharedSampler(self._parts, self._weights)

    def _groups(self, places: IntArray, rows: list[IntArray]) -> list[Group]:
        """Places (of one part) that share a search; each alone where there is none to share."""
        free = np.flatnonzero(self._metric.fences_at(places) == 0) if self._lazy else np.zeros(0, np.int64)
        alone = np.setdiff1d(np.arange(places.size), free)
        shared: list[Group] = []
        if free.size:
            part = self._parts.around(int(places[free[0]]))
            shared = groups_of(part, self._weights, places[free], [rows[k] for k in free])
        return shared + [Group(int(places[k]), [(int(places[k]), 0, rows[k])]) for k in alone]

    def _draw_group(self, group: Group, sampler: SharedSampler, rng: RandomSource, out: IntArray) -> None:
        """A location for each row of the group's places, into out[rows]."""
        if len(group.members) == 1:
            rows = group.members[0][2]
            out[rows] = self._draw(group.centre, [rng] * rows.size, sampler)
        else:
            sampler.draw_group(group, rng, out)

    def _draw(self, i: int, rngs: list[RandomSource], sampler: Sampler) -> IntArray:
        fence = int(self._metric.fences_at(i))
        if fence > 0:
            return draw_in_fence(self._metric, fence, rngs)
        if self._lazy:
            return sampler.draw(i, rngs)
        units = self.reporting.distance_units_from(i)
        require_reach(int(self.measure[units < UNREACHABLE].sum()))
        return draw_full(units, self.measure, self._weights, rngs)

    def _weighted(self, units: IndexArray) -> FloatArray:
        weighted = self.measure * self._weights.at(np.where(units == UNREACHABLE, 0, units))
        return np.where(units == UNREACHABLE, 0.0, weighted)

    def _secret(self, i: int) -> int:
        if not self._metric.is_secret(i):
            raise FrameError("this location is in the frame: it may be reported but not be hidden")
        return int(i)


def draw_in_fence(metric: AnyMetric, fence: int, rngs: list[RandomSource]) -> IntArray:
    """Locations of a fence, one per random source, drawn evenly over its cells."""
    members = metric.fence_members(fence)
    ends = np.cumsum(metric.leaves(members)[2].astype(np.int64) ** 2)
    return members[[int(np.searchsorted(ends, rng.below(int(ends[-1])), side="right")) for rng in rngs]]


def draw_cells(metric: AnyMetric, reported: IntArray, rng: RandomSource) -> tuple[IntArray, IntArray]:
    """(row, column) of a cell drawn evenly from each reported location."""
    rows, cols, sizes = metric.leaves(reported)
    sides = sizes.astype(np.int64)
    place = np.array([rng.below(int(side * side)) if side > 1 else 0 for side in sides], dtype=np.int64)
    return rows + place // sides, cols + place % sides


class OverElastic(Reporter):
    """What is made of the reports of a `mechanism` and is as private as they are; it has its own `sample_cells`."""

    mechanism: ElasticMechanism

    @property
    def metric(self) -> AnyMetric:
        return self.mechanism.metric

    def sample_cells(
        self, i: npt.ArrayLike, *, rng: RandomSource | None = None, workers: int | None = None
    ) -> tuple[IntArray, IntArray]:
        """(rows, columns) of one reported cell for each location in `i`."""
        raise NotImplementedError

    @property
    def exponent(self) -> Fraction:
        return self.mechanism.exponent

    def _sanitize_one(self, lat: float, lon: float, rng: RandomSource | None) -> tuple[float, float]:
        row, col = self.sample_cells([self.metric.locate_secret(lat, lon)], rng=rng)
        reported = self.metric.grid.cell_to_latlon(row[0], col[0])
        return float(reported[0]), float(reported[1])

    def loss(self, i: int, j: int) -> float:
        """A bound of the worst log-ratio, however often each is reported: that of the mechanism."""
        return float(self.mechanism.loss(i, j))
