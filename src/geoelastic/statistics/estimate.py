# SPDX-License-Identifier: Apache-2.0
"""`estimate`: how people were spread over zones, from private reports.

Two answers side by side. `shares` is the best guess: the most likely shares of small pieces of the zones under a prior
at every scale, as strong as reports that were left out say (`scales.py`). `groups` is what the data show by themselves:
zones that so many reports cannot tell apart are merged (by a rule that looks at public numbers only), and each group
has an unbiased estimate with an interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import BoolArray, FloatArray, IntArray
from ..errors import InputError, require_choice
from ..metric import AnyMetric
from ..reports.protocols import Mechanism, ReportsLocations
from .information import grouped, linear_estimator, merge_zones
from .maximum import FOLDS
from .model import FINE_ATOMS, Atoms, ReportModel, make_atoms, report_model
from .reports import ReadReports, read_reports
from .scales import Fit, Scales, make_scales, scaled_fit
from .zones import Zones, make_zones

__all__ = ["Estimate", "Groups", "Survey", "estimate", "prepare"]

_METHODS = ("fisher", "robust", "bootstrap")
_RESAMPLES = 1000


@dataclass(frozen=True, eq=False)
class Survey:
    """All that an estimate needs besides reports: zones, atoms, and a model of the reports of each mechanism."""

    zones: Zones
    atoms: Atoms
    models: tuple[ReportModel, ...]

    @cached_property
    def matrix(self) -> FloatArray:
        """The models side by side: reports of different mechanisms are different reports."""
        return self.models[0].matrix if len(self.models) == 1 else np.hstack([m.matrix for m in self.models])

    def columns(self, reports: Sequence[ReadReports]) -> IntArray:
        """The column of each report, those of the first mechanism first."""
        if len(reports) != len(self.models):
            raise InputError(f"there must be reports for each of {len(self.models)} mechanisms, got {len(reports)}")
        first = np.cumsum([0] + [model.matrix.shape[1] for model in self.models])
        parts = [
            begin + model.outputs(r.lat, r.lon)
            for begin, model, r in zip(first[:-1], self.models, reports, strict=True)
        ]
        return np.concatenate(parts)

    @cached_property
    def scales(self) -> Scales:
        """The atoms in squares of every size."""
        return make_scales(self.atoms)

    @cached_property
    def by_zone(self) -> ByZone:
        """The atoms put together again, by the public guess of what is inside each zone."""
        held = self.atoms.by_zone(self.atoms.prior)
        number = np.flatnonzero(held > 0)
        xy = np.vstack([self.zones.xy, np.full((1, 2), 1e9)])[number]  # elsewhere is far from everything
        row = np.searchsorted(number, np.where(self.atoms.zone < 0, self.zones.n, self.atoms.zone))
        matrix, shares, _ = grouped(self.matrix, self.atoms.prior, xy[row], row)
        return ByZone(number, row, xy, matrix, shares)


@dataclass(frozen=True, eq=False)
class ByZone:
    """Zones that can hold a secret: `number` of each (n is elsewhere), `row` of each atom's zone among them, middles,
    chances of reports, and public shares."""

    number: IntArray
    row: IntArray
    xy: FloatArray
    matrix: FloatArray
    shares: FloatArray


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of zones that the reports tell apart: `of_zone` (-1 where nobody can be), shares, their covariance by
    Fisher information and by how much people differ (`robust`), and `draws` of the bootstrap."""

    of_zone: IntArray
    shares: FloatArray
    fisher: FloatArray
    robust: FloatArray
    draws: FloatArray

    @property
    def n(self) -> int:
        return int(self.shares.size)

    def interval(
        self, level: float = 0.95, *, sums: npt.ArrayLike | None = None, method: str = "fisher"
    ) -> tuple[FloatArray, FloatArray]:
        """(low, high) of each group's share, or of sums of groups (rows of 0 and 1, or of any numbers)."""
        if not 0 < level < 1:
            raise InputError(f"'level' must be in (0, 1), got {level!r}")
        what = np.eye(self.n) if sums is None else np.atleast_2d(np.asarray(sums, dtype=np.float64))
        if require_choice("method", method, _METHODS) == "bootstrap":
            low, high = np.quantile(self.draws @ what.T, [(1 - level) / 2, (1 + level) / 2], axis=0)
            return low, high
        from scipy.special import ndtri

        covariance = self.fisher if method == "fisher" else self.robust
        spread = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", what, covariance, what), 0))
        wide = float(ndtri((1 + level) / 2)) * spread
        middle = what @ self.shares
        return middle - wide, middle + wide


@dataclass(frozen=True, eq=False)
class Estimate:
    """The spread of people over zones. `shares`: the best guess, one per zone; `elsewhere`: outside them; `raw`: the
    share of the reports in each zone; `n`: how many people."""

    survey: Survey
    shares: FloatArray
    elsewhere: float
    raw: FloatArray
    n: float
    fit: Fit
    groups: Groups

    @property
    def zones(self) -> Zones:
        return self.survey.zones

    def interval(self, level: float = 0.95, *, method: str = "fisher") -> tuple[FloatArray, FloatArray]:
        """(low, high) for each zone: the interval of its group, and NaN where the zone was merged with others."""
        low, high = self.groups.interval(level, method=method)
        alone, group = self.alone, self.groups.of_zone[:-1]
        return np.where(alone, low[group], np.nan), np.where(alone, high[group], np.nan)

    @property
    def alone(self) -> BoolArray:
        """Whether the reports tell each zone from all others."""
        of_zone = self.groups.of_zone
        often = np.bincount(of_zone[of_zone >= 0], minlength=self.groups.n)
        return np.asarray((of_zone[:-1] >= 0) & (often[of_zone[:-1]] == 1))

    @property
    def merged(self) -> list[dict[str, Any]]:
        """Each group: the names of its zones, its share and its 95 % interval."""
        low, high = self.groups.interval()
        names = np.array([*self.zones.names, "elsewhere"], dtype=object)
        return [
            {
                "zones": names[np.flatnonzero(self.groups.of_zone == g)].tolist(),
                "share": float(self.groups.shares[g]), "low": float(low[g]), "high": float(high[g]),
            }
            for g in range(self.groups.n)
        ]  # fmt: skip


def prepare(
    mechanisms: Mechanism | Sequence[Mechanism], zones: Any, *, prior: npt.ArrayLike | None = None,
    elsewhere: bool = True, fine: int = FINE_ATOMS, cache: str | Path | None = None, workers: int | None = None,
    progress: bool = False, metric: AnyMetric | None = None,
) -> Survey:  # fmt: skip
    """The models of one or several mechanisms over one set of zones; `metric` says which map holds the people (default:
    that of the first mechanism that has one), `fine` about how many pieces zones are cut into (0: none)."""
    several = tuple(mechanisms) if isinstance(mechanisms, Sequence) else (mechanisms,)
    maps = (m.metric.whole() for m in several if isinstance(m, ReportsLocations))
    found = metric if metric is not None else next(maps, None)
    if found is None:
        raise InputError("planar Laplace has no map of its own: give 'metric', whose cells hold the people")
    made = make_zones(found, zones)
    atoms = make_atoms(found, made, prior=prior, elsewhere=elsewhere, fine=fine)
    models = [report_model(m, atoms, cache=cache, workers=workers, progress=progress) for m in several]
    return Survey(made, atoms, tuple(models))


def estimate(
    mechanism: Mechanism | Sequence[Mechanism] | Survey, reports: Any, *, zones: Any = None,
    prior: npt.ArrayLike | None = None, elsewhere: bool = True,
    user: str | None = None, metric: AnyMetric | None = None, groups_for: float | None = None, seed: int = 0,
    cache: str | Path | None = None, workers: int | None = None, progress: bool = False,
) -> Estimate:  # fmt: skip
    """How people were spread over zones, from reports made by `mechanism`.

    `mechanism`: what made the reports (`ElasticMechanism`, `PlanarLaplace`), a list of them with a list of `reports`,
    or a `Survey` that was prepared before. `reports`: a table, its file, or (lat, lon); `user` names the column that
    says whose a report is, and then everybody counts once. `zones`: "grid:1000", "leaves:200", "h3:8", polygons.
    `prior`: a public guess of people a cell [default: the map's mass]. `groups_for`: merge zones as so many people ask
    for, so that two estimates can be compared [default: as many as there are]. `seed` divides reports into
    parts, no more.
    Nothing here touches anybody's privacy: it sees reports only, and what is done to reports is free.
    """
    survey = (
        mechanism
        if isinstance(mechanism, Survey)
        else prepare(
            mechanism, zones, prior=prior, elsewhere=elsewhere, cache=cache, workers=workers, progress=progress,
            metric=metric,
        )
    )  # fmt: skip
    lists = reports if isinstance(reports, list) and len(survey.models) > 1 else [reports]
    read = [read_reports(r, user=user) for r in lists]
    return fitted(survey, survey.columns(read), _persons(read), seed=seed, reports=read, groups_for=groups_for)


def _persons(reports: Sequence[ReadReports]) -> IntArray:
    """The person of each report, numbered through all tables: who is in two tables is two persons."""
    first = np.cumsum([0] + [int(r.person.max()) + 1 for r in reports])
    return np.concatenate([r.person + begin for r, begin in zip(reports, first[:-1], strict=True)])


def fitted(
    survey: Survey, column: IntArray, person: IntArray, *, seed: int, reports: Sequence[ReadReports],
    weight: FloatArray | None = None, groups_for: float | None = None,
) -> Estimate:  # fmt: skip
    """The estimate from reports whose columns are known; `weight` is how much each counts [default: a person once]."""
    _, who, often = np.unique(person, return_inverse=True, return_counts=True)
    counted = (1.0 if weight is None else weight) / often[who]
    part = np.random.default_rng(seed).integers(0, FOLDS, often.size)[who]
    fit = scaled_fit(survey.matrix, column, counted, part, survey.scales)
    shares = survey.atoms.by_zone(fit.shares)
    zone = np.concatenate([survey.zones.locate(r.lat, r.lon) for r in reports])
    raw = np.bincount(np.where(zone < 0, survey.zones.n, zone), counted, survey.zones.n + 1) / counted.sum()
    people = _People.of(column, counted, who)
    groups = _groups(survey, fit, people, groups_for or people.effective)
    return Estimate(survey, shares[:-1], float(shares[-1]), raw[:-1], people.effective, fit, groups)


def _groups(survey: Survey, fit: Fit, people: _People, n: float) -> Groups:
    """Groups by public numbers; their shares by the unbiased estimator that is best at the fit."""
    zones = survey.by_zone
    group = merge_zones(zones.matrix, zones.shares, zones.xy, n)
    rows, held, _ = grouped(survey.matrix, np.maximum(fit.shares, 1e-12), zones.xy[zones.row], group[zones.row])
    linear = linear_estimator(rows, held / held.sum())
    says = people.say(linear.operator)
    total = people.often @ people.weight
    shares = people.often @ says / total
    away = says - people.weight[:, None] * shares
    robust = (people.often[:, None] * away).T @ away / total**2
    of_zone = np.full(survey.zones.n + 1, -1)
    of_zone[zones.number] = group
    return Groups(of_zone, shares, linear.covariance / people.effective, robust, people.resampled(says))


@dataclass(frozen=True, eq=False)
class _People:
    """Whose reports lie where, in as few rows as can be: one for each person, or, where everybody reported once, one
    for each report that `often` people made. `entry`: (row, column, weight) of each report or kind of report."""

    often: FloatArray
    weight: FloatArray
    entry: tuple[IntArray, IntArray, FloatArray]

    @classmethod
    def of(cls, column: IntArray, weight: FloatArray, who: IntArray) -> _People:
        if int(who.max()) + 1 == who.size and np.all(weight == weight[0]):
            seen, often = np.unique(column, return_counts=True)
            one: FloatArray = np.full(seen.size, weight[0], dtype=np.float64)
            return cls(often.astype(np.float64), one, (np.arange(seen.size), seen, one))
        each: FloatArray = np.bincount(who, weight).astype(np.float64)
        return cls(np.ones(each.size), each, (who, column, weight))

    @property
    def effective(self) -> float:
        """The number of people who, each counting the same, would tell as much."""
        return float((self.often @ self.weight) ** 2 / (self.often @ self.weight**2))

    def say(self, operator: FloatArray) -> FloatArray:
        """What each row's reports add to the shares."""
        row, column, weight = self.entry
        says = np.zeros((self.often.size, operator.shape[0]))
        np.add.at(says, row, weight[:, None] * operator[:, column].T)
        return says

    def resampled(self, says: FloatArray) -> FloatArray:
        """Shares from people drawn again with replacement (bootstrap), with seeded draws."""
        rng, count = np.random.default_rng(1), round(self.often.sum())
        chance = self.often / self.often.sum()
        draws = np.empty((_RESAMPLES, says.shape[1]))
        for k in range(_RESAMPLES):
            chosen = rng.multinomial(count, chance).astype(np.float64)
            draws[k] = chosen @ says / (chosen @ self.weight)
        return draws
