# SPDX-License-Identifier: Apache-2.0
"""What an audit says: findings with p-values, lower bounds on the loss, and one verdict at a named false-alarm rate.

Reports are checked for noise in the same metres in every direction and latitude, all radii, no atoms, no dead caches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from pyproj import Geod
from scipy import stats

from ...arrays import BoolArray, FloatArray, IntArray
from ...mechanism.laplace import PlanarLaplace

#: The chance that an audit flags anything at all in a mechanism that keeps its claim.
ALPHA = 1e-3


@dataclass(frozen=True)
class Finding:
    """One check. `p_value`: the chance of data this far off under the claim; `flagged`: it stands among all checks."""

    check: str
    where: str
    detail: str
    p_value: float
    flagged: bool = False


@dataclass(frozen=True)
class Bound:
    """The loss between two places `distance_m` apart is at least `lower`, with confidence 1 - alpha over all bounds."""

    where: str
    direction: str
    distance_m: float
    claimed: float
    lower: float
    p_value: float
    event: str


@dataclass(frozen=True)
class AuditResult:
    """The verdict. `ok`: nothing flagged at family-wise false-alarm rate `alpha`, which is no proof of privacy."""

    claim: str
    draws: int
    alpha: float
    findings: tuple[Finding, ...]
    bounds: tuple[Bound, ...]

    @property
    def ok(self) -> bool:
        return not any(finding.flagged for finding in self.findings)

    @property
    def flagged(self) -> tuple[Finding, ...]:
        """The findings that stand after control for the number of checks."""
        return tuple(finding for finding in self.findings if finding.flagged)

    def as_dict(self) -> dict[str, Any]:
        return {"ok": self.ok} | asdict(self)

    def text(self) -> str:
        """For people: the verdict, what was flagged, the bounds."""
        verdict = "nothing found against the claim" if self.ok else f"{len(self.flagged)} faults found"
        lines = [
            f"{verdict}: {self.claim}, {self.draws:,} reports, alpha {self.alpha:g} over {len(self.findings)} checks"
        ]
        lines += [f"  FAULT {f.check} ({f.where}): {f.detail} (p = {f.p_value:.1e})" for f in self.flagged]
        if self.bounds:
            lines += ["", f"{'where':<22}{'direction':<11}{'metres':>8}{'claimed':>9}{'loss is at least':>18}"]
            lines += [
                f"{b.where:<22}{b.direction:<11}{b.distance_m:>8.0f}{b.claimed:>9.3f}{b.lower:>18.3f}"
                for b in self.bounds
            ]
        return "\n".join(lines)


def judge(findings: Sequence[Finding], alpha: float) -> tuple[Finding, ...]:
    """Findings with `flagged` set by Holm's procedure: any false flag has chance `alpha` at most, however dependent."""
    order = sorted(range(len(findings)), key=lambda k: findings[k].p_value)
    flagged: set[int] = set()
    for rank, k in enumerate(order):
        if not findings[k].p_value <= alpha / (len(findings) - rank):
            break
        flagged.add(k)
    return tuple(replace(finding, flagged=k in flagged) for k, finding in enumerate(findings))


GEOD = Geod(ellps="WGS84")


@dataclass(frozen=True, eq=False)
class Draws:
    """True and reported places, row by row, in the order in which they were made."""

    lat: FloatArray
    lon: FloatArray
    lat2: FloatArray
    lon2: FloatArray

    def __len__(self) -> int:
        return int(self.lat.size)

    def take(self, which: BoolArray | IntArray | slice) -> Draws:
        """Some of the rows."""
        return Draws(self.lat[which], self.lon[which], self.lat2[which], self.lon2[which])

    @cached_property
    def _polar(self) -> tuple[FloatArray, FloatArray]:
        azimuth, _, distance = GEOD.inv(self.lon, self.lat, self.lon2, self.lat2)
        return np.radians(np.asarray(azimuth)), np.asarray(distance)

    @property
    def angle(self) -> FloatArray:
        """Direction of the report, clockwise from north, radians."""
        return self._polar[0]

    @property
    def radius_m(self) -> FloatArray:
        """Distance of the report along the ellipsoid."""
        return self._polar[1]

    @cached_property
    def noise_m(self) -> FloatArray:
        """Metres east and north from the true place to the report, (n, 2)."""
        return np.column_stack([self.radius_m * np.sin(self.angle), self.radius_m * np.cos(self.angle)])


_SECTORS = 16
_BAND_DEGREES = 15
_LEAST_IN_BAND = 200
#: Radii this close to the largest one count as the same: coordinates of seven decimals are this coarse.
_SAME_RADIUS_M = 0.05
#: Noise vectors this close are the same one.
_SAME_NOISE_M = 0.05
_MOST_DECIMALS = 9


def latitude_bands(draws: Draws) -> Iterator[tuple[str, Draws]]:
    """The rows by latitude, in bands that have enough of them."""
    band = np.floor(draws.lat / _BAND_DEGREES).astype(int)
    for b in np.unique(band):
        mine = band == b
        if np.count_nonzero(mine) >= _LEAST_IN_BAND:
            yield f"lat {b * _BAND_DEGREES:+d} to {(b + 1) * _BAND_DEGREES:+d}", draws.take(mine)


def noise_findings(where: str, draws: Draws, epsilon: float) -> list[Finding]:
    """Direction, axes, radius and its end, for rows of about one latitude."""
    apart = draws.radius_m > 0
    angle, radius, n = draws.angle[apart], draws.radius_m, len(draws)
    sector = np.bincount((angle / (2 * math.pi) % 1 * _SECTORS).astype(int) % _SECTORS, minlength=_SECTORS)
    p_sector = float(stats.chisquare(sector).pvalue) if sector.any() else 0.0
    # twice the angle: what noise drawn in the wrong plane stretches; |sum|² 2/n is chi-square with 2 degrees of freedom
    stretch = np.exp(2j * angle).mean() if angle.size else 1.0
    p_axes = float(stats.chi2.sf(2 * max(1, angle.size) * abs(stretch) ** 2, 2))
    spread_n, spread_e = (float(np.mean(np.abs(draws.noise_m[:, k]))) for k in (1, 0))
    law = stats.gamma(2, scale=1 / epsilon)
    p_radius = float(stats.kstest(radius, law.cdf).pvalue)
    largest = float(radius.max())
    beyond, about = float(law.sf(largest)), float(law.sf(largest - _SAME_RADIUS_M))
    p_cut = float(np.exp(n * np.log1p(-min(beyond, 1 - 1e-16))))
    piled = int(np.count_nonzero(radius >= largest - _SAME_RADIUS_M))
    p_pile = float(stats.binom.sf(piled - 2, n - 1, about - beyond)) if piled > 1 else 1.0
    return [
        Finding("direction", where, f"reports per direction are uneven: {sector.min()} to {sector.max()}", p_sector),
        Finding("plane", where, f"mean noise is {spread_n:.0f} m north-south and {spread_e:.0f} m east-west", p_axes),
        Finding(
            "radius", where, f"mean distance is {radius.mean():.0f} m, not {2 / epsilon:.0f} m as claimed", p_radius
        ),
        Finding("cut", where, f"no report is beyond {largest:.0f} m", p_cut),
        Finding("clamp", where, f"{piled} reports lie at the largest distance, {largest:.0f} m", p_pile),
    ]


def atom_findings(draws: Draws, epsilon: float) -> list[Finding]:
    """Reports that repeat exactly, or are the truth: the finer the decimals, the rarer under a continuous law."""
    n, area = len(draws), _lattice_m2(draws)
    repeated = n - np.unique(np.column_stack([draws.lat2, draws.lon2]), axis=0).shape[0]
    truth = int(np.count_nonzero((draws.lat2 == draws.lat) & (draws.lon2 == draws.lon)))
    meet = epsilon**2 / (8 * math.pi)  # the integral of the squared density: the chance per m² that two reports meet
    p_repeated, p_truth = _poisson(repeated, n * n / 2 * meet * area), _poisson(truth, n * peak_chance(epsilon, area))
    return [
        Finding("atoms", "all reports", f"{repeated} of {n} repeat another exactly", p_repeated),
        Finding("truth", "all reports", f"{truth} of {n} are the true place", p_truth),
    ]


def peak_chance(epsilon: float, area_m2: float = math.pi * _SAME_NOISE_M**2) -> float:
    """The largest probability that planar Laplace noise gives to any `area_m2`."""
    return min(1.0, PlanarLaplace(epsilon).density(0.0).item() * area_m2)


def cache_findings(draws: Draws, likeliest: FloatArray) -> list[Finding]:
    """Reports, or noise, that repeat from one row to the next although the place moved.

    `likeliest` bounds, for each row, the probability of any one report of it, and so the chance of either coincidence.
    """
    moved = (draws.lat[1:] != draws.lat[:-1]) | (draws.lon[1:] != draws.lon[:-1])
    same_report = (draws.lat2[1:] == draws.lat2[:-1]) & (draws.lon2[1:] == draws.lon2[:-1])
    jump = np.hypot(*(draws.noise_m[1:] - draws.noise_m[:-1]).T)
    stale, again = (int(np.count_nonzero(moved & hit)) for hit in (same_report, jump <= _SAME_NOISE_M))
    expected, steps = float(likeliest[1:][moved].sum()), int(np.count_nonzero(moved))
    told = {
        "stale cache": (stale, "repeat the report before, from elsewhere"),
        "reused noise": (again, "are off by the vector before"),
    }
    return [
        Finding(check, "in order", f"{count} of {steps} {what}", _poisson(count, expected))
        for check, (count, what) in told.items()
    ]


def _poisson(count: int, expected: float) -> float:
    """The chance of at least `count` rare coincidences where `expected` are expected."""
    return float(stats.poisson.sf(count - 1, expected)) if count else 1.0


def _lattice_m2(draws: Draws) -> float:
    """The area of a cell of the lattice of decimals that the reports are written on."""
    written = np.concatenate([draws.lat2, draws.lon2])
    decimals = next((k for k in range(_MOST_DECIMALS) if np.all(np.round(written, k) == written)), _MOST_DECIMALS)
    side_m = 10.0**-decimals * 111_320
    return side_m**2
