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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..arrays import FloatArray, IntArray
from ..errors import InputError
from .channel import Channel
from .prior import Prior

__all__ = ["AdversaryError", "binary_error", "euclidean_error", "loss_error"]

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
    near = [_neighbourhoods(channel, prior, at, side) for side in _GROUPS_M]
    return _optimal(channel, prior, np.hypot(dx, dy), near)


def loss_error(channel: Channel, prior: Prior, loss: FloatArray) -> AdversaryError:
    """Expected loss for any table of losses (places, guesses), with the optimal strategy.

    The cost of every guess at every output is one matrix product: (outputs, inputs) by (inputs, guesses).
    """
    if loss.ndim != 2 or loss.shape[0] != prior.n_places or not np.all(np.isfinite(loss)):
        raise InputError(f"'loss' must be a finite table with {prior.n_places} rows, got shape {loss.shape}")
    return _optimal(channel, prior, loss, ())


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


def _optimal(channel: Channel, prior: Prior, loss: FloatArray, near: Sequence[_Neighbourhoods]) -> AdversaryError:
    cost = np.asarray(_membership(channel, prior) @ loss)
    strategy = np.zeros(channel.outputs.n, dtype=np.int64)
    guessed = np.zeros((channel.n_inputs, loss.shape[1]))
    for part, whole in channel.blocks():
        top = whole.max(axis=0)
        possible = np.flatnonzero(top)  # for a report that nobody makes any guess will do
        if not len(possible):
            continue
        block = whole if len(possible) == whole.shape[1] else whole[:, possible]
        likely = _likely(block, top[possible], near, loss.shape[1])
        guess = likely[np.argmin(block.T @ cost[:, likely], axis=1)]
        strategy[part.start + possible] = guess
        used, column = np.unique(guess, return_inverse=True)
        choice = np.zeros((len(guess), len(used)))
        choice[np.arange(len(guess)), column] = 1
        guessed[:, used] += block @ choice
    per_place = np.einsum("ph,ph->p", guessed[channel.row_of_place], loss)
    return AdversaryError(per_place, float(prior.weights @ per_place), strategy)


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
