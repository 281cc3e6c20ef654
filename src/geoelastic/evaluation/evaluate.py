# SPDX-License-Identifier: Apache-2.0
"""`evaluate`: the paper's evaluation of any metric on any check-ins, as tables, figures and a report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..metric import AnyMetric
from ..opening import load
from ..sources.checkins import read_checkins
from ..store.digest import digest, file_digest
from ..tiles.folder import MANIFEST
from ..tiles.tiled_metric import is_tiled
from .elastic_channel import cells_in
from .homes import home_recovery
from .optimum_gap import lattice_gap
from .paper_claims import judge_claims
from .study import Study, run_study
from .study_areas import StudyArea
from .study_report import draw_figures, write_report
from .study_stages import Stages

__all__ = ["beyond", "default_areas", "evaluate", "publish"]

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
