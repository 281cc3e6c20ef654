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

from ..arrays import BoolArray
from ..errors import FileError, InputError
from ..fences import read_fences, shape_cells
from ..levels import UNREACHABLE, level_to_units, units_to_mass
from ..mass import Mass
from ..metric.build import certified
from ..metric.carve import carve
from ..metric.metric import Metric
from ..metric.relief import lowered
from ..metric.resharpen import resharpened
from .cut import cut_part
from .draft import Draft, numbered, put_table, with_region
from .manifest import blocks_told, measures_told
from .stages import pace_of
from .tiled_metric import TiledMetric
from .tiling import Box
from .whole_graph import told_of, whole_metric
from .window import box_grid, read_cells, slopes

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
            draft = with_region(draft, region.box, carved)
        else:
            break
        around += 1
    draft = numbered(metric, draft, shapes, gone)
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
    grown = metric.tiling.whole_tiles(box, around)
    while True:
        fences = {number for tile in tiling.meeting(grown) for number, _ in listed[tile].get("fences", [])}
        whole = [metric.tiling.whole_tiles(_tiles_box(metric, metric.fence_tiles(number)), 1) for number in fences]
        wider = _hull([grown, *whole])
        if wider == grown:
            return grown
        grown = wider


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
    away = part.graph.distances_from_any(np.flatnonzero(near), 3 * level_to_units(metric.l_top) + 1)
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
        # the number before of each location, or of the one that it was a part of
        origin = before.at_cells(window.locations.row, window.locations.col)[0]
        sharp = resharpened(whole, before.whole(), origin, workers=workers, progress=progress)
        if sharp.relief is not None:
            height = sharp.relief.height
            content["relief"] = told_of(sharp.relief)
            low = slopes(window, lowered(whole.graph, height, sharp.relief.slack))
            for number, tile in enumerate(tiles):
                put_table(store, draft.tiling, tiles, number, "heights", {"height": height[window.tile == number]})
                tile["low_slope"] = min(low[number], _STEEP)
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


def _summary(whole: Metric, facts: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    return {
        "checked_again": whole.certificate["checked"],
        "locations_changed": sum(fact["locations_changed"] for fact in facts),
        "reach_km": max((fact["reach_km"] for fact in facts), default=0.0),
        "seconds": round(seconds, 2),
    }
