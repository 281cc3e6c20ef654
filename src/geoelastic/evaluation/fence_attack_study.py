# SPDX-License-Identifier: Apache-2.0
"""Fences put to the test: the endpoint attack on many places, in our fences and in circles around them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import shapely

from ..area import Area
from ..errors import InputError, require_count
from ..fences import read_fences
from ..fences.places import Place, find_places
from ..fences.random_halving import RandomBelow
from ..fences.shapes import disc
from ..fences.suggest import CrowdOf, draw_fence
from ..randomness import SeededRandom
from ..release.fence_request import crowd_for
from ..sources.traces import Trace, read_traces
from .commuters import synthetic_commuters
from .fence_attack import ESTIMATORS, attack

__all__ = [
    "Case",
    "attack_request",
    "compare_with_circle",
    "drawn_fences",
    "given_fences",
    "known_cases",
    "trace_cases",
]

#: Fixes are no better than this: a guess this near is as good as an exact one.
_EXACT_M = 10.0
#: Our fences pass if they are this many times harder than circles.
_CLEARLY = 3.0

Case = tuple[Trace, Place]
FenceOf = Callable[[Place], Any]


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


def drawn_fences(crowd_of: CrowdOf, *, rng: RandomBelow | None = None) -> FenceOf:
    """A fence drawn anew for every place that is asked for."""
    return lambda place: draw_fence(place, crowd_of(place), rng=rng).shape


def given_fences(shapes: Sequence[Any]) -> FenceOf:
    """Of these fences the first that holds the place; None for a place in none of them."""
    return lambda place: next((s for s in shapes if s.intersects(shapely.Point(place.lon, place.lat))), None)


def compare_with_circle(cases: Sequence[Case], fence_of: FenceOf, *, draws: int = 1) -> dict[str, Any]:
    """The endpoint attack on fences and on circles of the same areas centred on the places.

    Every case is attacked `draws` times; places without a fence are left out. The result has the median error in metres
    and the share of guesses within 100 m for each estimator; the adversary's figure is that of the best estimator for
    each kind of fence, `times_harder` is the ratio of the two, and `ok` says whether it is at least 3.
    """
    errors: dict[str, list[dict[str, float]]] = {"circle": [], "ours": []}
    areas = []
    for trace, place in [case for _ in range(require_count("draws", draws)) for case in cases]:
        fence = fence_of(place)
        if fence is None:
            continue
        areas.append(_area_m2(fence))
        circle = disc(place.lat, place.lon, math.sqrt(areas[-1] / math.pi))
        for kind, shape in (("ours", fence), ("circle", circle)):
            errors[kind].append(attack(trace, shape, (place.lat, place.lon)))
    if not areas:
        raise InputError(f"at least one place must lie in a fence, got {len(cases)} places outside all of them")
    table = {
        kind: {name: _figures([row[name] for row in rows]) for name in ESTIMATORS} for kind, rows in errors.items()
    }
    best = {kind: min(figures.values(), key=lambda f: f["median_m"]) for kind, figures in table.items()}
    harder = max(_EXACT_M, best["ours"]["median_m"]) / max(_EXACT_M, best["circle"]["median_m"])
    return {
        "attacks": len(areas),
        "median_area_km2": float(np.median(areas)) / 1e6,
        "estimators": table,
        "best": best,
        "times_harder": harder,
        "ok": harder >= _CLEARLY,
    }


def _area_m2(fence: Any) -> float:
    plane = Area.around(fence.centroid.y, fence.centroid.x, size_km=1)
    return float(shapely.transform(fence, lambda p: np.column_stack(plane.to_xy(p[:, 1], p[:, 0]))).area)


def _figures(errors: Sequence[float]) -> dict[str, float]:
    return {"median_m": float(np.median(errors)), "within_100_m": float(np.mean(np.array(errors) <= 100))}


def attack_request(
    traces: Sequence[str], *, fences: Sequence[str], commuters: int, draws: int, seed: int, user: str | None,
    lat_column: str | None, lon_column: str | None, timezone: str | None, min_days: int, **crowd: Any,
) -> dict[str, Any]:  # fmt: skip
    """The attack on the places of `traces`, or of made-up commuters, in given `fences` or in some that are drawn."""
    if traces:
        found = read_traces(*traces, user=user, lat=lat_column, lon=lon_column)
        cases = trace_cases(found, timezone=timezone, min_days=min_days)
    else:
        cases = known_cases(commuters, seed=seed)
    fence_of = given_fences(read_fences(fences)) if fences else drawn_fences(crowd_for(**crowd), rng=SeededRandom(seed))
    result = compare_with_circle(cases, fence_of, draws=draws)
    return result | {"seed": seed, "text": _attack_table(result)}


def _attack_table(result: dict[str, Any]) -> str:
    def figures(row: dict[str, float]) -> str:
        return f"{row['median_m']:6.0f} m {row['within_100_m']:6.0%}"

    circle, ours = result["estimators"]["circle"], result["estimators"]["ours"]
    lines = [
        f"{result['attacks']} attacks, fences of {result['median_area_km2']:.2f} km²; median error, share within 100 m",
        f"{'the adversary guesses':<30} {'centred circle':>16} {'the fence':>16}",
        *(f"{name:<30} {figures(circle[name]):>16} {figures(ours[name]):>16}" for name in ours),
        f"{'the best of these':<30} {figures(result['best']['circle']):>16} {figures(result['best']['ours']):>16}",
        f"the fences are {result['times_harder']:.0f} times harder",
    ]
    return "\n".join(lines)
