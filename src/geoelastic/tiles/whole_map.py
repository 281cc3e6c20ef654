# SPDX-License-Identifier: Apache-2.0
"""What asks for all of a map in tiles: answered by the map in one piece that `whole` makes of it."""

from __future__ import annotations

from ..arrays import BoolArray, FloatArray, IndexArray, IntArray
from ..locations import Locations
from ..metric.graph import Graph
from ..metric.metric import Metric

__all__ = ["AllOfIt"]


class AllOfIt:
    """The part of `AnyMetric` that looks at every location; reads all tiles the first time that it is asked."""

    def whole(self) -> Metric:
        """All of the map in memory."""
        raise NotImplementedError

    @property
    def locations(self) -> Locations:
        return self.whole().locations

    @property
    def mass(self) -> FloatArray:
        """Mass of each location."""
        return self.whole().mass

    @property
    def mass_units(self) -> IntArray:
        return self.whole().mass_units

    @property
    def graph(self) -> Graph:
        return self.whole().graph

    @property
    def fence(self) -> IndexArray:
        return self.whole().fence

    @property
    def secret(self) -> BoolArray:
        """Whether each location may be a secret, i.e. lies outside the frame."""
        return self.whole().secret

    @property
    def scale(self) -> IndexArray | None:
        return self.whole().scale

    @property
    def place(self) -> IndexArray | None:
        return self.whole().place

    @property
    def xy(self) -> FloatArray:
        """Centres in metres east and north of the middle of the map, (n, 2)."""
        return self.whole().xy

    def edges(self) -> tuple[IndexArray, IndexArray, FloatArray]:
        """(i, j, level): the whole graph, each undirected edge once."""
        return self.whole().edges()

    def edge_units(self) -> tuple[IndexArray, IndexArray, IndexArray]:
        """The edges with their levels in whole units."""
        return self.whole().edge_units()

    def distance_units_from(self, i: int, limit: float | None = None) -> IndexArray:
        """Whole units from location i to every location; `UNREACHABLE` in place of infinite."""
        return self.whole().distance_units_from(i, limit)

    def distances_from(self, i: int, limit: float | None = None) -> FloatArray:
        """Levels from location i to every location, infinite where unreachable or beyond `limit`."""
        return self.whole().distances_from(i, limit)

    def ball(self, i: int, level: float) -> IntArray:
        """The locations within `level` of location i."""
        return self.whole().ball(i, level)
