# SPDX-License-Identifier: Apache-2.0
"""Fences carved into a metric that exists already, and fences taken away: only what can be affected is touched.

A location can be affected only if its ball up to l_top met a place that changed: a fence, a leaf that a fence cuts in
two, or their neighbours. These locations are checked again, and where they fall short the scales around them shrink
(conformal) or edges are added (paper). Both only shrink distances, so every other location still holds. Edges that have
factors of their own then rise again where anything changed, until they bind (`ascent`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..arrays import BoolArray, IndexArray, IntArray
from ..errors import InputError
from ..fences import fence_outlines, fences_to_cells, read_fences
from ..levels import UNREACHABLE, level_to_units, mass_to_units
from ..locations import split
from ..mass import Mass
from .ascent import ascend, carry_rise, restore_edges
from .build import certified, require_connected_mass
from .cartogram import neighbours_between, place_parts
from .conformal import Neighbours, conformal_graph, repair
from .graph import Graph
from .metric import Metric
from .paper import PaperState, build_paper_graph
from .resharpen import resharpened


def carve(
    metric: Metric, fences: Any = (), *, remove: Iterable[int] = (), mass: Mass | None = None, sharpen: bool = True,
    workers: int | None = None, progress: bool = False,
) -> Metric:  # fmt: skip
    """The metric with `fences` carved in and the fences numbered in `remove` taken away, repaired and certified.

    Fences are exact to the cell: a leaf that a fence cuts is split. How its mass lies within it is not known from the
    metric alone, so the part outside counts for nothing, unless the `mass` that the metric was built from is given.
    The certificate says what was checked again and how far the repair reached. What was sharpened is sharpened again
    where the fences matter, and certified on every edge, unless `sharpen` is False.
    """
    begun = time.perf_counter()
    cells = _fence_cells(metric, fences, set(remove), mass)
    locations, parent = split(metric.locations, cells)
    fence = locations.first_of(cells).ravel().astype(np.int32)
    whole = locations.size == metric.locations.size[parent]
    units = np.where(whole, metric.mass_units[parent], 0)
    if mass is not None:
        units = locations.sum_over(mass_to_units(mass.cells)).ravel()
    changed = ~whole | _other_fence(metric.fence[parent], fence)
    if not changed.any():
        nothing = _summary(metric, changed, fence > 0, 0, time.perf_counter() - begun)
        return replace(metric, certificate=metric.certificate | {"carve": nothing})
    place = None if metric.place is None else place_parts(metric.locations, metric.place, locations, parent)
    bare = replace(
        metric, locations=locations, mass_units=units, fence=fence, place=place, rise=None, certificate={}, relief=None
    )
    near = _near(metric, np.unique(parent[changed]))
    affected = _affected(metric, near)[parent] & (fence == 0) & bare.secret
    sources = np.flatnonzero(affected).astype(np.int32)
    if metric.scale is not None:
        neighbours = neighbours_between(locations, fence, place)
        carved, moved = _carve_scales(bare, neighbours, metric, metric.scale, parent, near, sources, workers)
        if carved.rise is not None:
            carved, raised = _raised(carved, neighbours, near[parent] | moved, workers)
            sources = np.union1d(sources, raised).astype(np.int32)
    else:
        carved, moved = _carve_edges(bare, parent, affected, workers, progress)
    carved = certified(carved, only=sources, workers=workers, progress=progress)
    if sharpen and metric.relief is not None:
        carved = resharpened(carved, metric, parent, workers=workers, progress=progress)
    summary = _summary(carved, moved, fence > 0, sources.size, time.perf_counter() - begun)
    return replace(carved, certificate=carved.certificate | {"carve": summary})


def _fence_cells(metric: Metric, fences: Any, remove: set[int], mass: Mass | None) -> IndexArray:
    present = set(range(1, int(metric.fence.max(initial=0)) + 1))
    if not remove <= present:
        raise InputError(
            f"'remove' must name fences of the metric (it has {len(present)}), got {sorted(remove - present)}"
        )
    kept = [shape for number, shape in enumerate(fence_outlines(metric), 1) if number not in remove]
    shapes = kept + read_fences(fences)
    least = int(metric.requirement.table(metric.l_from, metric.l_top)[-1])
    if mass is not None:
        return fences_to_cells(metric.grid, shapes, units=mass_to_units(mass.cells), least=least)
    cut = metric.locations.sum_over(fences_to_cells(metric.grid, shapes) > 0).ravel() > 0
    units = np.zeros(metric.grid.shape, np.int64)
    units[metric.locations.row, metric.locations.col] = np.where(cut, 0, metric.mass_units)
    return fences_to_cells(metric.grid, shapes, units=units, least=least)


def _near(metric: Metric, changed: npt.NDArray[Any]) -> BoolArray:
    """What changed and, because lengths around it changed, its neighbours' neighbours. Fence locations of the old
    metric have no edges: what touches them stands in for them."""
    near = np.zeros(metric.n, bool)
    near[changed] = True
    start, index = metric.locations.touching()
    for _ in range(3):
        near[index[np.repeat(near, np.diff(start))]] = True
    return near


def _affected(metric: Metric, near: BoolArray) -> BoolArray:
    """Locations whose ball up to l_top may have met what is `near` a change."""
    dist = metric.graph.distances_from_any(np.flatnonzero(near), level_to_units(metric.l_top))
    return np.asarray(dist != UNREACHABLE)


def _carve_scales(
    bare: Metric, neighbours: Neighbours, before: Metric, scale: IndexArray, parent: IntArray, near: BoolArray,
    sources: IndexArray, workers: int | None,
) -> tuple[Metric, BoolArray]:  # fmt: skip
    fenced = before.fence[parent] > 0
    start = np.where(fenced, 0, scale[parent]).astype(np.int32)
    start = _filled(neighbours, start, fenced & (bare.fence == 0))
    rise = None
    if before.rise is not None:
        origin = np.where(bare.locations.size == before.locations.size[parent], parent, -1)
        rise = carry_rise(before.rise, before.locations.neighbours(before.fence), neighbours, origin)
        rise = restore_edges(rise, before.graph, neighbours, start, origin, near)
    table = bare.requirement.table(bare.l_from, bare.l_top)
    require_connected_mass(conformal_graph(neighbours, start, rise), bare.mass_units, table, sources)
    repaired = repair(neighbours, start, bare.mass_units, table, sources, rise=rise, workers=workers)
    carved = replace(bare, graph=conformal_graph(neighbours, repaired, rise), scale=repaired, rise=rise)
    return carved, repaired != scale[parent]


def _other_fence(before: IndexArray, after: IndexArray) -> BoolArray:
    """Which locations are in another fence than before, or in one that has grown or shrunk; a number alone, which may
    move up when another fence goes, is no change."""
    pairs, which = np.unique(np.stack([before, after]), axis=1, return_inverse=True)
    alone = [np.bincount(side)[side] == 1 for side in pairs]
    same = np.where(pairs.all(axis=0), alone[0] & alone[1], ~pairs.any(axis=0))
    return np.asarray(~same[which.ravel()])


def _raised(
    metric: Metric, neighbours: Neighbours, around: BoolArray, workers: int | None
) -> tuple[Metric, IndexArray]:
    """Edges around what changed, raised until they bind; and the secrets whose balls reach there, who say how far."""
    assert metric.scale is not None
    assert metric.rise is not None
    around = around & (metric.fence == 0)
    sources = np.flatnonzero(_affected(metric, around) & metric.secret & (metric.fence == 0)).astype(np.int32)
    base, table = conformal_graph(neighbours, metric.scale), metric.requirement.table(metric.l_from, metric.l_top)
    rise = ascend(base, metric.rise, metric.mass_units, table, sources, around=around, workers=workers)
    return replace(metric, graph=conformal_graph(neighbours, metric.scale, rise), rise=rise), sources


def _filled(neighbours: Neighbours, scale: IndexArray, missing: BoolArray) -> IndexArray:
    """Ground that a fence gave up takes the mean scale of its neighbours, from its edge inwards."""
    start, index, _ = neighbours
    values = np.where(missing, np.nan, scale.astype(np.float64))
    while np.isnan(values[missing]).any():
        spread = kernels.share(start, index, values)
        found = np.isnan(values) & (spread > 0)
        if not found.any():
            values[np.isnan(values)] = float(np.median(scale[~missing]))
        values[found] = spread[found]
    return np.floor(values).astype(np.int32)


def _carve_edges(
    metric: Metric, parent: IntArray, affected: BoolArray, workers: int | None, progress: bool
) -> tuple[Metric, BoolArray]:
    """Edges of fence locations go; the pieces of a split leaf stay at distance 0; affected locations build again."""
    n = metric.n
    outside = metric.fence == 0
    pieces = np.flatnonzero(outside)
    first = np.full(int(parent.max()) + 1, -1, np.int64)
    first[parent[pieces[::-1]]] = pieces[::-1]
    tail, tip, weight = metric.graph.edges()
    keep = (first[tail] >= 0) & (first[tip] >= 0)
    siblings = pieces[first[parent[pieces]] != pieces]
    ends = np.concatenate([first[tail[keep]], siblings]), np.concatenate([first[tip[keep]], first[parent[siblings]]])
    graph = Graph.from_edges(n, *ends, np.concatenate([weight[keep], np.zeros(siblings.size, np.int32)]))
    table = metric.requirement.table(metric.l_from, metric.l_top)
    level = np.full(n, table.size, np.int32)
    level[affected] = np.searchsorted(table, metric.mass_units[affected], side="right")
    state = PaperState(level, np.zeros(n, np.int64), graph)
    carved = build_paper_graph(
        metric.locations, metric.mass_units, table, metric.fence, metric.secret,
        state=state, workers=workers, progress=progress,
    )  # fmt: skip
    moved = np.diff(carved.start) != np.diff(graph.start)
    return replace(metric, graph=carved), moved & affected


def _summary(metric: Metric, moved: BoolArray, inside: BoolArray, checked: int, seconds: float) -> dict[str, Any]:
    moved = moved & ~inside
    reach = 0.0
    if moved.any() and inside.any():
        from scipy.spatial import cKDTree

        reach = float(cKDTree(metric.xy[inside]).query(metric.xy[moved])[0].max())
    return {
        "checked_again": checked,
        "locations_changed": int(np.count_nonzero(moved)),
        "reach_km": round(reach / 1000, 2),
        "seconds": round(seconds, 2),
    }
