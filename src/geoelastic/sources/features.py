# SPDX-License-Identifier: Apache-2.0
"""`Features`: what a source found, as arrays of points and areas in degrees, before any grid is known. `Areas`: many
polygons with holes as a few flat arrays; reading a city's buildings makes no object per building.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from .._kernels import simple_rings
from ..arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class TagRule:
    """Map objects that have the tag `key`, with one of `values` if given, and none of `without`; `key=no` never
    matches.
    """

    key: str
    values: frozenset[str] | None = None
    without: frozenset[str] = frozenset()
    geometry: str = "any"

    def __post_init__(self) -> None:
        object.__setattr__(self, "without", self.without | {"no"})

    def matches(self, value: str) -> bool:
        """Whether an object with ``key=value`` counts."""
        return value not in self.without and (self.values is None or value in self.values)


@dataclass(frozen=True, eq=False)
class Features:
    """Points first, then areas; every column has one entry per feature in that order.

    `value`: what a feature is worth before any weight (1, a column of a table, a number of storeys). `rule`: index of
    the rule that chose it. `code`: index into `classes`. `hours`: index into `hours_text`, -1 where the source knows
    none. `dropped`: how many objects were left out, by reason. `info`: source, timestamp, licence, box, notes.
    """

    lat: FloatArray
    lon: FloatArray
    areas: Areas
    value: FloatArray
    rule: IntArray
    code: IntArray
    classes: tuple[str, ...]
    hours: IntArray
    hours_text: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(self.lat) + len(self.areas)

    @classmethod
    def of_rows(
        cls,
        lat: npt.ArrayLike,
        lon: npt.ArrayLike,
        areas: Areas | None = None,
        *,
        value: npt.ArrayLike | None = None,
        rule: npt.ArrayLike | None = None,
        code: npt.ArrayLike | None = None,
        classes: Sequence[str] = ("all",),
        hours: npt.ArrayLike | None = None,
        hours_text: Sequence[str] = (),
        dropped: Mapping[str, int] | None = None,
        info: Mapping[str, Any] | None = None,
    ) -> Features:
        """Columns left out are 1 (value), 0 (rule, code) and -1 (hours)."""
        lat_, lon_ = np.asarray(lat, dtype=np.float64), np.asarray(lon, dtype=np.float64)
        areas = Areas.none() if areas is None else areas
        n = len(lat_) + len(areas)
        return cls(
            lat_,
            lon_,
            areas,
            np.ones(n) if value is None else np.asarray(value, dtype=np.float64),
            np.zeros(n, np.int64) if rule is None else np.asarray(rule, dtype=np.int64),
            np.zeros(n, np.int64) if code is None else np.asarray(code, dtype=np.int64),
            tuple(classes),
            np.full(n, -1) if hours is None else np.asarray(hours, dtype=np.int64),
            tuple(hours_text),
            {k: v for k, v in (dropped or {}).items() if v},
            dict(info or {}),
        )

    @property
    def box(self) -> Bounds | None:
        """The box of degrees around all features, None if there are none."""
        boxes = [(self.lat.min(), self.lon.min(), self.lat.max(), self.lon.max())] if len(self.lat) else []
        if len(self.areas):
            south, west, north, east = self.areas.boxes()
            boxes.append((south.min(), west.min(), north.max(), east.max()))
        if not boxes:
            return None
        low, high = np.min(boxes, axis=0), np.max(boxes, axis=0)
        return float(low[0]), float(low[1]), float(high[2]), float(high[3])


def in_bounds(lat: npt.ArrayLike, lon: npt.ArrayLike, bounds: Bounds) -> BoolArray:
    """Which places lie in a box, also one that crosses the 180th meridian."""
    lat_min, lon_min, lat_max, lon_max = bounds
    lat_, lon_ = np.asarray(lat), np.asarray(lon)
    return (lat_ >= lat_min) & (lat_ <= lat_max) & ((lon_ - lon_min) % 360 <= lon_max - lon_min)


Geometries = npt.NDArray[np.object_]

#: (lat_min, lon_min, lat_max, lon_max); lon_max > 180 across the 180th meridian
Bounds = tuple[float, float, float, float]

#: with more corners than this, trying all pairs of sides costs more than a check by sweeping (GEOS)
_MOST_CORNERS = 40
#: relative difference of areas that is rounding; lobes of an outline that crosses itself differ by more
_SAME_AREA = 1e-9


@dataclass(frozen=True, eq=False)
class Areas:
    """Corners of all rings one after the other, each ring closed; the rings of an area are an outer ring, its holes,
    and so on.

    `ring_start`: first corner of each ring and one more. `area_start`: first ring of each area and one more. `hole`:
    which rings are holes. Rings may run either way.
    """

    lon: FloatArray
    lat: FloatArray
    ring_start: IntArray
    area_start: IntArray
    hole: BoolArray

    def __len__(self) -> int:
        return len(self.area_start) - 1

    @classmethod
    def none(cls) -> Areas:
        """No areas."""
        zero = np.zeros(1, dtype=np.int64)
        return cls(np.empty(0), np.empty(0), zero, zero, np.empty(0, dtype=np.bool_))

    @classmethod
    def from_shapely(cls, polygons: Geometries) -> Areas:
        """Valid, non-empty polygons and multipolygons (x = lon)."""
        if not len(polygons):
            return cls.none()
        kind, corners, offsets = shapely.to_ragged_array(polygons, include_z=False)
        ring_start, part_start = (np.asarray(o, dtype=np.int64) for o in offsets[:2])
        single = kind == shapely.GeometryType.POLYGON
        area_start = part_start if single else part_start[np.asarray(offsets[2], dtype=np.int64)]
        hole = np.ones(len(ring_start) - 1, dtype=np.bool_)
        hole[part_start[:-1]] = False
        lon, lat = np.ascontiguousarray(corners.T, dtype=np.float64)
        return cls(lon, lat, ring_start, area_start, hole)

    @classmethod
    def of_squares(cls, lon: FloatArray, lat: FloatArray) -> Areas:
        """Quadrilaterals, five corners each: the last is the first again."""
        n = len(lon) // 5
        return cls(lon, lat, 5 * np.arange(n + 1), np.arange(n + 1), np.zeros(n, dtype=np.bool_))

    @classmethod
    def from_rings(cls, lon: FloatArray, lat: FloatArray, ring_start: IntArray) -> tuple[Areas, IntArray]:
        """One area for each closed ring that does not cross itself, and the numbers of those rings.

        Outlines may touch themselves or have spikes of no width: made valid, these enclose what they did before.
        """
        good = simple_rings(lon, lat, ring_start, _MOST_CORNERS)
        every = cls(lon, lat, ring_start, np.arange(len(ring_start)), np.zeros(len(ring_start) - 1, dtype=np.bool_))
        unsure = np.flatnonzero(~good)
        if not len(unsure):
            return every, np.arange(len(every))
        rest = every.take(unsure)
        index = np.repeat(np.arange(len(rest)), np.diff(rest.ring_start))
        outlines = shapely.polygons(shapely.linearrings(np.column_stack([rest.lon, rest.lat]), indices=index))
        valid = polygons_only(np.asarray(outlines, dtype=object))
        enclosed, before = shapely.area(valid), shapely.area(outlines)
        same = (before > 0) & (np.abs(enclosed - before) <= _SAME_AREA * before)
        sure = np.flatnonzero(good)
        areas = cls.concatenate([every.take(sure), cls.from_shapely(valid[same])])
        return areas, np.concatenate([sure, unsure[same]])

    @classmethod
    def concatenate(cls, parts: Sequence[Areas]) -> Areas:
        """All areas of all parts, in order."""
        if not parts:
            return cls.none()
        corners = np.cumsum([0, *(len(p.lon) for p in parts)])
        rings = np.cumsum([0, *(len(p.hole) for p in parts)])
        return cls(
            np.concatenate([p.lon for p in parts]),
            np.concatenate([p.lat for p in parts]),
            np.concatenate([*(p.ring_start[:-1] + c for p, c in zip(parts, corners, strict=False)), corners[-1:]]),
            np.concatenate([*(p.area_start[:-1] + r for p, r in zip(parts, rings, strict=False)), rings[-1:]]),
            np.concatenate([p.hole for p in parts]),
        )

    def take(self, chosen: npt.NDArray[np.integer | np.bool_]) -> Areas:
        """The chosen areas, by index or by mask."""
        index = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else np.asarray(chosen, dtype=np.int64)
        if len(index) == len(self) and np.array_equal(index, np.arange(len(self))):
            return self
        rings, area_start = ranges(self.area_start, index)
        corners, ring_start = ranges(self.ring_start, rings)
        return Areas(self.lon[corners], self.lat[corners], ring_start, area_start, self.hole[rings])

    def boxes(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """(lat_min, lon_min, lat_max, lon_max) of each area."""
        if not len(self):
            empty = np.empty(0)
            return empty, empty, empty, empty
        first = self.ring_start[self.area_start[:-1]]
        low, high = np.minimum.reduceat, np.maximum.reduceat
        return low(self.lat, first), low(self.lon, first), high(self.lat, first), high(self.lon, first)

    def touching(self, bounds: Bounds) -> BoolArray:
        """Whose box meets the bounds."""
        return boxes_touch(self.boxes(), bounds)


def boxes_touch(boxes: tuple[FloatArray, FloatArray, FloatArray, FloatArray], bounds: Bounds) -> BoolArray:
    """Which boxes (south, west, north, east) meet the bounds, also across the 180th meridian."""
    south, west, north, east = boxes
    lat_min, lon_min, lat_max, lon_max = bounds
    meets = np.zeros(len(south), dtype=np.bool_)
    for turn in (-360, 0, 360):
        meets |= (east + turn >= lon_min) & (west + turn <= lon_max)
    return meets & (north >= lat_min) & (south <= lat_max)


def ranges(start: IntArray, index: IntArray) -> tuple[IntArray, IntArray]:
    """Members of the chosen groups, and where each group begins among them."""
    length = start[index + 1] - start[index]
    begin = np.concatenate([[0], np.cumsum(length)])
    members = np.arange(begin[-1]) + np.repeat(start[index] - begin[:-1], length)
    return members, begin


def polygons_only(geometries: Geometries) -> Geometries:
    """The same shapes made valid, without the lines and points that this can leave over; None where nothing is left."""
    result = geometries.copy()
    for i in np.flatnonzero(~shapely.is_valid(geometries)):
        parts = shapely.get_parts(shapely.make_valid(geometries[i], method="structure", keep_collapsed=False))
        parts = parts[(shapely.get_dimensions(parts) == 2) & ~shapely.is_empty(parts)]
        result[i] = shapely.union_all(parts) if len(parts) else None
    return result
