# SPDX-License-Identifier: Apache-2.0
"""Statistics: how near estimates from reports come to the truth, against raw reports, guesses and planar Laplace.

Gowalla's check-ins around Paris, one report of each user at each place through the default build of the real map: all
of them in two draws, a thousand of them in ten. Data are those of the folder in GEOELASTIC_DATA (``../shared/data`` if
not set); with a `folder`, the map and the models of its reports are found there again. `whole`: also a million reports
on ``synthetic:paris`` by the command.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..evaluation.spread import WAYS, Known, Squares, make_squares
from ..evaluation.study_areas import PAPER_AREAS
from ..evaluation.study_stages import METRIC, Stages
from ..mechanism import ElasticMechanism
from ..mechanism.laplace import PlanarLaplace
from ..metric import build_metric
from ..opening import load
from ..randomness import SeededRandom
from ..statistics.counted_reports import count_reports
from ..statistics.estimate import Survey, prepare
from ..statistics.reports import ReadReports
from ..statistics.scales import scaled_fit
from ._maps import PARIS_KM, real_data
from ._tools import Tell, kept_in, markdown, quiet, spawn, synthetic_mass

WORKERS = 2
FEW = 1000
#: Draws of a few people with their reports, and of everybody's reports.
FEW_SEEDS, ALL_SEEDS = range(1, 11), range(1, 3)
#: A million people, in so many places: who shares a place with others is drawn with them, and quickly.
MILLION, PLACES, ZONES = 1_000_000, 5000, 2000
RECORDED = {"whole": True}
#: Parts of the reports, in a hundred, whose distances are told.
_PARTS = (50, 90, 99)
#: What was asked of estimates from all reports, as parts of the raw distance, by the size of zones.
_ASKED = {2000: 0.5, 4000: 0.35}


@dataclass(frozen=True, eq=False)
class _People:
    """Those whom the map hides, and the few of them who report in each draw."""

    squares: Squares
    lat: FloatArray
    lon: FloatArray

    @cached_property
    def few(self) -> list[IntArray]:
        return [np.random.default_rng(seed).permutation(self.lat.size)[:FEW] for seed in FEW_SEEDS]

    def spread(self, of: Any = slice(None)) -> FloatArray:
        zone = self.squares.locate(self.lat[of], self.lon[of])
        return np.bincount(zone, minlength=self.squares.zones.n + 1) / zone.size


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Reports of a draw, and spreads over small zones and elsewhere: of the reports, and estimated from them."""

    lat: FloatArray
    lon: FloatArray
    raw: FloatArray
    best: FloatArray


def run(
    *, tell: Tell = quiet, folder: str | None = None, whole: bool = False, size_km: float = PARIS_KM
) -> dict[str, Any]:
    """One row a way to measure, size of zones and number of people (distances are means over the draws), one a kind of
    blur, and one a run of the million."""
    with kept_in(folder) as place:
        source = real_data(place, "paris")
        tell("the map", of=4 + whole)
        mechanism = ElasticMechanism(load(source.paris(size_km)))
        visits = source.checkins("paris").distinct_visits()
        hidden = _hidden(mechanism, visits.lat, visits.lon)
        people = _People(make_squares(mechanism.metric.grid), visits.lat[hidden], visits.lon[hidden])
        tell("estimates")
        near, blurs = _rows(mechanism, people, Path(place) / "models", tell)
        million = _million(Path(place), source.stages) if whole else []
    scale = markdown(million) if million else "*not measured in this run: `geoelastic bench statistics --whole`*"
    parts = {"table": markdown(near), "blur": markdown(blurs), "million": scale}
    return {"rows": [*near, *blurs, *million], "text": "\n\n".join(parts.values()), "parts": parts}


def _hidden(mechanism: ElasticMechanism, lat: FloatArray, lon: FloatArray) -> Any:
    """Whether each place can be a secret of the map."""
    metric = mechanism.metric
    row, col = metric.grid.latlon_to_cell(lat, lon)
    return (row >= 0) & metric.secret[metric.locations.owner[row, col]]


def _rows(
    mechanism: ElasticMechanism, people: _People, cache: Path, tell: Tell
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    squares = people.squares
    survey = prepare(mechanism, squares.zones, cache=cache, workers=WORKERS)
    ours = _draws(survey, people, lambda lat, lon, seed: mechanism.sanitize(lat, lon, rng=SeededRandom(seed)))
    everybody = [(d.lat, d.lon) for d in ours[people.lat.size]]
    tell("planar Laplace")
    laplace = PlanarLaplace.from_expected_error(float(_errors(people, everybody, _in_city(people)).mean()))
    theirs = _draws(
        prepare(laplace, squares.zones, metric=mechanism.metric), people,
        lambda lat, lon, seed: laplace.sanitize_many(lat, lon, rng=SeededRandom(seed)),
    )  # fmt: skip
    tell("what can be known")
    known, truth = Known(squares, mechanism, people.lat, people.lon), people.spread()
    guess, floor = survey.atoms.by_zone(survey.atoms.prior), [people.spread(chosen) for chosen in people.few]
    floors = {(way, n): known.least_of_any(way, n, guess) for way in WAYS for n in ours}
    rows = []
    for way, n, size in ((way, n, size) for way, sizes in WAYS.items() for n in ours for size in sizes):

        def off(spreads: Iterable[FloatArray], way: str = way, size: int = size) -> FloatArray:
            return np.array([squares.distance(way, size, s, truth) for s in spreads])

        raw, best = (off(getattr(d, what) for d in ours[n]) for what in ("raw", "best"))
        asked, bound = (None if n == FEW else _ASKED.get(size)), _bound(known, way, size, n)
        halves = _bound(known, way, size, n, inside=size // 2) if size // 2 in WAYS[way] else None
        least = floors[way, n].get(size)
        rows.append({
            "measured_over": way, "zones_km": size / 1000, "people": n, "reports": _mean(raw), "estimate": _mean(best),
            "of_reports": round(float(best.mean() / raw.mean()), 2), "worst_draw": round(float((best / raw).max()), 2),
            "draws_worse": f"{np.count_nonzero(best > raw)} of {best.size}",
            "public_mass": _mean(off([guess])), "true_places_of_these": _mean(off(floor)) if n == FEW else 0.0,
            "unbiased_at_least": bound, "unbiased_insides_unknown": halves, "asked_of_reports": asked,
            "unbiased_can": None if asked is None or halves is None else bool(halves <= asked * raw.mean()),
            "any_on_average": None if least is None else round(least, 4),
            "any_of_reports": None if least is None else round(least / float(raw.mean()), 2),
            "insides_known": None if n == FEW else round(known.best_stop(way, size, everybody[0]), 4),
            "Laplace_reports": _mean(off(d.raw for d in theirs[n])),
            "Laplace_estimate": _mean(off(d.best for d in theirs[n])),
        })  # fmt: skip
    return rows, _blurs(known, people, everybody, laplace)


def _mean(distances: FloatArray) -> float:
    return round(float(distances.mean()), 4)


def _draws(survey: Survey, people: _People, report: Any) -> dict[int, list[_Drawn]]:
    """What reports and estimates say, by the number of people: for each draw of the few, and of all."""

    def drawn(of: Any, seed: int) -> _Drawn:
        # the best guess alone: shares and elsewhere of `estimate`, without intervals of 3,000 zones
        lat, lon = report(people.lat[of], people.lon[of], seed)
        counted = count_reports(survey, [[ReadReports(lat, lon)]], seed=0)
        fit = scaled_fit(survey.matrix, counted.by_part, survey.scales)
        return _Drawn(lat, lon, counted.zones / counted.zones.sum(), survey.atoms.by_zone(fit.shares))

    few = [drawn(chosen, seed) for chosen, seed in zip(people.few, FEW_SEEDS, strict=True)]
    return {FEW: few, people.lat.size: [drawn(slice(None), seed) for seed in ALL_SEEDS]}


def _in_city(people: _People) -> Any:
    return PAPER_AREAS[0].contains(people.lat, people.lon)


def _errors(people: _People, reports: list[tuple[FloatArray, FloatArray]], of: Any) -> FloatArray:
    """How far, in metres, the reports of some are from their true places, in all draws."""
    area = people.squares.zones.grid.area
    x, y = area.to_xy(people.lat[of], people.lon[of])
    places = (area.to_xy(lat[of], lon[of]) for lat, lon in reports)
    return np.concatenate([np.hypot(east - x, north - y) for east, north in places])


def _blurs(
    ours: Known, people: _People, reports: list[tuple[FloatArray, FloatArray]], laplace: PlanarLaplace
) -> list[dict[str, Any]]:
    """How far reports go and what they can tell, with insides known: of the map, of planar Laplace with its mean error
    in the city, and of planar Laplace with its mean error in the square."""
    squares, sizes = people.squares, WAYS["square"][-2:]
    in_square = squares.larger["square", sizes[0]][squares.locate(people.lat, people.lon)] >= 0
    errors = {name: _errors(people, reports, of) for name, of in (("city", _in_city(people)), ("square", in_square))}
    same = PlanarLaplace.from_expected_error(float(errors["square"].mean()))
    rows = []
    for name, known in (
        ("the map", ours),
        ("planar Laplace, error of the map in the city", replace(ours, mechanism=laplace)),
        ("planar Laplace, error of the map in the square", replace(ours, mechanism=same)),
    ):
        flat = known.mechanism if isinstance(known.mechanism, PlanarLaplace) else None
        off = errors if flat is None else dict.fromkeys(errors, _laplace_errors(flat))
        rows.append({
            "blur": name,
            **{f"mean_error_in_the_{where}_m": round(float(found.mean())) for where, found in off.items()},
            **{f"{p}_in_100_under_m": round(float(np.quantile(off["square"], p / 100))) for p in _PARTS},
            **{f"unbiased_at_least_{size // 1000}_km": _bound(known, "square", size) for size in sizes},
        })  # fmt: skip
    return rows


def _laplace_errors(mechanism: PlanarLaplace) -> FloatArray:
    """Distances of planar Laplace's reports, evenly among all that it draws."""
    from scipy.special import gammaincinv

    return np.asarray(gammaincinv(2.0, (np.arange(10_000) + 0.5) / 10_000) / mechanism.epsilon)


def _bound(known: Known, way: str, size: int, people: int | None = None, *, inside: int | None = None) -> float | None:
    found = known.least_unbiased(way, size, people or known.lat.size, inside=inside)
    return None if found is None else round(found, 4)


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
        people = rng.choice(rng.choice(metric.n, PLACES, p=mass / mass.sum()), MILLION)
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
    for size, asked in _ASKED.items():
        both = [r for r in near if r["zones_km"] * 1000 == size and r["people"] != FEW]
        shown = ", ".join(f"{r['of_reports']} ({r['measured_over']}: {r['reports']} to {r['estimate']})" for r in both)
        lines.append(
            (f"estimate / raw histogram, distance to the truth, zones of {size / 1000:g} km", f"{asked}", shown)
        )
    worse = sum(r["of_reports"] > 1 for r in near)
    pairs = [[int(number) for number in r["draws_worse"].split(" of ")] for r in near]
    single = " of ".join(str(sum(column)) for column in zip(*pairs, strict=True))
    lines.append((
        "estimate farther from the truth than the raw histogram", "never",
        f"on average in {worse} of {len(near)} rows; {single} single draws",
    ))  # fmt: skip
    lines += [
        (f"a million reports, {r['zones']:,} zones, model {r['model']}", "minutes, 4 GB",
         f"{r['wall_s']:g} s ({r['cpu_s']:g} s of processor time), {r['peak_GB']:g} GB")
        for r in rows if "peak_GB" in r
    ]  # fmt: skip
    return lines
