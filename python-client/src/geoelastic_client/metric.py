# SPDX-License-Identifier: Apache-2.0
"""A map: where a place is, which others are near, what they hold."""

from __future__ import annotations

import hashlib
import os
import sys
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import FileError, FrameError, InputError, OutsideError, cannot_be
from .format import read_portable
from .graph import SHIFT, Graph, arcs_of, conformal_edges, laid_out, lowered, parts
from .layout import neighbours, paint_owner, spans, uniform_leaves, unpack_leaves
from .prepared import load_prepared, save_prepared
from .projection import Projection

LEVEL_UNITS = 2**13
MASS_UNITS = 2**32
#: The arrays that a map is made of, and how wide their numbers are.
_KINDS = {
    "row": "i", "col": "i", "size": "i", "owner": "i", "fence": "i", "framed": "b", "mass": "q", "measure": "q",
    "start": "q", "index": "i", "weight": "i", "low": "i", "part": "i",
}  # fmt: skip


class Metric:
    """A map as a `.geox` file holds it. `graph` has its distances; `reporting` those that reports are drawn by, which
    are others if it is `sharpened`."""

    def __init__(self, head: dict[str, Any], arrays: Mapping[str, array[int]]) -> None:
        self.head = head
        self.row, self.col, self.size = arrays["row"], arrays["col"], arrays["size"]
        self.fence, self.framed, self.part = arrays["fence"], arrays["framed"], arrays["part"]
        self.mass, self.measure = list(arrays["mass"]), list(arrays["measure"])
        self._owner = arrays["owner"]
        self.sharpened = "relief" in head
        self.graph = Graph(arrays["start"], arrays["index"], arrays["weight"])
        self.reporting = Graph(arrays["start"], arrays["index"], arrays["low"]) if self.sharpened else self.graph
        grid = head["grid"]
        self.rows, self.cols, self.cell_m = grid["rows"], grid["cols"], grid["cell_m"]
        self.projection = Projection(grid["lat"], grid["lon"], grid["east_m"], grid["north_m"])

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Metric:
        """The map in a file."""
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise cannot_be("read", path, error) from None
        try:
            return cls.from_bytes(content)
        except FileError as error:
            raise FileError(f"{os.fspath(path)}: {error}") from None

    @classmethod
    def from_bytes(cls, content: bytes) -> Metric:
        """The map in the bytes of a `.geox` file. What was opened before is there in a moment (`prepared`)."""
        content = bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        kept = load_prepared(digest)
        if kept is None:
            kept = _made(content)
            save_prepared(digest, *kept)
        return cls(*kept)

    @property
    def n(self) -> int:
        """The number of locations."""
        return len(self.size)

    def is_secret(self, i: int) -> bool:
        """Whether a location may be hidden, i.e. lies outside the frame."""
        margin, side = self.head["frame_cells"], self.size[i]
        r, c = self.row[i], self.col[i]
        inside = margin <= r <= self.rows - margin - side and margin <= c <= self.cols - margin - side
        return inside and not self.framed[i]

    def locate(self, lat: float, lon: float) -> int:
        """The location of a place."""
        try:
            sound = -90 <= lat <= 90 and -360 <= lon <= 360
        except TypeError:
            sound = False
        if not sound:
            raise InputError("a place must be (lat, lon) in degrees")
        x, y = self.projection.to_xy(lat, lon)
        col, row = x / self.cell_m + self.cols / 2, y / self.cell_m + self.rows / 2
        if not (0 <= col < self.cols and 0 <= row < self.rows):
            raise OutsideError("the place is outside the map")
        i: int = self._owner[int(row) * self.cols + int(col)]
        return i

    def locate_secret(self, lat: float, lon: float) -> int:
        """The location of a place that is to be hidden."""
        i = self.locate(lat, lon)
        self.require_secret(i)
        return i

    def require_secret(self, i: int) -> None:
        if not self.is_secret(i):
            raise FrameError("the place is in the map's frame: it cannot be hidden there")

    def cell_to_latlon(self, row: float, col: float) -> tuple[float, float]:
        """(lat, lon) of the centre of a cell."""
        return self.projection.to_latlon(
            (col + 0.5 - self.cols / 2) * self.cell_m, (row + 0.5 - self.rows / 2) * self.cell_m
        )

    def latlon(self, i: int) -> tuple[float, float]:
        """(lat, lon) of the centre of a location."""
        half = (self.size[i] - 1) / 2
        return self.cell_to_latlon(self.row[i] + half, self.col[i] + half)

    def fence_members(self, number: int) -> list[int]:
        """The locations of a fence, in order."""
        return [i for i, k in enumerate(self.fence) if k == number]


def _made(content: bytes) -> tuple[dict[str, Any], dict[str, array[int]]]:
    """The header, and the arrays of `_KINDS`, from the bytes of a file that may be a stranger's."""
    head, given = read_portable(content)
    rows, cols = head["grid"]["rows"], head["grid"]["cols"]
    adaptive = head["layout"] == "adaptive"
    leaves = unpack_leaves(rows, cols, given["exponent"]) if adaptive else uniform_leaves(rows, cols)
    owner = paint_owner(rows, cols, leaves)
    n = len(given["mass"])
    fence = given.get("fence") or [0] * n
    if "scale" in given:
        pairs = neighbours(rows, cols, owner, leaves, fence)
        places = (given["place_east"], given["place_north"]) if "place_east" in given else None
        edges = conformal_edges(pairs, spans(pairs, leaves, places), given["scale"], given.get("edge_rise"))
    else:
        edges = given["edge_i"], given["edge_j"], given["edge_level"]
    tails, tips, lengths = edges
    start, arcs = arcs_of(n, edges)
    graph = Graph(start, laid_out(arcs, tips, tails), laid_out(arcs, lengths, lengths))
    part = parts(graph)
    low = array("i")
    if "height" in given:
        if head["relief"]["made_for"] != _relief_key(graph, given["mass"], fence):
            raise FileError("the heights were made for another map")
        less = lowered(edges, given["height"], head["relief"]["slack"])
        low = laid_out(arcs, less, less)
    values = {
        "row": leaves[0], "col": leaves[1], "size": leaves[2], "owner": owner, "fence": fence, "low": low,
        "framed": given.get("framed") or [0] * n, "mass": given["mass"], "measure": given["measure"],
        "start": start, "index": graph.index, "weight": graph.weight, "part": part,
    }  # fmt: skip
    return head, {name: array(kind, values[name]) for name, kind in _KINDS.items()}


def _relief_key(graph: Graph, mass: list[int], fence: list[int]) -> str:
    """A digest of all that heights depend on."""
    return _digest([("q", graph.start), ("i", graph.index), ("i", graph.weight), ("q", mass), ("i", fence)])


def graph_key(metric: Metric) -> str:
    """The digest that a certificate names its graph by: every edge once (tails, tips, lengths), then those that tie
    fences together, masses, fences."""
    edges = [(i, j, w >> SHIFT) for i in range(metric.n) for j, w in metric.graph.arcs(i) if i < j]
    inside = sorted((number, i) for i, number in enumerate(metric.fence) if number)
    edges += [(i, j, 0) for (before, i), (number, j) in zip(inside, inside[1:]) if before == number]
    return _digest([("q", values) for values in (*zip(*edges), metric.mass, metric.fence)])


def _digest(parts: list[tuple[str, Any]]) -> str:
    """SHA-256 of whole numbers of 32 ("i") and 64 ("q") bits, little-endian."""
    digest = hashlib.sha256()
    for kind, values in parts:
        packed = array(kind, values)
        if sys.byteorder == "big":
            packed.byteswap()
        digest.update(packed.tobytes())
    return digest.hexdigest()
