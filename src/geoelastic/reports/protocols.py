# SPDX-License-Identifier: Apache-2.0
"""What a mechanism is to all who use one: it reports locations of a map, or places anywhere; and `Reporter`: what every
mechanism over a map offers for places, one, many at once or a table of them."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import Any, Protocol, cast, overload, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray, IntArray
from ..locations import Grid
from ..metric import AnyMetric
from ..randomness import RandomSource
from ..shown import Card
from ..sources.streams import KEEP_ALL


@runtime_checkable
class ReportsLocations(Protocol):
    """A random map from secret locations of a metric to reported ones, private for the metric."""

    @property
    def metric(self) -> AnyMetric: ...

    @property
    def exponent(self) -> Fraction:
        """The part of each distance that weights go by."""

    def sample_cells(
        self, i: npt.ArrayLike, *, rng: RandomSource | None = None, workers: int | None = None
    ) -> tuple[IntArray, IntArray]:
        """(rows, columns) of one reported cell for each location in `i`."""

    def for_user(self, user: str) -> ReportsLocations:
        """The mechanism of one user; itself, where reports do not depend on whose they are."""

    def sanitize(self, lat: float, lon: float, *, rng: RandomSource | None = None) -> tuple[float, float]:
        """A report for a place."""

    def expected_error(self, i: int) -> float:
        """Mean distance in metres between a place in location i and its report."""

    def loss(self, i: int, j: int) -> float:
        """The worst log-ratio of the two locations' probabilities over all reports, or a bound of it."""


@runtime_checkable
class ReportsPlaces(Protocol):
    """Noise around a place, the same everywhere: private for `epsilon` times the distance in metres."""

    @property
    def epsilon(self) -> float: ...

    @property
    def grid(self) -> Grid | None:
        """The grid whose cells are reported and that places must lie on; None: anywhere on Earth."""

    def sanitize_many(
        self, lat: npt.ArrayLike, lon: npt.ArrayLike, *, rng: RandomSource | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """One report for each place."""

    def sanitize(self, lat: float, lon: float, rng: RandomSource | None = None) -> tuple[float, float]:
        """A report for a place."""


Mechanism = ReportsLocations | ReportsPlaces


def over_a_map(mechanism: Mechanism) -> ReportsLocations | None:
    """The mechanism, if it reports locations of a map. Having a metric decides: what is asked for no more than reports
    (by an audit, say) need not have the rest."""
    return cast(ReportsLocations, mechanism) if hasattr(mechanism, "metric") else None


Places = npt.NDArray[Any] | list[float] | tuple[float, ...]


class Reporter(Card):
    """A mechanism that can report a location of its map, `_sanitize_one`, can report places in any form."""

    @overload
    def sanitize(self, lat: float, lon: float, *, rng: RandomSource | None = None) -> tuple[float, float]: ...
    @overload
    def sanitize(
        self, lat: Places, lon: Places, *, rng: RandomSource | None = None
    ) -> tuple[FloatArray, FloatArray]: ...
    def sanitize(self, lat: Any, lon: Any, *, rng: RandomSource | None = None) -> tuple[Any, Any]:
        """A report for a place, in degrees: the centre of a cell. For two rows of places, two rows of reports."""
        if np.ndim(lat) or np.ndim(lon):
            from .table_reports import sanitize_arrays

            reports = sanitize_arrays(cast(ReportsLocations, self), lat, lon, rng=rng)
            return reports.lat, reports.lon
        return self._sanitize_one(lat, lon, rng)

    def sanitize_frame(
        self, frame: Any, *, lat: str | None = None, lon: str | None = None, outside: str = "error",
        keep: Collection[str] = (KEEP_ALL,), rng: RandomSource | None = None,
    ) -> Any:  # fmt: skip
        """A table of places (pandas, GeoPandas or pyarrow) with each place replaced by a report; see
        `tables.sanitize_frame`."""
        from .table_reports import sanitize_frame

        return sanitize_frame(
            cast(ReportsLocations, self), frame, lat=lat, lon=lon, outside=outside, keep=keep, rng=rng
        )

    def _sanitize_one(self, lat: float, lon: float, rng: RandomSource | None) -> tuple[float, float]:
        raise NotImplementedError
