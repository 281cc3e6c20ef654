# SPDX-License-Identifier: Apache-2.0
"""The paper's second suggestion: build parts of the map by themselves, merge their edges, and run again over the whole.

Each part leaves its own frame uncompleted, and the run over the whole map completes it. Merging is sound: levels start
again from each location's own mass, and edges only shrink distances.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import IndexArray, IntArray
from ..locations import Grid, Locations, uniform
from .graph import Graph
from .paper import PaperState, build_paper_graph, first_state

__all__ = ["state_from_submaps"]


def state_from_submaps(
    locations: Locations, mass_units: IntArray, table: IntArray, fence: IndexArray, *, parts: int, frame: float,
    strategy: str, literal: bool, workers: int | None, progress: bool,
) -> PaperState:  # fmt: skip
    """The state from which `build_paper_graph` goes on: parts x parts submaps of a uniform grid, merged."""
    grid = locations.grid
    number = np.arange(locations.n).reshape(grid.shape)
    ends: list[tuple[IndexArray, IndexArray, IndexArray]] = []
    for rows in np.array_split(np.arange(grid.rows), parts):
        for cols in np.array_split(np.arange(grid.cols), parts):
            whole = number[np.ix_(rows, cols)].ravel()
            if mass_units[whole][fence[whole] == 0].sum() < table[-1]:
                continue
            part = uniform(Grid.of_shape((rows.size, cols.size), grid.cell_m, (grid.area.lat, grid.area.lon)))
            secret = part.inside(max(1, math.ceil(frame * min(rows.size, cols.size))))
            graph = build_paper_graph(
                part, mass_units[whole], table, fence[whole], secret, strategy=strategy, literal=literal,
                workers=workers, progress=progress,
            )  # fmt: skip
            tail, tip, weight = graph.edges()
            ends.append((whole[tail].astype(np.int32), whole[tip].astype(np.int32), weight))
    state = first_state(mass_units, table, fence)
    if ends:
        state.graph = Graph.from_edges(locations.n, *(np.concatenate(column) for column in zip(*ends, strict=True)))
    return state
