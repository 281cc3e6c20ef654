# SPDX-License-Identifier: Apache-2.0
"""The kernel that joins tiles, against its slow twin: random tilings, whole and damaged."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from geoelastic import _kernels as kernels
from reference.tiles import ROW_START, joined

#: The arguments of `join_tiles`, in their order.
NAMES = (
    "offset", "around", "later", "slot", "step", "rise", "place", "fenced", "at", "scale", "height", "slack_bits",
    "slack_units",
)  # fmt: skip


def random_tiles(rng: np.random.Generator, *, all_of_it: bool = False) -> dict[str, Any]:
    """Some of the tiles of a map whose leaves have random neighbours in their own tile and the eight around it; or,
    with `all_of_it`, all of them, with all leaves kept and without fences."""
    high, across = rng.integers(1, 4, 2).tolist()
    leaves = rng.integers(3, 6, high * across).tolist()
    names = [(t, k) for t, many in enumerate(leaves) for k in range(many)]
    pairs = {(a, b) for a, b in pairwise(names) if a[0] == b[0]}
    pairs |= {(a, b) for a in names for b in names if a < b and _near(a[0], b[0], across) and rng.random() < 0.3}
    chosen = [t for t in range(len(leaves)) if all_of_it or rng.random() < 0.7] or [0]
    around = [_around(tile, high, across) for tile in chosen]
    slot, step, edges = [], [], 0
    for tile, slots in zip(chosen, around, strict=True):
        for k in range(leaves[tile]):
            row = sorted({b for a, b in pairs if a == (tile, k)} | {a for a, b in pairs if b == (tile, k)})
            slot += [slots.index(other) + ROW_START * (first == 0) for first, (other, _) in enumerate(row)]
            step += [number - k for _, number in row]
            edges += sum(other > (tile, k) for other in row)
    offset = np.cumsum([0, *(leaves[tile] for tile in chosen)])
    n = int(offset[-1])
    kept, at, heights = rng.random(n) < (1 if all_of_it else 0.8), rng.integers(-3000, 3000, (n, 2)), rng.random() < 0.7
    return {
        "offset": offset,
        "around": np.array([[chosen.index(k) if k in chosen else -1 for k in row] for row in around], np.int64),
        "later": np.sign(np.array(around) - np.array(chosen)[:, None]).astype(np.int8),
        "slot": np.array(slot, np.uint8), "step": np.array(step, np.int32),
        "rise": rng.choice([0, 1, 100, 128, 255], edges * (all_of_it or rng.random() < 0.7)).astype(np.uint8),
        "place": np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32),
        "fenced": rng.random(n) < (0 if all_of_it else 0.15),
        "at": at.astype(np.int32), "scale": rng.integers(1, 2**20, n).astype(np.int32),
        "height": rng.integers(-400, 400, n * heights).astype(np.int32), "slack_bits": 10, "slack_units": 4,
    }  # fmt: skip


def _near(a: int, b: int, across: int) -> bool:
    return abs(a // across - b // across) <= 1 and abs(a % across - b % across) <= 1


def _around(tile: int, high: int, across: int) -> list[int]:
    row, col = divmod(tile, across)
    return [
        r * across + c if 0 <= r < high and 0 <= c < across else -1
        for r in (row - 1, row, row + 1)
        for c in (col - 1, col, col + 1)
    ]


def _by_tile(given: dict[str, Any]) -> dict[str, Any]:
    """The same as the kernel is given it: rows and rises by tile, and places, scales and heights of those kept."""
    begins = np.append(np.flatnonzero(given["slot"] >= ROW_START), [given["slot"].size] * given["offset"][-1])
    arcs, kept = begins[given["offset"][1:-1]], given["place"] >= 0
    parts = {name: np.split(given[name], arcs) for name in ("slot", "step")}
    parts["rise"] = np.split(given["rise"], np.searchsorted(_forward(given), arcs)) if given["rise"].size else None
    named = {name: given[name][kept] if given[name].size else given[name] for name in ("at", "scale", "height")}
    return {name: (given | parts | named)[name] for name in NAMES}


def told(given: dict[str, Any]) -> Any:
    """What the kernel says, in the words of its twin."""
    start, index, weight, rim, arcs, least, longest = kernels.join_tiles(*_by_tile(given).values())
    if arcs < 0:
        return None
    tail = np.repeat(np.arange(start.size - 1), np.diff(start)).tolist()
    assert len(tail) == arcs
    ends = list(zip(tail, index[:arcs].tolist(), strict=True))
    assert ends == sorted(ends)
    return dict(zip(ends, weight[:arcs].tolist(), strict=True)), set(np.flatnonzero(rim).tolist()), least, longest


@pytest.mark.parametrize("seed", range(80))
def test_tiles_join_to_the_graph_of_the_slow_twin(seed: int) -> None:
    given = random_tiles(np.random.default_rng(seed), all_of_it=seed % 4 == 0)
    expected = joined(*(given[name] for name in NAMES))
    assert expected is not None
    assert told(given) == expected


def _without(given: dict[str, Any], arc: int) -> None:
    """Leave out an arc, and the rise that it has."""
    forward = _forward(given)
    if arc in forward and given["rise"].size:
        given["rise"] = np.delete(given["rise"], forward.index(arc))
    given["slot"], given["step"] = np.delete(given["slot"], arc), np.delete(given["step"], arc)


def _forward(given: dict[str, Any]) -> list[int]:
    """The arcs to later leaves."""
    leaf = np.cumsum(given["slot"] >= ROW_START) - 1
    tile = np.searchsorted(given["offset"], leaf, side="right") - 1
    there = given["later"][np.minimum(tile, len(given["later"]) - 1), np.minimum(given["slot"] % ROW_START, 8)]
    return np.flatnonzero((there > 0) | ((there == 0) & (given["step"] > 0))).tolist()


def _damage(kind: str, given: dict[str, Any], rng: np.random.Generator) -> None:
    slot, step = given["slot"], given["step"]
    inner = np.flatnonzero(slot < ROW_START)
    arc = int(rng.integers(slot.size))
    if kind == "a slot that is none":
        slot[arc] = (slot[arc] & ROW_START) | rng.integers(9, ROW_START)
    elif kind == "a step to another leaf":
        step[arc] += rng.choice([-100, -2, -1, 1, 2, 100])
    elif kind == "a row too few":
        slot[rng.choice(np.flatnonzero(slot >= ROW_START))] &= ROW_START - 1
    elif kind == "a row too many":
        slot[rng.choice(inner)] |= ROW_START
    elif kind == "an arc that leads one way":
        _without(given, int(rng.choice(inner)))
    elif kind == "arcs out of order":
        arc = int(rng.choice(inner))
        slot[arc - 1 : arc + 1] = slot[[arc, arc - 1]] % ROW_START | slot[arc - 1 : arc + 1] & ROW_START
        step[arc - 1 : arc + 1] = step[[arc, arc - 1]]
    elif kind == "an arc twice":
        place = int(rng.choice(np.flatnonzero(slot >= ROW_START)))
        given["slot"] = np.insert(slot, place + 1, slot[place] % ROW_START)
        given["step"] = np.insert(step, place + 1, step[place])
        if place in _forward(given) and given["rise"].size:
            given["rise"] = np.append(given["rise"], np.uint8(128))
    elif kind == "an arc to the leaf itself":
        slot[arc], step[arc] = 4 | (slot[arc] & ROW_START), 0
    elif kind == "cut short":
        given["slot"], given["step"] = slot[:arc], step[:arc]
    else:
        given["rise"] = given["rise"][:-1] if kind == "a rise too few" else np.append(given["rise"], np.uint8(128))


DAMAGES = (
    "a slot that is none", "a step to another leaf", "a row too few", "a row too many", "an arc that leads one way",
    "arcs out of order", "an arc twice", "an arc to the leaf itself", "cut short", "a rise too few", "a rise too many",
)  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_refused_wherever_it_is(kind: str) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        given = random_tiles(rng, all_of_it=True)
        _damage(kind, given, rng)
        assert told(given) is None, seed


@pytest.mark.parametrize("kind", DAMAGES)
def test_of_some_leaves_what_the_slow_twin_refuses_is_refused_and_nothing_else(kind: str) -> None:
    refused = 0
    for seed in range(40):
        rng = np.random.default_rng(1000 + seed)
        given = random_tiles(rng)
        if not given["rise"].size and "rise" in kind:
            continue
        _damage(kind, given, rng)
        expected = joined(*(given[name] for name in NAMES))
        refused += expected is None
        assert told(given) == expected, seed
    assert refused > 0
