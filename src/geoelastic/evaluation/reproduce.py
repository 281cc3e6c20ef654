# SPDX-License-Identifier: Apache-2.0
"""`reproduce`: section 5 of the paper from raw files in one resumable run, and San Francisco as a second city.

The data folder holds the files of `INPUTS`. There is no full OpenStreetMap extract of Paris among them, so the quality
of Paris comes from a census of homes and from points of restaurants and venues; no check-in is used for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..area import Area
from ..errors import FileError
from ..levels import FloatArray
from ..mass import mass_from_quality
from ..metric import build_metric
from ..opening import load
from ..quality import Quality, quality_from_osm, quality_from_points, quality_from_source
from ..sources.checkins import read_checkins
from ..store.atomic import write_bytes
from .areas import PAPER_AREAS, StudyArea
from .claims import judge_claims, judge_counts
from .evaluate import beyond, publish
from .stages import METRIC, Stages, file_digest
from .study import Study, run_study

__all__ = ["INPUTS", "reproduce"]

PARIS = (48.8567, 2.3487)
#: Paris proper is 105 km², a disc of 5.8 km; the census, restaurants and venues of this disc set the city's average
CITY_RADIUS_M = 5600.0
_SF_BOX = (37.769, -122.420, 37.798, -122.381)

INPUTS = {
    "homes": "paris/filosofi2019_200m_idf.csv",
    "restaurants": "paris/osm_restaurants_idf_oct2022.tsv",
    "venues": "paris/wof_venues_idf_2017.csv",
    "paris_checkins": "checkins/gowalla_paris_30km.txt",
    "sf_map": "osm/sf_downtown_2023.osm.pbf",
    "sf_checkins": "checkins/gowalla_sf_latlon.csv",
}

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

_NOTES = (
    "Gowalla: Cho, Myers, Leskovec, KDD 2011. Brightkite is not among the data; its reader is tested on its format. "
    "The paper's eight epsilons are therefore four here.",
    "The paper's counts are met only if repeated visits of a user to a place count once. What is left (6 of 9,635; 20 "
    "of 429) may be the exact position and orientation of the squares: turned to true north instead of UTM's grid they "
    "hold 9,628 and 434, and shifting the suburb's by one 100 m cell moves its count by 20 to 30.",
    "The paper's figures come from two programs. The authors' own averages the noise of each cell over the whole map, "
    "reports beyond 2 l_top dropped: utility and epsilons. A sample of libqif then normalises the mechanism inside "
    "each 10 km square, where secrets, reports and guesses are cells and planar Laplace's reports outside go to the "
    "border: adversary's errors. 'paper-run' repeats both, and the claims are judged by it. 'paper' and 'paper-box' "
    "are the two cuts of the mechanism taken alone. None of them is private in any metric.",
    "'paper-run' is the paper's procedure on this map's quality and on the default (conformal) metric, not on the "
    "authors' OpenStreetMap extract and builder.",
    "With full support the exponential mechanism needs the factor 1/2: at 300 m for l* = ln 2 its expected error is "
    "1731 m, not the 870 m of the paper's remark, which is the planar Laplace figure 2 x 300 / ln 2.",
    "The adversary with the user's own prior looks at an even sample of 100 users; users with one place are left out.",
)


def reproduce(
    data: str | Path, folder: str | Path, *, size_km: float = 75, workers: int = 2, san_francisco: bool = True,
    progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Everything from raw files to reports in `folder`; a second run finds what the first one finished."""
    begin = time.perf_counter()
    data, out = Path(data), Path(folder)
    needed = [k for k in INPUTS if san_francisco or not k.startswith("sf_")]
    missing = [INPUTS[k] for k in needed if not (data / INPUTS[k]).is_file()]
    if missing:
        raise FileError(f"{data}: must hold {', '.join(missing)}")
    keys = {k: file_digest(data / INPUTS[k]) for k in needed}
    stages = Stages(out / "stages", show=progress)
    results = {"paris": _paris(data, out, keys, stages, size_km, workers)}
    if san_francisco:
        results["san_francisco"] = _san_francisco(data, out, keys, stages, workers)
    return {"seconds": time.perf_counter() - begin, **results}


def _metric(stages: Stages, name: str, key: Any, quality: Callable[[], Quality], city: Any, workers: int) -> Path:
    """The metric of a quality, built and verified, or found from an earlier run.

    On the ground as it is, as in the paper: with a map that is redrawn first, noise is less than its figures.
    """
    path = stages.path(f"metric {name}", key, ".geoelastic", source=METRIC)
    start, found = time.perf_counter(), path.is_file()
    if not found:
        mass = mass_from_quality(quality(), city=city)
        plain = build_metric(mass, cartogram=False, ascent=False, sharpen=False, workers=workers, progress=stages.show)
        plain.save(path)
    stages.note(f"metric {name}", time.perf_counter() - start, found)
    return path


def _paris(data: Path, out: Path, keys: dict[str, str], stages: Stages, size_km: float, workers: int) -> dict[str, Any]:
    folder = out / "paris"
    folder.mkdir(parents=True, exist_ok=True)
    files = {k: (data / INPUTS[k]).resolve().as_posix() for k in ("homes", "restaurants", "venues")}
    recipe = folder / "recipe.toml"
    write_bytes(recipe, _RECIPE.format(size_km=size_km, **files).encode())
    key = {"recipe": _RECIPE, "size_km": size_km, "city": CITY_RADIUS_M, **{k: keys[k] for k in files}}
    path = _metric(stages, "paris", key, lambda: quality_from_source(recipe), (*PARIS, CITY_RADIUS_M), workers)
    metric = load(path)
    people = _people(data / INPUTS["homes"], metric.grid)
    checkins = read_checkins(data / INPUTS["paris_checkins"])
    study = Study(
        metric, file_digest(path), checkins, keys["paris_checkins"], PAPER_AREAS, people=people, workers=workers,
        progress=stages.show,
    )  # fmt: skip
    result = run_study(study, stages)
    result |= beyond(study, result, stages)
    result["metric"] = {"locations": metric.n, "certificate": metric.certificate}
    result["stages"] = list(stages.log)
    claims = judge_counts(result) + judge_claims(result)
    written = publish(study, result, folder, "Section 5 of the paper, Paris", claims=claims, notes=_NOTES)
    return {"files": written, "claims": [vars(c) for c in claims], "result": result}


def _people(path: Path, grid: Any) -> FloatArray:
    """Persons in each cell, from the same census."""
    found = quality_from_points(
        path, grid.area, grid.cell_m, lat="lat", lon="lon", weight="ind", side_m=200, side_crs="EPSG:3035"
    )
    return found.cells


def _san_francisco(data: Path, out: Path, keys: dict[str, str], stages: Stages, workers: int) -> dict[str, Any]:
    folder = out / "san_francisco"
    folder.mkdir(parents=True, exist_ok=True)
    box = Area.from_bounds(*_SF_BOX)
    key = {"box": _SF_BOX, "map": keys["sf_map"]}
    path = _metric(
        stages, "san francisco", key, lambda: quality_from_osm(data / INPUTS["sf_map"], box, 50), None, workers
    )
    metric = load(path)
    area = StudyArea("San Francisco", box.lat, box.lon, 0.9 * min(box.width_m, box.height_m) / 1000)
    checkins = read_checkins(data / INPUTS["sf_checkins"])
    study = Study(
        metric, file_digest(path), checkins, keys["sf_checkins"], (area,), workers=workers, progress=stages.show
    )
    log_before = len(stages.log)
    result = run_study(study, stages)
    result |= beyond(study, result, stages)
    result["metric"] = {"locations": metric.n, "certificate": metric.certificate}
    result["stages"] = stages.log[log_before:]
    notes = (
        "These check-ins name no user and no place: a place is a 50 m cell with check-ins, every check-in counts, and "
        "box plots are over places.",
        "The map is 3.4 x 3.2 km: mechanisms over a metric report inside it, planar Laplace also outside.",
    )
    written = publish(study, result, folder, "San Francisco, downtown", claims=[], notes=notes)
    return {"files": written, "result": result}
