# SPDX-License-Identifier: Apache-2.0
"""Layouts tile the grid, are balanced, keep classes apart, and come back from one number per leaf."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geoelastic import _kernels as kernels
from geoelastic.errors import InputError
from geoelastic.locations import Grid, adaptive, around, from_exponents, split, uniform
from reference.layouts import length, mean_distance, neighbour_pairs, touch

ORIGIN = (48.85, 2.35)


def grid(rows: int, cols: int) -> Grid:
    return Grid.of_shape((rows, cols), 100, ORIGIN)


def leaves(rows: int, cols: int, seed: int, bound: int = 40, separate: np.ndarray | None = None):
    mass = np.random.default_rng(seed).integers(0, 12, (rows, cols)).astype(np.int64)
    mass[: rows // 4, : cols // 3] += 60
    return adaptive(grid(rows, cols), mass, max_mass_units=bound, max_size=16, separate=separate), mass


def squares(locations) -> list[tuple[int, int, int]]:
    return [tuple(map(int, s)) for s in zip(locations.row, locations.col, locations.size, strict=True)]


shapes = st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(0, 10**6))


@given(shapes)
@settings(max_examples=25)
def test_leaves_tile_the_grid_and_are_balanced(shape):
    rows, cols, seed = shape
    locations, mass = leaves(rows, cols, seed)
    assert (locations.owner >= 0).all()
    assert locations.area_cells.sum() == rows * cols
    for (r, c, s), m in zip(squares(locations), locations.sum_over(mass), strict=True):
        assert (locations.owner[r : r + s, c : c + s] == locations.owner[r, c]).all()
        assert s == 1 or m <= 40
        assert r % s == 0
        assert c % s == 0
    start, index = locations.touching()
    for i in range(locations.n):
        near = locations.size[index[start[i] : start[i + 1]]]
        assert (near <= 2 * locations.size[i]).all()


@given(shapes)
@settings(max_examples=15)
def test_a_leaf_never_mixes_classes_and_every_layout_survives_its_exponents(shape):
    rows, cols, seed = shape
    separate = np.random.default_rng(seed + 1).integers(0, 2, (rows, cols)) * (np.arange(cols) > cols // 2)
    locations, _ = leaves(rows, cols, seed, separate=separate)
    for r, c, s in squares(locations):
        assert (separate[r : r + s, c : c + s] == separate[r, c]).all()
    again = from_exponents(locations.grid, locations.exponents())
    assert squares(again) == squares(locations)


def test_exponents_that_do_not_tile_are_refused():
    locations, _ = leaves(12, 9, 3)
    for wrong in (locations.exponents()[:-1], np.append(locations.exponents(), 0).astype(np.uint8)):
        with pytest.raises(InputError, match="does not tile"):
            from_exponents(locations.grid, wrong)


def test_neighbours_equal_the_rule_written_down_slowly():
    locations, _ = leaves(13, 17, 5)
    start, index, lengths = locations.neighbours()
    at = squares(locations)
    found = {(i, int(j)): int(w) for i in range(locations.n) for j, w in zip(
        index[start[i] : start[i + 1]], lengths[start[i] : start[i + 1]], strict=True)}  # fmt: skip
    assert {(min(pair), max(pair)) for pair in found} == neighbour_pairs(at)
    assert all(found[i, j] == found[j, i] == length(at[i], at[j]) for i, j in found)


def test_equal_cells_have_the_sixteen_directions():
    locations = uniform(grid(9, 9))
    start, index, _ = locations.neighbours()
    middle = 4 * 9 + 4
    found = {(int(j) // 9 - 4, int(j) % 9 - 4) for j in index[start[middle] : start[middle + 1]]}
    knights = {(a, b) for a in (-2, -1, 1, 2) for b in (-2, -1, 1, 2) if abs(a) != abs(b)}
    kings = {(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)} - {(0, 0)}
    assert found == kings | knights


def test_a_fence_has_no_neighbours():
    locations = uniform(grid(5, 5))
    group = np.zeros(25, np.int32)
    group[[12, 13]] = 1
    start, index, _ = locations.neighbours(group)
    assert start[13] == start[12]
    assert start[14] == start[13]
    assert not np.isin([12, 13], index).any()


def test_touching_is_symmetric_and_right():
    locations, _ = leaves(11, 14, 8)
    start, index = locations.touching()
    at = squares(locations)
    for i in range(locations.n):
        assert list(index[start[i] : start[i + 1]]) == [j for j in range(locations.n) if touch(at[i], at[j])]


def test_split_quarters_only_what_a_fence_cuts():
    locations, _ = leaves(16, 16, 2)
    cells = np.zeros((16, 16), np.int32)
    cells[9:14, 8:15] = 1
    finer, parent = split(locations, cells)
    assert finer.area_cells.sum() == 256
    for (r, c, s), p in zip(squares(finer), parent, strict=True):
        assert (cells[r : r + s, c : c + s] == cells[r, c]).all()
        assert locations.owner[r, c] == p
    untouched = [i for i, (r, c, s) in enumerate(squares(locations)) if len(set(cells[r : r + s, c : c + s].flat)) == 1]
    assert set(np.flatnonzero(np.bincount(parent) == 1)) == set(untouched)
    assert squares(from_exponents(finer.grid, finer.exponents())) == squares(finer)


@pytest.mark.parametrize(
    "pair", [((0, 0, 1), (3, 4, 1)), ((0, 0, 4), (0, 4, 2)), ((0, 0, 4), (0, 0, 4)), ((2, 0, 1), (0, 8, 8))]
)
def test_mean_distance_near_is_exact(pair):
    assert kernels.mean_distance(*pair[0], *pair[1]) == pytest.approx(mean_distance(*pair), rel=1e-12)


def test_mean_distance_far_is_right_to_its_stated_tolerance():
    for pair in (((0, 0, 4), (0, 32, 4)), ((0, 0, 8), (50, 50, 2)), ((0, 0, 1), (64, 3, 8))):
        assert kernels.mean_distance(*pair[0], *pair[1]) == pytest.approx(mean_distance(*pair), rel=1e-5)


@given(shapes, st.booleans())
@settings(max_examples=15)
def test_neighbours_by_arrays_are_those_of_the_kernels(shape, fenced):
    rows, cols, seed = shape
    locations, _ = leaves(rows, cols, seed)
    group = (np.random.default_rng(seed).integers(0, 6, locations.n) == 0).astype(np.int32) * fenced
    square, widest = (locations.row, locations.col, locations.size), int(locations.size.max())
    touch = around.touching(locations.owner, locations.n)
    kernel = kernels.touching(locations.owner, *square, widest)
    for mine, theirs in zip(touch, kernel, strict=True):
        assert mine.dtype == theirs.dtype
        assert np.array_equal(mine, theirs)
    both = around.neighbours(touch, square, group), kernels.neighbours(*kernel, *square, group, widest)
    for mine, theirs in zip(*both, strict=True):
        assert mine.dtype == theirs.dtype
        assert np.array_equal(mine, theirs)
