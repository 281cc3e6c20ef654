# SPDX-License-Identifier: Apache-2.0
"""What the readers of OpenStreetMap data share: which objects count, and columns out of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from .areas import Areas, Bounds, IntArray, polygons_only
from .features import Features, TagRule, in_bounds

__all__ = ["BAD_OUTLINE", "Collector", "parse_levels"]

BAD_OUTLINE = "an outline that crosses itself or encloses nothing"
_CHUNK = 20_000
#: hexadecimal digits before the corners of a line in WKB (byte order, type, count), and of each corner (two doubles)
_LINE_HEADER, _CORNER_LENGTH = 18, 32

#: (rule, class, storeys, index of the opening hours)
Row = tuple[int, int, float, int]


class Collector:
    """Takes map objects one by one and keeps those that count, in chunks of arrays.

    This runs once per object that has one of the keys: what the rules make of a combination of tags is remembered.
    """

    def __init__(
        self, layers: Sequence[Sequence[TagRule]], bounds: Bounds | None, *, levels: bool, hours: bool
    ) -> None:
        numbered = iter(range(sum(map(len, layers))))
        self._layers = [[(next(numbered), rule) for rule in rules] for rules in layers]
        self.keys = sorted({r.key for rules in layers for r in rules})
        self._bounds, self._levels, self._hours = bounds, levels, hours
        self._class: dict[str, int] = {}
        self._text: dict[str, int] = {}
        self._chosen: dict[str, dict[tuple[str | None, ...], Sequence[Row]]] = {"node": {}, "area": {}}
        self._lat: list[float] = []
        self._lon: list[float] = []
        self._point_rows: list[Row] = []
        self._shapes: list[Any] = []
        self._shape_rows: list[Row] = []
        self._shape_of: list[str] = []
        self._rings: list[str] = []
        self._ring_rows: list[Row] = []
        self._ring_of: list[int] = []
        self._kept: list[Areas] = []
        self._kept_rows: list[Row] = []
        self.lost: dict[str, list[str]] = {}
        self._outside = 0

    def counts(self, tags: Mapping[str, str], geometry: str) -> bool:
        """Whether an object with these tags counts in any layer."""
        return any(
            rule.key in tags and rule.matches(tags[rule.key]) and rule.geometry in ("any", geometry)
            for rules in self._layers
            for _, rule in rules
        )

    def leave_outside(self, count: int) -> None:
        """Note that so many objects count but do not touch the bounds."""
        self._outside += count

    def choose(self, tags: Any, geometry: str) -> Sequence[Row]:
        """One row for each layer that an object with these tags counts in."""
        values = tuple(map(tags.get, self.keys))
        rows = self._chosen[geometry].get(values)
        if rows is None:
            rows = self._chosen[geometry][values] = self._choose(dict(zip(self.keys, values, strict=True)), geometry)
        if not (rows and (self._levels or self._hours)):
            return rows
        storeys = parse_levels(tags.get("building:levels")) if self._levels else 1.0
        text = tags.get("opening_hours") if self._hours else None
        hours = -1 if text is None else self._text.setdefault(text, len(self._text))
        return [(rule, code, storeys, hours) for rule, code, _, _ in rows]

    def _choose(self, tags: dict[str, str | None], geometry: str) -> Sequence[Row]:
        """The same from scratch: in each layer the first rule that matches."""
        found: list[Row] = []
        for rules in self._layers:
            for index, rule in rules:
                value = tags[rule.key]
                if value is not None and rule.matches(value) and rule.geometry in ("any", geometry):
                    code = self._class.setdefault(f"{rule.key}={value}", len(self._class))
                    found.append((index, code, 1.0, -1))
                    break
        return tuple(found)

    def drop(self, reason: str, name: str) -> None:
        """Note an object (``way/37393423``) that is left out, or kept in part."""
        self.lost.setdefault(reason, []).append(name)

    def drop_near(self, reason: str, name: str, lat: npt.ArrayLike, lon: npt.ArrayLike) -> None:
        """The same for an object with these corners; one that is not in the bounds would not have counted anyway."""
        if self._bounds is None or in_bounds(lat, lon, self._bounds).any():
            self.drop(reason, name)
        else:
            self._outside += 1

    def add_point(self, lat: float, lon: float, rows: Sequence[Row]) -> None:
        if self._bounds is not None:
            lat_min, lon_min, lat_max, lon_max = self._bounds
            if not (lat_min <= lat <= lat_max and (lon - lon_min) % 360 <= lon_max - lon_min):
                self._outside += 1
                return
        for row in rows:
            self._lat.append(lat)
            self._lon.append(lon)
            self._point_rows.append(row)

    def add_shape(self, shape: Any, rows: Sequence[Row], name: str) -> None:
        """A polygon or multipolygon as WKB, plain or hexadecimal."""
        for row in rows:
            self._shapes.append(shape)
            self._shape_rows.append(row)
            self._shape_of.append(name)
        if len(self._shapes) >= _CHUNK:
            self._flush()

    def add_ring(self, line: str, rows: Sequence[Row], way: int) -> None:
        """The closed line of a way as hexadecimal WKB: its outline is a polygon."""
        corners = line[_LINE_HEADER:]
        for row in rows:
            self._rings.append(corners)
            self._ring_rows.append(row)
            self._ring_of.append(way)
        if len(self._rings) >= _CHUNK:
            self._flush()

    def _flush(self) -> None:
        """Keep those of the shapes so far that touch the bounds."""
        if self._shapes:
            shapes = np.asarray(shapely.from_wkb(self._shapes), dtype=object)
            valid = polygons_only(shapes)
            there = np.flatnonzero(~(shapely.is_missing(valid) | shapely.is_empty(valid)))
            for name, i in {self._shape_of[i]: i for i in _others(there, len(valid))}.items():
                lon, lat = shapely.get_coordinates(shapes[i]).T
                self.drop_near(BAD_OUTLINE, name, lat, lon)
            self._keep(Areas.from_shapely(valid[there]), there, self._shape_rows, self._shape_of)
        if self._rings:
            # Parsing all coordinates in one go takes a tenth of the time of parsing every line as a geometry.
            corners = np.frombuffer(bytes.fromhex("".join(self._rings)), dtype="<f8").reshape(-1, 2)
            count = np.array([len(ring) for ring in self._rings]) // _CORNER_LENGTH
            start = np.concatenate([[0], np.cumsum(count)])
            lon, lat = np.ascontiguousarray(corners.T)
            areas, index = Areas.from_rings(lon, lat, start)
            for way, i in {self._ring_of[i]: i for i in _others(index, len(count))}.items():
                ring = slice(start[i], start[i + 1])
                self.drop_near(BAD_OUTLINE, f"way/{way}", lat[ring], lon[ring])
            self._keep(areas, index, self._ring_rows, self._ring_of)
        self._shapes, self._shape_rows, self._shape_of = [], [], []
        self._rings, self._ring_rows, self._ring_of = [], [], []

    def _keep(self, areas: Areas, index: IntArray, rows: list[Row], owner: Sequence[str | int]) -> None:
        """Areas with the numbers of their rows; an object that is left out counts once, in any number of layers."""
        if self._bounds is not None:
            near = areas.touching(self._bounds)
            self._outside += len({owner[i] for i in index[~near].tolist()})
            areas, index = areas.take(near), index[near]
        self._kept.append(areas)
        self._kept_rows += [rows[i] for i in index]

    def features(self, info: dict[str, Any]) -> Features:
        """All that was kept; `info` also gets the objects that were left out, one by one."""
        self._flush()
        rows = self._point_rows + self._kept_rows
        rule, code, value, hours = zip(*rows, strict=True) if rows else ((), (), (), ())
        dropped = {reason: len(names) for reason, names in self.lost.items()}
        dropped["outside the area"] = self._outside
        return Features.of_rows(
            self._lat,
            self._lon,
            Areas.concatenate(self._kept),
            value=value,
            rule=rule,
            code=code,
            classes=tuple(self._class),
            hours=hours,
            hours_text=tuple(self._text),
            dropped=dropped,
            info=info | {"objects": {reason: tuple(names) for reason, names in self.lost.items()}},
        )


def _others(index: IntArray, count: int) -> list[int]:
    """The numbers below `count` that are not in `index`."""
    there = np.zeros(count, dtype=np.bool_)
    there[index] = True
    rest: list[int] = np.flatnonzero(~there).tolist()
    return rest


def parse_levels(text: str | None) -> float:
    """Storeys from the tag ``building:levels``, NaN if it is missing or not a number > 0."""
    try:
        number = float(text) if text is not None else float("nan")
    except ValueError:
        return float("nan")
    return number if 0 < number < 1000 else float("nan")
