# SPDX-License-Identifier: Apache-2.0
"""The whole story on a made-up city: quality, mass, both builders, checks, planar Laplace, a report to read."""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .arrays import FloatArray
from .errors import FileError
from .figures.draw import compare_png, new_figure, picture_png, pictures_png
from .figures.maps import ball_map, clouds_map, error_map, mass_map, report_map, sample_places, slack_map
from .figures.page import report_page
from .figures.picture_request import busiest_place
from .levels import LN2
from .mass import Mass, mass_from_quality
from .mass.mass import disc_sums
from .mechanism import ElasticMechanism, SeededRandom
from .mechanism.laplace import PlanarLaplace
from .metric import AnyMetric, build_metric
from .metric.sharpen import sharpen
from .progress import Bar, progress_bar
from .quality import Quality, synthetic_quality
from .store import write_bytes

#: Elastic and planar Laplace are given the same expected error on average within this distance of the centre.
_CITY_M = 1500.0
_POINTS = 4000
#: The dots of the report's clouds are the same in every run: nothing is protected here.
_SEED = 2015


class _Comparison(NamedTuple):
    """Elastic against planar Laplace at the same utility in the city."""

    distance_km: FloatArray
    error_m: FloatArray
    crowd: FloatArray
    laplace_error_m: float
    laplace_crowd: FloatArray


def run_demo(folder: str | Path, *, quality: Quality | None = None, progress: bool = False) -> dict[str, Any]:
    """Tell the story of `quality` (default: ``synthetic:city``) in `folder`: metrics, pictures, ``report.html``."""
    begin = time.perf_counter()
    new_figure(1, 1)  # what the pictures need is missing before anything is built, or not at all
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{target}: cannot be made: {(error.strerror or 'no reason given').lower()}") from None
    with progress_bar("demo", 7, show=progress) as bar:
        bar.update(0, note="quality and mass")
        mass = mass_from_quality(synthetic_quality("city") if quality is None else quality)
        built = _build_all(mass, target, bar)
        mechanism = ElasticMechanism(built["sharpened"][0])
        bar.update(4, note="elastic against planar Laplace")
        comparison = _compare(mechanism, mass)
        bar.update(5, note="pictures")
        pngs = _pictures(mechanism) | {"compare": _draw_comparison(comparison)}
        for name, png in pngs.items():
            write_bytes(target / f"{name}.png", png)
        figures = _figures(built, comparison, mechanism)
        figures["seconds"] = round(time.perf_counter() - begin, 1)
        write_bytes(target / "report.html", _page(figures, pngs).encode())
        bar.update(7)
    figures["report"] = str(target / "report.html")
    return figures


def _build_all(mass: Mass, target: Path, bar: Bar) -> dict[str, tuple[AnyMetric, float]]:
    """Each metric by the name of its builder, with the seconds it took."""
    steps: list[tuple[str, Callable[[], AnyMetric]]] = [
        ("paper", lambda: build_metric(mass, method="paper", sharpen=False)),
        ("conformal", lambda: build_metric(mass, sharpen=False)),
        ("sharpened", lambda: sharpen(built["conformal"][0])),
    ]
    built: dict[str, tuple[AnyMetric, float]] = {}
    for step, (name, make) in enumerate(steps, 1):
        bar.update(step, note=f"building and checking: {name}")
        begin = time.perf_counter()
        metric = make()
        built[name] = metric, time.perf_counter() - begin
        metric.save(target / f"city-{name}.geoelastic")
    return built


def _compare(mechanism: ElasticMechanism, mass: Mass) -> _Comparison:
    """Both mechanisms at an even sample of places: error, and the mass that level ln 2 protects."""
    metric = mechanism.metric
    places = sample_places(metric, _POINTS).places
    error = mechanism.expected_errors(locations=places)["mean"]
    crowd = np.array([metric.mass[metric.ball(int(i), LN2)].sum() for i in places])
    centre = metric.xy[busiest_place(metric)]
    distance = np.hypot(*(metric.xy[places] - centre).T)
    city = distance <= _CITY_M
    weight = metric.mass[places] / metric.locations.area_cells[places]
    laplace = PlanarLaplace.from_expected_error(float(np.average(error[city], weights=weight[city])))
    discs = disc_sums(mass.cells, LN2 / laplace.epsilon / mass.grid.cell_m)
    rows, cols = metric.locations.row[places], metric.locations.col[places]
    return _Comparison(distance / 1000, error, crowd, 2 / laplace.epsilon, discs[rows, cols])


def _draw_comparison(comparison: _Comparison) -> bytes:
    flat = np.full(comparison.error_m.shape, comparison.laplace_error_m)
    panels = {
        "expected error, m": {"elastic": comparison.error_m, "planar Laplace": flat},
        "mass within level ln 2": {"elastic": comparison.crowd, "planar Laplace": comparison.laplace_crowd},
    }
    return compare_png(comparison.distance_km, panels, level_lines={"mass within level ln 2": 1.0})


def _pictures(mechanism: ElasticMechanism) -> dict[str, bytes]:
    metric = mechanism.metric
    places = {"the centre": busiest_place(metric), "open land": _open_land(metric)}
    rng = SeededRandom(_SEED)
    mass, error = mass_map(metric), error_map(mechanism, points=_POINTS)
    clouds = clouds_map(mechanism, places, rng=rng)
    return {
        "overview": pictures_png([mass, error, clouds]),
        "slack": picture_png(slack_map(metric)),
        "balls": pictures_png([ball_map(metric, i) for i in places.values()]),
        "reports": pictures_png([report_map(mechanism, i, rng=rng) for i in places.values()]),
    }


def _open_land(metric: AnyMetric) -> int:
    """The place with least mass within a kilometre, not too far out for the map to show its reports."""
    spread = (metric.mass / metric.locations.area_cells)[metric.locations.owner]
    around = disc_sums(spread, 1000 / metric.grid.cell_m)[metric.locations.row, metric.locations.col]
    near = np.hypot(*(metric.xy - metric.xy[busiest_place(metric)]).T) < 0.35 * metric.grid.area.width_m
    return int(np.argmin(np.where(metric.secret & near, around, np.inf)))


def _figures(
    built: dict[str, tuple[AnyMetric, float]], comparison: _Comparison, mechanism: ElasticMechanism
) -> dict[str, Any]:
    xy = mechanism.metric.xy[sample_places(mechanism.metric, 300).places]
    builders = []
    for name, (metric, seconds) in built.items():
        lats, lons = metric.grid.area.to_latlon(xy[:, 0], xy[:, 1])
        same = [metric.locate(float(lat), float(lon)) for lat, lon in zip(lats, lons, strict=True)]
        errors = ElasticMechanism(metric).expected_errors(locations=same)["mean"]
        builders.append(
            {
                "builder": name,
                "locations": metric.n,
                "seconds": round(seconds, 2),
                "verified": metric.certificate["ok"],
                "least_ratio": round(metric.certificate["ratio"]["min"], 4),
                "mean_ratio": round(metric.certificate["ratio"]["mean"], 3),
                "expected_error_m": round(float(errors.mean())),
            }
        )
    return {
        "ok": all(row["verified"] for row in builders),
        "builders": builders,
        "equal_error_in_the_city_m": round(comparison.laplace_error_m),
        "least_mass_elastic": round(float(comparison.crowd.min()), 3),
        "least_mass_laplace": round(float(comparison.laplace_crowd.min()), 3),
        "places_under_one_unit_laplace": round(float(np.mean(comparison.laplace_crowd < 1)), 3),
    }


def _page(figures: dict[str, Any], pngs: dict[str, bytes]) -> str:
    titles = ("builder", "locations", "seconds, with the check", "verified", "least m(B)/req", "mean m(B)/req",
              "mean error, m")  # fmt: skip
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(value))}</td>" for value in row.values()) + "</tr>"
        for row in figures["builders"]
    )
    table = f"<table><thead><tr>{''.join(f'<th>{t}</th>' for t in titles)}</tr></thead><tbody>{rows}</tbody></table>"
    laplace = _LAPLACE.format(radius_km=_CITY_M / 1000, **figures)
    sections = [
        ("Mass, error, reports", _OVERVIEW, pngs["overview"]),
        ("The same crowd everywhere", _BUILD + table, pngs["slack"]),
        ("Seen from two places", _BALL, pngs["balls"]),
        ("Reports from two places", _REPORT, pngs["reports"]),
        ("Against planar Laplace at equal utility", laplace, pngs["compare"]),
    ]
    footer = f"Made by <code>geoelastic demo</code> in {figures['seconds']:g} s. The city is made up."
    return report_page("geoelastic: the same crowd everywhere", sections, footer=footer)


_OVERVIEW = """<p>A made-up city of 12 x 12 km: one centre, four sub-centres, a river, open land. Each cell of 100 m
is given a privacy mass, m = a + b q, from what is there (left): one unit is what an average disc of 300 m in the
city holds, or an empty disc of 3 km. Middle: the expected distance between a place and its report, computed
exactly. Right: reports from the centre and from open land: the same crowd, not the same radius.</p>"""
_BUILD = """<p>A metric is built in which the ball of level l around every place holds at least (l / ln
2)<sup>2</sup> units: by the paper's algorithm, and by conformal weights, which meet the same requirement with less
to spare. Both are then re-checked at every location and every level by code that shares nothing with the builders.
The picture shows, for the second, how much more than required each place gets. The third is the second with
heights that let reports use nearly all of each distance instead of half: the same metric and the same promise,
checked edge by edge, with far less noise. All that follows is drawn with it.</p>"""
_BALL = "<p>The level of every place, seen from the centre and from open land. Within the inner outline it is ln 2.</p>"
_REPORT = """<p>Reports are drawn with probability proportional to mass x exp(-d'), where d' is a little less than the
distance d, by exact integer arithmetic and with full support, so that for any two places the probabilities of any
report differ by a factor of at most exp(d).</p>"""
_LAPLACE = """<p>Both mechanisms are off by {equal_error_in_the_city_m:,} m on average within {radius_km:g} km of
the centre. Planar Laplace keeps that error everywhere, and therefore hides a place in the open land among very
little: at {places_under_one_unit_laplace:.0%} of the places its disc of level ln 2 holds less than the one unit of
mass that was asked for, down to {least_mass_laplace:g}. The elastic mechanism never goes below
{least_mass_elastic:g}; it pays with larger errors where the map is empty.</p>"""
