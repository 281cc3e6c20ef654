# SPDX-License-Identifier: Apache-2.0
"""The frontier: error of reports against an adversary's, in Paris and in its suburb, for every mechanism and setting.

Default builds of greater Paris for three values of `r_small`, planar Laplace of equal error in Paris for each, grids,
squares by density, and no report; Gowalla's check-ins in the paper's two squares. Data are those of the folder in
GEOELASTIC_DATA (``../shared/data`` if not set); with a `folder`, what was built and computed is found there again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ..evaluation.frontier import area_rows, baselines, equal_utility, sharpened
from ..evaluation.frontier_figure import frontier_png
from ..evaluation.prior import prior_from_checkins
from ..evaluation.real_maps import RealData
from ..evaluation.study_areas import PAPER_AREAS, StudyArea
from ..evaluation.study_stages import Stages, file_digest
from ..opening import load
from ..progress import progress_bar
from ._tools import data_folder, markdown

__all__ = ["run", "summary"]

R_SMALL_M = (150.0, 300.0, 600.0)
SIZE_KM = 75.0
WORKERS = 2
CREDIT = (
    "Check-ins: Gowalla (Cho, Myers, Leskovec 2011). Map: INSEE, Filosofi 2019; Who's On First; "
    "© OpenStreetMap contributors, ODbL 1.0."
)
_PICTURES = {
    name: f"![Error of reports against an adversary's, in Paris and in its suburb]({path}img/frontier.png)"
    for name, path in (("picture", ""), ("picture-from-above", "docs/"))
}


def run(
    *,
    progress: bool = False,
    folder: str | None = None,
    r_small: Sequence[float] = R_SMALL_M,
    size_km: float = SIZE_KM,
    areas: Sequence[StudyArea] = PAPER_AREAS,
    data: Path | None = None,
) -> dict[str, Any]:
    """One row an area, mechanism and setting; then the elastic mechanism over planar Laplace of equal utility."""
    kept = tempfile.TemporaryDirectory() if folder is None else nullcontext(folder)
    with kept as place, progress_bar("bench frontier", len(r_small) + len(areas), show=progress) as bar:
        source = RealData(data or data_folder(), Stages(Path(place) / "stages"), WORKERS)
        source.require(("homes", "restaurants", "venues", "paris"))
        ours = []
        for done, r in enumerate(r_small):
            bar.update(done, note=f"building for {r:g} m")
            path = source.paris(size_km, r_small=r)
            ours.append(sharpened(load(path).whole(), file_digest(path), r, WORKERS))
        metric, checkins = load(path), source.checkins("paris")
        rows: list[dict[str, Any]] = []
        epsilons: list[float] = []
        for done, area in enumerate(areas, start=len(r_small)):
            bar.update(done, note=area.name)
            prior = prior_from_checkins(area.cut(checkins), metric.grid)
            if not epsilons:
                found = area_rows(area, prior, ours, source.stages)[:-1]
                epsilons = [2 / row["error_m"] for row in found]
            others = baselines(metric.grid, epsilons, source.people(metric.grid))
            rows += area_rows(area, prior, [*ours, *others], source.stages)
    ratios = equal_utility(rows)
    table, compared = markdown(rows), markdown(ratios)
    return {
        "rows": rows,
        "text": f"{table}\n\nElastic over planar Laplace of equal error in {rows[0]['area']}:\n\n{compared}",
        "parts": {"table": table, "ratios": compared, **_PICTURES, **_figures(rows, ratios)},
        "images": {"frontier.png": frontier_png(rows, CREDIT)},
    }


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The default against planar Laplace of equal error in the city."""
    default = [ratio for ratio in equal_utility(rows) if ratio["elastic"] == "r_small 300 m"]
    targets = ("1 in the city", "1.4 in the suburb")
    return [
        (f"what an adversary has left, default / planar Laplace of equal error in the city: {ratio['area']}", target,
         f"{ratio['adversary_median_m']} (median user), {ratio['adversary_worst_tenth_m']} (worst-off tenth); "
         f"who knows the user's habits: {ratio['own_prior_median_m']}, {ratio['own_prior_worst_tenth_m']}")
        for ratio, target in zip(default, targets, strict=True)
    ]  # fmt: skip


def _figures(rows: list[dict[str, Any]], ratios: list[dict[str, Any]]) -> dict[str, str]:
    """Single figures for prose: the default's and those of planar Laplace of equal utility, by area."""
    figures: dict[str, str] = {}
    for k, name in enumerate(dict.fromkeys(row["area"] for row in rows)):
        key = ("city", "suburb")[k] if k < 2 else name
        here = [row for row in rows if row["area"] == name]
        ours = next((row for row in here if row["setting"] == "r_small 300 m"), here[0])
        ratio = next(r for r in ratios if r["area"] == name and r["elastic"] == ours["setting"])
        theirs = next(row for row in here if row["setting"] == ratio["planar Laplace"])
        nothing = here[-1]
        figures |= {
            f"{key}-error": f"{ours['error_m']:,} m",
            f"{key}-adversary": f"{ours['adversary_median_m']:,} m",
            f"{key}-laplace-error": f"{theirs['error_m']:,} m",
            f"{key}-laplace-adversary": f"{theirs['adversary_median_m']:,} m",
            f"{key}-ratio": f"{ratio['adversary_median_m']:.2f}",
            f"{key}-worst-ratio": f"{ratio['adversary_worst_tenth_m']:.2f}",
            f"{key}-nothing": f"{nothing['adversary_median_m']:,} m",
        }
    return figures
