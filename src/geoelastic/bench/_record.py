# SPDX-License-Identifier: Apache-2.0
"""The record of measurements: one file per measurement, `docs/measured/NAME.json`, with all that its figures depend on.

A measurement is recorded whole and by itself, so that a long one need not be repeated for the sake of another, and the
files of two people never clash. Pages take their figures from the record (`_pages`) and from nowhere else.

What was measured by other commands than `geoelastic bench` (days of fuzzing and of killed work, a study of real traces)
is *noted*: an entry with its command, its date, and sentences in place of rows.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..errors import FileError
from ..store.atomic import write_bytes
from ._reach import reached

#: What figures depend on besides our own code.
_PACKAGES = ("geoelastic", "numpy", "scipy", "numba", "pyarrow")
_REQUIRED = {"command": str, "date": str, "commit": str, "machine": dict, "versions": dict}


def circumstances(docs: Path) -> dict[str, Any]:
    """The machine, the day, the commit and the versions: what a figure may depend on. Names nobody and no folder."""
    return {
        "date": _today(),
        "commit": _commit(docs),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_GB": _memory_gb(),
            "system": f"{platform.system()} {platform.machine()}",
            "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        },
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in _PACKAGES}},
    }


def is_recorded(docs: Path, name: str, *, timed: bool = False) -> bool:
    """Whether a measurement was recorded today, and no code that it reaches differs from what it was recorded with.

    `timed`: its figures are seconds, so that a record counts only if it was made while nobody else was at work.
    """
    path = docs / "measured" / f"{name}.json"
    entry = _entry(path) if path.is_file() else {}
    if "rows" not in entry or entry["date"] != _today() or "changed" in entry["commit"]:
        return False
    machine = entry["machine"]
    if timed and machine.get("load") is not None and machine["load"] > 1.5 * (machine.get("cores") or 1):
        return False
    code = reached(name)
    return _git(docs, "diff", "--quiet", entry["commit"], "--", *code) == "" and (
        _git(docs, "ls-files", "--others", "--exclude-standard", "--", *code) == ""
    )


def keep(
    docs: Path, name: str, result: Mapping[str, Any], *, command: str, began: dict[str, Any], took: dict[str, float]
) -> Path:
    """Record what a measurement returned; `began`: the circumstances in which it began."""
    entry = {
        "command": command,
        **began,
        "took": took,
        "rows": result["rows"],
        "text": result["text"],
        "parts": dict(result.get("parts", {})),
    }
    path = docs / "measured" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    for image, picture in result.get("images", {}).items():
        (docs / "img").mkdir(exist_ok=True)
        write_bytes(docs / "img" / image, picture)
    content = json.dumps(entry, indent=1, ensure_ascii=False, allow_nan=False, default=_plain)
    write_bytes(path, (content + "\n").encode())
    return path


def read_record(docs: Path) -> dict[str, dict[str, Any]]:
    """Every entry of the record, by the name of its measurement."""
    return {path.stem: _entry(path) for path in sorted((docs / "measured").glob("*.json"))}


def _entry(path: Path) -> dict[str, Any]:
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: is not readable JSON") from error
    if not isinstance(entry, dict):
        raise FileError(f"{path}: must hold one object")
    for key, kind in _REQUIRED.items():
        if not isinstance(entry.get(key), kind):
            raise FileError(f"{path}: must say its '{key}'")
    if ("rows" in entry) == ("noted" in entry):
        raise FileError(f"{path}: must have either 'rows' or 'noted'")
    return entry


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


def _commit(docs: Path) -> str:
    """The commit that is measured, and whether the code differs from it."""
    changed = _git(docs, "status", "--porcelain", "--untracked-files=no", "--", ":/src")
    head = _git(docs, "rev-parse", "--short=10", "HEAD")
    return "unknown" if head is None else head + (", changed" if changed else "")


def _git(docs: Path, *arguments: str) -> str | None:
    """What git says; nothing, if it cannot or says no."""
    try:
        done = subprocess.run(["git", *arguments], cwd=docs, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    found = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return found[0] if found else platform.machine()


def _memory_gb() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9)
    except (AttributeError, ValueError, OSError):
        return None


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a row holds a {type(value).__name__}, which is no plain data")
