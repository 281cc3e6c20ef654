# SPDX-License-Identifier: Apache-2.0
"""The study: every mechanism under every adversary in every area, planar Laplace at equal utility in the first.

The paper's comparison is made with its mechanism as it was run (`paper-run`, see `paper_run`; no guarantee), with the
same cut mechanism as one channel over the whole map (`paper`; no guarantee), and with two that keep the guarantee,
reporting by mass and by the square of the mass per area; a metric that was sharpened adds what its reports really are
(`sharpened`). Each has its own planar Laplace, calibrated to its utility in the first area and used unchanged in the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..errors import InputError, OutsideError
from ..metric import AnyMetric
from ..sources.checkins import Checkins
from .adversary import ChannelSurvey, Guesser
from .attacks import Acquaintance
from .baselines import (
    density_snap_channel,
    grid_snap_channel,
    laplace_channel,
    laplace_epsilons,
    location_guard_channel,
)
from .channel import BlockReader, Channel, read
from .elastic_channel import (
    DistanceTable,
    cells_in,
    distance_table,
    elastic_channel,
    expected_errors,
    paper_channel,
    reported_by,
    reporting_channel,
)
from .paper_run import AsRun, elastic_as_run, laplace_as_run
from .prior import Prior, prior_from_checkins
from .study_areas import StudyArea
from .study_stages import Stages
from .utility import DistanceReader

#: mechanism -> the planar Laplace with its utility in the first area
PAIRS = {name: f"laplace={name}" for name in ("paper-run", "paper", "elastic", "elastic-mass-squared", "sharpened")}
#: mechanisms that are also judged by an adversary who knows the user's own habits
OWN_PRIOR = ("paper", "laplace=paper", "elastic", "laplace=elastic")


@dataclass(frozen=True, eq=False)
class Study:
    """What is to be studied. `people`: the crowd in each cell, for density-dependent snapping; None takes the mass."""

    metric: AnyMetric
    metric_key: str
    checkins: Checkins
    checkins_key: str
    areas: tuple[StudyArea, ...]
    people: FloatArray | None = None
    people_min: float = 1000
    count: str = "visits"
    workers: int = 2
    progress: bool = False

    def key(self, area: StudyArea) -> dict[str, Any]:
        """All that a result in an area depends on."""
        crowd = None if self.people is None else [float(self.people.sum()), self.people_min]
        return {
            "metric": self.metric_key, "checkins": self.checkins_key, "area": area.to_json(), "count": self.count,
            "people": crowd,
        }  # fmt: skip


#: areas are measured on a sub-lattice of this many cells a side, so that a map of any size takes about the same time
_ERROR_LATTICE = 36
#: an even sample of users for the adversary with the user's own prior
_OWN_PRIOR_USERS = 100


class AreaStudy:
    """One area of a study: its prior, and (made when first needed) its distances and channels."""

    def __init__(self, study: Study, area: StudyArea) -> None:
        self.study, self.area = study, area
        self._searching: dict[str, Any] = {"workers": study.workers, "progress": study.progress}
        self._table: DistanceTable | None = None
        self._lock = Lock()
        cut = area.cut(study.checkins, study.metric.grid)
        if len(cut) == 0:
            raise OutsideError(f"the area '{area.name}' must hold check-ins that lie on the map, it has none")
        self.prior: Prior = prior_from_checkins(cut, study.metric.grid, count=study.count)
        frame = ~study.metric.secret[study.metric.locations.owner.ravel()[self.prior.cell]]
        self.places_in_frame = int(frame.sum())

    @property
    def table(self) -> DistanceTable:
        """Distances from every place, computed once: mechanisms are judged side by side."""
        with self._lock:
            if self._table is None:
                self._table = distance_table(self.study.metric, self.prior, **self._searching)
            return self._table

    def forget_table(self) -> None:
        """Half a gigabyte that the next area does not need."""
        self._table = None

    def makers(self, epsilons: dict[str, float]) -> dict[str, Callable[[], Channel | AsRun]]:
        """Every mechanism by its name; `epsilons` for those that planar Laplace is calibrated to."""
        prior, grid = self.prior, self.study.metric.grid
        makers: dict[str, Callable[[], Channel | AsRun]] = {
            "paper-run": lambda: elastic_as_run(self.table, prior, self.area),
            "paper": lambda: paper_channel(self.table, prior),
            "paper-box": lambda: paper_channel(self.table, prior, self.area),
            "elastic": lambda: elastic_channel(self.table, name="elastic, output by mass"),
            "elastic-mass-squared": lambda: elastic_channel(
                self.table, output="mass^2", name="elastic, output by mass squared per area"
            ),
            "elastic-uniform": lambda: elastic_channel(self.table, output="uniform", name="elastic, output even"),
            "grid-2km": lambda: grid_snap_channel(prior, grid),
            "density": self._density,
        }
        if self.study.metric.relief is not None:
            makers["sharpened"] = lambda: reporting_channel(self.study.metric, prior, **self._searching)
        for name, epsilon in epsilons.items():
            makers[PAIRS[name]] = lambda e=epsilon, n=name: self._laplace(n, e)  # type: ignore[misc]
        for level in ("low", "medium", "high"):
            makers[f"guard-{level}"] = lambda v=level: location_guard_channel(prior, grid, v)  # type: ignore[misc]
        return makers

    def _laplace(self, name: str, epsilon: float) -> Channel | AsRun:
        if name == "paper-run":
            return laplace_as_run(self.study.metric, self.prior, self.area, epsilon)
        label = f"planar Laplace, utility of '{name}'"
        return laplace_channel(self.prior, self.study.metric.grid, epsilon, name=label)

    def _density(self) -> Channel:
        study, grid = self.study, self.study.metric.grid
        if study.people is not None:
            return density_snap_channel(self.prior, grid, study.people, people_min=study.people_min)
        spread = study.metric.mass / study.metric.locations.area_cells
        return density_snap_channel(self.prior, grid, spread[study.metric.locations.owner], people_min=1)

    def errors(self, mechanisms: Sequence[str]) -> dict[str, Any]:
        """The paper's E(x): expected error of every location on an even sub-lattice of the area, by mechanism."""
        metric = self.study.metric
        cells = cells_in(metric, self.area)
        row, col = np.divmod(cells, metric.grid.cols)
        step = max(1, -(-max(int(np.ptp(row)), int(np.ptp(col))) // _ERROR_LATTICE))
        keep = ((row - row.min()) % step == 0) & ((col - col.min()) % step == 0)
        owner = metric.locations.owner[row[keep], col[keep]]
        locations, back = np.unique(owner, return_inverse=True)
        found = {"row": row[keep], "col": col[keep], "step": step, "locations": len(locations)}
        makers: dict[str, Callable[[DistanceTable], Channel]] = {"paper": paper_channel, "elastic": elastic_channel}
        plain = {name: make for name, make in makers.items() if name in mechanisms}
        if plain:
            errors = expected_errors(metric, locations, *plain.values(), **self._searching)
            found |= {f"{name}_m": of[back] for name, of in zip(plain, errors, strict=True)}
        if "sharpened" in mechanisms:
            lowered, make = reported_by(metric)
            found["sharpened_m"] = expected_errors(lowered, locations, make, **self._searching)[0][back]
        return found

    def results(self, stages: Stages, names: Sequence[str], epsilons: dict[str, float]) -> dict[str, Any]:
        """What is found of some mechanisms, as many at a time as there are workers."""
        makers, used = self.makers(epsilons), {PAIRS[name]: epsilon for name, epsilon in epsilons.items()}

        def result(name: str) -> dict[str, Any]:
            key = self.study.key(self.area) | {"mechanism": name, "epsilon": used.get(name)}
            own = name in OWN_PRIOR
            return stages.run(f"{self.area.name} {name}", key, lambda: judge(makers[name](), self.prior, own=own))

        with ThreadPoolExecutor(self.study.workers) as pool:
            return dict(zip(names, pool.map(result, names), strict=True))


def judge(found: Channel | AsRun, prior: Prior, *, own: bool = False) -> dict[str, Any]:
    """Utility, adversaries and worst cases of a mechanism, as plain data. Lists are one entry per user (or a place)."""
    run = found if isinstance(found, AsRun) else AsRun(prior, None, found, found)
    seen, prior = run.adversary, run.prior
    distances, survey = DistanceReader(run.utility, prior), ChannelSurvey(seen, prior, among=run.places)
    guesser = Guesser(seen, prior, guesses=None if run.places is None else seen.outputs.xy)
    known = Acquaintance(seen, prior, max_users=_OWN_PRIOR_USERS) if own and prior.n_users else None
    readers: list[BlockReader] = [survey, guesser, *([known] if known else [])]
    if run.utility is seen:
        read(seen, distances, *readers)
    else:
        read(run.utility, distances)
        read(seen, *readers)
    average = prior.per_user if prior.n_users else (lambda loss: loss)
    utility, binary, metres = distances.utility(), survey.binary(), guesser.error()
    result = {
        "name": seen.name,
        "sound": seen.sound,
        "inputs": seen.n_inputs,
        "outputs": seen.outputs.n,
        "per": "user" if prior.n_users else "place",
        "expected_m": utility.expected_m,
        "missed": {str(r): v for r, v in utility.threshold.items()},
        "distance_quantiles_m": {str(q): v for q, v in utility.quantile_m.items()},
        "laplace_epsilons": laplace_epsilons(utility),
        "expected_per_user_m": average(utility.per_place_m),
        "binary": binary.overall,
        "binary_per_user": average(binary.per_place),
        "euclidean_m": metres.overall,
        "euclidean_per_user_m": average(metres.per_place),
        "worst": vars(survey.worst()),
    }
    return result | ({"own_prior": known.several()} if known else {})


def run_study(study: Study, stages: Stages, *, mechanisms: Sequence[str] | None = None) -> dict[str, Any]:
    """The whole study. Returns plain data: for each area its prior, mechanisms and errors; and the calibration."""
    if not study.areas:
        raise InputError("a study needs at least one area")
    parts = [AreaStudy(study, area) for area in study.areas]
    epsilons: dict[str, float] = {}
    calibration: dict[str, Any] = {}
    areas: dict[str, Any] = {
        part.area.name: {
            "area": part.area.to_json(), "prior": part.prior.info, "places_in_frame": part.places_in_frame
        }
        for part in parts
    }  # fmt: skip
    for k, part in enumerate(parts):
        chosen = [m for m in part.makers({}) if mechanisms is None or m in mechanisms]
        results = part.results(stages, chosen, {})
        if k == 0:
            calibration = {m: results[m]["laplace_epsilons"] for m in PAIRS if m in results}
            epsilons = {m: float(np.mean(list(found.values()))) for m, found in calibration.items()}
        results |= part.results(stages, [PAIRS[m] for m in epsilons], epsilons)
        areas[part.area.name]["mechanisms"] = results
        areas[part.area.name]["errors"] = stages.run(
            f"errors {part.area.name}", study.key(part.area) | {"of": chosen}, partial(part.errors, chosen)
        )
        part.forget_table()
    return {"areas": areas, "calibration": calibration, "epsilons": epsilons, "reference": study.areas[0].name}
