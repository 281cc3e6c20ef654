# SPDX-License-Identifier: Apache-2.0
"""Adversaries beyond the paper: one who knows the user, and one who sees many reports from a home.

The first is an exact sum. Repeated reports are simulated with a named seed, since n of them have m^n
outcomes; results carry their standard error.

Home recovery is how soon many reports from one place give it away, and what fences and sticky reports change. The
candidates are all cells of a square, with the mass as prior (homes are where people are). A home without protection
beyond the metric leaks n d after n reports; one that keeps its first report leaks once; one inside a fence is never
told apart from the other cells of the fence, however many reports are seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import FloatArray, IntArray
from ..errors import InputError, require_count
from ..fences import cells_to_shape
from ..metric import AnyMetric
from .baselines import laplace_channel
from .channel import Channel
from .elastic_channel import cells_in, distance_table, elastic_channel, reporting_channel
from .prior import Prior, metres_between
from .study_areas import StudyArea


class Acquaintance:
    """Reads a channel as adversaries do whose strategy comes from one user's own prior each; guesses are the user's
    places, and one with a single place has nothing left to hide: error 0. `max_users` takes an even sample of them.

    `places` of each user, and what was found: errors `binary` and `euclidean_m`.
    """

    def __init__(self, channel: Channel, prior: Prior, *, max_users: int | None = None) -> None:
        size = prior.n_users if max_users is None else min(max_users, prior.n_users)
        chosen = np.linspace(0, prior.n_users - 1, size).round().astype(np.int64)
        self._rows = channel.row_of_place
        self._users = [_user(prior, int(u)) for u in chosen]
        self.places = np.diff(prior.users.indptr)[chosen].astype(np.int64)
        self.binary, self.euclidean_m = np.where(self.places > 1, 1.0, 0.0), np.zeros(size)

    def add(self, part: slice, block: FloatArray) -> None:
        for k, (places, weights, loss) in enumerate(self._users):
            if len(places) > 1:
                joint = weights[:, None] * block[self._rows[places]]
                self.binary[k] -= joint.max(axis=0).sum()
                self.euclidean_m[k] += (loss @ joint).min(axis=0).sum()

    def several(self) -> dict[str, Any]:
        """The errors of users with several places, as plain data."""
        several = self.places > 1
        return {
            "users": len(several),
            "users_with_one_place": int(np.sum(~several)),
            "binary_per_user": np.maximum(self.binary[several], 0),
            "euclidean_per_user_m": self.euclidean_m[several],
        }


def _user(prior: Prior, u: int) -> tuple[IntArray, FloatArray, FloatArray]:
    part = slice(prior.users.indptr[u], prior.users.indptr[u + 1])
    places = prior.users.indices[part].astype(np.int64)
    return places, np.asarray(prior.users.data[part]), metres_between(prior.xy[places], prior.xy[places])


def repeated_reports(
    channel: Channel, prior: Prior, homes: IntArray, *, n: Sequence[int] = (1, 2, 5, 10, 20, 50, 100), runs: int = 20,
    seed: int = 0, sticky: bool = False,
) -> dict[str, list[float]]:  # fmt: skip
    """Home recovery: the user sits at one place and reports n times; the adversary multiplies the likelihoods.

    `homes`: places to try, `runs` times each. `sticky`: the first report is kept and repeated, so the adversary never
    learns more than from one. Candidates are all places of the prior, with their global prior.

    Against each number of reports `n`: chance that the most likely place is the true one (`recovered`), and metres of
    two guesses, the most likely place (`bayes_m`) and the mean of the reports (`average_m`, the averaging attack).
    `stderr_*`: standard errors of the simulation.
    """
    require_count("runs", runs)
    counts = tuple(sorted({require_count("n", k) for k in n}))
    if len(homes) == 0 or np.min(homes) < 0 or np.max(homes) >= prior.n_places:
        raise InputError(f"'homes' must be indices of places, 0 to {prior.n_places - 1}")
    rng = np.random.default_rng(seed)
    rows = channel.row(channel.row_of_place[homes])
    drawn = 1 if sticky else counts[-1]
    draws = [rng.choice(row.size, size=(runs, drawn), p=row / row.sum()) for row in rows]
    columns, at = np.unique(np.array(draws), return_inverse=True)
    logs = _log_columns(channel, columns)
    at = at.reshape(len(homes), runs, drawn)
    results = np.array(
        [
            _attack(channel, prior, logs[:, at[h, r]], _reported(channel, columns[at[h, r]], rng), int(home), counts)
            for h, home in enumerate(homes)
            for r in range(runs)
        ]
    )
    mean, error = results.mean(axis=0), results.std(axis=0, ddof=1) / np.sqrt(len(results))
    found = {"recovered": mean[0], "bayes_m": mean[1], "average_m": mean[2]}
    found |= {"stderr_recovered": error[0], "stderr_average_m": error[2]}
    return {"n": list(counts)} | {name: values.tolist() for name, values in found.items()}


def _log_columns(channel: Channel, columns: IntArray) -> FloatArray:
    """ln K of a few outputs, for every input; `columns` in ascending order."""
    parts = []
    with np.errstate(divide="ignore"):
        for part, block in channel.blocks():
            low, high = np.searchsorted(columns, [part.start, part.stop])
            parts.append(np.log(block[:, columns[low:high] - part.start]))
    return np.concatenate(parts, axis=1)


def _attack(
    channel: Channel, prior: Prior, logs: FloatArray, reported: FloatArray, home: int, counts: tuple[int, ...]
) -> FloatArray:
    """One run: (recovered, metres of the most likely place, metres of the mean report) for each number of reports."""
    log_likelihood = np.cumsum(logs, axis=1)
    result = np.empty((3, len(counts)))
    for k, count in enumerate(counts):
        used = min(count, len(reported))  # a sticky report is one report, however often it is seen
        score = np.log(prior.weights) + log_likelihood[channel.row_of_place, used - 1]
        best = np.flatnonzero(score >= score.max() - 1e-9)
        guess_m = np.hypot(*(prior.xy[best] - prior.xy[home]).T).mean()
        mean_m = np.hypot(*(reported[:used].mean(axis=0) - prior.xy[home]))
        result[:, k] = (home in best) / len(best), guess_m, mean_m
    return result


def _reported(channel: Channel, draws: IntArray, rng: np.random.Generator) -> FloatArray:
    """Points: a cell drawn evenly inside each output."""
    side = channel.outputs.side[draws]
    offset = (rng.integers(0, side[:, None], size=(len(draws), 2)) + 0.5 - side[:, None] / 2) * channel.outputs.cell_m
    return channel.outputs.xy[draws] + offset


#: an irregular fence of 15 cells that holds the home off its centre: rows and columns from the home
_FENCE = (
    (-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 0), (0, 1), (0, 2), (1, -2), (1, -1), (1, 0), (1, 1), (2, -1), (2, 0),
    (2, 1), (3, 0),
)  # fmt: skip


def home_prior(metric: AnyMetric, area: StudyArea) -> Prior:
    """Every cell of the area as a candidate, weighted by its share of the mass."""
    cells = cells_in(metric, area)
    if not len(cells):
        raise InputError(f"the area '{area.name}' must lie on the map")
    owner = metric.locations.owner.ravel()[cells]
    mass = metric.mass[owner] / metric.locations.area_cells[owner]
    xy = np.column_stack(metric.grid.cell_to_xy(*np.divmod(cells, metric.grid.cols)))
    info = {"places": len(cells), "places_by": "cell", "area": area.name}
    return Prior(xy, cells, mass / mass.sum(), sparse.csr_array((0, len(cells))), info)


def home_recovery(
    metric: AnyMetric, area: StudyArea, *, homes: int = 12, n: Sequence[int] = (1, 2, 5, 10, 20, 50, 100),
    runs: int = 10, epsilon: float | None = None, seed: int = 0, workers: int = 2,
) -> dict[str, Any]:  # fmt: skip
    """Recovery against the number of reports: elastic, sticky, fenced, and planar Laplace at `epsilon` if given."""
    prior = home_prior(metric, area)
    chosen = draw_homes(metric, prior, require_count("homes", homes), np.random.default_rng(seed))
    channel = reporting_channel(metric, prior, workers=workers)
    options: dict[str, Any] = {"n": n, "runs": runs, "seed": seed}
    found = {
        "elastic": repeated_reports(channel, prior, chosen, **options),
        "elastic, sticky": repeated_reports(channel, prior, chosen, sticky=True, **options),
    }
    fenced = metric.with_fences(
        [home_fence(metric, int(prior.cell[h])) for h in chosen], sharpen=False, workers=workers
    )
    # fences split leaves into cells, so the candidates are looked up again; inside a fence reports are even over it,
    # sharpened or not
    channel = elastic_channel(distance_table(fenced, prior, workers=workers))
    found["elastic, home in a fence"] = repeated_reports(channel, prior, chosen, **options)
    if epsilon is not None:
        channel = laplace_channel(prior, metric.grid, epsilon)
        found["planar Laplace"] = repeated_reports(channel, prior, chosen, **options)
    return {
        "homes": len(chosen), "runs": runs, "seed": seed, "candidates": prior.n_places, "fence_cells": len(_FENCE),
        "results": found,
    }  # fmt: skip


def draw_homes(metric: AnyMetric, prior: Prior, count: int, rng: np.random.Generator) -> IntArray:
    """Homes drawn by mass, far enough apart that their fences do not touch, and inside the frame."""
    secret = metric.secret[metric.locations.owner.ravel()[prior.cell]]
    chosen: list[int] = []
    row, col = np.divmod(prior.cell, metric.grid.cols)
    for home in rng.choice(prior.n_places, size=prior.n_places, replace=False, p=prior.weights):
        apart = [max(abs(row[home] - row[h]), abs(col[home] - col[h])) > 8 for h in chosen]
        if secret[home] and all(apart):
            chosen.append(int(home))
        if len(chosen) == count:
            break
    if not chosen:
        raise InputError("no home lies inside the frame; choose an area further from the map's edge")
    return np.array(chosen, dtype=np.int64)


def home_fence(metric: AnyMetric, cell: int) -> Any:
    row, col = divmod(cell, metric.grid.cols)
    mask = np.zeros(metric.grid.shape, dtype=bool)
    for dr, dc in _FENCE:
        mask[row + dr, col + dc] = True
    return cells_to_shape(metric.grid, mask)
