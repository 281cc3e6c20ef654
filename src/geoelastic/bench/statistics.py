# SPDX-License-Identifier: Apache-2.0
"""Statistics: how near estimates from reports come to the truth, against raw reports, guesses and planar Laplace.

Gowalla's check-ins around Paris, one report of each user at each place through the default build of the real map, two
draws of the reports. Data are those of the folder in GEOELASTIC_DATA (``../shared/data`` if not set); with a `folder`,
the map and the models of its reports are found there again. `whole`: also a million reports on ``synthetic:paris`` by
the command.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..evaluation.real_maps import RealData
from ..evaluation.spread import WAYS, Known, Squares, make_squares
from ..evaluation.study_areas import PAPER_AREAS
from ..evaluation.study_stages import METRIC, Stages
from ..mechanism import ElasticMechanism
from ..mechanism.laplace import PlanarLaplace
from ..metric import build_metric
from ..opening import load
from ..progress import progress_bar
from ..randomness import SeededRandom
from ..statistics.counted_reports import count_reports
from ..statistics.estimate import Survey, prepare
from ..statistics.reports import ReadReports
from ..statistics.scales import scaled_fit
from ._tools import data_folder, markdown, spawn, synthetic_mass

#: A record has the million too.
RECORDED = {"whole": True}
SIZE_KM = 75.0
WORKERS = 2
SEEDS = (1, 2)
FEW = 1000
MILLION, ZONES = 1_000_000, 2000
_TARGETS = {2000: 0.5, 4000: 0.35}


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Spreads over small zones and elsewhere: of the reports, and estimated from them."""

    raw: FloatArray
    best: FloatArray


def run(
    *,
    progress: bool = False,
    folder: str | None = None,
    whole: bool = False,
    size_km: float = SIZE_KM,
    data: Path | None = None,
) -> dict[str, Any]:
    """One row a way to measure, size of zones and number of people; distances are means over the draws."""
    kept = tempfile.TemporaryDirectory() if folder is None else nullcontext(folder)
    with kept as place, progress_bar("bench statistics", 4 + whole, show=progress) as bar:
        source = RealData(data or data_folder(), Stages(Path(place) / "stages"), WORKERS)
        source.require(("homes", "restaurants", "venues", "paris"))
        bar.update(0, note="the map")
        mechanism = ElasticMechanism(load(source.paris(size_km)))
        visits = source.checkins("paris").distinct_visits()
        bar.update(1, note="estimates")
        rows = _rows(mechanism, visits.lat, visits.lon, Path(place) / "models", bar)
        million = _million(Path(place), source.stages) if whole else []
    table = markdown(rows)
    scale = markdown(million) if million else "*not measured in this run: `geoelastic bench statistics --whole`*"
    return {"rows": [*rows, *million], "text": f"{table}\n\n{scale}", "parts": {"table": table, "million": scale}}


def _rows(mechanism: ElasticMechanism, lat: FloatArray, lon: FloatArray, cache: Path, bar: Any) -> list[dict[str, Any]]:
    squares = make_squares(mechanism.metric.grid)
    on_map = np.asarray(mechanism.metric.grid.latlon_to_cell(lat, lon)[0] >= 0)
    lat, lon = lat[on_map], lon[on_map]
    some = [np.random.default_rng(seed).permutation(lat.size)[:FEW] for seed in SEEDS]
    reports = [mechanism.sanitize(lat, lon, rng=SeededRandom(seed)) for seed in SEEDS]
    survey = prepare(mechanism, squares.zones, cache=cache, workers=WORKERS)
    ours = _draws(survey, reports, some)
    bar.update(2, note="planar Laplace")
    laplace = PlanarLaplace.from_expected_error(_error_in_city(lat, lon, reports))
    noisy = [laplace.sanitize_many(lat, lon, rng=SeededRandom(seed)) for seed in SEEDS]
    theirs = _draws(prepare(laplace, squares.zones, metric=mechanism.metric), noisy, some)
    bar.update(3, note="what can be known")
    guess = survey.atoms.by_zone(survey.atoms.prior)
    people = [_spread(squares, lat[chosen], lon[chosen]) for chosen in some]
    known, truth = Known(squares, mechanism, lat, lon), _spread(squares, lat, lon)
    rows = []
    for way, n, size in ((way, n, size) for way, sizes in WAYS.items() for n in ours for size in sizes):

        def off(spreads: Iterable[FloatArray], way: str = way, size: int = size) -> float:
            return round(float(np.mean([squares.distance(way, size, s, truth) for s in spreads])), 4)

        raw, best = off(d.raw for d in ours[n]), off(d.best for d in ours[n])
        rows.append({
            "measured_over": way, "zones_km": size / 1000, "people": n, "reports": raw, "estimate": best,
            "of_reports": round(best / max(raw, 1e-4), 2),
            "worst_of_reports": round(max(off([d.best]) / max(off([d.raw]), 1e-4) for d in ours[n]), 2),
            "public_mass": off([guess]), "true_places_of_these": off(people) if n == FEW else 0.0,
            "Laplace_reports": off(d.raw for d in theirs[n]),
            "Laplace_estimate": off(d.best for d in theirs[n]),
            "insides_known": None if n == FEW else round(known.best_stop(way, size, reports[0]), 4),
            "unbiased_at_least": None if n == FEW else known.least_unbiased(way, size, n),
        })  # fmt: skip
    return rows


def _draws(survey: Survey, reports: list[Any], some: list[Any]) -> dict[int, list[_Drawn]]:
    """What reports and estimates say, by the number of people: for each draw the few, and all."""
    few = [_drawn(survey, a[chosen], b[chosen]) for (a, b), chosen in zip(reports, some, strict=True)]
    return {FEW: few, reports[0][0].size: [_drawn(survey, a, b) for a, b in reports]}


def _spread(squares: Squares, lat: FloatArray, lon: FloatArray) -> FloatArray:
    return np.bincount(squares.locate(lat, lon), minlength=squares.zones.n + 1) / lat.size


def _drawn(survey: Survey, lat: FloatArray, lon: FloatArray) -> _Drawn:
    """The best guess alone: what `estimate` gives as shares and elsewhere, without intervals of 3,000 zones."""
    counted = count_reports(survey, [[ReadReports(lat, lon)]], seed=0)
    fit = scaled_fit(survey.matrix, counted.by_part, survey.scales)
    return _Drawn(counted.zones / counted.zones.sum(), survey.atoms.by_zone(fit.shares))


def _error_in_city(lat: FloatArray, lon: FloatArray, reports: list[Any]) -> float:
    """The mean error of the reports of those in the paper's square of the city."""
    area = PAPER_AREAS[0]
    inside = area.contains(lat, lon)
    x, y = area.to_utm(lat[inside], lon[inside])
    errors = []
    for a, b in reports:
        east, north = area.to_utm(a[inside], b[inside])
        errors.append(np.hypot(east - x, north - y).mean())
    return float(np.mean(errors))


def _million(place: Path, stages: Stages) -> list[dict[str, Any]]:
    """The command on a million reports of `synthetic:paris`, without and with a kept model."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = stages.path("metric synthetic paris", {"side": 750}, ".geoelastic", source=METRIC)
    if not path.is_file():
        build_metric(synthetic_mass("paris", 750), workers=WORKERS).save(path)
    metric = load(path).whole()
    rng, table = np.random.default_rng(1), stages.path("million reports", {"of": path.name}, ".parquet")
    if not table.is_file():
        mass = np.where(metric.secret, metric.mass, 0) ** 1.5  # where people are is not where the map says
        people = rng.choice(metric.n, MILLION, p=mass / mass.sum())
        cells = ElasticMechanism(metric).sample_cells(people, rng=SeededRandom(1), workers=WORKERS)
        lat, lon = metric.grid.cell_to_latlon(*cells)
        pq.write_table(pa.table({"lat": lat, "lon": lon}), table)
    command = [
        sys.executable, "-c", "from geoelastic.cli import main; main()", "estimate", str(path), "--reports", str(table),
        "--zones", f"leaves:{ZONES}", "--cache", str(place / "models"), "-o", str(place / "million.csv"),
    ]  # fmt: skip
    rows = []
    for model in ("made", "kept"):
        took = spawn(command)
        rows.append({
            "reports": MILLION, "zones": ZONES, "model": model, "wall_s": round(took.wall_s, 1),
            "cpu_s": round(took.cpu_s, 1), "peak_GB": round(took.peak_mb / 1024, 2),
        })  # fmt: skip
    return rows


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Estimates from all reports over the raw histogram, and a million reports."""
    near = [r for r in rows if "estimate" in r]
    lines = []
    for size, target in _TARGETS.items():
        both = [r for r in near if r["zones_km"] * 1000 == size and r["people"] != FEW]
        shown = ", ".join(f"{r['of_reports']} ({r['measured_over']}: {r['reports']} to {r['estimate']})" for r in both)
        lines.append(
            (f"estimate / raw histogram, distance to the truth, zones of {size / 1000:g} km", f"{target}", shown)
        )
    worse = sum(r["worst_of_reports"] > 1 for r in near)
    lines.append(("estimate farther from the truth than the raw histogram", "never", f"{worse} of {len(near)} cases"))
    lines += [
        (f"a million reports, {r['zones']:,} zones, model {r['model']}", "minutes, 4 GB",
         f"{r['wall_s']:g} s ({r['cpu_s']:g} s of processor time), {r['peak_GB']:g} GB")
        for r in rows if "peak_GB" in r
    ]  # fmt: skip
    return lines
