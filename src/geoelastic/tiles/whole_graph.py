# SPDX-License-Identifier: Apache-2.0
"""What is done for all of the map at once, when its tiles fit together: edges rise until they bind (`metric.ascent`),
and heights are found by which reports use nearly all of each distance (`metric.sharpen`).

Both walk the graph and never look at cells. A country of 25 million cells has less than a million locations, and a
location with its edges takes a few hundred bytes: what had to be cut into tiles fits into memory once its locations
are known. What comes out is written tile by tile again, in files that are named by what is in them, so that a tile that
comes out as before is the tile from before. An index says that a step was done, and with which files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray
from ..errors import CheckError
from ..metric.ascent import fit_edges
from ..metric.metric import Metric
from ..metric.relief import Relief, lowered
from ..metric.sharpen import Heights, sharpen
from ..store.digest import columns_digest
from ..store.kept import kept_name
from .store import TileStore
from .tiling import Box, TilePlan
from .window import (
    Files,
    Window,
    between,
    graph_of,
    place_of,
    read_columns,
    read_scales,
    read_window,
    slopes,
)

#: The measure that heights are found for: that of reports, unless another is asked for.
OUTPUT = "mass"


def raise_edges(
    store: TileStore, plan: TilePlan, files: Mapping[str, Any], *, progress: bool = False
) -> dict[str, dict[int, str]]:
    """Factors of edges, and the scales that go with them: the files of each, by tile; and the index of the step."""
    index = _index("raise", plan, {key: value for key, value in files.items() if key != "patches"})
    done = _done(store, index)
    if done is None:
        tiles = list(range(plan.tiling.n))
        window = read_window(store, plan, Box(0, 0, *plan.grid.shape), tiles, files["layout"], files["edges"])
        if plan.redrawn:
            window = between(store, window, files["place"])
        scale = read_scales(store, window, files["solved"], files["patches"])
        sources = np.flatnonzero(window.secret(plan)).astype(np.int32)
        scale, rise = fit_edges(
            window.neighbours, scale, window.mass_units, plan.table, sources, progress=progress
        )  # fmt: skip
        start, neighbour, _ = window.neighbours
        tail = np.repeat(np.arange(start.size - 1), np.diff(start))
        of_edge = window.tile[tail[tail < neighbour]]
        done = _write(store, plan, index, {
            "raised": {tile: {"scale": scale[window.tile == tile]} for tile in tiles},
            "rises": {tile: {"rise": rise[of_edge == tile]} for tile in tiles},
        })  # fmt: skip
    files_of = {kind: {int(tile): name for tile, name in done["files"][kind].items()} for kind in ("raised", "rises")}
    return files_of | {"raise": {0: index}}


def find_heights(
    store: TileStore, plan: TilePlan, tiles: Files, edges: Files, rises: Files | None, *, progress: bool = False
) -> dict[str, Any]:
    """Heights for reports by mass, certified on every edge: their files by tile, what the manifest says of them, and
    the least slope of each tile in the graph that they lower; or why there are none ("failed")."""
    index = _index("sharpen", plan, {"tiles": tiles, "edges": edges, "rises": rises})
    done, passes = _done(store, index), index.replace("build/whole/", "build/passes/")
    if done is None:
        window, metric = whole_metric(store, plan, tiles, edges, rises)

        def keep(state: Heights) -> None:
            store.write_table(passes, {"height": state.height}, {"passes": state.passes})

        try:
            relief = sharpen(metric, output=OUTPUT, progress=progress, keep=keep, begin=_kept(store, passes)).relief
        except CheckError as error:
            return {"failed": str(error)}
        assert relief is not None
        low = slopes(window, lowered(metric.graph, relief.height, relief.slack))
        heights = {tile: {"height": relief.height[window.tile == tile]} for tile in tiles}
        done = _write(store, plan, index, {"heights": heights}, {"relief": told_of(relief), "slopes": low})
    store.remove(passes)  # also those of a run that was stopped between its last two steps
    return {
        "index": index,
        "files": {int(tile): name for tile, name in done["files"]["heights"].items()},
        "relief": done["relief"],
        "slopes": {int(tile): slope for tile, slope in done["slopes"].items()},
    }


def told_of(relief: Relief) -> dict[str, Any]:
    """What a manifest says of heights."""
    return relief.stated() | {"digest": relief.digest}


def whole_metric(
    store: TileStore, plan: TilePlan, tiles: Files, edges: Files, rises: Files | None
) -> tuple[Window, Metric]:
    """All of a map, from the files of its tiles: as a window, and as a metric in one piece."""
    window = read_window(store, plan, Box(0, 0, *plan.grid.shape), sorted(tiles), tiles, edges, rises)
    columns = read_columns(store, window, tiles)
    scale = columns["scale"]
    metric = Metric(
        replace(window.locations, grid=plan.grid), window.mass_units, graph_of(store, window, scale), window.fence,
        "conformal",
        requirement=plan.make_requirement(), l_from=plan.l_from, l_top=plan.l_top, frame_cells=plan.frame_cells,
        scale=scale, place=place_of(columns), rise=window.rise,
    )  # fmt: skip
    return window, metric


def _index(step: str, plan: TilePlan, files: Mapping[str, Any]) -> str:
    """The file that says that a step was done with these files."""
    return kept_name(f"build/whole/{step}", step, plan.to_dict(), files)


def _done(store: TileStore, index: str) -> dict[str, Any] | None:
    """What an index says, if it is there with all of its files."""
    told = store.summary(index)
    if told is None or any(store.summary(name) is None for kind in told["files"].values() for name in kind.values()):
        return None
    return told


def _write(
    store: TileStore, plan: TilePlan, index: str, kinds: Mapping[str, Mapping[int, Mapping[str, npt.NDArray[Any]]]],
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Write the columns of each kind and tile, then the index that names them."""
    files: dict[str, dict[str, str]] = {kind: {} for kind in kinds}
    for kind, by_tile in kinds.items():
        folder = "build/raised" if kind == "raised" else kind
        for tile, columns in by_tile.items():
            name = f"{folder}/{plan.tiling.name(tile)}-{columns_digest(columns)[:20]}.parquet"
            files[kind][str(tile)] = name
            if store.summary(name) is None:
                store.write_table(name, columns, {})
    told = {"files": files, **(more or {})}
    store.write_table(index, {"tile": np.arange(plan.tiling.n)}, told)
    return told


def _kept(store: TileStore, passes: str) -> Heights | None:
    """The heights of a run that was stopped."""
    told = store.summary(passes)
    if told is None:
        return None
    height: FloatArray = store.read_table(passes)[0]["height"]
    return Heights(np.array(height), int(told["passes"]))
