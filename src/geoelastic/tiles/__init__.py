# SPDX-License-Identifier: Apache-2.0
"""Beyond one city: metrics built tile by tile on one machine or a cluster, resumed, and brought up to date."""

from .build_tiles import DEFAULT_TILE, build_tiles
from .engine import DaskEngine, Engine, InlineEngine, Job
from .update import mass_as_before, update_tiles

__all__ = [
    "DEFAULT_TILE", "DaskEngine", "Engine", "InlineEngine", "Job", "build_tiles", "mass_as_before", "update_tiles",
]  # fmt: skip
