# SPDX-License-Identifier: Apache-2.0
"""Mechanisms and check-ins to tables and figures: adversaries, utility, calibration, baselines, the whole study."""

from .evaluate import evaluate, reproduce
from .prior import prior_from_checkins
from .study_areas import read_areas
from .study_report import mechanism_rows

__all__ = ["evaluate", "mechanism_rows", "prior_from_checkins", "read_areas", "reproduce"]
