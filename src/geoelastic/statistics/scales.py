# SPDX-License-Identifier: Apache-2.0
"""The best guess: shares of pieces under a prior that works at every scale, whose strength the reports choose.

Pieces lie in squares, squares in squares of twice the side, up to the whole map. At each square people divide over what
lies in it as a public guess says, as if `strength` x depth^2 people had been seen to: a Dirichlet prior for each
division (a Polya tree; depth^2 is what makes its draws densities, Lavine 1992). Where reports are many they decide,
where they are few or cannot tell pieces apart the guess does, at each scale by itself. The most likely shares are found
by expectation and maximisation, whose steps have a closed form and never lower the posterior (Dempster, Laird and Rubin
1977). Of the guesses and strengths under which people who were left out are most likely, up to one standard error, the
strongest is taken (Breiman et al. 1984): a weak prior must be shown to be better, for chance may make it look so.
Squares have borders that mean nothing: several trees, shifted against each other, are averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from .atoms import Atoms
from .information import sums
from .model import LARGE

#: People whom the guess counts for at the first division, the most first.
STRENGTHS = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
#: Shifts of the trees, as parts of the map: no two share a border at any scale.
_SHIFTS = ((0.0, 0.0), (0.618, 0.482), (0.236, 0.964), (0.854, 0.446))
#: A fit ends when a step moves less than this share of people, or after so many steps; a trial is shorter.
_STILL, _MOST_STEPS, _TRIAL_STEPS = 2e-4, 300, 150


@dataclass(frozen=True, eq=False)
class Fit:
    """Shares of the atoms; the `strength` and the `guess` (a name) that were chosen, the number of steps, and the mean
    log-likelihood of left-out reports for each (guess, strength) that was tried."""

    shares: FloatArray
    strength: float
    guess: str
    steps: int
    held_out: dict[tuple[str, float], float]


@dataclass(frozen=True, eq=False)
class Tree:
    """`parent[k]`: the node of level k + 1 of each node of level k; level 0 are pieces, the last level is one node."""

    parent: tuple[IntArray, ...]

    def parts(self, guess: FloatArray) -> list[FloatArray]:
        """What part of its parent each node is, by a guess of the pieces, level by level."""
        found, held = [], guess
        for parent in self.parent:
            above = sums(parent, held)
            found.append(held / above[parent])
            held = above
        return found

    def most_likely(self, counts: FloatArray, parts: Sequence[FloatArray], strength: float) -> FloatArray:
        """The shares of pieces that are most likely if `counts` people were in each and divisions have their prior."""
        held = [counts]
        for parent in self.parent:
            held.append(sums(parent, held[-1]))
        shares: FloatArray = np.ones(1)
        for k in range(len(self.parent) - 1, -1, -1):
            parent, seen = self.parent[k], strength * (len(self.parent) - k) ** 2
            shares = shares[parent] * (held[k] + seen * parts[k]) / (held[k + 1][parent] + seen)
        return shares


@dataclass(frozen=True, eq=False)
class Scales:
    """Trees over the same pieces, and guesses of how people are spread over them."""

    trees: tuple[Tree, ...]
    guesses: dict[str, FloatArray]


def make_scales(atoms: Atoms) -> Scales:
    """Trees over the atoms of a survey; the guesses are its prior, and the prior made half even over the area."""
    cells = np.bincount(atoms.cell_atom, minlength=atoms.n).astype(np.float64)
    place = np.divmod(atoms.cell, atoms.zones.grid.cols)
    middle = np.column_stack([np.bincount(atoms.cell_atom, part, atoms.n) / cells for part in place])
    order = np.argsort(cells)
    typical = cells[order][np.searchsorted(np.cumsum(atoms.prior[order]), 0.5)]
    trees = tuple(_tree(middle, 2 * float(np.sqrt(typical)), np.array(shift)) for shift in _SHIFTS)
    return Scales(trees, {"prior": atoms.prior, "half even": (atoms.prior + cells / cells.sum()) / 2})


def _tree(middle: FloatArray, side: float, shift: FloatArray) -> Tree:
    extent = float(np.ptp(middle, axis=0).max()) + 1
    top = 2 ** int(np.ceil(np.log2(max(extent / side, 1)))) * side
    from_corner = middle - middle.min(axis=0) + shift * top
    parent, node = [], np.arange(len(middle))
    while side <= top:
        square = (from_corner // side).astype(np.int64)
        above = np.unique(square[:, 0] * (1 << 32) + square[:, 1], return_inverse=True)[1]
        first = np.unique(node, return_index=True)[1]
        parent.append(above[first])
        node, side = above, 2 * side
    parent.append(np.zeros(int(node.max()) + 1, np.int64))
    return Tree(tuple(parent))


def scaled_fit(matrix: FloatArray, by_part: FloatArray, scales: Scales) -> Fit:
    """Shares from the weight of the reports of each column, by the part of the people that is left out together."""
    seen = np.flatnonzero(by_part.sum(axis=0))
    by_part, counts = by_part[:, seen], by_part.sum(axis=0)[seen]
    exact = matrix.shape[0] * seen.size <= LARGE
    narrow = np.ascontiguousarray(matrix[:, seen], dtype=np.float64 if exact else np.float32)
    left_out, found = _trials(narrow, by_part, counts, scales)
    people = max(float(left_out.sum()), 1.0)
    held_out = {key: float((left_out * logs).sum() / people) for key, logs in found.items()}
    guess, strength = strongest(left_out, found, held_out)
    start = np.tile(scales.guesses[guess], (len(scales.trees), 1))
    shares, steps = _ascent(narrow, np.tile(counts, (len(start), 1)), start, scales, guess, strength, _MOST_STEPS)
    return Fit(shares.mean(axis=0), strength, guess, steps, held_out)


def _trials(
    matrix: Any, by_part: FloatArray, counts: FloatArray, scales: Scales
) -> tuple[FloatArray, dict[tuple[str, float], FloatArray]]:
    """People who were left out, and by guess and strength the log-likelihood of each kind of them from all others; the
    strength falls until the sum does. Each begins at the guess, as the fit itself will: going on from where a stronger
    one ended, a weak one would be judged by the steps of all before it as well."""
    usable = (by_part.sum(axis=1) > 0) & (by_part.sum(axis=1) < counts.sum())
    left_out, rest = by_part[usable], counts - by_part[usable]
    one = Scales(scales.trees[:1] * len(rest), scales.guesses)
    found: dict[tuple[str, float], FloatArray] = {}
    for name, guess in scales.guesses.items():
        start, before = np.tile(guess, (len(rest), 1)), -np.inf
        for strength in STRENGTHS:
            shares, _ = _ascent(matrix, rest, start, one, name, strength, _TRIAL_STEPS)
            logs = found[name, strength] = np.log(_predicted(shares, matrix))
            score = float((left_out * logs).sum())
            if score <= before:
                break
            before = score
    return left_out, found


def strongest(
    left_out: FloatArray, found: dict[tuple[str, float], FloatArray], held_out: dict[tuple[str, float], float]
) -> tuple[str, float]:
    """The guess and strength that count for most people among those not worse than the best by more than the standard
    error of the difference, which is taken person by person."""
    best, people = max(held_out, key=lambda key: held_out[key]), max(float(left_out.sum()), 1.0)

    def is_near(key: tuple[str, float]) -> bool:
        behind = held_out[best] - held_out[key]
        spread = (left_out * (found[best] - found[key] - behind) ** 2).sum() / people
        return bool(behind**2 * people <= spread)

    return max(filter(is_near, found), key=lambda key: (key[1], held_out[key]))


def _ascent(
    matrix: Any, counts: FloatArray, start: FloatArray, scales: Scales, guess: str, strength: float, most: int
) -> tuple[FloatArray, int]:
    """Steps of expectation and maximisation until they move hardly anybody: a row for each tree and its counts."""
    parts = [tree.parts(scales.guesses[guess]) for tree in scales.trees]
    shares, steps = start, 0
    while steps < most:
        ratio = (counts / _predicted(shares, matrix)).astype(matrix.dtype)
        people = shares * (ratio @ matrix.T)
        moved = np.array([
            tree.most_likely(row, part, strength) for tree, row, part in zip(scales.trees, people, parts, strict=True)
        ]).reshape(shares.shape)  # fmt: skip
        change = float(np.abs(moved - shares).sum(axis=1).max(initial=0))
        shares, steps = moved, steps + 1
        if change < _STILL:
            break
    return shares, steps


def _predicted(shares: FloatArray, matrix: Any) -> FloatArray:
    return np.asarray(shares.astype(matrix.dtype) @ matrix, dtype=np.float64)
