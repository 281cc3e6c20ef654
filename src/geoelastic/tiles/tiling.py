# SPDX-License-Identifier: Apache-2.0
"""How a map is cut into tiles, and the windows around them in which they are built and checked.

Tiles are squares of 2^k cells, counted along the Z-order curve like the locations themselves: the locations of a tile
are consecutive in the order of the whole map, and a location never lies in two tiles. A window is a tile and what
lies around it, cut at multiples of the largest location.

Why a window is enough: it holds some of the locations and some of the paths of the whole map. Distances in it are at
least the true ones, balls in it hold at most what they truly hold, so a location that meets the requirement in *any*
window meets it in the whole map. How wide the window is decides only how tight the result is. It is made wide enough
that the discs that hold the mass of l_top fit into it with a margin, and the searches that still come to its rim are
counted: none is the rule, and a tile where it happens is built again in a window twice as wide.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from ..area import Area
from ..arrays import IntArray
from ..errors import InputError
from ..locations import Grid
from ..mass import Requirement, requirement_from_dict
from ..metric.ascent import upper_part
from ..metric.build import MAX_LEAF_CELLS, most_of_leaf

#: Whether a square becomes a location is decided by squares at most 2 + 4 + ... + 64 = 126 cells away, and neighbours
#: are at most two locations apart: within this many cells of a tile lies all that its locations depend on.
MARGIN_CELLS = 2 * MAX_LEAF_CELLS
MIN_TILE_CELLS = MARGIN_CELLS
#: A density smoothed over r is that of the surroundings within a few r: e^-8 of it comes from beyond 4 r.
FLOW_REACH = 4


@dataclass(frozen=True)
class Box:
    """Cells row <= r < row_end, col <= c < col_end."""

    row: int
    col: int
    row_end: int
    col_end: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.row_end - self.row, self.col_end - self.col

    def meets(self, other: Box) -> bool:
        """Whether two boxes share a cell."""
        rows = self.row < other.row_end and other.row < self.row_end
        return rows and self.col < other.col_end and other.col < self.col_end

    def holds(self, row: Any, col: Any) -> Any:
        """Whether each cell lies in the box."""
        return (row >= self.row) & (row < self.row_end) & (col >= self.col) & (col < self.col_end)


def require_tile(side: int) -> int:
    """The side of a tile if it can be one."""
    if side < MIN_TILE_CELLS or side & (side - 1):
        raise InputError(f"'tile' must be a power of two >= {MIN_TILE_CELLS} (cells), got {side}")
    return side


@dataclass(frozen=True)
class Tiling:
    """A map of `rows` x `cols` cells in tiles of `side` cells; tiles are numbered along the Z-order curve."""

    rows: int
    cols: int
    side: int

    def __post_init__(self) -> None:
        require_tile(self.side)

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """(row, column) of each tile among the tiles."""
        down, across = -(-self.rows // self.side), -(-self.cols // self.side)
        return sorted(((r, c) for r in range(down) for c in range(across)), key=_z_order)

    @cached_property
    def _numbers(self) -> dict[tuple[int, int], int]:
        return {place: number for number, place in enumerate(self.places)}

    @property
    def n(self) -> int:
        return len(self.places)

    def name(self, tile: int) -> str:
        """What the files of a tile are called."""
        row, col = self.places[tile]
        return f"r{row:04d}-c{col:04d}"

    def box(self, tile: int) -> Box:
        """The cells of a tile."""
        row, col = (part * self.side for part in self.places[tile])
        return Box(row, col, min(row + self.side, self.rows), min(col + self.side, self.cols))

    def window(self, tile: int, margin_cells: int) -> Box:
        """A tile and at least this many cells around it, as far as the map goes."""
        box, step = self.box(tile), MAX_LEAF_CELLS
        reach = -(-margin_cells // step) * step
        return self.clipped(Box(box.row - reach, box.col - reach, box.row_end + reach, box.col_end + reach))

    def clipped(self, box: Box) -> Box:
        """What of a box lies on the map."""
        return Box(max(box.row, 0), max(box.col, 0), min(box.row_end, self.rows), min(box.col_end, self.cols))

    def whole_tiles(self, box: Box, around: int) -> Box:
        """The whole tiles that a box meets, and so many more on each side."""
        low = [(part // self.side - around) * self.side for part in (box.row, box.col)]
        high = [(-(-part // self.side) + around) * self.side for part in (box.row_end, box.col_end)]
        return self.clipped(Box(*low, *high))

    def tile_of(self, row: int, col: int) -> int:
        """The tile of a cell."""
        return self._numbers[row // self.side, col // self.side]

    def meeting(self, box: Box) -> list[int]:
        """The tiles that share a cell with a box, in order."""
        side = self.side
        found = [
            self._numbers[r, c]
            for r in range(box.row // side, -(-box.row_end // side))
            for c in range(box.col // side, -(-box.col_end // side))
        ]
        return sorted(found)

    def around(self, tile: int) -> list[int]:
        """The tile in each slot of the 3 x 3 tiles around a tile (slot 4 is itself), -1 beyond the map."""
        row, col = self.places[tile]
        return [self._numbers.get((row + dr, col + dc), -1) for dr in (-1, 0, 1) for dc in (-1, 0, 1)]


def _z_order(place: tuple[int, int]) -> int:
    row, col = place
    return sum(((col >> k & 1) << 2 * k) | ((row >> k & 1) << (2 * k + 1)) for k in range(max(place).bit_length()))


@dataclass(frozen=True)
class TilePlan:
    """Everything that a tile is made from besides the masses of its cells.

    `evening_cells`: how far the cartogram evens densities out, 0 if the map is not redrawn; `mean_mass`: of a cell of
    the whole map. `ascent`: whether edges have factors of their own.
    """

    grid: Grid
    side: int
    requirement: dict[str, Any]
    l_from: float
    l_top: float
    frame_cells: int
    evening_cells: float = 0.0
    mean_mass: float = 0.0
    ascent: bool = False

    @property
    def redrawn(self) -> bool:
        """Whether lengths are taken on a cartogram."""
        return self.evening_cells > 0

    @property
    def redraw_margin_cells(self) -> int:
        """How far around a tile the density decides where its locations go on the cartogram."""
        return math.ceil(FLOW_REACH * self.evening_cells)

    @cached_property
    def tiling(self) -> Tiling:
        return Tiling(self.grid.rows, self.grid.cols, self.side)

    @cached_property
    def table(self) -> IntArray:
        """The mass that each level asks for."""
        return self.make_requirement().table(self.l_from, self.l_top)

    @cached_property
    def scale_table(self) -> IntArray:
        """The part of it that scales see to; the factors of edges see to the rest."""
        return upper_part(self.table) if self.ascent else self.table

    @cached_property
    def leaf_units(self) -> int:
        """The most mass that a location of several cells may have."""
        return most_of_leaf(self.make_requirement(), self.l_from, self.table)

    def make_requirement(self) -> Requirement:
        return requirement_from_dict(self.requirement)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for keys, workers and manifests."""
        plain = asdict(self)
        plain["grid"] = asdict(self.grid.area) | {
            "cell_m": self.grid.cell_m, "rows": self.grid.rows, "cols": self.grid.cols,
        }  # fmt: skip
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> TilePlan:
        """The plan that `to_dict` described."""
        where = dict(plain["grid"])
        cell_m, rows, cols = (where.pop(name) for name in ("cell_m", "rows", "cols"))
        return cls(**(plain | {"grid": Grid(Area(**where), cell_m, rows, cols)}))
