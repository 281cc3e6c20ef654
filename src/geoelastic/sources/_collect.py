# SPDX-License-Identifier: Apache-2.0
"""What the readers of OpenStreetMap data share: which objects count, and columns out of them; and `Objects`: the nodes
and ways of a file, a block of them at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from ..arrays import BoolArray, FloatArray, IntArray
from ._opl import Block, located, tag_sets
from .features import Areas, Bounds, Features, TagRule, in_bounds, polygons_only, ranges

BAD_OUTLINE = "an outline that crosses itself or encloses nothing"
_CHUNK = 20_000

#: (rule, class, storeys, index of the opening hours)
Row = tuple[int, int, float, int]


class Collector:
    """Takes map objects and keeps those that count, in chunks of arrays.

    What the rules make of a set of tags is a choice: the rows of an object with these tags, one for each layer that it
    counts in. Choices are remembered and numbered; number 0 is that an object counts in no layer.
    """

    def __init__(
        self, layers: Sequence[Sequence[TagRule]], bounds: Bounds | None, *, levels: bool, hours: bool
    ) -> None:
        numbered = iter(range(sum(map(len, layers))))
        self._layers = [[(next(numbered), rule) for rule in rules] for rules in layers]
        self.keys = sorted({r.key for rules in layers for r in rules})
        self.wanted = [*self.keys, *(["building:levels"] if levels else []), *(["opening_hours"] if hours else [])]
        self._bounds, self._levels, self._hours = bounds, levels, hours
        self._class: dict[str, int] = {}
        self._text: dict[str, int] = {}
        self._chosen: dict[tuple[str | None, ...], int] = {}
        self._choices: list[list[Row]] = [[]]
        self._points = [(np.empty(0), np.empty(0), np.empty(0, dtype=np.int64))]
        self._shapes: list[tuple[Any, int, str]] = []
        self._areas: list[tuple[Areas, IntArray]] = []
        self.lost: dict[str, list[str]] = {}
        #: how many objects count but do not touch the bounds
        self.outside = 0

    def counts(self, tags: Mapping[str, str], geometry: str) -> bool:
        """Whether an object with these tags counts in any layer."""
        return any(
            rule.key in tags and rule.matches(tags[rule.key]) and rule.geometry in ("any", geometry)
            for rules in self._layers
            for _, rule in rules
        )

    def choose(self, tags: Mapping[str, str | None], geometry: str) -> int:
        """The number of the choice for an object with these tags; 0, which is false, if it does not count."""
        values = tuple(map(tags.get, self.wanted))
        number = self._chosen.get((geometry, *values))
        if number is None:
            rows = self._rows(dict(zip(self.wanted, values, strict=True)), geometry)
            number = self._chosen[geometry, *values] = len(self._choices) if rows else 0
            self._choices += [rows] if rows else []
        return number

    def _rows(self, tags: Mapping[str, str | None], geometry: str) -> list[Row]:
        """In each layer the first rule that matches."""
        storeys = parse_levels(tags["building:levels"]) if self._levels else 1.0
        text = tags["opening_hours"] if self._hours else None
        found = []
        for rules in self._layers:
            for index, rule in rules:
                value = tags[rule.key]
                if value is not None and rule.matches(value) and rule.geometry in ("any", geometry):
                    code = self._class.setdefault(f"{rule.key}={value}", len(self._class))
                    hours = -1 if text is None else self._text.setdefault(text, len(self._text))
                    found.append((index, code, storeys, hours))
                    break
        return found

    def drop(self, reason: str, name: str) -> None:
        """Note an object (``way/37393423``) that is left out, or kept in part."""
        self.lost.setdefault(reason, []).append(name)

    def drop_near(self, reason: str, name: str, lat: npt.ArrayLike, lon: npt.ArrayLike) -> None:
        """The same for an object with these corners; one that is not in the bounds would not have counted anyway."""
        if self._bounds is None or in_bounds(lat, lon, self._bounds).any():
            self.drop(reason, name)
        else:
            self.outside += 1

    def add_points(self, lat: FloatArray, lon: FloatArray, choice: IntArray) -> None:
        """Places; those that are not known (NaN) are nowhere in the bounds."""
        inside = ~np.isnan(lat) if self._bounds is None else in_bounds(lat, lon, self._bounds)
        self.outside += int(np.count_nonzero(~inside))
        self._points.append((lat[inside], lon[inside], choice[inside]))

    def add_shape(self, shape: Any, choice: int, name: str) -> None:
        """A polygon or multipolygon as WKB, plain or hexadecimal."""
        self._shapes.append((shape, choice, name))
        if len(self._shapes) >= _CHUNK:
            self._flush()

    def add_rings(self, lon: FloatArray, lat: FloatArray, start: IntArray, choice: IntArray, ways: IntArray) -> None:
        """Closed ways: the outline of each, from corner `start[i]` on, is a polygon."""
        areas, index = Areas.from_rings(lon, lat, start)
        for i in np.setdiff1d(np.arange(len(ways)), index).tolist():
            ring = slice(start[i], start[i + 1])
            self.drop_near(BAD_OUTLINE, f"way/{ways[i]}", lat[ring], lon[ring])
        self._keep(areas, choice[index])

    def _flush(self) -> None:
        """Keep those of the shapes so far that touch the bounds."""
        shapes = np.asarray(shapely.from_wkb([shape for shape, _, _ in self._shapes]), dtype=object)
        choice = np.array([choice for _, choice, _ in self._shapes], dtype=np.int64)
        valid = polygons_only(shapes)
        there = ~(shapely.is_missing(valid) | shapely.is_empty(valid))
        for i in np.flatnonzero(~there).tolist():
            lon, lat = shapely.get_coordinates(shapes[i]).T
            self.drop_near(BAD_OUTLINE, self._shapes[i][2], lat, lon)
        self._keep(Areas.from_shapely(valid[there]), choice[there])
        self._shapes = []

    def _keep(self, areas: Areas, choice: IntArray) -> None:
        """Those that touch the bounds."""
        if self._bounds is not None:
            near = areas.touching(self._bounds)
            self.outside += int(np.count_nonzero(~near))
            areas, choice = areas.take(near), choice[near]
        self._areas.append((areas, choice))

    def features(self, info: dict[str, Any]) -> Features:
        """All that was kept, once for each of its rows; `info` also gets the objects that were left out, one by one."""
        self._flush()
        rows = np.array([row for rows in self._choices for row in rows], dtype=np.float64).reshape(-1, 4)
        first = np.cumsum([0, *map(len, self._choices)])
        lat, lon, choice = (np.concatenate(parts) for parts in zip(*self._points, strict=True))
        of_point, point = ranges(first, choice)
        of_area, area = ranges(first, np.concatenate([choice for _, choice in self._areas]))
        points, areas = (np.repeat(np.arange(len(start) - 1), np.diff(start)) for start in (point, area))
        rule, code, value, hours = rows[np.concatenate([of_point, of_area])].T
        dropped = {reason: len(names) for reason, names in self.lost.items()}
        dropped["outside the area"] = self.outside
        return Features.of_rows(
            lat[points],
            lon[points],
            Areas.concatenate([kept for kept, _ in self._areas]).take(areas),
            value=value,
            rule=rule,
            code=code,
            classes=tuple(self._class),
            hours=hours,
            hours_text=tuple(self._text),
            dropped=dropped,
            info=info | {"objects": {reason: tuple(names) for reason, names in self.lost.items()}},
        )


def parse_levels(text: str | None) -> float:
    """Storeys from the tag ``building:levels``, NaN if it is missing or not a number > 0."""
    try:
        number = float(text) if text is not None else float("nan")
    except ValueError:
        return float("nan")
    return number if 0 < number < 1000 else float("nan")


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
            corner = block.start[nodes]
            self._collector.add_points(block.lat[corner], block.lon[corner], choice)
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

    def _add_ways(self, block: Block, ways: IntArray, choice: IntArray, no_area: BoolArray) -> None:
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

    def _add_rings(self, block: Block, ways: IntArray, choice: IntArray) -> None:
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

    def _drop(self, reason: str, block: Block, way: int) -> None:
        corners = slice(block.start[way], block.start[way + 1])
        self._collector.drop_near(reason, f"way/{block.id[way]}", block.lat[corners], block.lon[corners])

    def _add_part(self, block: Block, way: int, choice: int) -> None:
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
