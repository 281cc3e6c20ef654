# SPDX-License-Identifier: Apache-2.0
"""`Locations`: the finite set X. Single cells (`uniform`), or leaves of a balanced quadtree (`adaptive`).

An adaptive layout merges empty land before anything is built on it, the paper's first suggestion: a leaf is a square
of 2^k x 2^k cells of bounded mass, and touching leaves differ by one size at most. Leaves are numbered along the
Z-order curve, so that neighbours on the ground are neighbours in memory, and the whole layout is stored as one small
number per leaf.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..arrays import BoolArray, ByteArray, FloatArray, IndexArray, IntArray, Locked, read_only
from ..errors import InputError
from . import around
from .grid import Grid


@dataclass(frozen=True, eq=False)
class Locations(Locked):
    """Squares of whole cells that tile a grid. `row`, `col`: south-west cell; `size`: side in cells; one entry a
    location."""

    grid: Grid
    kind: str
    row: IndexArray
    col: IndexArray
    size: IndexArray

    @cached_property
    def area_cells(self) -> IntArray:
        """Number of cells of each location."""
        return self.size.astype(np.int64) ** 2

    @property
    def n(self) -> int:
        return int(self.row.size)

    @cached_property
    def xy(self) -> FloatArray:
        """Centres in metres east and north of the area's centre, (n, 2)."""
        x = (self.col + self.size / 2 - self.grid.cols / 2) * self.grid.cell_m
        y = (self.row + self.size / 2 - self.grid.rows / 2) * self.grid.cell_m
        return read_only(np.column_stack([x, y]))

    @cached_property
    def owner(self) -> IndexArray:
        """The location of each cell, (rows, cols)."""
        if self.kind == "uniform":
            return read_only(np.arange(self.n, dtype=np.int32).reshape(self.grid.shape))
        return read_only(kernels.paint_owner(self.grid.rows, self.grid.cols, self.row, self.col, self.size))

    def sum_over(self, cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sum of a per-cell array over each location."""
        if self.kind == "uniform":
            return cells.ravel()
        total = np.zeros(self.n, dtype=cells.dtype)
        np.add.at(total, self.owner.ravel(), cells.ravel())
        return total

    def first_of(self, cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A per-cell array that is constant on each location, read at the south-west cell."""
        return cells[self.row, self.col]

    def inside(self, margin_cells: int) -> BoolArray:
        """Whether each location keeps at least this distance from the border of the grid, with all its cells."""
        low, row_end, col_end = margin_cells, self.grid.rows - margin_cells, self.grid.cols - margin_cells
        rows = (self.row >= low) & (self.row + self.size <= row_end)
        return rows & (self.col >= low) & (self.col + self.size <= col_end)

    def touching(self) -> tuple[IntArray, IndexArray]:
        """CSR (start, index) of the locations that share a side or a corner."""
        if self.n <= around.FEW:
            return around.touching(self.owner, self.n)
        start, index = kernels.touching(self.owner, self.row, self.col, self.size, int(self.size.max()))
        return start, index

    def neighbours(self, group: IndexArray | None = None) -> tuple[IntArray, IndexArray, IndexArray]:
        """CSR (start, index, length) of the neighbour graph; see `_kernels.layout` for the rule and the unit of length.

        Locations with `group` > 0 (fences) have no neighbours.
        """
        widest = int(self.size.max())
        start, index = self.touching()
        groups = np.zeros(self.n, np.int32) if group is None else group
        if self.n <= around.FEW:
            return around.neighbours((start, index), (self.row, self.col, self.size), groups)
        begin, target, length = kernels.neighbours(start, index, self.row, self.col, self.size, groups, widest)
        return begin, target, length

    def cut(self, grid: Grid, row: int, col: int) -> tuple[Locations, IntArray]:
        """The locations inside a box of cells as a layout of `grid`, whose south-west cell is (row, col) here; and
        their numbers here. No location may lie across the box's border, and `row` and `col` must be multiples of every
        size in the box."""
        inside = (self.row >= row) & (self.row + self.size <= row + grid.rows)
        inside &= (self.col >= col) & (self.col + self.size <= col + grid.cols)
        kept = np.flatnonzero(inside)
        rows, cols, size = self.row[kept] - np.int32(row), self.col[kept] - np.int32(col), self.size[kept]
        if int(self.area_cells[kept].sum()) != grid.rows * grid.cols or np.any((row % size) | (col % size)):
            raise InputError("a cut must not divide a location")
        order = np.argsort(_morton(rows, cols), kind="stable") if self.kind == "adaptive" else slice(None)
        return Locations(grid, self.kind, rows[order], cols[order], size[order]), kept[order]

    def exponents(self) -> ByteArray:
        """log2 of each size: with the grid, all that is needed to rebuild an adaptive layout."""
        return np.log2(self.size).round().astype(np.uint8)


def uniform(grid: Grid) -> Locations:
    """One location per cell, row by row from the south-west."""
    row, col = np.divmod(np.arange(grid.rows * grid.cols, dtype=np.int32), np.int32(grid.cols))
    return Locations(grid, "uniform", row, col, np.ones(row.size, np.int32))


def adaptive(
    grid: Grid,
    mass_units: IntArray,
    *,
    max_mass_units: int,
    max_size: int = 64,
    separate: npt.NDArray[Any] | None = None,
) -> Locations:
    """Leaves of at most `max_mass_units` and `max_size` cells a side, 2:1 balanced; a leaf never mixes values of
    `separate`.

    A square of side 2^k becomes one leaf if its four quarters may each be one, it obeys the bounds, and every square
    of that side that touches it consists of squares of at least half the side. Working upwards from single cells,
    that is balanced by construction.
    """
    classes = np.zeros(grid.shape, np.int32) if separate is None else separate.astype(np.int32)
    whole = np.ones(grid.shape, bool)
    mass, low, high = mass_units.reshape(grid.shape), classes, classes
    levels = [whole]
    while 2 ** len(levels) <= max_size and levels[-1].any():
        inside = _pool(np.ones(whole.shape, bool), "all", False)
        settled = _pool(whole, "all", True)
        mass, low, high = _pool(mass, "sum", 0), _pool(low, "min", 2**30), _pool(high, "max", -1)
        whole = _pool(whole, "all", False) & inside & (mass <= max_mass_units) & (low == high) & _around(settled)
        levels.append(whole)
    return _leaves(grid, levels)


def _pool(array: npt.NDArray[Any], how: str, fill: Any) -> npt.NDArray[Any]:
    """Each 2 x 2 block as one value, an odd last row or column completed by `fill`."""
    rows, cols = array.shape
    padded = np.pad(array, ((0, rows % 2), (0, cols % 2)), constant_values=fill)
    blocks = padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2)
    pooled: npt.NDArray[Any] = getattr(blocks, how)(axis=(1, 3))
    return pooled


def _around(settled: BoolArray) -> BoolArray:
    """True where a block and its eight neighbours are settled; what lies beyond the grid counts as settled."""
    padded = np.pad(settled, 1, constant_values=True)
    rows = padded[:-2] & padded[1:-1] & padded[2:]
    return rows[:, :-2] & rows[:, 1:-1] & rows[:, 2:]


def _leaves(grid: Grid, levels: list[BoolArray]) -> Locations:
    rows, cols, sizes = [], [], []
    for k, whole in enumerate(levels):
        if k + 1 < len(levels):
            parent = np.repeat(np.repeat(levels[k + 1], 2, axis=0), 2, axis=1)[: whole.shape[0], : whole.shape[1]]
            leaf = whole & ~parent
        else:
            leaf = whole
        r, c = np.nonzero(leaf)
        rows.append(r << k)
        cols.append(c << k)
        sizes.append(np.full(r.size, 1 << k))
    row, col, size = (np.concatenate(part).astype(np.int32) for part in (rows, cols, sizes))
    order = np.argsort(_morton(row, col), kind="stable")
    return Locations(grid, "adaptive", row[order], col[order], size[order])


def _morton(row: npt.NDArray[Any], col: npt.NDArray[Any]) -> IntArray:
    """Position on the Z-order curve: bits of row and column interleaved, the row's first."""
    key = np.zeros(row.shape, np.int64)
    for bit in range(16):
        key |= ((col.astype(np.int64) >> bit) & 1) << (2 * bit)
        key |= ((row.astype(np.int64) >> bit) & 1) << (2 * bit + 1)
    return key


def from_exponents(grid: Grid, exponents: ByteArray) -> Locations:
    """The adaptive layout that `Locations.exponents` described: its leaves in Z-order, each as long as it says."""
    row, col, ok = kernels.unpack_leaves(grid.rows, grid.cols, exponents)
    if not ok:
        raise InputError("the layout does not tile its grid")
    return Locations(grid, "adaptive", row, col, (1 << exponents.astype(np.int32)).astype(np.int32))


def split(locations: Locations, cells: npt.NDArray[Any]) -> tuple[Locations, IntArray]:
    """The layout with every location quartered until `cells` is constant on it, and each location's origin in the old
    one."""
    row, col, size = locations.row, locations.col, locations.size
    parent = np.arange(locations.n)
    low, high = _ranges(cells, row, col, size)
    while np.any(low != high):
        mixed = low != high
        half = size[mixed] // 2
        quarters = [(row[mixed] + half * a, col[mixed] + half * b, half, parent[mixed]) for a in (0, 1) for b in (0, 1)]
        kept = (row[~mixed], col[~mixed], size[~mixed], parent[~mixed])
        row, col, size, parent = (np.concatenate(part) for part in zip(kept, *quarters, strict=True))
        low, high = _ranges(cells, row, col, size)
    if locations.kind == "uniform":
        return locations, parent
    order = np.argsort(_morton(row, col), kind="stable")
    squares = (part[order].astype(np.int32) for part in (row, col, size))
    return Locations(locations.grid, "adaptive", *squares), parent[order]


def _ranges(
    cells: npt.NDArray[Any], row: IndexArray, col: IndexArray, size: IndexArray
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Least and largest value of `cells` on each square."""
    low, high = cells[row, col].copy(), cells[row, col].copy()
    for side in np.unique(size[size > 1]):
        these = np.flatnonzero(size == side)
        for dr in range(side):
            for dc in range(side):
                value = cells[row[these] + dr, col[these] + dc]
                low[these], high[these] = np.minimum(low[these], value), np.maximum(high[these], value)
    return low, high
