# SPDX-License-Identifier: Apache-2.0
"""What can be claimed of a mechanism, and the checks that follow from each claim."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy import stats

from ...arrays import FloatArray, IntArray
from ...errors import InputError
from ...mechanism.elastic import ElasticMechanism
from ...mechanism.laplace import PlanarLaplace
from ...mechanism.sticky import Sticky
from ...metric import AnyMetric
from .findings import GEOD, Draws, Finding, atom_findings, cache_findings, latitude_bands, noise_findings, peak_chance

_LEVELS = (0.5, 1.5)
_WALK_STEPS = 200
_WALK_M = 400.0
_LEAST_EXPECTED = 10.0
_LEAST_AT_PLACE = 200
_MOST_LOCATIONS = 100
_MOST_GROUPS = 12


class AuditPlace(NamedTuple):
    """Somewhere to look."""

    name: str
    lat: float
    lon: float


@dataclass(frozen=True)
class Pair:
    """A second place, metres east and north of the first, and the loss that is claimed between both."""

    direction: str
    other: AuditPlace
    towards_m: tuple[float, float]
    claimed: float

    @property
    def distance_m(self) -> float:
        return math.hypot(*self.towards_m)


class AuditedClaim(Protocol):
    """A promise that reports can contradict."""

    def statement(self) -> str: ...

    def places(self) -> list[AuditPlace]: ...

    def pairs(self, place: AuditPlace) -> list[Pair]: ...

    def walk(self) -> tuple[FloatArray, FloatArray]: ...

    def findings(self, draws: Draws) -> list[Finding]: ...

    def in_order(self, draws: Draws) -> list[Finding]: ...

    def sample_pairs(self, draws: Draws) -> Iterator[tuple[str, Pair, FloatArray, FloatArray]]: ...


@dataclass(frozen=True)
class LaplaceClaim:
    """Planar Laplace noise of `epsilon` per metre, anywhere on Earth."""

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", PlanarLaplace(self.epsilon).epsilon)

    def statement(self) -> str:
        return f"planar Laplace, epsilon {self.epsilon:.6g} per metre (mean error {2 / self.epsilon:.0f} m)"

    def places(self) -> list[AuditPlace]:
        return [
            AuditPlace("equator", 0.1, 10.0),
            AuditPlace("Paris", 48.8567, 2.3487),
            AuditPlace("70 north", 70.0, 25.0),
            AuditPlace("Cape Town", -33.92, 18.42),
        ]

    def pairs(self, place: AuditPlace) -> list[Pair]:
        """Places to the north and to the east, where the claimed loss is `_LEVELS`."""
        found = []
        for level in _LEVELS:
            metres = level / self.epsilon
            for direction, azimuth, towards in (("north", 0.0, (0.0, metres)), ("east", 90.0, (metres, 0.0))):
                lon, lat, _ = GEOD.fwd(place.lon, place.lat, azimuth, metres)
                found.append(Pair(direction, AuditPlace(place.name, float(lat), float(lon)), towards, level))
        return found

    def walk(self) -> tuple[FloatArray, FloatArray]:
        """Places around Paris, each once, no two steps in the same direction (the golden angle)."""
        start, k = self.places()[1], np.arange(_WALK_STEPS)
        reach = _WALK_M * np.sqrt(k % 9 + 1) / 3
        lon, lat, _ = GEOD.fwd(np.full(k.size, start.lon), np.full(k.size, start.lat), np.degrees(2.399963 * k), reach)
        return np.asarray(lat), np.asarray(lon)

    def findings(self, draws: Draws) -> list[Finding]:
        by_band = [f for where, rows in latitude_bands(draws) for f in noise_findings(where, rows, self.epsilon)]
        return by_band + atom_findings(draws, self.epsilon)

    def in_order(self, draws: Draws) -> list[Finding]:
        return cache_findings(draws, np.full(len(draws), peak_chance(self.epsilon)))

    def sample_pairs(self, draws: Draws) -> Iterator[tuple[str, Pair, FloatArray, FloatArray]]:
        """Noise that does not depend on the place can be moved: half of a band's rows stands for the second place."""
        for where, rows in latitude_bands(draws):
            for pair in self.pairs(AuditPlace(where, float(rows.lat.mean()), float(rows.lon.mean()))):
                yield where, pair, rows.noise_m[0::2], rows.noise_m[1::2] + np.array(pair.towards_m)


@dataclass(frozen=True, eq=False)
class ElasticClaim:
    """A mechanism on a map: its metric bounds the loss and its probabilities are those of the reports."""

    mechanism: ElasticMechanism | Sticky

    @property
    def _metric(self) -> AnyMetric:
        return self.mechanism.metric

    def statement(self) -> str:
        return f"d-private on a metric of {self._metric.n:,} locations"

    def places(self) -> list[AuditPlace]:
        """Locations from the emptiest to the busiest that may be secrets, and one in a fence if there is one."""
        metric = self._metric
        free = np.flatnonzero(metric.secret & (metric.fence == 0))
        fenced = np.flatnonzero(metric.fence > 0)[:1]
        ranked = free[np.argsort(metric.mass[free], kind="stable")]
        picks = [int(ranked[int(q * (ranked.size - 1))]) for q in (0.02, 0.5, 0.98)] if ranked.size else []
        return [self._place(i) for i in dict.fromkeys([*picks, *fenced.tolist()])]

    def _place(self, i: int) -> AuditPlace:
        return AuditPlace(f"location {i}", *self._metric.latlon(i))

    def pairs(self, place: AuditPlace) -> list[Pair]:
        """The locations to the north and to the east whose distance is nearest to `_LEVELS`."""
        metric = self._metric
        i = metric.locate(place.lat, place.lon)
        level = np.where(metric.secret, metric.distances_from(i), np.inf)
        level[i] = np.inf
        east, north = (metric.xy - metric.xy[i]).T
        found: dict[int, Pair] = {}
        for target in _LEVELS:
            for direction, ahead, aside in (("north", north, east), ("east", east, north)):
                fits = np.isfinite(level) & (ahead > np.abs(aside))
                if fits.any():
                    j = int(np.flatnonzero(fits)[np.argmin(np.abs(level[fits] - target))])
                    towards = float(east[j]), float(north[j])
                    found.setdefault(j, Pair(direction, self._place(j), towards, float(level[j])))
        return list(found.values())

    def findings(self, draws: Draws) -> list[Finding]:
        """Reports are cells, follow the probabilities where a location has enough rows, and err as expected."""
        true, reported, off = self._located(draws)
        findings = [
            Finding("off the map", "all reports", f"{off} reports are not the centre of a cell", 0.0 if off else 1.0)
        ]
        if off:
            return findings
        for i in self._groups(true):
            p, detail = _chi_square(
                np.bincount(reported[true == i], minlength=self._metric.n), self.mechanism.probabilities(i)
            )
            findings.append(Finding("probabilities", f"location {i}", detail, p))
        findings.append(self._errors(true, reported))
        return findings

    def walk(self) -> tuple[FloatArray, FloatArray]:
        """Secret locations all over the map, by a stride that visits no location twice."""
        secret = np.flatnonzero(self._metric.secret)
        steps = min(_WALK_STEPS, secret.size)
        lat, lon = np.array([self._metric.latlon(int(i)) for i in secret[:: max(1, secret.size // steps)][:steps]]).T
        order = np.argsort(np.arange(lat.size) * 0.618034 % 1)
        return lat[order], lon[order]

    def in_order(self, draws: Draws) -> list[Finding]:
        true, _, off = self._located(draws)
        if off:
            return []
        rows = np.isin(true, self._few(true))
        likeliest = np.array([self._summary(int(i))[0] for i in true[rows]])
        return cache_findings(draws.take(rows), likeliest)

    def sample_pairs(self, draws: Draws) -> Iterator[tuple[str, Pair, FloatArray, FloatArray]]:
        """Pairs of locations that both have enough rows."""
        true, _, _ = self._located(draws)
        groups = self._groups(true)[:_MOST_GROUPS]
        x, y = self._metric.grid.area.to_xy(draws.lat2, draws.lon2)
        reports = np.column_stack([x, y])
        for i in groups:
            levels = self._metric.distances_from(i)
            for j in groups:
                if i != j and math.isfinite(levels[j]):
                    centre, step = self._metric.xy[i], self._metric.xy[j] - self._metric.xy[i]
                    direction = "north" if abs(step[1]) > abs(step[0]) else "east"
                    pair = Pair(direction, self._place(j), (float(step[0]), float(step[1])), float(levels[j]))
                    yield f"location {i}", pair, reports[true == i] - centre, reports[true == j] - centre

    @cached_property
    def _summaries(self) -> dict[int, tuple[float, float, float]]:
        return {}

    def _summary(self, i: int) -> tuple[float, float, float]:
        """(probability of the likeliest cell, mean error, variance of the error) of location i."""
        if i not in self._summaries:
            chances, metric = self.mechanism.probabilities(i), self._metric
            distance = np.hypot(*(metric.xy - metric.xy[i]).T)
            mean = float(chances @ distance)
            likeliest = float((chances / metric.locations.area_cells).max())
            self._summaries[i] = likeliest, mean, float(chances @ (distance - mean) ** 2)
        return self._summaries[i]

    def _located(self, draws: Draws) -> tuple[IntArray, IntArray, int]:
        """True and reported locations, and how many reports are no centre of a cell."""
        grid, owner = self._metric.grid, self._metric.locations.owner
        row, col = grid.latlon_to_cell(draws.lat, draws.lon)
        row2, col2 = grid.latlon_to_cell(draws.lat2, draws.lon2)
        if np.any(row < 0):
            raise InputError(f"{np.count_nonzero(row < 0)} true places lie outside the map; leave them out")
        x, y = grid.area.to_xy(draws.lat2, draws.lon2)
        centre_x, centre_y = grid.cell_to_xy(row2, col2)
        astray = (row2 < 0) | (np.hypot(x - centre_x, y - centre_y) > 0.01 * grid.cell_m)
        return owner[row, col].astype(np.int64), owner[row2, col2].astype(np.int64), int(np.count_nonzero(astray))

    def _groups(self, true: IntArray) -> list[int]:
        locations, counts = np.unique(true, return_counts=True)
        return [int(i) for i in locations[counts >= _LEAST_AT_PLACE]]

    def _few(self, true: IntArray) -> IntArray:
        """At most `_MOST_LOCATIONS` locations, by first appearance: each costs one search of the whole map."""
        _, first = np.unique(true, return_index=True)
        return true[np.sort(first)[:_MOST_LOCATIONS]]

    def _errors(self, true: IntArray, reported: IntArray) -> Finding:
        """The mean distance between true and reported locations against its exact mean and variance."""
        metric, known = self._metric, self._few(true)
        rows = np.isin(true, known)
        _, mean, variance = np.array([self._summary(int(i)) for i in true[rows]]).T
        distance = np.hypot(*(metric.xy[reported[rows]] - metric.xy[true[rows]]).T)
        z = float((distance - mean).sum() / math.sqrt(max(1e-9, float(variance.sum()))))
        detail = f"mean error is {distance.mean():.0f} m where {mean.mean():.0f} m is expected"
        return Finding("error", "all reports", detail, float(2 * stats.norm.sf(abs(z))))


def _chi_square(counts: IntArray, chances: FloatArray) -> tuple[float, str]:
    """p-value of counts against probabilities, rare outcomes pooled."""
    n = int(counts.sum())
    if np.any(counts[chances == 0]):
        return 0.0, "a report that should be impossible was made"
    expected = chances * n
    rare = expected < _LEAST_EXPECTED
    observed = np.append(counts[~rare], counts[rare].sum()).astype(float)
    wanted = np.append(expected[~rare], expected[rare].sum())
    observed, wanted = observed[wanted > 0], wanted[wanted > 0]
    if wanted.size < 2:
        return 1.0, f"{n} reports are too few for this location"
    statistic = float(((observed - wanted) ** 2 / wanted).sum())
    df = wanted.size - 1
    return float(stats.chi2.sf(statistic, df)), f"chi-square {statistic:.0f} for {df} degrees of freedom, {n} reports"
