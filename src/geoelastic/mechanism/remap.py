# SPDX-License-Identifier: Apache-2.0
"""Bayesian remapping: a report is replaced by the best guess that a public prior makes of it.

Chatzikokolakis, ElSalamouny and Palamidessi (PETS 2017): given a report z and a prior over places, the posterior is
prior(x) K(x)(z) / sum; the remapped report is the point with the least expected loss under it. It is a function of
what is already public, so every guarantee stays as it is, whatever the prior; with a prior that fits the user the
expected error can only fall. A wrong prior costs utility, never privacy, and that is why the arithmetic here may be
floating point.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..area import Area
from ..arrays import FloatArray, IntArray, read_only
from ..errors import InputError, require_able, require_choice
from ..randomness import RandomSource
from .elastic import ElasticMechanism, OverElastic
from .expected_errors import weight_totals
from .laplace import DEGREE_DECIMALS, OfOnePlace, PlanarLaplace

#: euclidean: metres (geometric median); squared: metres² (mean); binary: right or wrong (most likely place).
LOSSES = ("euclidean", "squared", "binary")

_ITERATIONS = 500
_SETTLED_M = 0.01


def best_guess(points: FloatArray, weights: FloatArray, loss: str = "euclidean") -> tuple[float, float]:
    """The point of the plane with the least expected loss to weighted points (n, 2) in metres."""
    require_choice("loss", loss, LOSSES)
    total = float(weights.sum())
    if not total > 0:
        raise InputError("'weights' must be > 0 somewhere")
    if loss == "binary":
        x, y = points[int(np.argmax(weights))]
        return float(x), float(y)
    mean = weights @ points / total
    x, y = mean if loss == "squared" else _geometric_median(points, weights, mean)
    return float(x), float(y)


def _geometric_median(points: FloatArray, weights: FloatArray, start: FloatArray) -> FloatArray:
    """Weiszfeld's iteration with the step of Vardi and Zhang (PNAS 2000) where it meets a point."""
    at = start
    for _ in range(_ITERATIONS):
        away = points - at
        distance = np.hypot(away[:, 0], away[:, 1])
        apart = distance > 1e-9
        pull = weights[apart] / distance[apart]
        if not pull.size:
            return at
        there = pull @ points[apart] / pull.sum()
        here = float(weights[~apart].sum())
        if here > 0:
            strength = float(np.hypot(*(pull @ away[apart])))
            stay = min(1.0, here / strength) if strength > 0 else 1.0
            there = (1 - stay) * there + stay * at
        step, at = float(np.hypot(*(there - at))), there
        if step < _SETTLED_M:
            break
    # towards a point that is itself the median the iteration creeps: look whether it is
    nearest = points[int(np.argmin(np.hypot(*(points - at).T)))]
    return min(at, nearest, key=lambda p: float(weights @ np.hypot(*(points - p).T)))


class Remapped(OverElastic):
    """A mechanism over a metric, followed by the best guess under a public `prior` (one number per location).

    Guarantee: the mechanism's own. The prior is taken over secret locations, each at its centre. The normalisers of all
    locations are needed once (`totals`, from `errors.weight_totals`, if they are at hand).
    """

    def __init__(
        self,
        mechanism: ElasticMechanism,
        prior: npt.ArrayLike,
        *,
        loss: str = "euclidean",
        totals: npt.ArrayLike | None = None,
    ) -> None:
        require_able("mechanism", mechanism, "sample_cells", "a mechanism over a map, such as ElasticMechanism")
        metric = mechanism.metric
        chances = np.asarray(prior, dtype=np.float64)
        if chances.shape != (metric.n,) or not np.all(np.isfinite(chances) & (chances >= 0)):
            raise InputError(f"'prior' must be {metric.n} finite numbers >= 0, one per location")
        chances = np.where(metric.secret, chances, 0.0)
        if not chances.any():
            raise InputError("'prior' must be > 0 at some location that may be a secret")
        self.mechanism, self.loss_name = mechanism, require_choice("loss", loss, LOSSES)
        self.prior = read_only(chances / chances.sum())
        self._given_totals = None if totals is None else np.asarray(totals, dtype=np.float64).ravel()
        self._known: dict[int, tuple[float, float]] = {}

    @property
    def measure(self) -> IntArray:
        return self.mechanism.measure

    def for_user(self, user: str) -> Remapped:
        """The same: reports do not depend on whose they are."""
        return self

    @cached_property
    def _prior_by_total(self) -> FloatArray:
        """prior(x) / S(x). In a fence all places have the same reports, and S does not matter."""
        totals = self._given_totals
        if totals is None:
            totals = np.asarray(weight_totals(self.mechanism, [self.mechanism.weights]))[:, 0]
        by_total = np.where(self.metric.fence > 0, self.prior, 0.0)
        np.divide(self.prior, totals, out=by_total, where=(totals > 0) & (self.metric.fence == 0))
        return by_total

    def posterior(self, z: int) -> FloatArray:
        """The probability of each location given the report z, for those who hold the prior."""
        level = self.mechanism.reporting.distances_from(z)
        weights = self._prior_by_total * np.exp(-float(self.mechanism.exponent) * level)
        total = float(weights.sum())
        if not total > 0:
            raise InputError("the prior rules out every place that this report can come from")
        return np.asarray(weights / total)

    def remap(self, z: int) -> tuple[float, float]:
        """The best guess, in metres east and north of the map's middle; the report itself where the prior is silent."""
        if z not in self._known:
            try:
                chances = self.posterior(z)
            except InputError:
                x, y = self.metric.xy[z]
                self._known[z] = float(x), float(y)
            else:
                some = chances > 0
                self._known[z] = best_guess(self.metric.xy[some], chances[some], self.loss_name)
        return self._known[z]

    def sample_cells(
        self, i: npt.ArrayLike, *, rng: RandomSource | None = None, workers: int | None = None
    ) -> tuple[IntArray, IntArray]:
        """(rows, columns) of the cell that holds the best guess, for one report of each location in `i`."""
        row, col = self.mechanism.sample_cells(i, rng=rng, workers=workers)
        reported = self.metric.locations.owner[row, col]
        unique, inverse = np.unique(reported, return_inverse=True)
        guesses = np.array([self.remap(int(z)) for z in unique]).reshape(-1, 2)
        rows, cols = self.metric.grid.xy_to_cell(guesses[:, 0], guesses[:, 1])
        return rows[inverse], cols[inverse]

    def expected_error(self, i: int) -> float:
        """Mean distance in metres between the centre of location i and its remapped report.

        Exact; remaps every report that location i can give, so it is for small maps or for few locations.
        """
        chances = self.mechanism.probabilities(i)
        possible = np.flatnonzero(chances > 0)
        guesses = np.array([self.remap(int(z)) for z in possible])
        return float(chances[possible] @ np.hypot(*(guesses - self.metric.xy[i]).T))


class RemappedLaplace(OfOnePlace):
    """Planar Laplace noise, followed by the best guess under a public prior over places.

    The prior is a list of places (`lat`, `lon`) with `weights`; distances are taken in the plane of an area that
    holds them.
    """

    def __init__(
        self,
        mechanism: PlanarLaplace,
        lat: npt.ArrayLike,
        lon: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        loss: str = "euclidean",
    ) -> None:
        lats, lons = np.asarray(lat, dtype=np.float64), np.asarray(lon, dtype=np.float64)
        chances = np.ones(lats.shape) if weights is None else np.asarray(weights, dtype=np.float64)
        if lats.ndim != 1 or not lats.size or not lats.shape == lons.shape == chances.shape:
            raise InputError("'lat', 'lon' and 'weights' must be rows of equal length, with one place at least")
        if not (np.all(np.isfinite(chances) & (chances >= 0)) and chances.any()):
            raise InputError("'weights' must be finite numbers >= 0, and > 0 somewhere")
        self.mechanism, self.loss_name = mechanism, require_choice("loss", loss, LOSSES)
        self._area = Area.around(float(lats.mean()), _mean_longitude(lons), size_km=1)
        self._points = np.column_stack(self._area.to_xy(lats, lons))
        if not np.all(np.isfinite(self._points)):
            raise InputError("the places of a prior must lie within one area of at most 4000 km")
        self._chances = chances / chances.sum()

    @property
    def epsilon(self) -> float:
        return self.mechanism.epsilon

    @property
    def grid(self) -> None:
        """Reports are places anywhere."""
        return None

    def remap(self, lat: npt.ArrayLike, lon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """The best guess for each report."""
        reports = np.column_stack(self._area.to_xy(np.atleast_1d(lat), np.atleast_1d(lon)))
        guesses = np.array([self._guess(report) for report in reports]).reshape(-1, 2)
        lat2, lon2 = self._area.to_latlon(guesses[:, 0], guesses[:, 1])
        return np.round(lat2, DEGREE_DECIMALS), np.round(lon2, DEGREE_DECIMALS)

    def _guess(self, report: FloatArray) -> tuple[float, float]:
        distance = np.hypot(*(self._points - report).T)
        with np.errstate(divide="ignore"):
            exponent = np.log(self._chances) - self.mechanism.epsilon * distance
        weights = np.exp(exponent - exponent.max())
        return best_guess(self._points, weights, self.loss_name)

    def sanitize_many(
        self, lat: npt.ArrayLike, lon: npt.ArrayLike, *, rng: RandomSource | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """One remapped report for each place."""
        return self.remap(*self.mechanism.sanitize_many(lat, lon, rng=rng))


def _mean_longitude(lon: FloatArray) -> float:
    """The middle of longitudes, also across the 180th meridian."""
    turned = np.exp(1j * np.radians(lon)).mean()
    return math.degrees(math.atan2(turned.imag, turned.real))
