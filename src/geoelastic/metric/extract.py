# SPDX-License-Identifier: Apache-2.0
"""Extracts: a region cut from a metric, with a mechanism that is private by itself.

A phone that holds an extract draws its reports from the extract alone: every location of it can be reported from
every other, and nothing outside it can be reported from anywhere. So the cut is a metric of its own, with the graph
that its own locations span, and it is verified as such: paths and crowds beyond the border are gone. A location whose
ball no longer holds what is required joins the frame: it may be reported, it cannot be a secret.

The box is grown to whole locations (its corner and sides are multiples of the largest location in it), keeps the
projection and the cells of the map it is cut from, and does not depend on anything but the region asked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..area import Area
from ..arrays import BoolArray, IndexArray
from ..context import Context
from ..errors import InputError, OutsideError, require_able
from ..locations import Grid, Locations
from .any_metric import AnyMetric
from .ascent import carry_rise
from .build import certified
from .cartogram import neighbours_between
from .conformal import conformal_graph
from .graph import Graph
from .metric import Metric
from .relief import Relief
from .resharpen import resharpened
from .sharpen import sharpened
from .threads import in_parts

REVEALS = (
    "Who serves this file learns that somebody asked for this region, and when. "
    "Which region is in use shows in every report: take it by habit, not by where you are, and keep it on the way."
)
#: A region whose border runs along cells does not take in the next ones for a rounding error, in cells.
_SLIVER = 1e-6


def extract(
    metric: AnyMetric, area: Area, *, sharpen: bool = True, output: str = "mass", workers: int | None = None,
    progress: bool = False,
) -> Metric:  # fmt: skip
    """The part of a metric that covers `area`, as a metric of its own, verified in itself and sharpened for `output`.

    `info["extract"]` states the box, how many locations were moved to the frame, and what asking for the region
    reveals.
    """
    require_able("metric", metric, "near", "a metric (ge.load reads one from a file)")
    part, (south, west) = metric.near(area)
    box = _whole_box(part.locations, _box(part.grid, area))
    cut = _cut(part, box)
    short = short_locations(cut, workers=workers)
    beyond = short | ~part.secret[_numbers(part, cut, box)]
    framed = beyond[cut.locations.owner]
    if np.all(beyond | (cut.fence > 0)):
        raise InputError(
            "the region has no location with enough crowd inside it to hide in: ask for a larger region, "
            f"this one is {cut.grid.cols * cut.grid.cell_m / 1000:g} x {cut.grid.rows * cut.grid.cell_m / 1000:g} km"
        )
    statement = {
        "row": box[0] + south, "col": box[1] + west, "rows": cut.grid.rows, "cols": cut.grid.cols,
        "map_rows": metric.grid.rows, "map_cols": metric.grid.cols,
        "locations": cut.n, "framed": int(np.count_nonzero(cut.locations.first_of(framed))),
        "map_graph_sha256": metric.certificate.get("graph_sha256", ""), "reveals": REVEALS,
    }  # fmt: skip
    cut = replace(cut, framed=framed, info=dict(metric.info) | {"extract": statement}, context=_context(metric, cut))
    cut = certified(cut, workers=workers, progress=progress)
    if not sharpen:
        return cut
    relief = part.relief if part.relief is not None and part.relief.output == output else None
    if relief is not None and relief.made_for == Relief.key(cut):
        return replace(cut, relief=relief)  # all of the map
    if relief is not None:
        return resharpened(cut, part, _numbers(part, cut, box), workers=workers, progress=progress)
    return sharpened(cut, output=output, workers=workers, progress=progress)


def _box(grid: Grid, area: Area) -> tuple[int, int, int, int]:
    """(row, col, end row, end col) of the cells that a region touches, clipped to the map."""
    t = np.linspace(-0.5, 0.5, 33)
    edge = np.full(33, 0.5)
    x = np.concatenate([t, t, -edge, edge]) * area.width_m
    y = np.concatenate([-edge, edge, t, t]) * area.height_m
    x, y = grid.area.to_xy(*area.to_latlon(x, y))
    middle = np.array(grid.shape) / 2
    low = np.floor(np.array([np.min(y), np.min(x)]) / grid.cell_m + middle + _SLIVER)
    high = np.ceil(np.array([np.max(y), np.max(x)]) / grid.cell_m + middle - _SLIVER)
    if not (np.all(np.isfinite(low) & np.isfinite(high)) and np.all((high > 0) & (low < grid.shape))):
        raise OutsideError("the region must overlap the map")
    row, col = np.maximum(low, 0).astype(int)
    row_end, col_end = np.minimum(high, grid.shape).astype(int)
    return int(row), int(col), int(row_end), int(col_end)


def _whole_box(locations: Locations, box: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """The box grown to multiples of the largest location in it, so that none is divided."""
    step = 1
    while True:
        row, col = box[0] // step * step, box[1] // step * step
        row_end = min(-(-box[2] // step) * step, locations.grid.rows)
        col_end = min(-(-box[3] // step) * step, locations.grid.cols)
        widest = int(locations.size[np.unique(locations.owner[row:row_end, col:col_end])].max())
        if widest <= step:
            return row, col, row_end, col_end
        step = widest


def _context(metric: AnyMetric, cut: Metric) -> Context | None:
    """What lies in the box of the cut of what is drawn with the map."""
    if metric.context is None:
        return None
    from ..context.shores import moved

    there, here = metric.grid.area, cut.grid.area
    return moved(metric.context, here.east_m - there.east_m, here.north_m - there.north_m, here.width_m, here.height_m)


def _numbers(metric: Metric, cut: Metric, box: tuple[int, int, int, int]) -> npt.NDArray[Any]:
    """The number in the whole map of each location of the cut."""
    at = cut.locations
    return metric.locations.owner[at.row + box[0], at.col + box[1]]


def _cut(metric: Metric, box: tuple[int, int, int, int]) -> Metric:
    locations, kept = metric.locations.cut(metric.grid.part(*box), box[0], box[1])
    fence = _renumbered(metric.fence[kept])
    scale = place = rise = None
    if metric.scale is not None:
        scale = np.ascontiguousarray(metric.scale[kept])
        place = None if metric.place is None else np.ascontiguousarray(metric.place[kept])
        neighbours = neighbours_between(locations, fence, place)
        if metric.rise is not None:
            rise = carry_rise(metric.rise, metric.locations.neighbours(metric.fence), neighbours, kept)
        graph = conformal_graph(neighbours, scale, rise)
    else:
        new = np.full(metric.n, -1, np.int32)
        new[kept] = np.arange(kept.size, dtype=np.int32)
        tail, tip, weight = metric.graph.edges()
        inside = (new[tail] >= 0) & (new[tip] >= 0)
        graph = Graph.from_edges(locations.n, new[tail[inside]], new[tip[inside]], weight[inside]).simplified()
    return replace(
        metric, locations=locations, mass_units=np.ascontiguousarray(metric.mass_units[kept]), graph=graph, fence=fence,
        scale=scale, place=place, rise=rise, frame_cells=0, framed=None, certificate={}, relief=None,
    )  # fmt: skip


def _renumbered(fence: npt.NDArray[Any]) -> IndexArray:
    """Fence numbers 1, 2, ... without gaps, in the order they had."""
    numbers = np.unique(np.concatenate([[0], fence]))
    return np.searchsorted(numbers, fence).astype(np.int32)


def short_locations(cut: Metric, *, workers: int | None = None) -> BoolArray:
    """Locations outside fences whose balls do not hold what is required, by the verifier's own check."""
    tail, tip, level = cut.edge_units()
    graph = kernels.adjacency(cut.n, tail, tip, level)
    table = cut.requirement.table(cut.l_from, cut.l_top)
    sources = np.flatnonzero(cut.fence == 0).astype(np.int32)
    none = np.zeros(0, np.int64)
    parts = in_parts(
        lambda some: kernels.check_balls(*graph, cut.mass_units, table, some, none, False)[2], sources, workers=workers
    )
    short = np.zeros(cut.n, bool)
    short[sources] = ~np.concatenate(parts) if parts else False
    return short
