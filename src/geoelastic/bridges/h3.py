# SPDX-License-Identifier: Apache-2.0
"""H3 cells as a source of quality, such as the population tables that are published by cell, and as a way to name
reports."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import shapely

from ..area import Area
from ..errors import InputError, import_extra
from ..quality import Quality, quality_from_polygons

_DEFAULT_CELL_M = 100.0


def quality_from_h3(
    values: Mapping[str, float], area: Area | None = None, cell_m: float = _DEFAULT_CELL_M, *, credit: str = ""
) -> Quality:
    """q(x) from a value for each H3 cell (none inside another), shared among the map's cells by area.

    Totals are preserved: what lies on the map adds up to what its cells were given.
    """
    import pandas as pd

    h3, geopandas = import_extra("h3", "h3"), import_extra("geopandas", "geo")
    names = [str(name) for name in values]
    wrong = sum(not h3.is_valid_cell(name) for name in names)
    if wrong or not names:
        raise InputError(f"'values' must have H3 cells for keys, got {wrong} of {len(names)} that are none")
    every = set(names)
    inside = sum(any(h3.cell_to_parent(n, finer) in every for finer in range(h3.get_resolution(n))) for n in names)
    if inside:
        raise InputError(f"'values' must not have cells inside others, got {inside}: they would count twice")
    shapes = [shapely.Polygon([(lon, lat) for lat, lon in h3.cell_to_boundary(name)]) for name in names]
    table = pd.DataFrame({"value": np.array(list(values.values()), dtype=np.float64)})
    return quality_from_polygons(
        geopandas.GeoDataFrame(table, geometry=shapes, crs=4326), area, cell_m, value="value", credit=credit
    )


def reports_to_h3(lat: npt.ArrayLike, lon: npt.ArrayLike, resolution: int) -> list[str]:
    """The H3 cells of reports. What is made of reports alone tells no more than they do."""
    if isinstance(resolution, bool) or not isinstance(resolution, int) or not 0 <= resolution <= 15:
        raise InputError(f"'resolution' must be a whole number from 0 to 15, got {resolution!r}")
    h3 = import_extra("h3", "h3")
    rows = np.column_stack([np.atleast_1d(lat), np.atleast_1d(lon)]).astype(np.float64)
    if not np.all(np.isfinite(rows)):
        raise InputError("reports must be finite degrees")
    return [str(h3.latlng_to_cell(a, b, resolution)) for a, b in rows.tolist()]
