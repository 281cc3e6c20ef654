# SPDX-License-Identifier: Apache-2.0
"""Measurements: each module in this package is one, and is found by its name.

A module has ``run(*, progress: bool) -> {"rows": [plain data, ...], "text": a Markdown table}``, and maybe options of
its own; the first line of its docstring is its title. Recording is done here, once for all of them. A module may also

- return ``"parts": {name: Markdown}``, which pages show one by one (`_pages`), and ``"images": {name: bytes}``, which
  are kept in ``docs/img``;
- have ``summary(rows) -> [(what, set out for, measured), ...]``, its lines in the table of ``docs/measured.md``.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import InputError, require_choice
from ._pages import Summaries, write_pages
from ._record import circumstances, keep, stopwatch

__all__ = ["bench_names", "run_benches", "write_docs"]


def bench_names() -> dict[str, str]:
    """The measurements there are, with their titles."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    return {name: (_module(name).__doc__ or "").strip().split("\n")[0] for name in names}


def run_benches(
    names: Sequence[str] = (),
    *,
    progress: bool = False,
    options: Mapping[str, Any] | None = None,
    docs: str | Path | None = None,
) -> dict[str, Any]:
    """Run the measurements called `names` (all, if none is named): their rows by name, and one Markdown text.

    `options`: told to each measurement that knows them. `docs`: record each as soon as it is done in this folder of
    pages, and bring the pages up to date.
    """
    known = bench_names()
    chosen = list(known) if list(names) in ([], ["all"]) else [require_choice("name", name, known) for name in names]
    folder = None if docs is None else _folder(docs)
    results = {name: _run(name, progress, options or {}, folder) for name in chosen}
    text = "\n\n".join(f"## {known[name].rstrip('.')}\n\n{result['text']}" for name, result in results.items())
    written = [] if folder is None else write_docs(folder)
    return {
        "benches": {name: result["rows"] for name, result in results.items()},
        **({} if folder is None else {"written": written}),
        "text": "\n\n".join([text, *(f"written: {path}" for path in written)]),
    }


def write_docs(docs: str | Path) -> list[str]:
    """Write the pages of `docs`, and the README above, anew from the record; the names of those that changed."""
    return [path.as_posix() for path in write_pages(_folder(docs), bench_names(), _summaries())]


def _run(name: str, progress: bool, given: Mapping[str, Any], docs: Path | None) -> dict[str, Any]:
    function = _module(name).run
    known = signature(function).parameters
    options = {key: value for key, value in given.items() if key in known and value is not None}
    began, clock = circumstances(docs or Path()), stopwatch()
    result: dict[str, Any] = function(progress=progress, **options)
    if docs is not None:
        # folders are this machine's business, switches and numbers belong to the command
        switches = [f"--{key}" for key, value in options.items() if value is True]
        switches += [f"--{key.removesuffix('_km')} {value:g}" for key, value in options.items() if _is_number(value)]
        keep(docs, name, result, command=" ".join(["geoelastic bench", name, *switches]), began=began, took=clock())
    return result


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _summaries() -> Summaries:
    found = {name: getattr(_module(name), "summary", None) for name in bench_names()}
    return {name: summary for name, summary in found.items() if summary is not None}


def _module(name: str) -> ModuleType:
    return import_module(f".{name}", __name__)


def _folder(docs: str | Path) -> Path:
    folder = Path(docs)
    if not folder.is_dir():
        raise InputError(f"'docs' must be the folder of the project's pages, there is none called {str(docs)!r}")
    return folder
