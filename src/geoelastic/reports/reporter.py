# SPDX-License-Identifier: Apache-2.0
"""`Reporter`: what every mechanism over a map offers for places: one, many at once, a table of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast, overload

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray
from ..randomness import RandomSource
from ..shown import Card
from ..sources.streams import KEEP_ALL
from .protocols import ReportsLocations

__all__ = ["Reporter"]

Rows = tuple[FloatArray, FloatArray]
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
