# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a paper build: after a pass, all it needs to go on; keyed by a hash of its inputs."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..store import read_container, table_of, write_container
from .graph import Graph
from .paper import PaperState

__all__ = ["Checkpoint"]

_KIND = "checkpoint"
#: A stopped build loses at most this much and the pass that was under way.
_EVERY_S = 60.0


class Checkpoint:
    """Writes the state of a build now and then; without a path it does nothing."""

    def __init__(self, path: Path | None, key: str) -> None:
        self._path, self._key, self._last = path, key, time.monotonic()

    @classmethod
    def at(cls, path: str | os.PathLike[str] | None, plan: Any, **options: Any) -> Checkpoint:
        """A checkpoint at `path` for just these inputs."""
        if path is None:
            return cls(None, "")
        state = hashlib.sha256(json.dumps(options, sort_keys=True).encode())
        for array in (
            plan.mass_units,
            plan.table,
            plan.fence,
            plan.locations.row,
            plan.locations.col,
            plan.locations.size,
        ):
            state.update(np.ascontiguousarray(array).tobytes())
        return cls(Path(path), state.hexdigest())

    def read(self) -> PaperState | None:
        """The state to go on from, or None if there is none for these inputs."""
        if self._path is None or not self._path.exists():
            return None
        manifest, tables = read_container(self._path, kind=_KIND)
        if manifest["key"] != self._key:
            return None
        edges = [np.array(tables["edges"][name]) for name in ("i", "j", "level")]
        level, pointer = (np.array(tables["vertices"][name]) for name in ("level", "pointer"))
        graph = Graph.from_edges(level.size, *edges)
        return PaperState(level.astype(np.int32), pointer.astype(np.int64), graph, manifest["passes"], manifest["cap"])

    def write(self, state: PaperState) -> None:
        """Keep the state, unless one was kept just now."""
        if self._path is None or time.monotonic() - self._last < _EVERY_S:
            return
        tail, tip, weight = state.graph.edges()
        write_container(
            self._path,
            _KIND,
            {"key": self._key, "passes": state.passes, "cap": state.cap},
            {
                "vertices": table_of({"level": state.level, "pointer": state.pointer}),
                "edges": table_of({"i": tail, "j": tip, "level": weight}),
            },
        )
        self._last = time.monotonic()

    def done(self) -> None:
        """The build is complete: the checkpoint is no longer needed."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
