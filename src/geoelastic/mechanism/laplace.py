# SPDX-License-Identifier: Apache-2.0
"""Planar Laplace noise: geo-indistinguishability (Andrés et al., CCS 2013), for comparison and where there is no map.

`PlanarLaplace` draws metres on the tangent plane at the true place and walks them along a geodesic of WGS 84, so that
they are metres in every direction at every latitude. `GridLaplace` is its discretised (and, if asked, truncated)
variant.

Caveat, stated once for the whole module: these samplers compute with floating-point numbers, so the guarantee is the
one of the real-valued formula. Floats reachable from one true place may not be reachable from another (Mironov, CCS
2012). Rounding every report to a public lattice (`DEGREE_DECIMALS`, or the cells of a grid) removes the low bits that
would show it; a proof down to the last bit is what `ElasticMechanism` offers, also on the Euclidean metric.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from pyproj import Geod

from ..arrays import FloatArray
from ..errors import InputError, OutsideError, require_choice, require_count, require_latlon, require_positive
from ..locations import Grid
from ..randomness import RandomSource, SystemRandom
from ..reports.locate import as_degrees
from ..reports.protocols import ReportsPlaces
from ..shown import Card

#: Expected errors of Location Guard's three levels: it draws with epsilon = 2 / radius, whose mean radius is that
#: radius.
LOCATION_GUARD_LEVELS_M = {"low": 200.0, "medium": 500.0, "high": 2000.0}

#: Reports are rounded to this many decimals of a degree, about a centimetre.
DEGREE_DECIMALS = 7

#: Beyond this expected error a plane is no picture of the Earth.
_WIDEST_ERROR_M = 1_000_000.0

_GEOD = Geod(ellps="WGS84")
_ANGLE_BITS = 53
_WORDS_PER_DRAW = 5
_CHUNK_DRAWS = 1024


class OfOnePlace:
    """What reports many places at once can report one."""

    def sanitize(self: ReportsPlaces, lat: Any, lon: Any, rng: RandomSource | None = None) -> tuple[Any, Any]:
        """A report for one place; for two rows of places, two rows of reports."""
        lats, lons = self.sanitize_many(lat, lon, rng=rng)
        return (lats, lons) if np.ndim(lat) or np.ndim(lon) else (float(lats[0]), float(lons[0]))


@dataclass(frozen=True)
class PlanarLaplace(Card, OfOnePlace):
    """Noise of density epsilon² / (2 pi) e^(-epsilon r) at r metres from the true place; `epsilon` per metre.

    Guarantee: for places x, x2 and any set of reports the probabilities differ by a factor of at most e^(epsilon |x
    x2|). On the round Earth the exponent grows by a share r / (3 epsilon R²), r the distance reported: under 10^-6
    for a mean error of 2 km. Error: mean 2 / epsilon, the same everywhere. Cost: microseconds.
    """

    epsilon: float

    def __post_init__(self) -> None:
        epsilon = require_positive("epsilon", self.epsilon)
        if not 2 / epsilon <= _WIDEST_ERROR_M:
            raise InputError(f"'epsilon' must be at least 2e-06 per metre (an error of 1000 km), got {epsilon:g}")
        object.__setattr__(self, "epsilon", epsilon)

    @property
    def grid(self) -> None:
        """Reports are places anywhere; `on_grid` gives those of a grid."""
        return None

    @classmethod
    def from_expected_error(cls, metres: float) -> PlanarLaplace:
        """The noise whose mean distance is `metres`: the radius is gamma distributed with shape 2, so 2/epsilon."""
        return cls(2 / require_positive("metres", metres))

    @classmethod
    def from_level(cls, l_star: float, r_star_m: float) -> PlanarLaplace:
        """The noise that makes places `r_star_m` apart distinguishable by at most `l_star`."""
        return cls(require_positive("l_star", l_star) / require_positive("r_star_m", r_star_m))

    @classmethod
    def from_location_guard(cls, level: str = "medium") -> PlanarLaplace:
        """The browser extension's presets: ``"low"`` 200 m, ``"medium"`` 500 m, ``"high"`` 2000 m of mean error."""
        return cls.from_expected_error(LOCATION_GUARD_LEVELS_M[require_choice("level", level, LOCATION_GUARD_LEVELS_M)])

    def expected_error(self, place: object = None) -> float:
        """Mean distance in metres between the true place and the report; the same for every `place`."""
        return 2 / self.epsilon

    def density(self, distance_m: npt.ArrayLike) -> FloatArray:
        """Probability per square metre at a distance from the true place."""
        return self.epsilon**2 / (2 * math.pi) * np.exp(-self.epsilon * np.asarray(distance_m, dtype=np.float64))

    def radius_cdf(self, radius_m: npt.ArrayLike) -> FloatArray:
        """Probability that the report lies within `radius_m` of the true place."""
        scaled = self.epsilon * np.maximum(np.asarray(radius_m, dtype=np.float64), 0)
        return -np.expm1(-scaled) - scaled * np.exp(-scaled)

    def radius_quantile(self, share: npt.ArrayLike) -> FloatArray:
        """The radius that holds this share of the reports: the inverse of `radius_cdf`."""
        p = np.asarray(share, dtype=np.float64)
        if not np.all((p >= 0) & (p < 1)):
            raise InputError("'share' must be a probability in [0, 1)")
        from scipy.special import gammaincinv  # slow to load

        radius: FloatArray = gammaincinv(2, p) / self.epsilon
        return radius

    def loss(self, place: tuple[float, float], place2: tuple[float, float]) -> float:
        """The largest log-ratio over all reports between two (lat, lon) places: epsilon times their distance."""
        (lat, lon), (lat2, lon2) = require_latlon(*place), require_latlon(*place2)
        return self.epsilon * float(_GEOD.inv(lon, lat, lon2, lat2)[2])

    def sanitize_many(
        self, lat: npt.ArrayLike, lon: npt.ArrayLike, *, rng: RandomSource | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """One report for each place."""
        lats, lons = _places(lat, lon)
        radius, angle = _polar_noise(self.epsilon, lats.size, rng)
        lon2, lat2, _ = _GEOD.fwd(lons, lats, np.degrees(angle), radius)
        return np.round(lat2, DEGREE_DECIMALS), np.round(lon2, DEGREE_DECIMALS)

    def sample(
        self, lat: float, lon: float, size: int = 1, rng: RandomSource | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """`size` independent reports for one place."""
        count = require_count("size", size)
        return self.sanitize_many(np.full(count, float(lat)), np.full(count, float(lon)), rng=rng)

    def on_grid(self, grid: Grid, *, truncated: bool = True) -> GridLaplace:
        """The same guarantee with reports that are cells of a grid."""
        return GridLaplace(self.epsilon, grid, truncated=truncated)


@dataclass(frozen=True)
class GridLaplace(Card, OfOnePlace):
    """Planar Laplace reported as cells: discretised, and `truncated` to the grid unless asked otherwise.

    *Discretised*: noise in the grid's plane, then the centre of the cell it falls in; cells go on beyond the grid.
    *Truncated*: a report beyond the grid becomes the nearest cell of the grid. Both are post-processing of the
    real-valued noise and cost nothing there; what they cost in finite precision is paid by drawing with
    `epsilon_drawn` < `epsilon` (Andrés et al. 2013, theorem 4.1, see `corrected_epsilon`). The truncated variant
    piles up reports along the border: it is not planar Laplace near there, and its error is smaller.

    Guarantee: `epsilon` times the distance in the grid's plane, for places and reports within `reach_m` of each other.
    """

    epsilon: float
    grid: Grid
    truncated: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", PlanarLaplace(self.epsilon).epsilon)

    @property
    def reach_m(self) -> float:
        """The diameter of the grid, the range within which theorem 4.1 speaks."""
        return math.hypot(self.grid.rows, self.grid.cols) * self.grid.cell_m

    @cached_property
    def epsilon_drawn(self) -> float:
        """The epsilon the noise is drawn with."""
        return corrected_epsilon(self.epsilon, self.grid.cell_m, self.reach_m)

    def loss(self, place: tuple[float, float], place2: tuple[float, float]) -> float:
        """An upper bound of the log-ratio over all reports: epsilon times the distance in the grid's plane."""
        (x, y), (x2, y2) = (self.grid.area.to_xy(*require_latlon(*p)) for p in (place, place2))
        return self.epsilon * math.hypot(float(x) - float(x2), float(y) - float(y2))

    def sanitize_many(
        self, lat: npt.ArrayLike, lon: npt.ArrayLike, *, rng: RandomSource | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """One cell centre for each place, which has to lie on the grid."""
        lats, lons = _places(lat, lon)
        x, y = self.grid.area.to_xy(lats, lons)
        if np.any(self.grid.xy_to_cell(x, y)[0] < 0):
            raise OutsideError("every place must lie on the grid that reports are made on")
        radius, angle = _polar_noise(self.epsilon_drawn, lats.size, rng)
        lat2, lon2 = self.grid.cell_to_latlon(*self._cells(x + radius * np.sin(angle), y + radius * np.cos(angle)))
        return np.round(lat2, DEGREE_DECIMALS), np.round(lon2, DEGREE_DECIMALS)

    def expected_error(self, lat: float, lon: float) -> float:
        """Mean distance in metres in the grid's plane, by the midpoint rule over radius quantiles and angles: right to
        about 0.2 % for cells smaller than the error."""
        radii, angles = 1000, 720
        self.grid.locate(lat, lon)
        x, y = (float(value) for value in self.grid.area.to_xy(lat, lon))
        drawn = PlanarLaplace(self.epsilon_drawn)
        radius = drawn.radius_quantile((np.arange(radii) + 0.5) / radii)[:, None]
        angle = (np.arange(angles) + 0.5)[None, :] * (2 * math.pi / angles)
        x2, y2 = self.grid.cell_to_xy(*self._cells(x + radius * np.sin(angle), y + radius * np.cos(angle)))
        return float(np.hypot(x2 - x, y2 - y).mean())

    def _cells(self, x: Any, y: Any) -> tuple[Any, Any]:
        row = np.floor(y / self.grid.cell_m + self.grid.rows / 2)
        col = np.floor(x / self.grid.cell_m + self.grid.cols / 2)
        if self.truncated:
            row, col = np.clip(row, 0, self.grid.rows - 1), np.clip(col, 0, self.grid.cols - 1)
        return row, col


def corrected_epsilon(epsilon: float, cell_m: float, reach_m: float) -> float:
    """The epsilon' to draw with, so that cells of `cell_m` within `reach_m` are epsilon-geo-indistinguishable.

    Theorem 4.1 of Andrés et al. 2013: epsilon' + 1/u ln((q + 2 e^(epsilon' u)) / (q - 2 e^(epsilon' u))) <= epsilon
    with the step u of the grid and q = u / (r_max delta_theta), delta_theta the precision of the angle (here 2 pi /
    2^53; the radius, drawn with a full mantissa, is at least as fine).
    """
    epsilon, step = require_positive("epsilon", epsilon), require_positive("cell_m", cell_m)
    q = step / (require_positive("reach_m", reach_m) * 2 * math.pi / 2.0**_ANGLE_BITS)

    def excess(drawn: float) -> float:
        spread = 2 * math.exp(drawn * step)
        return drawn + (math.log1p(2 * spread / (q - spread)) / step if spread < q else math.inf) - epsilon

    if epsilon * step > math.log(q / 4) or not excess(0.0) < 0:
        raise InputError(
            f"'cell_m' must suit the precision of the noise: cells of {step:g} m are too "
            f"{'wide' if epsilon * step > 1 else 'small'} for epsilon {epsilon:g} per metre within {reach_m:g} m"
        )
    from scipy.optimize import brentq  # slow to load

    drawn = float(brentq(excess, 0.0, epsilon, xtol=1e-300, rtol=8 * np.finfo(float).eps))
    while excess(drawn) > 0:
        drawn = math.nextafter(drawn, 0.0)
    return drawn


def _places(lat: npt.ArrayLike, lon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    lats, lons = (np.atleast_1d(as_degrees(part)) for part in (lat, lon))
    if lats.shape != lons.shape or lats.ndim != 1:
        raise InputError(f"'lat' and 'lon' must be two rows of equal length, got shapes {lats.shape} and {lons.shape}")
    if not np.all((lats >= -90) & (lats <= 90) & (lons >= -360) & (lons <= 360)):
        raise InputError("places must be (lat, lon) in degrees with lat in [-90, 90] and lon in [-180, 180]")
    return lats, lons


def _polar_noise(epsilon: float, n: int, rng: RandomSource | None) -> tuple[FloatArray, FloatArray]:
    """Radius in metres and angle clockwise from north of `n` draws.

    Distribution: the radius is gamma with shape 2 and rate epsilon, the sum of two exponentials; the angle is
    uniform. A uniform number has a full mantissa at every scale down to 2^-54, so each exponential ends at 37 /
    epsilon; what lies beyond has probability 10^-16.
    """
    source = SystemRandom() if rng is None else rng
    pieces = [source.bytes(8 * _WORDS_PER_DRAW * min(_CHUNK_DRAWS, n - k)) for k in range(0, n, _CHUNK_DRAWS)]
    words = np.frombuffer(b"".join(pieces), dtype=">u8").astype(np.uint64).reshape(n, _WORDS_PER_DRAW)
    radius = -(np.log(_uniform(words[:, 0], words[:, 1])) + np.log(_uniform(words[:, 2], words[:, 3]))) / epsilon
    angle = (words[:, 4] >> np.uint64(64 - _ANGLE_BITS)).astype(np.float64) * (2 * math.pi * 2.0**-_ANGLE_BITS)
    return radius, angle


def _uniform(mantissa: npt.NDArray[np.uint64], scale: npt.NDArray[np.uint64]) -> FloatArray:
    """Numbers in (0, 1): a mantissa in [1, 2) of 52 random bits, and as many halvings as `scale` has leading zeros."""
    fraction = 1 + (mantissa >> np.uint64(12)).astype(np.float64) * 2.0**-52
    length = np.frexp((scale >> np.uint64(11)).astype(np.float64))[1]
    uniform: FloatArray = np.ldexp(fraction, length - 54)
    return uniform
