# SPDX-License-Identifier: Apache-2.0
"""`Metric`: distinguishability levels between locations, as shortest paths in a graph with integer weights."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import BoolArray, ByteArray, FloatArray, IndexArray, IntArray, Locked, read_only
from ..errors import FrameError, InputError, OutsideError
from ..levels import UNREACHABLE, level_to_units, units_to_level, units_to_mass
from ..locations import Grid, Locations
from ..mass import Mass, Quadratic, Requirement
from ..shown import Shown
from ..store.digest import Digest
from .graph import Graph

if TYPE_CHECKING:
    from ..area import Area
    from ..context import Context
    from .any_metric import AnyMetric
    from .part import Parts
    from .relief import Relief


class OfPlaces:
    """What is asked about one place, and answered alike by a metric in memory and one in tiles."""

    def is_secret(self: AnyMetric, i: int) -> bool:
        """False in the frame, which may be reported but not be a secret."""
        return bool(self.secrets_at(require_location(i, self.n)))

    def locate_secret(self: AnyMetric, lat: float, lon: float) -> int:
        """The location of a place that is to be hidden; `FrameError` in the frame."""
        i = self.locate(lat, lon)
        if not self.is_secret(i):
            raise FrameError(frame_message(self))
        return i


@dataclass(frozen=True, eq=False, repr=False)
class Metric(Locked, Shown, OfPlaces):
    """A metric over locations.

    `fence`: 0 outside, k inside fence k; inside a fence all distances are 0, across it they are infinite. `scale`:
    the local scales of a conformal metric, from which its graph is computed; `place`: where its locations lie on the
    map that was redrawn for it (`cartogram`), if it was; `rise`: its edges' own factors (`ascent`), one per pair of
    neighbours i < j in the order of their rows. `framed`: cells, (rows, cols), that belong to the frame
    besides the outer `frame_cells`: the border of a cut, where verification failed.
    `certificate`: what was verified. `info`: where the mass comes from. `relief`: heights that let reports use more
    than half of each distance (`relief.Relief`). `context`: water, roads and names, to be drawn with maps of it.
    """

    locations: Locations
    mass_units: IntArray
    graph: Graph
    fence: IndexArray
    method: str
    requirement: Requirement = field(default_factory=Quadratic)
    l_from: float = 0.0
    l_top: float = 0.0
    frame_cells: int = 0
    framed: BoolArray | None = None
    scale: IndexArray | None = None
    place: IndexArray | None = None
    rise: ByteArray | None = None
    certificate: dict[str, Any] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    relief: Relief | None = None
    context: Context | None = None

    def __repr__(self) -> str:
        fences = int(self.fence.max(initial=0))
        more = [f"{fences} fence{'s' if fences > 1 else ''}"] if fences else []
        more += ["sharpened"] if self.relief is not None else []
        return f"Metric({', '.join([self.method, f'{self.n:,} locations', *more, self.grid.extent])})"

    @property
    def n(self) -> int:
        """The number of locations."""
        return self.locations.n

    @property
    def grid(self) -> Grid:
        return self.locations.grid

    @property
    def xy(self) -> FloatArray:
        """Centres in metres east and north of the middle of the map, (n, 2)."""
        return self.locations.xy

    @cached_property
    def mass(self) -> FloatArray:
        """Mass of each location."""
        return read_only(units_to_mass(self.mass_units))

    @cached_property
    def secret(self) -> BoolArray:
        """Whether each location may be a secret, i.e. lies outside the frame."""
        inside = self.locations.inside(self.frame_cells)
        if self.framed is not None:
            inside &= self.locations.sum_over(self.framed.astype(np.int32)) == 0
        return read_only(inside)

    @property
    def by_paths(self) -> bool:
        """Whether distances are shortest paths in `graph`, which searches can walk as far as they need."""
        return True

    @property
    def at_hand(self) -> bool:
        """Whether all of it is in memory, so that looking at every location costs nothing more."""
        return True

    def people(self, many: int) -> People:
        """Where people are, in so many places."""
        return People.of(self.mass_units, self.secret, self.fence > 0, many)

    def edges(self) -> tuple[IndexArray, IndexArray, FloatArray]:
        """(i, j, level): the whole graph, each undirected edge once, with the zero edges that tie each fence
        together."""
        tail, tip, weight = self.edge_units()
        return tail, tip, units_to_level(weight)

    def edge_units(self) -> tuple[IndexArray, IndexArray, IndexArray]:
        """The edges with their levels in whole units."""
        tail, tip, weight = self.graph.edges()
        inside = np.flatnonzero(self.fence > 0).astype(np.int32)
        inside = inside[np.argsort(self.fence[inside], kind="stable")]
        chained = self.fence[inside[:-1]] == self.fence[inside[1:]]
        a, b = inside[:-1][chained], inside[1:][chained]
        zero = np.zeros(a.size, np.int32)
        return np.concatenate([tail, a]), np.concatenate([tip, b]), np.concatenate([weight, zero])

    def distances_from(self, i: int, limit: float | None = None) -> FloatArray:
        """Levels from location i to every location, infinite where unreachable or beyond `limit`."""
        levels: FloatArray = units_to_level(self.distance_units_from(i, limit))
        return levels

    def distance_units_from(self, i: int, limit: float | None = None) -> IndexArray:
        """The same in whole units; `UNREACHABLE` in place of infinite."""
        i = require_location(i, self.n)
        if self.fence[i] > 0:
            return np.where(self.fence == self.fence[i], 0, UNREACHABLE).astype(np.int32)
        return self.graph.distances(i, UNREACHABLE - 1 if limit is None else level_to_units(limit))

    def ball(self, i: int, level: float) -> IntArray:
        """The locations within `level` of location i."""
        return np.flatnonzero(self.distance_units_from(i, level) <= level_to_units(level))

    def locate(self, lat: float, lon: float) -> int:
        """The location of a place; `OutsideError` if the map does not hold it."""
        return int(self.locations.owner[self.grid.locate(lat, lon)])

    def latlon(self, i: int) -> tuple[float, float]:
        """The centre of a location."""
        lat, lon = self.grid.area.to_latlon(*self.xy[require_location(i, self.n)])
        return float(lat), float(lon)

    def near(self, area: Area) -> tuple[Metric, tuple[int, int]]:
        """A part of the map that holds `area` with a margin, and its south-west cell in the map: here, all of it."""
        return self, (0, 0)

    def parts(self, output: str) -> Parts | None:
        """Parts that can be opened one by one to report by a measure; None: all of the map is at hand."""
        return None

    def whole(self) -> Metric:
        """All of the map in memory."""
        return self

    def leaves(self, indices: Any) -> tuple[IndexArray, IndexArray, IndexArray]:
        """(south-west rows, columns, sides) of locations, in cells."""
        at = self.locations
        return at.row[indices], at.col[indices], at.size[indices]

    def secrets_at(self, indices: Any) -> BoolArray:
        """Whether each of some locations may be a secret."""
        return np.asarray(self.secret[indices])

    def fences_at(self, indices: Any) -> IndexArray:
        """The fence of each of some locations, 0 outside."""
        return np.asarray(self.fence[indices])

    def fence_members(self, number: int) -> IntArray:
        """The locations of a fence."""
        return np.flatnonzero(self.fence == number)

    def at_cells(self, row: Any, col: Any) -> tuple[IntArray, BoolArray]:
        """The location of each cell, and whether it may be a secret."""
        index = self.locations.owner[row, col].astype(np.int64)
        return index, self.secret[index]

    @property
    def totals(self) -> dict[str, Any]:
        """What can be said of all locations together."""
        return {
            "layout": self.locations.kind,
            "locations": self.n,
            "secrets": int(self.secret.sum()),
            "cartogram": self.place is not None,
            "fences": int(self.fence.max(initial=0)),
            "mass": float(self.mass.sum()),
        }

    @cached_property
    def identity(self) -> str:
        """A name made of all that distances and reports depend on, 32 hexadecimal digits: ledgers and keyed reports
        know a metric by it."""
        grid = self.grid
        state = Digest(repr((grid.area, grid.cell_m, grid.rows, grid.cols, self.n)))
        for array in (self.mass_units, self.fence, self.locations.size, *self.edge_units()):
            state.add(f"{array.dtype.str}{array.shape}", array)
        return state.text[:32]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the metric to one ``.geoelastic`` file."""
        from .metric_file import save

        save(self, path)

    def with_fences(
        self, fences: Any = (), *, remove: Any = (), mass: Mass | None = None, sharpen: bool = True,
        workers: int | None = None, progress: bool = False,
    ) -> Metric:  # fmt: skip
        """The metric with fences carved in, and fences (by number) taken away; see `carve.carve`."""
        from .carve import carve

        return carve(self, fences, remove=remove, mass=mass, sharpen=sharpen, workers=workers, progress=progress)

    def with_context(self, path: str | os.PathLike[str]) -> Metric:
        """The metric with the water, coast, main roads and names that an OpenStreetMap file has in its area."""
        from ..context.context_from_osm import read_context

        return replace(self, context=read_context(os.fspath(path), self.grid.covered, self.grid.cell_m))


def require_location(i: int, n: int) -> int:
    """The number of a location of a map that has n; `OutsideError` if it is none."""
    if not hasattr(i, "__index__"):
        raise InputError(f"a location must be a whole number, got {type(i).__name__}")
    if not 0 <= i.__index__() < n:
        raise OutsideError(f"a location must be in [0, {n})")
    return i.__index__()


def frame_message(metric: AnyMetric) -> str:
    """Why a place cannot be hidden."""
    where = f"the outer {metric.frame_cells * metric.grid.cell_m:g} m of the map"
    if metric.framed is not None:
        where = "where the map is too close to its border to know the crowd"
    return f"the place is in the frame, {where}: it may be reported but not be hidden; use a map that reaches further"


@dataclass(frozen=True, eq=False)
class People:
    """`places`: numbers of locations that stand for as many people each, among those that can be hidden outside
    fences; one of many people may be there more than once. `mass_units`, `hidden_units`: the mass of all, and of those
    who can be hidden. `framed`: how many locations cannot."""

    places: IntArray
    mass_units: int
    hidden_units: int
    framed: int

    @classmethod
    def of(cls, mass_units: IntArray, secret: BoolArray, fenced: BoolArray, many: int) -> People:
        """The people of a map with these locations, in so `many` places."""
        hidden, candidates = secret | fenced, np.flatnonzero(secret & ~fenced)
        mass = np.cumsum(mass_units[candidates])
        if mass.size and mass[-1]:
            candidates = candidates[np.searchsorted(mass, (np.arange(many) + 0.5) / many * mass[-1])]
        else:
            candidates = candidates[:0]
        return cls(candidates, int(mass_units.sum()), int(mass_units[hidden].sum()), int(np.count_nonzero(~hidden)))
