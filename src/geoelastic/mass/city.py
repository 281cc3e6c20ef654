# SPDX-License-Identifier: Apache-2.0
"""The *city*: the cells over which the average quality of a small disc is taken."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import shapely
from shapely.geometry import mapping, shape
from shapely.geometry.base import BaseGeometry

from ..arrays import BoolArray
from ..errors import InputError, require_latlon, require_positive
from ..locations import Grid

if TYPE_CHECKING:
    from ..quality import Quality  # with all its sources: a mass that is read from a file needs none

__all__ = ["WHERE_QUALITY_IS", "City", "city_cells", "read_city"]

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
    return (x - x0) ** 2 + (y - y0) ** 2 <= radius_m**2, {
        "choice": "disc",
        "lat": lat,
        "lon": lon,
        "radius_m": radius_m,
    }


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
