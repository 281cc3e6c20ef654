# SPDX-License-Identifier: Apache-2.0
"""Pages whose figures come from the record: `docs/measured.md` as a whole, and marked places of other pages.

A place of a page is marked by comments, in a line or around lines of their own::

    <!-- measured: limit -->          the whole text of a measurement, with a line that says when and on what
    <!-- end -->
    <!-- measured: limit/gap -->1.08<!-- end -->      one of its `parts`, and nothing else

What stands between them is written anew from the record, or says that there is none yet. A page that says anything
else fails a test. A place that is marked as *noted*, `measured: NAME noted`, keeps what an earlier run printed until
there is a record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..store.atomic import write_bytes
from ._record import read_record

#: By the name of a measurement: what it was about, what we set out for, and what its rows say, a line each.
Summaries = Mapping[str, Callable[[list[dict[str, Any]]], list[tuple[str, str, str]]]]

_PLACE = re.compile(r"(<!-- measured: ([\w-]+)(?:/([\w-]+))?( noted)? -->)(.*?)(<!-- end -->)", re.DOTALL)
_HEAD = """<!-- Written by geoelastic bench from docs/measured/*.json: run a measurement with --write, do not edit. -->

# What was measured

Every figure here is in the record, one file per measurement in `docs/measured/`, with command, machine, day, commit,
load and versions. `geoelastic bench NAME --write` measures again and writes the file and this page;
`geoelastic bench all --write` does it for all of them (`--list` says how long each took). Where a figure falls short of
what we set out for, it says so.
"""
_NOTED = (
    "Lines marked *noted* were copied from what their command printed, at that commit or before: some are not measured "
    "by `geoelastic bench`, the others give way when their measurement is recorded."
)


def write_pages(docs: Path, titles: Mapping[str, str], summaries: Summaries) -> list[Path]:
    """Write what the record says into the pages beside it and the README above; the pages that changed."""
    record = read_record(docs)
    readme = docs.parent / "README.md"
    pages = [*sorted(docs.glob("*.md")), *([readme] if readme.is_file() else [])]
    texts = {page: filled(page.read_text(encoding="utf-8"), record, page.name) for page in pages}
    texts[docs / "measured.md"] = measured_page(record, titles, summaries)
    changed = [page for page, text in texts.items() if not page.is_file() or page.read_text(encoding="utf-8") != text]
    for page in changed:
        write_bytes(page, texts[page].encode())
    return changed


def filled(text: str, record: Mapping[str, dict[str, Any]], page: str = "the page") -> str:
    """A page with its marked places written anew."""

    def place(match: re.Match[str]) -> str:
        opening, name, part, noted, _, closing = match.groups()
        entry = record.get(name)
        if noted and (entry is None or "noted" in entry):
            return match.group()
        opening = opening.replace(" noted -->", " -->")
        if entry is None or "noted" in entry:
            return f"{opening}*not recorded yet: `geoelastic bench {name} --write`*{closing}"
        if part is None:
            return f"{opening}\n{entry['text']}\n\n{_circumstances(entry)}\n{closing}"
        if part not in entry["parts"]:
            raise InputError(
                f"{page} shows '{name}/{part}', and the record of {name} has no such part: is it a part of the "
                f"measurement now? Then `geoelastic bench {name} --write` puts it there"
            )
        shown = entry["parts"][part]
        return f"{opening}\n{shown}\n{closing}" if "\n" in shown else f"{opening}{shown}{closing}"

    return _PLACE.sub(place, text)


def measured_page(record: Mapping[str, dict[str, Any]], titles: Mapping[str, str], summaries: Summaries) -> str:
    """docs/measured.md: one table of what we set out for and what came of it, then each measurement's own."""
    lines = ["| what | set out for | measured | command | when |", "|---|---|---|---|---|"]
    lines += [line for name, entry in record.items() for line in _summary(name, entry, summaries)]
    parts = [_HEAD, "\n".join(lines)]
    if any("noted" in entry for entry in record.values()):
        parts.append(_NOTED)
    for name, entry in record.items():
        if "rows" in entry:
            title = titles.get(name, name).rstrip(".")
            parts.append(f"## {name}: {title}\n\n{_circumstances(entry)}\n\n{entry['text']}")
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _summary(name: str, entry: dict[str, Any], summaries: Summaries) -> list[str]:
    """An entry's lines of the table. Each noted line has its own command and day."""
    if "noted" in entry:
        return [_line(n["what"], n["target"], n["measured"], entry | n, ", *noted*") for n in entry["noted"]]
    return [_line(*found, entry) for found in (summaries[name](entry["rows"]) if name in summaries else [])]


def _line(what: str, target: str, measured: str, entry: dict[str, Any], mark: str = "") -> str:
    return f"| {what} | {target} | {measured} | `{entry['command']}` | {entry['date']}, {entry['commit']}{mark} |"


def _circumstances(entry: dict[str, Any]) -> str:
    machine, took = entry["machine"], entry["took"]
    known = ", ".join(f"{name} {number}" for name, number in entry["versions"].items() if number)
    return (
        f"*`{entry['command']}`, {entry['date']}, commit {entry['commit']}, {took['wall_s']:,.0f} s "
        f"({took['cpu_s']:,.0f} s of processor time) on {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_GB']} GB, load {machine['load']} when it began; {known}*"
    )
