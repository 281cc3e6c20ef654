# SPDX-License-Identifier: Apache-2.0
"""What is done for one tile, stage by stage. Each stage reads files, writes one file and returns its plain summary.

| stage | reads | writes |
|---|---|---|
| `lay_out` | cells within 128 cells | `build/layout`: the tile's locations and their mass |
| `link` | layouts within 128 cells | `edges`: the neighbours of the tile's locations |
| `redraw` | cells as far as the flow reaches | `build/place`: where the tile's locations go on the cartogram |
| `solve` | a window of layouts, edges, places | `build/solved`: scales for the tile by itself; who looked beyond it |
| `stitch` | the window's scales, patches before | `build/patch`: scales lowered until those who did hold as well |
| `check` | the window's scales, factors of edges | `tiles`: the tile as it is used; `build/check`: what was verified |

Between the last two, edges are raised for all of the map at once, and after them heights are found: `whole_graph`.

A stage is a function of its files and nothing else: it can run anywhere, in any order that respects the table, twice.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _kernels as kernels
from ..arrays import ByteArray, IndexArray, IntArray
from ..levels import MASS_UNIT
from ..locations import Locations, adaptive
from ..metric.build import MAX_LEAF_CELLS
from ..metric.cartogram import UNITS, draw_cartogram
from ..metric.conformal import _radii, conformal_graph, first_scales, repair, scales_of_density, solve_scales
from ..metric.graph import Graph
from ..metric.verify import PROBES
from ..store.digest import columns_digest, digest
from .store import Columns, TileStore
from .tiling import MARGIN_CELLS, Box, TilePlan
from .window import (
    Files,
    Window,
    between,
    box_grid,
    later_arcs,
    pack_rows,
    read_cells,
    read_columns,
    read_scales,
    read_window,
    slopes,
    tile_leaves,
)

Spec = dict[str, Any]

#: Bits of `met_flags`.
BEYOND_TILE, AT_RIM = 1, 2


def _open(spec: Spec) -> tuple[TileStore, TilePlan, int]:
    return TileStore(spec["root"]), _plan(spec["plan"]), spec["tile"]


@lru_cache(maxsize=4)
def _plan(text: str) -> TilePlan:
    """The plan, with its table of the requirement, once for all tiles that a process works on."""
    return TilePlan.from_dict(json.loads(text))


def put_cells(store: TileStore, tile: str, cells: IntArray) -> str:
    """Keep the masses of a tile's cells, row by row; the name of their file, which is returned, tells its content."""
    name = f"build/cells/{tile}-{digest(repr(cells.shape), cells.astype('<i8'))[:20]}.parquet"
    if store.summary(name) is None:
        store.write_table(name, {"mass": np.ascontiguousarray(cells).ravel()}, {"mass": int(cells.sum())})
    return name


def lay_out(spec: Spec) -> dict[str, Any]:
    """The locations of a tile, exactly those of the whole map; and the widest disc that l_top asks for around one."""
    store, plan, tile = _open(spec)
    box, own = plan.tiling.window(tile, MARGIN_CELLS), plan.tiling.box(tile)
    cells = read_cells(store, plan.tiling, box, spec["cells"])
    grid = box_grid(plan.grid, box)
    around = adaptive(grid, cells, max_mass_units=plan.leaf_units, max_size=MAX_LEAF_CELLS)
    leaves, kept = around.cut(box_grid(plan.grid, own), own.row - box.row, own.col - box.col)
    mass = around.sum_over(cells)[kept]
    row, col = leaves.row + own.row, leaves.col + own.col
    low, ends = plan.frame_cells, (plan.grid.rows - plan.frame_cells, plan.grid.cols - plan.frame_cells)
    secret = (row >= low) & (col >= low) & (row + leaves.size <= ends[0]) & (col + leaves.size <= ends[1])
    reach: int | None = 0
    if secret.any():
        target = float(plan.table[-1]) * MASS_UNIT
        enough = int(cells.sum()) >= int(plan.table[-1])
        radii = _radii(around, cells.astype(np.float64) * MASS_UNIT, [target])[0] if enough else None
        reach = None if radii is None else math.ceil(radii[kept[secret]].max())
    summary = {"n": leaves.n, "mass": int(mass.sum()), "reach_cells": reach, "secrets": int(np.count_nonzero(secret))}
    store.write_table(spec["output"], {"exponent": leaves.exponents(), "mass": mass}, summary)
    return summary


def link(spec: Spec) -> dict[str, Any]:
    """The neighbours of a tile's locations, exactly those of the whole map."""
    store, plan, tile = _open(spec)
    columns = linked(store, plan, tile, spec["layout"])
    summary = {"arcs": int(columns["slot"].size)}
    store.write_table(spec["output"], columns, summary)
    return summary


def linked(store: TileStore, plan: TilePlan, tile: int, layout: Files) -> Columns:
    """The neighbours of a tile's locations by the layouts around it, fences aside."""
    box = plan.tiling.window(tile, MARGIN_CELLS)
    window = read_window(store, plan, box, plan.tiling.meeting(box), layout, None)
    start, index, _ = window.locations.neighbours()
    return pack_rows(plan.tiling, tile, window, start, index)


def redraw(spec: Spec) -> dict[str, Any]:
    """The places of a tile's locations on the cartogram, and the density there."""
    store, plan, tile = _open(spec)
    box = plan.tiling.window(tile, plan.redraw_margin_cells)
    cells = np.asarray(read_cells(store, plan.tiling, box, spec["cells"]) * MASS_UNIT, np.float64)
    leaves = tile_leaves(store, plan.tiling, tile, spec["layout"], store.read_table(spec["layout"])[0]["exponent"])
    row, col, size = np.ascontiguousarray((leaves - np.array([box.row, box.col, 0], np.int32)).T)
    there = Locations(box_grid(plan.grid, box), "adaptive", row, col, size)
    drawn = draw_cartogram(there, cells, plan.evening_cells, mean=plan.mean_mass)
    east, north = (drawn.place + np.array([box.col, box.row], np.int32) * np.int32(UNITS)).T
    columns = {"place_east": east, "place_north": north, "density": drawn.density}
    store.write_table(spec["output"], {name: np.ascontiguousarray(part) for name, part in columns.items()}, {})
    return {}


def _window(spec: Spec, store: TileStore, plan: TilePlan, tile: int) -> Window:
    """A tile's window, with lengths on the cartogram if there is one."""
    box = plan.tiling.window(tile, spec["margin_cells"])
    tiles = plan.tiling.meeting(box)
    window = read_window(store, plan, box, tiles, spec["layout"], spec["edges"], spec.get("rises"))
    return between(store, window, spec["place"]) if plan.redrawn else window


def solve(spec: Spec) -> dict[str, Any]:
    """Scales with which every secret of the tile meets the requirement in the tile's window.

    Secrets up to `overlap_cells` beyond the tile take part, so that the scales on both sides of a seam are worked out
    from nearly the same surroundings.
    """
    store, plan, tile = _open(spec)
    window, own = _window(spec, store, plan, tile), plan.tiling.box(tile)
    wide = spec["overlap_cells"]
    zone = Box(own.row - wide, own.col - wide, own.row_end + wide, own.col_end + wide)
    secret = window.secret(plan)
    sources = np.flatnonzero(secret & window.within(zone)).astype(np.int32)
    if plan.redrawn:
        first = scales_of_density(read_columns(store, window, spec["place"])["density"], plan.scale_table)
    else:
        cells = read_cells(store, plan.tiling, window.box, spec["cells"])
        first = first_scales(window.locations, cells, plan.scale_table)
    scale = solve_scales(first, window.neighbours, window.mass_units, plan.scale_table, sources, workers=1)
    rows = window.rows_of(tile)
    met = _met(window, conformal_graph(window.neighbours, scale), plan, rows[secret[rows]], tile)
    seam = np.zeros(rows.size, bool)
    seam[secret[rows]] = (met & BEYOND_TILE) > 0
    summary = {"clipped": int(np.count_nonzero(met & AT_RIM)), "seam": int(np.count_nonzero(seam))}
    store.write_table(spec["output"], {"scale": scale[rows], "seam": seam}, summary)
    return summary


def _met(window: Window, graph: Graph, plan: TilePlan, sources: IndexArray, tile: int) -> ByteArray:
    flag = (np.where(window.tile != tile, BEYOND_TILE, 0) | np.where(window.rim, AT_RIM, 0)).astype(np.uint8)
    met: ByteArray = kernels.met_flags(*graph.rows, window.mass_units, graph.buckets, plan.table, sources, flag)
    return met


def stitch(spec: Spec) -> dict[str, Any]:
    """Lower scales in the tile's window until the locations that looked beyond the tile hold with its neighbours.

    Only lowering: whoever held before still does. Windows of tiles that are stitched at the same time do not meet.
    """
    store, plan, tile = _open(spec)
    window = _window(spec, store, plan, tile)
    before = read_scales(store, window, spec["solved"], spec["patches"])
    seam = store.read_table(spec["solved"][tile])[0]["seam"]
    sources = window.rows_of(tile)[seam]
    after = repair(window.neighbours, before, window.mass_units, plan.scale_table, sources, workers=1)
    moved = np.flatnonzero(after < before)
    columns = {"tile": window.tile[moved], "number": window.number[moved], "scale": after[moved]}
    summary = {"moved": int(moved.size), "content": columns_digest(columns)}
    store.write_table(spec["output"], columns, summary)
    return summary


def check(spec: Spec) -> dict[str, Any]:
    """Verify every secret of the tile in its window by the verifier's own search, and write the tile."""
    store, plan, tile = _open(spec)
    window = _window(spec, store, plan, tile)
    if plan.ascent:
        scale = read_columns(store, window, spec["raised"])["scale"]
    else:
        scale = read_scales(store, window, spec["solved"], spec["patches"])
    graph = conformal_graph(window.neighbours, scale, window.rise)
    rows = window.rows_of(tile)
    sources = rows[window.secret(plan)[rows]]
    lowest = max(int(np.argmax(plan.table > 0)), (plan.table.size - 1) // 5)
    probes = np.unique(np.linspace(lowest, plan.table.size - 1, PROBES).astype(np.int64))
    edges = kernels.adjacency(graph.n, *graph.edges())
    least, _, holds, _ = kernels.check_balls(*edges, window.mass_units, plan.table, sources, probes, False)
    few = np.unique(np.linspace(0, sources.size - 1, min(spec["profile"], sources.size)).astype(np.int64))
    profile = kernels.check_balls(*edges, window.mass_units, plan.table, sources[few], probes, True)[3]
    met = _met(window, graph, plan, sources, tile)
    finite = least[np.isfinite(least)]
    level = _own_levels(store, spec, plan, tile, window, scale)
    summary = {
        "checked": int(sources.size),
        "edges": int(np.count_nonzero(level >= 0)),
        "violations": int(np.count_nonzero(~holds)),
        "clipped": int(np.count_nonzero(met & AT_RIM)),
        "least": float(finite.min()) if finite.size else None,
        "people": window.mass_units[sources[few]].tolist(),
        "profile": [round(float(value), 6) for value in np.nanmean(profile, axis=1)] if few.size else [],
        "by_level": profile.sum(axis=0).tolist() if few.size else [0.0] * probes.size,
        "probes": probes.tolist(),
        "slope": slopes(window, graph)[tile],
        "pace": pace_of(window, graph, rows),
    }
    columns = store.read_table(spec["layout"][tile])[0] | {"scale": scale[rows]}
    if plan.redrawn:
        places = store.read_table(spec["place"][tile])[0]
        columns |= {name: places[name] for name in ("place_east", "place_north")}
    store.write_table(spec["tile_output"], columns, {})
    store.write_table(spec["output"], {"level": level}, summary)
    return summary


def pace_of(window: Window, graph: Graph, rows: IndexArray) -> float:
    """Mean level units a half cell on the ground, along the edges of a tile; 0 without any."""
    at, arcs = window.locations, slice(int(graph.start[rows[0]]), int(graph.start[rows[-1] + 1]))
    tail, tip = np.repeat(rows, np.diff(graph.start)[rows]), graph.index[arcs]
    weight = graph.weight[arcs].astype(np.float64)
    ground = np.hypot(*(2.0 * part[tail] + at.size[tail] - 2.0 * part[tip] - at.size[tip] for part in (at.row, at.col)))
    return float(weight.sum() / ground.sum()) if weight.size else 0.0


def _own_levels(
    store: TileStore, spec: Spec, plan: TilePlan, tile: int, window: Window, scale: IndexArray
) -> IndexArray:
    """Levels of the edges from the tile's locations to later ones, in the order of its file of edges; -1 where an edge
    has gone."""
    start, index, length = window.neighbours
    rows = window.rows_of(tile)
    first, last = int(start[rows[0]]), int(start[rows[-1] + 1])
    weight = conformal_graph((start, index, length), scale).weight[first:last]
    later = later_arcs(plan.tiling, tile, store.read_table(spec["edges"][tile])[0])[3]
    levels: IndexArray = weight[later]
    if plan.ascent:
        rise = store.read_table(spec["rises"][tile])[0]["rise"]
        levels = np.where(rise > 0, (levels.astype(np.int64) * rise) >> kernels.RISE_BITS, -1).astype(np.int32)
    return levels
