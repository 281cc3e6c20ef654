# SPDX-License-Identifier: Apache-2.0
"""Features and locations to q(x): which features count, and how much."""

from .quality import Quality, load_quality, save_quality
from .quality_from import (
    quality_from_osm,
    quality_from_points,
    quality_from_polygons,
    quality_from_postgis,
    quality_from_raster,
    quality_from_source,
)
from .recipe import Recipe
from .recipe_file import load_recipe, recipe_names
from .synthetic import SYNTHETIC_NAMES, synthetic_quality

__all__ = [
    "SYNTHETIC_NAMES", "Quality", "Recipe", "load_quality", "load_recipe", "quality_from_osm", "quality_from_points",
    "quality_from_polygons", "quality_from_postgis", "quality_from_raster", "quality_from_source", "recipe_names",
    "save_quality", "synthetic_quality",
]  # fmt: skip
