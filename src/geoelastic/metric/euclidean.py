# SPDX-License-Identifier: Apache-2.0
"""The Euclidean metric, scaled by epsilon: geo-indistinguishability behind the same interface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import IndexArray
from ..errors import InputError, require_positive
from ..levels import LEVEL_UNIT, UNREACHABLE, level_to_units, mass_to_units
from ..locations import uniform
from ..mass import Mass
from .build import _frame_cells
from .graph import Graph
from .metric import Metric, require_location

#: A complete graph of more locations than this is not written out.
_MOST_EDGES_OF = 4096


@dataclass(frozen=True, eq=False)
class EuclideanMetric(Metric):
    """d(x, x') = epsilon x distance, in whole units.

    Rounded up, whole units still obey the triangle inequality (rounded down they would not); epsilon is first lowered
    by one unit per cell, so that d never exceeds epsilon x distance.
    """

    epsilon: float = 0.0

    @property
    def by_paths(self) -> bool:
        """Distances are computed from coordinates, not along paths."""
        return False

    def distance_units_from(self, i: int, limit: float | None = None) -> IndexArray:
        apart = np.hypot(*(self.xy - self.xy[require_location(i, self.n)]).T)
        slower = self.epsilon / LEVEL_UNIT - 1 / self.grid.cell_m
        units = np.ceil(slower * apart - 1e-9).astype(np.int64)
        beyond = UNREACHABLE - 1 if limit is None else level_to_units(limit)
        return np.where(units <= beyond, units, UNREACHABLE).astype(np.int32)

    def edge_units(self) -> tuple[IndexArray, IndexArray, IndexArray]:
        if self.n > _MOST_EDGES_OF:
            raise InputError(
                f"the Euclidean metric is a complete graph: it is listed for at most {_MOST_EDGES_OF} locations"
            )
        tail, tip = (part.astype(np.int32) for part in np.triu_indices(self.n, 1))
        rows = [self.distance_units_from(i)[i + 1 :] for i in range(self.n)]
        return tail, tip, np.concatenate(rows)


def euclidean_metric(mass: Mass, *, epsilon: float, frame: float = 0.0) -> EuclideanMetric:
    """Euclidean distance in metres times `epsilon`, over the cells of a mass's grid."""
    require_positive("epsilon", epsilon)
    if epsilon * mass.grid.cell_m <= 2 * LEVEL_UNIT:
        raise InputError(
            f"'epsilon' must be larger on cells of {mass.grid.cell_m:g} m: neighbours would be at distance 0"
        )
    frame_cells = _frame_cells(mass.grid, frame)
    locations = uniform(mass.grid)
    nothing = np.zeros(0, np.int32)
    return EuclideanMetric(
        locations, mass_to_units(mass.cells).ravel(), Graph.from_edges(locations.n, nothing, nothing, nothing),
        np.zeros(locations.n, np.int32), "euclidean", frame_cells=frame_cells,
        l_top=1.0, info=dict(mass.info), epsilon=epsilon,
    )  # fmt: skip
