# SPDX-License-Identifier: Apache-2.0
"""Shapes of a plane to a `Context`: cut to a rectangle, joined, and made as simple as a picture allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import shapely

from ..arrays import IndexArray
from .context import CORNERS, KINDS, LEAST_LINE, LEAST_RING, NAMES, Context, Name

__all__ = ["context_of", "moved"]


def moved(context: Context, east_m: float, north_m: float, width_m: float, height_m: float) -> Context:
    """The part of it in a rectangle whose middle lies so many metres east and north of the old one's."""
    shapes = {kind: [corners - [east_m, north_m] for corners in context.lines(kind)] for kind in KINDS[1:]}
    water: Any = shapely.Polygon()
    rings = [shapely.make_valid(shapely.Polygon(ring)) for ring in shapes.pop("water")]
    for ring in rings:  # the even-odd rule: what is in a second ring is dry again
        water = shapely.symmetric_difference(water, ring)
    lines = {kind: shapely.MultiLineString(many) for kind, many in shapes.items() if many}
    names = [Name(round(n.x - east_m), round(n.y - north_m), n.rank, n.text) for n in context.names]
    return context_of(water, lines, names, width_m, height_m, tolerance_m=0)


def context_of(
    water: Any, lines: Mapping[str, Any], names: list[Name], width_m: float, height_m: float, *, tolerance_m: float
) -> Context:
    """Shapes of the plane cut to a rectangle around its middle and made simple; simpler still until they are few."""
    half = width_m / 2, height_m / 2
    while True:
        found = [("water", ring) for ring in _rings(water, half, tolerance_m)]
        for kind, shape in lines.items():
            found += [(kind, line) for line in _lines(shape, half, tolerance_m)]
        if sum(len(corners) for _, corners in found) <= CORNERS:
            break
        tolerance_m = max(1.0, 2 * tolerance_m)
    corners = np.concatenate([np.zeros((0, 2), np.int32), *(each for _, each in found)])
    begins = np.zeros(len(corners), np.uint8)
    first = np.cumsum([0, *(len(each) for _, each in found)])[:-1]
    begins[first.astype(int)] = [KINDS.index(kind) for kind, _ in found]
    inside = [name for name in names if abs(name.x) <= half[0] and abs(name.y) <= half[1]]
    kept = sorted(inside, key=lambda name: (name.rank, name.text))[:NAMES]
    return Context(begins, corners[:, 0].copy(), corners[:, 1].copy(), tuple(kept))


def _whole(corners: Any, half: tuple[float, float]) -> IndexArray:
    """Corners in whole metres, not beyond the rectangle, none at the place of the one before."""
    most = np.floor(half).astype(np.int64)
    whole = np.clip(np.rint(corners), -most, most).astype(np.int32)
    new = np.concatenate([[True], np.any(np.diff(whole, axis=0) != 0, axis=1)])
    return np.asarray(whole[new])


def _rings(water: Any, half: tuple[float, float], tolerance_m: float) -> list[IndexArray]:
    cut = shapely.intersection(water, shapely.box(-half[0], -half[1], *half))
    simple = shapely.get_parts(shapely.simplify(cut, tolerance_m))
    polygons = [part for part in simple if part.geom_type == "Polygon" and part.area > 4 * tolerance_m**2]
    rings = [_whole(shapely.get_coordinates(ring), half)[:-1] for part in polygons for ring in shapely.get_rings(part)]
    return [ring for ring in rings if len(ring) >= LEAST_RING]


def _lines(shape: Any, half: tuple[float, float], tolerance_m: float) -> list[IndexArray]:
    """Ends that meet are joined, so that there are fewer and longer lines."""
    cut = shapely.clip_by_rect(shape, -half[0], -half[1], *half)
    joined = shapely.line_merge(cut) if cut.geom_type == "MultiLineString" else cut
    parts = shapely.get_parts(shapely.simplify(joined, tolerance_m))
    lines = [_whole(shapely.get_coordinates(part), half) for part in parts if part.geom_type == "LineString"]
    return [line for line in lines if len(line) >= LEAST_LINE]
