# SPDX-License-Identifier: Apache-2.0
"""The quality of a large OpenStreetMap extract, part by part: memory is bounded by a part, not by the extract.

Each job reads the file for one part of the map, keeps what touches it, shares it among the cells and writes the cells
that have any quality as one Parquet file. What is asked for reaches across no border of parts: a feature that lies in
two of them gives each the share that lies there. The price is that the file is read once a part, so parts are large.
"""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from ..area import Area
from ..errors import FileError, InputError
from ..locations import Grid
from ..quality import Quality, load_recipe
from ..quality.assemble import FeatureBatch, assemble
from ..quality.gather import read_batches, stated_box, whole_cells
from ..quality.recipe import Recipe
from ..sources.osm import OSM_SUFFIXES
from ..store.digest import file_digest
from ..store.kept import kept_name
from .engine import Engine, Job
from .quality_account import account_of_part, account_of_whole
from .store import TileStore
from .tiling import Tiling
from .window import box_grid

PART_CELLS = 2048


def quality_in_parts(
    source: str,
    folder: str,
    area: Area | None = None,
    cell_m: float = 100.0,
    recipe: str | None = None,
    *,
    engine: Engine,
    part_cells: int = PART_CELLS,
) -> Quality:
    """q(x) of an OpenStreetMap file, read part by part into `folder` (``build/quality``); what is there is not read
    again.

    The same as `quality_from_osm`, up to rounding, for recipes that look at one cell at a time; those with a prior or
    a cap look at the whole map and are refused, as are those that are for a time of the day.
    """
    chosen = load_recipe(recipe)
    if not _cell_by_cell(chosen):
        raise InputError(
            "a recipe with a prior, a cap, a spread, an area or a time needs the whole map: it cannot go by parts"
        )
    if not Path(source).is_file():
        raise FileError(f"{source}: no such file")
    grid = Grid.over(_area(source, chosen, area, cell_m), cell_m)
    store, tiling = TileStore(folder), Tiling(grid.rows, grid.cols, part_cells)
    content = file_digest(source)
    names, jobs = [], []
    for part in range(tiling.n):
        spec = _spec(grid, tiling, part, source, recipe)
        names.append(_name(tiling.name(part), spec, content, chosen))
        if store.summary(names[-1]) is None:
            full = spec | {"root": store.root, "output": names[-1]}
            jobs.append(Job(f"geoelastic-{names[-1]}", read_part, full))
    for _ in engine.run(jobs):
        pass
    return _gathered(store, grid, tiling, names, chosen, Path(source).name)


def goes_by_parts(source: str, recipe: str | None) -> bool:
    """Whether `quality_in_parts` can read this."""
    return source.lower().endswith(OSM_SUFFIXES) and _cell_by_cell(load_recipe(recipe))


def _cell_by_cell(recipe: Recipe) -> bool:
    timed = recipe.hours is not None and recipe.hours.default is not None
    return recipe.prior is None and recipe.cap is None and recipe.centre is None and not recipe.spread_m and not timed


def _area(source: str, recipe: Recipe, area: Area | None, cell_m: float) -> Area:
    if area is not None:
        return area
    box = stated_box(recipe, source)
    if box is None:
        raise InputError("the file states no box of its own: give the centre and the size of the area")
    return whole_cells(Area.from_bounds(*box), cell_m)


def _spec(grid: Grid, tiling: Tiling, part: int, source: str, recipe: str | None) -> dict[str, Any]:
    where = box_grid(grid, tiling.box(part))
    return {
        "area": astuple(where.area), "cell_m": grid.cell_m, "rows": where.rows, "cols": where.cols,
        "whole": {"area": astuple(grid.area), "rows": grid.rows, "cols": grid.cols},
        "part": part, "part_cells": tiling.side, "source": source, "recipe": recipe,
    }  # fmt: skip


def _name(part: str, spec: dict[str, Any], content: str, recipe: Recipe) -> str:
    told = {key: value for key, value in spec.items() if key not in ("source", "recipe")}
    return kept_name(f"build/quality/{part}", told, content, repr(recipe))


def read_part(spec: dict[str, Any]) -> dict[str, Any]:
    """Read the file for one part of the map and write the cells of that part that have quality."""
    recipe = load_recipe(spec["recipe"])
    grid = Grid(Area(*spec["area"]), spec["cell_m"], spec["rows"], spec["cols"])
    batches = read_batches(recipe, spec["source"], grid.area.bounds, False, None)
    try:
        quality: Quality | None = assemble(recipe, grid, batches)
    except InputError:  # nothing of what the recipe asks for lies in this part
        quality = None
    cells = np.zeros(grid.shape) if quality is None else quality.cells
    row, col = (part.astype(np.int32) for part in np.nonzero(cells))
    licence = "" if quality is None else str(quality.info.get("licence", ""))
    summary: dict[str, Any] = {"total": float(cells.sum()), "licence": licence} | _account(spec, recipe, batches, grid)
    for name, layer in summary["layers"].items():
        layer["quality"] = 0.0 if quality is None else quality.info["layers"][name]["quality"]
    store = TileStore(spec["root"])
    store.write_table(spec["output"], {"row": row, "col": col, "quality": cells[row, col]}, summary)
    return summary


def _account(spec: dict[str, Any], recipe: Recipe, batches: list[FeatureBatch], grid: Grid) -> dict[str, Any]:
    told = spec["whole"]
    whole = Grid(Area(*told["area"]), spec["cell_m"], told["rows"], told["cols"])
    tiling = Tiling(whole.rows, whole.cols, spec["part_cells"])
    return account_of_part(recipe, batches, grid, whole, tiling, spec["part"])


def _gathered(store: TileStore, grid: Grid, tiling: Tiling, names: list[str], recipe: Recipe, source: str) -> Quality:
    cells = np.zeros(grid.shape)
    licence, summaries = "", []
    for part, name in enumerate(names):
        columns, summary = store.read_table(name)
        summaries.append(summary)
        box = tiling.box(part)
        cells[columns["row"] + box.row, columns["col"] + box.col] = columns["quality"]
        licence = licence or summary["licence"]
    if not cells.any():
        raise InputError(f"nothing that the recipe '{recipe.name}' asks for lies in the area")
    info: dict[str, Any] = {
        "source": source, "recipe": recipe.name, "licence": licence, "parts": len(names),
        "total": float(cells.sum()),
    } | account_of_whole(recipe, summaries)  # fmt: skip
    if recipe.city is not None:
        info["city_disc"] = list(recipe.city)
    return Quality(grid, cells, info)
