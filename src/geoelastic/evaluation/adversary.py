# SPDX-License-Identifier: Apache-2.0
"""The Bayesian adversary of Shokri et al.: the strategy h* that is best on average, and how much it errs.

AdvError(K, pi, h, d) = sum over x, z of pi(x) K(x)(z) d(x, h(z)), and h* minimises it: for each output z it picks the
guess h with the least sum_x pi(x) K(x)(z) d(x, h). Everything is an exact sum over the finite sets, blocks of outputs
at a time. As in the paper h* comes from the global prior, and the error is averaged over each user's own prior; the
results are errors *per place*, from which any average follows (`Prior.per_user`).

Guesses are places. With the binary loss, and several places in one cell or leaf, no output tells them apart: the best
guess is the place with the largest prior there, any of them when k are equal (so the right leaf still errs with
1 - 1/k).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.spatial import KDTree

from .. import _kernels as kernels
from ..arrays import FloatArray, IntArray
from ..errors import InputError
from .channel import Channel, read
from .prior import Prior, metres_between

#: neighbours, whom no report should tell apart
_NEAR_M = 300
#: sides of the squares by which guesses are ruled out together, one after the other: a hundred groups in a city, then
#: parts of those that are left
_GROUPS_M = (1000.0, 300.0)
#: what rounding to 32 bits may make of a sum, many times over
_ROUNDING = 1e-3
#: an output this likely loses nothing that matters in 32 bits, which hold 1e-38
_TINY = 1e-28


@dataclass(frozen=True, eq=False)
class AdversaryError:
    """`per_place`: the expected loss when the secret is that place; `overall`: under the global prior.

    `strategy`: for each output the index of the guess: a place (or what else may be guessed) for `euclidean_error` and
    `loss_error`; for `binary_error` the channel's input whose best place is guessed.
    """

    per_place: FloatArray
    overall: float
    strategy: IntArray


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


def binary_error(channel: Channel, prior: Prior, *, among: FloatArray | None = None) -> AdversaryError:
    """Probability of not guessing the very place, with the optimal strategy.

    `among`: so many things are at each place, and the right place still errs with 1 - 1/among.
    """
    return read(channel, ChannelSurvey(channel, prior, among=among, worst=False)).binary()


def worst_case(channel: Channel, prior: Prior) -> WorstCase:
    """Worst cases and entropy of a channel, by exact sums over its outputs."""
    return read(channel, ChannelSurvey(channel, prior)).worst()


class ChannelSurvey:
    """Reads a channel for all that needs no distance: guesses of the very place, worst cases, entropy."""

    def __init__(
        self, channel: Channel, prior: Prior, *, among: FloatArray | None = None, worst: bool = True
    ) -> None:  # fmt: skip
        self._channel, self._prior = channel, prior
        self._among = np.ones(prior.n_places) if among is None else among
        self._best, self._share = _favourites(channel, prior.weights / self._among)
        chance = np.bincount(channel.row_of_place, weights=prior.weights, minlength=channel.n_inputs)
        self._chance: FloatArray = chance.astype(np.float64)
        self._pairs = _near_pairs(channel, prior) if worst else None
        self._strategy = np.zeros(channel.outputs.n, dtype=np.int64)
        self._hit = np.zeros(channel.n_inputs)
        self._hidden, self._lucky, self._excluded, self._loss = 0.0, 1.0, 0.0, 0.0

    def add(self, part: slice, block: FloatArray) -> None:
        block = np.ascontiguousarray(block)
        n, m = block.shape
        guess, luck, total, never = np.zeros(m, np.int64), np.zeros(m), np.zeros(m), np.zeros(m, np.int64)
        with np.errstate(divide="ignore"):
            logs = np.log(block) if self._pairs is not None else block
        hidden = kernels.survey(block, logs, self._chance, self._best, guess, luck, total, never)
        self._strategy[part] = guess
        self._hit += np.bincount(guess, weights=block[guess, np.arange(m)], minlength=n)
        if self._pairs is None:
            return
        possible = total > 0
        self._hidden += (hidden + float(np.sum(total[possible] * np.log(total[possible])))) / math.log(2)
        if possible.any():
            self._lucky = min(self._lucky, float((1 - luck[possible] / total[possible]).min()))
            self._excluded += float(never[possible].sum()) / n
        self._loss = max(self._loss, float(kernels.largest_difference(logs, self._pairs)))

    def binary(self) -> AdversaryError:
        per_place = 1 - self._share / self._among * self._hit[self._channel.row_of_place]
        return AdversaryError(per_place, float(self._prior.weights @ per_place), self._strategy)

    def worst(self) -> WorstCase:
        # entropy of the place = entropy of the input, plus that of the place inside it, which no report touches
        inside = _bits(self._prior.weights) - _bits(self._chance)
        return WorstCase(
            float(self.binary().per_place.min()), max(self._lucky, 0.0), self._hidden + inside,
            _bits(self._prior.weights), self._excluded / max(self._channel.outputs.n, 1), self._loss, _NEAR_M,
        )  # fmt: skip


def _bits(p: FloatArray) -> float:
    """- sum p log2 p; all are > 0."""
    return float(-np.sum(p * np.log2(p)))


def _near_pairs(channel: Channel, prior: Prior) -> IntArray:
    """Inputs that hold places within `_NEAR_M` of each other."""
    pairs = KDTree(prior.xy).query_pairs(_NEAR_M, output_type="ndarray")
    rows = channel.row_of_place[pairs]
    return np.unique(np.sort(rows[rows[:, 0] != rows[:, 1]], axis=1), axis=0)


def _favourites(channel: Channel, value: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each input the largest value of its places; for each place its chance to be the one guessed there."""
    rows = channel.row_of_place
    best = np.zeros(channel.n_inputs)
    np.maximum.at(best, rows, value)
    is_best = value >= best[rows] * (1 - 1e-12)  # equal counts divided by the same total may differ in a bit
    ties = np.bincount(rows, weights=is_best, minlength=channel.n_inputs)
    return best, np.where(is_best, 1 / ties[rows], 0.0)


def euclidean_error(channel: Channel, prior: Prior, *, guesses: FloatArray | None = None) -> AdversaryError:
    """Expected metres between the place and the guess, with the optimal strategy among places, or among `guesses`."""
    return read(channel, Guesser(channel, prior, guesses=guesses)).error()


def loss_error(channel: Channel, prior: Prior, loss: FloatArray) -> AdversaryError:
    """Expected loss for any table of losses (places, guesses), with the optimal strategy.

    The cost of every guess at every output is one matrix product: (outputs, inputs) by (inputs, guesses).
    """
    if loss.ndim != 2 or loss.shape[0] != prior.n_places or not np.all(np.isfinite(loss)):
        raise InputError(f"'loss' must be a finite table with {prior.n_places} rows, got shape {loss.shape}")
    return read(channel, Guesser(channel, prior, loss=loss)).error()


class Guesser:
    """Reads a channel as the adversary does who wants the least expected loss: metres, or those of a table."""

    def __init__(
        self, channel: Channel, prior: Prior, *, guesses: FloatArray | None = None, loss: FloatArray | None = None
    ) -> None:
        self._channel, self._prior = channel, prior
        at = prior.xy if guesses is None else guesses
        apart = metres_between(prior.xy, at) if loss is None else loss
        self._loss = apart
        self._near = [_neighbourhoods(channel, prior, at, side) for side in _GROUPS_M] if loss is None else []
        self._cost = np.asarray(_membership(channel, prior) @ apart)
        self._strategy = np.zeros(channel.outputs.n, dtype=np.int64)
        self._guessed = np.zeros((channel.n_inputs, apart.shape[1]))

    def add(self, part: slice, block: FloatArray) -> None:
        top = block.max(axis=0)
        possible = np.flatnonzero(top)  # for a report that nobody makes any guess will do
        if not len(possible):
            return
        block = block if len(possible) == block.shape[1] else block[:, possible]
        likely = _likely(block, top[possible], self._near, self._loss.shape[1])
        guess = likely[np.argmin(block.T @ self._cost[:, likely], axis=1)]
        self._strategy[part.start + possible] = guess
        used, column = np.unique(guess, return_inverse=True)
        choice = np.zeros((len(guess), len(used)))
        choice[np.arange(len(guess)), column] = 1
        self._guessed[:, used] += block @ choice

    def error(self) -> AdversaryError:
        per_place = np.einsum("ph,ph->p", self._guessed[self._channel.row_of_place], self._loss)
        return AdversaryError(per_place, float(self._prior.weights @ per_place), self._strategy)


@dataclass(frozen=True, eq=False)
class _Neighbourhoods:
    """Guesses grouped by squares: `group` of each, one member of each group, its distance to the farthest.

    `slopes` (inputs, 3 x groups), 32 bits: by input the expected distance of each member, and how it grows when the
    member moves east and north.
    """

    group: IntArray
    radius_m: FloatArray
    slopes: npt.NDArray[np.float32]


def _neighbourhoods(channel: Channel, prior: Prior, xy: FloatArray, side_m: float) -> _Neighbourhoods:
    square = np.floor(xy / side_m)
    off_centre = np.hypot(*(xy - (square + 0.5) * side_m).T)
    inwards = np.argsort(off_centre, kind="stable")  # the member of a group is its place nearest to the middle
    _, first, back = np.unique(square[inwards], axis=0, return_index=True, return_inverse=True)
    member, group = inwards[first], np.empty(len(xy), dtype=np.int64)
    group[inwards] = back.ravel()
    radius = np.zeros(len(member))
    np.maximum.at(radius, group, np.hypot(*(xy - xy[member[group]]).T))
    dx, dy = (xy[member][None, :, k] - prior.xy[:, None, k] for k in (0, 1))
    away = np.hypot(dx, dy)
    unit = np.where(away > 0, away, np.inf)  # at the place itself 0 is a slope of the distance as good as any
    slopes = _membership(channel, prior) @ np.hstack([away, dx / unit, dy / unit])
    return _Neighbourhoods(group, radius, np.asarray(slopes, dtype=np.float32))


def _likely(block: FloatArray, top: FloatArray, near: Sequence[_Neighbourhoods], guesses: int) -> IntArray:
    """Guesses that can be optimal for some output of the block; `top` is the largest probability of each output.

    The expected distance of a guess is convex in where it is: r metres from a member it is at least the member's less
    r times its slope there. A group in which that is more than the best member's holds no optimal guess. Nothing is
    lost: what 32 bits cannot tell counts as possible.
    """
    likely = np.arange(guesses)
    if not near:
        return likely
    # a factor changes no guess: where probabilities would vanish in 32 bits, they are brought to at most 1
    scaled = (block if top.min() > _TINY else block / top).astype(np.float32).T
    for groups in near:
        open_ = np.unique(groups.group[likely])
        k, count = len(open_), groups.slopes.shape[1] // 3
        found = scaled @ groups.slopes[:, np.concatenate([open_, open_ + count, open_ + 2 * count])]
        at_member, slope = found[:, :k], np.hypot(found[:, k : 2 * k], found[:, 2 * k :])
        least = at_member - slope * groups.radius_m[open_].astype(np.float32)
        best = at_member.min(axis=1) * (1 + _ROUNDING)
        kept = np.zeros(count, dtype=bool)
        kept[open_[np.any(least - _ROUNDING * at_member <= best[:, None], axis=0)]] = True
        likely = likely[kept[groups.group[likely]]]
    return likely


def _membership(channel: Channel, prior: Prior) -> Any:
    """(inputs, places): the prior of each place, in the row of its input."""
    if len(channel.row_of_place) != prior.n_places:
        raise InputError(f"the channel must know {prior.n_places} places, it knows {len(channel.row_of_place)}")
    entries = (prior.weights, (channel.row_of_place, np.arange(prior.n_places)))
    return sparse.csr_array(entries, shape=(channel.n_inputs, prior.n_places))
