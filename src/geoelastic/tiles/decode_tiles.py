# SPDX-License-Identifier: Apache-2.0
"""What a manifest and the tables of tiles may say, before anything is made of it: a folder may come from a stranger."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import FileError
from ..mass.requirement import MAX_LEVEL
from ..metric.decode import BY_LOCATION, BY_PAIR, LEAST_METRES, MASS, METRES, _require_requirement, require_relief
from ..store import schema

#: Cells of a side of a map in tiles, and tiles.
SIDE, TILES = 2**17, 2**16
_MEASURE = 2**31
_LARGE = 1e18
#: Half cells from the corner of a map, farther than any place on it.
_PLANE = 2**40
_NEEDS = ("plan", "n", "tiles", "measures", "blocks", "identity", "certificate", "info")
_PLAN = ("grid", "side", "requirement", "l_from", "l_top", "frame_cells")
_GRID = ("lat", "lon", "width_m", "height_m", "east_m", "north_m", "cell_m", "rows", "cols")
_FILES = {"tile": "tiles", "edges": "edges", "cells": "build/cells"}
_PLACE = (-(2**20), 2**28)
_TABLES: dict[str, dict[str, tuple[str, int, int]]] = {
    "tiles": {
        "exponent": ("uint8", *BY_LOCATION["exponent"]), "mass": ("int64", *BY_LOCATION["mass"]),
        "scale": ("int32", *BY_LOCATION["scale"]), "fence": ("int32", *BY_LOCATION["fence"]),
        "place_east": ("int32", *_PLACE), "place_north": ("int32", *_PLACE),
    },
    "rises": {"rise": ("uint8", *BY_PAIR["edge_rise"])},
    "heights": {"height": ("int32", *BY_LOCATION["height"])},
    "edges": {"slot": ("uint8", 0, 255), "step": ("int32", -(2**31), 2**31 - 1)},
}  # fmt: skip
#: All that a type can say.
_RANGES = {kind: (np.iinfo(kind).min, np.iinfo(kind).max) for kind in ("uint8", "int32", "int64")}
_MAY_MISS = ("fence", "place_east", "place_north")


def require_content(content: Any, block_cells: int) -> None:
    """Refuse the content of a manifest that says more, less or other than that of a map in tiles."""
    schema.closed(content, "manifest", needs=_NEEDS, may=("relief", "fences", "context"))
    rows, cols, side = _require_plan(content["plan"])
    schema.text(content["identity"], "identity", pattern="[0-9a-f]{32}")
    if "context" in content:
        schema.text(content["context"], "context", pattern=r"context/[0-9a-f]{20}\.parquet")
    for name in ("certificate", "info", "measures"):
        if not isinstance(content[name], dict):
            raise FileError(f"'{name}' must be an object")
    schema.whole(content["certificate"].get("secret_outside_fences"), "secret_outside_fences", 0, 2**62)
    count = math.ceil(rows / side) * math.ceil(cols / side)
    files = dict(_FILES)
    if content["plan"].get("ascent", False):
        files["rises"] = "rises"
    if "relief" in content:
        files["heights"] = "heights"
        _require_relief(content["relief"])
    _require_tiles(schema.listed(content["tiles"], "tiles", least=count, most=min(count, TILES)), content["n"], files)
    _require_fences(content)
    high, across = math.ceil(rows / block_cells), math.ceil(cols / block_cells)
    schema.wholes(schema.table(content["blocks"], "blocks", rows=high * across, cols=4), "blocks", -_PLANE, _PLANE)
    for name, told in content["measures"].items():
        schema.text(name, "measures", choices=("mass", "uniform"))
        _require_measure(told, high, across)


def _require_plan(plan: Any) -> tuple[int, int, int]:
    schema.closed(plan, "plan", needs=_PLAN, may=("evening_cells", "mean_mass", "ascent"))
    if not isinstance(plan.get("ascent", False), bool):
        raise FileError("'ascent' must be true or false")
    grid = schema.closed(plan["grid"], "grid", needs=_GRID)
    schema.number(grid["lat"], "lat", -90, 90)
    schema.number(grid["lon"], "lon", -360, 360)
    schema.number(grid["cell_m"], "cell_m", LEAST_METRES, METRES)
    for name in ("width_m", "height_m"):
        schema.number(grid[name], name, LEAST_METRES, 10 * METRES)
    for name in ("east_m", "north_m"):
        schema.number(grid[name], name, -10 * METRES, 10 * METRES)
    rows, cols = (schema.whole(grid[name], name, 1, SIDE) for name in ("rows", "cols"))
    side = schema.whole(plan["side"], "side", 1, SIDE)
    schema.whole(plan["frame_cells"], "frame_cells", 0, min(rows, cols) // 2)
    l_top = schema.number(plan["l_top"], "l_top", 0, MAX_LEVEL)
    if not schema.number(plan["l_from"], "l_from", 0, MAX_LEVEL) < l_top:
        raise FileError("'l_from' must be below 'l_top'")
    _require_requirement(plan["requirement"], l_top)
    for name in ("evening_cells", "mean_mass"):
        schema.number(plan.get(name, 0), name, 0, 2.0**30)
    for inside, names in ((grid, ("rows", "cols")), (plan, ("side", "frame_cells"))):
        if not all(isinstance(inside[name], int) for name in names):
            raise FileError("numbers of cells must be spelt as whole numbers")
    return rows, cols, side


def _require_relief(relief: Any) -> None:
    require_relief(relief, also=("digest",))
    schema.text(relief["output"], "output", choices=("mass",))
    schema.text(relief["digest"], "digest", pattern="[0-9a-f]{32}")


def _require_tiles(tiles: list[Any], n: Any, files: Mapping[str, str]) -> None:
    first, mass, slopes = 0, 0, ("slope", "low_slope") if "heights" in files else ("slope",)
    for tile in tiles:
        schema.closed(tile, "tiles", needs=(*files, "first", "n", "mass", "pace", *slopes), may=("fences",))
        for name, folder in files.items():
            schema.text(tile[name], name, pattern=folder + r"/r\d{4,8}-c\d{4,8}-[0-9a-f]{20}\.parquet")
        if schema.whole(tile["first"], "first", 0, 2**40) != first or not isinstance(tile["first"], int):
            raise FileError("'first' must be the number of locations in the tiles before")
        first += schema.whole(tile["n"], "n", 1, SIDE * SIDE)
        mass += schema.whole(tile["mass"], "mass", 0, MASS)
        for name in ("pace", *slopes):
            schema.number(tile[name], name, 0, _LARGE)
    if schema.whole(n, "n", 1, 2**40) != first:
        raise FileError("'n' must be the number of locations in all tiles")
    if mass > MASS:
        raise FileError(f"'mass' must be at most {MASS} units in all")


def _require_fences(content: Mapping[str, Any]) -> None:
    """Fences are numbered without a gap, and each tile that has a part of one says how many of its locations."""
    told = schema.closed(content.get("fences", {"number": 0, "secrets": 0}), "fences", needs=("number", "secrets"))
    number = schema.whole(told["number"], "number", 0, content["n"])
    schema.whole(told["secrets"], "secrets", 0, content["n"])
    seen: set[int] = set()
    for tile in content["tiles"]:
        before, locations = 0, 0
        for pair in schema.listed(tile.get("fences", []), "fences", most=number):
            fence, count = schema.listed(pair, "fences", least=2, most=2)
            before = schema.whole(fence, "fences", before + 1, number)
            locations += schema.whole(count, "fences", 1, tile["n"])
            seen.add(before)
        if locations > tile["n"]:
            raise FileError("'fences' must have at most the locations of their tile")
    if len(seen) != number:
        raise FileError("'fences' must be numbered from 1, each in some tile")


def _require_measure(told: Any, high: int, across: int) -> None:
    schema.closed(told, "measures", needs=("block_units", "densest", "total"), may=("sha256",))
    if "sha256" in told:
        schema.text(told["sha256"], "sha256", pattern="[0-9a-f]{64}")
    for name in ("densest", "total"):
        schema.number(told[name], name, 2.0**-60, _LARGE)
    units = schema.table(told["block_units"], "block_units", rows=high, cols=across)
    schema.wholes(units, "block_units", 0, _MEASURE)
    if sum(units) > _MEASURE:
        raise FileError(f"'block_units' must be at most {_MEASURE} in all")


def require_table(name: str, columns: Mapping[str, npt.NDArray[Any]]) -> None:
    """Refuse a table of a tile whose columns are not those of its folder, of their types and in their ranges."""
    wanted = _TABLES.get(name.partition("/")[0])
    if wanted is None:
        return
    missing = [key for key in wanted if key not in columns and key not in _MAY_MISS]
    if missing or any(key not in wanted for key in columns) or ("place_east" in columns) != ("place_north" in columns):
        raise FileError("corrupt: its columns are not those of a tile")
    for key, values in columns.items():
        kind, low, high = wanted[key]
        if values.dtype != np.dtype(kind):
            raise FileError(f"corrupt: '{key}' must be {kind}")
        if (low, high) != _RANGES[kind]:
            schema.require_within(values, key, low, high)
    if "mass" in columns and float(columns["mass"].sum(dtype=np.float64)) > MASS:
        raise FileError(f"corrupt: 'mass' must be at most {MASS} units in all")
