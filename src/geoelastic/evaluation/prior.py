# SPDX-License-Identifier: Apache-2.0
"""What an adversary knows beforehand: places (POIs) with the prior of the average user and of each user.

A place is one place id, put at the mean of its check-ins; without ids it is a cell with check-ins, put at their mean.
In the paper each visit counts once per user and place (see `areas`), so that is the default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import FloatArray, IntArray
from ..errors import InputError, require_able, require_choice
from ..locations import Grid
from ..sources.checkins import Checkins

COUNTING = ("visits", "checkins")


@dataclass(frozen=True, eq=False)
class Prior:
    """Places at `xy` metres in the plane of a grid, in `cell` (row-major cell of the grid).

    `weights`: the global prior, summing to 1. `users`: (users, places) sparse rows, each summing to 1; no rows where
    the check-ins do not say who made them.
    """

    xy: FloatArray
    cell: IntArray
    weights: FloatArray
    users: Any
    info: dict[str, Any]

    def __post_init__(self) -> None:
        if not (np.all(self.weights > 0) and abs(float(self.weights.sum()) - 1) < 1e-9):
            raise InputError("'weights' must be > 0 and sum to 1")
        for array in (self.xy, self.cell, self.weights):
            array.setflags(write=False)

    @property
    def n_places(self) -> int:
        return len(self.weights)

    @property
    def n_users(self) -> int:
        return int(self.users.shape[0])

    def per_user(self, loss: FloatArray) -> FloatArray:
        """A loss per place, averaged over each user's own prior."""
        return np.asarray(self.users @ loss, dtype=np.float64)


def metres_between(one: FloatArray, other: FloatArray) -> FloatArray:
    """Distances (n, m) between places (n, 2) and places (m, 2)."""
    return np.hypot(one[:, None, 0] - other[None, :, 0], one[:, None, 1] - other[None, :, 1])


def prior_from_checkins(checkins: Checkins, grid: Grid, *, count: str = "visits", places: str = "auto") -> Prior:
    """Places and priors of check-ins, all of which must lie on the grid.

    `count`: "visits" counts each user at each place once, "checkins" counts every row. `places`: "id", "cell" or "auto"
    (ids where every row has one).
    """
    require_able("checkins", checkins, "has_places", "check-ins (ge.read_checkins reads them)")
    require_choice("count", count, COUNTING)
    require_choice("places", places, ("auto", "id", "cell"))
    if len(checkins) == 0:
        raise InputError("there must be at least one check-in in the area, got none")
    by_id = checkins.has_places if places == "auto" else places == "id"
    if by_id and not checkins.has_places:
        raise InputError("places by id need a place in every check-in; use places='cell'")
    x, y = grid.area.to_xy(checkins.lat, checkins.lon)
    row, col = grid.xy_to_cell(x, y)
    if np.any(row < 0):
        raise InputError(f"the check-ins must lie on the map, {int(np.sum(row < 0))} of {len(row)} do not")
    key = checkins.place if by_id else row * grid.cols + col
    place, xy = _places(key, np.column_stack([x, y]))
    user, place_of = _events(checkins, place, count)
    cell_row, cell_col = grid.xy_to_cell(xy[:, 0], xy[:, 1])
    weights = np.bincount(place_of, minlength=len(xy)) / len(place_of)
    users = _user_rows(user, place_of, len(xy))
    info = {
        "checkins": len(checkins),
        "events": len(place_of),
        "places": len(xy),
        "users": int(users.shape[0]),
        "counting": count if checkins.has_users else "checkins",
        "places_by": "id" if by_id else "cell",
        "file": checkins.info.get("file"),
    }
    return Prior(xy, cell_row * grid.cols + cell_col, weights, users, info)


def _places(key: IntArray, xy: FloatArray) -> tuple[IntArray, FloatArray]:
    """Index of each row's place, and the mean position of each place."""
    _, place = np.unique(key, return_inverse=True)
    n = np.bincount(place)
    mean = np.column_stack([np.bincount(place, weights=xy[:, k]) / n for k in (0, 1)])
    return place, mean


def _events(checkins: Checkins, place: IntArray, count: str) -> tuple[IntArray, IntArray]:
    """(user, place) of what counts as one event; user -1 where nobody is named."""
    if not checkins.has_users:
        return np.full(len(place), -1), place
    pairs = np.column_stack([checkins.user, place])
    if count == "visits":
        pairs = np.unique(pairs, axis=0)
    return pairs[:, 0], pairs[:, 1]


def _user_rows(user: IntArray, place: IntArray, n_places: int) -> Any:
    if np.all(user < 0):
        return sparse.csr_array((0, n_places))
    ids, rows = np.unique(user, return_inverse=True)
    counts = sparse.csr_array((np.ones(len(rows)), (rows, place)), shape=(len(ids), n_places))
    counts.sum_duplicates()
    return sparse.csr_array(sparse.diags_array(1 / counts.sum(axis=1)) @ counts)
