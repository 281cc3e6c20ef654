# SPDX-License-Identifier: Apache-2.0
"""What a service serves: mechanisms by name, their files as bytes, and extracts made when first asked for."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .. import _kernels as kernels
from ..area import Area
from ..errors import FileError, FrameError, InputError
from ..figures.picture import credit_of
from ..mechanism import ElasticMechanism
from ..mechanism.geox_mechanism import load_mechanism, mechanism_bytes
from ..metric import AnyMetric
from ..metric.extract import extract
from ..metric.geox_file import is_portable
from ..opening import load
from ..packs import districts
from ..store.digest import digest
from ..tiles.tiled_metric import is_tiled

#: Extracts are the districts of this side.
TILE_KM = 20.0
_KEPT = 64
#: A map in tiles with more locations than this is not put into one download.
_MOST_LOCATIONS = 200_000
_QUICK_LOCATIONS = 65_536


@dataclass(frozen=True)
class Blob:
    """Bytes to be served, with the tag by which caches know them."""

    content: bytes
    media_type: str
    file_name: str

    @cached_property
    def etag(self) -> str:
        return f'"{digest(self.content)[:32]}"'


@dataclass(frozen=True, eq=False)
class Published:
    """One metric with its mechanism, ready to be served. Threads each have a sampler of their own."""

    name: str
    path: Path
    mechanism: ElasticMechanism
    _local: threading.local = field(default_factory=threading.local, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _tiles: OrderedDict[str, Blob] = field(default_factory=OrderedDict, repr=False)

    @property
    def metric(self) -> AnyMetric:
        return self.mechanism.metric

    @cached_property
    def file(self) -> Blob:
        """The file as it is on disk."""
        if self.in_tiles:
            raise InputError("this map is in tiles and has no one file: ask for its extracts")
        return Blob(self.path.read_bytes(), "application/octet-stream", self.path.name)

    @cached_property
    def portable(self) -> Blob:
        """The file for clients."""
        if not self.in_tiles and is_portable(self.path):
            return self.file
        if self.metric.n > _MOST_LOCATIONS:
            raise InputError(f"this map has {self.metric.n} locations, too many for one download: ask for its extracts")
        return Blob(mechanism_bytes(self.mechanism), "application/octet-stream", f"{self.name}.geox")

    @cached_property
    def context(self) -> Blob:
        """What a page draws over the map: water, roads and names, or null."""
        return Blob(context_json(self.metric).encode(), "application/json", f"{self.name}-context.json")

    @property
    def in_tiles(self) -> bool:
        """Whether the map is a folder, of which only what is looked at is opened."""
        return is_tiled(self.path)

    @cached_property
    def quick(self) -> bool:
        """Whether a report is drawn sooner than a thread can be had for it, twice waiting for the interpreter's lock:
        about a millisecond on a map of this size."""
        return not self.in_tiles and self.metric.n <= _QUICK_LOCATIONS

    def warm(self) -> None:
        """Do once what the first requests would have to wait for: files, tags, compiled code."""
        kernels.compile_at_once()  # or some request would wait for it, seconds on a busy machine
        self.describe()
        if not self.in_tiles:
            self.own_mechanism().sample(int(self.metric.secret.argmax()))
            return
        with contextlib.suppress(FrameError):
            self.own_mechanism().sanitize(*self.metric.grid.area.middle)

    def own_mechanism(self) -> ElasticMechanism:
        """The mechanism with a search workspace that belongs to this thread."""
        if not hasattr(self._local, "mechanism"):
            self._local.mechanism = self.mechanism.twin()
        mechanism: ElasticMechanism = self._local.mechanism
        return mechanism

    @cached_property
    def tiles(self) -> dict[str, Area]:
        """The extracts there are, by name."""
        return districts(self.metric.grid.area, TILE_KM)

    def tile(self, tile: str) -> Blob:
        """The extract of this name; made once, the latest ones are kept. Sharpened, some seconds of work."""
        with self._lock:
            if tile not in self._tiles:
                part = extract(self.metric, self.tiles[tile], output=self.mechanism.output)
                mechanism = ElasticMechanism(part, output=self.mechanism.output)
                name = f"{self.name}-{tile}.geox"
                self._tiles[tile] = Blob(mechanism_bytes(mechanism), "application/octet-stream", name)
            self._tiles.move_to_end(tile)
            while len(self._tiles) > _KEPT:
                self._tiles.popitem(last=False)
            return self._tiles[tile]

    def describe(self) -> dict[str, Any]:
        """What is public about the metric."""
        metric, grid = self.metric, self.metric.grid
        return {
            "name": self.name, "locations": metric.n, "rows": grid.rows, "cols": grid.cols, "cell_m": grid.cell_m,
            "middle": list(grid.area.middle), "bounds": list(grid.area.bounds), "method": metric.method,
            "layout": metric.totals["layout"], "l_from": metric.l_from, "l_top": metric.l_top,
            "fences": metric.totals["fences"], "output": self.mechanism.output,
            "exponent": str(self.mechanism.exponent), "verified": bool(metric.certificate.get("ok")),
            "file": None if self.in_tiles else _about(self.file),
            "portable": None if self.in_tiles else _about(self.portable),
        }  # fmt: skip


def context_json(metric: AnyMetric) -> str:
    """What is drawn over the colours of a map, and whom it is from; "null" if the map has none."""
    if metric.context is None:
        return "null"
    return json.dumps(metric.context.to_dict() | {"credit": credit_of(metric.info)}, ensure_ascii=False)


def _about(blob: Blob) -> dict[str, Any]:
    return {"bytes": len(blob.content), "etag": blob.etag}


def publish(paths: Iterable[str | Path], *, output: str = "mass") -> dict[str, Published]:
    """Load files to be served, by the names of the files without their endings."""
    published: dict[str, Published] = {}
    for given in paths:
        path = Path(given)
        name = path.name.split(".")[0]
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            raise InputError(f"a served file must have a name of letters, digits, '-' and '_', got {path.name!r}")
        if name in published:
            raise InputError(f"served files must have different names, got two called {name!r}")
        if not path.exists():
            raise FileError(f"{path}: no such file")
        portable = path.is_file() and is_portable(path)
        mechanism = load_mechanism(path) if portable else ElasticMechanism(load(path), output=output)
        published[name] = Published(name, path, mechanism)
    if not published:
        raise InputError("a service must have at least one file to serve")
    return published
