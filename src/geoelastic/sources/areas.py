# SPDX-License-Identifier: Apache-2.0
"""`Areas`: many polygons with holes as a few flat arrays, in degrees. Reading a city's buildings makes no object per
building.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import shapely

from .._kernels import simple_rings
from ..arrays import BoolArray, FloatArray, IntArray

__all__ = ["Areas", "Bounds", "Geometries", "polygons_only", "ranges"]

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
        return (
            np.minimum.reduceat(self.lat, first),
            np.minimum.reduceat(self.lon, first),
            np.maximum.reduceat(self.lat, first),
            np.maximum.reduceat(self.lon, first),
        )

    def touching(self, bounds: Bounds) -> BoolArray:
        """Whose box meets the bounds, also across the 180th meridian."""
        south, west, north, east = self.boxes()
        lat_min, lon_min, lat_max, lon_max = bounds
        meets = np.zeros(len(self), dtype=np.bool_)
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
