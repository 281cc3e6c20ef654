# SPDX-License-Identifier: Apache-2.0
"""`Part`: what a search sees of a map, in one piece or in tiles, and what is known of the rest.

A map in memory is one part, all of it. Of a map in tiles a part is a window, and its paths are the paths of the map
that stay inside. All that leave pass through its rim, so from location i every distance below `reach[i]`, the distance
to the rim, is that of the whole map. A search that comes to the rim is begun again in a wider part.

What a search has not settled is bounded without being opened. A path to it leaves the settled part through a location
that the search has touched, at F + 1 or beyond, and pays at least `slope` for every half cell between the places of
locations from there on. So what lies in a block whose places keep a gap g from the touched ones is at least F + 1 +
slope x g away. The bound decides how far a draw must look, never what it gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from ..arrays import BoolArray, FloatArray, IndexArray, IntArray
from ..errors import InputError
from .graph import Graph
from .measures import measure_digest


@dataclass(frozen=True, eq=False)
class Blocks:
    """The whole map in blocks: `units` of measure in each, and the `box` (least and largest y, least and largest x, in
    half cells) that holds the places of its locations. `block` and `at` (y, x): of each location of a part."""

    units: IntArray
    box: FloatArray
    slope: float
    block: IndexArray
    at: FloatArray


@dataclass(frozen=True, eq=False)
class Part:
    """Locations, the paths among them and their measure. `numbers`: of each in the map, ascending (None: its own)."""

    graph: Graph
    measure: IntArray
    numbers: IntArray | None = None
    rim: BoolArray | None = None
    blocks: Blocks | None = None

    @cached_property
    def reach(self) -> IndexArray | None:
        """The distance of each location to the nearest of the rim; None without one."""
        if self.rim is None or not self.rim.any():
            return None
        return self.graph.distances_from_any(np.flatnonzero(self.rim))

    def local(self, number: int) -> int:
        """Where a location of the map stands here."""
        return number if self.numbers is None else int(np.searchsorted(self.numbers, number))

    def locals(self, numbers: IntArray) -> IntArray:
        """The same for many."""
        return numbers if self.numbers is None else np.searchsorted(self.numbers, numbers)

    def number(self, vertex: int) -> int:
        """The number in the map of a location here."""
        return vertex if self.numbers is None else int(self.numbers[vertex])

    def sees(self, vertex: int) -> int:
        """Up to how many units all distances from a location are those of the whole map."""
        return 2**62 if self.reach is None else int(self.reach[vertex]) - 1

    @cached_property
    def _components(self) -> tuple[IntArray, IntArray]:
        """The component of each location and the measure of each component."""
        parts = self.graph.components
        totals = np.zeros(int(parts.max()) + 1, np.int64)
        np.add.at(totals, parts, self.measure)
        return parts, totals

    def total(self, vertex: int) -> int:
        """At least the measure of all that can be reached from a location; exactly that, if this is the whole map."""
        if self.blocks is not None:
            return int(self.blocks.units.sum())
        parts, totals = self._components
        return require_reach(int(totals[parts[vertex]]))


class Parts(Protocol):
    """The parts of a map that reports are drawn from."""

    def around(self, i: int, wider: int = 0) -> Part:
        """A part with location i well inside it; the larger `wider`, the wider, until it is all of the map."""
        ...

    def together(self, indices: IntArray) -> list[IntArray]:
        """Positions of `indices` that have the same part from now on, each once."""
        ...

    def measure(self) -> IntArray:
        """The output measure of every location of the map."""
        ...

    def measure_digest(self) -> str:
        """The name of that measure (`measures.measure_digest`), without reading all of the map if it is known."""
        ...


class OnePart:
    """A map whose only part is all of it."""

    def __init__(self, graph: Graph, measure: IntArray) -> None:
        self._part = Part(graph, measure)

    def around(self, i: int, wider: int = 0) -> Part:
        return self._part

    def together(self, indices: IntArray) -> list[IntArray]:
        return [np.arange(indices.size)]

    def measure(self) -> IntArray:
        return self._part.measure

    def measure_digest(self) -> str:
        return measure_digest(self._part.measure)


def require_reach(measure: int) -> int:
    """The measure of what can be reported from a location, which must be something."""
    if measure == 0:
        raise InputError(
            "nothing that can be reached from this location may be reported: 'output' or 'never' rule it out"
        )
    return measure
