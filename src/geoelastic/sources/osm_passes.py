# SPDX-License-Identifier: Apache-2.0
"""The passes over an OpenStreetMap file: one over all objects, one over the members of multipolygons.

Filters, node locations and the putting together of multipolygons are libosmium's. Nodes and ways that have one of the
keys are written by libosmium to a temporary file, line by line, and parsed many at a time: a Python call for each would
take three times as long.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import shapely

from ..errors import FileError, import_extra
from ..progress import Bar
from ._collect import EDGE_PART, Collector, Objects
from ._opl import LOCATED

NOT_AREA = "a relation that is not an area"
BROKEN = "a multipolygon that is cut by the extract's edge or broken"

#: What is written for a while, a byte of the file, at most: Vancouver, nearly all buildings, needs 3.6.
_TEXT_BYTES = 5
#: where on the bar the passes end
_WAYS_READ, _ALL_READ = 0.85, 1.0


class OsmPasses:
    """Reads a file (or lines in the format OPL) as often as needed and hands its objects to the collector."""

    def __init__(self, source: str | bytes, collector: Collector, storage: str, *, bar: Bar | None = None) -> None:
        self._osmium = load_osmium()
        self._source, self._collector, self._bar = source, collector, bar
        self._table = self._osmium.index.create_map(storage)
        self._objects = Objects(collector)
        self._manager = self._osmium.area.AreaManager()
        self._relations = _Multipolygons(self._osmium, collector)

    @property
    def newest(self) -> str:
        """When the youngest of the nodes and ways that have one of the keys was changed, if the file says so."""
        return self._objects.newest

    def run(self) -> None:
        with tempfile.TemporaryDirectory(prefix="geoelastic-") as folder:
            self._check_space(folder)
            lines = Path(folder, "objects.opl")
            self._write_nodes_and_ways(lines)
            self._objects.read(lines)
        if self._relations.choices:
            self._read_members()
        if self._bar is not None:
            self._bar.update(_ALL_READ)

    def _check_space(self, folder: str) -> None:
        """libosmium's writer ends the whole process if it cannot write."""
        size = len(self._source) if isinstance(self._source, bytes) else Path(self._source).stat().st_size
        need, free = _TEXT_BYTES * size, shutil.disk_usage(folder).free
        if need > free:
            raise FileError(
                f"{tempfile.gettempdir()}: {need >> 20} MB are needed for a while and {free >> 20} MB are free; "
                "TMPDIR can name another folder"
            )

    def _reader(self, kinds: Any) -> Any:
        io, source = self._osmium.io, self._source
        return io.Reader(source if isinstance(source, str) else io.FileBuffer(source, "opl"), kinds)

    def _locations(self) -> Any:
        handler = self._osmium.NodeLocationsForWays(self._table)
        handler.ignore_errors()
        return handler

    def _write_nodes_and_ways(self, target: Path) -> None:
        """Those that have one of the keys, with places; relations are noted."""
        osmium = self._osmium
        handlers = [osmium.filter.KeyFilter(*self._collector.keys), self._relations, self._manager.first_pass_handler()]
        if self._bar is not None:
            handlers.append(_Watch(str(self._source), self._bar, 0.0, _WAYS_READ))
        handlers.append(osmium.filter.EntityFilter(osmium.osm.NODE | osmium.osm.WAY))
        with (
            self._reader(osmium.osm.NODE | osmium.osm.WAY | osmium.osm.RELATION) as reader,
            osmium.SimpleWriter(osmium.io.File(str(target), LOCATED)) as writer,
        ):
            osmium.apply(reader, self._locations(), *handlers, writer)

    def _read_members(self) -> None:
        """Multipolygons of which the file has every member are put together by libosmium, the others here."""
        osmium, rings = self._osmium, self._relations
        # A bitmap over all numbers up to the largest; lines hold members and little else, and are looked at one by one.
        members = [osmium.filter.IdFilter(rings.waiting)] if isinstance(self._source, str) else []
        locations, areas = self._locations(), osmium.BufferIterator()
        second = self._manager.second_pass_to_buffer(areas)
        watch = None if self._bar is None else _Watch(str(self._source), self._bar, _WAYS_READ, _ALL_READ)
        with self._reader(osmium.osm.WAY) as reader:
            for way in osmium.OsmFileIterator(reader, *members, locations, second):
                if way.id in rings.waiting:
                    rings.add_line(way)
                if areas:
                    rings.add_areas(areas)
                if watch is not None:
                    watch.way(way)
        rings.add_areas(areas)
        rings.add_incomplete()


class _Multipolygons:
    """Which multipolygons count, and their shapes out of their member ways; the lines of one are kept until it is
    complete."""

    def __init__(self, osmium: Any, collector: Collector) -> None:
        self._osmium, self._collector, self._wkb = osmium, collector, osmium.geom.WKBFactory()
        self.choices: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}
        self._lines: dict[int, str] = {}

    def relation(self, relation: Any) -> None:
        """Called by libosmium for each relation that has one of the keys."""
        choice = self._collector.choose(relation.tags, "area")
        if not choice:
            return
        if relation.tags.get("type") not in ("multipolygon", "boundary"):
            self._collector.drop(NOT_AREA, f"relation/{relation.id}")
            return
        self.choices[relation.id] = choice
        self._members[relation.id] = [m.ref for m in relation.members if m.type == "w"]

    @cached_property
    def waiting(self) -> Counter[int]:
        """How many of them wait for each way, once all are known."""
        return Counter(way for number in self.choices for way in self._members[number])

    def add_line(self, way: Any) -> None:
        try:
            self._lines[way.id] = self._wkb.create_linestring(way)
        except (RuntimeError, ValueError, self._osmium.InvalidLocationError):
            corners = [(n.location.lon, n.location.lat) for n in way.nodes if n.location.valid()]
            if len(corners) > 1:
                self._lines[way.id] = shapely.to_wkb(shapely.LineString(corners), hex=True)

    def add_areas(self, areas: Any) -> None:
        """Multipolygons that libosmium has put together."""
        for area in areas:
            number = area.orig_id()
            if area.from_way() or number not in self.choices:
                continue
            try:
                shape = self._wkb.create_multipolygon(area)
            except (RuntimeError, ValueError):
                continue
            self._collector.add_shape(shape, self.choices.pop(number), f"relation/{number}")
            for way in self._members.pop(number):
                self.waiting[way] -= 1
                if not self.waiting[way]:
                    self._lines.pop(way, None)

    def add_incomplete(self) -> None:
        """Multipolygons with members missing: kept, as by osm2pgsql, if what is there are closed rings."""
        for number, choice in self.choices.items():
            members = self._members[number]
            there = [shapely.from_wkb(self._lines[way]) for way in members if way in self._lines]
            shape = closed_area(there)
            lon, lat = shapely.get_coordinates(there).T
            if shape is None:
                self._collector.drop_near(BROKEN, f"relation/{number}", lat, lon)
                continue
            self._collector.add_shape(shapely.to_wkb(shape), choice, f"relation/{number}")
            if len(there) < len(members):
                self._collector.drop_near(EDGE_PART, f"relation/{number}", lat, lon)


class _Watch:
    """Moves a bar between two marks by how far the file has been read, ten times a second at most."""

    def __init__(self, path: str, bar: Bar, begin: float, end: float) -> None:
        self._path, self._bar, self._begin, self._length = Path(path), bar, begin, end - begin
        self._size, self._done, self._due = max(self._path.stat().st_size, 1), 0, time.monotonic()

    def node(self, _: Any) -> None:
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + 0.1
        self._done = max(self._done, _bytes_read(self._path))
        self._bar.update(self._begin + self._length * self._done / self._size)

    way = node


def _bytes_read(path: Path) -> int:
    """How far this process has read a file that it has open, where the system tells (Linux); otherwise 0."""
    done = 0
    with suppress(OSError):
        for number in Path("/proc/self/fd").iterdir():
            with suppress(OSError):  # the one that lists this folder is gone by now
                if number.samefile(path):
                    told = Path("/proc/self/fdinfo", number.name).read_text(encoding="ascii")
                    done = max(done, int(told.split()[1]))
    return done


def closed_area(lines: Sequence[Any]) -> Any:
    """What lines enclose (rings in rings are holes) if all of them belong to closed rings that do not cross."""
    if not lines or not shapely.multilinestrings(list(lines)).is_simple:
        return None
    _, cuts, dangles, invalid = shapely.polygonize_full(list(lines))
    if not (cuts.is_empty and dangles.is_empty and invalid.is_empty):
        return None
    area = shapely.build_area(shapely.geometrycollections(list(lines)))
    return None if area is None or area.is_empty else area


def load_osmium() -> Any:
    for part in ("area", "filter", "geom", "index"):
        import_extra(f"osmium.{part}", "osm")
    return import_extra("osmium", "osm")
