# SPDX-License-Identifier: Apache-2.0
"""A map redrawn so that crowds take more even room, before a metric is built on it.

In an even density, straight distances meet a quadratic requirement exactly: every ball holds just what it must. Where
density changes, one scale per location bends the plane, and in a plane that is bent balls hold more than they must. So
the changes are taken out of the ground first, as far as they go. The density spreads like heat, and each location is
carried along by the flow (the cartograms of Gastner and Newman, 2004): cities grow, open land between them closes up.
Lengths between neighbours are then measured between the places that they came to; what is left of the changes is
smooth over `evening_radius`, and the scales need only follow that.

None of this touches the guarantee: places, like scales, are whole numbers of the metric, which is checked as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..arrays import FloatArray, IndexArray, IntArray
from ..levels import MASS_UNIT
from ..locations import Locations
from ..progress import progress_bar

#: Units of a place in one cell: half cells with the fractional bits of a length.
UNITS = 2 << kernels.LENGTH_BITS
#: The flow is followed from this radius of smoothing, in cells, in steps that multiply it.
_FIRST, _STEPS_PER_DOUBLING = 0.7, 6
#: Waves of which this many radians or more fit into the radius have died out; the field is kept on a grid as coarse as
#: that allows.
_WAVE = 6.5
#: Land counts for at least this part of the mean density: in land without any mass the flow would know no bounds.
_LEAST_PART = 1e-4


@dataclass(frozen=True, eq=False)
class Cartogram:
    """Where each location came to lie, (n, 2) east and north in `UNITS`; and the density there, in mass a cell."""

    place: IndexArray
    density: FloatArray


def evening_radius(cells: FloatArray, table: IntArray) -> float:
    """How far to even out, in cells: as far as the largest balls reach, those of the last level in the emptiest land,
    and at most a fifth of the map's shorter side."""
    empty = float(np.quantile(_bounded(cells), 0.05))
    reach = math.sqrt(float(table[-1]) * MASS_UNIT / (math.pi * empty))
    return float(min(reach, min(cells.shape) / 5))


def draw_cartogram(
    locations: Locations, cells: FloatArray, radius: float, *, mean: float | None = None, progress: bool = False
) -> Cartogram:
    """Follow every location while the density of `cells` (mass a cell) is smoothed over `radius` cells.

    `mean`: the density of the whole map, if these are the cells of a window. What flows where depends only on what
    lies a few radii around: locations that keep that distance from the rim of the window go where they would go on the
    whole map.
    """
    from scipy.fft import dctn

    shape = np.array(locations.grid.shape)
    at = np.ascontiguousarray(_centres(locations)[:, ::-1].T)
    waves = dctn(_bounded(cells, mean), norm="ortho")
    doublings = max(math.log2(radius / _FIRST), 0.0)
    radii = _FIRST * 2.0 ** np.linspace(0, doublings, math.ceil(doublings * _STEPS_PER_DOUBLING) + 1)
    with progress_bar("cartogram", radii.size - 1, show=progress) as bar:
        for done, (before, after) in enumerate(pairwise(radii), 1):
            field = _Field(waves, math.sqrt((before**2 + after**2) / 2), mean)
            step = (after**2 - before**2) / 2
            half_way = _kept(at + step / 2 * field.velocity(at), shape)
            at = _kept(at + step * field.velocity(half_way), shape)
            bar.update(done)
    place = np.floor(at[::-1].T * UNITS).astype(np.int32)
    return Cartogram(np.ascontiguousarray(place), _Field(waves, radii[-1], mean).density(at))


def neighbours_between(
    locations: Locations, fence: IndexArray | None, place: IndexArray | None
) -> tuple[IntArray, IndexArray, IndexArray]:
    """The neighbour graph of a layout, with lengths on the ground or, if there are places, between these."""
    start, index, length = locations.neighbours(fence)
    return start, index, length if place is None else kernels.lengths_between(start, index, place)


def place_parts(whole: Locations, place: IndexArray, parts: Locations, parent: IntArray) -> IndexArray:
    """Places of the `parts` of locations that were split: around the place of the whole, as far from it as the ground
    around was stretched. What was not split stays where it is."""
    start, index = whole.touching()
    middle, away = _centres(whole), _centres(parts) - _centres(whole)[parent]
    placed = place[parent]
    for part in np.flatnonzero(away.any(axis=1)):
        i = parent[part]
        around = index[start[i] : start[i + 1]]
        around = around[around != i]
        ground = np.linalg.norm(middle[around] - middle[i], axis=1)
        stretch = np.mean(np.linalg.norm(place[around] - place[i], axis=1) / ground) if around.size else UNITS
        placed[part] += np.floor(away[part] * stretch).astype(np.int32)
    return placed


class _Field:
    """A density that has been smoothed over `radius`, on a grid as coarse as that allows.

    Nothing flows across the border: beyond it the density is its own reflection.
    """

    def __init__(self, waves: FloatArray, radius: float, mean: float | None) -> None:
        from scipy.fft import idctn, next_fast_len

        full = waves.shape
        rows, cols = (min(n, next_fast_len(math.ceil(n * _WAVE / (math.pi * radius)) + 1)) for n in full)
        y, x = (np.pi * np.arange(part) / n for part, n in zip((rows, cols), full, strict=True))
        faded = waves[:rows, :cols] * np.exp(-(y[:, None] ** 2 + x[None, :] ** 2) * (radius**2 / 2))
        density = idctn(faded, norm="ortho") * math.sqrt(rows * cols / (full[0] * full[1]))
        least = _LEAST_PART * (float(waves[0, 0]) / math.sqrt(full[0] * full[1]) if mean is None else mean)
        self._density = np.pad(np.maximum(density, least), 2, mode="symmetric")
        self._pitch = np.array(full) / (rows, cols)

    @cached_property
    def _flow(self) -> list[FloatArray]:
        """-grad(density) / density, northwards and eastwards."""
        return [-slope / self._density for slope in np.gradient(self._density, *self._pitch)]

    def velocity(self, at: FloatArray) -> FloatArray:
        """The flow at points (2, n) in cells."""
        return np.stack([self._read(part, at) for part in self._flow])

    def density(self, at: FloatArray) -> FloatArray:
        """The density at points."""
        return self._read(self._density, at)

    def _read(self, nodes: FloatArray, at: FloatArray) -> FloatArray:
        from scipy.ndimage import map_coordinates

        inner: FloatArray = map_coordinates(nodes[1:-1, 1:-1], at / self._pitch[:, None] + 0.5, order=1, mode="nearest")
        return inner


def _centres(locations: Locations) -> FloatArray:
    """Centres in cells, (n, 2) east and north."""
    return np.column_stack([locations.col + locations.size / 2, locations.row + locations.size / 2])


def _bounded(cells: FloatArray, mean: float | None = None) -> FloatArray:
    return np.maximum(cells, _LEAST_PART * (float(cells.mean()) if mean is None else mean))


def _kept(at: FloatArray, shape: npt.NDArray[Any]) -> FloatArray:
    """Points inside the map."""
    return np.clip(at, 0.0, shape[:, None].astype(np.float64))
