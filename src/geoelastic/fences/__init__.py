# SPDX-License-Identifier: Apache-2.0
"""Fences: regions inside which every place is the same place. Their shapes, their choice, the attack on bad ones."""

from .attack import ESTIMATORS, Endpoints, attack, visible_endpoints
from .choice import Crowd, area_crowd, random_core, widened
from .commuters import Commuter, synthetic_commuters
from .places import Place, find_places
from .shapes import cells_to_shape, disc, fence_outlines, fences_to_cells, fences_to_geojson, read_fences
from .stays import Stay, find_stays
from .suggest import SuggestedFence, compare_with_circle, draw_fence, suggest_fences

__all__ = [
    "ESTIMATORS",
    "Commuter",
    "Crowd",
    "Endpoints",
    "Place",
    "Stay",
    "SuggestedFence",
    "area_crowd",
    "attack",
    "cells_to_shape",
    "compare_with_circle",
    "disc",
    "draw_fence",
    "fence_outlines",
    "fences_to_cells",
    "fences_to_geojson",
    "find_places",
    "find_stays",
    "random_core",
    "read_fences",
    "suggest_fences",
    "synthetic_commuters",
    "visible_endpoints",
    "widened",
]
