# SPDX-License-Identifier: Apache-2.0
"""The paper's builder: edges are added pass by pass until every ball up to l_top holds what is required.

Invariant: at every x the requirement holds below l_x. Raising l_x to req*(m(B_{l_x}(x))) keeps it, and adding an edge
(x, l_x, x') only shrinks distances, so it keeps it for everyone. Each pass reads the graph as it stood when the pass
began: vertices are independent, the pass runs on any number of threads, and the result is the same for all of them.

Two things are decided here that the paper leaves open. Raising l_x is repeated within a pass until it stands still
(`literal=True` does it once, as in the listing): edges become as long as they may be, and the ratio m(B_l)/req(l)
falls from 2.2 to 1.6. And once passes stop making progress, the few vertices left (near the border, where the paper
reports the same) may add 2, 4, 8, ... edges a pass.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import _kernels as kernels
from ..arrays import BoolArray, IndexArray, IntArray
from ..errors import MassError, require_choice
from ..locations import Locations
from ..progress import progress_bar
from ..store import table_of
from ..store.kept import KeptState
from .graph import Graph
from .threads import in_parts

#: How next-by-geodistance walks a ring of cells at equal whole distance: `fourfold` steps four places at a time, so
#: that opposite directions alternate (S, N, SE, NW, E, W, ...); `opposite` goes to and fro across the ring; `golden`
#: turns by the golden angle; `sequence` walks it.
STRATEGIES = ("fourfold", "opposite", "golden", "sequence")
_PASSES_OF_ONE_EDGE = 8
_MOST_EDGES = 256
_STALLED = 0.9
#: A stopped build loses at most this much and the pass that was under way.
_EVERY_S = 60.0


@dataclass
class PaperState:
    """All that a build needs to go on: written to a checkpoint after a pass, read by a build that was stopped."""

    level: IndexArray
    pointer: IntArray
    graph: Graph
    passes: int = 0
    cap: int = 1


class Checkpoint:
    """Keeps the state of a build now and then, for just these inputs; without a path it does nothing."""

    def __init__(self, path: str | os.PathLike[str] | None, options: dict[str, object], *inputs: object) -> None:
        self._kept, self._last = KeptState.at(path, "checkpoint", options, *inputs), time.monotonic()

    def read(self) -> PaperState | None:
        """The state to go on from, or None if there is none for these inputs."""
        found = self._kept.read()
        if found is None:
            return None
        content, tables = found
        edges = [np.array(tables["edges"][name]) for name in ("i", "j", "level")]
        level, pointer = (np.array(tables["vertices"][name]) for name in ("level", "pointer"))
        graph = Graph.from_edges(level.size, *edges)
        return PaperState(level.astype(np.int32), pointer.astype(np.int64), graph, content["passes"], content["cap"])

    def write(self, state: PaperState) -> None:
        """Keep the state, unless one was kept just now."""
        if time.monotonic() - self._last < _EVERY_S:
            return
        vertices = table_of({"level": state.level, "pointer": state.pointer})
        edges = table_of(dict(zip(("i", "j", "level"), state.graph.edges(), strict=True)))
        self._kept.write({"passes": state.passes, "cap": state.cap}, {"vertices": vertices, "edges": edges})
        self._last = time.monotonic()

    def done(self) -> None:
        """The build is complete: nothing needs to be kept."""
        self._kept.remove()


def candidate_order(radius: int, strategy: str) -> tuple[IndexArray, IndexArray]:
    """Offsets (rows, columns) of next-by-geodistance: ring by ring outwards, each ring in the strategy's order."""
    require_choice("strategy", strategy, STRATEGIES)
    k = np.arange(-radius, radius + 1)
    dr, dc = (part.ravel() for part in np.meshgrid(k, k, indexing="ij"))
    ring = np.floor(np.hypot(dr, dc)).astype(np.int64)
    keep = (ring > 0) & (ring <= radius)
    dr, dc, ring = dr[keep], dc[keep], ring[keep]
    angle = np.arctan2(dc, -dr) % (2 * math.pi)
    order = np.lexsort((angle, ring))
    place = np.arange(order.size) - np.searchsorted(ring[order], ring[order])
    count = np.bincount(ring)[ring[order]]
    turn = {
        "fourfold": (place % 4) * count + place // 4,
        "opposite": np.where(place < count // 2, 2 * place, 2 * (place - count // 2) + 1),
        "golden": (place * 0.6180339887498949 % 1) * count,
        "sequence": place,
    }[strategy]
    order = order[np.lexsort((place, turn, ring[order]))]
    return dr[order].astype(np.int32), dc[order].astype(np.int32)


def first_state(mass_units: IntArray, table: IntArray, fence: IndexArray) -> PaperState:
    """Before the first pass: no edges, levels from each location's own mass; fence locations count as done."""
    level = np.searchsorted(table, mass_units, side="right").astype(np.int32)
    level[fence > 0] = table.size
    empty = np.zeros(0, np.int32)
    return PaperState(
        level, np.zeros(mass_units.size, np.int64), Graph.from_edges(mass_units.size, empty, empty, empty)
    )


def build_paper_graph(
    locations: Locations,
    mass_units: IntArray,
    table: IntArray,
    fence: IndexArray,
    secret: BoolArray,
    *,
    strategy: str = "fourfold",
    literal: bool = False,
    state: PaperState | None = None,
    on_pass: Callable[[PaperState], None] | None = None,
    workers: int | None = None,
    progress: bool = False,
) -> Graph:
    """Run passes until every unfinished vertex lies in the frame."""
    rings = candidate_order(max(locations.grid.shape), strategy)
    state = first_state(mass_units, table, fence) if state is None else state
    buckets = 1 << int(table.size).bit_length()
    total = int(np.count_nonzero(secret & (fence == 0)))
    with progress_bar("build", total, show=progress) as bar:
        while True:
            left = np.flatnonzero(state.level < table.size).astype(np.int32)
            unfinished = int(np.count_nonzero(secret[left]))
            if state.passes > _PASSES_OF_ONE_EDGE:
                left = left[secret[left]]  # the frame need not be completed, only the locations that wait for it
            bar.update(total - unfinished, note=f"pass {state.passes}")
            if unfinished == 0:
                return state.graph.simplified()
            added = _one_pass(locations, mass_units, table, fence, left, buckets, rings, literal, state, workers)
            if added == 0:
                raise MassError(
                    "the requirement cannot be met: some locations have connected to all others they may reach"
                )
            still = int(np.count_nonzero(state.level[left] < table.size))
            if state.passes > _PASSES_OF_ONE_EDGE and still > _STALLED * left.size:
                state.cap = min(2 * state.cap, _MOST_EDGES)
            if on_pass is not None:
                on_pass(state)


def _one_pass(
    locations: Locations, mass_units: IntArray, table: IntArray, fence: IndexArray, left: IndexArray, buckets: int,
    rings: tuple[IndexArray, IndexArray], literal: bool, state: PaperState, workers: int | None,
) -> int:  # fmt: skip
    """Raise levels and add edges for the vertices that are left; returns how many edges were added or levels were
    finished."""
    graph, cap = state.graph, state.cap
    results = in_parts(
        lambda part: kernels.paper_pass(
            *graph.rows, mass_units, buckets, table, part, state.level, state.pointer, cap, literal,
            locations.owner, locations.row, locations.col, locations.size, fence, *rings,
        ),
        left,
        workers=workers,
    )  # fmt: skip
    tips = np.concatenate([chosen.ravel() for chosen, _ in results])
    levels = np.concatenate([level.ravel() for _, level in results])
    keep = tips >= 0
    tails = np.repeat(left, cap)[keep]
    state.graph = Graph(*kernels.merge_edges(*graph.rows, tails, tips[keep], levels[keep]))
    state.passes += 1
    return int(np.count_nonzero(keep)) + int(np.count_nonzero(state.level[left] >= table.size))
