# SPDX-License-Identifier: Apache-2.0
"""OpenStreetMap files (``.osm.pbf``, ``.osm``, ``.osm.bz2``, ``.opl``) to features.

Nodes, closed ways and multipolygon relations alike. The file is streamed: filters run inside libosmium, and only
objects that a rule chooses and that touch the bounds are kept. Passes: relations (which multipolygons count), nodes
and ways, and, if there are such relations, their member ways.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import shapely

from ..errors import FileError, MissingExtraError
from ._collect import BAD_OUTLINE, Collector, Row
from .areas import Bounds
from .features import Features, TagRule

__all__ = ["ODBL", "OSM_SUFFIXES", "osm_box", "read_osm"]

OSM_SUFFIXES = (".osm.pbf", ".pbf", ".osm", ".osm.bz2", ".osm.gz", ".opl", ".osm.opl")
ODBL = "© OpenStreetMap contributors, ODbL 1.0"
#: from this size of file on, node locations go to a temporary file instead of memory
LARGE_FILE_BYTES = 200_000_000
#: hexadecimal digits of the WKB of a line of four corners, of which the last is the first
_SHORTEST_RING = 18 + 4 * 32

EDGE_PART = "cut by the extract's edge, kept in part"
EDGE_LOST = "cut by the extract's edge, left out"
OPEN_WAY = "a line, not an area"
NOT_AREA = "a relation that is not an area"
BROKEN = "a multipolygon that is cut by the extract's edge or broken"


def osm_box(path: str | Path) -> Bounds | None:
    """The box that the file's header states, None if it states none."""
    osmium = _osmium()
    _check_file(path)
    with _readable(path):
        box = osmium.io.Reader(str(path), osmium.osm.NOTHING).header().box()
    if not box.valid():
        return None
    low, high = box.bottom_left, box.top_right
    return low.lat, low.lon, high.lat, high.lon


def read_osm(
    path: str | Path,
    layers: Sequence[Sequence[TagRule]],
    *,
    bounds: Bounds | None = None,
    levels: bool = False,
    hours: bool = False,
) -> Features:
    """The map objects that the rules choose and that touch `bounds`.

    Within a layer an object counts once, for the first rule that matches; in two layers it counts twice. `rule` in
    the result numbers the rules through all layers. With `levels`, `value` is the number of storeys (NaN where
    unknown); with `hours`, opening hours are kept.
    """
    _check_file(path)
    collector = Collector(layers, bounds, levels=levels, hours=hours)
    with _readable(path), _location_storage(path) as storage, _without_cycle_search():
        header = _osmium().io.Reader(str(path), _osmium().osm.NOTHING).header()
        stamp = header.get("osmosis_replication_timestamp") or header.get("timestamp")
        passes = _Passes(str(path), collector, storage, dated=not stamp)
        passes.run()
    box = osm_box(path)
    info = {
        "source": Path(path).name,
        "timestamp": stamp or passes.newest or None,
        "licence": ODBL,
        "box": list(box) if box else None,
        "objects": {reason: tuple(ids) for reason, ids in collector.lost.items()},
    }
    return collector.features(info)


class _Passes:
    """Reads the file as often as needed and hands its objects to the collector."""

    def __init__(self, path: str, collector: Collector, storage: str, *, dated: bool) -> None:
        self._osmium = _osmium()
        self._path, self._collector = path, collector
        self._dated, self.newest = dated, ""
        self._table = self._osmium.index.create_map(storage)
        self._wkb = self._osmium.geom.WKBFactory()
        self._manager = self._osmium.area.AreaManager()
        self._relations: dict[int, Sequence[Row]] = {}
        self._members: dict[int, list[int]] = {}
        self._lines: dict[int, list[tuple[float, float]]] = {}

    def run(self) -> None:
        self._read_relations()
        self._read_nodes_and_ways()
        if self._relations:
            self._read_members()

    def _key_filter(self) -> Any:
        return self._osmium.filter.KeyFilter(*self._collector.keys)

    def _read_relations(self) -> None:
        with self._osmium.io.Reader(self._path, self._osmium.osm.RELATION) as reader:
            self._osmium.apply(reader, self._key_filter(), self, self._manager.first_pass_handler())

    def relation(self, relation: Any) -> None:
        """Called by libosmium for each relation that has one of the keys."""
        rows = self._collector.choose(relation.tags, "area")
        if not rows:
            return
        if relation.tags.get("type") not in ("multipolygon", "boundary"):
            self._collector.drop(NOT_AREA, "relation", relation.id)
            return
        self._relations[relation.id] = rows
        self._members[relation.id] = [m.ref for m in relation.members if m.type == "w"]

    def _read_nodes_and_ways(self) -> None:
        entities = self._osmium.osm.NODE | self._osmium.osm.WAY
        processor = self._osmium.FileProcessor(self._path, entities).with_locations(self._table)
        choose, add_point, add_way = self._collector.choose, self._collector.add_point, self._add_way
        for obj in processor.with_filter(self._key_filter()):
            if obj.is_node():
                rows = choose(obj.tags, "node")
                if rows:
                    add_point(obj.lat, obj.lon, rows)
            else:
                add_way(obj)
            if self._dated and obj.timestamp.year > 1970:
                self.newest = max(self.newest, obj.timestamp.strftime("%Y-%m-%dT%H:%M:%SZ"))

    def _add_way(self, way: Any) -> None:
        rows = self._collector.choose(way.tags, "area")
        if not rows:
            return
        if not way.is_closed() or way.tags.get("area") == "no":
            self._collector.drop(OPEN_WAY, "way", way.id)
            return
        try:
            line = self._wkb.create_linestring(way)
        except (RuntimeError, ValueError, self._osmium.InvalidLocationError):
            self._add_part(way, rows)
            return
        if len(line) < _SHORTEST_RING:
            self._collector.drop(BAD_OUTLINE, "way", way.id)
            return
        self._collector.add_ring(line, rows)

    def _add_part(self, way: Any, rows: Sequence[Row]) -> None:
        """What is left of an outline whose corners the file does not all have, if that is still a closed outline.

        The rule is osm2pgsql's (the corner that closes the outline is there), so that both readers agree.
        """
        nodes = [n.location for n in way.nodes]
        corners = [(n.lon, n.lat) for n in nodes if n.valid()]
        kept = nodes[0].valid() and len(corners) >= 4
        if kept:
            polygon = shapely.Polygon(corners)
            kept = bool(polygon.is_valid and polygon.area > 0)
        if kept:
            self._collector.add_shape(shapely.to_wkb(polygon), rows)
        cut = len(corners) < len(nodes)
        self._collector.drop((EDGE_PART if kept else EDGE_LOST) if cut else BAD_OUTLINE, "way", way.id)

    def _read_members(self) -> None:
        """Multipolygons of which the file has every member are put together by libosmium, the others here."""
        osmium = self._osmium
        members = osmium.filter.IdFilter({way for number in self._relations for way in self._members[number]})
        locations = osmium.NodeLocationsForWays(self._table)
        locations.ignore_errors()
        areas = osmium.BufferIterator()
        with osmium.io.Reader(self._path, osmium.osm.WAY) as reader:
            osmium.apply(reader, members, locations, self, self._manager.second_pass_to_buffer(areas))
        for area in areas:
            if area.from_way() or area.orig_id() not in self._relations:
                continue
            try:
                shape = self._wkb.create_multipolygon(area)
            except (RuntimeError, ValueError):
                continue
            self._collector.add_shape(shape, self._relations.pop(area.orig_id()))
        for number, rows in self._relations.items():
            self._add_incomplete(number, rows)

    def way(self, way: Any) -> None:
        """Called by libosmium for each member of a multipolygon that counts."""
        corners = [(n.location.lon, n.location.lat) for n in way.nodes if n.location.valid()]
        if len(corners) > 1:
            self._lines[way.id] = corners

    def _add_incomplete(self, number: int, rows: Sequence[Row]) -> None:
        """A multipolygon with members missing: kept, as by osm2pgsql, if what is there are closed rings."""
        there = [shapely.LineString(self._lines[way]) for way in self._members[number] if way in self._lines]
        shape = closed_area(there)
        if shape is None:
            self._collector.drop(BROKEN, "relation", number)
            return
        self._collector.add_shape(shapely.to_wkb(shape), rows)
        if len(there) < len(self._members[number]):
            self._collector.drop(EDGE_PART, "relation", number)


def closed_area(lines: Sequence[Any]) -> Any:
    """What lines enclose (rings in rings are holes) if all of them belong to closed rings that do not cross."""
    if not lines or not shapely.multilinestrings(list(lines)).is_simple:
        return None
    _, cuts, dangles, invalid = shapely.polygonize_full(list(lines))
    if not (cuts.is_empty and dangles.is_empty and invalid.is_empty):
        return None
    area = shapely.build_area(shapely.geometrycollections(list(lines)))
    return None if area is None or area.is_empty else area


def _osmium() -> Any:
    try:
        import osmium
        import osmium.area
        import osmium.filter
        import osmium.geom
        import osmium.index
    except ImportError:
        raise MissingExtraError("osmium", "osm") from None
    return osmium


def _check_file(path: str | Path) -> None:
    if not Path(path).is_file():
        raise FileError(f"{path}: there is no such file")


@contextmanager
def _readable(path: str | Path) -> Iterator[None]:
    """libosmium's errors as ours."""
    try:
        yield
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise FileError(f"{Path(path).name}: not a whole OpenStreetMap file ({reason}); download it again") from None


@contextmanager
def _without_cycle_search() -> Iterator[None]:
    """Reading makes many short-lived objects and no cycles; looking for cycles among all else takes a sixth of it."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def _location_storage(path: str | Path) -> Iterator[str]:
    """Where node locations go while reading: memory for extracts, a temporary file for anything large."""
    if Path(path).stat().st_size < LARGE_FILE_BYTES:
        yield "flex_mem"
        return
    with tempfile.TemporaryDirectory(prefix="geoelastic-") as folder:
        yield f"sparse_file_array,{folder}/locations"
