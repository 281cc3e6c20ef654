# SPDX-License-Identifier: Apache-2.0
"""Both builders on the same maps: time, tightness and expected error.

A build's seconds include its verification at every location. Errors are those of the same mechanism (exponent 1/2,
full support) at the same places: means over an even sample of cells, plain and weighted by mass. With `--whole` also
the full `synthetic:paris`, where the paper's builder takes many minutes, and so do the errors of 562,500 locations.
"As listed" raises a location's level once a pass, as in the paper's listing; the other builds of the paper's method
raise it until it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..figures.maps import sample_places
from ..mass import Mass
from ..mechanism import ElasticMechanism
from ..metric import Metric, build_metric
from ..metric.metric_file import metric_to_parts
from ..store import container_bytes
from ._tools import Tell, markdown, peak_gb, quiet, synthetic_mass, timed, warm_up

MAPS = (("city", 120),)
WHOLE = ("paris", 750)
RECORDED = {"whole": True}
BUILDS: tuple[dict[str, Any], ...] = (
    {"method": "paper", "layout": "uniform", "literal": True},
    {"method": "paper", "layout": "uniform"},
    {"method": "paper", "layout": "adaptive"},
    {"method": "conformal", "layout": "uniform"},
    {"method": "conformal", "layout": "adaptive", "cartogram": False},
    {"method": "conformal", "layout": "adaptive"},
)
#: What is built of the largest map: the others take as long again and tell nothing that small maps do not.
OF_WHOLE = (BUILDS[1], BUILDS[2], BUILDS[4], BUILDS[5])
_POINTS = 150


def run(*, tell: Tell = quiet, whole: bool = False, maps: Sequence[tuple[str, int]] = MAPS) -> dict[str, Any]:
    """One row per map and build, and for each map the ratio of the default's errors to the others'."""
    compile_s = warm_up()
    rows: list[dict[str, Any]] = []
    chosen = dict.fromkeys(maps, BUILDS) | ({WHOLE: OF_WHOLE} if whole else {})
    for (name, side), builds in chosen.items():
        mass = synthetic_mass(name, side)
        for options in builds:
            tell(f"{name} {side}: {_method(options)}, {options['layout']}", of=sum(map(len, chosen.values())))
            rows.append({"map": f"{name} {side} x {side}"} | build_row(mass, options))
    text = f"{markdown(rows)}\n\n{markdown(_ratios(rows))}\n\nCompiling took {compile_s:.1f} s before any of it."
    return {"rows": rows, "text": text}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The largest map: the paper's builder as it stands, and the default's errors over the best of its builds."""
    last = rows[-1]["map"]
    here = {(row["method"], row["layout"]): row for row in rows if row["map"] == last}
    paper, ours = here["paper", "uniform"], here["conformal", "adaptive"]
    keys = [key for key in ours if key.startswith("error_")]
    theirs = [row for (method, _), row in here.items() if method.startswith("paper")]
    ratios = [f"{ours[key] / min(row[key] for row in theirs):.2f}" for key in keys]
    took = f"{paper['seconds']:,.0f} s ({paper['cpu_s']:,.0f} s of processor time), {paper['peak_GB']} GB"
    return [
        (f"the paper's builder, {paper['locations']:,} cells, verified", "15 min, 6 GB, mean ratio 2.7",
         f"{took}, mean ratio {paper['mean_ratio']}, {paper['violations']} violations"),
        ("expected error without sharpening, default / the best of the paper's builder", "0.75",
         f"{', '.join(ratios)} (output even and by mass, each plain and weighted by mass)"),
    ]  # fmt: skip


def _method(options: dict[str, Any]) -> str:
    special = ", as listed" if options.get("literal") else "" if options.get("cartogram", True) else ", not redrawn"
    return f"{options['method']}{special}"


def build_row(mass: Mass, options: dict[str, Any]) -> dict[str, Any]:
    """What a build took, how tight it is and how far its reports are off."""
    built = timed(lambda: build_metric(mass, sharpen=False, **options))
    metric = built.value
    certificate = metric.certificate
    row = {
        "method": _method(options),
        "layout": options["layout"],
        "locations": metric.n,
        "seconds": round(built.wall_s, 2),
        "cpu_s": round(built.cpu_s, 2),
        "us_per_location": round(1e6 * built.wall_s / metric.n, 1),
        "edges_a_location": round(metric.graph.index.size / 2 / metric.n, 2),
        "violations": certificate["violations"],
        "least_ratio": round(certificate["ratio"]["min"], 4),
        "mean_ratio": round(certificate["ratio"]["mean"], 3),
        "file_kB": round(len(container_bytes("metric", *metric_to_parts(metric))) / 1000),
    }
    return row | _mean_errors(metric, mass) | {"peak_GB": round(peak_gb(), 2)}


def _mean_errors(metric: Metric, mass: Mass) -> dict[str, int]:
    """Mean expected errors over an even sample of cells, plain and weighted by mass, for uniform output and by mass."""
    sample = sample_places(metric, _POINTS)
    means = {}
    for output in ("uniform", "mass"):
        errors: FloatArray = ElasticMechanism(metric, output=output).expected_errors(locations=sample.places)["mean"]
        cells = sample.spread(errors)
        known = np.isfinite(cells)
        means[f"error_{output}_m"] = round(float(cells[known].mean()))
        means[f"error_{output}_weighted_m"] = round(float(np.average(cells[known], weights=mass.cells[known])))
    return means


def _ratios(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The default builder's errors over those of each build of the paper's method, map by map."""
    ratios = []
    for name in dict.fromkeys(row["map"] for row in rows):
        here = [row for row in rows if row["map"] == name]
        ours = next(row for row in here if (row["method"], row["layout"]) == ("conformal", "adaptive"))
        for row in (row for row in here if row["method"].startswith("paper")):
            ratio: dict[str, Any] = {"map": name, "default over": f"{row['method']}, {row['layout']}"}
            ratio |= {f"{key.removesuffix('_m')}_ratio": ours[key] / row[key] for key in row if "error_" in key}
            ratios.append(ratio)
    return ratios
