# SPDX-License-Identifier: Apache-2.0
"""Progress for anything over two seconds: on stderr, and only where asked for. A bar on a terminal, and in a log a line
now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

#: Seconds between lines of a log.
_EVERY = 30.0


class Bar:
    """What long work reports to, and `show` is told."""

    def __init__(self, show: Callable[..., Any] = lambda completed, note: None) -> None:
        self._show = show

    def update(self, done: float, *, note: str = "") -> None:
        """So much is done."""
        self._show(completed=done, note=note)


class _Lines:
    """How much is done, how long it took and about how long the rest will take."""

    def __init__(self, title: str, total: float) -> None:
        self._title, self._total = title, total
        self._begun = self._said = time.monotonic()

    def show(self, completed: float, note: str) -> None:
        now = time.monotonic()
        if now - self._said >= _EVERY and 0 < completed < self._total:
            self._said = now
            left, done = (now - self._begun) * (self._total / completed - 1), completed / self._total
            self._say(f"{done:.0%} after {_clock(now - self._begun)}, about {_clock(left)} left", note)

    def end(self) -> None:
        self._say(f"100% after {_clock(time.monotonic() - self._begun)}", "")

    def _say(self, text: str, note: str) -> None:
        print(f"{self._title}: {text}{f' ({note})' if note else ''}", file=sys.stderr, flush=True)


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


@contextmanager
def progress_bar(title: str, total: float, *, show: bool) -> Iterator[Bar]:
    """A bar from 0 to `total`; does nothing unless `show`."""
    if not show:
        yield Bar()
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:  # nor does anybody ask for colours, who reads bars as they come
        lines = _Lines(title, total)
        yield Bar(lines.show)
        lines.end()
        return
    from rich import progress as rich

    with rich.Progress(
        rich.TextColumn("{task.description}"), rich.BarColumn(), rich.TaskProgressColumn(), rich.TimeElapsedColumn(),
        rich.TextColumn("left"), rich.TimeRemainingColumn(), rich.TextColumn("{task.fields[note]}"), console=console,
    ) as progress:  # fmt: skip
        yield Bar(partial(progress.update, progress.add_task(title, total=total, note="")))
