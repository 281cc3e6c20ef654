# SPDX-License-Identifier: Apache-2.0
"""Fences: regions inside which every place is the same place.

`shapes` puts them on a grid (all that a metric needs, and what this package exports); `places` finds what to fence in a
trace; `crowds` and `random_halving` draw a fence for it, `suggest` ties these together. What tries to
see through fences is in `geoelastic.evaluation`.
"""

from .shapes import (
    cells_to_shape,
    disc,
    fence_outlines,
    fences_to_cells,
    fences_to_geojson,
    read_fences,
    read_named_fences,
    shape_cells,
)

__all__ = [
    "cells_to_shape", "disc", "fence_outlines", "fences_to_cells", "fences_to_geojson", "read_fences",
    "read_named_fences", "shape_cells",
]  # fmt: skip
