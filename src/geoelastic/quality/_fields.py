# SPDX-License-Identifier: Apache-2.0
"""Reading a table of settings: every fault is noted, all are raised at once."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Any

from ..errors import InputError


class Faults:
    """What is wrong with a document, gathered from all its tables."""

    def __init__(self, document: str) -> None:
        self._document = document
        self._found: list[str] = []
        self.tables: list[Fields] = []

    def add(self, message: str) -> None:
        self._found.append(message)

    def raise_if_any(self) -> None:
        """What was noted, and fields that nobody has asked for."""
        found = [*self._found, *(message for table in self.tables for message in table.unknown())]
        if found:
            raise InputError(f"{self._document}: " + "; ".join(found))


class Fields:
    """One table of a document. Asking for a field marks it as known."""

    def __init__(self, table: Any, where: str, faults: Faults) -> None:
        self._where, self.faults = where, faults
        self._known: set[str] = set()
        faults.tables.append(self)
        if not isinstance(table, dict):
            faults.add(f"'{where}' must be a table, got {table!r}")
            table = {}
        self._table: dict[str, Any] = table

    def __contains__(self, name: str) -> bool:
        return name in self._table

    def path(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name

    def fault(self, name: str, must: str) -> None:
        self.faults.add(f"'{self.path(name)}' must be {must}, got {self._table.get(name)!r}")

    def raw(self, name: str, default: Any = None) -> Any:
        self._known.add(name)
        return self._table.get(name, default)

    def text(self, name: str, default: str | None = None, *, needed: bool = False) -> str:
        value = self.raw(name, default)
        if value is None and not needed:
            return ""
        if not isinstance(value, str) or (needed and not value):
            self.fault(name, "a text")
            return ""
        return value

    def choice(self, name: str, options: Iterable[str], default: str) -> str:
        value = self.raw(name, default)
        names = list(options)
        if value not in names:
            self.fault(name, "one of " + ", ".join(map(repr, names)))
            return default
        return str(value)

    def number(
        self, name: str, default: float, *, least: float = 0.0, most: float = math.inf, open_: bool = False
    ) -> float:
        """A number in [least, most], or in (least, most] with `open_`."""
        value = self.raw(name, default)
        good = isinstance(value, int | float) and not isinstance(value, bool)
        good = good and (isinstance(value, float) or abs(value) <= sys.float_info.max)  # digits are not limited there
        if not (good and (least < value if open_ else least <= value) and value <= most):
            bounds = f"{'>' if open_ else '>='} {least:g}" + (f" and <= {most:g}" if most < math.inf else "")
            self.fault(name, f"a number {bounds}")
            return default
        return float(value)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.raw(name, [])
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
            self.fault(name, "a list of texts")
            return ()
        return tuple(value)

    def items(self, name: str) -> list[Any]:
        value = self.raw(name, [])
        if not isinstance(value, list):
            self.fault(name, "a list")
            return []
        return value

    def table(self, name: str) -> Fields:
        return Fields(self.raw(name, {}), self.path(name), self.faults)

    def rest(self) -> dict[str, Any]:
        """All fields not asked for yet, now known."""
        found = {k: v for k, v in self._table.items() if k not in self._known}
        self._known.update(found)
        return found

    def unknown(self) -> list[str]:
        known = ", ".join(sorted(self._known))
        rest = sorted(set(self._table) - self._known)
        return [f"'{self.path(name)}' is not a known setting (known: {known})" for name in rest]
