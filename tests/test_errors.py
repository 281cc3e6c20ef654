# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

from geoelastic import errors
from geoelastic.errors import (
    CheckError,
    FileError,
    FrameError,
    GeoelasticError,
    InputError,
    MassError,
    MissingExtraError,
    OutsideError,
    require_choice,
    require_count,
    require_latlon,
    require_nonnegative,
    require_positive,
)


def test_the_tree_is_the_one_drawn() -> None:
    assert all(issubclass(error, InputError) for error in (OutsideError, FrameError, MassError))
    builtins = {InputError: ValueError, FileError: OSError, MissingExtraError: ImportError, CheckError: Exception}
    for error, builtin in builtins.items():
        assert issubclass(error, GeoelasticError)
        assert issubclass(error, builtin)
    drawn = set(re.findall(r"\w+Error", errors.__doc__ or "")) - {"ValueError", "OSError", "ImportError"}
    defined = {name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)}
    assert drawn == defined


NO_NUMBERS = [float("nan"), float("inf"), -float("inf"), "3", None, [1], 10**400, np.arange(2.0)]


@pytest.mark.parametrize("value", [*NO_NUMBERS, 0, -3, -1e-300])
def test_positive(value: object) -> None:
    with pytest.raises(InputError, match=r"^'radius_m' must be a finite number > 0, got "):
        require_positive("radius_m", value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [*NO_NUMBERS, -3])
def test_nonnegative(value: object) -> None:
    with pytest.raises(InputError, match=r"^'level' must be a finite number >= 0, got "):
        require_nonnegative("level", value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", None, float("nan")])
def test_count(value: object) -> None:
    with pytest.raises(InputError, match=r"^'rows' must be a whole number >= 1, got "):
        require_count("rows", value)  # type: ignore[arg-type]


def test_good_values_pass() -> None:
    assert require_positive("x", np.float32(2)) == 2.0
    assert require_nonnegative("x", 0) == 0.0
    assert require_count("x", np.int64(3)) == 3
    assert require_choice("x", "a", ["a", "b"]) == "a"
    assert require_latlon(-90, 180) == (-90.0, 180.0)


def test_choice_names_the_choices() -> None:
    with pytest.raises(InputError, match="'method' must be one of 'paper', 'conformal', got 'fast'"):
        require_choice("method", "fast", ["paper", "conformal"])


@pytest.mark.parametrize(("lat", "lon"), [(90.01, 0), (0, 361), (float("nan"), 0), (0, float("nan"))])
def test_a_bad_place_is_not_repeated(lat: float, lon: float) -> None:
    with pytest.raises(InputError) as caught:
        require_latlon(lat, lon)
    assert not {"90.01", "361", "nan"} & set(re.findall(r"[\w.]+", str(caught.value)))


def test_a_missing_package_says_how_to_get_it() -> None:
    assert "pip install 'geoelastic[plot]'" in str(MissingExtraError("matplotlib", "plot"))
