# SPDX-License-Identifier: Apache-2.0
"""From a trace to fences: the recurrent places, and one irregular fence for each that holds the crowd asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import shapely

from ..errors import MassError, OutsideError
from .choice import Draws, random_core, widened
from .crowds import Crowd
from .places import Place
from .shapes import cells_to_shape

__all__ = ["CrowdOf", "SuggestedFence", "draw_fence", "suggest_fences"]

CrowdOf = Callable[[Place], Crowd]


@dataclass(frozen=True, eq=False)
class SuggestedFence:
    """A fence and what it holds. Nothing of the trace is in it but that a place of this kind is somewhere inside."""

    label: str
    shape: Any
    area_km2: float
    holds: float
    unit: str

    def properties(self) -> dict[str, Any]:
        """What is written beside the shape."""
        return {
            "name": self.label,
            "area_km2": round(self.area_km2, 3),
            "holds": round(self.holds, 2),
            "unit": self.unit,
        }


def draw_fence(place: Place, crowd: Crowd, *, rng: Draws | None = None) -> SuggestedFence:
    """A fence for one place; see `geoelastic.fences.choice` for what it does not give away."""
    core = random_core(crowd, place.lat, place.lon, rng=rng)
    fence = widened(core, crowd.margin_m / crowd.grid.cell_m)
    area_km2 = (crowd.grid.cell_m / 1000) ** 2 * int(fence.sum())
    return SuggestedFence(
        place.label, cells_to_shape(crowd.grid, fence), area_km2, float(crowd.cells[core].sum()), crowd.unit
    )


def suggest_fences(
    places: Sequence[Place], crowd_of: CrowdOf, *, keep: Iterable[Any] = (), rng: Draws | None = None
) -> tuple[list[SuggestedFence], list[str]]:
    """Fences for the places, and a note for each place that gets none of its own.

    A place inside a fence of `keep` (shapes that are already in use) or inside one just drawn is covered: drawing again
    for the same place would narrow it down to the intersection.
    """
    fences: list[SuggestedFence] = []
    notes: list[str] = []
    kept = list(keep)
    for place in places:
        point = shapely.Point(place.lon, place.lat)
        if any(shape.intersects(point) for shape in kept):
            notes.append(f"{place.label}: inside a fence that is kept; no new one")
        elif any(fence.shape.intersects(point) for fence in fences):
            notes.append(f"{place.label}: inside a fence drawn for another place; no second one")
        else:
            try:
                fences.append(draw_fence(place, crowd_of(place), rng=rng))
            except (MassError, OutsideError) as error:
                notes.append(f"{place.label}: no fence: {error}")
    return fences, notes
