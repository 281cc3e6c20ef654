# SPDX-License-Identifier: Apache-2.0
"""Which objects of an OpenStreetMap file count and may touch a box, found in memory that is bounded by the box.

Of a node outside the box only the sides matter that it is on: an object whose corners are all on one side does not
touch the box. Nodes follow each other in the file as they were mapped, so runs of them share their sides, and a run is
nine bytes. The same holds for ways, which decide for relations. So one look through the file finds every object whose
own box meets the box, those that surround it included; what these need from elsewhere is then fetched by number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..arrays import BoolArray, ByteArray, FloatArray, IntArray
from ..progress import Bar
from ._opl import NODE, RELATION, WAY, Block, objects, tag_sets
from .features import Bounds, ranges

#: relations that are areas
_AREA_TYPES = ("multipolygon", "boundary")
#: all sides at once: what things have in common of which there are none
_NOTHING = 255
#: degrees by which the box is taken wider, so that rounding loses nothing; who reads on has the last word
_MARGIN = 1e-6


class UnsortedError(Exception):
    """The numbers of the objects do not ascend."""


def sides_of(lat: FloatArray, lon: FloatArray, bounds: Bounds) -> ByteArray:
    """The sides of the box that each place is on, a bit each: north, south, then east and west for the longitudes as
    they are and a turn of the globe either way.
    """
    south, west, north, east = bounds
    result = np.zeros(len(lat), dtype=np.uint8)
    beyond = [lat > north + _MARGIN, lat < south - _MARGIN]
    for turn in (-360, 0, 360):
        beyond += [lon + turn > east + _MARGIN, lon + turn < west - _MARGIN]
    for bit, there in enumerate(beyond):
        result[there] |= np.uint8(1 << bit)
    return result


def apart(sides: ByteArray) -> BoolArray:
    """Whether things on these sides lie apart from the box: beyond its latitudes, or beyond its longitudes by any count
    of turns.
    """
    beside: BoolArray = ((sides & 12) != 0) & ((sides & 48) != 0) & ((sides & 192) != 0)
    beyond: BoolArray = beside | ((sides & 3) != 0)
    return beyond


class Sides:
    """On which sides of the box things are, by runs of their numbers.

    Beyond `most` runs, runs next to each other are joined and keep the sides that they share: then too many objects
    are looked at closely, and never too few.
    """

    def __init__(self, most: int) -> None:
        self._most, self._start, self._sides = most, np.empty(0, np.int64), np.empty(0, np.uint8)
        self._new: list[tuple[IntArray, ByteArray]] = []
        self._pending, self._last, self._number = 0, -1, -1

    def add(self, ids: IntArray, sides: ByteArray) -> None:
        """Things with ascending numbers, above those so far."""
        if not len(ids):
            return
        if ids[0] <= self._number or (np.diff(ids) <= 0).any():
            raise UnsortedError
        self._number = int(ids[-1])
        change = np.flatnonzero(np.diff(sides.astype(np.int16), prepend=self._last))
        if len(change):
            self._new.append((ids[change], sides[change]))
            self._pending, self._last = self._pending + len(change), int(sides[-1])
        if self._pending > self._most // 4:
            self.runs()

    def runs(self) -> tuple[IntArray, ByteArray]:
        """First number of each run, and the sides of it."""
        if self._new:
            self._start = np.concatenate([self._start, *(start for start, _ in self._new)])
            self._sides = np.concatenate([self._sides, *(sides for _, sides in self._new)])
            self._new, self._pending = [], 0
        width = 1
        while len(self._start) > self._most:
            width *= 2
            first = np.flatnonzero(np.diff(self._start // width, prepend=-1))
            if len(first) <= self._most // 2:
                self._start, self._sides = self._start[first], np.bitwise_and.reduceat(self._sides, first)
        return self._start, self._sides

    def shared(self, ref: IntArray, ref_start: IntArray) -> ByteArray:
        """The sides that all of each group of things share. What the file has not got is taken to be where its
        neighbours are: at worst too much is looked at.
        """
        start, sides = self.runs()
        result = np.full(len(ref_start) - 1, _NOTHING, dtype=np.uint8)
        some = np.flatnonzero(np.diff(ref_start))
        if len(some) and len(start):
            each = sides[np.maximum(np.searchsorted(start, ref, side="right") - 1, 0)]
            result[some] = np.bitwise_and.reduceat(each, ref_start[some])
        return result


class FileSurvey:
    """Looks through a file for what `counts(tags, geometry)` in a box; `keys` are those that can make it count."""

    #: 36 MB of runs for nodes and as much for ways, at most
    most_runs = 4_000_000

    def __init__(
        self, path: str | Path, keys: list[str], counts: Callable[[Mapping[str, str], str], bool], bounds: Bounds
    ) -> None:
        self._path, self._keys, self._counts, self._bounds = path, keys, counts, bounds
        plain = all(re.fullmatch(r"[A-Za-z0-9_:.-]+", key) for key in keys)  # others are written with escapes
        self._pattern = f"(^|,)({'|'.join(map(re.escape, keys))})=" if plain else "="
        self._node_sides, self._way_sides = Sides(self.most_runs), Sides(self.most_runs)
        self._nodes: dict[int, str] = {}
        self._ways: dict[int, str] = {}
        self._relations: list[str] = []
        self._refs: list[IntArray] = []
        self._members: set[int] = set()
        self._outside = 0

    def run(self, bar: Bar | None = None) -> tuple[bytes, int]:
        """Reads the file's nodes, ways and relations, then what is missing of the chosen ones: the lines in the format
        OPL of what counts and may touch the box, with all that it consists of, and how many objects count but do not.
        """
        stages: dict[str, Callable[[], None]] = {
            "nodes": lambda: self._look(NODE, self._look_at_nodes),
            "ways": lambda: self._look(WAY, self._look_at_ways),
            "relations": lambda: self._look(RELATION, self._look_at_relations),
            "their ways": self._fetch_members,
            "their nodes": self._fetch_nodes,
        }
        for done, (what, stage) in enumerate(stages.items()):
            if bar is not None:
                bar.update(done / len(stages), note=f"looking for {what}")
            stage()
        lines = [*(self._nodes[n] for n in sorted(self._nodes)), *(self._ways[w] for w in sorted(self._ways))]
        return "\n".join([*lines, *self._relations, ""]).encode(), self._outside

    def _look(self, kind: str, at: Callable[[Block], None]) -> None:
        for block in objects(self._path, kind):
            at(block)

    def _look_at_nodes(self, block: Block) -> None:
        sides = sides_of(block.lat, block.lon, self._bounds)
        sides[np.isnan(block.lat)] = _NOTHING
        self._node_sides.add(block.id, sides)
        near = self._near(block, "node", sides)
        self._nodes |= zip(block.id[near].tolist(), block.lines(near), strict=True)

    def _look_at_ways(self, block: Block) -> None:
        sides = self._node_sides.shared(block.ref, block.start)
        self._way_sides.add(block.id, sides)
        near = self._near(block, "area", sides)
        self._keep_ways(block, near, block.lines(near))

    def _look_at_relations(self, block: Block) -> None:
        """Areas by their ways; other relations, which are only reported, by their nodes as well."""
        rows, tags = self._counting(block, "area")
        for line, its in zip(block.lines(rows), tags, strict=True):
            parts = [member.split("@", 1)[0] for member in line.rpartition(" M")[2].split(",")]
            of = {kind: np.array([int(p[1:]) for p in parts if p[:1] == kind], dtype=np.int64) for kind in "nw"}
            sides = self._way_sides.shared(of["w"], np.array([0, len(of["w"])]))
            if its.get("type") not in _AREA_TYPES:
                sides &= self._node_sides.shared(of["n"], np.array([0, len(of["n"])]))
            if apart(sides)[0]:
                self._outside += 1
                continue
            self._relations.append(line)
            self._members.update(of["w"].tolist())

    def _counting(self, block: Block, geometry: str) -> tuple[IntArray, list[dict[str, str]]]:
        """The rows that count, and the tags of each."""
        rows = np.flatnonzero(pc.match_substring_regex(block.tags, self._pattern).to_numpy(zero_copy_only=False))
        sets, which = tag_sets(block.tags.take(pa.array(rows)), [*self._keys, "type"])
        mine = np.array([self._counts(tags, geometry) for tags in sets], dtype=np.bool_)[which]
        return rows[mine], [sets[i] for i in which[mine]]

    def _near(self, block: Block, geometry: str, sides: ByteArray) -> IntArray:
        """The rows that count and are not away from the box; the others that count are counted."""
        rows, _ = self._counting(block, geometry)
        away = apart(sides[rows])
        self._outside += int(np.count_nonzero(away))
        return rows[~away]

    def _keep_ways(self, block: Block, rows: IntArray, lines: list[str]) -> None:
        self._ways |= zip(block.id[rows].tolist(), lines, strict=True)
        self._refs.append(np.unique(block.ref[ranges(block.start, rows)[0]]))

    def _fetch_members(self) -> None:
        """The ways that the relations consist of."""
        wanted = np.array(sorted(self._members - self._ways.keys()), dtype=np.int64)
        for block, rows, lines in self._parts(WAY, wanted):
            self._keep_ways(block, rows, lines)

    def _fetch_nodes(self) -> None:
        """The places that all these ways refer to."""
        wanted = np.unique(np.concatenate(self._refs)) if self._refs else np.empty(0, np.int64)
        for block, rows, lines in self._parts(NODE, wanted):
            self._nodes = dict(zip(block.id[rows].tolist(), lines, strict=True)) | self._nodes

    def _parts(self, kind: str, wanted: IntArray) -> Iterator[tuple[Block, IntArray, list[str]]]:
        """Parts of other objects, without tags: if they count themselves, they have been looked at before."""
        for block in objects(self._path, kind) if len(wanted) else ():
            rows = np.flatnonzero(np.isin(block.id, wanted))
            if len(rows):
                yield block, rows, [re.sub(r" T\S*", " T", line, count=1) for line in block.lines(rows)]
