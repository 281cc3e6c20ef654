# SPDX-License-Identifier: Apache-2.0
"""Measurements: each module in this package is one, and is found by its name.

A module has ``run(*, progress: bool) -> {"rows": [plain data, ...], "text": a Markdown table}``, and maybe options of
its own; the first line of its docstring is its title.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from ..errors import require_choice

__all__ = ["bench_names", "run_benches"]


def bench_names() -> dict[str, str]:
    """The measurements there are, with their titles."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    return {name: (import_module(f".{name}", __name__).__doc__ or "").strip().split("\n")[0] for name in names}


def run_benches(
    names: Sequence[str] = (), *, progress: bool = False, options: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Run the measurements called `names` (all, if none is named): their rows by name, and one Markdown text.

    `options`: by name, what else a measurement is told.
    """
    known = bench_names()
    chosen = [require_choice("name", name, known) for name in names] or list(known)
    more = options or {}
    results = {
        name: import_module(f".{name}", __name__).run(progress=progress, **more.get(name, {})) for name in chosen
    }
    text = "\n\n".join(f"## {known[name].rstrip('.')}\n\n{result['text']}" for name, result in results.items())
    return {"benches": {name: result["rows"] for name, result in results.items()}, "text": text}
