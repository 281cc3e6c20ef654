# SPDX-License-Identifier: Apache-2.0
"""`evaluate`: the paper's evaluation of any metric on any check-ins, as tables, figures and a report.

`reproduce`: section 5 of the paper from raw files in one resumable run, and the same for what is built today. Its
first part is the paper as it was run: metrics on the ground as it is, its mechanism and its claims, in Paris and
its suburb and, as a second city, in San Francisco. The second part is the default build, redrawn, raised and sharpened,
on the same check-ins, and on made-up commuters in a made-up city, whose homes and workplaces are all there is to know.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from ..area import Area
from ..errors import InputError, require_count
from ..mass import mass_from_quality
from ..metric import AnyMetric, build_metric
from ..opening import load
from ..quality import synthetic_quality
from ..sources.checkins import Checkins, read_checkins
from ..store.digest import digest, file_digest
from ..tiles.folder import MANIFEST
from ..tiles.tiled_metric import is_tiled
from .attacks import home_recovery
from .commuters import synthetic_commuters
from .elastic_channel import cells_in
from .optimum_gap import lattice_gap
from .paper_claims import judge_claims, judge_counts
from .real_maps import AS_IN_THE_PAPER, SF_BOX, RealData
from .study import Study, run_study
from .study_areas import PAPER_AREAS, StudyArea
from .study_report import draw_figures, write_report
from .study_stages import METRIC, Stages

#: candidates for a home: a square of this side in the middle of an area
_HOME_KM = 3.0


def default_areas(metric: AnyMetric) -> tuple[StudyArea, ...]:
    """The 10 km square in the middle of the map, or what of it is not frame."""
    area, frame_m = metric.grid.area, metric.frame_cells * metric.grid.cell_m
    side_m = min(area.width_m, area.height_m) - 2 * frame_m
    if not side_m > 0:
        raise InputError("the map is all frame; give areas inside it")
    # a square of UTM may be turned by a few degrees against the map's: keep inside
    return (StudyArea("centre", area.lat, area.lon, min(10.0, 0.9 * side_m / 1000)),)


def beyond(study: Study, result: dict[str, Any], stages: Stages) -> dict[str, Any]:
    """Home recovery in the last area, and the distance from the optimum in each."""
    metric, area = study.metric, study.areas[-1]
    square = StudyArea(area.name, area.lat, area.lon, min(_HOME_KM, area.size_km))
    epsilon = result["epsilons"].get("elastic")
    key = study.key(square) | {"epsilon": epsilon}
    recovery = stages.run(
        f"homes {area.name}",
        key,
        lambda: home_recovery(metric, square, epsilon=epsilon, workers=study.workers) | {"area": area.name},
    )
    gaps = {a.name: stages.run(f"optimum {a.name}", study.key(a), partial(lattice_gap, metric, a)) for a in study.areas}
    return {"recovery": recovery, "gaps": gaps}


def publish(
    study: Study, result: dict[str, Any], folder: Path, title: str, *, claims: Sequence[Any], notes: Sequence[str] = ()
) -> dict[str, str]:
    """Figures, tables and the report of a finished study; the files by their role."""
    cells = [cells_in(study.metric, area) for area in study.areas]
    captions = draw_figures(study.metric, result, cells, folder / "figures")
    return write_report(folder, title, result, claims, captions, notes)


def _digest(path: str | Path) -> str:
    """The content of a metric's file, or of the manifest of one in tiles, which names all of them by their content."""
    return file_digest(Path(path) / MANIFEST if is_tiled(path) else path)


def evaluate(
    metric_path: str | Path, checkins_path: str | Path, folder: str | Path, *,
    areas: Sequence[StudyArea] | None = None, count: str = "visits", format: str = "auto",
    mechanisms: Sequence[str] | None = None, lat: str | None = None, lon: str | None = None, workers: int = 2,
    progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Compare mechanisms over a built metric under Bayesian adversaries on check-ins; write everything to `folder`.

    Planar Laplace is calibrated in the first of the `areas`. `lat` and `lon` name the columns of a table. Stopped runs
    resume where they stopped.
    """
    metric = load(metric_path)
    named = {role: name for role, name in (("lat", lat), ("lon", lon)) if name is not None}
    checkins = read_checkins(checkins_path, format=format, columns=named)
    study = Study(
        metric, _digest(metric_path), checkins, file_digest(checkins_path) + (digest(named) if named else ""),
        tuple(areas or default_areas(metric)), count=count, workers=workers, progress=progress,
    )  # fmt: skip
    out = Path(folder)
    stages = Stages(out / "stages", show=progress)
    result = run_study(study, stages, mechanisms=mechanisms)
    result |= beyond(study, result, stages)
    result["stages"] = stages.log
    title = f"Evaluation of {Path(metric_path).name} on {Path(checkins_path).name}"
    files = publish(study, result, out, title, claims=judge_claims(result))
    return {"result": result, "files": files}


#: what the default build is compared with; planar Laplace of its utility besides
TODAY = ("sharpened", "guard-medium", "guard-high", "grid-2km", "density")
COMMUTERS = 120

_NOTES = (
    "Gowalla: Cho, Myers, Leskovec, KDD 2011. Brightkite is not among the data; its reader is tested on its format. "
    "The paper's eight epsilons are therefore four here.",
    "The paper's counts are met only if repeated visits of a user to a place count once. What is left (6 of 9,635; 20 "
    "of 429) may be the exact position and orientation of the squares: turned to true north instead of UTM's grid they "
    "hold 9,628 and 434, and shifting the suburb's by one 100 m cell moves its count by 20 to 30.",
    "The paper's figures come from two programs. The authors' own averages the noise of each cell over the whole map, "
    "reports beyond 2 l_top dropped: utility and epsilons. A sample of libqif then normalises the mechanism inside "
    "each 10 km square, where secrets, reports and guesses are cells and planar Laplace's reports outside go to the "
    "border: adversary's errors. 'paper-run' repeats both, and the claims are judged by it. 'paper' and 'paper-box' "
    "are the two cuts of the mechanism taken alone. None of them is private in any metric.",
    "'paper-run' is the paper's procedure on this map's quality and on the default (conformal) metric, not on the "
    "authors' OpenStreetMap extract and builder.",
    "With full support the exponential mechanism needs the factor 1/2: at 300 m for l* = ln 2 its expected error is "
    "1731 m, not the 870 m of the paper's remark, which is the planar Laplace figure 2 x 300 / ln 2.",
    "The adversary with the user's own prior looks at an even sample of 100 users; users with one place are left out.",
)


_SF_NOTES = (
    "These check-ins name no user and no place: a place is a 50 m cell with check-ins, every check-in counts, and "
    "box plots are over places.",
    "The map is 3.4 x 3.2 km: mechanisms over a metric report inside it, planar Laplace also outside.",
)
_TODAY_NOTES = (
    "The default build: on a map redrawn for even crowds, edges raised until they bind, reports by all of the "
    "distances that a certified relief allows. Planar Laplace has the utility of the first area.",
)


def reproduce(
    data: str | Path, folder: str | Path, *, size_km: float = 75, workers: int = 2, san_francisco: bool = True,
    parts: Sequence[str] = ("paper", "today"), progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Everything from raw files to reports in `folder`; a second run finds what the first one finished.

    Studies know nothing of each other: with several `workers` each has a process of its own, the longest first. A
    script of yours then needs its `if __name__ == "__main__":`, as always when Python starts processes.
    """
    begin = time.perf_counter()
    require_count("workers", workers)
    out = Path(folder)
    source = RealData(Path(data), Stages(out / "stages", show=progress), workers)
    source.require(("homes", "restaurants", "venues", "paris", *(("sf",) if san_francisco else ())))
    names = [name for part in parts for name in _STUDIES[part] if san_francisco or not name.startswith("san_")]
    at_once = max(min(workers, len(names)), 1)
    study = partial(_reproduced, replace(source, workers=workers // at_once), out, size_km)
    if at_once == 1:
        results = {name: study(name) for name in names}
    else:
        with ProcessPoolExecutor(at_once, mp_context=get_context("spawn")) as pool:
            asked = {name: pool.submit(study, name) for name in sorted(names, key=_is_short)}
            results = {name: asked[name].result() for name in names}
    return {"seconds": time.perf_counter() - begin, **results}


_STUDIES = {
    "paper": ("paris", "san_francisco"),
    "today": ("paris today", "san_francisco today", "commuters today"),
}


def _is_short(name: str) -> bool:
    return not name.startswith("paris")


def _reproduced(source: RealData, out: Path, size_km: float, name: str) -> dict[str, Any]:
    """One of the studies, its report in a folder of `out`."""
    city, _, today = name.partition(" ")
    if name == "paris":
        return _paper_paris(source, out / "paris", size_km)
    build, mechanisms = ({}, TODAY) if today else (AS_IN_THE_PAPER, None)
    if city == "paris":
        study = _paris_study(source, size_km, **build)
    else:
        study = _sf_study(source, **build) if city == "san_francisco" else _commuters(source)
    return _city(source, study, out / name.replace(" ", "-"), mechanisms)


def _paper_paris(source: RealData, folder: Path, size_km: float) -> dict[str, Any]:
    study = _paris_study(source, size_km, **AS_IN_THE_PAPER)
    result = _results(source, study, None)
    claims = judge_counts(result) + judge_claims(result)
    written = publish(study, result, folder, "Section 5 of the paper, Paris", claims=claims, notes=_NOTES)
    return {"files": written, "claims": [vars(c) for c in claims], "result": result}


def _city(source: RealData, study: Study, folder: Path, mechanisms: Sequence[str] | None) -> dict[str, Any]:
    """A study without the paper's claims; `mechanisms` are those of today, or None for all."""
    result = _results(source, study, mechanisms)
    names = " and ".join(area.name for area in study.areas)
    notes = (*(_SF_NOTES if names == "San Francisco" else ()), *(_TODAY_NOTES if mechanisms else ()))
    title = f"{names}, {'today' if mechanisms else 'as in the paper'}"
    return {"files": publish(study, result, folder, title, claims=[], notes=notes), "result": result}


def _results(source: RealData, study: Study, mechanisms: Sequence[str] | None) -> dict[str, Any]:
    before = len(source.stages.log)
    result = run_study(study, source.stages, mechanisms=mechanisms)
    if mechanisms is None:
        result |= beyond(study, result, source.stages)
    result["metric"] = {"locations": study.metric.n, "certificate": study.metric.certificate}
    result["stages"] = source.stages.log[before:]
    return result


def _paris_study(source: RealData, size_km: float, **build: bool) -> Study:
    path = source.paris(size_km, **build)
    metric = load(path)
    return Study(
        metric, file_digest(path), source.checkins("paris"), source.digest("paris_checkins"), PAPER_AREAS,
        people=source.people(metric.grid), workers=source.workers, progress=source.stages.show,
    )  # fmt: skip


def _sf_study(source: RealData, **build: bool) -> Study:
    path = source.san_francisco(**build)
    box = Area.from_bounds(*SF_BOX)
    area = StudyArea("San Francisco", box.lat, box.lon, 0.9 * min(box.width_m, box.height_m) / 1000)
    return Study(
        load(path), file_digest(path), source.checkins("sf"), source.digest("sf_checkins"), (area,),
        workers=source.workers, progress=source.stages.show,
    )  # fmt: skip


def _commuters(source: RealData, count: int = COMMUTERS) -> Study:
    """Homes and workplaces of made-up people on a default build of the made-up city."""
    path = source.stages.path("metric commuters", "synthetic:city", ".geoelastic", source=METRIC)
    if not path.is_file():
        build_metric(mass_from_quality(synthetic_quality("city")), workers=source.workers).save(path)
    metric = load(path)
    middle = metric.grid.area
    people = synthetic_commuters(count, seed=1, days=1, lat=middle.lat, lon=middle.lon)
    places = np.array([place for person in people for place in (person.home, person.work)])
    user, place = np.repeat(np.arange(count), 2), np.arange(2 * count)
    checkins = Checkins(
        user, place, places[:, 0].copy(), places[:, 1].copy(), np.full(2 * count, "NaT", "datetime64[s]"),
        tuple(str(k) for k in range(count)), tuple(str(k) for k in range(2 * count)), {"file": "made-up commuters"},
    )  # fmt: skip
    key = f"{count} made-up commuters, seed 1"
    return Study(metric, file_digest(path), checkins, key, default_areas(metric), workers=source.workers)
