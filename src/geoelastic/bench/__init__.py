# SPDX-License-Identifier: Apache-2.0
"""Measurements: each module in this package is one, and is found by its name.

A module has ``run(*, tell) -> {"rows": [plain data, ...], "text": a Markdown table}``, and maybe options of its own;
the first line of its docstring is its title. Recording is done here, once for all of them, and so is showing the steps
that it tells (one that shows bars of its own asks for `progress`, a bool). A module may also

- return ``"parts": {name: Markdown}``, which pages show one by one (`_pages`), and ``"images": {name: bytes}``, which
  are kept in ``docs/img``;
- have ``summary(rows) -> [(what, set out for, measured), ...]``, its lines in the table of ``docs/measured.md``;
- have ``RECORDED``, options that it is recorded with unless they are given.
"""

from __future__ import annotations

import os
import pkgutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import GeoelasticError, InputError, require_choice
from ..progress import progress_bar
from ._pages import Summaries, write_pages
from ._record import circumstances, is_recorded, keep, read_record
from ._tools import apart, reset_peak, steps, stopwatch

__all__ = ["TIMED", "Due", "bench_names", "plan", "run_benches", "write_docs"]

#: Measurements whose figures are seconds: they come first and in this order, the longest last (`packs` opens the
#: country that `scale` has built), and only a quiet machine's record counts.
TIMED = (
    "osm", "paths", "report", "device", "commands", "carve", "client", "extension", "traces", "growth", "scale",
    "packs", "service", "reproduce", "build",
)  # fmt: skip


def bench_names() -> dict[str, str]:
    """The measurements there are, with their titles."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    return {name: (_module(name).__doc__ or "").strip().split("\n")[0] for name in names}


@dataclass(frozen=True)
class Due:
    """A measurement that is to be made: its title, the processor seconds it took last time (if it was recorded), and
    whether it is recorded already, today and by this code."""

    name: str
    title: str
    cpu_s: float | None
    done: bool


def plan(names: Sequence[str] = (), *, docs: str | Path | None = None, again: bool = False) -> list[Due]:
    """What the measurements called `names` (all, if none is named) would do: those of times first, while the machine
    is quiet (`TIMED`), then the others, which share it, those that take longest first.

    `docs`: by the record in this folder of pages. `again`: also what is recorded already.
    """
    known = bench_names()
    every = list(names) in ([], ["all"])
    chosen = list(known) if every else [require_choice("name", name, known) for name in names]
    folder = None if docs is None else _folder(docs)
    record = {} if folder is None else read_record(folder)
    found = [
        Due(
            name,
            known[name],
            record.get(name, {}).get("took", {}).get("cpu_s"),
            every and not again and _is_done(folder, name),
        )
        for name in chosen
    ]
    return sorted(found, key=_turn) if every else found


def _turn(due: Due) -> tuple[int, float]:
    """When a measurement is made; one that was never recorded after all others, as nobody knows how long it takes."""
    if due.name in TIMED:
        return TIMED.index(due.name), 0
    return len(TIMED), -(due.cpu_s or 0.0)


def _is_done(folder: Path | None, name: str) -> bool:
    return folder is not None and is_recorded(folder, name, timed=name in TIMED)


def run_benches(
    names: Sequence[str] = (),
    *,
    progress: bool = False,
    options: Mapping[str, Any] | None = None,
    docs: str | Path | None = None,
    again: bool = False,
) -> dict[str, Any]:
    """Run the measurements called `names` (all, if none is named): their rows by name, and one Markdown text.

    `options`: told to each measurement that knows them; one of them must. `docs`: record each as soon as it is done in
    this folder of pages, and bring the pages up to date; of all of them, those are left out that were recorded today by
    this code, unless asked `again`, so that a stopped run goes on where it was. One of several that cannot be made here
    (its data are missing, say) is told, and does not keep the others from being made. Of several each has a process of
    its own, and where figures are not seconds two are made at a time; they share the maps and the stages that one of
    them has made, in the `folder` of the options or one for the while.
    """
    folder = None if docs is None else _folder(docs)
    chosen = plan(names, docs=folder, again=again)
    given = {key: value for key, value in (options or {}).items() if value not in (None, False)}
    _require_taken(given, [one.name for one in chosen])
    due = [one for one in chosen if not one.done]
    skips = list(names) in ([], ["all"]) and not again
    results, failed = dict[str, Any](), dict[str, str]()
    with tempfile.TemporaryDirectory() as scratch:
        shared = {"folder": scratch} if len(due) > 1 else {}

        def measure(one: Due, bars: bool) -> dict[str, Any] | str | None:
            if skips and _is_done(folder, one.name):  # by now, in another run beside this one
                return None
            # what one holds in memory is not another's: only what lies in the folder is shared
            try:
                return apart(_run_or_say_why, one.name, bars, shared | given, folder)
            except BrokenProcessPool:
                return "its process was ended before it was done"

        if len(due) == 1:
            results[due[0].name] = _run(due[0].name, progress, shared | given, folder)
        else:
            alone = [one for one in due if one.name in TIMED]
            found = {one.name: measure(one, progress) for one in alone}
            found |= _side_by_side(measure, [one for one in due if one not in alone], progress)
            results = {name: result for name, result in found.items() if isinstance(result, dict)}
            failed = {name: why for name, why in found.items() if isinstance(why, str)}
    titles = {one.name: one.title.rstrip(".") for one in due}
    text = "\n\n".join(f"## {titles[name]}\n\n{result['text']}" for name, result in results.items())
    written = [] if folder is None else write_docs(folder)
    told = [f"not measured: {name}: {why}" for name, why in failed.items()] + [f"written: {path}" for path in written]
    return {
        "benches": {name: result["rows"] for name, result in results.items()},
        **({} if folder is None else {"written": written}),
        **({"ok": False, "failed": failed} if failed else {}),
        "text": "\n\n".join(filter(None, [text, *told])) or "all recorded today by this code (--again to repeat)",
    }


def _side_by_side(
    measure: Callable[[Due, bool], dict[str, Any] | str | None], due: Sequence[Due], progress: bool
) -> dict[str, dict[str, Any] | str | None]:
    """Measurements whose figures do not depend on who else is at work, two at a time; one bar for all of them."""
    at_once = min(2, os.cpu_count() or 1)
    with ThreadPoolExecutor(at_once) as pool, progress_bar("bench", len(due), show=progress) as bar:
        asked = {pool.submit(measure, one, False): one.name for one in due}
        for done, one in enumerate(as_completed(asked), 1):
            bar.update(done, note=asked[one])
        return {name: one.result() for one, name in asked.items()}


def write_docs(docs: str | Path) -> list[str]:
    """Write the pages of `docs`, and the README above, anew from the record; the names of those that changed."""
    return [path.as_posix() for path in write_pages(_folder(docs), bench_names(), _summaries())]


def _run_or_say_why(name: str, progress: bool, given: dict[str, Any], docs: Path | None) -> dict[str, Any] | str:
    """What was measured, or why it cannot be."""
    try:
        return _run(name, progress, given, docs)
    except GeoelasticError as error:
        return str(error)


def _run(name: str, progress: bool, given: dict[str, Any], docs: Path | None) -> dict[str, Any]:
    module = _module(name)
    function = module.run
    known = signature(function).parameters
    reset_peak()
    usual = getattr(module, "RECORDED", {}) if docs is not None and "map_file" not in given else {}
    options = {key: value for key, value in (usual | given).items() if key in known}
    began, clock = circumstances(docs or Path()), stopwatch()
    with steps(f"bench {name}", show=progress) as tell:
        told = {key: value for key, value in (("tell", tell), ("progress", progress)) if key in known}
        result: dict[str, Any] = function(**told, **options)
    if docs is not None:
        # folders are this machine's business, switches and numbers belong to the command
        switches = [f"--{key}" for key, value in options.items() if value is True]
        switches += ["--map FILE"] * ("map_file" in options)
        switches += [f"--{key.removesuffix('_km')} {value:g}" for key, value in options.items() if _is_number(value)]
        keep(docs, name, result, command=" ".join(["geoelastic bench", name, *switches]), began=began, took=clock())
    return result


def _require_taken(options: Iterable[str], names: Sequence[str]) -> None:
    """Every option must be one of some measurement that is to be made: else it would do nothing, and say nothing."""
    for key in options:
        takers = [name for name in bench_names() if key in signature(_module(name).run).parameters]
        if not set(takers) & set(names):
            flag = f"--{key.removesuffix('_file').removesuffix('_km')}"
            raise InputError(f"'{flag}' must be an option of {', '.join(names)}; it is one of {', '.join(takers)}")


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
