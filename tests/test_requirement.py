# SPDX-License-Identifier: Apache-2.0
"""Requirements, their inverse, and their integer tables, which never ask for less than the real requirement."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import geoelastic as ge
from geoelastic.levels import LEVEL_UNIT, MASS_UNIT, level_to_units, mass_to_units, units_to_level
from geoelastic.mass import requirement_from_dict

REQUIREMENTS = [
    ge.Quadratic(), ge.Quadratic(0.3), ge.Linear(), ge.Step(0.7, 2.0), ge.Step(0.0, 0.5),
    ge.Custom(lambda level: math.floor(3 * level) / 3 + level**3),
]  # fmt: skip


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: type(r).__name__)
def test_the_table_is_the_least_that_covers_each_stretch_of_levels(requirement):
    table = requirement.table(0.0, 1.5)
    assert table.size == level_to_units(1.5) + 1
    assert (np.diff(table) >= 0).all()
    for d in range(0, table.size - 1, 97):
        top = math.nextafter((d + 1) * LEVEL_UNIT, 0.0)
        assert table[d] * MASS_UNIT >= requirement.mass_at(top)
        assert (table[d] - 1) * MASS_UNIT < requirement.mass_at(top)
    assert table[-1] * MASS_UNIT >= requirement.mass_at(1.5)


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: type(r).__name__)
@given(mass=st.floats(1e-6, 50))
def test_level_of_is_the_generalised_inverse(requirement, mass):
    level = requirement.level_of(mass)
    if math.isfinite(level):
        assert requirement.mass_at(level * (1 + 1e-9) + 1e-6) >= mass
        assert level <= 1e-6 or requirement.mass_at(level * (1 - 1e-9) - 1e-6) < mass
    else:
        assert requirement.mass_at(1024.0) < mass


def test_levels_below_l_from_ask_for_nothing():
    table = ge.Quadratic().table(0.35, 1.0)
    assert not table[: level_to_units(0.35)].any()
    assert table[level_to_units(0.35)] > 0


@pytest.mark.parametrize("levels", [(-1, 1), (1, 0.5), (0, 10.5), (math.nan, 1), (0, math.inf)])
def test_bad_levels_are_refused(levels):
    with pytest.raises(ge.InputError, match="l_from <= l_top"):
        ge.Quadratic().table(*levels)


@pytest.mark.parametrize("function", [lambda level: -level, lambda level: 1 - level, lambda level: math.nan])
def test_a_requirement_that_is_none_is_refused(function):
    with pytest.raises(ge.InputError, match="non-decreasing"):
        ge.Custom(function).table(0, 0.9)


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: type(r).__name__)
def test_requirements_survive_a_file(requirement):
    again = requirement_from_dict(requirement.to_dict())
    for level in np.linspace(0, 3, 50):
        assert again.mass_at(level) >= requirement.mass_at(level)
        if not isinstance(requirement, ge.Custom):
            assert again.mass_at(level) == requirement.mass_at(level)


def test_integers_are_rounded_down():
    assert level_to_units(math.log(2)) == 5678
    assert mass_to_units([0.1])[0] * MASS_UNIT <= 0.1 < (mass_to_units([0.1])[0] + 1) * MASS_UNIT
    assert units_to_level(2**31 - 1) == math.inf
    assert units_to_level(8192) == 1.0


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ge.InputError, match="l_star"):
        ge.Quadratic(bad)


def test_a_short_table_is_asked_beyond_its_end() -> None:
    read = requirement_from_dict({"kind": "custom", "name": "short", "levels": [0.0, 1.0], "masses": [0.0, 2.0]})
    assert read.mass_at(0.5) == read.mass_at(1.0) == read.mass_at(9.0) == 2.0
    assert read.to_dict()["masses"][-1] == 2.0
