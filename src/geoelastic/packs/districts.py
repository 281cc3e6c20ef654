# SPDX-License-Identifier: Apache-2.0
"""Districts: the squares that a map too large for one download is cut into, by a rule that knows the map's size alone.

Squares of one side, one around each point of a lattice of half the side: every place has one in which it is at least a
quarter of the side away from the border. The side follows from the map's size and its number of locations, so that a
device can hold and check a district, and a thinly settled map has larger ones, as its crowds take more room. Nothing
in it depends on who asks.
"""

from __future__ import annotations

import math

from ..area import Area

__all__ = ["district_side_km", "districts"]

#: So many locations a district has on average, and sides are whole multiples of this.
_LOCATIONS, _GRAIN_KM = 30_000, 10


def district_side_km(area: Area, locations: int) -> float:
    """The side of the districts of a map with so many locations."""
    side_m = math.sqrt(area.width_m * area.height_m * _LOCATIONS / locations)
    return float(max(1, round(side_m / (1000 * _GRAIN_KM))) * _GRAIN_KM)


def districts(area: Area, size_km: float) -> dict[str, Area]:
    """The districts of an area by name, "row-column" from the south-west."""
    step = size_km * 500
    rows, cols = (max(0, math.ceil(side / 2 / step) - 1) for side in (area.height_m, area.width_m))
    return {
        f"{row + rows}-{col + cols}": _around(area, col * step, row * step, size_km)
        for row in range(-rows, rows + 1)
        for col in range(-cols, cols + 1)
    }


def _around(area: Area, east_m: float, north_m: float, size_km: float) -> Area:
    lat, lon = area.to_latlon(east_m, north_m)
    return Area.around(float(lat), float(lon), size_km=size_km)
