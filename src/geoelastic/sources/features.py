# SPDX-License-Identifier: Apache-2.0
"""`Features`: what a source found, as arrays of points and areas in degrees, before any grid is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import BoolArray, FloatArray, IntArray
from .areas import Areas, Bounds

__all__ = ["Bounds", "Features", "TagRule", "in_bounds"]


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
    inside: BoolArray = (lat_ >= lat_min) & (lat_ <= lat_max) & ((lon_ - lon_min) % 360 <= lon_max - lon_min)
    return inside
