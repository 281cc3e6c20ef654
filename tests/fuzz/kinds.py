# SPDX-License-Identifier: Apache-2.0
"""The kinds of input, each as often as it is in this list."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

from .files import Container, Portable, Tiles
from .supervise import Kind
from .tables import Fences, Ledgers, Recipes, Tables
from .talk import Commands, Requests

__all__ = ["ALL", "KEPT", "KINDS", "warm_up"]

KEPT = Path(__file__).parent / "kept"
_EACH: list[Kind] = [
    Portable(),
    Container(),
    Tiles(),
    Tables(),
    Fences(),
    Ledgers(),
    Recipes(),
    Requests(),
    Commands(),
]
KINDS = {kind.name: kind for kind in _EACH}
_WEIGHTS = {"geox": 5, "geoelastic": 2, "tables": 8, "fences": 7, "ledgers": 5, "recipes": 5, "http": 12, "commands": 3}
ALL: list[Kind] = [kind for kind in _EACH for _ in range(_WEIGHTS.get(kind.name, 1))]


def warm_up(kinds: Sequence[Kind]) -> None:
    """Make what inputs are made from and compile what they reach, before there are limits."""
    with tempfile.TemporaryDirectory() as name:
        for kind in {kind.name: kind for kind in kinds}.values():
            made = [kind.make(Random(f"warm/{number}")) for number in range(25)]
            # what failed once is met first: some of it did because it was the first to reach a kernel
            for number, payload in enumerate(
                made + [path.read_bytes() for path in sorted(KEPT.glob(f"{kind.name}-*"))]
            ):
                folder = Path(name) / f"{kind.name}{number}"
                folder.mkdir()
                try:
                    kind.run(payload, folder)
                except Exception:  # it will be met again, and written down then
                    continue
