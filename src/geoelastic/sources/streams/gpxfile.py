# SPDX-License-Identifier: Apache-2.0
"""GPX, a point at a time. Of a point only its place and time are kept: an elevation or a name tells where it was."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pyarrow as pa

from ...errors import FileError, InputError
from .columns import SEEDED_COLUMN, Batch, Batches, Layout, row_batches, usual_column
from .plumbing import DocumentReader, decimals, open_write

_POINTS = {"wpt": "waypoint", "rtept": "route", "trkpt": "track"}
_STRUCTURE = frozenset(["gpx", "trk", "trkseg", "rte", *_POINTS])
_REST = pa.schema([("kind", pa.string()), ("line", pa.int64()), ("segment", pa.int64()), ("time", pa.string())])


class GpxReader(DocumentReader):
    """Waypoints, route points and track points of a GPX file."""

    def __init__(self, path: Path, *, lat: str | None, lon: str | None, keep: Collection[str]) -> None:
        super().__init__(path, _REST, lat, lon, "GPX has its places in attributes")

    def batches(self) -> Batches:
        """The points in order."""
        with self._source.open() as file:
            try:
                yield from row_batches(self._points(file), _REST)
            except (ElementTree.ParseError, ValueError, LookupError, OSError) as error:
                if isinstance(error, FileError | InputError):
                    raise
                raise FileError(f"{self._path.name}: not a whole GPX file") from None

    def _points(self, file: IO[bytes]) -> Iterator[tuple[Any, ...]]:
        open_elements: list[Any] = []
        line = segment = 0
        for event, element in ElementTree.iterparse(file, events=("start", "end")):
            tag = _tag(element)
            if event == "start":
                if not open_elements and tag != "gpx":
                    raise ValueError("not GPX")
                open_elements.append(element)
                line += tag in ("trk", "rte")
                segment += tag in ("trkseg", "rte")
                continue
            open_elements.pop()
            if tag in _POINTS:
                lat, lon = float(element.attrib["lat"]), float(element.attrib["lon"])
                yield lat, lon, _POINTS[tag], line, segment, self._time(element)
            elif tag not in _STRUCTURE and open_elements and _tag(open_elements[-1]) in _STRUCTURE - {*_POINTS}:
                self._withhold(tag)
            if tag in _STRUCTURE and open_elements:
                open_elements[-1].clear()  # what has been read is let go, so that memory does not grow with the file

    def _time(self, point: Any) -> str | None:
        time = None
        for child in point:
            tag = _tag(child)
            if tag == "time":
                time = child.text
            else:
                self._withhold(tag)
        return time

    def _withhold(self, tag: str) -> None:
        if tag not in self.withheld:
            self.withheld.append(tag)


class GpxWriter:
    """Rows as GPX. Rows that did not come from GPX become one track, with their column `time` if they have one."""

    def __init__(self, path: Path, layout: Layout, *, name: str) -> None:
        self._file: IO[bytes] = open_write(path, name)
        self._native = set(_REST.names) <= set(layout.rest.names)
        self._time = usual_column(layout.rest.names, "time")
        self._open: tuple[str, int, int] | None = None
        seeded = " (seeded: for research only)" if SEEDED_COLUMN in layout.rest.names else ""
        self._put('<?xml version="1.0" encoding="UTF-8"?>\n')
        self._put(f'<gpx version="1.1" creator="geoelastic{seeded}" xmlns="http://www.topografix.com/GPX/1/1">\n')

    def write(self, batch: Batch) -> None:
        n = len(batch.lat)
        native = {c: batch.rest.column(c).to_pylist() for c in ("kind", "line", "segment")} if self._native else {}
        times: Any = batch.rest.column(self._time).to_pylist() if self._time else [None] * n
        for k, (lat, lon) in enumerate(
            zip(decimals(batch.lat).to_pylist(), decimals(batch.lon).to_pylist(), strict=True)
        ):
            place = (native["kind"][k], native["line"][k], native["segment"][k]) if native else ("track", 1, 1)
            self._move_to(place)
            tag = next(t for t, kind in _POINTS.items() if kind == place[0])
            when = times[k].isoformat() if hasattr(times[k], "isoformat") else times[k]
            inner = "" if when is None else f"<time>{escape(str(when))}</time>"
            self._put(f'<{tag} lat="{lat}" lon="{lon}">{inner}</{tag}>\n')

    def _move_to(self, place: tuple[str, int, int]) -> None:
        if place[0] == "waypoint":
            self._close_line()
        elif self._open is None or self._open[:2] != place[:2]:
            self._close_line()
            self._put("<rte>\n" if place[0] == "route" else "<trk><trkseg>\n")
            self._open = place
        elif self._open != place:
            self._put("</trkseg><trkseg>\n")
            self._open = place

    def _close_line(self) -> None:
        if self._open is not None:
            self._put("</rte>\n" if self._open[0] == "route" else "</trkseg></trk>\n")
        self._open = None

    def _put(self, text: str) -> None:
        self._file.write(text.encode())

    def close(self, *, whole: bool) -> None:
        self._close_line()
        self._put("</gpx>\n")
        self._file.close()


def _tag(element: Any) -> str:
    """The name of an element without its namespace."""
    return str(element.tag).rsplit("}", 1)[-1]
