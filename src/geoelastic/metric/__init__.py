# SPDX-License-Identifier: Apache-2.0
"""Distinguishability metrics: both builders, the Euclidean metric, fences, verification, files."""

from .any_metric import AnyMetric
from .build import build_metric
from .euclidean import EuclideanMetric, euclidean_metric
from .graph import Graph
from .metric import Metric
from .verify import verify

__all__ = ["AnyMetric", "EuclideanMetric", "Graph", "Metric", "build_metric", "euclidean_metric", "verify"]
