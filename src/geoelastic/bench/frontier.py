# SPDX-License-Identifier: Apache-2.0
"""The frontier: error of reports against an adversary's, in Paris and in its suburb, for every mechanism and setting.

Default builds of greater Paris for three values of `r_small`, the default once more with reports by a power of the
mass, planar Laplace of equal error in Paris for each, grids, squares by density, and no report; then what decides
between mechanisms of equal error: by how dense it is around, and by which distances and measure reports go. Gowalla's
check-ins in the paper's two squares. Data are those of the folder in GEOELASTIC_DATA (``../shared/data`` if not set);
with a `folder`, what was built and computed is found there again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..evaluation.frontier import Mechanism, area_rows, baselines, equal_utility, four_laws, frontier_png, sharpened
from ..evaluation.prior import Prior, prior_from_checkins
from ..evaluation.real_maps import RealData
from ..evaluation.study_areas import PAPER_AREAS, StudyArea
from ..evaluation.study_stages import METRIC
from ..metric import Metric
from ..metric.sharpen import sharpen
from ..opening import load
from ..store.digest import file_digest
from ._maps import PARIS_KM, real_data
from ._tools import Tell, kept_in, markdown, quiet

R_SMALL_M = (150.0, 300.0, 600.0)
DEFAULT_M = 300.0
#: another measure of reports with the same promise: more of them where there is more mass
SHARPER = "mass^3"
CREDIT = (
    "Check-ins: Gowalla (Cho, Myers, Leskovec 2011). Map: INSEE, Filosofi 2019; Who's On First; "
    "© OpenStreetMap contributors, ODbL 1.0."
)
_PICTURES = {
    name: f"![Error of reports against an adversary's, in Paris and in its suburb]({path}img/frontier.png)"
    for name, path in (("picture", ""), ("picture-from-above", "docs/"))
}


def run(*, tell: Tell = quiet, folder: str | None = None, size_km: float = PARIS_KM) -> dict[str, Any]:
    """One row an area, mechanism and setting; then the elastic mechanism over planar Laplace of equal utility."""
    with kept_in(folder) as place:
        source = real_data(place, "paris")
        ours = []
        for r in R_SMALL_M:
            tell(f"building for {r:g} m", of=len(R_SMALL_M) + 1 + len(PAPER_AREAS))
            ours.append(_mechanism(source.paris(size_km, r_small=r), r))
        tell(f"sharpening for {SHARPER}")
        default = source.paris(size_km, r_small=DEFAULT_M)
        ours.append(_mechanism(_sharper(source, default), DEFAULT_M))
        metric, checkins = load(default).whole(), source.checkins("paris")
        spread = (metric.mass / metric.locations.area_cells)[metric.locations.owner].ravel()
        rows: list[dict[str, Any]] = []
        epsilons: list[float] = []
        laws: list[dict[str, Any]] = []
        for area in PAPER_AREAS:
            tell(area.name)
            prior = prior_from_checkins(area.cut(checkins), metric.grid)
            density = spread[prior.cell]
            if not epsilons:
                found = area_rows(area, prior, ours, source.stages, density)[:-1]
                epsilons = [2 / row["error_m"] for row in found]
                laws = _laws(source, metric, default, prior, area)
            others = baselines(metric.grid, epsilons, source.people(metric.grid))
            rows += area_rows(area, prior, [*ours, *others], source.stages, density)
    tenths = _tenths(rows)
    for row in rows:
        row.pop("tenths", None)
    return _result(rows, tenths, laws)


def _mechanism(path: Path, r_small: float) -> Mechanism:
    return sharpened(load(path).whole(), file_digest(path), r_small)


def _sharper(source: RealData, default: Path) -> Path:
    """The default map, its reports by a power of the mass: the same promise, another relief."""
    path = source.stages.path("metric paris sharper", [file_digest(default), SHARPER], ".geoelastic", source=METRIC)
    if not path.is_file():
        sharpen(load(default), output=SHARPER, workers=source.workers).save(path)
    return path


def _laws(source: RealData, metric: Metric, path: Path, prior: Prior, area: StudyArea) -> list[dict[str, Any]]:
    key = {"metric": file_digest(path), "area": area.to_json(), "prior": prior.info}
    stage = source.stages.run("frontier laws", key, lambda: {"rows": four_laws(metric, prior, area)})
    found: list[dict[str, Any]] = stage["rows"]
    return found


def _tenths(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The default beside planar Laplace of equal error in the first area, by how dense it is around the visits."""
    here = [row for row in rows if row["area"] == rows[0]["area"]]
    ours, theirs = ([r for r in here if r["mechanism"].startswith(kind)] for kind in ("elastic", "planar Laplace"))
    at = next((k for k, row in enumerate(ours) if row["setting"] == f"r_small {DEFAULT_M:g} m"), 0)
    return [
        {
            "tenth": our["tenth"],
            "density": float(f"{our['density']:.2g}"),
            "default_error_m": round(our["error_m"]),
            "laplace_error_m": round(their["error_m"]),
            "default_adversary_m": round(our["adversary_m"]),
            "laplace_adversary_m": round(their["adversary_m"]),
            "ratio": round(our["adversary_m"] / their["adversary_m"], 2),
        }
        for our, their in zip(ours[at]["tenths"], theirs[at]["tenths"], strict=True)
    ]


def _result(rows: list[dict[str, Any]], tenths: list[dict[str, Any]], laws: list[dict[str, Any]]) -> dict[str, Any]:
    ratios = equal_utility(rows)
    table, compared, dense, shapes = (markdown(part) for part in (rows, ratios, tenths, laws))
    city = rows[0]["area"]
    text = (
        f"{table}\n\nElastic over planar Laplace of equal error in {city}:\n\n{compared}\n\n"
        f"The default and planar Laplace of equal error by tenths of the visits in {city}, from the emptiest "
        f"surroundings to the densest (mass a cell):\n\n{dense}\n\n"
        f"Laws of equal error in {city}, by their distances and by where reports fall:\n\n{shapes}"
    )
    return {
        "rows": rows,
        "text": text,
        "parts": {
            "table": table, "ratios": compared, "tenths": dense, "laws": shapes, **_PICTURES, **_figures(rows, ratios)
        },
        "images": {"frontier.png": frontier_png(rows, CREDIT)},
    }  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The default against planar Laplace of equal error in the city."""
    default = [ratio for ratio in equal_utility(rows) if ratio["elastic"] == f"elastic, r_small {DEFAULT_M:g} m"]
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
        ours = next((row for row in here if row["setting"] == f"r_small {DEFAULT_M:g} m"), here[0])
        ratio = next(r for r in ratios if r["area"] == name and r["elastic"] == f"elastic, {ours['setting']}")
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
