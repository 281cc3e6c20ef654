# SPDX-License-Identifier: Apache-2.0
"""How the client in plain Python opens a map, against slow twins: neighbours by their definition, parts by searches,
numbers bit by bit."""

from __future__ import annotations

import random
from array import array
from math import isqrt

import pytest
from geoelastic_client.errors import FileError
from geoelastic_client.format import _numbers
from geoelastic_client.graph import Graph, arcs_of, laid_out, parts
from geoelastic_client.layout import neighbours, paint_owner, unpack_leaves
from geoelastic_client.schema import MAX_SPREAD


def exponents(draw: random.Random, rows: int, cols: int, whole: float) -> list[int]:
    """A random layout in Z-order."""
    found: list[int] = []

    def split(r: int, c: int, k: int) -> None:
        if r >= rows or c >= cols:
            return
        if r + (1 << k) <= rows and c + (1 << k) <= cols and k <= 3 and (k == 0 or draw.random() < whole):
            found.append(k)
            return
        half = 1 << (k - 1)
        for south, west in ((r, c), (r, c + half), (r + half, c), (r + half, c + half)):
            split(south, west, k - 1)

    split(0, 0, (max(rows, cols) - 1).bit_length())
    return found


def defined_neighbours(leaves: tuple[list[int], ...], fence: list[int]) -> list[tuple[int, int]]:
    boxes = list(zip(*leaves, strict=True))

    def touch(i: int, j: int) -> bool:
        (r, c, s), (y, x, t) = boxes[i], boxes[j]
        return i != j and y <= r + s and r <= y + t and x <= c + s and c <= x + t

    def span(i: int, j: int) -> int:
        (r, c, s), (y, x, t) = boxes[i], boxes[j]
        return isqrt(((2 * r + s - 2 * y - t) ** 2 + (2 * c + s - 2 * x - t) ** 2) << 16)

    near = [{j for j in range(len(boxes)) if touch(i, j)} for i in range(len(boxes))]
    found = []
    for i in range(len(boxes)):
        for k in range(i + 1, len(boxes)):
            between = near[i] & near[k]
            direct = between and 32 * min(span(i, j) + span(j, k) for j in between) > 33 * span(i, k)
            if not fence[i] and not fence[k] and (k in near[i] or direct):
                found.append((i, k))
    return found


@pytest.mark.parametrize("seed", range(24))
def test_neighbours_are_those_of_the_definition(seed: int) -> None:
    draw = random.Random(seed)
    rows, cols = draw.choice([(7, 7), (13, 9), (16, 16), (12, 20)])
    leaves = unpack_leaves(rows, cols, exponents(draw, rows, cols, draw.choice([0.0, 0.3, 0.6])))
    n = len(leaves[2])
    fence = [int(draw.random() < 0.1) for _ in range(n)] if seed % 3 == 0 else [0] * n
    found = neighbours(rows, cols, paint_owner(rows, cols, leaves), leaves, fence)
    assert list(zip(*found, strict=True)) == defined_neighbours(leaves, fence)


def graph_of(n: int, edges: list[tuple[int, int, int]]) -> Graph:
    tails, tips, lengths = ([edge[at] for edge in edges] for at in range(3))
    start, arcs = arcs_of(n, (tails, tips, lengths))
    return Graph(start, laid_out(arcs, tips, tails), laid_out(arcs, lengths, lengths))


@pytest.mark.parametrize("seed", range(20))
def test_parts_are_those_of_a_plain_search_and_what_is_too_far_is_refused(seed: int) -> None:
    """Half of the graphs have edges that are too long together along some ways, and perhaps not along the shortest."""
    draw = random.Random(seed)
    n, longest = 40, MAX_SPREAD // 3 if seed % 2 else 100
    pairs = sorted({tuple(sorted(draw.sample(range(n), 2))) for _ in range(draw.choice([25, 60]))})
    edges = [(i, j, draw.randrange(longest)) for i, j in pairs]
    graph = graph_of(n, edges)
    assert [sorted(graph.arcs(i)) for i in range(n)] == [
        sorted([(j, w << 26) for a, j, w in edges if a == i] + [(j, w << 26) for j, a, w in edges if a == i])
        for i in range(n)
    ]
    far = [[0 if i == j else MAX_SPREAD * n for j in range(n)] for i in range(n)]
    for i, j, w in edges:
        far[i][j] = far[j][i] = w
    for k in range(n):
        far = [[min(far[i][j], far[i][k] + far[k][j]) for j in range(n)] for i in range(n)]
    lowest = [min(j for j in range(n) if far[i][j] < MAX_SPREAD * n) for i in range(n)]
    if all(far[i][lowest[i]] <= MAX_SPREAD for i in range(n)):
        assert parts(graph) == lowest
    else:
        with pytest.raises(FileError, match="farther than"):
            parts(graph)


def test_a_way_that_is_too_long_is_no_reason_to_refuse_if_there_is_a_shorter_one() -> None:
    long = MAX_SPREAD // 2 + 1
    shortcut = [(0, 1, long), (0, 3, 1), (1, 2, long), (2, 4, 1), (3, 5, 1), (4, 5, 1)]
    assert parts(graph_of(6, shortcut)) == [0] * 6
    with pytest.raises(FileError, match="farther than"):
        parts(graph_of(3, [(0, 1, long), (1, 2, long)]))


def encoded(values: list[int]) -> bytes:
    out = bytearray()
    for value in values:
        number = -2 * value - 1 if value < 0 else 2 * value
        while number >= 128:
            out.append(number & 127 | 128)
            number >>= 7
        out.append(number)
    return bytes(out)


def test_numbers_come_back_and_what_is_cut_short_or_too_long_does_not() -> None:
    draw = random.Random(5)
    values = [draw.randrange(-(2**k), 2**k) for k in range(1, 53) for _ in range(40)] + [0, -1, 63, 64, -64, -65]
    raw = encoded(values)
    assert _numbers(len(values), raw) == values
    for wrong in (raw[:-1], raw[:5000], b""):
        with pytest.raises(FileError, match="cut short"):
            _numbers(len(values), wrong)
    for wrong in (raw + b"\x00", raw + b"\x80"):
        with pytest.raises(FileError, match="more in the file"):
            _numbers(len(values), wrong)
    with pytest.raises(FileError, match="too long"):
        _numbers(1, b"\x80" * 8 + b"\x01")
    assert _numbers(1, b"\xff" * 7 + b"\x7f") == [-(2**55)]
    assert array("q", _numbers(0, b"")) == array("q")
