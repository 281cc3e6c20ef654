# SPDX-License-Identifier: Apache-2.0
"""What every mechanism over a metric's locations offers."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..levels import FloatArray
from ..metric import AnyMetric
from ..randomness import RandomSource

__all__ = ["Mechanism"]


class Mechanism(Protocol):
    """A random map from secret locations to reported locations, and its guarantee."""

    @property
    def metric(self) -> AnyMetric: ...

    def probabilities(self, i: int) -> FloatArray:
        """The probability of reporting each location from location i."""
        ...

    def sample(self, i: int, size: int = 1, *, rng: RandomSource | None = None) -> npt.NDArray[np.int64]:
        """Reported locations drawn from location i."""
        ...

    def expected_error(self, i: int) -> float:
        """Mean distance in metres between a place in location i and its report."""
        ...

    def loss(self, i: int, j: int) -> float:
        """The worst log-ratio of the two locations' probabilities over all reports."""
        ...

    def sanitize(self, lat: float, lon: float, *, rng: RandomSource | None = None) -> tuple[float, float]:
        """A report for a place."""
        ...
