# SPDX-License-Identifier: Apache-2.0
"""What a `.geox` file may say: a closed schema with ranges. What is not in it is refused before anything is computed,
so that no number can mean one thing here and another elsewhere."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Callable

from .errors import FileError

_JSON_BYTES, _JSON_DEPTH, _JSON_DIGITS = 2**20, 32, 32
#: Strings, brackets and everything that could be a number: enough to bound depth and length before parsing.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]|[-+.0-9eE]{2,}', re.DOTALL)

_SIDE, _CELLS, MAX_COUNT = 2**15, 2**25, 2**26
_LEVEL, _TEXT = 10, 1000
#: Crowds: 2^20 units of mass in all, of 2^-32 each.
_MASS, _MEASURE = 2**52, 2**31
_LEAST_DEMAND, _DEMAND = 2.0**-32, 2.0**20
#: The longest edge, and how far the first location of a connected part may be from its others, in level units.
MAX_WEIGHT, MAX_SPREAD = 2**23, 2**23

#: The largest number that each array may hold, by what it has one number for.
_BY_LOCATION = {
    "exponent": 8, "mass": _MASS, "measure": _MEASURE, "scale": 2**28, "place_east": 2**25, "place_north": 2**25,
    "height": 2**24, "fence": _CELLS, "framed": 1,
}  # fmt: skip
_BY_PAIR = {"edge_rise": 255}
_BY_EDGE = {"edge_i": _CELLS, "edge_j": _CELLS, "edge_level": MAX_WEIGHT}

Test = Callable[[Any], bool]


def refuse(reason: str) -> FileError:
    return FileError(f"the file is not sound: {reason}")


def parse_json(content: bytes) -> Any:
    """The value of a JSON text in UTF-8: bounded, every key once, finite numbers, whole characters."""
    if len(content) > _JSON_BYTES:
        raise FileError(f"the header has more than {_JSON_BYTES} bytes")
    try:
        source = content.decode()
        _scan(source)
        value = json.loads(source, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode()  # half a character cannot be
    except FileError:
        raise
    except (ValueError, RecursionError):
        raise FileError("the header is not JSON with finite numbers and every key once") from None
    return value


def _scan(source: str) -> None:
    depth = 0
    for token in _TOKEN.finditer(source):
        first = token.group()[0]
        if first in "[{":
            depth += 1
            if depth > _JSON_DEPTH:
                raise FileError(f"the header is nested more than {_JSON_DEPTH} deep")
        elif first in "]}":
            depth -= 1
        elif first != '"' and len(token.group()) > _JSON_DIGITS:
            raise FileError(f"a number in the header has more than {_JSON_DIGITS} characters")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError("a key stands twice")
    return entries


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(digits)
    return value


def _is_real(low: float, high: float) -> Test:
    return lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high


def _is_whole(low: int, high: int) -> Test:
    real = _is_real(low, high)
    return lambda value: real(value) and value == int(value)


def _is_list(least: int, most: int) -> Test:
    return lambda value: isinstance(value, list) and least <= len(value) <= most


def _is_one_of(*known: str) -> Test:
    return lambda value: isinstance(value, str) and value in known


def _is_text(value: Any) -> bool:
    # as UTF-16 counts
    return isinstance(value, str) and len(value.encode("utf-16-le")) <= 2 * _TEXT


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_hash(value: Any) -> bool:
    return _is_text(value) and re.fullmatch("[0-9a-f]{64}", value) is not None


_is_metres = _is_real(2.0**-20, 4e6)
_is_star = _is_real(2.0**-10, 2.0**10)
_GRID: dict[str, Test] = {
    "lat": _is_real(-90, 90), "lon": _is_real(-360, 360), "width_m": _is_metres, "height_m": _is_metres,
    "cell_m": _is_metres, "rows": _is_whole(1, _SIDE), "cols": _is_whole(1, _SIDE), "east_m": _is_real(-4e6, 4e6),
    "north_m": _is_real(-4e6, 4e6),
}  # fmt: skip
_HEADER: dict[str, Test] = {
    "format": _is_one_of("geox"), "geoelastic": _is_text, "grid": _is_object,
    "layout": _is_one_of("uniform", "adaptive"), "method": _is_one_of("conformal", "paper"),
    "requirement": _is_object, "l_from": _is_real(0, _LEVEL), "l_top": _is_real(0, _LEVEL),
    "frame_cells": _is_whole(0, _SIDE), "certificate": _is_object, "info": _is_object, "output": _is_text,
    "exponent": _is_list(2, 2), "sticky": _is_text, "arrays": _is_list(0, 13),
}  # fmt: skip
_RELIEF = {"output": _is_text, "made_for": _is_hash, "certificate": _is_object, "slack": _is_whole(1, 24)}
_REQUIREMENTS: dict[str, dict[str, Test]] = {
    "quadratic": {"l_star": _is_star},
    "linear": {"l_star": _is_star},
    "step": {"level": _is_real(0, _LEVEL), "mass": _is_real(0, _DEMAND)},
    "custom": {"name": _is_text, "levels": _is_list(2, 4097), "masses": _is_list(2, 4097)},
}


def _require_keys(what: str, value: Any, tests: dict[str, Test]) -> None:
    """Exactly these keys, each as its test asks."""
    if not isinstance(value, dict):
        raise refuse(f"{what} must be an object")
    if not set(value) <= set(tests):
        raise refuse(f"{what} has an entry that is not known")
    for key, test in tests.items():
        if key not in value or not test(value[key]):
            raise refuse(f"'{key}' of {what} is missing or out of range")


def require_header(head: Any, version: int) -> None:
    """Refuse a header that no file has; whole numbers become `int`. `version` is the byte before it."""
    sharp = isinstance(head, dict) and "relief" in head
    _require_keys("the header", head, {**_HEADER, "relief": _is_object} if sharp else _HEADER)
    grid = head["grid"]
    _require_keys("the grid", grid, _GRID)
    for where, key in ((grid, "rows"), (grid, "cols"), (head, "frame_cells")):
        where[key] = int(where[key])
    rows, cols = grid["rows"], grid["cols"]
    if rows * cols > _CELLS:
        raise refuse(f"a grid may have {_CELLS} cells")
    if head["frame_cells"] > min(rows, cols) // 2:
        raise refuse("the frame is larger than the grid")
    if not head["l_from"] < head["l_top"]:
        raise refuse("'l_from' must be below 'l_top'")
    _require_requirement(head["requirement"], head["l_top"])
    counts = _counts(head["arrays"])
    _require_kinds(head, counts, version)
    _require_counts(head, counts)


def _require_kinds(head: dict[str, Any], counts: dict[str, int], version: int) -> None:
    heights, places, rises = "height" in counts, "place_east" in counts, "edge_rise" in counts
    # the only exponents with a guarantee: 1/2 on any map, 1 over certified heights
    numbers = [_is_whole(least, most) for least, most in ((1, 1), (1, 1) if heights else (2, 2))]
    if not all(test(value) for test, value in zip(numbers, head["exponent"])):
        raise refuse("no guarantee is known for its exponent")
    if heights != ("relief" in head):
        raise refuse("heights and 'relief' belong together")
    if heights:
        relief = head["relief"] = {"slack": 7, **head["relief"]}
        _require_keys("the relief", relief, _RELIEF)
        relief["slack"] = int(relief["slack"])
    if places != ("place_north" in counts) or (places and "scale" not in counts):
        raise refuse("places belong together, and to scales")
    if rises and "scale" not in counts:
        raise refuse("rises belong to scales")
    if version != (4 if rises else 3 if places else 2 if heights else 1):
        raise refuse("its format is not that of its arrays")


def _counts(described: list[Any]) -> dict[str, int]:
    tests: dict[str, Test] = {
        "name": _is_one_of(*_BY_LOCATION, *_BY_EDGE, *_BY_PAIR),
        "count": _is_whole(0, MAX_COUNT),
    }
    counts: dict[str, int] = {}
    for entry in described:
        times = isinstance(entry, dict) and "times" in entry
        more: dict[str, Test] = {"times": _is_one_of("mass"), "ratio": _is_real(0, 2.0**31)} if times else {}
        _require_keys("an array", entry, {**tests, **more})
        name = entry["name"]
        if name in counts:
            raise refuse("an array is given twice")
        if times and not (name == "measure" and "mass" in counts):
            raise refuse("only the measure may follow the mass")
        counts[name] = entry["count"] = int(entry["count"])
    return counts


def _require_counts(head: dict[str, Any], counts: dict[str, int]) -> None:
    cells = head["grid"]["rows"] * head["grid"]["cols"]
    if (head["layout"] == "adaptive") != ("exponent" in counts):
        raise refuse("sides of locations belong to an adaptive layout")
    n = counts.get("exponent", cells)
    if not 1 <= n <= cells:
        raise refuse("the layout does not tile its grid")
    for name in ("mass", "measure"):
        if name not in counts:
            raise refuse(f"the {name} of locations is missing")
    for name, count in counts.items():
        if name in _BY_LOCATION and count != n:
            raise refuse(f"'{name}' has not one number per location")
    if ("scale" in counts) != (head["method"] == "conformal"):
        raise refuse("scales belong to a conformal metric")
    edges = {counts.get(name) for name in _BY_EDGE}
    if len(edges) != 1 or (edges == {None}) != ("scale" in counts):
        raise refuse("a metric has scales, or edges with two ends and a level")


def _require_requirement(requirement: dict[str, Any], l_top: float) -> None:
    """It asks for something at l_top, and for no more than a map holds."""
    kind = requirement.get("kind")
    if not isinstance(kind, str) or kind not in _REQUIREMENTS:
        raise refuse("its requirement is of no known kind")
    _require_keys("the requirement", requirement, {"kind": _is_text, **_REQUIREMENTS[kind]})
    if kind == "step" and requirement["level"] > l_top:
        raise refuse("its requirement begins beyond 'l_top'")
    if kind == "custom":
        _require_rising(requirement["levels"], requirement["masses"], l_top)
    if not _LEAST_DEMAND <= mass_at(requirement, l_top) <= _DEMAND:
        raise refuse("it asks for no mass at 'l_top', or for more than a map has")


def _require_rising(levels: list[Any], masses: list[Any], l_top: float) -> None:
    known = all(map(_is_real(0, _LEVEL), levels)) and all(map(_is_real(0, 2.0**30), masses))
    known = known and len(levels) == len(masses) and levels[-1] >= l_top
    if not known or not all(a < b for a, b in zip(levels, levels[1:])) or masses != sorted(masses):
        raise refuse("levels and masses of a requirement must rise together, up to 'l_top'")


def mass_at(requirement: dict[str, Any], level: float) -> float:
    """The mass that a requirement asks for at a level."""
    kind = requirement["kind"]
    if kind == "quadratic":
        ratio = level / requirement["l_star"]
        return float(ratio * ratio)
    if kind == "linear":
        return float(level / requirement["l_star"])
    if kind == "step":
        return float(requirement["mass"]) if level >= requirement["level"] else 0.0
    steps = zip(requirement["levels"], requirement["masses"])
    return float(next(mass for known, mass in steps if known >= level))


def require_arrays(head: dict[str, Any], arrays: dict[str, list[int]]) -> None:
    """Refuse arrays with numbers out of range."""
    for name, most in {**_BY_LOCATION, **_BY_EDGE, **_BY_PAIR}.items():
        if arrays.get(name) and max(arrays[name]) > most:
            raise refuse(f"'{name}' has a number above {most}")
    sides, grid = arrays.get("exponent"), head["grid"]
    if sides and sum(sides.count(k) << (2 * k) for k in range(9)) != grid["rows"] * grid["cols"]:
        raise refuse("the layout does not tile its grid")
    if sum(arrays["mass"]) > _MASS:
        raise refuse("it has more mass than a map may have")
    if not 1 <= sum(arrays["measure"]) <= _MEASURE:
        raise refuse(f"the measure must be between 1 and {_MEASURE} in all")
    tails, tips = arrays.get("edge_i", []), arrays.get("edge_j", [])
    n = len(arrays["mass"])
    if not all(i < j < n for i, j in zip(tails, tips)):
        raise refuse("an edge must join two locations, the lower number first")
    fence = arrays.get("fence")
    if fence and any(fence[i] or fence[j] for i, j in zip(tails, tips)):
        raise refuse("an edge leads into a fence or out of it")
