# SPDX-License-Identifier: Apache-2.0
"""Mechanisms and check-ins to tables and figures: adversaries, utility, calibration, baselines, the whole study."""

from .adversary import AdversaryError, binary_error, euclidean_error, loss_error, worst_case
from .attacks import home_recovery, own_prior_error, repeated_reports
from .baselines import (
    calibrate,
    density_snap_channel,
    grid_snap_channel,
    laplace_channel,
    laplace_epsilons,
    laplace_expected_m,
    laplace_miss,
    location_guard_channel,
)
from .channel import Channel, Outputs, channel_from_matrix
from .elastic_channel import distance_table, elastic_channel, expected_errors, mechanism_channel, paper_channel
from .evaluate import evaluate, reproduce
from .optimum_gap import lattice_gap
from .paper_run import AsRun, elastic_as_run, laplace_as_run
from .prior import Prior, prior_from_checkins
from .study import Study, run_study
from .study_areas import PAPER_AREAS, StudyArea, read_areas
from .study_report import mechanism_rows
from .utility import Utility, measure_utility

__all__ = [
    "PAPER_AREAS", "AdversaryError", "AsRun", "Channel", "Outputs", "Prior", "Study", "StudyArea", "Utility",
    "binary_error", "calibrate", "channel_from_matrix", "density_snap_channel", "distance_table", "elastic_as_run",
    "elastic_channel", "euclidean_error", "evaluate", "expected_errors", "grid_snap_channel", "home_recovery",
    "laplace_as_run", "laplace_channel", "laplace_epsilons", "laplace_expected_m", "laplace_miss", "lattice_gap",
    "location_guard_channel", "loss_error", "measure_utility", "mechanism_channel", "mechanism_rows", "own_prior_error",
    "paper_channel", "prior_from_checkins", "read_areas", "repeated_reports", "reproduce", "run_study", "worst_case",
]  # fmt: skip
