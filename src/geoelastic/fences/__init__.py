# SPDX-License-Identifier: Apache-2.0
"""Fences: regions inside which every place is the same place. Their shapes, their choice, the attack on bad ones."""

from .shapes import cells_to_shape, disc, fence_outlines, fences_to_cells, fences_to_geojson, read_fences

__all__ = ["cells_to_shape", "disc", "fence_outlines", "fences_to_cells", "fences_to_geojson", "read_fences"]
