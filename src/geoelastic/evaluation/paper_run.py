# SPDX-License-Identifier: Apache-2.0
"""The paper's evaluation as its authors ran it: two programs, each with its own cut of the mechanism.

The first (github.com/paracetamolo/elastic-mechanism) builds the metric and averages the noise of every cell over the
*whole map*, with reports beyond 2 l_top dropped: from it come the utility and planar Laplace's epsilons. It then hands
the distances between the cells of a 10 km *box* to the second (samples/elastic of github.com/chatziko/libqif), which
normalises exp(-d/2) inside the box and computes the adversary's error there. In that program

* secrets, reports and guesses are cells: a place lies in the middle of its cell, and the Euclidean adversary may guess
  any cell of the box, whether it holds a place or not;
* a cell with k places is guessed right with 1/k;
* planar Laplace's reports outside the box go to the nearest cell of its border.

So utility and adversary belong to two different mechanisms, neither of which has a guarantee: this is for comparison
with the paper's figures and for nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..arrays import FloatArray
from ..locations import Grid
from ..metric import AnyMetric
from .baselines import boxed_laplace_channel, laplace_channel
from .channel import Channel
from .elastic_channel import DistanceTable, cells_in, paper_channel
from .prior import Prior
from .study_areas import StudyArea


@dataclass(frozen=True, eq=False)
class AsRun:
    """What the two programs saw: the channel that gives the utility, and the one that the adversary sees, who may guess
    any of its outputs; `places` in each cell. (None: he guesses places themselves, as everywhere else.)"""

    prior: Prior
    places: FloatArray | None
    utility: Channel
    adversary: Channel


def cell_prior(prior: Prior, grid: Grid) -> tuple[Prior, FloatArray]:
    """The prior over cells, each in the middle of its cell, and the number of places in each."""
    cells, cell_of = np.unique(prior.cell, return_inverse=True)
    entries = (np.ones(prior.n_places), (np.arange(prior.n_places), cell_of))
    together = sparse.csr_array(entries, shape=(prior.n_places, len(cells)))
    xy = np.column_stack(grid.cell_to_xy(*np.divmod(cells, grid.cols)))
    merged = Prior(xy, cells, prior.weights @ together, sparse.csr_array(prior.users @ together), prior.info)
    return merged, np.bincount(cell_of).astype(np.float64)


def elastic_as_run(table: DistanceTable, prior: Prior, area: StudyArea) -> AsRun:
    """The elastic mechanism: utility over the whole map, adversary in the box; both cut at 2 l_top."""
    merged, places = cell_prior(prior, table.metric.grid)
    of_cells = table.for_places(merged)
    name = "as the paper's evaluation was run (no guarantee)"
    return AsRun(
        merged, places, paper_channel(of_cells, merged, name=name), paper_channel(of_cells, merged, area, name=name)
    )


def laplace_as_run(metric: AnyMetric, prior: Prior, area: StudyArea, epsilon: float) -> AsRun:
    """Planar Laplace: utility without borders, the adversary sees reports moved into the box."""
    merged, places = cell_prior(prior, metric.grid)
    name = "planar Laplace, utility of 'paper-run'"
    boxed = boxed_laplace_channel(merged, metric.grid, epsilon, cells_in(metric, area), name=name)
    return AsRun(merged, places, laplace_channel(merged, metric.grid, epsilon, name=name), boxed)
