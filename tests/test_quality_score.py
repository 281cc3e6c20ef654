# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geoelastic.errors import InputError
from geoelastic.quality.recipe import Cap, Diversity, Sensitive
from geoelastic.quality.score import (
    Amounts,
    apply_cap,
    apply_prior,
    apply_sensitive,
    hill_numbers,
    spread,
    sum_with_diversity,
)

CLASSES = ("amenity=restaurant", "shop=books", "amenity=hospital", "healthcare=clinic")
COUNTS = st.lists(st.integers(0, 40), min_size=4, max_size=4)


def one_cell(counts: list[int]) -> Amounts:
    n = len(counts)
    return Amounts(
        1,
        np.zeros(n, np.int64),
        np.arange(n),
        np.zeros(n, np.int64),
        np.array(counts, dtype=float),
        CLASSES[:n],
        ("places",),
    )


def quality(counts: list[int], diversity: Diversity | None) -> float:
    return float(sum_with_diversity(one_cell(counts), diversity)[0])


def test_25_restaurants_and_25_shops_count_more_than_50_restaurants() -> None:
    """The paper's own example, at every order but the one that only sees the total."""
    for order in (0, 0.5, 1, 2, math.inf):
        chosen = Diversity(order, 0.5, ("places",))
        assert quality([50, 0], chosen) == pytest.approx(50)
        assert quality([25, 25], chosen) == pytest.approx(50 * math.sqrt(2))
    assert quality([25, 25], None) == 50


@pytest.mark.parametrize("order", [0, 0.5, 1, 2, 3.5, math.inf])
@given(counts=COUNTS)
def test_hill_numbers_by_their_definition(order: float, counts: list[int]) -> None:
    amounts = one_cell(counts)
    got = float(hill_numbers(1, amounts.cell, amounts.code, amounts.amount, order)[0])
    shares = [n / sum(counts) for n in counts if n] if any(counts) else [1.0]
    if order == 1:
        expected = math.exp(-sum(p * math.log(p) for p in shares))
    elif math.isinf(order):
        expected = 1 / max(shares)
    else:
        expected = sum(p**order for p in shares) ** (1 / (1 - order))
    assert got == pytest.approx(expected, rel=1e-12)
    assert 1 - 1e-12 <= got <= max(1, len(shares)) + 1e-9


def test_hill_numbers_join_entries_of_the_same_class_and_cell() -> None:
    """A class in three pieces (an area across cells, two points) is one class."""
    cell, code = np.array([0, 0, 0, 1]), np.array([7, 7, 2, 2])
    got = hill_numbers(3, cell, code, np.array([1.0, 1.0, 2.0, 5.0]), 2.0)
    np.testing.assert_allclose(got, [2.0, 1.0, 1.0])


def test_diversity_leaves_the_other_layers_alone() -> None:
    cell, layer = np.zeros(3, np.int64), np.array([0, 0, 1])
    amounts = Amounts(1, cell, np.arange(3), layer, np.array([4.0, 4.0, 10.0]), CLASSES[:3], ("places", "homes"))
    assert float(sum_with_diversity(amounts, Diversity(1, 1, ("places",)))[0]) == pytest.approx(8 * 2 + 10)


GROUPS = {"health": ("amenity=hospital", "healthcare=*")}


def test_a_cell_full_of_one_sensitive_group_gives_little_cover() -> None:
    sensitive = Sensitive(0.1, GROUPS)
    for counts, expected in (
        ([0, 0, 10, 0], 1.0),
        ([0, 0, 5, 5], 1.0),
        ([10, 0, 0, 0], 10.0),
        ([8, 0, 1, 1], 10 * (1 - 0.9 * 0.04)),
    ):
        amounts = one_cell(counts)
        cells, report = apply_sensitive(amounts.total(), amounts, sensitive)
        assert float(cells[0]) == pytest.approx(expected)
        assert report["cells mostly of one group"] == {"health": int(counts[2] + counts[3] > 5)}


@given(counts=COUNTS, more=st.integers(0, 3), cover=st.floats(0, 1))
def test_more_of_anything_never_lowers_the_quality(counts: list[int], more: int, cover: float) -> None:
    """Also more of a sensitive class, in one group."""
    sensitive = Sensitive(cover, GROUPS)

    def value(n: list[int]) -> float:
        amounts = one_cell(n)
        return float(apply_sensitive(amounts.total(), amounts, sensitive)[0][0])

    grown = counts.copy()
    grown[more] += 1
    assert value(grown) >= value(counts) - 1e-9


@given(
    cells=st.lists(st.floats(0, 100), min_size=6, max_size=6),
    prior=st.lists(st.floats(0, 10), min_size=6, max_size=6),
    floor=st.floats(0, 1),
)
def test_a_prior_keeps_the_total(cells: list[float], prior: list[float], floor: float) -> None:
    q, p = np.array(cells), np.array(prior)
    if not (q * p).sum() > 1e-6:
        return
    scaled, _ = apply_prior(q, p, floor=floor)
    assert scaled.sum() == pytest.approx(q.sum(), rel=1e-9)
    np.testing.assert_allclose(scaled[p == 0], floor * q[p == 0])


def test_a_prior_must_be_somewhere_there_is_quality() -> None:
    with pytest.raises(InputError, match="'prior' must be > 0"):
        apply_prior(np.array([1.0, 0.0]), np.array([0.0, 1.0]), floor=0.1)
    with pytest.raises(InputError, match="finite numbers >= 0"):
        apply_prior(np.array([1.0, 0.0]), np.array([np.nan, 1.0]), floor=0.1)


def test_caps_say_what_they_cut() -> None:
    cells = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 8.0])
    capped, report = apply_cap(cells, Cap("value", 3.0))
    assert capped.max() == 3
    assert (report["value"], report["cells cut"], report["quality cut"]) == (3.0, 1, 5.0)
    capped, report = apply_cap(cells, Cap("mean_std", 2.0))
    assert report["value"] == pytest.approx(cells.mean() + 2 * cells.std())
    capped, report = apply_cap(cells, Cap("quantile", 0.5))
    assert report["value"] == 1.5
    assert report["cells cut"] == 2


def test_spreading_keeps_the_sum_and_is_a_gaussian() -> None:
    cells = np.zeros((41, 61))
    cells[20, 30], cells[0, 0] = 5.0, 2.0  # one in the middle, one in a corner that it cannot leave
    wide = spread(cells, 100, 200)
    assert wide.sum() == pytest.approx(7)
    assert wide.min() >= 0
    row, col = np.indices(cells.shape)
    middle = np.where(row >= 10, wide, 0)
    assert middle.sum() == pytest.approx(5, rel=1e-4)
    away = (row - 20) ** 2 + (col - 30) ** 2
    assert (middle * away).sum() / middle.sum() == pytest.approx(2 * 2.0**2, rel=0.02)  # two axes of 2 cells each
