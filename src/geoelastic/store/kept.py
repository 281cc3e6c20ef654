# SPDX-License-Identifier: Apache-2.0
"""Work that can be stopped: what is done is kept under a digest of all that it was made from.

A file is found again only if its inputs, its options and the version of geoelastic are the same; that a file of some
name exists never decides. `kept_name` and `kept` are for results; `KeptState` is for work under way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from .. import __version__
from ..errors import FileError
from .container import read_container, write_container
from .digest import digest

T = TypeVar("T")


def kept_name(stem: str, *inputs: Any, suffix: str = ".parquet") -> str:
    """The name of a file whose content is made by this version from `inputs` (plain data) and from nothing else."""
    return f"{stem}-{digest([__version__, *inputs])[:20]}{suffix}"


def kept(path: Path | None, read: Callable[[Path], T], make: Callable[[], T], write: Callable[[T, Path], None]) -> T:
    """What an earlier run left at `path`, or what `make` makes, left there for the next; without a path it is made."""
    if path is not None and path.is_file():
        try:
            return read(path)
        except FileError:
            pass  # not whole, or of another kind: made again
    made = make()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(made, path)
    return made


@dataclass(frozen=True)
class KeptState:
    """All that work under way needs to go on, in one file, for the inputs whose digest is `key` and for no others.

    Without a path nothing is kept.
    """

    path: Path | None
    kind: str
    key: str

    @classmethod
    def at(cls, path: str | os.PathLike[str] | None, kind: str, *inputs: Any) -> KeptState:
        """The state at `path` of work on just these inputs."""
        return cls(None, kind, "") if path is None else cls(Path(path), kind, digest(*inputs))

    def read(self) -> tuple[dict[str, Any], Mapping[str, Any]] | None:
        """Plain data and tables, or None if there are none for these inputs."""
        if self.path is None or not self.path.exists():
            return None
        content, tables = read_container(self.path, kind=self.kind)
        return (content, tables) if content["key"] == self.key else None

    def write(self, content: Mapping[str, Any], tables: Mapping[str, Any]) -> None:
        """Replace what is kept."""
        if self.path is not None:
            write_container(self.path, self.kind, {"key": self.key, **content}, tables)

    def remove(self) -> None:
        """The work is done and safe: nothing needs to be kept."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
