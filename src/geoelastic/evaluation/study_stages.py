# SPDX-License-Identifier: Apache-2.0
"""Stages of a long study: each result is kept under a hash of everything it depends on, so that a run can be resumed.

The source of the code that computes a result is among them (see `store.kept`). Results are plain JSON.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ..arrays import to_plain
from ..store.atomic import write_bytes
from ..store.digest import digest, file_digest
from ..store.kept import kept, kept_name

#: parts of the package that decide a result of the evaluation, given a metric, and those that decide a metric
EVALUATION = ("_kernels", "evaluation", "levels.py", "mechanism")
METRIC = ("_kernels", "area.py", "fences", "levels.py", "locations", "mass", "metric", "quality", "sources")


@cache
def source_digest(parts: tuple[str, ...]) -> str:
    """SHA-256 of the source of parts of the package: a change of code is a change of what a result depends on."""
    root = Path(__file__).resolve().parents[1]
    files = sorted(
        f for part in parts for f in ([root / part] if part.endswith(".py") else (root / part).rglob("*.py"))
    )
    return digest({f.relative_to(root).as_posix(): file_digest(f) for f in files})


def plain(value: Any) -> Any:
    """Arrays, numpy numbers and tuples as JSON data; infinite numbers as text, since JSON has none."""
    return to_plain(value, lambda number: {math.inf: "infinite", -math.inf: "-infinite"}.get(number, number))


@dataclass
class Stages:
    """Results kept in a folder. `log` has a line for each stage: its name, seconds, and whether it was found."""

    folder: Path
    show: bool = False
    log: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, name: str, key: Any, suffix: str, *, source: tuple[str, ...] = EVALUATION) -> Path:
        """The file of a stage's result, which the parts `source` of the package compute."""
        safe = "".join(c if c.isalnum() else "-" for c in name).strip("-").lower()
        return self.folder / kept_name(safe, name, source_digest(source), plain(key), suffix=suffix)

    def run(self, name: str, key: Any, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result of `compute`, or what an earlier run with the same key left."""
        path = self.path(name, key, ".json")
        start = time.perf_counter()
        found = path.is_file()
        result: dict[str, Any] = kept(
            path,
            lambda found: json.loads(found.read_text(encoding="utf-8")),
            lambda: plain(compute()),
            lambda made, target: write_bytes(target, json.dumps(made).encode()),
        )
        self.note(name, time.perf_counter() - start, found)
        return result

    def note(self, name: str, seconds: float, found: bool) -> None:
        """Record a stage that keeps its result in a file of its own."""
        self.log.append({"stage": name, "seconds": round(seconds, 2), "found": found})
        if self.show:
            import sys

            print(f"{name}: {'found' if found else f'{seconds:.1f} s'}", file=sys.stderr, flush=True)
