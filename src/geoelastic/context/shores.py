# SPDX-License-Identifier: Apache-2.0
"""Shapes of a plane to a `Context`: which side of a shore is water, and lines as simple as a picture allows.

Shores and the border of the map divide it into faces. A coastline has land on its left, by convention; a lake's outline
says nothing, but its two sides differ, and the side with less road on it is the lake.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import shapely

from ..arrays import IndexArray
from .context import CORNERS, KINDS, LEAST_LINE, LEAST_RING, NAMES, Context, Name

#: Metres by which a point is put beside a shore to see which face it is in.
_BESIDE_M = 0.5
#: A face is sea if at least this share of what borders it says so: extracts have faults.
_SURE = 0.9
#: A loose end is taken to go on to the border if that is nearer than this part of the map's longer side.
_NEAR = 0.06


def sea_faces(coast: Any, half: tuple[float, float]) -> Any:
    """The parts of a rectangle around the middle that lie to the right of coastlines."""
    faces, left, right = _faces(coast, half)
    apart = left != right  # both sides of a line that ends inside the map are one face
    wet, dry = (np.bincount(side[apart & (side >= 0)], minlength=len(faces)) for side in (right, left))
    return shapely.union_all(faces[(wet > 0) & (wet >= _SURE * (wet + dry))])


def lake_faces(outline: Any, roads: Any, half: tuple[float, float]) -> Any:
    """The parts of a rectangle that a lake covers of which some of the outline is missing; nothing if it is unclear."""
    faces, left, right = _faces(outline, half)
    colour = _two_colours(len(faces), left, right)
    if colour is None:
        return shapely.Polygon()
    sides = [shapely.union_all(faces[colour == c]) for c in (0, 1)]
    length = [shapely.length(shapely.intersection(side, roads)) / max(side.area, 1.0) for side in sides]
    if length[0] == length[1]:
        return shapely.Polygon()
    return sides[int(length[1] < length[0])]


def _faces(shore: Any, half: tuple[float, float]) -> tuple[Any, Any, Any]:
    """What shores and the border enclose, and for each piece of shore the numbers of the faces on its left and right,
    -1 if there is none."""
    box = shapely.box(-half[0], -half[1], *half)
    inside = shapely.clip_by_rect(shore, -half[0], -half[1], *half)
    net = shapely.union_all([inside, box.exterior, *_to_border(inside, half)])
    faces = np.asarray(shapely.get_parts(shapely.polygonize([net])), dtype=object)
    lines = [shapely.get_coordinates(part) for part in shapely.get_parts(inside) if part.geom_type == "LineString"]
    ends = np.concatenate([np.zeros((0, 2, 2)), *(np.stack([line[:-1], line[1:]], axis=1) for line in lines)])
    step = ends[:, 1] - ends[:, 0]
    away = np.maximum(np.hypot(*step.T), 1e-9)[:, None]
    normal = np.column_stack([-step[:, 1], step[:, 0]]) / away * _BESIDE_M
    return faces, *(_face_of(faces, ends.mean(axis=1) + sign * normal) for sign in (1, -1))


def _to_border(shore: Any, half: tuple[float, float]) -> list[Any]:
    """From each loose end that is near the border the shortest way there: extracts end a little before their box."""
    lines = [shapely.get_coordinates(part) for part in shapely.get_parts(shore) if part.geom_type == "LineString"]
    ends = np.concatenate([np.zeros((0, 2)), *(line[[0, -1]] for line in lines)])
    places, count = np.unique(ends, axis=0, return_counts=True)
    ways = []
    for x, y in places[count == 1].tolist():
        gap = [half[0] - x, half[0] + x, half[1] - y, half[1] + y]
        if 0 < min(gap) <= _NEAR * 2 * max(half):
            target = [(half[0], y), (-half[0], y), (x, half[1]), (x, -half[1])][gap.index(min(gap))]
            ways.append(shapely.LineString([(x, y), target]))
    return ways


def _face_of(faces: Any, points: Any) -> Any:
    number = np.full(len(points), -1)
    point, face = shapely.STRtree(faces).query(shapely.points(points), predicate="within")
    number[point] = face
    return number


def _two_colours(count: int, left: Any, right: Any) -> Any:
    """0 or 1 for each face, other on the other side of a shore; -1 beside none; None if that cannot be."""
    beside: list[set[int]] = [set() for _ in range(count)]
    for a, b in np.unique(
        np.column_stack([left, right])[(left >= 0) & (right >= 0) & (left != right)], axis=0
    ).tolist():
        beside[a].add(b)
        beside[b].add(a)
    colour = np.full(count, -1)
    met = [max(range(count), key=lambda f: len(beside[f]))] if count else []
    colour[met] = 0
    while met:
        face = met.pop()
        for other in beside[face]:
            if colour[other] == colour[face]:
                return None
            if colour[other] < 0:
                colour[other] = 1 - colour[face]
                met.append(other)
    return colour


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
