# SPDX-License-Identifier: Apache-2.0
"""`People`: where the people of a map are, if they are where the mass is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import BoolArray, IntArray

__all__ = ["People"]


@dataclass(frozen=True, eq=False)
class People:
    """`places`: numbers of locations that stand for as many people each, among those that can be hidden outside
    fences; one of many people may be there more than once. `mass_units`, `hidden_units`: the mass of all, and of those
    who can be hidden. `framed`: how many locations cannot."""

    places: IntArray
    mass_units: int
    hidden_units: int
    framed: int

    @classmethod
    def of(cls, mass_units: IntArray, secret: BoolArray, fenced: BoolArray, many: int) -> People:
        """The people of a map with these locations, in so `many` places."""
        hidden, candidates = secret | fenced, np.flatnonzero(secret & ~fenced)
        mass = np.cumsum(mass_units[candidates])
        if mass.size and mass[-1]:
            candidates = candidates[np.searchsorted(mass, (np.arange(many) + 0.5) / many * mass[-1])]
        else:
            candidates = candidates[:0]
        return cls(candidates, int(mass_units.sum()), int(mass_units[hidden].sum()), int(np.count_nonzero(~hidden)))
