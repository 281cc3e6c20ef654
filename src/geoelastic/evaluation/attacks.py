# SPDX-License-Identifier: Apache-2.0
"""Adversaries beyond the paper: one who knows the user, one who is lucky, and one who sees many reports.

All but the repeated reports are exact sums. Repeated reports are simulated with a named seed, since n of them have m^n
outcomes; results carry their standard error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .. import _kernels as kernels
from ..arrays import FloatArray, IntArray
from ..errors import InputError, require_count
from .channel import BLOCK, Channel
from .prior import Prior

__all__ = [
    "OwnPriorError",
    "RepeatedReports",
    "WorstCase",
    "outcome_rows",
    "own_prior_error",
    "repeated_reports",
    "worst_case",
]


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
    counts = np.diff(prior.users.indptr)
    size = prior.n_users if max_users is None else min(max_users, prior.n_users)
    chosen = np.linspace(0, prior.n_users - 1, size).round().astype(np.int64)
    binary, metres = np.ones(len(chosen)), np.zeros(len(chosen))
    users = [_user(prior, int(u)) for u in chosen]
    for _, block in channel.blocks(8 * BLOCK):
        for k, (places, weights, loss) in enumerate(users):
            if len(places) == 1:
                continue
            joint = weights[:, None] * block[channel.row_of_place[places]]
            binary[k] -= joint.max(axis=0).sum()
            metres[k] += (loss @ joint).min(axis=0).sum()
    binary[counts[chosen] == 1] = 0
    return OwnPriorError(np.maximum(binary, 0), metres, counts[chosen].astype(np.int64))


def _user(prior: Prior, u: int) -> tuple[IntArray, FloatArray, FloatArray]:
    part = slice(prior.users.indptr[u], prior.users.indptr[u + 1])
    places = prior.users.indices[part].astype(np.int64)
    xy = prior.xy[places]
    loss = np.hypot(xy[:, None, 0] - xy[None, :, 0], xy[:, None, 1] - xy[None, :, 1])
    return places, np.asarray(prior.users.data[part]), loss


@dataclass(frozen=True)
class WorstCase:
    """What an average hides.

    `least_error_place`: binary error of the least protected place under h*. `luckiest_report`: the smallest chance of
    a wrong guess after any report that can happen. `entropy_bits`, `prior_bits`: uncertainty about the place given the
    report, and before it. `excluded`: share of all (input, output) pairs in which the report can come from elsewhere
    but not from the input, so that it rules the input out for certain; 0 for a mechanism with a guarantee.
    `largest_loss`: largest ln K(x)(z)/K(x')(z) over the pairs of places within `near_m`; infinite where a report can
    tell two neighbours apart for certain.
    """

    least_error_place: float
    luckiest_report: float
    entropy_bits: float
    prior_bits: float
    excluded: float
    largest_loss: float
    near_m: float


def worst_case(channel: Channel, prior: Prior, *, per_place_binary: FloatArray, near_m: float = 300) -> WorstCase:
    """Worst cases and entropy of a channel, by exact sums over its outputs."""
    membership = sparse.csr_array(
        (prior.weights, (channel.row_of_place, np.arange(prior.n_places))), shape=(channel.n_inputs, prior.n_places)
    )
    of_input = np.asarray(membership.sum(axis=1))
    largest = np.asarray(membership.max(axis=1).todense()).ravel()
    # entropy of the place = entropy of the input, plus that of the place inside it, which no report touches
    inside = _plogp(prior.weights) - _plogp(of_input)
    pairs = _near_pairs(channel, prior, near_m)
    hidden, lucky, excluded, loss = 0.0, 1.0, 0.0, 0.0
    for _, block in channel.blocks():
        joint = block * of_input[:, None]
        total = joint.sum(axis=0)
        possible = total > 0
        hidden += _plogp(joint) - _plogp(total)
        best = (block * largest[:, None]).max(axis=0)
        if possible.any():
            lucky = min(lucky, float((1 - best[possible] / total[possible]).min()))
            excluded += float(np.sum(block[:, possible] == 0) / channel.n_inputs)
        loss = max(loss, _log_ratio(block, pairs))
    count = max(channel.outputs.n, 1)
    least = float(per_place_binary.min())
    return WorstCase(least, max(lucky, 0.0), hidden + inside, _plogp(prior.weights), excluded / count, loss, near_m)


def _plogp(p: FloatArray) -> float:
    """- sum p log2 p over positive entries."""
    positive = p[p > 0]
    return float(-np.sum(positive * np.log2(positive)))


def _near_pairs(channel: Channel, prior: Prior, near_m: float) -> IntArray:
    from scipy.spatial import KDTree

    pairs = KDTree(prior.xy).query_pairs(near_m, output_type="ndarray")
    rows = channel.row_of_place[pairs]
    return np.unique(np.sort(rows[rows[:, 0] != rows[:, 1]], axis=1), axis=0)


def _log_ratio(block: FloatArray, pairs: IntArray) -> float:
    """Largest |ln| of the ratio of two rows over the given pairs of rows; 0 / 0 counts for nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(kernels.largest_difference(np.log(np.ascontiguousarray(block)), pairs))


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
