# SPDX-License-Identifier: Apache-2.0
"""Pictures of qualities, metrics and mechanisms: what to show (`maps`), and how (PNG, a web page, GeoTIFF)."""

from .maps import (
    ball_map,
    cartogram_map,
    clouds_map,
    error_map,
    fences_map,
    mass_map,
    quality_map,
    report_map,
    slack_map,
)
from .picture import Mark, Picture
from .save import save_picture

__all__ = [
    "Mark", "Picture", "ball_map", "cartogram_map", "clouds_map", "error_map", "fences_map", "mass_map", "quality_map",
    "report_map", "save_picture", "slack_map",
]  # fmt: skip
