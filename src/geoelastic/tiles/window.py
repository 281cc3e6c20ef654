# SPDX-License-Identifier: Apache-2.0
"""Reading what lies in a window: cells, locations, scales and the graph they span, from the tiles that it meets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..arrays import BoolArray, ByteArray, IndexArray, IntArray
from ..errors import FileError
from ..locations import Grid, Locations
from ..metric.decode import conformal_within
from ..metric.graph import Graph
from .store import Columns, TileStore
from .tiling import Box, TilePlan, Tiling

#: Files by tile number.
Files = Mapping[int, str]


@dataclass(frozen=True, eq=False)
class Window:
    """Locations of some tiles that lie in a box, numbered in the order of the whole map.

    `tile` and `number`: the tile of each and its number there. `fence`: that of each, 0 outside; those inside have no
    neighbours. `rim`: those that have neighbours outside the window; all paths out of it pass through them. `rise`: the
    factors of its edges, in the order of its rows, if they were read and there are any.
    """

    box: Box
    locations: Locations
    tile: IndexArray
    number: IndexArray
    mass_units: IntArray
    fence: IndexArray
    neighbours: tuple[IntArray, IndexArray, IndexArray]
    rim: BoolArray
    rise: ByteArray | None = None

    def rows_of(self, tile: int) -> IndexArray:
        """The locations of one tile."""
        return np.flatnonzero(self.tile == tile).astype(np.int32)

    def within(self, box: Box) -> BoolArray:
        """Whether the centre of each location lies in a box of cells of the whole map."""
        at = self.locations
        row, col = at.row + at.size // 2 + self.box.row, at.col + at.size // 2 + self.box.col
        return np.asarray(box.holds(row, col))

    def secret(self, plan: TilePlan) -> BoolArray:
        """Whether each location lies outside the frame of the whole map."""
        at, margin = self.locations, plan.frame_cells
        row, col = at.row + self.box.row, at.col + self.box.col
        low = (row >= margin) & (col >= margin)
        high = (row + at.size <= plan.grid.rows - margin) & (col + at.size <= plan.grid.cols - margin)
        return np.asarray(low & high)


def box_grid(grid: Grid, box: Box) -> Grid:
    """The part of a grid that a box covers."""
    return grid.part(box.row, box.col, box.row_end, box.col_end)


def read_cells(store: TileStore, tiling: Tiling, box: Box, files: Files) -> IntArray:
    """Mass units of the cells of a box."""
    cells = np.zeros(box.shape, np.int64)
    for tile in tiling.meeting(box):
        part = tiling.box(tile)
        values = store.read_table(files[tile])[0]["mass"].reshape(part.shape)
        rows = slice(max(part.row, box.row), min(part.row_end, box.row_end))
        cols = slice(max(part.col, box.col), min(part.col_end, box.col_end))
        cells[rows.start - box.row : rows.stop - box.row, cols.start - box.col : cols.stop - box.col] = values[
            rows.start - part.row : rows.stop - part.row, cols.start - part.col : cols.stop - part.col
        ]
    return cells


def tile_leaves(store: TileStore, tiling: Tiling, tile: int, name: str, exponents: ByteArray) -> IndexArray:
    """(row, col, size) of the locations of a tile in the whole map, one row each; columns lie together in memory."""
    box = tiling.box(tile)
    row, col, ok = kernels.unpack_leaves(*box.shape, exponents)
    if not ok:
        raise FileError(f"{store.address(name)}: corrupt: its locations do not fill the tile")
    return np.stack([row + np.int32(box.row), col + np.int32(box.col), np.left_shift(1, exponents, dtype=np.int32)]).T


def read_window(
    store: TileStore, plan: TilePlan, box: Box, tiles: list[int], layout: Files, edges: Files | None,
    rises: Files | None = None,
) -> Window:  # fmt: skip
    """The window that `box` cuts from some tiles; without `edges`, its neighbours are left empty. Lengths are those
    between the places that the files of the layout have, or else between centres."""
    tables = [store.read_table(layout[tile])[0] for tile in tiles]
    leaves = [
        tile_leaves(store, plan.tiling, tile, layout[tile], table["exponent"])
        for tile, table in zip(tiles, tables, strict=True)
    ]
    counts = [part.shape[0] for part in leaves]
    all_leaves = np.concatenate(leaves)
    kept = np.flatnonzero(box.holds(*all_leaves[:, :2].T))
    fence = np.concatenate([fence_of(table) for table in tables])
    neighbours = (np.zeros(kept.size + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
    rim, rise = np.zeros(kept.size, bool), None
    if edges is not None:
        rows = [store.read_table(edges[tile])[0] for tile in tiles]
        factors = None if rises is None else [store.read_table(rises[tile])[0]["rise"] for tile in tiles]
        number = np.full(fence.size, -1, np.int32)
        number[kept] = np.arange(kept.size, dtype=np.int32)
        start, index, given, rim, arcs = kernels.link_tiles(
            np.cumsum([0, *counts]), *tiles_around(plan.tiling, tiles), [row["slot"] for row in rows],
            [row["step"] for row in rows], factors, number, fence > 0,
        )  # fmt: skip
        if arcs < 0:
            raise misfit(store)
        place = [centre_or_place(part, table) for part, table in zip(leaves, tables, strict=True)]
        neighbours = start, index[:arcs], kernels.lengths_between(start, index[:arcs], np.concatenate(place)[kept])
        if rises is not None:
            rise = given[:arcs][np.repeat(np.arange(kept.size), np.diff(start)) < index[:arcs]].astype(np.uint8)
    row, col, size = np.ascontiguousarray((all_leaves[kept] - np.array([box.row, box.col, 0], np.int32)).T)
    return Window(
        box, Locations(box_grid(plan.grid, box), "adaptive", row, col, size),
        np.repeat(np.array(tiles, np.int32), counts)[kept],
        np.concatenate([np.arange(count, dtype=np.int32) for count in counts])[kept],
        _joined(tables, "mass")[kept], fence[kept], neighbours, rim, rise,
    )  # fmt: skip


def _joined(tables: list[Columns], name: str) -> npt.NDArray[Any]:
    return np.concatenate([table[name] for table in tables])


def tiles_around(tiling: Tiling, tiles: list[int]) -> tuple[IntArray, npt.NDArray[np.int8]]:
    """The place among some tiles of each one's 3 x 3 tiles around it, -1 if it is none of them; and whether that comes
    later (1) or earlier (-1) in the order of the map."""
    rank = {tile: k for k, tile in enumerate(tiles)}
    slots = np.array([tiling.around(tile) for tile in tiles], np.int64)
    around = np.array([[rank.get(other, -1) for other in row] for row in slots.tolist()], np.int64)
    return around, np.sign(slots - np.array(tiles)[:, None]).astype(np.int8)


def centre_or_place(leaves: IndexArray, columns: Columns) -> IndexArray:
    """(east, north) of the locations of a tile with LENGTH_BITS fractional bits: their places on the cartogram, or
    their centres if there is none."""
    place = place_of(columns)
    if place is None:
        place = ((2 * leaves[:, 1::-1] + leaves[:, 2:]) << kernels.LENGTH_BITS).astype(np.int32)
    return place


def misfit(store: TileStore) -> FileError:
    """What is said of tiles that are whole but not of one map."""
    return FileError(f"{store.root}: corrupt: its tiles do not fit together")


def pack_rows(tiling: Tiling, tile: int, window: Window, start: IntArray, index: IndexArray) -> Columns:
    """The neighbours of a tile's locations as columns: the slot of each one's tile, the step to its number there."""
    own = window.rows_of(tile)
    degree = start[own + 1] - start[own]
    ends = np.cumsum(degree)
    arcs = np.repeat(start[own] - (ends - degree), degree) + np.arange(int(ends[-1]))
    tail, tip = np.repeat(own, degree), index[arcs]
    slots = np.full(tiling.n, 255, np.int64)
    for place, other in enumerate(tiling.around(tile)):
        if other >= 0:
            slots[other] = place
    slot = slots[window.tile[tip]].astype(np.uint8)
    slot[ends - degree] |= kernels.ROW_START
    return {"slot": slot, "step": (window.number[tip] - window.number[tail]).astype(np.int32)}


def later_arcs(tiling: Tiling, tile: int, columns: Columns) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
    """(number of the location, tile of the neighbour, its number there) of each of a tile's arcs to a later location in
    the order of the map, and which of its arcs these are: every edge of the map once, at its earlier end."""
    slot, step = columns["slot"], columns["step"]
    other = np.array(tiling.around(tile), np.int64)[slot & np.uint8(kernels.ROW_START - 1)]
    own = np.cumsum(slot >= kernels.ROW_START) - 1
    later = np.asarray((other > tile) | ((other == tile) & (step > 0)))
    return own[later], other[later], (own + step)[later], later


def slopes(window: Window, graph: Graph) -> dict[int, float]:
    """The least level units a half cell between places, along the arcs of each tile's locations in a graph of some of
    the window's edges."""
    steep = kernels.least_slopes(*window.neighbours, *graph.rows)
    least = np.full(int(window.tile.max()) + 1, np.inf)
    np.minimum.at(least, window.tile, steep)
    return {tile: float(least[tile]) for tile in np.unique(window.tile).tolist()}


def graph_of(store: TileStore, window: Window, scale: IndexArray) -> Graph:
    """The graph of a window's scales and factors, which may be a stranger's."""
    try:
        return conformal_within(window.neighbours, scale.astype(np.int64), window.rise)
    except FileError as error:
        raise FileError(f"{store.root}: corrupt: {error}") from None


def read_columns(store: TileStore, window: Window, files: Files) -> Columns:
    """Columns of the locations of a window, from files that have them for all locations of a tile; fences aside, which
    the window has."""
    tables = {
        tile: {name: values for name, values in store.read_table(files[tile])[0].items() if name != "fence"}
        for tile in np.unique(window.tile).tolist()
    }
    columns, one = {}, next(iter(tables.values()))
    if any(table.keys() != one.keys() for table in tables.values()):
        raise misfit(store)
    for name, first in one.items():
        columns[name] = np.empty(window.locations.n, first.dtype)
        for tile, table in tables.items():
            rows = window.rows_of(tile)
            if table[name].size <= window.number[rows].max(initial=-1):
                raise misfit(store)
            columns[name][rows] = table[name][window.number[rows]]
    return columns


def fence_of(columns: Columns) -> IndexArray:
    """The fence of each location of a tile; all 0 where the tile has no part of one."""
    none = np.zeros(columns["exponent"].size, np.int32)
    return columns.get("fence", none)


def place_of(columns: Columns) -> IndexArray | None:
    """Places (east, north) on the cartogram, if the columns have them."""
    if "place_east" not in columns:
        return None
    return np.column_stack([columns["place_east"], columns["place_north"]]).astype(np.int32, copy=False)


def between(store: TileStore, window: Window, files: Files) -> Window:
    """A window whose lengths are those between places, which lie in files of their own until a tile is written."""
    place, (start, index, _) = place_of(read_columns(store, window, files)), window.neighbours
    return replace(window, neighbours=(start, index, kernels.lengths_between(start, index, place)))


def read_scales(store: TileStore, window: Window, solved: Files, patches: Iterable[str]) -> IndexArray:
    """The scales of a window: as solved, lowered by the patches that stitched seams."""
    scale: IndexArray = read_columns(store, window, solved)["scale"]
    present = set(np.unique(window.tile).tolist())
    for name in patches:
        patch, _ = store.read_table(name)
        for tile in np.unique(patch["tile"]):
            if int(tile) in present:
                rows, some = window.rows_of(int(tile)), patch["tile"] == tile
                at = np.searchsorted(window.number[rows], patch["number"][some])
                inside = at < rows.size
                inside[inside] = window.number[rows][at[inside]] == patch["number"][some][inside]
                target = rows[at[inside]]
                scale[target] = np.minimum(scale[target], patch["scale"][some][inside])
    return scale
