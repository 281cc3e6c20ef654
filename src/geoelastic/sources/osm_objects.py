# SPDX-License-Identifier: Apache-2.0
"""Nodes and ways of an OpenStreetMap file to features, a block of them at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path

import numpy as np
import shapely

from ..arrays import BoolArray, IntArray
from ._collect import BAD_OUTLINE, Collector
from ._opl import Located, located, tag_sets
from .features import ranges

__all__ = ["EDGE_LOST", "EDGE_PART", "OPEN_WAY", "Objects"]

EDGE_PART = "cut by the extract's edge, kept in part"
EDGE_LOST = "cut by the extract's edge, left out"
OPEN_WAY = "a line, not an area"

#: of a triangle: the last is the first again
_FEWEST_CORNERS = 4


class Objects:
    """Hands nodes and closed ways to the collector; `newest` is when the youngest of them was changed."""

    def __init__(self, collector: Collector) -> None:
        self._collector, self.newest = collector, ""

    def read(self, path: str | Path) -> None:
        """All that libosmium wrote to a file, with places."""
        for block in located(path):
            self.newest = max(self.newest, block.newest)
            sets, of_object = tag_sets(block.tags, [*self._collector.wanted, "area"])
            nodes, choice = self._choose("node", ~block.is_way, sets, of_object)
            self._add_nodes(block, nodes, choice)
            ways, choice = self._choose("area", block.is_way, sets, of_object)
            no_area = np.array([tags.get("area") == "no" for tags in sets])
            self._add_ways(block, ways, choice, no_area[of_object[ways]])

    def _choose(
        self, geometry: str, asked: BoolArray, sets: Sequence[dict[str, str]], of_object: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Which of the objects count, and the choice for each."""
        objects = np.flatnonzero(asked)
        choice = np.zeros(len(sets), dtype=np.int64)
        for i in np.unique(of_object[objects]).tolist():
            choice[i] = self._collector.choose(sets[i], geometry)
        of_objects = choice[of_object[objects]]
        return objects[of_objects > 0], of_objects[of_objects > 0]

    def _add_nodes(self, block: Located, nodes: IntArray, choice: IntArray) -> None:
        corner = block.start[nodes]
        for lat, lon, each in zip(block.lat[corner].tolist(), block.lon[corner].tolist(), choice.tolist(), strict=True):
            if isnan(lat):
                self._collector.leave_outside(1)
            else:
                self._collector.add_point(lat, lon, each)

    def _add_ways(self, block: Located, ways: IntArray, choice: IntArray, no_area: BoolArray) -> None:
        first, end = block.start[ways], block.start[ways + 1]
        closed = (end > first) & ~no_area
        closed[closed] = block.ref[first[closed]] == block.ref[end[closed] - 1]
        for way in ways[~closed].tolist():
            self._drop(OPEN_WAY, block, way)
        unknown = np.concatenate([[0], np.cumsum(np.isnan(block.lat))])
        whole = unknown[end] == unknown[first]
        for i in np.flatnonzero(closed & ~whole).tolist():
            self._add_part(block, int(ways[i]), int(choice[i]))
        self._add_rings(block, ways[closed & whole], choice[closed & whole])

    def _add_rings(self, block: Located, ways: IntArray, choice: IntArray) -> None:
        """Closed ways of which all corners are known; corners at the same place as the one before are left out."""
        new = np.ones(len(block.lon), dtype=np.bool_)
        new[1:] = (np.diff(block.lon) != 0) | (np.diff(block.lat) != 0)
        new[block.start[:-1][block.start[:-1] < len(new)]] = True
        start = np.concatenate([[0], np.cumsum(new)])[block.start]
        enough = start[ways + 1] - start[ways] >= _FEWEST_CORNERS
        for way in ways[~enough].tolist():
            self._drop(BAD_OUTLINE, block, way)
        corners, ring_start = ranges(start, ways[enough])
        lon, lat = block.lon[new][corners], block.lat[new][corners]
        self._collector.add_rings(lon, lat, ring_start, choice[enough], block.id[ways[enough]])

    def _drop(self, reason: str, block: Located, way: int) -> None:
        corners = slice(block.start[way], block.start[way + 1])
        self._collector.drop_near(reason, f"way/{block.id[way]}", block.lat[corners], block.lon[corners])

    def _add_part(self, block: Located, way: int, choice: int) -> None:
        """What is left of an outline whose corners the file does not all have, if that is still a closed outline.

        The rule is osm2pgsql's (the corner that closes the outline is there), so that both readers agree.
        """
        corners = np.column_stack([block.lon, block.lat])[block.start[way] : block.start[way + 1]]
        known = ~np.isnan(corners[:, 0])
        kept = bool(known[0] and np.count_nonzero(known) >= _FEWEST_CORNERS)
        if kept:
            polygon = shapely.Polygon(corners[known])
            kept = bool(polygon.is_valid and polygon.area > 0)
        if kept:
            self._collector.add_shape(shapely.to_wkb(polygon), choice, f"way/{block.id[way]}")
        self._drop(EDGE_PART if kept else EDGE_LOST, block, way)
