# SPDX-License-Identifier: Apache-2.0
"""The choice of a fence that says nothing about where in it the place is: random halving of a public map.

Begin with all cells of a region. Draw a wavy cut at random, without looking at the place, such that each side holds the
crowd that is asked for; keep the side with the place; go on until no such cut is found. What is left is the core. The
fence is the core and a margin around it, so that no track is seen within the margin of the place.

Guarantee: for any two cells x, x' of a core C, P(C | x) = P(C | x'), because every draw and every test depends on the
part that is being cut and not on the place, and x and x' go the same way at every cut. So to one who sees the fence
and knows this program the place is as likely to be in any cell of the core as it was before, given that it is in
there; in particular the place is not at the centre. With the same random bytes the cores of all cells are a partition
of the map. The proof is for one fence: two fences drawn for the same place narrow it down to the intersection of their
cores, so a fence, once drawn, has to be kept.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from scipy.ndimage import distance_transform_edt, label

from ..arrays import BoolArray, FloatArray, IntArray
from ..errors import MassError, OutsideError
from ..randomness import SystemRandom
from .crowds import Crowd

#: Cuts tried for one with two well-shaped sides; then the best of them is taken.
_TRIES = 12
#: Where the crowd allows it a cut leaves each side this share, so that parts do not become slivers.
_SHARE = 0.3
#: A side is well-shaped if its cells fill this share of the disc with the same spread.
_GOOD_SHAPE = 0.65
#: Amplitude of the waves of a cut, as a share of the part's side; two waves with up to two periods over the part.
_WAVE = 0.08


class RandomBelow(Protocol):
    """A source of whole numbers drawn uniformly from [0, n)."""

    def below(self, n: int) -> int: ...


def random_core(crowd: Crowd, lat: float, lon: float, *, rng: RandomBelow | None = None) -> BoolArray:
    """The cells of the core of a fence around a place, drawn by random halving.

    Raises `OutsideError` if the place is not on the map and `MassError` if its region does not hold the amount.
    Randomness is the operating system's unless `rng` is given.
    """
    grid, draws = crowd.grid, SystemRandom() if rng is None else rng
    home = int(np.ravel_multi_index(grid.locate(lat, lon), grid.shape))
    region = crowd.regions.ravel()
    if region[home] == 0:
        raise OutsideError("the place is outside the part of the map that fences are drawn on")
    part: IntArray = np.flatnonzero(region == region[home])
    weight = crowd.cells.ravel()
    if not weight[part].sum() >= crowd.amount:
        held = f"{weight[part].sum():.6g} {crowd.unit}"
        raise MassError(f"the map around the place holds {held}, less than the {crowd.amount:g} asked of a fence")
    while (cut := _draw_cut(part, weight[part], crowd, draws)) is not None:
        part = part[cut == cut[np.searchsorted(part, home)]]
    core = np.zeros(grid.rows * grid.cols, dtype=bool)
    core[part] = True
    return core.reshape(grid.shape)


def widened(core: BoolArray, margin_cells: float) -> BoolArray:
    """The core and all cells within the margin of it, as far as the map reaches."""
    return np.asarray(distance_transform_edt(~core) <= margin_cells)


def _draw_cut(part: IntArray, weight: FloatArray, crowd: Crowd, draws: RandomBelow) -> IntArray | None:
    """The piece of each cell after a random cut of the part, or None if it cannot be cut (any more)."""
    if weight.sum() < 2 * crowd.amount or len(part) < 2 * crowd.min_cells:
        return None
    row, col = np.divmod(part, crowd.grid.cols)
    row, col = row - row.min(), col - col.min()
    best, best_shape = None, 0.0
    for _ in range(_TRIES):
        order = np.argsort(_heights(col - col.mean(), row - row.mean(), draws), kind="stable")
        places = _allowed(weight[order], crowd)
        if not len(places):
            continue
        side = np.zeros(len(part), dtype=bool)
        side[order[: places[draws.below(len(places))]]] = True
        piece = _pieces(row, col, side, weight, crowd)
        shape = _worst_shape(row, col, piece)
        if shape > best_shape:
            best, best_shape = piece, shape
        if shape >= _GOOD_SHAPE:
            break
    return best


def _pieces(row: IntArray, col: IntArray, side: BoolArray, weight: FloatArray, crowd: Crowd) -> IntArray:
    """The connected pieces on both sides, numbered from 1; all 0 if one of them is too small for a core.

    A cut through a ragged shore leaves crumbs: pieces that hold too little go to the other side, first of the one side,
    then of the other.
    """
    one, other = _connected(row, col, side), _connected(row, col, ~side)
    if one.max() > 1 or other.max() > 1:
        side = side.copy()
        for turn in (True, False, True):
            piece = _connected(row, col, side == turn)
            small = _too_small(piece, weight, crowd)
            side[(side == turn) & small[piece]] = not turn
        one, other = _connected(row, col, side), _connected(row, col, ~side)
    piece = np.where(side, one, other + one.max(initial=0))
    if piece.max() < 2 or _too_small(piece, weight, crowd)[1:].any():
        return np.zeros_like(piece)
    return piece


def _connected(row: IntArray, col: IntArray, chosen: BoolArray) -> IntArray:
    """Numbers of the connected pieces of the chosen cells, 0 for the others."""
    box = np.zeros((int(row.max()) + 1, int(col.max()) + 1), dtype=bool)
    box[row, col] = chosen
    return np.asarray(label(box)[0][row, col], dtype=np.int64)


def _too_small(piece: IntArray, weight: FloatArray, crowd: Crowd) -> BoolArray:
    """For each number of a piece whether it holds too little or has too few cells."""
    few: BoolArray = np.bincount(piece) < crowd.min_cells
    return few | (np.bincount(piece, weights=weight) < crowd.amount)


def _uniform(draws: RandomBelow) -> float:
    return draws.below(1 << 53) / (1 << 53)


def _heights(x: FloatArray, y: FloatArray, draws: RandomBelow) -> FloatArray:
    """How far each cell is along a random direction, seen from a wavy line across it."""
    angle = 2 * math.pi * _uniform(draws)
    along = math.cos(angle) * x + math.sin(angle) * y
    across = math.cos(angle) * y - math.sin(angle) * x
    side = math.sqrt(len(x))
    for _ in range(2):
        periods, phase = 0.5 + 1.5 * _uniform(draws), 2 * math.pi * _uniform(draws)
        along = along + _WAVE * side * np.sin(2 * math.pi * periods * across / side + phase)
    return along


def _allowed(weight: FloatArray, crowd: Crowd) -> IntArray:
    """Numbers of cells (in order) at which a cut leaves enough on both sides, and a fair share where that can be."""
    below = np.cumsum(weight)[:-1]
    cells = np.arange(1, len(weight))
    total = weight.sum()
    enough = (below >= crowd.amount) & (total - below >= crowd.amount)
    enough &= (cells >= crowd.min_cells) & (len(weight) - cells >= crowd.min_cells)
    fair = enough & (below >= _SHARE * total) & (below <= (1 - _SHARE) * total)
    allowed: IntArray = cells[fair if fair.any() else enough]
    return allowed


def _worst_shape(row: IntArray, col: IntArray, piece: IntArray) -> float:
    """How round the least round piece is: 1 for a disc, near 0 for slivers and crescents; 0 if there is no piece."""
    if not piece.any():
        return 0.0
    count = np.bincount(piece)
    with np.errstate(invalid="ignore"):  # number 0 has no cells
        spread = np.zeros(len(count))
        for at in (row.astype(np.float64), col.astype(np.float64)):
            spread += np.bincount(piece, weights=at * at) / count - (np.bincount(piece, weights=at) / count) ** 2
    # a disc of n cells has the variance r²/2 = n / 2 pi in all; a single cell, being a square, has 2/12
    return float((count[1:] / (2 * math.pi) / (spread[1:] + 1 / 6)).min())
