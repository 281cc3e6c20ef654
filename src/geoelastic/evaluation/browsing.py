# SPDX-License-Identifier: Apache-2.0
"""A week of a person's browsing: what the sites that asked for a position know together about the home.

Every site asks at moments of its own, drawn evenly over each day; what it gets depends on what stands between. The
adversary is all sites together. He takes what was told between ten in the evening and seven in the morning as told from
home, nine times in ten; he knows the mechanism, the map and (at worst) the fence, and uses Bayes' rule over the cells
of a square that holds the home, as likely as they have mass; his guess is the one with the least expected distance.
That a sticky report comes again tells him that one was at the same place, and no more about the place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..area import Area
from ..arrays import BoolArray, FloatArray, IntArray
from ..errors import InputError
from ..mechanism.elastic import ElasticMechanism
from ..metric import Metric
from ..randomness import SeededRandom
from ..sources.traces import Trace
from .attacks import home_fence, home_prior
from .home_attacks import HomeScene
from .prior import metres_between
from .study_areas import StudyArea

DAYS, SITES, ASKS_A_DAY = 7, 10, 2
OFF = "sites_are_off_m"
#: Fresh reports a week, as the extension comes.
WEEKLY = 60
#: Location Guard's middle level: draws with epsilon = 2 / radius.
GUARD_RADIUS_M = 500.0
#: The middle of the square of candidates lies on a lattice as wide: it knows the home no better than that.
_LATTICE_M = 2000.0
_DAY_S, _NIGHT = 86_400, (22.0, 7.0)
#: How often one is elsewhere in the night.
_AWAY = 0.1


@dataclass(frozen=True, eq=False)
class Week:
    """What a person did: metres (V, 2) at the moments when sites asked, in order, which were in the night, the home."""

    xy: FloatArray
    night: BoolArray
    home: FloatArray


def week_of(trace: Trace, area: Area, *, seed: int) -> Week:
    """The seven days in a row on which most was recorded; between fixes, and over night, the last place holds."""
    offset = 3600.0 * round(float(np.median(trace.lon)) / 15)
    day = np.floor((trace.time_s + offset) / _DAY_S).astype(np.int64)
    days, counts = np.unique(day, return_counts=True)
    if days.size < DAYS:
        raise InputError(f"a week of browsing needs a trace of at least {DAYS} days, got {days.size}")
    recorded = [int(counts[(days >= first) & (days < first + DAYS)].sum()) for first in days]
    start = float(days[int(np.argmax(recorded))]) * _DAY_S - offset
    asked = np.random.default_rng(seed).random((DAYS, SITES * ASKS_A_DAY)) + np.arange(DAYS)[:, None]
    times = np.sort(asked.ravel()) * _DAY_S + start
    xy = np.column_stack(area.to_xy(trace.lat, trace.lon))

    def at(moments: FloatArray) -> FloatArray:
        return xy[np.maximum(np.searchsorted(trace.time_s, moments, side="right") - 1, 0)]

    hour = (times - start) / 3600 % 24
    nights = start + (np.arange(DAYS)[:, None] * 24 + np.arange(0, 6, 0.25)[None, :]).ravel() * 3600
    return Week(at(times), (hour >= _NIGHT[0]) | (hour < _NIGHT[1]), np.median(at(nights), axis=0))


def browsing_rows(
    metric: Metric, weeks: Sequence[Week], *, runs: int = 20, area_km: float = 8.0, seed: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:  # fmt: skip
    """One row a thing that may stand between sites and the device; metres are means over people and runs.

    The home is looked for in a square of `area_km`, which must lie inside the map's frame.
    """
    found: dict[str, list[list[dict[str, float]]]] = {}
    for k, week in enumerate(weeks):
        tell(f"person {k + 1} of {len(weeks)}")
        person = _Surfer.of(metric, week, area_km)
        played = [person.play(seed + 1000 * k + run) for run in range(runs)]
        for name in played[0]:
            found.setdefault(name, []).append([one[name] for one in played])
    return [{"what_stands_between": name} | _means(people) for name, people in found.items()]


def _means(people: list[list[dict[str, float]]]) -> dict[str, Any]:
    """Over people and runs; how far off the guess is also by person."""

    def mean(key: str, of: list[list[dict[str, float]]]) -> float:
        return float(np.mean([run[key] for person in of for run in person]))

    guesses = [f"{mean('guess_off_m', [person]):,.0f}" for person in people]
    told: dict[str, Any] = {"guess_off_m": round(mean("guess_off_m", people)), "by_person_m": "; ".join(guesses)}
    told["found"] = round(mean("found", people), 3)
    return told | {key: round(mean(key, people)) for key in people[0][0] if key not in ("guess_off_m", "found")}


@dataclass(frozen=True, eq=False)
class _Surfer:
    week: Week
    scene: HomeScene
    fenced: HomeScene
    home: int

    @classmethod
    def of(cls, metric: Metric, week: Week, area_km: float) -> _Surfer:
        grid = metric.grid
        middle = np.round(week.home / _LATTICE_M) * _LATTICE_M
        lat, lon = grid.area.to_latlon(*middle)
        area = StudyArea("home", float(lat), float(lon), area_km)
        prior = home_prior(metric, area)
        home = int(np.argmin(np.hypot(*(prior.xy - week.home).T)))
        if np.max(np.abs(prior.xy[home] - week.home)) > grid.cell_m:
            raise InputError("the home of every trace must lie on the map, away from its border")
        fenced = metric.with_fences([home_fence(metric, int(prior.cell[home]))], sharpen=False)
        return cls(week, HomeScene.of(metric, prior), HomeScene.of(fenced, prior), home)

    def play(self, seed: int) -> dict[str, dict[str, float]]:
        """What each mechanism tells in this week, and what is made of it."""
        rng = np.random.default_rng(seed)
        nothing = self._judged(np.zeros(self.scene.prior.n_places), told=0, fresh=0, off={})
        true = self.week.xy[self.week.night]
        exact = {
            "guess_off_m": float(np.hypot(*(np.median(true, axis=0) - self.week.home))), "found": 1.0,
            "told": float(len(self.week.xy)), "fresh": float(len(self.week.xy)), OFF: 0.0,
        }  # fmt: skip
        guard = 2 / GUARD_RADIUS_M
        fresh = self._elastic(self.scene, seed, sticky=False)
        # planar Laplace that errs as much as our reports do
        even = 2 / fresh[OFF]
        return {
            "nothing is told": nothing,
            "nothing stands between: the exact place": exact,
            f"planar Laplace of {GUARD_RADIUS_M:.0f} m, drawn each time (Location Guard)": self._laplace(guard, rng),
            "planar Laplace with the errors of our reports, drawn each time": self._laplace(even, rng),
            "elastic reports, drawn each time": fresh,
            "the extension: sticky reports": self._elastic(self.scene, seed, sticky=True),
            "the extension, home in a fence of 15 cells": self._elastic(self.fenced, seed, sticky=True),
        }

    def _judged(self, logs: FloatArray, *, told: int, fresh: int, off: dict[str, float]) -> dict[str, float]:
        hit, metres = self.scene.judge(logs, self.home)
        return {"guess_off_m": metres, "found": hit, "told": told, "fresh": fresh} | off

    def _laplace(self, epsilon: float, rng: np.random.Generator) -> dict[str, float]:
        """The radius of planar Laplace is Gamma(2), its direction even."""
        count = len(self.week.xy)
        radius, angle = rng.gamma(2.0, 1 / epsilon, count), rng.random(count) * 2 * np.pi
        seen = self.week.xy + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        away = metres_between(self.scene.prior.xy, seen[self.week.night])
        logs = self._at_home(np.exp(-epsilon * away), np.ones(away.shape[1]))
        return self._judged(logs, told=count, fresh=count, off={OFF: float(radius.mean())})

    def _at_home(self, chances: FloatArray, times: FloatArray) -> FloatArray:
        """ln of the likelihood of each candidate (row), if what was told (columns, each so many times) came from home,
        or each time from somebody else's."""
        elsewhere = self.scene.prior.weights @ chances
        found: FloatArray = np.log((1 - _AWAY) ** times * chances + _AWAY**times * elsewhere).sum(axis=1)
        return found

    def _elastic(self, scene: HomeScene, seed: int, *, sticky: bool) -> dict[str, float]:
        metric, mechanism = scene.mechanism.metric, scene.mechanism
        answered, places = _answered(mechanism, self.week.xy)
        fence = np.asarray(metric.fence)[places]
        # all of a fence is one place
        keys = np.where(fence > 0, -fence, places) if sticky else np.arange(places.size)
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        if sticky:
            # a new place after the week's last fresh report is told nothing
            kept = np.argsort(np.argsort(first))[which] < WEEKLY
            answered, places, which = answered[kept], places[kept], which[kept]
        _, first, shown = np.unique(which, return_index=True, return_inverse=True)
        rows, cols = mechanism.sample_cells(places[first], rng=SeededRandom(seed))
        reports = np.asarray(metric.locations.owner)[rows, cols][shown]
        xy = np.column_stack(metric.grid.cell_to_xy(rows, cols))[shown]
        night = self.week.night[answered]
        seen, times = reports[night], np.ones(int(night.sum()))
        if sticky:
            seen, again = np.unique(seen, return_counts=True)
            times = again.astype(np.float64)
        logs = self._at_home(scene.rows[scene.row_of_place][:, seen], times)
        off = {OFF: float(np.hypot(*(xy - self.week.xy[answered]).T).mean())}
        return self._judged(logs, told=int(answered.size), fresh=int(first.size), off=off)


def _answered(mechanism: ElasticMechanism, xy: FloatArray) -> tuple[IntArray, IntArray]:
    """Which moments can be answered, and the locations at them."""
    metric = mechanism.metric
    row, col = metric.grid.xy_to_cell(xy[:, 0], xy[:, 1])
    inside = np.flatnonzero(row >= 0)
    places = np.asarray(metric.locations.owner)[row[inside], col[inside]].astype(np.int64)
    secret = np.asarray(metric.secret)[places]
    return inside[secret], places[secret]
