# SPDX-License-Identifier: Apache-2.0
"""Mechanisms and check-ins to tables and figures: adversaries, utility, calibration, baselines, the whole study."""

from .adversary import binary_error, euclidean_error, loss_error, worst_case
from .attacks import home_recovery
from .baselines import laplace_channel, laplace_epsilons
from .channel import channel_from_matrix
from .elastic_channel import distance_table, elastic_channel, paper_channel
from .evaluate import evaluate, reproduce
from .optimum_gap import lattice_gap
from .prior import prior_from_checkins
from .study_areas import StudyArea, read_areas
from .study_report import mechanism_rows
from .utility import measure_utility

__all__ = [
    "StudyArea", "binary_error", "channel_from_matrix", "distance_table", "elastic_channel", "euclidean_error",
    "evaluate", "home_recovery", "laplace_channel", "laplace_epsilons", "lattice_gap", "loss_error", "measure_utility",
    "mechanism_rows", "paper_channel", "prior_from_checkins", "read_areas", "reproduce", "worst_case",
]  # fmt: skip
