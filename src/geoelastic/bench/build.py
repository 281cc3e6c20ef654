# SPDX-License-Identifier: Apache-2.0
"""Both builders on the same maps: time, tightness and expected error.

A build's seconds include its verification at every location. Errors are those of the same mechanism (exponent 1/2,
full support) at the same places: means over an even sample of cells, plain and weighted by mass. The last map is the
full `synthetic:paris`, where the paper's builder takes many minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..figures.sample import sample_places
from ..levels import FloatArray
from ..mass import Mass
from ..mechanism import ElasticMechanism
from ..metric import Metric, build_metric
from ..metric.file import metric_to_parts
from ..progress import progress_bar
from ..store import container_bytes
from ._tools import markdown, peak_gb, synthetic_mass, timed, warm_up

__all__ = ["run"]

MAPS = (("city", 120), ("paris", 240), ("paris", 750))
BUILDS = (("paper", "uniform"), ("paper", "adaptive"), ("conformal", "uniform"), ("conformal", "adaptive"))
_POINTS = 1500


def run(*, progress: bool = False, maps: Sequence[tuple[str, int]] = MAPS) -> dict[str, Any]:
    """One row a map and build, and for each map the ratio of the default's errors to the best of the paper's."""
    compile_s = warm_up()
    rows: list[dict[str, Any]] = []
    with progress_bar("bench build", len(maps) * len(BUILDS), show=progress) as bar:
        for name, side in maps:
            mass = synthetic_mass(name, side)
            part: list[dict[str, Any]] = []
            for method, layout in BUILDS:
                bar.update(len(rows) + len(part), note=f"{name} {side}: {method}, {layout}")
                part.append({"map": f"{name} {side} x {side}"} | _row(mass, method, layout))
            rows += part
    text = f"{markdown(rows)}\n\n{markdown(_ratios(rows))}\n\nCompiling took {compile_s:.1f} s before any of it."
    return {"rows": rows, "text": text}


def _row(mass: Mass, method: str, layout: str) -> dict[str, Any]:
    built = timed(lambda: build_metric(mass, method=method, layout=layout))
    metric = built.value
    certificate = metric.certificate
    row = {
        "method": method,
        "layout": layout,
        "locations": metric.n,
        "seconds": round(built.wall_s, 2),
        "cpu_s": round(built.cpu_s, 2),
        "us_per_location": round(1e6 * built.wall_s / metric.n, 1),
        "violations": certificate["violations"],
        "least_ratio": round(certificate["ratio"]["min"], 4),
        "mean_ratio": round(certificate["ratio"]["mean"], 3),
        "file_kB": round(len(container_bytes("metric", *metric_to_parts(metric))) / 1000),
    }
    for output in ("uniform", "mass"):
        plain, weighted = _errors(metric, mass, output)
        row |= {f"error_{output}_m": round(plain), f"error_{output}_weighted_m": round(weighted)}
    return row | {"peak_GB": round(peak_gb(), 2)}


def _errors(metric: Metric, mass: Mass, output: str) -> tuple[float, float]:
    """Mean expected error over an even sample of cells, plain and weighted by mass."""
    sample = sample_places(metric, _POINTS)
    errors: FloatArray = ElasticMechanism(metric, output=output).expected_errors(locations=sample.places)["mean"]
    cells = sample.spread(errors)
    known = np.isfinite(cells)
    return float(cells[known].mean()), float(np.average(cells[known], weights=mass.cells[known]))


def _ratios(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The default builder's errors over the best of the paper's, map by map."""
    ratios = []
    for name in dict.fromkeys(row["map"] for row in rows):
        here = [row for row in rows if row["map"] == name]
        best = next(row for row in here if (row["method"], row["layout"]) == ("conformal", "adaptive"))
        ratio: dict[str, Any] = {"map": name}
        for key in [key for key in best if key.startswith("error_")]:
            ratio[f"{key.removesuffix('_m')}_ratio"] = best[key] / min(r[key] for r in here if r["method"] == "paper")
        ratios.append(ratio)
    return ratios
