# SPDX-License-Identifier: Apache-2.0
"""How near estimates from reports come to how people really were spread, against all that they must be compared with.

People are estimated once, over squares of half a kilometre in the middle and of a kilometre around it, and added up to
zones of every size. Two ways to measure are side by side, because they differ by a factor of two:

* *square*: the square of 20 km around the middle, in zones counted from its corner; how those who are in it are spread;
* *all*: the square of 40 km, in zones counted from the middle, with elsewhere as one more zone. Airports lie in it,
  where a map has little mass and reports go far.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..locations import Grid
from ..reports.protocols import Mechanism
from ..statistics.atoms import Atoms
from ..statistics.information import covariance_of, grouped, information_of, sums
from ..statistics.maximum import expectation_maximisation
from ..statistics.model import report_model
from ..statistics.zones import Zones

SIZES_M = (500, 1000, 2000, 4000)
#: Ways to measure, with the sizes of zones that each has.
WAYS = {"square": SIZES_M, "all": SIZES_M[1:]}
_INNER_M, _OUTER_M = 10_000, 20_000
#: Zones for which a bound is computed at the most.
_BOUND_ZONES = 1500


@dataclass(frozen=True, eq=False)
class Squares:
    """Small zones, and which larger one each belongs to, by way and size: -1 where a way does not look, elsewhere
    last."""

    zones: Zones
    larger: dict[tuple[str, int], IntArray]

    def locate(self, lat: FloatArray, lon: FloatArray) -> IntArray:
        """The small zone of each place; elsewhere is the last."""
        zone = self.zones.locate(lat, lon)
        return np.where(zone < 0, self.zones.n, zone)

    def shares(self, way: str, size: int, small: FloatArray) -> FloatArray:
        """Shares of larger zones, from those of small ones and elsewhere."""
        number = self.larger[way, size]
        held = sums(number[number >= 0], small[number >= 0], int(number.max()) + 1)
        return np.asarray(held / held.sum())

    def distance(self, way: str, size: int, one: FloatArray, other: FloatArray) -> float:
        """Total variation distance between two spreads over small zones and elsewhere."""
        return float(np.abs(self.shares(way, size, one) - self.shares(way, size, other)).sum() / 2)


def make_squares(grid: Grid) -> Squares:
    """Squares of half a kilometre, beyond 10 km of a kilometre, up to 20 km from the middle to each side."""
    x, y = grid.cell_to_xy(*np.indices(grid.shape))
    inner, outer = (np.maximum(np.abs(x), np.abs(y)) < half for half in (_INNER_M, _OUTER_M))
    code = np.where(inner, _number(x, y, 500), 10**9 + _number(x, y, 1000))[outer]
    label = np.full(grid.shape, -1, np.int32)
    label[outer] = np.unique(code, return_inverse=True)[1]
    count = int(label.max()) + 1
    zones = Zones(grid, label, tuple(map(str, range(count))), (None,) * count)
    middle_x, middle_y = zones.xy.T
    near = np.maximum(np.abs(middle_x), np.abs(middle_y)) < _INNER_M
    larger = {}
    for size in WAYS["square"]:
        number = _number(middle_x + _INNER_M, middle_y + _INNER_M, size)
        larger["square", size] = np.append(np.where(near, _from_0(number, near), -1), -1)
    for size in WAYS["all"]:
        number = _from_0(_number(middle_x, middle_y, size), np.ones(count, bool))
        larger["all", size] = np.append(number, number.max() + 1)
    return Squares(zones, larger)


def _number(x: Any, y: Any, size: float) -> Any:
    return (np.floor(y / size).astype(np.int64) + 1000) * 4000 + np.floor(x / size).astype(np.int64) + 1000


def _from_0(number: IntArray, which: Any) -> IntArray:
    return np.searchsorted(np.unique(number[which]), number)


@dataclass(frozen=True, eq=False)
class Known:
    """What somebody could do who knows where people are inside each zone, and where nobody is."""

    squares: Squares
    mechanism: Mechanism
    lat: FloatArray
    lon: FloatArray

    @cached_property
    def _model(self) -> Any:
        """Rows of small zones with the people who are in them, each location its own report."""
        grid, zone = self.squares.zones.grid, self.squares.locate(self.lat, self.lon)
        row, col = grid.latlon_to_cell(self.lat, self.lon)
        size = np.int64(grid.rows * grid.cols)
        pairs, often = np.unique(zone * size + row * grid.cols + col, return_counts=True)
        held, atom = np.unique(pairs // size, return_inverse=True)
        people = sums(atom, often.astype(np.float64))
        atoms = Atoms(self.squares.zones, held, people / people.sum(), pairs % size, atom, often / people[atom])
        return report_model(self.mechanism, atoms)

    def _rows(self, way: str, size: int) -> tuple[FloatArray, FloatArray]:
        """Rows and true shares of the larger zones that somebody is in; all that a way does not look at is one."""
        number = self.squares.larger[way, size][self._model.atoms.zone]
        return grouped(self._model.matrix, self._model.atoms.prior, np.unique(number, return_inverse=True)[1])

    def best_stop(self, way: str, size: int, reports: tuple[FloatArray, FloatArray], *, most: int = 300) -> float:
        """The least distance on the way of maximisation from even shares, where only the truth says to stop."""
        rows, truth = self._rows(way, size)
        seen, often = np.unique(self._model.outputs(*reports), return_counts=True)
        rows, counts = np.ascontiguousarray(rows[:, seen]), often.astype(np.float64)
        # whether the first row is of people whom a way does not look at
        outside = bool(np.any(self.squares.larger[way, size][self._model.atoms.zone] < 0))
        shares, best = np.full(truth.size, 1 / truth.size), np.inf
        for _ in range(most):
            shares = expectation_maximisation(rows, counts, shares)
            best = min(best, _distance(shares[outside:], truth[outside:]))
        return best

    def least_unbiased(self, way: str, size: int, people: int, *, inside: int | None = None) -> float | None:
        """The mean distance to all these people of an estimate from the reports of `people` of them that no estimate
        undercuts which is unbiased whoever they are (Cramér and Rao), normal errors assumed; None where zones are too
        many to tell. `inside`: who estimates knows how people are spread inside zones of this size only, and adds up.

        An unbiased estimate less the true shares of those who report has the covariance of the estimate less that of
        these shares, since they are the efficient estimate of somebody who sees true places.
        """
        inner = inside or size
        rows, truth = self._rows(way, inner)
        if truth.size > _BOUND_ZONES:
            return None
        chance = np.diag(truth) - np.outer(truth, truth)
        blur = covariance_of(information_of(rows, truth), truth) - chance
        covariance = blur / people + chance * (1 / people - 1 / self.lat.size)
        number, first = np.unique(self.squares.larger[way, inner][self._model.atoms.zone], return_index=True)
        if number[0] < 0:  # people whom the way does not look at: the others are all there are
            looked_at = truth[1:].sum()
            part = (np.eye(truth.size - 1) - truth[1:, None] / looked_at) / looked_at
            covariance, first = part @ covariance[1:, 1:] @ part.T, first[1:]
        larger = self.squares.larger[way, size][self._model.atoms.zone[first]]
        added = (larger == np.unique(larger)[:, None]).astype(np.float64)
        variance = np.einsum("ki,ij,kj->k", added, covariance, added, optimize=True)
        # E|error| of a normal error is sqrt(2/pi) of its deviation
        return 0.5 * float(np.sqrt(2 / np.pi * np.maximum(variance, 0)).sum())


def _distance(one: FloatArray, other: FloatArray) -> float:
    return float(np.abs(one / one.sum() - other / other.sum()).sum() / 2)
