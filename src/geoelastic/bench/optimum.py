# SPDX-License-Identifier: Apache-2.0
"""The optimum: how far reports are from the best that any mechanism could do with the same promise, and why.

On a lattice of places of a map the best mechanism that is private in the map's own distances is found by linear
programming, and the multipliers of the solution are turned into a bound in whole numbers that needs no solver
(`certified_bound`; `--certificate FILE` keeps it for `examples/check_optimum.py`). The rows after the bound take one
step each towards what is built, with the same places as secrets and the same prior (the mass): errors in metres over
all places and over the inner ones, where the end of the lattice is far.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..evaluation.optimum import LinearProgram, Optimum, certified_bound, certify, solve_optimum, write_certificate
from ..evaluation.optimum_gap import LatticeScene, lattice_scene, mechanism_errors
from ..evaluation.study_areas import StudyArea
from ..mechanism import ElasticMechanism
from ..metric import AnyMetric
from ..progress import progress_bar
from ._maps import chosen_map
from ._tools import markdown, warm_up

RECORDED = {"real": True}
#: Without a map: the middle of a made-up Paris.
_SIDE_CELLS = 150


def run(
    *, progress: bool = False, map_file: str | None = None, real: bool = False, places: int = 15, size_km: float = 5.0,
    certificate: str | None = None, folder: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """`places` x `places` secrets over a square of `size_km` in the middle of the map: `map_file`, the real Paris, or a
    made-up one."""
    warm_up()
    metric = chosen_map(map_file, real=real, city="paris", folder=folder, made_up="paris", side=_SIDE_CELLS)
    rows = gap_rows(metric, places=places, size_km=size_km, certificate=certificate, progress=progress)
    whose = markdown(gap_parts(rows))
    parts = {"table": markdown(rows), "parts": whose, "bound": f"{rows[1]['error_m']:,.1f} m"}
    for name, row in _named(rows).items():
        parts |= {name: f"{row['to_bound']:.2f}", f"{name}-error": f"{row['error_m']:,.0f} m"}
    return {"rows": rows, "text": f"{parts['table']}\n\nWhich part is whose:\n\n{whose}", "parts": parts}


def _named(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rows by what they are called in prose; those of the default only for a sharpened map."""
    default = ("default-remapped", "default") if len(rows) > 5 else ()
    return dict(zip(("tight", "bound", "optimum", *default, "half-remapped", "half"), rows, strict=True))


def gap_parts(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Which part of the difference to the bound is whose, as factors between rows; none for a map without a relief."""
    row = _named(rows)
    if "default" not in row:
        return []

    def times(above: str, below: str, key: str = "error_m") -> float:
        return round(float(row[above][key]) / float(row[below][key]), 2)

    default = times("default", "optimum")
    inner = times("default", "optimum", "inner_m")
    return [
        {"part": "the metric", "factor": times("optimum", "tight"), "": "balls that hold more than they must"},
        {"part": "the mechanism", "factor": times("default-remapped", "optimum"),
         "": "exponential reports over a certified relief, against the best of the same metric and reports"},
        {"part": "the measure", "factor": times("default", "default-remapped"),
         "": "reports follow the mass of the map, not the best guess for these places: what remapping gives back"},
        {"part": "the border", "factor": round(default / inner, 2),
         "": f"of the last two together ({default}): {inner} is left at the inner places"},
        {"part": "without sharpening", "factor": times("half", "default"), "": "half of each distance"},
    ]  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The gap to the optimum as one number."""
    row = _named(rows)
    if "default" not in row:
        return []
    what = f"error of the default / certified bound of every mechanism on {rows[1]['places']} places"
    told = (
        f"{row['default']['to_bound']} ({row['default-remapped']['to_bound']} remapped), bound {rows[1]['error_m']} m"
    )
    return [(what, "said", told)]


def gap_rows(
    metric: AnyMetric, *, places: int, size_km: float, certificate: str | Path | None = None, progress: bool = False
) -> list[dict[str, Any]]:
    """The bound, the optimum, and what is built, step by step."""
    scene = lattice_scene(metric, StudyArea("middle", *metric.grid.area.middle, size_km), side=places)
    best = _solve(scene.problem, "optimum", progress)
    proof = certify(scene.problem, best)
    bound = float(certified_bound(proof))
    if certificate is not None:
        write_certificate(certificate, proof)
    ratio = float(metric.certificate["ratio"]["mean_by_mass"])
    tight = _solve(scene.scaled(ratio**0.5), "tight balls", progress)
    reports = {"half of each distance": ElasticMechanism(replace(metric.whole(), relief=None))}
    if metric.relief is not None:
        reports = {f"the default, output by {metric.relief.output}": ElasticMechanism(metric)} | reports
    steps = [
        (f"optimum, if balls held no more than they must ({ratio:.3f} times)", _own(scene, tight)),
        ("bound: no mechanism falls below, certified", None),
        ("optimum", _own(scene, best)),
    ]
    for name, mechanism in reports.items():
        plain, remapped = mechanism_errors(mechanism, scene)
        steps += [(f"{name}, remapped", remapped), (name, plain)]
    return [_row(name, errors, scene, bound, best) for name, errors in steps]


def _solve(problem: LinearProgram, name: str, progress: bool) -> Optimum:
    with progress_bar(name, 40, show=progress) as bar:
        return solve_optimum(problem, step=lambda k, error, bound: bar.update(k, note=f"{error:.1f} / {bound:.1f} m"))


def _own(scene: LatticeScene, optimum: Optimum) -> Any:
    return np.einsum("xz,xz->x", optimum.matrix, scene.problem.cost_m)


def _row(name: str, errors: Any, scene: LatticeScene, bound: float, best: Optimum) -> dict[str, Any]:
    row: dict[str, Any] = {"step": name, "places": len(scene.locations), "constraints": best.multipliers.size}
    if errors is None:
        return row | {"error_m": round(bound, 1), "to_bound": 1.0}
    error = scene.error_m(errors)
    inner = scene.error_m(errors, inner=True) if len(scene.inner) else error
    return row | {"error_m": round(error, 1), "to_bound": round(error / bound, 3), "inner_m": round(inner, 1)}
