# SPDX-License-Identifier: Apache-2.0
"""The endpoint attack: where in a fence is the place, given where tracks vanish into it and come out of it?

Hassan, Hussain and Bates (Analysis of privacy protections in fitness tracking social networks, USENIX Security 2018)
fitted circles to the endpoints of tracks that were cut off around homes and found 95 % of moderately active users. Here
the adversary has more: the exact track outside the fence (as if nothing were noised there), the times, and the fence.
Estimators are kept apart, and an attack is as good as the estimator that does best over the whole population.
It is tried on many places, in our fences and in circles around them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import shapely
from scipy.optimize import least_squares

from ..area import Area
from ..arrays import BoolArray, FloatArray, IntArray
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
from .prior import metres_between

#: A shorter absence is a passage through the fence, and says nothing of the place.
_MIN_HIDDEN_S = 20 * 60
#: A track that broke off longer than this before the fence shows no entry.
_MAX_SILENCE_S = 5 * 60
#: The direction at an endpoint is that of the last stretch of this length.
_HEADING_M = 100.0
#: Candidate places inside the fence, for estimators that search it.
_CANDIDATES = 2500


@dataclass(frozen=True, eq=False)
class Endpoints:
    """What the adversary sees, in metres of a plane around the fence: for each entry or exit the endpoint of the track,
    the unit vector along the track *into* the fence, and the other end of that track."""

    fence: Any
    xy: FloatArray
    inward: FloatArray
    far: FloatArray

    def __len__(self) -> int:
        return len(self.xy)


def visible_endpoints(trace: Trace, fence: Any) -> tuple[Endpoints, Area]:
    """The endpoints of a trace hidden inside `fence` (a shape in degrees), and the plane they are in."""
    centre = fence.centroid
    plane = Area.around(centre.y, centre.x, size_km=100)
    shape = shapely.transform(fence, lambda lonlat: np.column_stack(plane.to_xy(lonlat[:, 1], lonlat[:, 0])))
    shapely.prepare(shape)
    x, y = plane.to_xy(trace.lat, trace.lon)
    known = np.isfinite(x) & np.isfinite(y)
    xy, time_s = np.column_stack([x, y])[known], trace.time_s[known]
    hidden = shapely.intersects_xy(shape, xy)
    edge = np.flatnonzero(np.diff(hidden.astype(np.int8)))
    rows = [row for before, after in _absences(edge, hidden, time_s) for row in _ends(xy, time_s, before, after)]
    table = np.array(rows, dtype=np.float64).reshape(-1, 6)
    return Endpoints(shape, table[:, :2], table[:, 2:4], table[:, 4:]), plane


def _absences(edge: IntArray, hidden: BoolArray, time_s: FloatArray) -> list[tuple[int, int]]:
    """(last visible fix before, first visible fix after) of every absence long enough to be a stay."""
    pairs = [(int(a), int(b) + 1) for a, b in pairwise(edge) if not hidden[a]]
    return [(before, after) for before, after in pairs if time_s[after] - time_s[before] >= _MIN_HIDDEN_S]


def _ends(xy: FloatArray, time_s: FloatArray, before: int, after: int) -> list[tuple[float, ...]]:
    rows = []
    for at, inner, step in ((before, before + 1, -1), (after, after - 1, 1)):
        if abs(time_s[inner] - time_s[at]) > _MAX_SILENCE_S:
            continue
        track = _track(xy, time_s, at, step)
        reach = np.hypot(*(track - track[0]).T)
        back = track[int(np.argmax(reach >= _HEADING_M))] if reach.max() >= _HEADING_M else track[-1]
        inward = track[0] - back
        length = float(np.hypot(*inward))
        if length > 0:
            rows.append((*track[0], *inward / length, *track[-1]))
    return rows


def _track(xy: FloatArray, time_s: FloatArray, at: int, step: int) -> FloatArray:
    """The visible fixes from the endpoint outwards until the track breaks off or rests (its other end)."""
    stop = at
    limit = len(xy) if step > 0 else -1
    while stop + step != limit and abs(time_s[stop + step] - time_s[stop]) <= _MAX_SILENCE_S:
        stop += step
        if abs(time_s[stop] - time_s[at]) > 2 * 3600:
            break
    return xy[at : stop + 1] if step > 0 else xy[stop : at + 1][::-1]


def attack(trace: Trace, fence: Any, place: tuple[float, float]) -> dict[str, float]:
    """Metres between each estimator's guess and the true `place` (lat, lon)."""
    seen, plane = visible_endpoints(trace, fence)
    truth = np.array(plane.to_xy(*place), dtype=np.float64)
    return {name: float(np.hypot(*(guess(seen) - truth))) for name, guess in ESTIMATORS.items()}


def _centroid(seen: Endpoints) -> FloatArray:
    return np.asarray(shapely.get_coordinates(seen.fence.centroid)[0], dtype=np.float64)


def _mean(seen: Endpoints) -> FloatArray:
    return np.asarray(seen.xy.mean(axis=0)) if len(seen) else _centroid(seen)


def _circle(seen: Endpoints) -> FloatArray:
    """The centre of the circle through the endpoints (robust least squares of the radius): needs no fence at all."""
    if len(seen) < 3:
        return _mean(seen)
    start = np.append(_mean(seen), np.hypot(*(seen.xy - _mean(seen)).T).mean())

    def misfit(circle: FloatArray) -> FloatArray:
        return np.asarray(np.hypot(*(seen.xy - circle[:2]).T) - circle[2])

    fit = least_squares(misfit, start, loss="soft_l1", f_scale=20.0, max_nfev=200)
    near = np.hypot(*(fit.x[:2] - _mean(seen))) <= 20 * start[2]  # points on a line fit an endless circle
    return np.asarray(fit.x[:2]) if near else _mean(seen)


def _search(seen: Endpoints, cost: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """The candidate place inside the fence with the least total cost over the endpoints."""
    if not len(seen):
        return _centroid(seen)
    x_min, y_min, x_max, y_max = seen.fence.bounds
    step = max(5.0, np.sqrt((x_max - x_min) * (y_max - y_min) / _CANDIDATES))
    x, y = np.meshgrid(np.arange(x_min, x_max + step, step), np.arange(y_min, y_max + step, step))
    inside = shapely.intersects_xy(seen.fence, x, y)
    places = np.column_stack([x[inside], y[inside]]) if inside.any() else _centroid(seen)[None]
    return np.asarray(places[int(np.argmin(cost(places)))], dtype=np.float64)


def _median(seen: Endpoints) -> FloatArray:
    """The place with the least total distance to the endpoints."""
    return _search(seen, lambda h: metres_between(h, seen.xy).sum(axis=1))


def _headings(seen: Endpoints) -> FloatArray:
    """The place to which the tracks point when they vanish: least total distance to the rays."""

    def cost(h: FloatArray) -> FloatArray:
        to = h[:, None] - seen.xy
        ahead = np.maximum(0.0, np.einsum("pek,ek->pe", to, seen.inward))
        return np.asarray(np.hypot(*np.moveaxis(to - ahead[..., None] * seen.inward, -1, 0)).sum(axis=1))

    return _search(seen, cost)


def _detour(seen: Endpoints) -> FloatArray:
    """The place for which the ways through the observed endpoints are least of a detour from where the tracks end."""
    return _search(seen, lambda h: (metres_between(h, seen.xy) - metres_between(h, seen.far)).sum(axis=1))


ESTIMATORS: dict[str, Callable[[Endpoints], FloatArray]] = {
    "centre of the fence": _centroid,
    "circle through the endpoints": _circle,
    "mean of the endpoints": _mean,
    "median of the endpoints": _median,
    "where the headings meet": _headings,
    "least detour": _detour,
}


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
