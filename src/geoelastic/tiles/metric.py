# SPDX-License-Identifier: Apache-2.0
"""`TiledMetric`: a metric in a folder of tiles, opened only where it is looked at.

    manifest.json     plan, tiles in the order of the Z-order curve, totals by tile, certificate, sources
    tiles/*.parquet   exponent, mass, scale and place of each location
    edges/*.parquet   the neighbours of each location
    rises/*.parquet   the factor of each edge, at its earlier end
    heights/*.parquet the height of each location, if the map is sharpened
    build/...         what the tiles were built from; needed for updates only

The folder is a path or an address that fsspec knows. What asks about a place (`locate`, `near`, reports) opens the
tiles around; what asks for all of the map (its graph, its masses) gets all of it (`whole`).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..area import Area
from ..errors import FileError, FrameError, InputError, OutsideError
from ..levels import FloatArray, IntArray, units_to_mass
from ..locations import Grid, Locations
from ..mass import Mass
from ..metric.ascent import carry_rise
from ..metric.cartogram import neighbours_between
from ..metric.decode import conformal_within
from ..metric.graph import Graph
from ..metric.measures import output_measure
from ..metric.metric import Metric, frame_message, require_location
from ..metric.part import Parts
from ..metric.relief import Relief
from ..store.schema import parse_json
from .decode import require_content
from .parts import BLOCK_CELLS, TiledParts
from .plan import MARGIN_CELLS, Box, TilePlan, Tiling
from .store import CachedStore, Columns
from .whole import whole_metric
from .window import Window, between, box_grid, misfit, place_of, read_columns, read_rises, read_window, tile_leaves

__all__ = ["MANIFEST", "TiledMetric", "is_tiled", "open_tiles"]

IndexArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]

FORMAT, FORMAT_VERSION, MANIFEST = "geoelastic tiles", 3, "manifest.json"
#: Tiles whose locations are kept at hand.
_LEAVES_KEPT = 64
#: Far more than the 2^16 tiles and their blocks of the largest map take.
_MANIFEST_BYTES = 2**27


def is_tiled(path: str | os.PathLike[str]) -> bool:
    """Whether a metric at `path` would be one in tiles: a folder, or an address."""
    text = os.fspath(path)
    return "://" in text or os.path.isdir(text)  # noqa: PTH112 (an address is not a Path)


def open_tiles(path: str | os.PathLike[str]) -> TiledMetric:
    """Open a tiled metric; reads its manifest and no tile."""
    store = CachedStore(os.fspath(path))
    if not store.exists(MANIFEST):
        raise FileError(f"{store.address(MANIFEST)}: no such file: not a tiled metric, or its build did not end yet")
    try:
        head = parse_json(store.read(MANIFEST), "manifest", most=_MANIFEST_BYTES)
        content = head["content"]
        whole = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest() == head["sha256"]
    except (FileError, KeyError, TypeError):
        raise FileError(f"{store.address(MANIFEST)}: truncated, corrupt or not a manifest") from None
    if head.get("format") != FORMAT:
        raise FileError(f"{store.address(MANIFEST)}: not a geoelastic manifest")
    if head.get("version") != FORMAT_VERSION:
        raise FileError(
            f"{store.address(MANIFEST)}: written by another version of geoelastic (format "
            f"{str(head.get('version'))[:20]!r}, this one reads {FORMAT_VERSION}): build it again"
        )
    if not whole:
        raise FileError(f"{store.address(MANIFEST)}: corrupt: its content does not match its checksum")
    try:
        require_content(content, BLOCK_CELLS)
    except FileError as error:
        raise FileError(f"{store.address(MANIFEST)}: not sound: {error}") from None
    return TiledMetric(store, content)


@dataclass(frozen=True)
class TiledRelief:
    """What the manifest says of the heights, which are read where reports are drawn; see `metric.relief.Relief`."""

    output: str
    made_for: str
    digest: str
    certificate: dict[str, Any] = field(default_factory=dict)


class TiledMetric:
    """A metric in tiles; see the module. `opened`: the tiles whose locations have been read so far."""

    method, by_paths, framed, at_hand = "conformal", True, None, False

    def __init__(self, store: CachedStore, content: dict[str, Any]) -> None:
        self.store, self.content = store, content
        self.plan = TilePlan.from_dict(content["plan"])
        self.requirement = self.plan.make_requirement()
        self.l_from, self.l_top, self.frame_cells = self.plan.l_from, self.plan.l_top, self.plan.frame_cells
        self.certificate: dict[str, Any] = content["certificate"]
        self.info: dict[str, Any] = content["info"]
        self.relief = TiledRelief(**content["relief"]) if "relief" in content else None
        self.opened: set[int] = set()
        self._leaf_cache: dict[int, IndexArray] = {}

    def __repr__(self) -> str:
        more = ", sharpened" if self.relief is not None else ""
        return f"TiledMetric({self.store.root!r}, n={self.n}, tiles={self.tiling.n}{more})"

    @property
    def n(self) -> int:
        """The number of locations."""
        return int(self.content["n"])

    @property
    def grid(self) -> Grid:
        return self.plan.grid

    @property
    def tiling(self) -> Tiling:
        return self.plan.tiling

    @cached_property
    def first(self) -> IntArray:
        """The number of the first location of each tile, and the number of all at the end."""
        return np.array([tile["first"] for tile in self.content["tiles"]] + [self.n], np.int64)

    @property
    def totals(self) -> dict[str, Any]:
        """What the manifest says of all locations together; opens no tile."""
        mass = sum(tile["mass"] for tile in self.content["tiles"])
        return {
            "layout": "adaptive",
            "locations": self.n,
            "secrets": self.certificate["secret_outside_fences"],
            "cartogram": self.plan.redrawn,
            "fences": 0,
            "mass": float(units_to_mass(mass)),
        }

    @property
    def identity(self) -> str:
        """The name by which ledgers and keyed reports know the metric."""
        return str(self.content["identity"])

    # places: only the tiles that they lie in are opened

    def locate(self, lat: float, lon: float) -> int:
        """The location of a place; `OutsideError` if the map does not hold it."""
        row, col = self.grid.locate(lat, lon)
        return int(self.at_cells([row], [col])[0][0])

    def locate_secret(self, lat: float, lon: float) -> int:
        """The location of a place that is to be hidden; `FrameError` in the frame."""
        i = self.locate(lat, lon)
        if not self.is_secret(i):
            raise FrameError(frame_message(self))
        return i

    def at_cells(self, row: npt.ArrayLike, col: npt.ArrayLike) -> tuple[IntArray, BoolArray]:
        """The location of each cell, and whether it may be a secret."""
        rows, cols = np.asarray(row, np.int64), np.asarray(col, np.int64)
        index = np.empty(rows.shape, np.int64)
        places, which = np.unique(np.stack([rows, cols]) // self.tiling.side, axis=1, return_inverse=True)
        for k, place in enumerate(places.T.tolist()):
            here, tile = which.ravel() == k, self.tiling.tile_of(*(part * self.tiling.side for part in place))
            leaves, box = self._leaves(tile), self.tiling.box(tile)
            low = np.array([box.row, box.col, 0], np.int32)
            owner = kernels.paint_owner(*box.shape, *np.ascontiguousarray((leaves - low).T))
            index[here] = self.first[tile] + owner[rows[here] - box.row, cols[here] - box.col]
        return index, self.secrets_at(index)

    def leaves(self, indices: npt.ArrayLike) -> tuple[IndexArray, IndexArray, IndexArray]:
        """(south-west rows, columns, sides) of locations, in cells."""
        index = np.asarray(indices, np.int64)
        found = np.empty((*index.shape, 3), np.int32)
        tiles = np.searchsorted(self.first, index, side="right") - 1
        for tile in np.unique(tiles).tolist():
            here = tiles == tile
            found[here] = self._leaves(tile)[index[here] - self.first[tile]]
        return found[..., 0], found[..., 1], found[..., 2]

    def secrets_at(self, indices: npt.ArrayLike) -> BoolArray:
        """Whether each of some locations may be a secret."""
        margin, (row, col, size) = self.frame_cells, self.leaves(indices)
        low = (margin <= row) & (margin <= col)
        return low & (row + size <= self.grid.rows - margin) & (col + size <= self.grid.cols - margin)

    def is_secret(self, i: int) -> bool:
        """False in the frame, which may be reported but not be a secret."""
        return bool(self.secrets_at(require_location(i, self.n)))

    def latlon(self, i: int) -> tuple[float, float]:
        """The centre of a location."""
        row, col, size = (int(part) for part in self.leaves(require_location(i, self.n)))
        lat, lon = self.grid.cell_to_latlon(row + (size - 1) / 2, col + (size - 1) / 2)
        return float(lat), float(lon)

    def fences_at(self, indices: npt.ArrayLike) -> IndexArray:
        """The fence of each of some locations, 0 outside."""
        return np.zeros(np.shape(indices), np.int32)

    def fence_members(self, number: int) -> IntArray:
        """The locations of a fence."""
        raise InputError(f"'number' must be that of a fence; the map has none, got {number}")

    def tile_of(self, i: int) -> int:
        """The tile of a location."""
        return int(np.searchsorted(self.first, require_location(i, self.n), side="right") - 1)

    def _leaves(self, tile: int) -> IndexArray:
        """(row, column, side) of the locations of a tile."""
        found = self._leaf_cache.get(tile)
        if found is None:
            self.opened.add(tile)
            name = self.content["tiles"][tile]["tile"]
            found = tile_leaves(self.store, self.tiling, tile, name, self.store.read_table(name)[0]["exponent"])
            if found.shape[0] != self.content["tiles"][tile]["n"]:
                raise misfit(self.store)
            while len(self._leaf_cache) >= _LEAVES_KEPT:
                self._leaf_cache.pop(next(iter(self._leaf_cache)), None)
            self._leaf_cache[tile] = found
        return found

    # parts: the tiles that they meet are opened

    def window(self, box: Box) -> tuple[Window, Columns]:
        """The locations of a box (cut at multiples of 64 cells) with their neighbours, and their columns."""
        chosen = self.tiling.meeting(box)
        self.opened.update(chosen)
        listed = self.content["tiles"]
        kinds = ["tile", "edges"] + ["rises"] * self.plan.ascent + ["heights"] * (self.relief is not None)
        self.store.fetch([listed[tile][kind] for kind in kinds for tile in chosen])
        layout, links = ({tile: listed[tile][kind] for tile in chosen} for kind in ("tile", "edges"))
        window = read_window(self.store, self.plan, box, chosen, layout, links)
        self._require_told(chosen)
        columns = read_columns(self.store, window, layout)
        return between(window, place_of(columns)), columns

    def _require_told(self, tiles: Iterable[int]) -> None:
        """`FileError` if tiles hold more or less than the manifest tells."""
        for tile in (self.content["tiles"][number] for number in tiles):
            units = self.store.read_table(tile["tile"])[0]["mass"]
            if (units.size, int(units.sum())) != (tile["n"], tile["mass"]):
                raise misfit(self.store)

    def files(self, kind: str) -> dict[int, str]:
        """The files of a kind by tile: "tile", "edges", "rises" or "heights"."""
        return {number: tile[kind] for number, tile in enumerate(self.content["tiles"])}

    def rise(self, window: Window) -> npt.NDArray[np.uint8] | None:
        """The factors of a window's edges, in the order of its rows; None if edges have none of their own."""
        rises = self.files("rises") if self.plan.ascent else None
        return read_rises(self.store, self.plan, window, self.files("edges"), rises)

    def height(self, window: Window) -> IndexArray:
        """The heights of a window's locations, of a map that is sharpened."""
        found: IndexArray = read_columns(self.store, window, self.files("heights"))["height"]
        return found

    def numbers(self, window: Window) -> IntArray:
        """The number in the whole map of each location of a window."""
        return self.first[window.tile] + window.number

    def near(self, area: Area, *, margin_cells: int = MARGIN_CELLS) -> tuple[Metric, tuple[int, int]]:
        """The part of the map around `area` as a metric of its own, and its south-west cell in the map.

        Its distances are those along paths inside the part. It is not certified; `extract` cuts and certifies.
        """
        box = self._box_around(area, margin_cells)
        window, columns = self.window(box)
        leaves, kept = window.locations.cut(box_grid(self.grid, box), 0, 0)
        scale, whole_place = columns["scale"][kept], place_of(columns)
        place = None if whole_place is None else np.ascontiguousarray(whole_place[kept])
        neighbours, rise = neighbours_between(leaves, None, place), self.rise(window)
        if rise is not None:
            rise = carry_rise(rise, window.neighbours, neighbours, kept)
        relief = None
        if self.relief is not None:  # of another map, but a good beginning for the part's own
            relief = Relief(self.height(window)[kept], self.relief.output, self.relief.made_for)
        framed = np.ones(box.shape, bool)
        margin = self.frame_cells
        framed[max(margin - box.row, 0) : max(self.grid.rows - margin - box.row, 0),
               max(margin - box.col, 0) : max(self.grid.cols - margin - box.col, 0)] = False  # fmt: skip
        part = Metric(
            leaves, window.mass_units[kept], conformal_within(neighbours, scale.astype(np.int64), rise),
            np.zeros(leaves.n, np.int32), self.method, requirement=self.requirement, l_from=self.l_from,
            l_top=self.l_top, framed=framed, scale=scale, place=place, rise=rise, relief=relief, info=self.info,
        )  # fmt: skip
        return part, (box.row, box.col)

    def _box_around(self, area: Area, margin_cells: int) -> Box:
        x = np.array([-1, -1, 1, 1]) * area.width_m / 2
        y = np.array([-1, 1, -1, 1]) * area.height_m / 2
        x, y = self.grid.area.to_xy(*area.to_latlon(x, y))
        rows, cols = (
            np.asarray(part) / self.grid.cell_m + n / 2 for part, n in ((y, self.grid.rows), (x, self.grid.cols))
        )
        if not (rows.max() >= 0 and cols.max() >= 0 and rows.min() < self.grid.rows and cols.min() < self.grid.cols):
            raise OutsideError("the region must overlap the map")
        step = MARGIN_CELLS
        low = [int(max(0, v.min() - margin_cells)) // step * step for v in (rows, cols)]
        high = [math.ceil((v.max() + margin_cells) / step) * step for v in (rows, cols)]
        return Box(low[0], low[1], min(high[0], self.grid.rows), min(high[1], self.grid.cols))

    def parts(self, output: str) -> Parts | None:
        """Parts to report by a measure; None if the manifest does not tell how much of it lies where."""
        return TiledParts(self, output) if output in self.content["measures"] else None

    # all of the map

    def whole(self) -> Metric:
        """All of the map in memory."""
        return self._whole

    @cached_property
    def _whole(self) -> Metric:
        edges, tiles = self.files("edges"), self.files("tile")
        self.opened.update(tiles)
        self.store.fetch([*tiles.values(), *edges.values()])
        window, metric = whole_metric(
            self.store, self.plan, tiles, edges, self.files("rises") if self.plan.ascent else None
        )
        self._require_told(tiles)
        # keyed reports and ledgers go by the name, which must be that of no other map
        if (metric.identity, int(metric.secret.sum())) != (self.identity, self.totals["secrets"]):
            raise misfit(self.store)
        metric = replace(metric, certificate=self.certificate, info=self.info)
        if self.relief is not None:
            told = self.relief
            relief = Relief(self.height(window), told.output, told.made_for, told.certificate)
            if relief.digest != told.digest:
                raise misfit(self.store)
            metric = replace(metric, relief=relief)
        columns = read_columns(self.store, window, tiles)
        for output in self.content["measures"]:  # what reports rely on without opening all of the map
            measure = TiledParts(self, output).part_of(window, columns).measure
            if not np.array_equal(measure, output_measure(metric, output)):
                raise misfit(self.store)
        return metric

    @property
    def locations(self) -> Locations:
        return self._whole.locations

    @property
    def mass(self) -> FloatArray:
        """Mass of each location."""
        return self._whole.mass

    @property
    def mass_units(self) -> IntArray:
        return self._whole.mass_units

    @property
    def graph(self) -> Graph:
        return self._whole.graph

    @property
    def fence(self) -> IndexArray:
        return self._whole.fence

    @property
    def secret(self) -> BoolArray:
        """Whether each location may be a secret, i.e. lies outside the frame."""
        return self._whole.secret

    @property
    def scale(self) -> IndexArray | None:
        return self._whole.scale

    @property
    def place(self) -> IndexArray | None:
        return self._whole.place

    @property
    def xy(self) -> FloatArray:
        """Centres in metres east and north of the middle of the map, (n, 2)."""
        return self._whole.xy

    def edges(self) -> tuple[IndexArray, IndexArray, FloatArray]:
        """(i, j, level): the whole graph, each undirected edge once."""
        return self._whole.edges()

    def edge_units(self) -> tuple[IndexArray, IndexArray, IndexArray]:
        """The edges with their levels in whole units."""
        return self._whole.edge_units()

    def distance_units_from(self, i: int, limit: float | None = None) -> IndexArray:
        """Whole units from location i to every location; `UNREACHABLE` in place of infinite."""
        return self._whole.distance_units_from(i, limit)

    def distances_from(self, i: int, limit: float | None = None) -> FloatArray:
        """Levels from location i to every location, infinite where unreachable or beyond `limit`."""
        return self._whole.distances_from(i, limit)

    def ball(self, i: int, level: float) -> IntArray:
        """The locations within `level` of location i."""
        return self._whole.ball(i, level)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of the map to one ``.geoelastic`` file."""
        self._whole.save(path)

    def with_fences(
        self, fences: Any = (), *, remove: Any = (), mass: Mass | None = None, sharpen: bool = True,
        workers: int | None = None, progress: bool = False,
    ) -> Metric:  # fmt: skip
        """Not in tiles: see the message."""
        raise InputError("fences are carved into an extract: cut one from this map first (geoelastic extract)")
