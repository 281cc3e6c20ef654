# SPDX-License-Identifier: Apache-2.0
"""OpenStreetMap files (``.osm.pbf``, ``.osm``, ``.osm.bz2``, ``.opl``) to features.

Nodes, closed ways and multipolygon relations alike. The file is streamed: filters run inside libosmium, and only
objects that a rule chooses and that touch the bounds are kept. OsmPasses: all objects, and, if there are multipolygons
that count, their member ways. For a part of a large file, a survey first finds what may touch that part, and the passes
go over that: memory is bounded by the part, not by the file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError
from ..progress import Bar, progress_bar
from ._collect import Collector
from ._opl import newest_change
from ._survey import FileSurvey, UnsortedError
from .features import Bounds, Features, TagRule
from .osm_passes import OsmPasses, load_osmium

OSM_SUFFIXES = (".osm.pbf", ".pbf", ".osm", ".osm.bz2", ".osm.gz", ".opl", ".osm.opl")
ODBL = "© OpenStreetMap contributors, ODbL 1.0"
#: from this size of file on, node locations of a whole file go to a temporary file instead of memory
LARGE_FILE_BYTES = 200_000_000
#: from this size on, a part of a file is looked for by a survey; below, the whole takes less than 60 MB
SURVEY_BYTES = 20_000_000


def osm_box(path: str | Path) -> Bounds | None:
    """The box that the file's header states, None if it states none."""
    box = _header(path).box()
    if not box.valid():
        return None
    low, high = box.bottom_left, box.top_right
    return low.lat, low.lon, high.lat, high.lon


def _header(path: str | Path) -> Any:
    osmium = load_osmium()
    if not Path(path).is_file():
        raise FileError(f"{path}: there is no such file")
    with readable(path):
        return osmium.io.Reader(str(path), osmium.osm.NOTHING).header()


def read_osm(
    path: str | Path,
    layers: Sequence[Sequence[TagRule]],
    *,
    bounds: Bounds | None = None,
    levels: bool = False,
    hours: bool = False,
    progress: bool = False,
) -> Features:
    """The map objects that the rules choose and that touch `bounds`.

    Within a layer an object counts once, for the first rule that matches; in two layers it counts twice. `rule` in
    the result numbers the rules through all layers. With `levels`, `value` is the number of storeys (NaN where
    unknown); with `hours`, opening hours are kept.
    """
    header, box = _header(path), osm_box(path)
    collector = Collector(layers, bounds, levels=levels, hours=hours)
    with progress_bar(f"read {Path(path).name}", 1.0, show=progress) as bar, readable(path):
        found = _survey(path, collector, bounds, box, bar)
        stamp = header.get("osmosis_replication_timestamp") or header.get("timestamp")
        little = nullcontext("sparse_mem_array")
        with location_storage(path) if found is None else little as storage:
            if found is None:
                passes = OsmPasses(str(path), collector, storage, bar=bar if progress else None)
            else:
                lines, outside = found
                collector.outside += outside
                passes = OsmPasses(lines, collector, storage)
            passes.run()
        newest = stamp or passes.newest or (newest_change(path, collector.keys) if found is not None else "")
    info = {
        "source": Path(path).name,
        "timestamp": newest or None,
        "licence": ODBL,
        "box": list(box) if box else None,
    }
    return collector.features(info)


def _survey(
    path: str | Path, collector: Collector, bounds: Bounds | None, box: Bounds | None, bar: Bar
) -> tuple[bytes, int] | None:
    """What may touch the bounds; None where reading all of the file is as good."""
    if bounds is None or Path(path).stat().st_size < SURVEY_BYTES:
        return None
    if box is not None and np.all(np.less_equal(bounds[:2], box[:2]) & np.greater_equal(bounds[2:], box[2:])):
        return None
    try:
        return FileSurvey(path, collector.keys, collector.counts, bounds).run(bar)
    except UnsortedError:
        return None


@contextmanager
def readable(path: str | Path) -> Iterator[None]:
    """libosmium's errors as ours."""
    try:
        yield
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise FileError(f"{Path(path).name}: not a whole OpenStreetMap file ({reason}); download it again") from None


@contextmanager
def location_storage(path: str | Path) -> Iterator[str]:
    """Where node locations go while reading: memory for extracts, a temporary file for anything large."""
    if Path(path).stat().st_size < LARGE_FILE_BYTES:
        yield "sparse_mem_array"
        return
    with tempfile.TemporaryDirectory(prefix="geoelastic-") as folder:
        yield f"sparse_file_array,{folder}/locations"
