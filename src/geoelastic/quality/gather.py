# SPDX-License-Identifier: Apache-2.0
"""What a recipe needs, read from its sources: boxes, batches of features, the prior.

`dense_part` is for a source whose box is much larger than what it is about. Extracts carry strays: a ferry's pier
across the bay, the far end of a long relation, a mapper's slip. A few make a box many times as large, centred where
nobody is. The rule is public and looks at nothing but where objects are: in each direction the box that holds all but
the outermost one in two hundred on either side, a twentieth wider on every side. If that is less than half of the whole
box, it is the area; otherwise the source is as wide as its box, and the box is the area. A country of towns and empty
mountains keeps its box, as one object in two hundred is not a town.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..area import Area
from ..arrays import FloatArray
from ..errors import InputError
from ..locations import Grid
from ..sources.features import Bounds, Features
from ..sources.osm import osm_box, read_osm
from ..sources.postgis import is_postgres, read_postgis
from ..sources.raster import RASTER_SUFFIXES, raster_box, read_raster
from ..sources.vector import SourceTable, read_vector
from .assemble import FeatureBatch, as_prior, grid_sum
from .recipe import Recipe, RecipePrior


def stated_box(recipe: Recipe, map_source: str | None) -> Bounds | None:
    """The box that a source states of itself: an OpenStreetMap file's header, a raster's frame."""
    if map_source is not None:
        return None if is_postgres(map_source) else osm_box(map_source)
    files = [layer.file.path for layer in recipe.layers if layer.file is not None]
    if len(files) == 1 and files[0].lower().endswith(RASTER_SUFFIXES):
        return raster_box(files[0])
    return None


def check_overlap(area: Area, box: Bounds, source: str) -> list[str]:
    """A note if the area reaches beyond the data, an error if it lies outside."""
    lat_min, lon_min, lat_max, lon_max = area.bounds
    south, west, north, east = box
    best = 0.0
    for turn in (-360.0, 0.0, 360.0):
        height = min(lat_max, north) - max(lat_min, south)
        width = min(lon_max, east + turn) - max(lon_min, west + turn)
        best = max(best, max(height, 0.0) * max(width, 0.0))
    name = Path(source).name
    if not best > 0:
        raise InputError(
            f"the area lies outside {name}, which covers latitudes {south:.4f} to {north:.4f} and longitudes "
            f"{west:.4f} to {east:.4f}"
        )
    share = best / ((lat_max - lat_min) * (lon_max - lon_min))
    return [f"{1 - share:.0%} of the area lies outside {name}: no data there"] if share < 0.99 else []


def read_batches(
    recipe: Recipe,
    map_source: str | None,
    bounds: Bounds | None,
    hours: bool,
    in_memory: Any,
    *,
    progress: bool = False,
) -> list[FeatureBatch]:
    """Every layer's features; `progress` shows a bar while a map file is read."""
    batches = []
    of_map = tuple(i for i, layer in enumerate(recipe.layers) if layer.file is None)
    if of_map:
        if map_source is None:
            raise InputError(f"recipe '{recipe.name}' reads OpenStreetMap data: name a file or a database")
        rules = [[m.rule for m in recipe.layers[i].matches] for i in of_map]
        levels = any(recipe.layers[i].levels for i in of_map)
        if is_postgres(map_source):
            features = read_postgis(map_source, rules, bounds=bounds, levels=levels, hours=hours)
        else:
            features = read_osm(map_source, rules, bounds=bounds, levels=levels, hours=hours, progress=progress)
        batches.append(FeatureBatch(of_map, features))
    for i, layer in enumerate(recipe.layers):
        if layer.file is not None:
            batches.append(FeatureBatch((i,), read_file(layer.file, layer.name, bounds, in_memory)))
    return batches


def read_file(file: SourceTable, name: str, bounds: Bounds | None, in_memory: Any = None) -> Features:
    if file.path.lower().endswith(RASTER_SUFFIXES):
        return read_raster(file.path, bounds=bounds, band=file.band, per=file.per, class_name=name)
    return read_vector(file.path if in_memory is None else in_memory, file, bounds=bounds, class_name=name)


def whole_cells(area: Area, cell_m: float) -> Area:
    """The data's own box made up to whole cells, so that nothing at its border is lost."""
    width_m, height_m = (cell_m * math.ceil(side / cell_m) for side in (area.width_m, area.height_m))
    return Area(area.lat, area.lon, width_m, height_m)


def area_of(batches: list[Features]) -> Area:
    boxes = [features.box for features in batches if features.box is not None]
    if not boxes:
        raise InputError("the source has nothing in it that counts; give an 'area' or another recipe")
    (south, west, _, _), (_, _, north, east) = np.min(boxes, axis=0).tolist(), np.max(boxes, axis=0).tolist()
    margin = 1e-5  # about a metre, so that no feature lies on the border and one feature is a box too
    return Area.from_bounds(south - margin, west - margin, north + margin, east + margin)


def prior_cells(settings: RecipePrior | None, given: Any, grid: Grid) -> Any:
    if given is not None:
        return as_prior(given, grid)
    if settings is None:
        return None
    if settings.file is None:
        raise InputError("the recipe scales by a prior: name its 'source' there or give 'prior', one number per cell")
    features = read_file(settings.file, "prior", grid.area.bounds)
    return grid_sum(features, grid, smooth_m=settings.smooth_m)


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
