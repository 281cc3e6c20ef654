# SPDX-License-Identifier: Apache-2.0
"""What a mechanism is to all who use one: it reports locations of a map, or places anywhere."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol, cast, runtime_checkable

import numpy.typing as npt

from ..arrays import FloatArray, IntArray
from ..locations import Grid
from ..metric import AnyMetric
from ..randomness import RandomSource

__all__ = ["Mechanism", "ReportsLocations", "ReportsPlaces", "over_a_map"]


@runtime_checkable
class ReportsLocations(Protocol):
    """A random map from secret locations of a metric to reported ones, private for the metric."""

    @property
    def metric(self) -> AnyMetric: ...

    @property
    def exponent(self) -> Fraction:
        """The part of each distance that weights go by."""
        ...

    def sample_cells(
        self, i: npt.ArrayLike, *, rng: RandomSource | None = None, workers: int | None = None
    ) -> tuple[IntArray, IntArray]:
        """(rows, columns) of one reported cell for each location in `i`."""
        ...

    def for_user(self, user: str) -> ReportsLocations:
        """The mechanism of one user; itself, where reports do not depend on whose they are."""
        ...

    def sanitize(self, lat: float, lon: float, *, rng: RandomSource | None = None) -> tuple[float, float]:
        """A report for a place."""
        ...

    def expected_error(self, i: int) -> float:
        """Mean distance in metres between a place in location i and its report."""
        ...

    def loss(self, i: int, j: int) -> float:
        """The worst log-ratio of the two locations' probabilities over all reports, or a bound of it."""
        ...


@runtime_checkable
class ReportsPlaces(Protocol):
    """Noise around a place, the same everywhere: private for `epsilon` times the distance in metres."""

    @property
    def epsilon(self) -> float: ...

    @property
    def grid(self) -> Grid | None:
        """The grid whose cells are reported and that places must lie on; None: anywhere on Earth."""
        ...

    def sanitize_many(
        self, lat: npt.ArrayLike, lon: npt.ArrayLike, *, rng: RandomSource | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """One report for each place."""
        ...

    def sanitize(self, lat: float, lon: float, rng: RandomSource | None = None) -> tuple[float, float]:
        """A report for a place."""
        ...


Mechanism = ReportsLocations | ReportsPlaces


def over_a_map(mechanism: Mechanism) -> ReportsLocations | None:
    """The mechanism, if it reports locations of a map. Having a metric decides: what is asked for no more than reports
    (by an audit, say) need not have the rest."""
    return cast(ReportsLocations, mechanism) if hasattr(mechanism, "metric") else None
