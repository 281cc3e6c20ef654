# SPDX-License-Identifier: Apache-2.0
"""Features and locations to q(x): which features count, and how much."""

from .grid import Quality

__all__ = ["Quality"]
