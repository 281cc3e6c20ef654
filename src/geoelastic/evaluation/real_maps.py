# SPDX-License-Identifier: Apache-2.0
"""The real maps of the evaluation, from the raw files of a data folder: Paris, downtown San Francisco, Vancouver.

There is no full OpenStreetMap extract of Paris among the data, so its quality comes from a census of homes and from
points of restaurants and venues; no check-in is used for it. A metric is kept under a digest of the files, the options
and the code that makes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..area import Area
from ..arrays import FloatArray
from ..errors import FileError
from ..mass import mass_from_quality
from ..metric import build_metric
from ..quality import Quality, quality_from_osm, quality_from_points, quality_from_source
from ..sources.checkins import Checkins, read_checkins
from ..store.atomic import write_bytes
from ..store.digest import file_digest
from .study_stages import METRIC, Stages

PARIS = (48.8567, 2.3487)
#: Paris proper is 105 km², a disc of 5.8 km; the census, restaurants and venues of this disc set the city's average
CITY_RADIUS_M = 5600.0
SF_BOX = (37.769, -122.420, 37.798, -122.381)

INPUTS = {
    "homes": "paris/filosofi2019_200m_idf.csv",
    "restaurants": "paris/osm_restaurants_idf_oct2022.tsv",
    "venues": "paris/wof_venues_idf_2017.csv",
    "paris_checkins": "checkins/gowalla_paris_30km.txt",
    "sf_map": "osm/sf_downtown_2023.osm.pbf",
    "sf_checkins": "checkins/gowalla_sf_latlon.csv",
    "vancouver_map": "osm/vancouver_2015.osm.pbf",
}
_digest_of = cache(file_digest)
#: how the paper's metrics are built: on the ground as it is, by scales alone; a default build has less noise
AS_IN_THE_PAPER = {"cartogram": False, "ascent": False, "sharpen": False}

_RECIPE = """# Greater Paris: households / 20 + 3 x (restaurants + venues)
name = "paris"
about = "Households of a 200 m census grid / 20, plus three for every restaurant and venue."

[area]
center = [48.8567, 2.3487]
size_km = {size_km}
cell_m = 100

[[layer]]
name = "homes"
source = '{homes}'
lat = "lat"
lon = "lon"
value = "men"
weight = 0.05
side_m = 200
side_crs = "EPSG:3035"
credit = "INSEE, Filosofi 2019"

[[layer]]
name = "restaurants"
source = '{restaurants}'
lat = "Lat"
lon = "Lon"
where = [{{ column = "Endyear", equals = 2022 }}]
weight = 3
credit = "© OpenStreetMap contributors, ODbL 1.0"

[[layer]]
name = "venues"
source = '{venues}'
class_column = "class"
where = [{{ column = "nstack", at_most = 20 }}]
weight = 3
credit = "Who's On First"
"""


@dataclass(frozen=True, eq=False)
class RealData:
    """A folder with the files of `INPUTS`, and where what is made of them is kept."""

    data: Path
    stages: Stages
    workers: int = 2

    def require(self, prefixes: tuple[str, ...]) -> None:
        """The files whose names in `INPUTS` begin so must be there."""
        missing = [file for name, file in INPUTS.items() if name.startswith(prefixes) and not self.file(name).is_file()]
        if missing:
            raise FileError(f"{self.data}: must hold {', '.join(missing)}")

    def file(self, name: str) -> Path:
        """The file that `INPUTS` calls so."""
        return self.data / INPUTS[name]

    def digest(self, name: str) -> str:
        """SHA-256 of that file."""
        return _digest_of(self.file(name))

    def checkins(self, city: str) -> Checkins:
        """The check-ins of "paris" or "sf"."""
        return read_checkins(self.file(f"{city}_checkins"))

    def paris(self, size_km: float, *, r_small: float = 300, **build: bool) -> Path:
        """The file of a metric of greater Paris, built and verified now or in an earlier run."""
        digests = {name: self.digest(name) for name in ("homes", "restaurants", "venues")}
        key = {"recipe": _RECIPE, "size_km": float(size_km), "city": CITY_RADIUS_M, **digests}
        city = (*PARIS, CITY_RADIUS_M)
        return self._metric(
            "paris", key, lambda: quality_from_source(self.paris_recipe(size_km)), build, city=city, r_small=r_small
        )

    def paris_recipe(self, size_km: float) -> Path:
        """The recipe of greater Paris, as a file that names the data."""
        names = {k: self.file(k).resolve().as_posix() for k in ("homes", "restaurants", "venues")}
        recipe = self.stages.folder / "paris.toml"
        write_bytes(recipe, _RECIPE.format(size_km=size_km, **names).encode())
        return recipe

    def san_francisco(self, **build: bool) -> Path:
        """The same of downtown San Francisco, with cells of 50 m."""
        key = {"box": SF_BOX, "map": self.digest("sf_map")}
        box = Area.from_bounds(*SF_BOX)
        return self._metric("san francisco", key, lambda: quality_from_osm(self.file("sf_map"), box, 50), build)

    def vancouver(self) -> Path:
        """The same of Vancouver, as a build without options makes it."""
        key = {"map": self.digest("vancouver_map")}
        return self._metric("vancouver", key, lambda: quality_from_source(self.file("vancouver_map")), {})

    def people(self, grid: Any) -> FloatArray:
        """Persons in each cell of a grid around Paris, from the same census."""
        found = quality_from_points(
            self.file("homes"), grid.area, grid.cell_m, lat="lat", lon="lon", weight="ind", side_m=200,
            side_crs="EPSG:3035",
        )  # fmt: skip
        return found.cells

    def _metric(
        self, name: str, key: Any, quality: Callable[[], Quality], build: dict[str, Any], *, city: Any = None,
        r_small: float = 300,
    ) -> Path:  # fmt: skip
        whole = key | {"r_small": r_small, "build": build}
        path = self.stages.path(f"metric {name}", whole, ".geoelastic", source=METRIC)
        start, found = time.perf_counter(), path.is_file()
        if not found:
            mass = mass_from_quality(quality(), r_small=r_small, city=city)
            build_metric(mass, workers=self.workers, progress=self.stages.show, **build).save(path)
        self.stages.note(f"metric {name}, {r_small:g} m", time.perf_counter() - start, found)
        return path
