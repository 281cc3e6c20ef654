# SPDX-License-Identifier: Apache-2.0
"""From a trace to fences: the recurrent places, and one irregular fence for each that holds the crowd asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import shapely

from ..area import Area
from ..errors import MassError, OutsideError
from .crowds import Crowd
from .places import Place
from .random_halving import RandomBelow, random_core, widened
from .shapes import cells_to_shape

CrowdOf = Callable[[Place], Crowd]


@dataclass(frozen=True, eq=False)
class SuggestedFence:
    """A fence and what its core holds. Of the trace it says only that a place of this kind is somewhere in the core."""

    label: str
    shape: Any
    core: Any
    area_km2: float
    holds: float
    unit: str

    def properties(self) -> dict[str, Any]:
        """What is written beside the shape."""
        return {
            "name": self.label,
            "kind": self.label,
            "area_km2": round(self.area_km2, 3),
            "holds": round(self.holds, 2),
            "unit": self.unit,
        }


def numbered(notes: Sequence[dict[str, Any]], taken: Iterable[Any] = ()) -> list[dict[str, Any]]:
    """Notes of fences with names that are different from each other and from those `taken`: home, home 2, home 3."""
    names = {str(name) for name in taken}
    result = []
    for note in notes:
        name, k = note["name"], 1
        while name in names:
            k += 1
            name = f"{note['name']} {k}"
        names.add(name)
        result.append(note | {"name": name})
    return result


def draw_fence(place: Place, crowd: Crowd, *, rng: RandomBelow | None = None) -> SuggestedFence:
    """A fence for one place; see `geoelastic.fences.random_halving` for what it does not give away."""
    core = random_core(crowd, place.lat, place.lon, rng=rng)
    fence = widened(core, crowd.margin_m / crowd.grid.cell_m)
    return SuggestedFence(
        label=place.label,
        shape=cells_to_shape(crowd.grid, fence),
        core=cells_to_shape(crowd.grid, core),
        area_km2=(crowd.grid.cell_m / 1000) ** 2 * int(fence.sum()),
        holds=float(crowd.cells[core].sum()),
        unit=crowd.unit,
    )


def suggest_fences(
    places: Sequence[Place],
    crowd_of: CrowdOf,
    *,
    keep: Iterable[tuple[Any, str | None]] = (),
    rng: RandomBelow | None = None,
) -> tuple[list[SuggestedFence], list[str]]:
    """Fences for the places, and notes: which places get none of their own, and which fences are one on a map.

    `keep`: shapes already in use, each with the label of its place if that is known. A place is not fenced twice,
    because two fences narrow it down to their intersection: not if it lies in a kept fence with its label or without
    one, nor if it lies deep in any fence, in the core of one just drawn or half of `margin_m` inside a kept one. At the
    rim of another place's fence it gets its own, since tracks are seen close by.
    """
    fences: list[SuggestedFence] = []
    notes: list[str] = []
    kept = list(keep)
    for place in places:
        point = shapely.Point(place.lon, place.lat)
        try:
            crowd = crowd_of(place)
            if any(_is_kept(shape, label, place, crowd.margin_m) for shape, label in kept):
                notes.append(f"{place.label}: inside a fence that is kept; no new one")
            elif any(fence.core.intersects(point) for fence in fences):
                notes.append(f"{place.label}: inside a fence drawn for another place; no second one")
            else:
                fences.append(draw_fence(place, crowd, rng=rng))
        except (MassError, OutsideError) as error:
            notes.append(f"{place.label}: no fence: {error}")
    shapes = [*((label or "a kept one", shape) for shape, label in kept), *((f.label, f.shape) for f in fences)]
    notes += [
        f"the fences of {name} and {other} overlap or touch: in a metric they are one"
        for (name, shape), (other, second) in combinations(shapes, 2)
        if shape.intersects(second)
    ]
    return fences, notes


def _is_kept(shape: Any, label: str | None, place: Place, margin_m: float) -> bool:
    if not shape.intersects(shapely.Point(place.lon, place.lat)):
        return False
    plane = Area.around(place.lat, place.lon, size_km=1)
    # its own place is at least the margin less a cell's diagonal inside, whatever it was called then
    border = shapely.transform(shape.boundary, lambda p: np.column_stack(plane.to_xy(p[:, 1], p[:, 0])))
    return label in (None, place.label) or bool(border.distance(shapely.Point(0, 0)) >= margin_m / 2)
