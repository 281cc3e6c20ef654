# SPDX-License-Identifier: Apache-2.0
"""The doors from open data to q(x). Each special one is a few lines over `quality_from_source`."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..area import Area
from ..errors import InputError, require_positive
from ..locations import Grid
from ..sources.features import Bounds, Features
from ..sources.osm import OSM_SUFFIXES, osm_box, read_osm
from ..sources.postgis import is_postgres, read_postgis
from ..sources.raster import RASTER_SUFFIXES, raster_box, read_raster
from ..sources.tables import TABLE_SUFFIXES
from ..sources.vector import Condition, read_vector
from .assemble import Batch, as_prior, assemble, grid_sum
from .file import is_quality_file, load_quality
from .grid import Quality
from .hours import Hours
from .recipe import Layer, Prior, Recipe, SourceTable, load_recipe
from .synthetic import synthetic_quality

__all__ = [
    "quality_from_osm", "quality_from_points", "quality_from_polygons", "quality_from_postgis", "quality_from_raster",
    "quality_from_source",
]  # fmt: skip

DEFAULT_CELL_M = 100.0


def quality_from_source(
    source: str | Path,
    area: Area | None = None,
    cell_m: float | None = None,
    recipe: str | Path | Recipe | None = None,
    *,
    at: str | dt.datetime | None = None,
    prior: Any = None,
    lat: str | None = None,
    lon: str | None = None,
    weight: str | None = None,
) -> Quality:
    """q(x) from whatever `source` names.

    An OpenStreetMap file, a ``postgresql://`` database, a table of points or polygons, a raster, a recipe (``.toml``)
    whose layers name their own files, a quality saved before, or ``synthetic:NAME``. Without an `area` the data's own
    box is used. `lat`, `lon` and `weight` name columns of a table.
    """
    text = str(source)
    if text.startswith("synthetic:"):
        return _synthetic(text, area, cell_m)
    if text.endswith(".toml"):
        if recipe is not None:
            raise InputError("a recipe that is itself the source takes no other 'recipe'")
        own = load_recipe(text)
        if own.reads_map:
            raise InputError(
                f"{Path(text).name} reads OpenStreetMap data: give that as the source and this as 'recipe'"
            )
        return _quality(own, None, area, cell_m, at, prior)
    if _is_map(text):
        return _quality(load_recipe(recipe), text, area, cell_m, at, prior)
    if text.endswith(".parquet") and is_quality_file(text):
        return load_quality(text)
    if not text.lower().endswith((*TABLE_SUFFIXES, *RASTER_SUFFIXES)):
        raise InputError(
            f"'source' must be an OpenStreetMap file ({', '.join(OSM_SUFFIXES)}), postgresql://..., a table "
            f"({', '.join(TABLE_SUFFIXES)}), a raster ({', '.join(RASTER_SUFFIXES)}) or a recipe (.toml), got {text!r}"
        )
    if recipe is not None:
        raise InputError(
            f"a recipe chooses OpenStreetMap objects; name {Path(text).name} in a layer of the recipe instead"
        )
    return _quality(_single(SourceTable(text, lat=lat, lon=lon, value=weight)), None, area, cell_m, at, prior)


def quality_from_osm(
    path: str | Path,
    area: Area | None = None,
    cell_m: float = DEFAULT_CELL_M,
    recipe: str | Path | Recipe | None = None,
    *,
    at: str | dt.datetime | None = None,
    prior: Any = None,
) -> Quality:
    """q(x) from an OpenStreetMap file; without an `area`, over the box that the file states."""
    if not str(path).lower().endswith(OSM_SUFFIXES):
        raise InputError(f"'path' must end with one of {', '.join(OSM_SUFFIXES)}, got {Path(path).name!r}")
    return quality_from_source(path, area, cell_m, recipe, at=at, prior=prior)


def quality_from_postgis(
    dsn: str,
    area: Area | None = None,
    cell_m: float = DEFAULT_CELL_M,
    recipe: str | Path | Recipe | None = None,
    *,
    at: str | dt.datetime | None = None,
    prior: Any = None,
) -> Quality:
    """q(x) from a database that osm2pgsql filled (default schema)."""
    if not is_postgres(dsn):
        raise InputError("'dsn' must begin with postgresql://")
    return quality_from_source(dsn, area, cell_m, recipe, at=at, prior=prior)


def quality_from_points(
    points: Any,
    area: Area | None = None,
    cell_m: float = DEFAULT_CELL_M,
    *,
    lat: str | None = None,
    lon: str | None = None,
    weight: str | None = None,
    class_column: str | None = None,
    where: tuple[Condition, ...] = (),
    side_m: float | None = None,
    side_crs: str | None = None,
    credit: str = "",
) -> Quality:
    """q(x) from points (a GeoDataFrame, DataFrame, mapping of columns, GeoParquet, GeoJSON, CSV, ...), each worth
    `weight` or 1.
    """
    table = SourceTable(
        "", lat=lat, lon=lon, value=weight, class_column=class_column, where=where, side_m=side_m, side_crs=side_crs
    )
    return _from_table(points, table, area, cell_m, credit)


def quality_from_polygons(
    polygons: Any, area: Area | None = None, cell_m: float = DEFAULT_CELL_M, *, value: str, credit: str = ""
) -> Quality:
    """q(x) from polygons with a value, such as the people of a census area: shared among the cells by area."""
    return _from_table(polygons, SourceTable("", value=value), area, cell_m, credit)


def quality_from_raster(
    path: str | Path,
    area: Area | None = None,
    cell_m: float = DEFAULT_CELL_M,
    *,
    band: int = 1,
    per: str = "pixel",
    credit: str = "",
) -> Quality:
    """q(x) from a GeoTIFF of counts (``per="pixel"``) or densities (``per="km2"``); totals are preserved."""
    recipe = _single(SourceTable(str(path), band=band, per=per), credit)
    return _quality(recipe, None, area, cell_m, None, None)


def _from_table(data: Any, table: SourceTable, area: Area | None, cell_m: float, credit: str) -> Quality:
    if isinstance(data, str | Path):
        return _quality(_single(replace(table, path=str(data)), credit), None, area, cell_m, None, None)
    return _quality(_single(table, credit), None, area, cell_m, None, None, in_memory=data)


def _single(file: SourceTable, credit: str = "") -> Recipe:
    return Recipe("single", "one table or raster, as it is", (Layer("data", 1.0, file=file, credit=credit),))


def _first(*values: float | None) -> float:
    return next(value for value in values if value is not None)


def _synthetic(name: str, area: Area | None, cell_m: float | None) -> Quality:
    cell_m = require_positive("cell_m", _first(cell_m, DEFAULT_CELL_M))
    if area is None:
        return synthetic_quality(name, cell_m=cell_m)
    grid = Grid.over(area, cell_m)
    return synthetic_quality(name, rows=grid.rows, cols=grid.cols, cell_m=cell_m, origin=(area.lat, area.lon))


def _is_map(source: str) -> bool:
    return is_postgres(source) or source.lower().endswith(OSM_SUFFIXES)


def _quality(
    recipe: Recipe,
    map_source: str | None,
    area: Area | None,
    cell_m: float | None,
    at: str | dt.datetime | None,
    prior: Any,
    *,
    in_memory: Any = None,
) -> Quality:
    moment = (recipe.hours or Hours()).moment(at)
    cell_m = require_positive("cell_m", _first(cell_m, recipe.cell_m, DEFAULT_CELL_M))
    notes: list[str] = []
    if area is None and recipe.centre is not None:
        area = Area.around(*recipe.centre, size_km=recipe.size_km or 75)
    box = _stated_box(recipe, map_source)
    if area is None and box is not None:
        area = _whole_cells(Area.from_bounds(*box), cell_m)
    elif area is not None and box is not None:
        notes += _check_overlap(area, box, map_source or "the raster")
    batches = _read(recipe, map_source, None if area is None else area.bounds, moment is not None, in_memory)
    if area is None:
        area = _whole_cells(_area_of([batch.features for batch in batches]), cell_m)
        notes.append("the source states no box of its own: the box around its features was taken")
    grid = Grid.over(area, cell_m)
    quality = assemble(recipe, grid, batches, moment=moment, prior=_prior_cells(recipe.prior, prior, grid), notes=notes)
    if recipe.city is not None:
        quality.info["city_disc"] = list(recipe.city)
    return quality


def _stated_box(recipe: Recipe, map_source: str | None) -> Bounds | None:
    """The box that a source states of itself: an OpenStreetMap file's header, a raster's frame."""
    if map_source is not None:
        return None if is_postgres(map_source) else osm_box(map_source)
    files = [layer.file.path for layer in recipe.layers if layer.file is not None]
    if len(files) == 1 and files[0].lower().endswith(RASTER_SUFFIXES):
        return raster_box(files[0])
    return None


def _check_overlap(area: Area, box: Bounds, source: str) -> list[str]:
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


def _read(recipe: Recipe, map_source: str | None, bounds: Bounds | None, hours: bool, in_memory: Any) -> list[Batch]:
    batches = []
    of_map = tuple(i for i, layer in enumerate(recipe.layers) if layer.file is None)
    if of_map:
        if map_source is None:
            raise InputError(f"recipe '{recipe.name}' reads OpenStreetMap data: name a file or a database")
        rules = [[m.rule for m in recipe.layers[i].matches] for i in of_map]
        levels = any(recipe.layers[i].levels for i in of_map)
        read = read_postgis if is_postgres(map_source) else read_osm
        batches.append(Batch(of_map, read(map_source, rules, bounds=bounds, levels=levels, hours=hours)))
    for i, layer in enumerate(recipe.layers):
        if layer.file is not None:
            batches.append(Batch((i,), _read_file(layer.file, layer.name, bounds, in_memory)))
    return batches


def _read_file(file: SourceTable, name: str, bounds: Bounds | None, in_memory: Any = None) -> Features:
    if file.path.lower().endswith(RASTER_SUFFIXES):
        return read_raster(file.path, bounds=bounds, band=file.band, per=file.per, class_name=name)
    return read_vector(
        file.path if in_memory is None else in_memory,
        bounds=bounds,
        lat=file.lat,
        lon=file.lon,
        value=file.value,
        class_name=name,
        class_column=file.class_column,
        where=file.where,
        side_m=file.side_m,
        side_crs=file.side_crs,
        layer=file.table,
    )


def _whole_cells(area: Area, cell_m: float) -> Area:
    """The data's own box made up to whole cells, so that nothing at its border is lost."""
    width_m, height_m = (cell_m * math.ceil(side / cell_m) for side in (area.width_m, area.height_m))
    return Area(area.lat, area.lon, width_m, height_m)


def _area_of(batches: list[Features]) -> Area:
    boxes = [features.box for features in batches if features.box is not None]
    if not boxes:
        raise InputError("the source has nothing in it that counts; give an 'area' or another recipe")
    (south, west, _, _), (_, _, north, east) = np.min(boxes, axis=0).tolist(), np.max(boxes, axis=0).tolist()
    margin = 1e-5  # about a metre, so that no feature lies on the border and one feature is a box too
    return Area.from_bounds(south - margin, west - margin, north + margin, east + margin)


def _prior_cells(settings: Prior | None, given: Any, grid: Grid) -> Any:
    if given is not None:
        return as_prior(given, grid)
    if settings is None:
        return None
    if settings.file is None:
        raise InputError("the recipe scales by a prior: name its 'source' there or give 'prior', one number per cell")
    features = _read_file(settings.file, "prior", grid.area.bounds)
    return grid_sum(features, grid, smooth_m=settings.smooth_m)
