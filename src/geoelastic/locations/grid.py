# SPDX-License-Identifier: Apache-2.0
"""`Grid`: square cells over an area, row 0 in the south, column 0 in the west."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..area import Area
from ..errors import InputError, OutsideError, require_latlon, require_positive


@dataclass(frozen=True)
class Grid:
    """`rows` x `cols` square cells of `cell_m` metres, centred on the area's centre."""

    area: Area
    cell_m: float
    rows: int
    cols: int

    @classmethod
    def over(cls, area: Area, cell_m: float) -> Grid:
        """As many whole cells as the area's sides hold, rounded to the nearest."""
        cell_m = require_positive("cell_m", cell_m)
        rows, cols = round(area.height_m / cell_m), round(area.width_m / cell_m)
        if rows < 1 or cols < 1:
            raise InputError(f"'cell_m' must be at most the side of the area, got {cell_m:g} m cells")
        return cls(area, cell_m, rows, cols)

    @classmethod
    def of_shape(cls, shape: tuple[int, int], cell_m: float, origin: tuple[float, float]) -> Grid:
        """The grid of a (rows, cols) array whose centre is `origin` = (lat, lon)."""
        cell_m = require_positive("cell_m", cell_m)
        rows, cols = shape
        lat, lon = require_latlon(*origin)
        return cls(Area(lat, lon, cols * cell_m, rows * cell_m), cell_m, rows, cols)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.cols

    @property
    def covered(self) -> Area:
        """The area that the cells cover, which may be a little more or less than the one asked for."""
        return replace(self.area, width_m=self.cols * self.cell_m, height_m=self.rows * self.cell_m)

    @property
    def extent(self) -> str:
        """The map in words: its sides, the side of a cell, and its middle."""
        width, height = (side * self.cell_m / 1000 for side in (self.cols, self.rows))
        lat, lon = self.area.middle
        return f"{width:g} x {height:g} km of {self.cell_m:g} m cells around {lat:.4f}, {lon:.4f}"

    def part(self, row: int, col: int, row_end: int, col_end: int) -> Grid:
        """The cells row <= r < row_end, col <= c < col_end, in the projection of the whole."""
        rows, cols = row_end - row, col_end - col
        east = self.area.east_m + ((col + col_end) - self.cols) / 2 * self.cell_m
        north = self.area.north_m + ((row + row_end) - self.rows) / 2 * self.cell_m
        area = Area(self.area.lat, self.area.lon, cols * self.cell_m, rows * self.cell_m, east, north)
        return Grid(area, self.cell_m, rows, cols)

    def xy_to_cell(self, x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Any, Any]:
        """(row, col) of points in metres; rows or columns out of range, or -1 where the point is nowhere, lie
        outside."""
        with np.errstate(invalid="ignore"):
            col = np.floor(np.asarray(x) / self.cell_m + self.cols / 2)
            row = np.floor(np.asarray(y) / self.cell_m + self.rows / 2)
        inside = (row >= 0) & (row < self.rows) & (col >= 0) & (col < self.cols)  # what is not a number is not
        return np.where(inside, row, -1).astype(np.int64), np.where(inside, col, -1).astype(np.int64)

    def latlon_to_cell(self, lat: npt.ArrayLike, lon: npt.ArrayLike) -> tuple[Any, Any]:
        """(row, col) of places; (-1, -1) outside the grid."""
        return self.xy_to_cell(*self.area.to_xy(lat, lon))

    def cell_to_xy(self, row: npt.ArrayLike, col: npt.ArrayLike) -> tuple[Any, Any]:
        """Metres of the centres of cells."""
        x = (np.asarray(col) + 0.5 - self.cols / 2) * self.cell_m
        y = (np.asarray(row) + 0.5 - self.rows / 2) * self.cell_m
        return x, y

    def cell_to_latlon(self, row: npt.ArrayLike, col: npt.ArrayLike) -> tuple[Any, Any]:
        """Degrees of the centres of cells."""
        return self.area.to_latlon(*self.cell_to_xy(row, col))

    def locate(self, lat: float, lon: float) -> tuple[int, int]:
        """The cell of one place, or an `OutsideError` that does not repeat the place."""
        row, col = self.latlon_to_cell(*require_latlon(lat, lon))
        if row < 0:
            raise OutsideError(
                f"the place is outside the map, which is {self.cols * self.cell_m / 1000:g} x "
                f"{self.rows * self.cell_m / 1000:g} km around {self.area.middle[0]:.5f}, {self.area.middle[1]:.5f}"
            )
        return int(row), int(col)

    def disc_size(self, radius_m: float) -> int:
        """Number of cells whose centre lies within `radius_m` of a cell's centre: |B_r| counted on the grid."""
        reach = int(radius_m / self.cell_m)
        k = np.arange(-reach, reach + 1)
        return int(np.count_nonzero(k[:, None] ** 2 + k[None, :] ** 2 <= (radius_m / self.cell_m) ** 2))
