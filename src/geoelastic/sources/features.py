# SPDX-License-Identifier: Apache-2.0
"""`Features`: what a source found, as arrays of points and polygons in degrees, before any grid is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

__all__ = ["Bounds", "Features", "Geometries", "TagRule", "in_bounds", "polygons_only", "touches_bounds"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Geometries = npt.NDArray[np.object_]

#: (lat_min, lon_min, lat_max, lon_max); lon_max > 180 across the 180th meridian
Bounds = tuple[float, float, float, float]


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
    """Points first, then polygons; every column has one entry per feature in that order.

    `value`: what a feature is worth before any weight (1, a column of a table, a number of storeys). `rule`: index of
    the rule that chose it. `code`: index into `classes`. `hours`: index into `hours_text`, -1 where the source knows
    none. `dropped`: how many objects were left out, by reason. `info`: source, timestamp, licence, box, notes.
    """

    lat: FloatArray
    lon: FloatArray
    polygons: Geometries
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
        return len(self.lat) + len(self.polygons)

    @classmethod
    def of_rows(
        cls,
        lat: npt.ArrayLike,
        lon: npt.ArrayLike,
        polygons: Sequence[Any] | Geometries,
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
        shapes = np.asarray(polygons, dtype=object)
        n = len(lat_) + len(shapes)
        return cls(
            lat_,
            lon_,
            shapes,
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
        if len(self.polygons):
            x0, y0, x1, y1 = shapely.total_bounds(self.polygons)
            boxes.append((y0, x0, y1, x1))
        if not boxes:
            return None
        low, high = np.min(boxes, axis=0), np.max(boxes, axis=0)
        return float(low[0]), float(low[1]), float(high[2]), float(high[3])


def in_bounds(lat: npt.ArrayLike, lon: npt.ArrayLike, bounds: Bounds) -> npt.NDArray[np.bool_]:
    """Which places lie in a box, also one that crosses the 180th meridian."""
    lat_min, lon_min, lat_max, lon_max = bounds
    lat_, lon_ = np.asarray(lat), np.asarray(lon)
    inside: npt.NDArray[np.bool_] = (
        (lat_ >= lat_min) & (lat_ <= lat_max) & ((lon_ - lon_min) % 360 <= lon_max - lon_min)
    )
    return inside


def touches_bounds(geometries: Geometries, bounds: Bounds) -> npt.NDArray[np.bool_]:
    """Whose box meets a box, also one that crosses the 180th meridian."""
    lat_min, lon_min, lat_max, lon_max = bounds
    x0, y0, x1, y1 = shapely.bounds(geometries).T
    meets = np.zeros(len(geometries), dtype=bool)
    for turn in (-360, 0, 360):
        meets |= (x1 + turn >= lon_min) & (x0 + turn <= lon_max)
    result: npt.NDArray[np.bool_] = meets & (y1 >= lat_min) & (y0 <= lat_max)
    return result


def polygons_only(geometries: Geometries) -> Geometries:
    """The same shapes made valid, without the lines and points that this can leave over; None where nothing is left."""
    result = geometries.copy()
    invalid = np.flatnonzero(~shapely.is_valid(geometries))
    for i in invalid:
        parts = shapely.get_parts(shapely.make_valid(geometries[i], method="structure", keep_collapsed=False))
        parts = parts[shapely.get_dimensions(parts) == 2]
        result[i] = shapely.union_all(parts) if len(parts) else None
    return result
