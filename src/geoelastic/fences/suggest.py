# SPDX-License-Identifier: Apache-2.0
"""From a trace to fences: the recurrent places, and one irregular fence for each that holds the crowd asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from ..errors import InputError, MassError, OutsideError, require_count
from ..sources.traces import Trace
from .attack import ESTIMATORS, attack
from .choice import Draws, random_core, widened
from .commuters import synthetic_commuters
from .crowds import Crowd
from .places import Place, find_places
from .shapes import cells_to_shape, disc

__all__ = ["SuggestedFence", "compare_with_circle", "draw_fence", "known_cases", "suggest_fences", "trace_cases"]

#: Fixes are no better than this: a guess this near is as good as an exact one.
_EXACT_M = 10.0
#: Our fences pass if they are this many times harder than circles.
_CLEARLY = 3.0

CrowdOf = Callable[[Place], Crowd]
Case = tuple[Trace, Place]


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


def known_cases(count: int, *, seed: int) -> list[Case]:
    """Homes and workplaces of made-up commuters."""
    return [
        (person.trace, Place(label, *place, days=0, nights=0, workdays=0))
        for person in synthetic_commuters(count, seed=seed)
        for label, place in (("home", person.home), ("work", person.work))
    ]


def trace_cases(traces: Sequence[Trace], *, timezone: str | None = None, min_days: int = 3) -> list[Case]:
    """Homes and workplaces found in real traces (where somebody really lives is not known better than that)."""
    found = [(trace, place) for trace in traces for place in find_places(trace, timezone=timezone, min_days=min_days)]
    cases = [(trace, place) for trace, place in found if place.label in ("home", "work")]
    if not cases:
        raise InputError(f"the traces must show a home or a workplace to attack, got {len(found)} other places")
    return cases


def compare_with_circle(
    cases: Sequence[Case], crowd_of: CrowdOf, *, draws: int = 1, rng: Draws | None = None
) -> dict[str, Any]:
    """The endpoint attack on our fences and on circles of the same areas centred on the places.

    Every case is attacked `draws` times with fences drawn anew. The result has the median error in metres and the share
    of guesses within 100 m for each estimator; the adversary's figure is that of the best estimator for each kind of
    fence, `times_harder` is the ratio of the two, and `ok` says whether it is at least 3.
    """
    errors: dict[str, list[dict[str, float]]] = {"circle": [], "ours": []}
    areas = []
    for trace, place in cases:
        for _ in range(require_count("draws", draws)):
            fence = draw_fence(place, crowd_of(place), rng=rng)
            circle = disc(place.lat, place.lon, 1000 * math.sqrt(fence.area_km2 / math.pi))
            areas.append(fence.area_km2)
            errors["ours"].append(attack(trace, fence.shape, (place.lat, place.lon)))
            errors["circle"].append(attack(trace, circle, (place.lat, place.lon)))
    table = {
        kind: {name: _figures([row[name] for row in rows]) for name in ESTIMATORS} for kind, rows in errors.items()
    }
    best = {kind: min(figures.values(), key=lambda f: f["median_m"]) for kind, figures in table.items()}
    harder = best["ours"]["median_m"] / max(_EXACT_M, best["circle"]["median_m"])
    return {
        "attacks": len(areas),
        "median_area_km2": float(np.median(areas)),
        "estimators": table,
        "best": best,
        "times_harder": harder,
        "ok": harder >= _CLEARLY,
    }


def _figures(errors: Sequence[float]) -> dict[str, float]:
    return {"median_m": float(np.median(errors)), "within_100_m": float(np.mean(np.array(errors) <= 100))}
