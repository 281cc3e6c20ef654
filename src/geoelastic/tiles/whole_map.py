# SPDX-License-Identifier: Apache-2.0
"""What asks for all of a map in tiles: answered by the map in one piece that `whole` makes of it."""

from __future__ import annotations

from typing import Any

from ..arrays import BoolArray, FloatArray, IndexArray, IntArray
from ..locations import Locations
from ..metric.graph import Graph
from ..metric.metric import Metric


class _OfWhole:
    """What the map in one piece has under the same name."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, tiled: AllOfIt | None, owner: type | None = None) -> Any:
        return self if tiled is None else getattr(tiled.whole(), self._name)


class AllOfIt:
    """The part of `AnyMetric` that looks at every location; reads all tiles the first time that it is asked."""

    locations: Locations = _OfWhole()  # type: ignore[assignment]
    mass: FloatArray = _OfWhole()  # type: ignore[assignment]
    mass_units: IntArray = _OfWhole()  # type: ignore[assignment]
    graph: Graph = _OfWhole()  # type: ignore[assignment]
    fence: IndexArray = _OfWhole()  # type: ignore[assignment]
    secret: BoolArray = _OfWhole()  # type: ignore[assignment]
    scale: IndexArray | None = _OfWhole()  # type: ignore[assignment]
    place: IndexArray | None = _OfWhole()  # type: ignore[assignment]
    xy: FloatArray = _OfWhole()  # type: ignore[assignment]

    def whole(self) -> Metric:
        """All of the map in memory."""
        raise NotImplementedError

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
