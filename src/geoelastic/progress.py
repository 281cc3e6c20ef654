# SPDX-License-Identifier: Apache-2.0
"""Progress bars for anything over two seconds: on stderr, and only where asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Bar", "progress_bar"]


class Bar(Protocol):
    """What long work reports to."""

    def update(self, done: float, *, note: str = "") -> None: ...


class _Silent:
    def update(self, done: float, *, note: str = "") -> None:
        return None


class _Rich:
    def __init__(self, progress: object, task: object) -> None:
        self._progress, self._task = progress, task

    def update(self, done: float, *, note: str = "") -> None:
        self._progress.update(self._task, completed=done, note=note)  # type: ignore[attr-defined]


@contextmanager
def progress_bar(title: str, total: float, *, show: bool) -> Iterator[Bar]:
    """A bar from 0 to `total`; does nothing unless `show`."""
    if not show:
        yield _Silent()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TextColumn("left"),
        TimeRemainingColumn(), TextColumn("{task.fields[note]}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield _Rich(progress, progress.add_task(title, total=total, note=""))
