# SPDX-License-Identifier: Apache-2.0
"""`estimate`: how people were spread over zones, from private reports.

Two answers side by side. `shares` is the best guess: the most likely shares of small pieces of the zones under a prior
at every scale, as strong as reports that were left out allow (`scales.py`). `groups` is what the data show by
themselves: zones that so many reports cannot tell apart are merged (by a rule that looks at public numbers only), and
each group has an unbiased estimate with an interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray, IntArray
from ..errors import InputError, require_choice
from ..metric import AnyMetric
from ..reports.protocols import Mechanism, ReportsLocations
from .atoms import FINE_ATOMS, Atoms, make_atoms
from .counted_reports import CountedReports, Reporters, count_reports
from .information import grouped, information_of, linear_estimator, merge_zones
from .model import Law, ReportModel, report_model
from .reports import ReadReports, report_batches
from .scales import Fit, Scales, make_scales, scaled_fit
from .zones import Zones, make_zones

_METHODS = ("fisher", "robust", "bootstrap")


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

    @cached_property
    def first_column(self) -> list[int]:
        """The first column of each mechanism's reports, and the end of the last."""
        return [0, *np.cumsum([model.matrix.shape[1] for model in self.models]).tolist()]

    def columns(self, mechanism: int, reports: ReadReports) -> IntArray:
        """The column of each report of a mechanism."""
        return self.first_column[mechanism] + self.models[mechanism].outputs(reports.lat, reports.lon)

    def zone_numbers(self, reports: ReadReports) -> IntArray:
        """The zone in which each report lies; elsewhere is the last."""
        zone = self.zones.locate(reports.lat, reports.lon)
        return np.where(zone < 0, self.zones.n, zone)

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
        matrix, shares = grouped(self.matrix, self.atoms.prior, row)
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

    @cached_property
    def information(self) -> FloatArray:
        """What one report tells about the shares of the zones, by Fisher."""
        return information_of(self.matrix, self.shares)


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
    def alone(self) -> npt.NDArray[np.bool_]:
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
    mechanisms: Mechanism | Sequence[Mechanism | Law], zones: Any, *, prior: npt.ArrayLike | None = None,
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
    user: str | None = None, lat: str | None = None, lon: str | None = None, metric: AnyMetric | None = None,
    groups_for: float | None = None, seed: int = 0,
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
    several = len(survey.models) > 1
    if several and (not isinstance(reports, list) or len(reports) != len(survey.models)):
        raise InputError(f"there must be a list of reports for each of {len(survey.models)} mechanisms")
    with ExitStack() as opened:
        read = [report_batches(part, user=user, lat=lat, lon=lon) for part in (reports if several else [reports])]
        batches = [opened.enter_context(closing(part)) for part in read]
        return fitted(survey, count_reports(survey, batches, seed=seed), groups_for=groups_for)


def fitted(survey: Survey, counted: CountedReports, *, groups_for: float | None = None) -> Estimate:
    """The estimate from reports that were counted."""
    fit = scaled_fit(survey.matrix, counted.by_part, survey.scales)
    shares, raw = survey.atoms.by_zone(fit.shares), counted.zones / counted.zones.sum()
    people = counted.people
    groups = _groups(survey, fit, people, groups_for or people.effective)
    return Estimate(survey, shares[:-1], float(shares[-1]), raw[:-1], people.effective, fit, groups)


def _groups(survey: Survey, fit: Fit, people: Reporters, n: float) -> Groups:
    """Groups by public numbers; their shares by the unbiased estimator that is best at the fit."""
    zones = survey.by_zone
    group = merge_zones(zones.information, zones.shares, zones.xy, n)
    rows, held = grouped(survey.matrix, np.maximum(fit.shares, 1e-12), group[zones.row])
    linear = linear_estimator(rows, held / held.sum())
    says = people.say(linear.operator)
    shares = people.often @ says / people.total
    away = says - people.weight[:, None] * shares
    robust = (people.often[:, None] * away).T @ away / people.total**2
    of_zone = np.full(survey.zones.n + 1, -1)
    of_zone[zones.number] = group
    return Groups(of_zone, shares, linear.covariance / people.effective, robust, people.resampled(says))
