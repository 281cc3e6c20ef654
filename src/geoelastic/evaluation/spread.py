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

    def number(self, way: str, size: int) -> IntArray:
        """The larger zone of each small one; of size 0 it is its own."""
        if size:
            return self.larger[way, size]
        looked_at = next(number for (of, _), number in self.larger.items() if of == way) >= 0
        return np.where(looked_at, np.arange(looked_at.size), -1)

    def shares(self, way: str, size: int, small: FloatArray) -> FloatArray:
        """Shares of larger zones, from those of small ones and elsewhere."""
        number = self.number(way, size)
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
        number = self.squares.number(way, size)[self._model.atoms.zone]
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
        return _mean_distance(self._added(way, size, inner, truth), covariance)

    def least_of_any(self, way: str, people: int, guess: FloatArray) -> dict[int, float]:
        """By the size of zones, the mean distance to all these people that no estimate from the reports of `people` of
        them undercuts, biased or not, which knows no more than where nobody is and a guess as far off as `guess` (a
        spread over small zones and elsewhere), normal errors assumed; none where zones are too many to tell.

        It is a mean over truths around the guess (Bayes): the middle of what is likely after the reports is the best
        that can be said of each zone.
        """
        rows, truth = self._rows(way, 0)
        if truth.size > _BOUND_ZONES:
            return {}
        left = _left(rows, truth, people, self.lat.size, self._prior(way, truth, guess))
        sizes = (size for of, size in self.squares.larger if of == way)
        return {size: _mean_distance(self._added(way, size, 0, truth), left) for size in sizes}

    def _prior(self, way: str, truth: FloatArray, guess: FloatArray) -> FloatArray:
        """The covariance, for the small zones, of truths around a guess that is as far off as `guess` in zones of every
        size. From the largest zones down, each is off in proportion to its true share, with all that is in it, and the
        zones of one larger zone add up to nothing.

        Errors of small zones that know nothing of each other would have to be far larger than any guess's, since they
        cancel in larger zones: the guess's own do not.
        """
        covariance, around = np.zeros((truth.size, truth.size)), np.zeros(truth.size, np.int64)
        true = sums(self._model.atoms.zone, self._model.atoms.prior, guess.size)
        for size in [*sorted((size for of, size in self.squares.larger if of == way), reverse=True), 0]:
            zone = np.unique(self._larger(way, size, 0), return_inverse=True)[1]
            held, outer = sums(zone, truth), np.zeros(zone.max() + 1, np.int64)
            outer[zone] = around
            around = zone
            if outer.max() + 1 == outer.size:  # no larger zone is divided
                continue
            square = held**2
            free = np.diag(square) - np.outer(square, square / sums(outer, square)[outer]) * (outer == outer[:, None])
            inside = truth / held[zone]
            off = free[np.ix_(zone, zone)] * np.outer(inside, inside)
            far = self.squares.distance(way, size, guess, true)
            covariance += off * _part(self._added(way, size, 0, truth), covariance, off, far)
        return covariance

    def _added(self, way: str, size: int, inner: int, truth: FloatArray) -> FloatArray:
        """Errors of shares of larger zones from those of smaller ones: people whom a way looks at are all there are."""
        larger = self._larger(way, size, inner)
        looked_at = larger >= 0
        added = (larger == np.unique(larger[looked_at])[:, None]).astype(np.float64)
        part = truth[looked_at].sum()
        return np.asarray((added - np.outer(added @ truth / part, looked_at)) / part)

    def _larger(self, way: str, size: int, inner: int) -> IntArray:
        """The larger zone of each smaller one that somebody is in."""
        zone = self._model.atoms.zone
        first = np.unique(self.squares.number(way, inner)[zone], return_index=True)[1]
        return np.asarray(self.squares.number(way, size)[zone[first]])


def _left(rows: FloatArray, truth: FloatArray, people: int, of: int, prior: FloatArray) -> FloatArray:
    """The covariance of true shares of `of` people once `people` of them have reported."""
    root = np.sqrt(truth)
    # without the sum of all shares, of which nothing need be told; 1 would be places that are told for certain
    told, along = np.linalg.eigh(information_of(rows, truth) * np.outer(root, root) - np.outer(root, root))
    told = np.clip(told, 0, 1 - 1e-9)
    # the inverse of 1 / (told people) - 1 / of, as in `least_unbiased`
    information = (along * (people * told / (1 - told * people / of))) @ along.T
    prior = prior / np.outer(root, root)
    return np.asarray(np.linalg.solve(np.eye(truth.size) + prior @ information, prior) * np.outer(root, root))


def _part(added: FloatArray, covariance: FloatArray, off: FloatArray, far: float) -> float:
    """How much of the errors `off` it takes, besides those that there are, for a mean distance `far`."""
    from scipy.optimize import brentq

    def beyond(part: float) -> float:
        return _mean_distance(added, covariance + part * off) - far

    return float(brentq(beyond, 0.0, 2 * (far / _mean_distance(added, off)) ** 2)) if beyond(0.0) < 0 else 0.0


def _mean_distance(added: FloatArray, covariance: FloatArray) -> float:
    """Of zones to which errors are added up, from their covariance."""
    variance = np.einsum("ki,ij,kj->k", added, covariance, added, optimize=True)
    # E|error| of a normal error is sqrt(2/pi) of its deviation
    return 0.5 * float(np.sqrt(2 / np.pi * np.maximum(variance, 0)).sum())


def _distance(one: FloatArray, other: FloatArray) -> float:
    return float(np.abs(one / one.sum() - other / other.sum()).sum() / 2)
