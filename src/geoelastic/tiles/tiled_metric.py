# SPDX-License-Identifier: Apache-2.0
"""`TiledMetric`: a metric in a folder of tiles (`folder`), opened only where it is looked at.

The folder is a path or an address that fsspec knows. What asks about a place (`locate`, `near`, reports) opens the
tiles around; what asks for all of the map (its graph, its masses) gets all of it (`whole`).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..area import Area
from ..arrays import BoolArray, IndexArray, IntArray
from ..context import Context
from ..errors import InputError
from ..levels import units_to_mass
from ..mass import Mass
from ..metric.measures import measure_digest, output_measure
from ..metric.metric import Metric, OfPlaces, People, require_location
from ..metric.part import Parts
from ..metric.relief import COARSE, Relief
from ..shown import Shown
from .cut import box_around, cut_part
from .folder import files_of, read_context_file, read_manifest, write_manifest
from .parts import TiledParts
from .store import CachedStore, Columns, TileStore
from .tiling import MARGIN_CELLS, Box, TilePlan
from .whole_graph import whole_metric
from .whole_map import AllOfIt
from .window import (
    Window,
    fence_of,
    misfit,
    read_columns,
    read_window,
    tile_leaves,
)

#: Tiles whose locations are kept at hand.
_TILES_KEPT = 64


def is_tiled(path: str | os.PathLike[str]) -> bool:
    """Whether a metric at `path` would be one in tiles: a folder, or an address."""
    text = os.fspath(path)
    return "://" in text or os.path.isdir(text)  # noqa: PTH112 (an address is not a Path)


def open_tiles(path: str | os.PathLike[str]) -> TiledMetric:
    """Open a tiled metric; reads its manifest and no tile."""
    store = CachedStore(os.fspath(path))
    return TiledMetric(store, read_manifest(store))


@dataclass(frozen=True)
class TiledRelief:
    """What the manifest says of the heights, which are read where reports are drawn; see `metric.relief.Relief`."""

    output: str
    made_for: str
    digest: str
    certificate: dict[str, Any] = field(default_factory=dict)
    slack: int = COARSE


def _relief(told: dict[str, Any]) -> TiledRelief:
    return TiledRelief(**(told | {"slack": int(told.get("slack", COARSE))}))


class TiledMetric(AllOfIt, OfPlaces, Shown):
    """A metric in tiles; see the module. `opened`: the tiles whose locations have been read so far."""

    method, by_paths, framed, at_hand = "conformal", True, None, False

    def __init__(self, store: CachedStore, content: dict[str, Any]) -> None:
        self.store, self.content = store, content
        self.plan = TilePlan.from_dict(content["plan"])
        self.n, self.grid, self.tiling = int(content["n"]), self.plan.grid, self.plan.tiling
        self.requirement = self.plan.make_requirement()
        self.l_from, self.l_top, self.frame_cells = self.plan.l_from, self.plan.l_top, self.plan.frame_cells
        self.certificate: dict[str, Any] = content["certificate"]
        self.info: dict[str, Any] = content["info"]
        self.relief = _relief(content["relief"]) if "relief" in content else None
        self.opened: set[int] = set()
        self._opened: dict[int, tuple[IndexArray, Columns]] = {}

    def __repr__(self) -> str:
        fences = self.totals["fences"]
        more = f", {fences} fence{'s' if fences > 1 else ''}" if fences else ""
        more += ", sharpened" if self.relief is not None else ""
        return f"TiledMetric({self.store.root!r}, n={self.n}, tiles={self.tiling.n}{more})"

    @cached_property
    def first(self) -> IntArray:
        """The number of the first location of each tile, and the number of all at the end."""
        return np.array([tile["first"] for tile in self.content["tiles"]] + [self.n], np.int64)

    @cached_property
    def context(self) -> Context | None:
        """Water, roads and names to be drawn with maps, if the folder has them."""
        return read_context_file(self.store, self.content["context"], self.grid) if "context" in self.content else None

    @property
    def totals(self) -> dict[str, Any]:
        """What the manifest says of all locations together; opens no tile."""
        mass = sum(tile["mass"] for tile in self.content["tiles"])
        fences = self.content.get("fences", {"number": 0, "secrets": 0})
        return {
            "layout": "adaptive",
            "locations": self.n,
            "secrets": self.certificate["secret_outside_fences"] + fences["secrets"],
            "cartogram": self.plan.redrawn,
            "fences": fences["number"],
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

    def at_cells(self, row: npt.ArrayLike, col: npt.ArrayLike) -> tuple[IntArray, BoolArray]:
        """The location of each cell, and whether it may be a secret."""
        rows, cols = np.asarray(row, np.int64), np.asarray(col, np.int64)
        index = np.empty(rows.shape, np.int64)
        places, which = np.unique(np.stack([rows, cols]) // self.tiling.side, axis=1, return_inverse=True)
        for k, place in enumerate(places.T.tolist()):
            here, tile = which.ravel() == k, self.tiling.tile_of(*(part * self.tiling.side for part in place))
            leaves, box = self.leaves_of(tile), self.tiling.box(tile)
            if np.count_nonzero(here) == 1:
                index[here] = self.first[tile] + _holding(leaves, int(rows[here][0]), int(cols[here][0]))
                continue
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
            found[here] = self.leaves_of(tile)[index[here] - self.first[tile]]
        return found[..., 0], found[..., 1], found[..., 2]

    def secrets_at(self, indices: npt.ArrayLike) -> BoolArray:
        """Whether each of some locations may be a secret."""
        margin, (row, col, size) = self.frame_cells, self.leaves(indices)
        low = (margin <= row) & (margin <= col)
        return low & (row + size <= self.grid.rows - margin) & (col + size <= self.grid.cols - margin)

    def latlon(self, i: int) -> tuple[float, float]:
        """The centre of a location."""
        row, col, size = (int(part) for part in self.leaves(require_location(i, self.n)))
        lat, lon = self.grid.cell_to_latlon(row + (size - 1) / 2, col + (size - 1) / 2)
        return float(lat), float(lon)

    def fences_at(self, indices: npt.ArrayLike) -> IndexArray:
        """The fence of each of some locations, 0 outside; opens the tiles that have a part of one."""
        index = np.asarray(indices, np.int64)
        found = np.zeros(index.shape, np.int32)
        tiles = np.searchsorted(self.first, index, side="right") - 1
        for tile in np.unique(tiles).tolist():
            if "fences" in self.content["tiles"][tile]:
                here = tiles == tile
                found[here] = self._fence(tile)[index[here] - self.first[tile]]
        return found

    def fence_members(self, number: int) -> IntArray:
        """The locations of a fence."""
        if not 1 <= number <= self.totals["fences"]:
            raise InputError(f"'number' must be that of a fence (the map has {self.totals['fences']}), got {number}")
        return np.concatenate([
            self.first[tile] + np.flatnonzero(self._fence(tile) == number) for tile in self.fence_tiles(number)
        ])  # fmt: skip

    def people(self, many: int) -> People:
        """Where people are, in so many places; reads the locations of all tiles, none of their neighbours."""
        tables = [self.columns_of(tile) for tile in range(self.tiling.n)]
        mass, fence = np.concatenate([table["mass"] for table in tables]), np.concatenate(list(map(fence_of, tables)))
        return People.of(mass, self.secrets_at(np.arange(self.n)), fence > 0, many)

    def fence_tiles(self, number: int) -> list[int]:
        """The tiles that have a part of a fence."""
        listed = (tile.get("fences", []) for tile in self.content["tiles"])
        return [k for k, fences in enumerate(listed) if number in (fence for fence, _ in fences)]

    def _fence(self, tile: int) -> IndexArray:
        """The fence of each location of a tile."""
        return fence_of(self.columns_of(tile))

    def tile_of(self, i: int) -> int:
        """The tile of a location."""
        return int(np.searchsorted(self.first, require_location(i, self.n), side="right") - 1)

    def leaves_of(self, tile: int) -> IndexArray:
        """(row, column, side) of the locations of a tile."""
        return self._open(tile)[0]

    def columns_of(self, tile: int) -> Columns:
        """The columns of a tile's locations."""
        return self._open(tile)[1]

    def _open(self, tile: int) -> tuple[IndexArray, Columns]:
        """The locations of a tile; `FileError` if they are more, less or others than the manifest tells."""
        found = self._opened.get(tile)
        if found is None:
            self.opened.add(tile)
            told = self.content["tiles"][tile]
            columns = self.store.read_table(told["tile"])[0]
            leaves = tile_leaves(self.store, self.tiling, tile, told["tile"], columns["exponent"])
            units, fence = columns["mass"], columns.get("fence", np.zeros(0, np.int32))
            members = [list(pair) for pair in sorted(Counter(fence[fence > 0].tolist()).items())]
            if (units.size, int(units.sum()), members) != (told["n"], told["mass"], told.get("fences", [])):
                raise misfit(self.store)
            found = leaves, columns
            while len(self._opened) >= _TILES_KEPT:
                self._opened.pop(next(iter(self._opened)), None)
            self._opened[tile] = found
        return found

    # parts: the tiles that they meet are opened

    def kinds(self, *, heights: bool) -> list[str]:
        """The kinds of files that a tile has; those of heights only if they are asked for."""
        return ["tile", "edges"] + ["rises"] * self.plan.ascent + ["heights"] * (heights and self.relief is not None)

    def fetch(self, tiles: Iterable[int]) -> None:
        """Read all that some tiles have."""
        self.store.fetch([self.content["tiles"][tile][kind] for kind in self.kinds(heights=True) for tile in tiles])

    def window(self, box: Box, *, rises: bool = True) -> tuple[Window, Columns]:
        """The locations of a box (cut at multiples of 64 cells) with their neighbours, and their columns; without the
        factors of edges where `rises` is False."""
        chosen = self.tiling.meeting(box)
        self.fetch(chosen)
        for tile in chosen:
            self._open(tile)
        files, own = self.files("tile"), self._rises if rises else None
        window = read_window(self.store, self.plan, box, chosen, files, self.files("edges"), own)
        return window, read_columns(self.store, window, files)

    def files(self, kind: str) -> dict[int, str]:
        """The files of a kind by tile: "tile", "edges", "rises" or "heights"."""
        return {number: tile[kind] for number, tile in enumerate(self.content["tiles"])}

    @property
    def _rises(self) -> dict[int, str] | None:
        return self.files("rises") if self.plan.ascent else None

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
        box = box_around(self.grid, area, margin_cells)
        return cut_part(self, box), (box.row, box.col)

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
        self.fetch(tiles)
        for tile in tiles:
            self._open(tile)
        window, metric = whole_metric(self.store, self.plan, tiles, edges, self._rises)
        # keyed reports and ledgers go by the name, which must be that of no other map
        found = metric.identity, int(metric.secret.sum()), int((metric.secret & (metric.fence == 0)).sum())
        if found != (self.identity, self.totals["secrets"], self.certificate["secret_outside_fences"]):
            raise misfit(self.store)
        metric = replace(metric, certificate=self.certificate, info=self.info, context=self.context)
        if self.relief is not None:
            told = self.relief
            relief = Relief(self.height(window), told.output, told.made_for, told.certificate, told.slack)
            if relief.digest != told.digest:
                raise misfit(self.store)
            metric = replace(metric, relief=relief)
        for output, told in self.content["measures"].items():  # what reports rely on without opening all of the map
            part, measure = TiledParts(self, output).whole(), output_measure(metric, output)
            outside = np.where(metric.fence > 0, 0, measure)
            name = measure_digest(measure)
            if not np.array_equal(part.measure, outside) or told.get("sha256", name) != name:
                raise misfit(self.store)
        return metric

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the map to a folder of tiles; `whole().save` writes it to one file.

        A folder that holds a map already is that map until all files of this one are there.
        """
        self.write(TileStore(os.fspath(path)))

    def write(self, target: TileStore, keep: Iterable[str] = ()) -> None:
        """The same; files to `keep` stay there even if this map does not need them."""
        for name in files_of(self.content):
            if not target.exists(name):
                self.store.copy(name, target)
        write_manifest(target, self.content, keep)

    def with_fences(
        self, fences: Any = (), *, remove: Any = (), mass: Mass | None = None, sharpen: bool = True,
        workers: int | None = None, progress: bool = False,
    ) -> TiledMetric:  # fmt: skip
        """The map with fences carved in, and fences (by number) taken away; see `carve.carve_tiles`."""
        from .carve_tiles import carve_tiles

        return carve_tiles(
            self, fences, remove=remove, mass=mass, sharpen=sharpen, workers=workers, progress=progress
        )  # fmt: skip


def _holding(leaves: IndexArray, row: int, col: int) -> int:
    """The number of the location that holds a cell, in a tile that has it."""
    first_row, first_col, side = leaves.T
    rows = (first_row <= row) & (row < first_row + side)
    return int(np.flatnonzero(rows & (first_col <= col) & (col < first_col + side))[0])
