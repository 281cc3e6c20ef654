# SPDX-License-Identifier: Apache-2.0
"""Context out of an OpenStreetMap file: a pass over its main roads, waters and places, and one over parts of waters.

libosmium finds them by their tags; of a city they are a few thousand objects, and reading them takes a fraction of a
second.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import shapely

from ..area import Area
from ..sources.osm import location_storage, readable
from ..sources.osm_passes import closed_area, load_osmium
from .context import RANKS, TEXT, Context, Name
from .shores import context_of, lake_faces, sea_faces

_ROADS = ("motorway", "trunk", "primary")
#: On a map that is wider than this, in metres, streets of the second order would be a net without holes.
_STREETS = 30_000
_LINES = {("natural", "coastline"): "coast", ("waterway", "river"): "river", ("waterway", "canal"): "river",
          ("highway", "secondary"): "street", **{("highway", road): "road" for road in _ROADS}}  # fmt: skip
_WATER = (("natural", "water"), ("waterway", "riverbank"), ("waterway", "dock"), ("landuse", "reservoir"))
_PLACES = {"city": 0, "town": 1, "island": 2, "village": 2, "suburb": 2, "borough": 2, "quarter": 3,
           "neighbourhood": 3, "hamlet": 3}  # fmt: skip
#: Lines are as fine as this part of a cell.
_FINE = 0.2


def read_context(path: str | Path, area: Area, cell_m: float) -> Context:
    """Water, coast, main roads and names of places that an extract has in an area, as fine as cells of this side."""
    with readable(path), location_storage(path) as storage:
        found = _Found(load_osmium())
        found.read(str(path), storage)
    half = area.width_m / 2, area.height_m / 2
    lines = {kind: _plane(shapely.multilinestrings(many), area) for kind, many in found.lines.items() if many}
    lines = {kind: shape for kind, shape in lines.items() if not shape.is_empty}
    if max(area.width_m, area.height_m) > _STREETS:
        lines.pop("street", None)
    water = [shapely.make_valid(_plane(shape, area)) for shape in found.waters()]
    if "coast" in lines:
        water.append(sea_faces(shapely.line_merge(lines["coast"]), half))
    roads = shapely.union_all([lines[kind] for kind in ("road", "street") if kind in lines])
    for outline in found.parts():
        shore = _plane(outline, area)
        water.append(lake_faces(shore, roads, half))
        lines["coast"] = shapely.union(lines.get("coast", shapely.MultiLineString()), shore)
    names = []
    for lat, lon, rank, text in found.names:
        x, y = (float(value) for value in area.to_xy(lat, lon))
        if abs(x) <= half[0] and abs(y) <= half[1]:
            names.append(Name(round(x), round(y), rank, text))
    return context_of(shapely.union_all(water), lines, names, area.width_m, area.height_m, tolerance_m=_FINE * cell_m)


class _Found:
    """What the passes found, in degrees."""

    def __init__(self, osmium: Any) -> None:
        self._osmium = osmium
        self.lines: dict[str, list[Any]] = {kind: [] for kind in _LINES.values()}
        self.names: list[tuple[float, float, int, str]] = []
        self._areas: list[Any] = []
        self._members: dict[int, list[int]] = {}
        self._ways: dict[int, Any] = {}

    def read(self, path: str, storage: str) -> None:
        osmium = self._osmium
        tags = [*_LINES, *_WATER, *(("place", place) for place in _PLACES)]
        for each in osmium.FileProcessor(path).with_locations(storage).with_filter(osmium.filter.TagFilter(*tags)):
            if each.is_node():
                self._node(each)
            elif each.is_way():
                self._way(each)
            elif each.is_relation() and each.tags.get("type") == "multipolygon" and _is_water(each.tags):
                self._members[each.id] = [m.ref for m in each.members if m.type == "w"]
        wanted = {way for ways in self._members.values() for way in ways}
        if wanted:
            again = osmium.FileProcessor(path).with_locations(storage)
            again.with_filter(osmium.filter.EntityFilter(osmium.osm.WAY)).with_filter(osmium.filter.IdFilter(wanted))
            for way in again:
                corners = _corners(way)
                if len(corners) > 1:
                    self._ways[way.id] = shapely.LineString(corners)

    def _node(self, node: Any) -> None:
        text = " ".join((node.tags.get("name") or "").split())
        rank = _PLACES.get(node.tags.get("place") or "", RANKS)
        if rank < RANKS and 0 < len(text) <= TEXT and text.isprintable() and node.location.valid():
            self.names.append((node.location.lat, node.location.lon, rank, text))

    def _way(self, way: Any) -> None:
        corners = _corners(way)
        if _is_water(way.tags) and way.is_closed() and len(corners) > 3:
            self._areas.append(shapely.Polygon(corners))
        for key, value in _LINES:
            if way.tags.get(key) == value and way.tags.get("tunnel") in (None, "no") and len(corners) > 1:
                self.lines[_LINES[key, value]].append(shapely.LineString(corners))

    def waters(self) -> list[Any]:
        """Whole areas of water."""
        whole = [closed_area(self._lines_of(number)) for number in self._members]
        return [*self._areas, *(area for area in whole if area is not None)]

    def parts(self) -> list[Any]:
        """Outlines of waters of which the extract has only a part."""
        lines = [self._lines_of(number) for number in self._members]
        return [shapely.multilinestrings(some) for some in lines if some and closed_area(some) is None]

    def _lines_of(self, number: int) -> list[Any]:
        return [self._ways[way] for way in self._members[number] if way in self._ways]


def _is_water(tags: Any) -> bool:
    return any(tags.get(key) == value for key, value in _WATER)


def _corners(way: Any) -> list[tuple[float, float]]:
    return [(node.location.lon, node.location.lat) for node in way.nodes if node.location.valid()]


def _plane(shape: Any, area: Area) -> Any:
    """In metres from the middle of the area; parts that its plane does not reach are left out."""
    flat = shapely.transform(shape, lambda lonlat: np.column_stack(area.to_xy(lonlat[:, 1], lonlat[:, 0])))
    if np.isfinite(shapely.get_coordinates(flat)).all():
        return flat
    parts = [part for part in shapely.get_parts(flat) if np.isfinite(shapely.get_coordinates(part)).all()]
    return shapely.union_all(parts) if parts else shapely.Polygon()
