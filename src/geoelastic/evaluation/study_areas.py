# SPDX-License-Identifier: Apache-2.0
"""The areas a study looks at: squares of a few kilometres, or polygons from a GeoJSON file.

A square is cut in the UTM zone of its centre. That is what meets the paper's counts: on SNAP's Gowalla file the 10 km
squares hold 9,629 and 449 distinct (user, place) pairs, against 9,635 and 429 in the paper. Squares turned to true
north hold 9,628 and 434; the north of UTM's grid is off by up to 0.6 degrees here, which moves a side by 50 m.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely
from pyproj import Transformer

from ..errors import InputError, require_latlon, require_positive
from ..locations import Grid
from ..sources.checkins import Checkins
from ..sources.streams.geojsonfile import read_features


@dataclass(frozen=True)
class StudyArea:
    """A square of `size_km` around (`lat`, `lon`) in the UTM zone of its centre, or a `polygon` in (lon, lat)."""

    name: str
    lat: float
    lon: float
    size_km: float
    polygon: Any = None

    def __post_init__(self) -> None:
        require_latlon(self.lat, self.lon)
        require_positive("size_km", self.size_km)

    @classmethod
    def from_polygon(cls, name: str, polygon: Any) -> StudyArea:
        """The area of a shapely polygon in (lon, lat); `size_km` is the side of the square around it."""
        lon_min, lat_min, lon_max, lat_max = polygon.bounds
        lat, lon = (lat_min + lat_max) / 2, (lon_min + lon_max) / 2
        probe = cls(name, lat, lon, 1)
        x, y = probe.to_utm(*np.meshgrid([lat_min, lat_max], [lon_min, lon_max]))
        x0, y0 = probe.to_utm(lat, lon)
        half_m = max(float(np.abs(x - x0).max()), float(np.abs(y - y0).max()))
        return cls(name, lat, lon, 2 * half_m / 1000, polygon)

    @cached_property
    def _utm(self) -> Transformer:
        """To the UTM zone of the centre (the exceptions of Norway and Svalbard do not matter here)."""
        zone = int((self.lon + 180) % 360 // 6) + 1
        return Transformer.from_crs("EPSG:4326", (32600 if self.lat >= 0 else 32700) + zone, always_xy=True)

    def to_utm(self, lat: npt.ArrayLike, lon: npt.ArrayLike) -> tuple[Any, Any]:
        """Metres in the UTM zone of the centre."""
        x, y = self._utm.transform(np.asarray(lon, dtype=float), np.asarray(lat, dtype=float))
        return x, y

    def contains(self, lat: npt.ArrayLike, lon: npt.ArrayLike) -> Any:
        """Whether each place lies in the area."""
        if self.polygon is not None:
            return shapely.contains_xy(self.polygon, np.asarray(lon, dtype=float), np.asarray(lat, dtype=float))
        x, y = self.to_utm(lat, lon)
        x0, y0 = self.to_utm(self.lat, self.lon)
        half_m = 500 * self.size_km
        return (np.abs(x - x0) <= half_m) & (np.abs(y - y0) <= half_m)

    def cut(self, checkins: Checkins, grid: Grid | None = None) -> Checkins:
        """The check-ins inside, and on a grid."""
        inside = checkins.select(np.asarray(self.contains(checkins.lat, checkins.lon)))
        return inside if grid is None else inside.select(grid.latlon_to_cell(inside.lat, inside.lon)[0] >= 0)

    def to_json(self) -> dict[str, Any]:
        """What the area is, as plain data: it goes into reports and into the keys of stages."""
        shape = None if self.polygon is None else shapely.to_wkt(self.polygon)
        return {"name": self.name, "lat": self.lat, "lon": self.lon, "size_km": self.size_km, "polygon": shape}


#: the two squares of the paper's section 5: the city and the suburb
PAPER_AREAS = (
    StudyArea("Paris", 48.8567, 2.3487, 10),
    StudyArea("Nanterre", 48.900669, 2.208238, 10),
)


def read_areas(path: str | Path) -> tuple[StudyArea, ...]:
    """Areas from GeoJSON: each (Multi)Polygon is an area; a Point with the property `size_km` is a square."""
    areas = tuple(_area(str(path), k, feature) for k, feature in enumerate(list(read_features(path)), start=1))
    if not areas:
        raise InputError(f"{path}: must hold at least one polygon, or point with 'size_km'")
    if len({a.name for a in areas}) != len(areas):
        raise InputError(f"{path}: the areas must have different names")
    return areas


def _area(path: str, k: int, feature: Any) -> StudyArea:
    properties = feature.get("properties") or {}
    name = str(properties.get("name", f"area {k}"))
    try:
        shape: Any = shapely.from_geojson(json.dumps(feature["geometry"]))
    except (KeyError, shapely.GEOSException) as error:
        raise InputError(f"{path}: feature {k} must be a GeoJSON feature with a geometry") from error
    if shape.geom_type == "Point" and "size_km" in properties:
        return StudyArea(name, shape.y, shape.x, float(properties["size_km"]))
    if shape.geom_type not in ("Polygon", "MultiPolygon") or shape.is_empty or not shape.is_valid:
        raise InputError(
            f"{path}: feature {k} must be a valid polygon, or a point with 'size_km', got {shape.geom_type}"
        )
    return StudyArea.from_polygon(name, shape)
