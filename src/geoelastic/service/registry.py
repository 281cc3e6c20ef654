# SPDX-License-Identifier: Apache-2.0
"""What a service serves: mechanisms by name, their files as bytes, and extracts made when first asked for."""

from __future__ import annotations

import hashlib
import math
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..area import Area
from ..errors import FileError, InputError
from ..mechanism import ElasticMechanism
from ..mechanism.portable import load_mechanism, mechanism_bytes
from ..metric import AnyMetric
from ..metric.extract import extract
from ..metric.portable import is_portable
from ..opening import load

__all__ = ["Blob", "Published", "publish"]

#: Extracts are squares of this side, one around each point of a lattice of half the side: every place has one in
#: which it is at least a quarter of the side away from the border.
TILE_KM = 20.0
_KEPT = 64


@dataclass(frozen=True)
class Blob:
    """Bytes to be served, with the tag by which caches know them."""

    content: bytes
    media_type: str
    file_name: str

    @cached_property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'


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
        return Blob(self.path.read_bytes(), "application/octet-stream", self.path.name)

    @cached_property
    def portable(self) -> Blob:
        """The file for clients."""
        if is_portable(self.path):
            return self.file
        return Blob(mechanism_bytes(self.mechanism), "application/octet-stream", f"{self.name}.geox")

    def warm(self) -> None:
        """Do once what the first requests would have to wait for: files, tags, compiled code."""
        self.describe()
        self.own_mechanism().sample(int(self.metric.secret.argmax()))

    def own_mechanism(self) -> ElasticMechanism:
        """The mechanism with a search workspace that belongs to this thread."""
        if not hasattr(self._local, "mechanism"):
            self._local.mechanism = self.mechanism.twin()
        mechanism: ElasticMechanism = self._local.mechanism
        return mechanism

    @property
    def tiles(self) -> dict[str, tuple[float, float]]:
        """The extracts there are: their names, and their middles in metres east and north of the map's middle."""
        step = TILE_KM * 500
        rows, cols = (
            max(0, math.ceil(side / 2 / step) - 1) for side in (self.metric.grid.area.height_m, self._width_m)
        )
        return {
            f"{row + rows}-{col + cols}": (col * step, row * step)
            for row in range(-rows, rows + 1)
            for col in range(-cols, cols + 1)
        }

    @property
    def _width_m(self) -> float:
        return self.metric.grid.area.width_m

    def tile_area(self, tile: str) -> Area:
        """The region of an extract."""
        lat, lon = self.metric.grid.area.to_latlon(*self.tiles[tile])
        return Area.around(float(lat), float(lon), size_km=TILE_KM)

    def tile(self, tile: str) -> Blob:
        """The extract of this name; made once, the latest ones are kept. Sharpened, some seconds of work."""
        with self._lock:
            if tile not in self._tiles:
                part = extract(self.metric, self.tile_area(tile), output=self.mechanism.output)
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
            "layout": metric.locations.kind, "l_from": metric.l_from, "l_top": metric.l_top,
            "fences": int(metric.fence.max(initial=0)), "output": self.mechanism.output,
            "exponent": str(self.mechanism.exponent), "verified": bool(metric.certificate.get("ok")),
            "file": {"bytes": len(self.file.content), "etag": self.file.etag},
            "portable": {"bytes": len(self.portable.content), "etag": self.portable.etag},
        }  # fmt: skip


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
        if not path.is_file():
            raise FileError(f"{path}: no such file")
        mechanism = load_mechanism(path) if is_portable(path) else ElasticMechanism(load(path), output=output)
        published[name] = Published(name, path, mechanism)
    if not published:
        raise InputError("a service must have at least one file to serve")
    return published
