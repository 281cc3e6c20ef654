# SPDX-License-Identifier: Apache-2.0
"""Statistics from private reports: what a city can learn without learning where anyone was."""

from .change import Change, compare, estimate_periods
from .estimate import Estimate, Survey, estimate, prepare
from .flows import Flows, estimate_flows
from .plan import Plan, plan
from .time_shares import estimate_time
from .zones import Zones, make_zones

__all__ = [
    "Change", "Estimate", "Flows", "Plan", "Survey", "Zones", "compare", "estimate", "estimate_flows",
    "estimate_periods", "estimate_time", "make_zones", "plan", "prepare",
]  # fmt: skip
