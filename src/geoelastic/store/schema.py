# SPDX-License-Identifier: Apache-2.0
"""Closed checks of what a file says, before anything is made of it.

A file may come from a stranger. So nothing in it is believed: JSON is bounded in size, depth and length of numbers
before it is parsed; an object has exactly the entries that it must or may have; a value has its type and lies in its
range, or a `FileError` names it. The same rules, in ``docs/format.md``, hold for the JavaScript client.

JSON knows one type of number: 8 and 8.0 are the same whole number, in every language.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import IntArray
from ..errors import FileError

#: Bytes, nesting and characters of a number that a header or a manifest may have.
JSON_BYTES, JSON_DEPTH, JSON_DIGITS = 2**20, 32, 32
#: Characters of a string, counted as UTF-16 does, since that is what JavaScript counts.
TEXT = 1000
_ESCAPED = re.compile(r"\\.", re.DOTALL)
#: What numbers are spelt with becomes "0", brackets stay: so that both are found by looking for bytes.
_BRACKETS = b"[{]}"
_SPELT = bytes(byte if byte in _BRACKETS else 48 if byte in b"-+.0123456789eE" else 32 for byte in range(256))
_SHOWN = 40


def parse_json(content: bytes, what: str, *, most: int = JSON_BYTES) -> Any:
    """The value of a JSON text in UTF-8 of at most so many bytes; keys are unique and numbers finite."""
    if len(content) > most:
        raise FileError(f"the {what} must be at most {most} bytes long, it has {len(content)}")
    try:
        source = content.decode()
        _scan(source, what)
        value = json.loads(
            source, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite, parse_int=int
        )
        if "\\u" in source:  # the only way to spell half of a character
            _require_text(value)
    except UnicodeError:
        raise FileError(f"the {what} must be JSON in UTF-8") from None
    except (ValueError, RecursionError):
        raise FileError(f"the {what} must be JSON with finite numbers and no key twice") from None
    return value


def _scan(source: str, what: str) -> None:
    outside = " ".join(_ESCAPED.sub("", source).split('"')[::2])  # every other quote ends a string
    bare, depth = outside.encode().translate(_SPELT), 0
    if b"0" * (JSON_DIGITS + 1) in bare:
        raise FileError(f"numbers in the {what} must have at most {JSON_DIGITS} characters")
    for bracket in bare.translate(None, b" 0"):
        depth += 1 if bracket in b"[{" else -1
        if depth > JSON_DEPTH:
            raise FileError(f"the {what} must be nested at most {JSON_DEPTH} deep")


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


def _require_text(value: Any) -> None:
    """UnicodeEncodeError if a string is half of a character, which JSON can spell."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, dict):
        for name, inner in value.items():
            name.encode()
            _require_text(inner)
    elif isinstance(value, list):
        for inner in value:
            _require_text(inner)


def closed(value: Any, name: str, *, needs: Collection[str], may: Collection[str] = ()) -> dict[str, Any]:
    """An object with all entries that it needs, and none besides those that it may have."""
    if not isinstance(value, dict):
        raise FileError(f"'{name}' must be an object, got {_shown(value)}")
    for missing in needs:
        if missing not in value:
            raise FileError(f"'{name}' must have the entry '{missing}'")
    for key in value:
        if key not in needs and key not in may:
            raise FileError(f"'{name}' must have no entry {_shown(key)}: nothing of this name is known")
    return value


def whole(value: Any, name: str, low: int, high: int) -> int:
    """A whole number in [low, high]."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
    if not fits or value != int(value):
        raise FileError(f"'{name}' must be a whole number in [{low}, {high}], got {_shown(value)}")
    return int(value)


def wholes(values: list[Any], name: str, low: int, high: int) -> None:
    """Whole numbers in [low, high], many of them."""
    if values and not (set(map(type, values)) == {int} and low <= min(values) and max(values) <= high):
        for value in values:
            whole(value, name, low, high)


def number(value: Any, name: str, low: float, high: float) -> float:
    """A number in [low, high] (a positive test, so that NaN fails)."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise FileError(f"'{name}' must be a number in [{low:g}, {high:g}], got {_shown(value)}")
    return float(value)


def text(value: Any, name: str, *, choices: Collection[str] = (), pattern: str = "") -> str:
    """A string of at most `TEXT` characters; one of the choices, and all of it like the pattern, if there are any."""
    # half of a pair of surrogates is no character, and no file or terminal takes it
    if (
        not isinstance(value, str)
        or len(value) > TEXT
        or (not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value))
        or (not value.isascii() and len(value.encode("utf-16-le")) > 2 * TEXT)
    ):
        raise FileError(f"'{name}' must be a string of at most {TEXT} characters, got {_shown(value)}")
    if choices and value not in choices:
        raise FileError(f"'{name}' must be {' or '.join(map(repr, choices))}, got {_shown(value)}")
    if pattern and not re.fullmatch(pattern, value):
        raise FileError(f"'{name}' must be like {pattern}, got {_shown(value)}")
    return value


def listed(value: Any, name: str, *, least: int = 0, most: int) -> list[Any]:
    """A list of so many entries."""
    if not isinstance(value, list) or not least <= len(value) <= most:
        raise FileError(f"'{name}' must be a list of {least} to {most} entries, got {_shown(value)}")
    return value


def table(value: Any, name: str, *, rows: int, cols: int) -> list[Any]:
    """The entries of a list of so many lists of so many entries, row by row."""
    found = listed(value, name, least=rows, most=rows)
    if set(map(type, found)) != {list} or set(map(len, found)) != {cols}:
        for row in found:
            listed(row, name, least=cols, most=cols)
    return list(chain.from_iterable(found))


def within(columns: Mapping[str, npt.NDArray[Any]], name: str, low: int, high: int) -> IntArray:
    """A column of whole numbers, all of them in [low, high]."""
    require_within(columns[name], name, low, high)
    return columns[name].astype(np.int64)


def require_within(values: npt.NDArray[Any], name: str, low: int, high: int) -> None:
    """Refuse what are not whole numbers in [low, high]."""
    if values.dtype.kind not in "iub":
        raise FileError(f"'{name}' must be whole numbers, got {values.dtype}")
    if values.size and not (low <= int(values.min()) and int(values.max()) <= high):
        raise FileError(f"'{name}' must be in [{low}, {high}], got {int(values.min())} to {int(values.max())}")


def _shown(value: Any) -> str:
    """A value in a message, shortened."""
    shown = f"{type(value).__name__} of {len(value)}" if isinstance(value, dict | list) else ascii(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
