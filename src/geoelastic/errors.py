# SPDX-License-Identifier: Apache-2.0
"""One exception tree and one message grammar.

    GeoelasticError
    ├── InputError (also ValueError)       what was given is wrong
    │   ├── OutsideError                   a place outside the area
    │   ├── FrameError                     a place in the frame, which may be reported but not be a secret
    │   └── MassError                      the map has not enough mass for what is asked
    ├── FileError (also OSError)           a file is missing, truncated, corrupt, foreign or cannot be written
    ├── MissingExtraError (also ImportError)  an optional dependency is not installed
    └── CheckError                         a guarantee was checked and does not hold

Messages say what was given, what is wrong and what would be right: ``'radius_m' must be a finite number > 0, got -3``.
No message ever contains a true location, so that none can leak through a log.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Iterable
from importlib import import_module
from typing import Any


class GeoelasticError(Exception):
    """Root of every error that geoelastic raises on purpose."""


class InputError(GeoelasticError, ValueError):
    """What was given is wrong."""


class OutsideError(InputError):
    """A place outside the area of the metric."""


class FrameError(InputError):
    """A place in the frame: it can be reported but cannot be a secret."""


class MassError(InputError):
    """The map does not have the mass that the requirement asks for."""


class FileError(GeoelasticError, OSError):
    """A file is missing, truncated, corrupt, foreign or cannot be written."""


class MissingExtraError(GeoelasticError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"this needs the package '{package}': pip install 'geoelastic[{extra}]'")


class CheckError(GeoelasticError):
    """A guarantee was checked and does not hold."""


def import_extra(module: str, extra: str, *, package: str | None = None) -> Any:
    """A module that only some need, or the line that says what to install for it: the `package`, by default of the
    module's own name."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(package or module.partition(".")[0], extra) from None


def require_positive(name: str, value: float) -> float:
    """Return `value` as a float if it is finite and > 0 (a positive test, so NaN fails)."""
    if not 0 < (number := _as_float(value)) < math.inf:
        raise InputError(f"'{name}' must be a finite number > 0, got {reprlib.repr(value)}")
    return number


def require_nonnegative(name: str, value: float) -> float:
    """Return `value` as a float if it is finite and >= 0."""
    if not 0 <= (number := _as_float(value)) < math.inf:
        raise InputError(f"'{name}' must be a finite number >= 0, got {reprlib.repr(value)}")
    return number


def require_count(name: str, value: int, *, least: int = 1) -> int:
    """Return `value` as an int if it is a whole number >= `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or not value.__index__() >= least:
        raise InputError(f"'{name}' must be a whole number >= {least}, got {value!r}")
    return value.__index__()


def require_choice(name: str, value: str, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`."""
    options = list(choices)
    if value not in options:
        raise InputError(f"'{name}' must be one of {', '.join(map(repr, options))}, got {value!r}")
    return value


def require_able(name: str, value: object, attribute: str, what: str) -> None:
    """Refuse a `value` of a kind that has not what is asked of it; `what` says what would be right."""
    if not hasattr(value, attribute):
        kind = type(value).__name__
        raise InputError(f"'{name}' must be {what}, got {'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}")


def require_path(name: str, value: object) -> None:
    """Refuse what cannot be the name of a file."""
    if not isinstance(value, str | os.PathLike):
        require_able(name, value, "__fspath__", "the name of a file")


def require_latlon(lat: float, lon: float) -> tuple[float, float]:
    """Return the pair as floats if it is a place on Earth. The message does not repeat the place."""
    lat, lon = _as_float(lat), _as_float(lon)
    if not (-90 <= lat <= 90 and -360 <= lon <= 360):
        raise InputError("a place must be (lat, lon) in degrees with lat in [-90, 90] and lon in [-180, 180]")
    return lat, lon


def _as_float(value: object) -> float:
    """`value` as a float; NaN, which no range holds, if it is none or is too large to be one."""
    if not hasattr(value, "__float__"):
        return math.nan
    try:
        return float(value.__float__())
    except (OverflowError, TypeError, ValueError):
        return math.nan
