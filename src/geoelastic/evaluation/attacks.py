# SPDX-License-Identifier: Apache-2.0
"""Adversaries beyond the paper: one who knows the user, and one who sees many reports.

The first is an exact sum. Repeated reports are simulated with a named seed, since n of them have m^n
outcomes; results carry their standard error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import InputError, require_count
from .channel import Channel, read
from .prior import Prior

__all__ = [
    "Acquaintance", "OwnPriorError", "RepeatedReports", "outcome_rows", "own_prior_error", "repeated_reports",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class OwnPriorError:
    """Error per user of an adversary whose strategy comes from that user's own prior; guesses are the user's places."""

    binary: FloatArray
    euclidean_m: FloatArray
    places: IntArray


def own_prior_error(channel: Channel, prior: Prior, *, max_users: int | None = None) -> OwnPriorError:
    """The adversary knows the user's own habits. A user with one place has nothing left to hide: error 0.

    `max_users` takes an even sample of the users, for a quick look.
    """
    found = Acquaintance(channel, prior, max_users=max_users)
    read(channel, found)
    return found.error()


class Acquaintance:
    """Reads a channel as adversaries do who know one user's habits each."""

    def __init__(self, channel: Channel, prior: Prior, *, max_users: int | None = None) -> None:
        size = prior.n_users if max_users is None else min(max_users, prior.n_users)
        chosen = np.linspace(0, prior.n_users - 1, size).round().astype(np.int64)
        self._rows = channel.row_of_place
        self._users = [_user(prior, int(u)) for u in chosen]
        self._places = np.diff(prior.users.indptr)[chosen].astype(np.int64)
        self._binary, self._metres = np.where(self._places > 1, 1.0, 0.0), np.zeros(size)

    def add(self, part: slice, block: FloatArray) -> None:
        for k, (places, weights, loss) in enumerate(self._users):
            if len(places) > 1:
                joint = weights[:, None] * block[self._rows[places]]
                self._binary[k] -= joint.max(axis=0).sum()
                self._metres[k] += (loss @ joint).min(axis=0).sum()

    def error(self) -> OwnPriorError:
        return OwnPriorError(np.maximum(self._binary, 0), self._metres, self._places)


def _user(prior: Prior, u: int) -> tuple[IntArray, FloatArray, FloatArray]:
    part = slice(prior.users.indptr[u], prior.users.indptr[u + 1])
    places = prior.users.indices[part].astype(np.int64)
    xy = prior.xy[places]
    loss = np.hypot(xy[:, None, 0] - xy[None, :, 0], xy[:, None, 1] - xy[None, :, 1])
    return places, np.asarray(prior.users.data[part]), loss


@dataclass(frozen=True, eq=False)
class RepeatedReports:
    """Against the number of reports `n`: chance that the most likely place is the true one, and metres of two guesses.

    `bayes_m`: the most likely place's distance from the true one; `average_m`: the mean of the reports' (the averaging
    attack). `stderr_*`: standard errors of the simulation.
    """

    n: tuple[int, ...]
    recovered: FloatArray
    bayes_m: FloatArray
    average_m: FloatArray
    stderr_recovered: FloatArray
    stderr_average_m: FloatArray


def repeated_reports(
    channel: Channel, prior: Prior, homes: IntArray, *, n: Sequence[int] = (1, 2, 5, 10, 20, 50, 100), runs: int = 20,
    seed: int = 0, sticky: bool = False,
) -> RepeatedReports:  # fmt: skip
    """Home recovery: the user sits at one place and reports n times; the adversary multiplies the likelihoods.

    `homes`: places to try, `runs` times each. `sticky`: the first report is kept and repeated, so the adversary never
    learns more than from one. Candidates are all places of the prior, with their global prior.
    """
    require_count("runs", runs)
    counts = tuple(sorted({require_count("n", k) for k in n}))
    if len(homes) == 0 or np.min(homes) < 0 or np.max(homes) >= prior.n_places:
        raise InputError(f"'homes' must be indices of places, 0 to {prior.n_places - 1}")
    rng = np.random.default_rng(seed)
    rows = outcome_rows(channel, channel.row_of_place[homes])
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
    return RepeatedReports(counts, mean[0], mean[1], mean[2], error[0], error[2])


def outcome_rows(channel: Channel, rows: IntArray) -> FloatArray:
    """The whole rows of a few inputs."""
    return np.concatenate([block[rows] for _, block in channel.blocks()], axis=1)


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
    points: FloatArray = channel.outputs.xy[draws] + offset
    return points
