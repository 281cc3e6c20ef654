# SPDX-License-Identifier: Apache-2.0
"""Where one can be: a grid of cells over an area, and the locations made of them (single cells, or leaves of a
quadtree)."""

from .grid import Grid
from .layout import Locations, adaptive, from_exponents, split, uniform

__all__ = ["Grid", "Locations", "adaptive", "from_exponents", "split", "uniform"]
