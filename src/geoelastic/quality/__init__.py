# SPDX-License-Identifier: Apache-2.0
"""Features and locations to q(x): which features count, and how much."""

from .grid import Quality
from .synthetic import SYNTHETIC_NAMES, synthetic_quality

__all__ = ["SYNTHETIC_NAMES", "Quality", "synthetic_quality"]
