# SPDX-License-Identifier: Apache-2.0
"""A map in tiles of which some were made again: in memory, over the folder that it came from, until it is saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import ByteArray, IntArray
from ..fences import shape_cells
from ..locations import Locations
from ..metric.ascent import carry_rise
from ..metric.metric import Metric
from ..store.digest import columns_digest
from .folder import KINDS
from .stages import linked
from .store import CachedStore, Columns, TileStore
from .tiled_metric import TiledMetric
from .tiling import Box, Tiling
from .window import box_grid, fence_of, later_arcs


class Draft(CachedStore):
    """A store with tables of its own, in memory, over another that stays as it is."""

    def __init__(self, base: CachedStore) -> None:
        super().__init__(base.root)
        self._base = base
        self._own: dict[str, Columns] = {}

    def put(self, name: str, columns: Columns) -> None:
        """A table of its own."""
        self._own[name] = columns

    def read_table(self, name: str, columns: Sequence[str] | None = None) -> tuple[Columns, dict[str, Any]]:
        return (self._own[name], {}) if name in self._own else self._base.read_table(name, columns)

    def fetch(self, names: Sequence[str]) -> None:
        self._base.fetch([name for name in names if name not in self._own])

    def copy(self, name: str, target: TileStore) -> None:
        if name in self._own:
            target.write_table(name, self._own[name], {})
        else:
            self._base.copy(name, target)


def with_region(metric: TiledMetric, box: Box, carved: Metric) -> TiledMetric:
    """The map with a region as it was carved; fences have numbers of their own there, beyond all others."""
    store, tiling, tiles = Draft(metric.store), metric.tiling, [dict(tile) for tile in metric.content["tiles"]]
    most = metric.totals["fences"]
    inside = tiling.meeting(box)
    for tile in inside:
        mine = tiling.box(tile)
        leaves, kept = carved.locations.cut(box_grid(metric.grid, mine), mine.row - box.row, mine.col - box.col)
        put_table(store, metric.tiling, tiles, tile, "tile", _tile_columns(carved, leaves, kept, most))
    layout = {number: tile["tile"] for number, tile in enumerate(tiles)}
    changed = {tile for tile in inside if layout[tile] != metric.content["tiles"][tile]["tile"]}
    for tile in sorted({k for one in changed for k in tiling.around(one) if k >= 0}):
        put_table(store, metric.tiling, tiles, tile, "edges", linked(store, metric.plan, tile, layout))
    draft = TiledMetric(store, metric.content | _counted(store, tiles, metric.content["tiles"]))
    if metric.plan.ascent:
        for tile, rise in _edge_rises(metric, draft, box, carved, changed).items():
            put_table(store, metric.tiling, tiles, tile, "rises", {"rise": rise})
        draft = TiledMetric(store, metric.content | _counted(store, tiles, metric.content["tiles"]))
    return draft


def _tile_columns(carved: Metric, leaves: Locations, kept: IntArray, most: int) -> Columns:
    assert carved.scale is not None
    fence = carved.fence[kept]
    columns: Columns = {
        "exponent": leaves.exponents(), "mass": carved.mass_units[kept], "scale": carved.scale[kept].astype(np.int32),
    }  # fmt: skip
    if carved.place is not None:
        east, north = carved.place[kept].T
        columns |= {"place_east": np.ascontiguousarray(east), "place_north": np.ascontiguousarray(north)}
    if fence.any():
        columns["fence"] = np.where(fence > 0, fence + most, 0).astype(np.int32)
    return columns


def put_table(
    store: Draft, tiling: Tiling, tiles: list[dict[str, Any]], tile: int, kind: str, columns: Columns
) -> None:
    """A table of a tile, under a name that tells what is in it; one that is as before keeps its name."""
    before, digest = tiles[tile].get(kind), columns_digest(columns)
    if before is None or digest != columns_digest(store.read_table(before)[0]):
        tiles[tile][kind] = f"{KINDS[kind]}/{tiling.name(tile)}-{digest[:20]}.parquet"
        store.put(tiles[tile][kind], columns)


def _counted(store: Draft, tiles: list[dict[str, Any]], before: list[dict[str, Any]]) -> dict[str, Any]:
    """What the manifest tells of the tables of tiles, where these are not as before, and of fences."""
    first, most, counted = 0, 0, []
    for tile, old in zip(tiles, before, strict=True):
        told = {name: value for name, value in tile.items() if name != "fences"}
        if tile["tile"] == old["tile"]:
            told |= {name: old[name] for name in ("n", "mass", "fences") if name in old}
        else:
            columns = store.read_table(tile["tile"])[0]
            told |= {"n": columns["mass"].size, "mass": int(columns["mass"].sum())}
            numbers, counts = np.unique(fence_of(columns), return_counts=True)
            fences = [[int(k), int(n)] for k, n in zip(numbers, counts, strict=True) if k > 0]
            told |= {"fences": fences} if fences else {}
        counted.append(told | {"first": first})
        first += told["n"]
        most = max([most, *(number for number, _ in told.get("fences", []))])
    return {"n": first, "tiles": counted, "fences": {"number": most, "secrets": 0}}


def _edge_rises(
    before: TiledMetric, draft: TiledMetric, box: Box, carved: Metric, changed: set[int]
) -> dict[int, ByteArray]:
    """The factors of the edges of a region's tiles: as carved, or, towards tiles beyond, as before."""
    wide, tiling = draft.tiling.whole_tiles(box, 1), draft.tiling
    (old, _), (new, _) = before.window(wide), draft.window(wide, rises=False)
    assert old.rise is not None
    assert carved.rise is not None
    origin = _same_in(old.locations, new.locations, 0, 0)
    rise = carry_rise(old.rise, old.neighbours, new.neighbours, origin)
    there = _same_in(carved.locations, new.locations, box.row - wide.row, box.col - wide.col)
    rise = carry_rise(carved.rise, carved.locations.neighbours(carved.fence), new.neighbours, there, rise)
    start, index, _ = new.neighbours
    tail = np.repeat(np.arange(start.size - 1), np.diff(start))
    tail, tip = tail[tail < index], index[tail < index]
    keys, n = tail.astype(np.int64) * new.locations.n + tip, new.locations.n
    first = np.full(tiling.n, -1, np.int64)
    numbers, at = np.unique(new.tile, return_index=True)
    first[numbers] = at
    found = {}
    for tile in tiling.meeting(box):
        own_number, other, number, _ = later_arcs(tiling, tile, draft.store.read_table(draft.files("edges")[tile])[0])
        ends = np.sort([first[tile] + own_number, first[other] + number], axis=0)
        key = ends[0] * n + ends[1]
        where = np.minimum(np.searchsorted(keys, key), max(keys.size - 1, 0))
        known = keys[where] == key if keys.size else np.zeros(key.size, bool)
        found[tile] = np.where(known, rise[where] if keys.size else 0, 0).astype(np.uint8)  # 0 at a fence
    return found


def _same_in(there: Locations, here: Locations, row: int, col: int) -> IntArray:
    """The number in `there`, whose south-west cell is (row, col), of each location of `here` that is one there; or
    -1."""
    rows, cols = here.row - row, here.col - col
    inside = (rows >= 0) & (cols >= 0) & (rows < there.grid.rows) & (cols < there.grid.cols)
    found = np.full(here.n, -1, np.int64)
    found[inside] = there.owner[rows[inside], cols[inside]]
    same = found >= 0
    same[same] = there.size[found[same]] == here.size[same]
    return np.where(same, found, -1)


def numbered(before: TiledMetric, draft: TiledMetric, shapes: list[Any], gone: set[int]) -> TiledMetric:
    """The map with fences numbered 1, 2, ...: those from before in their order, then the new ones in theirs."""
    kept = [number for number in range(1, before.totals["fences"] + 1) if number not in gone]
    row, col = (np.concatenate(part) for part in zip(
        *(tuple(part[:1] for part in before.leaves(before.fence_members(number))[:2]) for number in kept),
        *(tuple(part[:1] for part in shape_cells(before.grid, shape)) for shape in shapes),
        (np.zeros(0, np.int64),) * 2, strict=True,
    ))  # fmt: skip
    found = draft.fences_at(draft.at_cells(row, col)[0]).tolist() if row.size else []
    final = {number: k for k, number in enumerate(dict.fromkeys(found), 1)}
    table = np.zeros(draft.totals["fences"] + 1, np.int32)
    for number, k in final.items():
        table[number] = k
    store, tiles = Draft(draft.store), [dict(tile) for tile in draft.content["tiles"]]
    for tile, listed in enumerate(tiles):
        if "fences" in listed:
            columns = store.read_table(listed["tile"])[0]
            columns = columns | {"fence": table[columns["fence"]]}
            old = before.content["tiles"][tile]
            if columns_digest(columns) == columns_digest(before.store.read_table(old["tile"])[0]):
                listed["tile"] = old["tile"]
            else:
                put_table(store, draft.tiling, tiles, tile, "tile", columns)
    return TiledMetric(store, draft.content | _counted(store, tiles, draft.content["tiles"]))
