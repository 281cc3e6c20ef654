# SPDX-License-Identifier: Apache-2.0
"""Running an audit: on a table of rows, or by calling the mechanism at places of the auditor's choice.

Samples of reports from two places bound the loss between them from below: an event A with P(A) = p from one place and q
from the other shows a loss of at least ln(p/q). One half of each sample chooses the event (half-planes and discs along
the line between the places, and single outputs), the other half counts it; exact binomial bounds (Clopper and Pearson)
on both counts then give a bound that holds with the stated confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv

from ...arrays import BoolArray, FloatArray
from ...errors import InputError, require_count
from ...randomness import RandomSource
from ...reports.locate import Placement
from .audited_claims import AuditedClaim, Pair
from .findings import ALPHA, AuditResult, Bound, Draws, Finding, judge

_LEAST_ROWS = 200

Many = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
Sample = tuple[str, Pair, FloatArray, FloatArray]


def audit(
    subject: Any,
    claim: AuditedClaim,
    *,
    draws: int = 20_000,
    alpha: float = ALPHA,
    sticky: bool = False,
    rng: RandomSource | None = None,
) -> AuditResult:
    """Audit a mechanism, or any function (lat, lon) -> (lat, lon), against a claim by calling it.

    `draws` reports are asked for at every place and at every partner of it, then a short walk is reported one place
    at a time, which is where caches show. With `sticky` the claim is that a place always gives the same report.
    """
    require_count("draws", draws)
    many, one = _callers(subject, rng)
    walk = _walk(claim, one)
    findings = claim.in_order(walk)
    if sticky:
        repeats = Draws(*np.array([(p.lat, p.lon, *one(p.lat, p.lon)) for _ in range(5) for p in claim.places()]).T)
        return _result(claim, [*findings, _stickiness(repeats)], [], len(walk), alpha)
    samples: list[Sample] = []
    rows: list[Draws] = []
    for place in claim.places():
        here = _at(many, place.lat, place.lon, draws)
        rows.append(here)
        for pair in claim.pairs(place):
            there = _at(many, pair.other.lat, pair.other.lon, draws)
            away = Draws(here.lat, here.lon, there.lat2, there.lon2)
            samples.append((place.name, pair, here.noise_m, away.noise_m))
            rows.append(there)
    all_rows = Draws(*(np.concatenate([getattr(r, name) for r in rows]) for name in ("lat", "lon", "lat2", "lon2")))
    findings += claim.findings(all_rows)
    return _result(claim, findings, samples, len(all_rows) + len(walk), alpha)


def audit_table(
    lat: npt.ArrayLike,
    lon: npt.ArrayLike,
    reported_lat: npt.ArrayLike,
    reported_lon: npt.ArrayLike,
    claim: AuditedClaim,
    *,
    alpha: float = ALPHA,
    sticky: bool = False,
) -> AuditResult:
    """Audit rows of (true, reported) places, in the order in which they were made."""
    columns = [np.asarray(values, dtype=np.float64) for values in (lat, lon, reported_lat, reported_lon)]
    if len({c.shape for c in columns}) != 1 or columns[0].ndim != 1:
        raise InputError("true and reported places must be four rows of equal length")
    if not all(np.all(np.isfinite(c)) for c in columns):
        raise InputError("true and reported places must be numbers in every row; leave out the others")
    if not all(np.all(np.abs(c) <= bound) for c, bound in zip(columns, (90, 360, 90, 360), strict=True)):
        raise InputError("places must be (lat, lon) in degrees with lat in [-90, 90] and lon in [-180, 180]")
    draws = Draws(*columns)
    if len(draws) < _LEAST_ROWS:
        raise InputError(f"an audit must have at least {_LEAST_ROWS} rows, got {len(draws)}")
    findings: list[Finding] = []
    if sticky:
        findings.append(_stickiness(draws))
        _, first = np.unique(np.column_stack(columns[:2]), axis=0, return_index=True)
        draws = draws.take(np.sort(first))
    findings += claim.in_order(draws) + claim.findings(draws)
    return _result(claim, findings, list(claim.sample_pairs(draws)), len(columns[0]), alpha)


def _result(
    claim: AuditedClaim, findings: list[Finding], samples: list[Sample], draws: int, alpha: float
) -> AuditResult:
    if not 0 < alpha < 1:
        raise InputError(f"'alpha' must be a probability in (0, 1), got {alpha!r}")
    bounds = []
    for where, pair, first, second in samples:
        lower, p, event = loss_bound(first, second, pair.towards_m, pair.claimed, alpha / len(samples))
        bounds.append(Bound(where, pair.direction, pair.distance_m, pair.claimed, lower, p, event))
        detail = (
            f"the loss {pair.distance_m:.0f} m {pair.direction} is at least {lower:.3f}, claimed {pair.claimed:.3f}"
        )
        findings.append(Finding("loss", where, detail, p))
    return AuditResult(claim.statement(), draws, alpha, judge(findings, alpha), tuple(bounds))


def _callers(subject: Any, rng: RandomSource | None) -> tuple[Many, Callable[[float, float], tuple[float, float]]]:
    """How to ask for many reports at once and for a single one."""
    single = getattr(subject, "sanitize", subject)
    if not callable(single):
        raise InputError(f"an audit needs a mechanism or a function of (lat, lon), got a {type(subject).__name__}")

    def one(lat: float, lon: float) -> tuple[float, float]:
        place = single(lat, lon) if rng is None else single(lat, lon, rng=rng)
        return float(place[0]), float(place[1])

    def loop(lat: FloatArray, lon: FloatArray) -> tuple[FloatArray, FloatArray]:
        places = np.array([one(float(a), float(b)) for a, b in zip(lat, lon, strict=True)])
        return places[:, 0], places[:, 1]

    if hasattr(subject, "sanitize_many"):
        return lambda lat, lon: subject.sanitize_many(lat, lon, rng=rng), one
    if hasattr(subject, "sample_cells"):
        placement = Placement(subject, "error")

        def batch(lat: FloatArray, lon: FloatArray) -> tuple[FloatArray, FloatArray]:
            reports = placement.report(lat, lon, rng=rng)
            return reports.lat, reports.lon

        return batch, one
    return loop, one


def _at(many: Many, lat: float, lon: float, n: int) -> Draws:
    lats, lons = np.full(n, lat), np.full(n, lon)
    return _draws(lats, lons, many(lats, lons))


def _walk(claim: AuditedClaim, one: Callable[[float, float], tuple[float, float]]) -> Draws:
    """Reports along the claim's walk, one call a place."""
    lat, lon = claim.walk()
    return _draws(lat, lon, np.array([one(float(a), float(b)) for a, b in zip(lat, lon, strict=True)]).T)


def _draws(lat: FloatArray, lon: FloatArray, reported: Any) -> Draws:
    lat2, lon2 = (np.asarray(values, dtype=np.float64) for values in reported)
    if not (np.all(np.abs(lat2) <= 90) and np.all(np.abs(lon2) <= 360)):
        raise InputError("every report must be a (lat, lon) in degrees, got one that is not")
    return Draws(lat, lon, lat2, lon2)


def _stickiness(draws: Draws) -> Finding:
    """Every place has one report."""
    _, place = np.unique(np.column_stack([draws.lat, draws.lon]), axis=0, return_inverse=True)
    _, pair = np.unique(np.column_stack([place, draws.lat2, draws.lon2]), axis=0, return_inverse=True)
    extra = int(pair.max()) - int(place.max())
    detail = f"{extra} reports differ from an earlier one of the same place"
    return Finding("dead cache", "all reports", detail, 0.0 if extra else 1.0)


Event = tuple[str, Callable[[FloatArray], BoolArray]]

_QUANTILES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
_LEAST_P = 1e-300


def loss_bound(
    first: FloatArray, second: FloatArray, towards: tuple[float, float], claimed: float, confidence_alpha: float
) -> tuple[float, float, str]:
    """(lower bound, p-value of the claim, event) from reports in metres (n, 2) around the first place.

    `towards` is the second place. The p-value is the least alpha at which the bound exceeds `claimed`.
    """
    half, half2 = len(first) // 2, len(second) // 2
    best: tuple[float, Event] | None = None
    for event in _events(first[:half], np.array(towards)):
        hits = int(np.count_nonzero(event[1](first[:half]))), int(np.count_nonzero(event[1](second[:half2])))
        score = _bound(hits[0], half, hits[1], half2, confidence_alpha)
        if best is None or score > best[0]:
            best = score, event
    if best is None:
        return 0.0, 1.0, "none"
    name, event_of = best[1]
    n, n2 = len(first) - half, len(second) - half2
    hits = int(np.count_nonzero(event_of(first[half:]))), int(np.count_nonzero(event_of(second[half2:])))
    lower = _bound(hits[0], n, hits[1], n2, confidence_alpha)
    return max(0.0, lower), _p_value(hits[0], n, hits[1], n2, claimed), name


def _events(first: FloatArray, place2: FloatArray) -> Iterator[Event]:
    axis = -place2 / max(1e-9, float(np.hypot(*place2)))
    scores: tuple[tuple[str, Callable[[FloatArray], FloatArray]], ...] = (
        ("beyond the first, away from the second", lambda z: z @ axis),
        ("near the first", lambda z: -np.hypot(z[:, 0], z[:, 1])),
        ("far from the second", lambda z: np.hypot(z[:, 0] - place2[0], z[:, 1] - place2[1])),
    )
    for name, score in scores:
        for threshold in np.unique(np.quantile(score(first), 1 - np.array(_QUANTILES))):
            yield name, lambda z, score=score, t=threshold: score(z) >= t  # type: ignore[misc]
    points, counts = np.unique(first, axis=0, return_counts=True)
    if points.shape[0] < len(first) // 2:  # outputs repeat: single ones can be events
        for k in np.argsort(counts)[::-1][:20]:
            yield "one output", lambda z, at=points[k]: np.all(z == at, axis=1)  # type: ignore[misc]


def _bound(hits: int, n: int, hits2: int, n2: int, alpha: float) -> float:
    """ln(p/q) with p at its lower and q at its upper exact bound, each failing with probability alpha/2 at most."""
    if not hits:
        return -math.inf
    low = float(betaincinv(hits, n - hits + 1, alpha / 2))
    high = float(betainccinv(hits2 + 1, n2 - hits2, alpha / 2)) if hits2 < n2 else 1.0
    return math.log(low / high) if low > 0 else -math.inf


def _p_value(hits: int, n: int, hits2: int, n2: int, claimed: float) -> float:
    """The least alpha whose bound exceeds the claim, by bisection on its logarithm; 1 if none does."""
    low, high = math.log(_LEAST_P), 0.0
    if not _bound(hits, n, hits2, n2, 1.0) > claimed:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _bound(hits, n, hits2, n2, math.exp(middle)) > claimed:
            high = middle
        else:
            low = middle
    return math.exp(high)
