# SPDX-License-Identifier: Apache-2.0
"""The doors from open data to q(x). Each special one is a few lines over `quality_from_source`."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..area import Area
from ..errors import InputError, require_path, require_positive
from ..locations import Grid
from ..sources.osm import OSM_SUFFIXES
from ..sources.postgis import is_postgres
from ..sources.raster import RASTER_SUFFIXES
from ..sources.tables import TABLE_SUFFIXES
from ..sources.vector import Condition, SourceTable
from .assemble import assemble
from .gather import area_of, check_overlap, dense_part, prior_cells, read_batches, stated_box, whole_cells
from .gather import said as strays_said
from .quality import Quality, is_quality_file, load_quality
from .recipe import Hours, Layer, Recipe
from .recipe_file import load_recipe
from .synthetic import synthetic_quality

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
    progress: bool = False,
) -> Quality:
    """q(x) from whatever `source` names.

    An OpenStreetMap file, a ``postgresql://`` database, a table of points or polygons, a raster, a recipe (``.toml``)
    whose layers name their own files, a quality saved before, or ``synthetic:NAME``. Without an `area` the data's own
    box is used. `lat`, `lon` and `weight` name columns of a table. `at` is a local time for opening hours, `prior` one
    number per cell.
    """
    text = str(source)
    kind = _kind(text)
    if kind != "map" and recipe is not None:
        raise InputError(f"a recipe chooses OpenStreetMap objects: a {kind} can be a layer of it, not its source")
    if kind != "table" and (lat, lon, weight) != (None, None, None):
        raise InputError(f"'lat', 'lon' and 'weight' name columns of a table; the source is a {kind}")
    if kind != "map" and at is not None:
        raise InputError(f"'at' is for the opening hours of OpenStreetMap objects; the source is a {kind}")
    if kind in ("made-up map", "saved quality") and prior is not None:
        raise InputError(f"a prior scales what is counted; the source is a {kind}")
    if kind == "made-up map":
        return _synthetic(text, area, cell_m)
    if kind == "saved quality":
        if area is not None or cell_m is not None:
            raise InputError("a saved quality has its own area and cells: neither can be given")
        return load_quality(text)
    if kind == "map":
        return _quality(load_recipe(recipe), text, area, cell_m, at, prior, progress=progress)
    if kind == "recipe":
        own = load_recipe(text)
        if own.reads_map:
            name = Path(text).name
            raise InputError(f"{name} reads OpenStreetMap data: give that as the source and this as 'recipe'")
        return _quality(own, None, area, cell_m, at, prior)
    return _quality(_single(SourceTable(text, lat=lat, lon=lon, value=weight)), None, area, cell_m, at, prior)


def _kind(source: str) -> str:
    """What a source is, by its name."""
    name = source.lower()
    if name.startswith("synthetic:"):
        return "made-up map"
    if is_postgres(source) or name.endswith(OSM_SUFFIXES):
        return "map"
    if name.endswith(".toml"):
        return "recipe"
    if name.endswith(RASTER_SUFFIXES):
        return "raster"
    if name.endswith(TABLE_SUFFIXES):
        return "saved quality" if name.endswith(".parquet") and is_quality_file(source) else "table"
    shown = f"{source.split('://')[0]}://..." if "://" in source else source  # an address may hold a password
    raise InputError(
        f"'source' must be an OpenStreetMap file ({', '.join(OSM_SUFFIXES)}), postgresql://..., a table "
        f"({', '.join(TABLE_SUFFIXES)}), a raster ({', '.join(RASTER_SUFFIXES)}) or a recipe (.toml), got {shown!r}"
    )


def quality_from_osm(
    path: str | Path,
    area: Area | None = None,
    cell_m: float | None = None,
    recipe: str | Path | Recipe | None = None,
    *,
    at: str | dt.datetime | None = None,
    prior: Any = None,
    progress: bool = False,
) -> Quality:
    """q(x) from an OpenStreetMap file; without an `area`, over the box that the file states.

    `at` and `prior` as of `quality_from_source`.
    """
    require_path("path", path)
    if not str(path).lower().endswith(OSM_SUFFIXES):
        raise InputError(f"'path' must end with one of {', '.join(OSM_SUFFIXES)}, got {Path(path).name!r}")
    return quality_from_source(path, area, cell_m, recipe, at=at, prior=prior, progress=progress)


def quality_from_postgis(
    dsn: str,
    area: Area | None = None,
    cell_m: float | None = None,
    recipe: str | Path | Recipe | None = None,
    *,
    at: str | dt.datetime | None = None,
    prior: Any = None,
    progress: bool = False,
) -> Quality:
    """q(x) from a database that osm2pgsql filled (default schema); `at` and `prior` as of `quality_from_source`."""
    if not is_postgres(str(dsn)):
        raise InputError("'dsn' must begin with postgresql://")
    return quality_from_source(dsn, area, cell_m, recipe, at=at, prior=prior, progress=progress)


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


def _synthetic(name: str, area: Area | None, cell_m: float | None) -> Quality:
    cell_m = require_positive("cell_m", DEFAULT_CELL_M if cell_m is None else cell_m)
    if area is None:
        return synthetic_quality(name, cell_m=cell_m)
    grid = Grid.over(area, cell_m)
    return synthetic_quality(name, rows=grid.rows, cols=grid.cols, cell_m=cell_m, origin=(area.lat, area.lon))


def _quality(
    recipe: Recipe,
    map_source: str | None,
    area: Area | None,
    cell_m: float | None,
    at: str | dt.datetime | None,
    prior: Any,
    *,
    in_memory: Any = None,
    progress: bool = False,
) -> Quality:
    moment = (recipe.hours or Hours()).moment(at)
    stated_m = DEFAULT_CELL_M if recipe.cell_m is None else recipe.cell_m
    cell_m = require_positive("cell_m", stated_m if cell_m is None else cell_m)
    notes: list[str] = []
    given_area = area
    if area is None and recipe.centre is not None:
        area = Area.around(*recipe.centre, size_km=recipe.size_km or 75)
    box = stated_box(recipe, map_source)
    if area is None and box is not None:
        area = whole_cells(Area.from_bounds(*box), cell_m)
    elif area is not None and box is not None:
        notes += check_overlap(area, box, map_source or "the raster")
    stated = given_area is None and recipe.centre is None  # by the source itself, strays and all
    bounds = None if area is None else area.bounds
    batches = read_batches(recipe, map_source, bounds, moment is not None, in_memory, progress=progress)
    if area is None:
        area = whole_cells(area_of([batch.features for batch in batches]), cell_m)
        notes.append("the source states no box of its own: the box around its features was taken")
    strays = dense_part([batch.features for batch in batches], area) if stated else None
    if strays is not None:
        area = whole_cells(strays[0], cell_m)
        notes.append(strays_said(strays[1]))
    grid = Grid.over(area, cell_m)
    quality = assemble(recipe, grid, batches, moment=moment, prior=prior_cells(recipe.prior, prior, grid), notes=notes)
    if strays is not None:
        quality.info["strays"] = strays[1]
    if recipe.city is not None:
        quality.info["city_disc"] = list(recipe.city)
    return quality
