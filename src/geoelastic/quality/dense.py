# SPDX-License-Identifier: Apache-2.0
"""The dense part of a source whose box is much larger than what it is about.

Extracts carry strays: a ferry's pier across the bay, the far end of a long relation, a mapper's slip. A few make a box
many times as large, centred where nobody is. The rule is public and looks at nothing but where objects are: in
each direction the box that holds all but the outermost one in two hundred on either side, a twentieth wider on every
side. If that is less than half of the whole box, it is the area; otherwise the source is as wide as its box, and the
box is the area. A country of towns and empty mountains keeps its box, as one object in two hundred is not a town.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..area import Area
from ..arrays import FloatArray
from ..sources.features import Features

__all__ = ["dense_part"]

#: One object in so many, on each side, may be a stray.
_ONE_IN = 200
#: How much wider than the box of all others the area is, on every side.
_MARGIN = 0.05
#: The dense part is taken if it is at most this share of the whole.
_SHARE = 0.5
#: Below so many objects nobody can tell strays from a sparse map.
_FEWEST = 1000


def dense_part(batches: Sequence[Features], whole: Area) -> tuple[Area, dict[str, Any]] | None:
    """The dense part of `whole`, and what is said about the strays; None if there is nothing to leave out."""
    x, y = whole.to_xy(*_places(batches))
    there = np.isfinite(x) & np.isfinite(y) & (np.abs(x) <= whole.width_m / 2) & (np.abs(y) <= whole.height_m / 2)
    x, y = x[there], y[there]
    if x.size < _FEWEST:
        return None
    (west, east), (south, north) = _inner(x, whole.width_m / 2), _inner(y, whole.height_m / 2)
    if (east - west) * (north - south) > _SHARE * whole.width_m * whole.height_m:
        return None
    lat, lon = (float(part) for part in whole.to_latlon((west + east) / 2, (south + north) / 2))
    # to the next hundred metres, in whole numbers: what is said is what was done, and can be asked for again
    width, height = (float(np.ceil(side / 100)) / 10 for side in (east - west, north - south))
    area = Area.around(round(lat, 5), round(lon, 5), size_km=width, height_km=height)
    away = np.hypot(np.maximum(np.maximum(west - x, x - east), 0), np.maximum(np.maximum(south - y, y - north), 0))
    strays = {
        "objects": int(np.count_nonzero(away)),
        "of": int(x.size),
        "farthest_km": round(float(away.max()) / 1000, 1),
        "options": _options(area),
        "whole_km": [round(whole.width_m / 1000, 1), round(whole.height_m / 1000, 1)],
        "whole_options": _options(whole),
    }
    return area, strays


def said(strays: dict[str, Any]) -> str:
    """A note about strays."""
    width, height = strays["whole_km"]
    return (
        f"the area is the dense part of the source: {strays['objects']:,} of {strays['of']:,} objects, up to "
        f"{strays['farthest_km']:g} km away from it, were left out; it is {strays['options']}, and the whole box of "
        f"{width:g} x {height:g} km would be {strays['whole_options']}"
    )


def _options(area: Area) -> str:
    width, height = area.width_m / 1000, area.height_m / 1000
    tall = "" if abs(width - height) < 0.05 else f" --height {height:.1f}"
    return f"--center {area.lat:.5f},{area.lon:.5f} --size {width:.1f}{tall}"


def _places(batches: Sequence[Features]) -> tuple[FloatArray, FloatArray]:
    """Where objects are; of an area, the middle of its box."""
    lat, lon = [], []
    for features in batches:
        south, west, north, east = features.areas.boxes()
        lat += [features.lat, (south + north) / 2]
        lon += [features.lon, (west + east) / 2]
    return np.concatenate(lat), np.concatenate(lon)


def _inner(values: FloatArray, most: float) -> tuple[float, float]:
    low, high = np.quantile(values, [1 / _ONE_IN, 1 - 1 / _ONE_IN])
    margin = _MARGIN * (high - low)
    return max(float(low - margin), -most), min(float(high + margin), most)
