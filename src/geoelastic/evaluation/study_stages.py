# SPDX-License-Identifier: Apache-2.0
"""Stages of a long study: each result is kept under a hash of everything it depends on, so that a run can be resumed.

A stage is found again only if its inputs, its options, the version of geoelastic and the source of the code that
computes it are the same; a file name alone never decides. Results are plain JSON, written to a temporary name and then
moved into place.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import FileError
from ..store.atomic import write_bytes

__all__ = ["EVALUATION", "METRIC", "Stages", "digest_of", "file_digest", "plain", "source_digest"]

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
    return digest_of({f.relative_to(root).as_posix(): file_digest(f) for f in files})


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file's content."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"{path}: cannot be read") from error


def digest_of(key: Any) -> str:
    """SHA-256 of plain data, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(plain(key), sort_keys=True).encode()).hexdigest()


def plain(value: Any) -> Any:
    """Arrays, numpy numbers and tuples as JSON data; infinite numbers as text, since JSON has none."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "infinite" if value > 0 else "-infinite"
    return value


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
        code = source_digest(source)
        digest = digest_of({"stage": name, "version": __version__, "code": code, "key": key})
        safe = "".join(c if c.isalnum() else "-" for c in name).strip("-").lower()
        return self.folder / f"{safe}-{digest[:20]}{suffix}"

    def run(self, name: str, key: Any, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result of `compute`, or what an earlier run with the same key left."""
        path = self.path(name, key, ".json")
        start = time.perf_counter()
        found = path.is_file()
        if found:
            result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        else:
            result = plain(compute())
            write_bytes(path, json.dumps(result).encode())
        self.note(name, time.perf_counter() - start, found)
        return result

    def note(self, name: str, seconds: float, found: bool) -> None:
        """Record a stage that keeps its result in a file of its own."""
        self.log.append({"stage": name, "seconds": round(seconds, 2), "found": found})
        if self.show:
            import sys

            print(f"{name}: {'found' if found else f'{seconds:.1f} s'}", file=sys.stderr, flush=True)
