# SPDX-License-Identifier: Apache-2.0
"""Distinguishability metrics: both builders, the Euclidean metric, fences, verification, files."""

from .build import build_metric
from .euclidean import EuclideanMetric, euclidean_metric
from .file import load
from .graph import Graph
from .metric import Metric
from .tiled_metric import TiledMetric
from .verify import verify

__all__ = ["EuclideanMetric", "Graph", "Metric", "TiledMetric", "build_metric", "euclidean_metric", "load", "verify"]
