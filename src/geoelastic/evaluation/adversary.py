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

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import InputError
from ..levels import FloatArray, IntArray
from .channel import Channel
from .prior import Prior

__all__ = ["AdversaryError", "binary_error", "euclidean_error", "loss_error"]

#: side of the squares by which guesses are ruled out together: some hundred groups in a city
_GROUP_M = 300.0


@dataclass(frozen=True, eq=False)
class AdversaryError:
    """`per_place`: the expected loss when the secret is that place; `overall`: under the global prior.

    `strategy`: for each output the index of the guess: a place (or what else may be guessed) for `euclidean_error` and
    `loss_error`; for `binary_error` the channel's input whose best place is guessed.
    """

    per_place: FloatArray
    overall: float
    strategy: IntArray


def binary_error(channel: Channel, prior: Prior) -> AdversaryError:
    """Probability of not guessing the very place, with the optimal strategy."""
    best, share = _favourites(channel, prior)
    strategy = np.empty(channel.outputs.n, dtype=np.int64)
    hit = np.zeros(channel.n_inputs)
    for part, block in channel.blocks():
        guess = np.argmax(block * best[:, None], axis=0)
        strategy[part] = guess
        hit += np.bincount(guess, weights=block[guess, np.arange(len(guess))], minlength=channel.n_inputs)
    per_place = 1 - share * hit[channel.row_of_place]
    return AdversaryError(per_place, float(prior.weights @ per_place), strategy)


def _favourites(channel: Channel, prior: Prior) -> tuple[FloatArray, FloatArray]:
    """For each input the largest prior of its places; for each place its chance to be the one guessed there."""
    rows = channel.row_of_place
    best = np.zeros(channel.n_inputs)
    np.maximum.at(best, rows, prior.weights)
    is_best = prior.weights >= best[rows] * (1 - 1e-12)  # equal counts divided by the same total may differ in a bit
    ties = np.bincount(rows, weights=is_best, minlength=channel.n_inputs)
    return best, np.where(is_best, 1 / ties[rows], 0.0)


def euclidean_error(channel: Channel, prior: Prior, *, guesses: FloatArray | None = None) -> AdversaryError:
    """Expected metres between the place and the guess, with the optimal strategy among places, or among `guesses`."""
    at = prior.xy if guesses is None else guesses
    dx = prior.xy[:, None, 0] - at[None, :, 0]
    dy = prior.xy[:, None, 1] - at[None, :, 1]
    return _optimal(channel, prior, np.hypot(dx, dy), _neighbourhoods(at))


def loss_error(channel: Channel, prior: Prior, loss: FloatArray) -> AdversaryError:
    """Expected loss for any table of losses (places, guesses), with the optimal strategy.

    The cost of every guess at every output is one matrix product: (outputs, inputs) by (inputs, guesses).
    """
    if loss.ndim != 2 or loss.shape[0] != prior.n_places or not np.all(np.isfinite(loss)):
        raise InputError(f"'loss' must be a finite table with {prior.n_places} rows, got shape {loss.shape}")
    return _optimal(channel, prior, loss, None)


@dataclass(frozen=True, eq=False)
class _Neighbourhoods:
    """Places grouped by squares: `group` of each place, one `member` of each group, its distance to the farthest."""

    group: IntArray
    member: IntArray
    radius_m: FloatArray


def _neighbourhoods(xy: FloatArray) -> _Neighbourhoods:
    square = np.floor(xy / _GROUP_M)
    off_centre = np.hypot(*(xy - (square + 0.5) * _GROUP_M).T)
    inwards = np.argsort(off_centre, kind="stable")  # the member of a group is its place nearest to the middle
    _, first, back = np.unique(square[inwards], axis=0, return_index=True, return_inverse=True)
    member, group = inwards[first], np.empty(len(xy), dtype=np.int64)
    group[inwards] = back.ravel()
    radius = np.zeros(len(member))
    np.maximum.at(radius, group, np.hypot(*(xy - xy[member[group]]).T))
    return _Neighbourhoods(group, member, radius)


def _optimal(channel: Channel, prior: Prior, loss: FloatArray, near: _Neighbourhoods | None) -> AdversaryError:
    cost = np.asarray(_membership(channel, prior) @ loss)
    weight = np.asarray(_membership(channel, prior).sum(axis=1), dtype=np.float64)
    strategy = np.zeros(channel.outputs.n, dtype=np.int64)
    guessed = np.zeros((channel.n_inputs, loss.shape[1]))
    for part, whole in channel.blocks():
        possible = np.flatnonzero(whole.any(axis=0))  # for a report that nobody makes any guess will do
        if not len(possible):
            continue
        block = whole[:, possible]
        likely = np.arange(loss.shape[1]) if near is None else _likely(block, cost, weight, near)
        guess = likely[np.argmin(block.T @ cost[:, likely], axis=1)]
        strategy[part.start + possible] = guess
        used, column = np.unique(guess, return_inverse=True)
        choice = sparse.csr_array((np.ones(len(guess)), (np.arange(len(guess)), column)), shape=(len(guess), len(used)))
        guessed[:, used] += block @ choice
    per_place = np.einsum("ph,ph->p", guessed[channel.row_of_place], loss)
    return AdversaryError(per_place, float(prior.weights @ per_place), strategy)


def _likely(block: FloatArray, cost: FloatArray, weight: FloatArray, near: _Neighbourhoods) -> IntArray:
    """Guesses that can be optimal for some output of the block.

    Moving a guess by r metres changes its expected distance by at most r times the probability of the output: a group
    whose member is worse than the best member by more than its radius holds no optimal guess. Nothing is lost.
    """
    at_member = block.T @ cost[:, near.member]
    least = at_member - (block.T @ weight)[:, None] * near.radius_m
    best = at_member.min(axis=1) * (1 + 1e-9)
    return np.flatnonzero(np.any(least <= best[:, None], axis=0)[near.group])


def _membership(channel: Channel, prior: Prior) -> Any:
    """(inputs, places): the prior of each place, in the row of its input."""
    if len(channel.row_of_place) != prior.n_places:
        raise InputError(f"the channel must know {prior.n_places} places, it knows {len(channel.row_of_place)}")
    entries = (prior.weights, (channel.row_of_place, np.arange(prior.n_places)))
    return sparse.csr_array(entries, shape=(channel.n_inputs, prior.n_places))
