# SPDX-License-Identifier: Apache-2.0
"""Fences carved into a map in tiles, and taken away: only the tiles around them are made again.

The tiles around a fence are put together as a metric of their own, the fence is carved into that as into any map
(`metric.carve`), and what came out is written back tile by tile. *Why that is enough:* carving changes only what lies
within the reach of a ball from the fence, and only balls that reach there decide how. The region is whole tiles, so
wide that every path as long as three balls of the last level that begins at the fence stays inside; otherwise it is
made wider. So what comes out is what carving all of the map would give, to the bit, and outside nothing has changed but
the numbers that locations are known by.

Then all of the map is put together: every secret of the region is checked by the verifier's own search in the whole
graph, and heights are found again where the fences matter (`metric.resharpen`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import _kernels as kernels
from ..arrays import BoolArray, ByteArray, IntArray
from ..errors import FileError, InputError
from ..fences import read_fences, shape_cells
from ..levels import UNREACHABLE, level_to_units, units_to_mass
from ..locations import Locations
from ..mass import Mass
from ..metric.ascent import carry_rise
from ..metric.build import certified
from ..metric.carve import carve
from ..metric.metric import Metric
from ..metric.relief import lowered
from ..metric.resharpen import resharpened
from ..store.digest import columns_digest
from .cut import cut_part
from .manifest import blocks_told, measures_told
from .stages import linked, pace_of
from .store import Columns, Draft
from .tiled_metric import TiledMetric
from .tiling import Box
from .whole_graph import told_of, whole_metric
from .window import Window, box_grid, fence_of, later_arcs, read_cells, slopes

__all__ = ["carve_tiles"]

#: Where a tile has no edge, as steep as a manifest may say.
_STEEP = 1e18


@dataclass
class CarvedRegion:
    """Whole tiles around fences that are carved together: their box, new shapes, and numbers of fences that go."""

    box: Box
    shapes: list[Any] = field(default_factory=list)
    gone: set[int] = field(default_factory=set)


def carve_tiles(
    metric: TiledMetric, fences: Any = (), *, remove: Iterable[int] = (), mass: Mass | None = None,
    sharpen: bool = True, workers: int | None = None, progress: bool = False,
) -> TiledMetric:  # fmt: skip
    """The map with `fences` carved in and the fences numbered in `remove` taken away, repaired and certified.

    The folder stays as it is: what is new is in memory until it is saved. The masses of the cells are those of `mass`,
    or those the map was built from if the folder still has them, or as `metric.carve.carve` says. Numbers of fences
    are those that carving a map in one piece gives.
    """
    begun, shapes, gone = time.perf_counter(), read_fences(fences), set(remove)
    present = set(range(1, metric.totals["fences"] + 1))
    if not gone <= present:
        raise InputError(
            f"'remove' must name fences of the metric (it has {len(present)}), got {sorted(gone - present)}"
        )
    around = 1
    while True:
        draft, facts = metric, []
        regions = _regions(metric, shapes, gone, around)
        for region in regions:
            part = cut_part(draft, region.box)
            if not _wide_enough(metric, part, region):
                break
            carved = _carved(draft, part, region, mass, workers)
            facts.append(carved.certificate["carve"])
            draft = _written_back(draft, region.box, carved)
        else:
            break
        around += 1
    draft = _numbered(metric, draft, shapes, gone)
    return _certified(metric, draft, regions, facts, begun, sharpen=sharpen, workers=workers, progress=progress)


def _regions(metric: TiledMetric, shapes: list[Any], gone: set[int], around: int) -> list[CarvedRegion]:
    """What is carved together: regions that do not meet, each with so many tiles around its fences."""
    regions = [CarvedRegion(_cells_box(metric, shape), [shape]) for shape in shapes]
    regions += [CarvedRegion(_tiles_box(metric, metric.fence_tiles(number)), gone={number}) for number in sorted(gone)]
    for region in regions:
        region.box = _grown(metric, region.box, around)
    apart: list[CarvedRegion] = []
    while regions:
        region = regions.pop(0)
        other = next((k for k, one in enumerate(apart) if one.box.meets(region.box)), None)
        if other is None:
            apart.append(region)
            continue
        one = apart.pop(other)
        box = _grown(metric, _hull([one.box, region.box]), 0)
        regions.insert(0, CarvedRegion(box, one.shapes + region.shapes, one.gone | region.gone))
    return apart


def _cells_box(metric: TiledMetric, shape: Any) -> Box:
    """The cells of a shape, as a box; refuses one that the map does not hold."""
    rows, cols = shape_cells(metric.grid, shape)
    return Box(int(rows.min()), int(cols.min()), int(rows.max()) + 1, int(cols.max()) + 1)


def _tiles_box(metric: TiledMetric, tiles: Iterable[int]) -> Box:
    return _hull([metric.tiling.box(tile) for tile in tiles])


def _hull(boxes: list[Box]) -> Box:
    return Box(
        min(box.row for box in boxes), min(box.col for box in boxes), max(box.row_end for box in boxes),
        max(box.col_end for box in boxes),
    )  # fmt: skip


def _grown(metric: TiledMetric, box: Box, around: int) -> Box:
    """Whole tiles, so many more around, and all of each fence that is met with a tile around it: beyond, there is a way
    around every fence inside."""
    tiling, listed = metric.tiling, metric.content["tiles"]
    grown = _beyond(metric, box, around)
    while True:
        fences = {number for tile in tiling.meeting(grown) for number, _ in listed[tile].get("fences", [])}
        whole = [_beyond(metric, _tiles_box(metric, metric.fence_tiles(number)), 1) for number in fences]
        wider = _hull([grown, *whole])
        if wider == grown:
            return grown
        grown = wider


def _beyond(metric: TiledMetric, box: Box, around: int) -> Box:
    """The whole tiles that a box meets, and so many more on each side."""
    tiling, step = metric.tiling, metric.tiling.side
    low = [(part // step - around) * step for part in (box.row, box.col)]
    high = [(-(-part // step) + around) * step for part in (box.row_end, box.col_end)]
    return tiling.clipped(Box(*low, *high))


def _wide_enough(metric: TiledMetric, part: Metric, region: CarvedRegion) -> bool:
    """Whether every path of three balls from what changes stays in the region, if that is not all of the map."""
    rim = _at_rim(metric, part, region.box)
    if not rim.any():
        return True
    near = np.isin(part.fence, sorted(region.gone))
    for shape in region.shapes:
        near[part.locations.owner[shape_cells(part.grid, shape)]] = True
    start, index = part.locations.touching()
    for _ in range(4):  # lengths change around a fence: what touches it, and what touches that (`metric.carve`)
        near[index[np.repeat(near, np.diff(start))]] = True
    if part.fence[near].any():  # other fences have no edges: what touches them stands in for them
        near[np.isin(part.fence, np.unique(part.fence[near & (part.fence > 0)]))] = True
        near[index[np.repeat(near, np.diff(start))]] = True
    graph, limit = part.graph, 3 * level_to_units(metric.l_top) + 1
    seeds = np.flatnonzero(near).astype(np.int32)
    away = kernels.distances_from_any(graph.start, graph.index, graph.weight, graph.buckets, seeds, limit)
    return not np.any(away[rim] != UNREACHABLE)


def _at_rim(metric: TiledMetric, part: Metric, box: Box) -> BoolArray:
    """The locations of a part from which the map goes on: within two locations of its border."""
    start, index = part.locations.touching()
    at, (rows, cols) = part.locations, part.grid.shape
    rim = np.zeros(part.n, bool)
    rim |= (at.row == 0) & (box.row > 0)
    rim |= (at.col == 0) & (box.col > 0)
    rim |= (at.row + at.size == rows) & (box.row_end < metric.grid.rows)
    rim |= (at.col + at.size == cols) & (box.col_end < metric.grid.cols)
    rim[index[np.repeat(rim, np.diff(start))]] = True
    return rim


def _carved(draft: TiledMetric, part: Metric, region: CarvedRegion, mass: Mass | None, workers: int | None) -> Metric:
    """A part with its fences; those that were there keep their order."""
    numbers = np.unique(np.concatenate([[0], part.fence]))
    part = replace(part, fence=np.searchsorted(numbers, part.fence).astype(np.int32))
    gone = [int(np.searchsorted(numbers, number)) for number in region.gone]
    cells = _cells(draft, part, region.box, mass)
    return carve(part, region.shapes, remove=gone, mass=cells, sharpen=False, workers=workers)


def _cells(draft: TiledMetric, part: Metric, box: Box, mass: Mass | None) -> Mass | None:
    """The masses of a box's cells, if they are known and are those of its locations."""
    grid = box_grid(draft.grid, box)
    if mass is not None:
        if mass.grid != draft.grid:
            raise InputError("'mass' must be on the grid of the metric: same centre, size and cells")
        return Mass(grid, mass.cells[box.row : box.row_end, box.col : box.col_end], mass.info)
    try:
        units = read_cells(draft.store, draft.tiling, box, draft.files("cells"))
    except FileError:
        return None
    if not np.array_equal(part.locations.sum_over(units), part.mass_units):
        return None
    return Mass(grid, units_to_mass(units), {})


def _written_back(metric: TiledMetric, box: Box, carved: Metric) -> TiledMetric:
    """The map with a region as it was carved; fences have numbers of their own there, beyond all others."""
    store, tiling, tiles = Draft(metric.store), metric.tiling, [dict(tile) for tile in metric.content["tiles"]]
    most = metric.totals["fences"]
    inside = tiling.meeting(box)
    for tile in inside:
        mine = tiling.box(tile)
        leaves, kept = carved.locations.cut(box_grid(metric.grid, mine), mine.row - box.row, mine.col - box.col)
        _put(store, metric, tiles, tile, "tile", _columns(carved, leaves, kept, most))
    layout = {number: tile["tile"] for number, tile in enumerate(tiles)}
    changed = {tile for tile in inside if layout[tile] != metric.content["tiles"][tile]["tile"]}
    for tile in sorted({k for one in changed for k in tiling.around(one) if k >= 0}):
        _put(store, metric, tiles, tile, "edges", linked(store, metric.plan, tile, layout))
    draft = TiledMetric(store, metric.content | _counted(store, tiles, metric.content["tiles"]))
    if metric.plan.ascent:
        for tile, rise in _rises(metric, draft, box, carved, changed).items():
            _put(store, metric, tiles, tile, "rises", {"rise": rise})
        draft = TiledMetric(store, metric.content | _counted(store, tiles, metric.content["tiles"]))
    return draft


def _columns(carved: Metric, leaves: Locations, kept: IntArray, most: int) -> Columns:
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


def _put(
    store: Draft, metric: TiledMetric, tiles: list[dict[str, Any]], tile: int, kind: str, columns: Columns
) -> None:
    """A table of a tile, under a name that tells what is in it; one that is as before keeps its name."""
    if columns_digest(columns) == columns_digest(store.read_table(tiles[tile][kind])[0]):
        return
    folder = tiles[tile][kind].partition("/")[0]
    tiles[tile][kind] = f"{folder}/{metric.tiling.name(tile)}-{columns_digest(columns)[:20]}.parquet"
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


def _rises(
    before: TiledMetric, draft: TiledMetric, box: Box, carved: Metric, changed: set[int]
) -> dict[int, ByteArray]:
    """The factors of the edges of a region's tiles: as carved, or, towards tiles beyond, as before."""
    wide, tiling = _beyond(draft, box, 1), draft.tiling
    (old, _), (new, _) = before.window(wide), draft.window(wide)
    old_rise = before.rise(old)
    assert old_rise is not None
    assert carved.rise is not None
    origin = _same_in(old.locations, new.locations, 0, 0)
    rise = carry_rise(old_rise, old.neighbours, new.neighbours, origin)
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


def _numbered(before: TiledMetric, draft: TiledMetric, shapes: list[Any], gone: set[int]) -> TiledMetric:
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
                _put(store, draft, tiles, tile, "tile", columns)
    return TiledMetric(store, draft.content | _counted(store, tiles, draft.content["tiles"]))


def _certified(
    before: TiledMetric, draft: TiledMetric, regions: list[CarvedRegion], facts: list[dict[str, Any]], begun: float, *,
    sharpen: bool, workers: int | None, progress: bool,
) -> TiledMetric:  # fmt: skip
    """The map put together: checked where it changed, its heights found again, and all that a manifest tells."""
    plan, store, tiles = draft.plan, draft.store, draft.content["tiles"]
    assert isinstance(store, Draft)
    rises = draft.files("rises") if plan.ascent else None
    window, whole = whole_metric(store, plan, draft.files("tile"), draft.files("edges"), rises)
    here = np.isin(window.tile, [tile for region in regions for tile in draft.tiling.meeting(region.box)])
    whole = certified(whole, only=np.flatnonzero(here).astype(np.int32), workers=workers, progress=progress)
    content = {name: value for name, value in draft.content.items() if name != "relief"}
    least = slopes(window, whole.graph)
    for number, tile in enumerate(tiles):
        tile["slope"] = min(least[number], _STEEP)
        tile["pace"] = pace_of(window, whole.graph, window.rows_of(number)) or tile["pace"]
        for name in ("heights", "low_slope"):
            tile.pop(name, None)
    if sharpen and before.relief is not None:
        sharp = resharpened(whole, before.whole(), _parents(before, window), workers=workers, progress=progress)
        if sharp.relief is not None:
            height = sharp.relief.height
            content["relief"] = told_of(sharp.relief)
            low = slopes(window, lowered(whole.graph, height))
            for number, tile in enumerate(tiles):
                columns = {"height": height[window.tile == number]}
                tile["heights"] = f"heights/{draft.tiling.name(number)}-{columns_digest(columns)[:20]}.parquet"
                tile["low_slope"] = min(low[number], _STEEP)
                store.put(tile["heights"], columns)
    fenced, fences = whole.fence > 0, int(whole.fence.max(initial=0))
    certificate = whole.certificate | {
        "tiles": before.certificate["tiles"], "carve": _summary(whole, facts, time.perf_counter() - begun),
    }  # fmt: skip
    content |= {
        "n": whole.n, "identity": whole.identity, "certificate": certificate,
        "measures": measures_told(store, plan, tiles), "blocks": blocks_told(store, plan, tiles),
        "fences": {"number": fences, "secrets": int(np.count_nonzero(whole.secret & fenced))},
    }  # fmt: skip
    if not fences:
        del content["fences"]
    return TiledMetric(store, content)


def _parents(before: TiledMetric, window: Window) -> IntArray:
    """The number before of each location, or of the one that it was a part of."""
    at = window.locations
    return before.at_cells(at.row, at.col)[0]


def _summary(whole: Metric, facts: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    return {
        "checked_again": whole.certificate["checked"],
        "locations_changed": sum(fact["locations_changed"] for fact in facts),
        "reach_km": max((fact["reach_km"] for fact in facts), default=0.0),
        "seconds": round(seconds, 2),
    }
