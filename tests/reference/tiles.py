# SPDX-License-Identifier: Apache-2.0
"""Tiles put together to one graph, leaf by leaf and pair by pair."""

from __future__ import annotations

import math
from typing import Any

ROW_START = 0x80


def joined(
    offset: Any, around: Any, later: Any, slot: Any, step: Any, rise: Any, place: Any, fenced: Any, at: Any, scale: Any,
    height: Any, slack_bits: int, slack_units: int,
) -> tuple[dict[tuple[int, int], int], set[int], float, int] | None:  # fmt: skip
    """What `join_tiles` makes of the same: the weight of every arc by its two leaves' numbers among those kept; those
    that lost a neighbour; the least weight by length; the longest weight before heights. None where tiles do not fit.
    """
    begins = [k for k, value in enumerate(slot) if value & ROW_START]
    tile_of = [t for t in range(len(offset) - 1) for _ in range(offset[t], offset[t + 1])]
    if len(begins) != len(tile_of) or begins[0] != 0:
        return None
    if any(int(value) % ROW_START >= len(around[0]) for value in slot):
        return None
    rows = [range(begin, end) for begin, end in zip(begins, [*begins[1:], len(slot)], strict=True)]
    factors, rim = dict(_factors(tile_of, rows, later, slot, step, rise)), set()
    if len(rise) and len(rise) != len(factors):
        return None
    arcs: dict[tuple[int, int], int] = {}
    for i, row in enumerate(rows):
        tips = []
        for a in row if place[i] >= 0 and not fenced[i] else ():
            tile = around[tile_of[i]][slot[a] % ROW_START]
            j = None if tile < 0 else int(offset[tile] + i - offset[tile_of[i]] + step[a])
            if j is not None and not offset[tile] <= j < offset[tile + 1]:
                return None
            if j is None or place[j] < 0:
                rim.add(int(place[i]))
            elif not fenced[j]:
                tips.append(j)
                arcs[i, j] = a
                if (a in factors) != (j > i):
                    return None
        if tips != sorted(set(tips)) or i in tips:
            return None
    if any((j, i) not in arcs for i, j in arcs):
        return None
    weights, least, longest = {}, math.inf, 0
    for (i, j), a in arcs.items():
        if i < j:
            length = math.isqrt(sum((int(p) - int(q)) ** 2 for p, q in zip(at[i], at[j], strict=True)))
            full = length * (int(scale[i]) + int(scale[j])) // 2**17
            raised = full * factors[a] // 128
            longest = max(longest, full, raised)
            if factors[a] > 0:
                if len(height):
                    raised -= raised // 2**slack_bits + slack_units + abs(int(height[i]) - int(height[j]))
                weight = max(raised, 0)
                least = min(least, weight * 256 / (length + 1))
                weights[int(place[i]), int(place[j])] = weights[int(place[j]), int(place[i])] = min(weight, 2**31 - 1)
    return weights, rim, least, longest


def _factors(tile_of: Any, rows: Any, later: Any, slot: Any, step: Any, rise: Any) -> Any:
    """(arc, its factor in 1/128) of every arc to a later leaf; 128 where there are no factors or too few."""
    number = 0
    for i, row in enumerate(rows):
        for a in row:
            there = later[tile_of[i]][slot[a] % ROW_START]
            if there > 0 or (there == 0 and step[a] > 0):
                yield a, int(rise[number]) if number < len(rise) else 128
                number += 1
