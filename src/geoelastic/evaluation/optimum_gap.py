# SPDX-License-Identifier: Apache-2.0
"""How far the mechanism of a map is from the best there can be, on some hundred of its places.

Secrets are the places of a lattice over an area, as likely as the map has mass around them. The mechanism is the map's
own, over the whole map; *remapped*, every report is moved to that place of the lattice which is the best guess. A
mechanism that keeps the map's promise among all places keeps it among these, so none, remapped or not (as long as what
it says in the end is one of the places), falls below the bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import InputError
from ..mechanism.elastic import ElasticMechanism
from ..metric import AnyMetric
from .elastic_channel import cells_in
from .optimum import WEIGHTS_TOTAL, LinearProgram, solve_optimum, spanner
from .study_areas import StudyArea


@dataclass(frozen=True, eq=False)
class LatticeScene:
    """Locations of the map that are the places, the program between them, and which of them lie in the inner half (by
    side) of the area."""

    locations: IntArray
    problem: LinearProgram
    inner: IntArray

    def error_m(self, per_place: FloatArray, *, inner: bool = False) -> float:
        """The mean over the prior, or over the prior of the inner places."""
        chosen = self.inner if inner else np.arange(len(per_place))
        weight = self.problem.prior[chosen]
        return float(weight @ per_place[chosen] / weight.sum())

    def scaled(self, factor: float) -> LinearProgram:
        """The same program with every distance `factor` times as long."""
        return replace(self.problem, units=np.maximum(np.rint(self.problem.units * factor).astype(np.int64), 1))


def lattice_scene(metric: AnyMetric, area: StudyArea, *, side: int = 15, stretch: float = 1.05) -> LatticeScene:
    """`side` x `side` places spread evenly over an area: fewer, where two fall into one location, and none of the
    frame or of a fence."""
    cells = cells_in(metric, area)
    if not len(cells):
        raise InputError(f"the area '{area.name}' must lie on the map")
    row, col = np.divmod(cells, metric.grid.cols)
    edges = [(np.arange(side) + 0.5) / side * (v.max() - v.min()) + v.min() for v in (row, col)]
    r, c = (a.ravel().round().astype(np.int64) for a in np.meshgrid(*edges, indexing="ij"))
    locations, at = np.unique(metric.locations.owner[r, c], return_index=True)
    free = metric.secret[locations] & (metric.fence[locations] == 0)
    locations, at = locations[free], at[free]
    if len(locations) < 2:
        raise InputError(f"the area '{area.name}' must hold places outside the frame and outside fences")
    units = np.stack([metric.distance_units_from(int(i))[locations] for i in locations]).astype(np.int64)
    units = np.minimum(units, units.T)
    pairs = spanner(units, stretch)
    xy_mm = np.rint(metric.xy[locations] * 1000).astype(np.int64)
    density = metric.mass[locations] / metric.locations.area_cells[locations]
    weight = np.rint(density / density.sum() * WEIGHTS_TOTAL).astype(np.int64)
    inner = np.flatnonzero(np.all(np.abs(np.array(np.divmod(at, side)) + 0.5 - side / 2) <= side / 4, axis=0))
    return LatticeScene(locations, LinearProgram(xy_mm, xy_mm, weight, pairs, units[pairs[:, 0], pairs[:, 1]]), inner)


def mechanism_errors(mechanism: ElasticMechanism, scene: LatticeScene) -> tuple[FloatArray, FloatArray]:
    """Expected metres at each place, of reports as they are and of reports remapped to the places."""
    xy, own = np.asarray(mechanism.metric.xy), mechanism.metric.xy[scene.locations]
    rows = np.stack([mechanism.probabilities(int(i)) for i in scene.locations])
    plain = np.array([row @ np.hypot(*(xy - at).T) for row, at in zip(rows, own, strict=True)])
    return plain, remapped_errors(rows, scene.problem)


def remapped_errors(rows: FloatArray, problem: LinearProgram) -> FloatArray:
    """Expected metres at each place if every report (a column of `rows`) becomes the best of the problem's reports."""
    cost = problem.prior[:, None] * problem.cost_m
    guessed = np.zeros_like(problem.cost_m)
    for start in range(0, rows.shape[1], 4096):
        block = rows[:, start : start + 4096]
        guess = np.argmin(block.T @ cost, axis=1)
        np.add.at(guessed.T, guess, block.T)
    errors: FloatArray = np.einsum("xr,xr->x", guessed, problem.cost_m)
    return errors


def lattice_gap(metric: AnyMetric, area: StudyArea, *, side: int = 10) -> dict[str, Any]:
    """How far what a map reports is from the optimum on `side` x `side` places of an area, as it is and remapped."""
    scene = lattice_scene(metric, area, side=side)
    best = solve_optimum(scene.problem)
    reported, remapped = mechanism_errors(ElasticMechanism(metric), scene)
    return {
        "places": len(scene.locations),
        "bound_m": best.bound_m,
        "optimal_m": best.error_m,
        "remapped_m": scene.error_m(remapped),
        "reported_m": scene.error_m(reported),
    }
