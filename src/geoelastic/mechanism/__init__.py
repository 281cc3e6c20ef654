# SPDX-License-Identifier: Apache-2.0
"""Mechanisms: from a metric to reports, with a guarantee that can be asked for."""

from ..randomness import RandomSource, ReplayRandom, SeededRandom, SystemRandom
from ..reports.protocols import Mechanism
from .elastic import ElasticMechanism

__all__ = [
    "ElasticMechanism", "Mechanism", "RandomSource", "ReplayRandom", "SeededRandom", "SystemRandom",
]  # fmt: skip
