# SPDX-License-Identifier: Apache-2.0
"""`Mass`: how much privacy each cell is worth, m(x) = a + b q(x).

The paper fixes a and b by two sentences. *In the empty countryside one feels private within r_large*: a disc of that
radius with no quality at all holds one unit, 1 = a |B_large|. *On average in the city one feels private within
r_small*: such a disc holds one unit, 1 = a |B_small| + b avg_q. Discs are counted on the grid: the cells whose centre
lies within the radius of a cell's centre.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import shapely
from shapely.geometry import mapping, shape
from shapely.geometry.base import BaseGeometry

from ..arrays import BoolArray, FloatArray, read_only
from ..errors import InputError, MassError, require_able, require_latlon, require_positive
from ..locations import Grid
from ..shown import Shown

if TYPE_CHECKING:
    from ..quality import Quality  # with all its sources: a mass that is read from a file needs none


@dataclass(frozen=True, eq=False, repr=False)
class Mass(Shown):
    """m(x) for every cell of a grid; `info` is plain JSON data that says how it came about."""

    grid: Grid
    cells: FloatArray
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cells = np.array(self.cells, dtype=np.float64)
        if cells.ndim != 2 or 0 in cells.shape or cells.shape != self.grid.shape:
            raise InputError(f"masses must be a table of the grid's shape {self.grid.shape}, got {cells.shape}")
        if not np.all(np.isfinite(cells) & (cells >= 0)):
            raise InputError("masses must be finite numbers >= 0 in every cell")
        if not cells.any():
            raise MassError("masses must be > 0 in at least one cell, got 0 everywhere")
        object.__setattr__(self, "cells", read_only(cells))

    def __repr__(self) -> str:
        return f"Mass({self.cells.sum():,.4g} units on {self.grid.extent})"

    @classmethod
    def from_array(
        cls, cells: npt.ArrayLike, *, cell_m: float, origin: tuple[float, float], info: dict[str, Any] | None = None
    ) -> Mass:
        """A plain (rows, cols) array of masses, row 0 in the south, centred on `origin` = (lat, lon)."""
        try:
            array = np.asarray(cells, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("masses must be a table of numbers") from None
        if array.ndim != 2 or 0 in array.shape:
            raise InputError(f"masses must be a table of rows and columns, got an array of shape {array.shape}")
        rows, cols = array.shape
        return cls(Grid.of_shape((rows, cols), cell_m, origin), array, {"source": "array"} if info is None else info)

    @property
    def total(self) -> float:
        """The mass of the whole map."""
        return float(self.cells.sum())


def mass_from_quality(
    quality: Quality, *, r_small: float = 300, r_large: float = 3000, city: City | None = None
) -> Mass:
    """The paper's mass of a quality: a = 1/|B_large|, b = (1 - |B_small|/|B_large|) / avg_q.

    avg_q is the mean of q(B_small(x)) over the cells x of the `city`: ``"where quality is"`` (the default, unless the
    source names its own `city_disc`) takes every cell with q > 0; a disc is given as (lat, lon, radius_m), a region
    as a polygon in degrees (shapely or GeoJSON). Discs cut by the map's border would pull the mean down and are left
    out, unless the city has no other. A city without quality gives b = 0: one mass everywhere, which is
    geo-indistinguishability. The result's `info` states all of it.
    """
    r_small, r_large = require_positive("r_small", r_small), require_positive("r_large", r_large)
    require_able("quality", quality, "cells", "a quality (ge.quality_from_source makes one)")
    small, large = quality.grid.disc_size(r_small), quality.grid.disc_size(r_large)
    if not small < large:
        raise InputError(
            f"'r_large' must exceed 'r_small' by at least one cell of {quality.grid.cell_m:g} m, "
            f"got {r_large:g} and {r_small:g} m"
        )
    if city is None:
        city = tuple(quality.info["city_disc"]) if "city_disc" in quality.info else WHERE_QUALITY_IS
    chosen, statement = city_cells(quality, city)
    avg_q, discs = _average(quality, r_small, chosen)
    a = 1 / large
    b = (1 - small / large) / avg_q if avg_q > 0 else 0.0
    info = {
        "quality": quality.info,
        "a": a,
        "b": b,
        "avg_q": avg_q,
        "r_small_m": r_small,
        **({"spread_m": quality.info["spread_m"]} if "spread_m" in quality.info else {}),
        "r_large_m": r_large,
        "disc_small_cells": small,
        "disc_large_cells": large,
        "city": statement | {"cells": int(np.count_nonzero(chosen)), "discs": discs},
    }
    return Mass(quality.grid, a + b * quality.cells, info)


def _average(quality: Quality, radius_m: float, chosen: BoolArray) -> tuple[float, int]:
    """Mean of q over discs centred on the chosen cells, and the number of discs it was taken over."""
    reach = int(radius_m / quality.grid.cell_m)
    whole = np.zeros_like(chosen)
    if 2 * reach < min(chosen.shape):
        whole[reach : chosen.shape[0] - reach, reach : chosen.shape[1] - reach] = True
    centres = chosen & whole
    if not centres.any():
        centres = chosen
    discs = int(np.count_nonzero(centres))
    if not discs:
        return 0.0, 0
    return float(disc_sums(quality.cells, radius_m / quality.grid.cell_m)[centres].sum() / discs), discs


def disc_sums(cells: FloatArray, radius_cells: float) -> FloatArray:
    """Sum of `cells` over the disc around each cell; nothing lies outside the map.

    A disc is one run of cells in each row, and a run is the difference of two running totals of its row: exact for
    whole counts.
    """
    rows, cols = cells.shape
    reach = int(radius_cells)
    totals = np.zeros((rows, cols + 1))
    np.cumsum(cells, axis=1, out=totals[:, 1:])
    sums = np.zeros((rows, cols))
    columns = np.arange(cols)
    for dr in range(-min(reach, rows - 1), min(reach, rows - 1) + 1):
        # by the same comparison that `Grid.disc_size` makes
        half = max(k for k in range(reach + 1) if dr * dr + k * k <= radius_cells**2)
        low, high = np.maximum(columns - half, 0), np.minimum(columns + half + 1, cols)
        source = totals[max(dr, 0) : rows + min(dr, 0)]
        sums[max(-dr, 0) : rows + min(-dr, 0)] += source[:, high] - source[:, low]
    return sums


WHERE_QUALITY_IS = "where quality is"

#: "where quality is", a disc (lat, lon, radius_m), or a polygon in degrees (shapely, or a GeoJSON object)
City: TypeAlias = str | tuple[float, float, float] | BaseGeometry | Mapping[str, Any]


def read_city(text: str) -> City:
    """The city of a command line: ``where quality is``, ``LAT,LON,RADIUS_M``, or the path of a GeoJSON file."""
    if text == WHERE_QUALITY_IS:
        return text
    try:
        lat, lon, radius_m = (float(part) for part in text.split(","))
    except ValueError:
        return _read_geojson(text)
    return lat, lon, radius_m


def _read_geojson(text: str) -> City:
    path = Path(text)
    if not path.is_file():
        raise InputError(f"'city' must be {WHERE_QUALITY_IS!r}, LAT,LON,RADIUS_M or a GeoJSON file, got {text!r}")
    from ..sources.streams.geojsonfile import read_features  # with all readers of tables: few masses need one

    features = list(read_features(path))
    return features[0] if len(features) == 1 else {"type": "FeatureCollection", "features": features}


def city_cells(quality: Quality, city: City) -> tuple[BoolArray, dict[str, Any]]:
    """Which cells belong to the city (their centre is in it), and the choice as plain data."""
    if isinstance(city, str):
        if city != WHERE_QUALITY_IS:
            raise InputError(f"'city' must be {WHERE_QUALITY_IS!r}, (lat, lon, radius_m) or a polygon, got {city!r}")
        return quality.cells > 0, {"choice": WHERE_QUALITY_IS, "meaning": "every cell with q > 0"}
    if isinstance(city, tuple):
        chosen, statement = _disc(quality.grid, city)
    else:
        chosen, statement = _polygon(quality.grid, city)
    if not chosen.any():
        raise InputError("'city' must hold the centre of at least one cell of the map, got none")
    return chosen, statement


def _disc(grid: Grid, disc: tuple[float, float, float]) -> tuple[BoolArray, dict[str, Any]]:
    if len(disc) != 3:
        raise InputError(f"a 'city' disc must be (lat, lon, radius_m), got {len(disc)} numbers")
    lat, lon = require_latlon(disc[0], disc[1])
    radius_m = require_positive("radius_m", disc[2])
    x0, y0 = grid.area.to_xy(lat, lon)
    x, y = grid.cell_to_xy(np.arange(grid.rows)[:, None], np.arange(grid.cols)[None, :])
    statement = {"choice": "disc", "lat": lat, "lon": lon, "radius_m": radius_m}
    return (x - x0) ** 2 + (y - y0) ** 2 <= radius_m**2, statement


def _polygon(grid: Grid, polygon: BaseGeometry | Mapping[str, Any]) -> tuple[BoolArray, dict[str, Any]]:
    geometry = polygon if isinstance(polygon, BaseGeometry) else _from_geojson(polygon)
    if geometry.is_empty or not geometry.is_valid or geometry.geom_type not in ("Polygon", "MultiPolygon"):
        raise InputError(f"a 'city' polygon must be a valid Polygon or MultiPolygon, got a {geometry.geom_type}")
    plane = shapely.transform(geometry, lambda lonlat: np.column_stack(grid.area.to_xy(lonlat[:, 1], lonlat[:, 0])))
    x, y = grid.cell_to_xy(np.arange(grid.rows)[:, None], np.arange(grid.cols)[None, :])
    shapely.prepare(plane)
    chosen = shapely.contains_xy(plane, np.broadcast_to(x, grid.shape), np.broadcast_to(y, grid.shape))
    return chosen, {"choice": "polygon", "polygon": mapping(geometry)}


def _from_geojson(data: Mapping[str, Any]) -> BaseGeometry:
    """The union of the polygons of a GeoJSON geometry, feature or collection."""
    try:
        if data.get("type") == "FeatureCollection":
            return shapely.union_all([shape(feature["geometry"]) for feature in data["features"]])
        return shape(dict(data["geometry"] if data.get("type") == "Feature" else data))
    except (KeyError, TypeError, ValueError, AttributeError, shapely.errors.ShapelyError):
        raise InputError(
            "a 'city' polygon must be a GeoJSON Polygon, MultiPolygon, Feature or FeatureCollection"
        ) from None
