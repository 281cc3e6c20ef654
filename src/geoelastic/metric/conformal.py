# SPDX-License-Identifier: Apache-2.0
"""The conformal builder: one local scale per location, edges only between neighbours.

In a density that is even, Euclidean distance times l* sqrt(pi x density) meets a quadratic requirement exactly. So
each location gets a scale of its own, an edge is as long as the ground between two centres times the mean of their
scales, and the scales are adjusted until every ball holds what is required and little more:

1. start from the scale that would be right if the surroundings were even;
2. some sweeps both ways over part of the locations: r(x) = least m(B_l)/req(l), scale *= r^GAIN, shared with the
   neighbours;
3. sweeps downwards only: around each x that falls short, the scales in its violating ball shrink, most near x.
   Shrinking scales only shrinks distances and grows balls, so a location that holds once holds for good: only those
   that fell short are swept again, and the process ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from threading import Lock

import numpy as np

from .. import _kernels as kernels
from ..arrays import BoolArray, ByteArray, FloatArray, IndexArray, IntArray
from ..errors import MassError
from ..levels import LEVEL_BITS, LEVEL_UNIT, MASS_UNIT
from ..locations import Locations
from ..progress import Bar, progress_bar
from .graph import Graph
from .threads import in_parts

Neighbours = tuple[IntArray, IndexArray, IndexArray]

#: Each sweep both ways looks at one location in `STRIDE` and moves its surroundings by r^GAIN; measured on made-up
#: and real cities, more sweeps or smaller strides gain less than 1 %.
SWEEPS, STRIDE, GAIN = 8, 4, 0.5
#: Downward moves of r^SHRINK at the rim of a ball that falls short, and up to 25 times that near its centre: small
#: steps leave less slack where balls overlap.
SHRINK = 0.02
_MAX_SCALE = 2**28


def conformal_graph(neighbours: Neighbours, scale: IndexArray, rise: ByteArray | None = None) -> Graph:
    """The graph that neighbours (start, index, length) and scales stand for; `rise`: edges' own factors (`ascent`)."""
    return _graph_of(neighbours, rise)(scale)


def _graph_of(neighbours: Neighbours, rise: ByteArray | None) -> Callable[[IndexArray], Graph]:
    """`conformal_graph` of any scales: which edges there are is found once for all of them."""
    start, index, length = neighbours
    if rise is None:
        return lambda scale: Graph(start, index, kernels.conformal_weights(start, index, length, scale))
    begin, kept, factor = kernels.raised_arcs(start, index, rise)
    tip, long = index[kept], length[kept]

    def graph(scale: IndexArray) -> Graph:
        weight = kernels.conformal_weights(begin, tip, long, scale)
        return Graph(begin, tip, ((weight * factor) >> kernels.RISE_BITS).astype(np.int32))

    return graph


def solve_scales(
    scale: FloatArray, neighbours: Neighbours, mass_units: IntArray, table: IntArray, sources: IndexArray, *,
    workers: int | None = None, progress: bool = False,
) -> IndexArray:  # fmt: skip
    """Scales such that every source meets the requirement table, from the first ones on."""
    work = sources.size * (SWEEPS / STRIDE + 2)
    with progress_bar("build", work, show=progress) as bar:
        for sweep in range(SWEEPS):
            part = sources[sweep % STRIDE :: STRIDE]
            graph, done = conformal_graph(neighbours, _whole(scale)), sweep * sources.size / STRIDE
            least = _ratios(graph, mass_units, table, part, workers, bar, done)
            if part.size:
                moves = np.clip(np.log(np.maximum(least, 1e-9)), -1.0, 0.5)
                scale = scale * np.exp(GAIN * _shared(neighbours, moves, part))
        return repair(
            neighbours, _whole(scale), mass_units, table, sources, workers=workers,
            on_sweep=lambda done: bar.update(sources.size * SWEEPS / STRIDE + 2 * done),
        )  # fmt: skip


def repair(
    neighbours: Neighbours, scale: IndexArray, mass_units: IntArray, table: IntArray, sources: IndexArray, *,
    rise: ByteArray | None = None, workers: int | None = None, on_sweep: Callable[[int], None] | None = None,
) -> IndexArray:  # fmt: skip
    """Shrink scales around each source that falls short until none does."""
    left, total, graph = sources, sources.size, _graph_of(neighbours, rise)
    while left.size:
        factor, short = _shrink_factors(graph(scale), mass_units, table, left, workers)
        if np.any(short) and not scale[factor < 1].any():
            factor = _widened(neighbours, factor)
            if not scale[factor < 1].any():
                raise MassError("the requirement cannot be met: all distances around some location are 0 already")
        scale = np.floor(scale * factor).astype(np.int32)
        left = left[short]
        if on_sweep is not None:
            on_sweep(total - left.size)
    return scale


def _widened(neighbours: Neighbours, factor: FloatArray) -> FloatArray:
    """Every ball that falls short is at 0 already, and what is beside it lies beyond the last level: that must come
    nearer."""
    start, index, _ = neighbours
    beside = index[np.repeat(factor < 1, np.diff(start))]
    wider = factor.copy()
    wider[beside] = np.minimum(wider[beside], math.exp(-1))
    return wider


def _ratios(
    graph: Graph, mass_units: IntArray, table: IntArray, part: IndexArray, workers: int | None, bar: Bar, done: float
) -> FloatArray:
    """The least m(B_l)/req(l) of each location in `part`."""

    kind = kernels.lane_kind(table.size)

    def least(some: IndexArray) -> FloatArray:
        ratios: FloatArray = kernels.ratios(*graph.rows, mass_units, graph.buckets, table, some, kind)
        return ratios

    return np.concatenate(in_parts(least, part, workers=workers, bar=bar, done=done))


def _shrink_factors(
    graph: Graph, mass_units: IntArray, table: IntArray, left: IndexArray, workers: int | None
) -> tuple[FloatArray, BoolArray]:
    """The least factor of each scale that any location that is left asks for, and which of these fall short."""
    kind = kernels.lane_kind(table.size)
    least, turn = np.ones(graph.n), Lock()

    def shrink(some: IndexArray) -> BoolArray:
        factor, short = kernels.shrink_factors(*graph.rows, mass_units, graph.buckets, table, some, SHRINK, kind)
        with turn:  # at once: kept until the end, one array a part would be gigabytes on a large map
            np.minimum(least, factor, out=least)
        fell_short: BoolArray = short
        return fell_short

    short = np.concatenate(in_parts(shrink, left, workers=workers))
    return least, short


def first_scales(locations: Locations, cells: IntArray, table: IntArray) -> FloatArray:
    """Scales that would be right if density were even around each location. `cells`: mass units per cell, 0 inside
    fences. A square of cells stands for the disc of the same area; the radius that holds a mass is read off squares of
    growing size, interpolated by area.
    """
    masses = np.asarray(cells * MASS_UNIT, dtype=np.float64)
    return _least_scales(table, lambda targets: _radii(locations, masses, targets))


def scales_of_density(density: FloatArray, table: IntArray) -> FloatArray:
    """Scales that would be right if density (mass a cell) were as even around each location as it is known to be."""
    return _least_scales(table, lambda targets: [np.sqrt(target / (math.pi * density)) for target in targets])


def _least_scales(table: IntArray, radii_of: Callable[[list[float]], list[FloatArray]]) -> FloatArray:
    """The least level / radius that holds its mass, over some levels of the table."""
    first = int(np.argmax(table > 0))
    levels = np.unique(np.linspace(first + (table.size - 1 - first) * 0.15, table.size - 1, 5).astype(np.int64))
    radii = radii_of([float(table[level]) * MASS_UNIT for level in levels])
    per_cell = np.min([level * LEVEL_UNIT / radius for level, radius in zip(levels, radii, strict=True)], axis=0)
    scales: FloatArray = np.minimum(per_cell / 2 * 2.0 ** (LEVEL_BITS + kernels.SCALE_BITS), _MAX_SCALE)
    return scales


def _radii(locations: Locations, cells: FloatArray, targets: list[float]) -> list[FloatArray]:
    """For each target mass, the radius in cells of the disc around each location that holds it."""
    rows, cols = locations.grid.shape
    sums = np.zeros((rows + 1, cols + 1))
    sums[1:, 1:] = cells.cumsum(axis=0).cumsum(axis=1)
    row, col = locations.row + locations.size // 2, locations.col + locations.size // 2
    radii = [np.full(locations.n, np.nan) for _ in targets]
    before, inner, half = np.zeros(locations.n), 0.0, 0
    while half < 2 * max(rows, cols) and any(np.isnan(radius).any() for radius in radii):
        r0, r1 = np.maximum(row - half, 0), np.minimum(row + half + 1, rows)
        c0, c1 = np.maximum(col - half, 0), np.minimum(col + half + 1, cols)
        inside = sums[r1, c1] - sums[r0, c1] - sums[r1, c0] + sums[r0, c0]
        outer = (2 * half + 1) ** 2 / math.pi
        for target, radius in zip(targets, radii, strict=True):
            hit = np.isnan(radius) & (inside >= target)
            part = (target - before[hit]) / (inside[hit] - before[hit])
            radius[hit] = np.sqrt(inner + part * (outer - inner))
        before, inner, half = inside, outer, max(half + 1, int(half * 1.15))
    return [np.where(np.isnan(radius), math.sqrt(inner), radius) for radius in radii]


def _whole(scale: FloatArray) -> IndexArray:
    return np.minimum(scale, _MAX_SCALE).astype(np.int32)


def _shared(neighbours: Neighbours, moves: FloatArray, part: IndexArray) -> FloatArray:
    """Moves known at some locations, spread to all: half one's own and half the neighbours' mean where both are known;
    and once more, for a smooth scale has fewer short ways through it."""
    start, index, _ = neighbours
    values = np.full(start.size - 1, np.nan)
    values[part] = moves
    shared: FloatArray = kernels.share(start, index, kernels.share(start, index, values))
    return shared
