# SPDX-License-Identifier: Apache-2.0
"""From what a file says to a metric, or to a refusal: one strict decoder for every kind of file, before any kernel.

The kernels check nothing (see `_kernels`). So everything that they rely on is checked here: types, lengths, ranges, and
that numbers fit what holds them. ``docs/format.md`` has all ranges in one table, and the JavaScript client refuses the
very same files; both are run on the vectors of ``client/test/hostile.json``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..area import Area
from ..arrays import IndexArray, IntArray
from ..errors import FileError
from ..levels import UNREACHABLE
from ..locations import Grid, Locations, from_exponents, uniform
from ..mass import requirement_from_dict
from ..mass.requirement import MAX_LEVEL, MOST_ASKED, require_stated
from ..store import schema
from .cartogram import neighbours_between
from .conformal import conformal_graph
from .graph import Graph
from .metric import Metric
from .relief import COARSE, MOST_SLACK, Relief

Columns = Mapping[str, npt.NDArray[Any]]

#: Cells of a side and of a grid, and entries of any array.
SIDE, CELLS, COUNT = 2**15, 2**25, 2**26
#: The longest edge, and how far the first location of a connected part may be from any of its others, in level units.
#: Distances are then below 2^24: far below the 2^31 - 1 that mean unreachable, and 2048 levels.
WEIGHT, SPREAD = 2**23, 2**23
#: Mass units in all; metres.
MASS, METRES = 2**61, 4e6
LEAST_METRES = 2.0**-20
#: log2 of the side of the largest location: kernels keep (4 side + 4)^2 neighbours of neighbours.
EXPONENT = 8
#: What each column with one number per location, one per edge, and one per pair of neighbours may hold.
BY_LOCATION = {
    "exponent": (0, EXPONENT), "mass": (0, MASS), "fence": (0, CELLS), "framed": (0, 1), "scale": (0, 2**28),
    "place_east": (-(2**20), 2**25), "place_north": (-(2**20), 2**25), "height": (0, 2**24),
}  # fmt: skip
BY_EDGE = {"edge_i": (0, CELLS), "edge_j": (0, CELLS), "edge_level": (0, WEIGHT)}
BY_PAIR = {"edge_rise": (0, kernels.MOST_RISE)}
_RANGES = BY_LOCATION | BY_EDGE | BY_PAIR

_GRID = ("lat", "lon", "width_m", "height_m", "cell_m", "rows", "cols", "east_m", "north_m")
_NEEDS = (
    "geoelastic", "grid", "layout", "method", "requirement", "l_from", "l_top", "frame_cells", "certificate", "info",
)  # fmt: skip
_HASH = "[0-9a-f]{64}"


def decode_metric(manifest: dict[str, Any], columns: Columns) -> Metric:
    """The metric of a manifest that `require_manifest` has passed and of its columns; `FileError` names what is
    wrong."""
    _require_columns(manifest, columns)
    grid = _grid(manifest["grid"])
    locations = _locations(grid, manifest["layout"], columns)
    numbers = {name: schema.within(columns, name, *_RANGES[name]) for name in columns}
    if float(numbers["mass"].sum(dtype=np.float64)) > MASS:  # in doubles, which do not wrap
        raise FileError(f"'mass' must be at most {MASS} units in all")
    fence = numbers.get("fence", np.zeros(locations.n, np.int64)).astype(np.int32)
    place = None
    if "place_east" in numbers:
        place = np.column_stack([numbers["place_east"], numbers["place_north"]]).astype(np.int32)
    graph = _graph(locations, fence, place, numbers)
    require_spread(graph)
    return Metric(
        locations, numbers["mass"], graph, fence, manifest["method"],
        requirement=requirement_from_dict(manifest["requirement"]),
        l_from=float(manifest["l_from"]), l_top=float(manifest["l_top"]), frame_cells=int(manifest["frame_cells"]),
        framed=numbers["framed"].astype(bool)[locations.owner] if "framed" in numbers else None,
        scale=numbers["scale"].astype(np.int32) if "scale" in numbers else None, place=place,
        rise=numbers["edge_rise"].astype(np.uint8) if "edge_rise" in numbers else None,
        certificate=manifest["certificate"], info=manifest["info"],
        relief=_relief(numbers["height"], manifest["relief"]) if "height" in numbers else None,
    )  # fmt: skip


def require_manifest(manifest: Any, *, also: tuple[str, ...] = ()) -> None:
    """Refuse a manifest that says more, less or other than a metric's; `also`: entries of this kind of file."""
    schema.closed(manifest, "manifest", needs=_NEEDS + also, may=("relief",))
    schema.text(manifest["geoelastic"], "geoelastic")
    schema.text(manifest["layout"], "layout", choices=("uniform", "adaptive"))
    schema.text(manifest["method"], "method", choices=("conformal", "paper"))
    for name in ("certificate", "info"):
        if not isinstance(manifest[name], dict):
            raise FileError(f"'{name}' must be an object")
    rows, cols = _require_grid(manifest["grid"])
    schema.whole(manifest["frame_cells"], "frame_cells", 0, min(rows, cols) // 2)
    l_top = schema.number(manifest["l_top"], "l_top", 0, MAX_LEVEL)
    if not schema.number(manifest["l_from"], "l_from", 0, MAX_LEVEL) < l_top:
        raise FileError(f"'l_from' must be below 'l_top', got {manifest['l_from']!r} and {l_top!r}")
    _require_requirement(manifest["requirement"], l_top)
    if "relief" in manifest:
        require_relief(manifest["relief"])


def require_relief(relief: Any, *, also: tuple[str, ...] = ()) -> None:
    """Refuse what no file states of its heights; `also`: entries of this kind of file."""
    schema.closed(relief, "relief", needs=("output", "made_for", "certificate", *also), may=("slack",))
    schema.text(relief["output"], "output of the relief")
    schema.text(relief["made_for"], "made_for", pattern=_HASH)
    schema.whole(relief.get("slack", COARSE), "slack", 1, MOST_SLACK)
    if not isinstance(relief["certificate"], dict):
        raise FileError("'certificate' of the relief must be an object")


def _relief(height: IntArray, told: dict[str, Any]) -> Relief:
    return Relief(height.astype(np.int32), **(told | {"slack": int(told.get("slack", COARSE))}))


def _require_grid(grid: Any) -> tuple[int, int]:
    schema.closed(grid, "grid", needs=_GRID)
    schema.number(grid["lat"], "lat", -90, 90)
    schema.number(grid["lon"], "lon", -360, 360)
    for name in ("width_m", "height_m", "cell_m"):
        schema.number(grid[name], name, LEAST_METRES, METRES)
    for name in ("east_m", "north_m"):
        schema.number(grid[name], name, -METRES, METRES)
    rows, cols = (schema.whole(grid[name], name, 1, SIDE) for name in ("rows", "cols"))
    if rows * cols > CELLS:
        raise FileError(f"a grid must have at most {CELLS} cells, got {rows} x {cols}")
    return rows, cols


def _require_requirement(data: Any, l_top: float) -> None:
    """A requirement that asks for something at l_top, and for no more than a map can hold."""
    asked = require_stated(data).mass_stated(data, l_top)
    if not 2.0**-32 <= asked <= MOST_ASKED:
        raise FileError(f"the requirement must ask for a mass in [2^-32, 2^20] at 'l_top', it asks for {asked:g}")


def _require_columns(manifest: dict[str, Any], columns: Columns) -> None:
    """The columns that belong together, of equal length."""
    _together(manifest["layout"] == "adaptive", columns, ("exponent",), "an adaptive layout")
    _together(manifest["method"] == "conformal", columns, ("scale",), "a conformal metric")
    _together(manifest["method"] == "paper", columns, tuple(BY_EDGE), "the paper's metric")
    _together("relief" in manifest, columns, ("height",), "a relief")
    _together("place_east" in columns, columns, ("place_north",), "'place_east'")
    if "place_east" in columns and "scale" not in columns:
        raise FileError("'place_east' belongs to a conformal metric")
    if "edge_rise" in columns and "scale" not in columns:
        raise FileError("'edge_rise' belongs to a conformal metric")
    if "mass" not in columns:
        raise FileError("'mass' is missing")
    for names, first in ((BY_LOCATION, "mass"), (BY_EDGE, "edge_i")):
        for name in names:
            if name in columns and columns[name].shape != columns[first].shape:
                raise FileError(f"'{name}' must have as many entries as '{first}': {columns[first].size}")
    unknown = [name for name in columns if name not in _RANGES]
    if unknown:
        raise FileError(f"nothing is known of the column {unknown[0][:40]!r}")


def _together(due: bool, columns: Columns, names: tuple[str, ...], what: str) -> None:
    for name in names:
        if (name in columns) != due:
            raise FileError(f"'{name}' belongs to {what}, and to nothing else")


def _grid(where: dict[str, Any]) -> Grid:
    area = Area(
        where["lat"], where["lon"], where["width_m"], where["height_m"], where["east_m"], where["north_m"],
    )  # fmt: skip
    return Grid(area, float(where["cell_m"]), int(where["rows"]), int(where["cols"]))


def _locations(grid: Grid, layout: str, columns: Columns) -> Locations:
    """The layout, whose size is known to fit before anything of that size is made."""
    n, cells = columns["mass"].size, grid.rows * grid.cols
    if layout == "uniform":
        if n != cells:
            raise FileError(f"a uniform layout has a location for each of its {cells} cells, the file describes {n}")
        return uniform(grid)
    exponents = schema.within(columns, "exponent", *BY_LOCATION["exponent"])
    if int((np.int64(1) << (2 * exponents)).sum()) != cells:
        raise FileError("the layout does not tile its grid")
    return from_exponents(grid, exponents.astype(np.uint8))


def _graph(
    locations: Locations,
    fence: IndexArray,
    place: IndexArray | None,
    numbers: dict[str, IntArray],
) -> Graph:
    if "scale" in numbers:
        return conformal_within(neighbours_between(locations, fence, place), numbers["scale"], numbers.get("edge_rise"))
    tail, tip, level = (numbers[name] for name in BY_EDGE)
    if not np.all((tail < tip) & (tip < locations.n)):
        raise FileError(f"an edge must join two locations i < j < {locations.n}")
    if np.any((fence[tail] > 0) | (fence[tip] > 0)):
        raise FileError("no edge may lead into a fence or out of it")
    return Graph.from_edges(locations.n, tail, tip, level)


def conformal_within(neighbours: tuple[IntArray, Any, Any], scale: IntArray, rise: npt.NDArray[Any] | None) -> Graph:
    """The graph of scales and rises of a stranger, whose weights are known to fit before they are stored in 32 bits."""
    start, index, length = neighbours
    shift = kernels.LENGTH_BITS + kernels.SCALE_BITS + 1
    if (int(length.max(initial=0)) * 2 * int(scale.max(initial=0))) >> shift > WEIGHT:  # else none can be
        tail = np.repeat(np.arange(scale.size), np.diff(start))
        longest = (length.astype(np.int64) * (scale[tail] + scale[index])) >> shift
        if longest.max(initial=0) > WEIGHT:
            raise FileError(f"an edge must be at most {WEIGHT} level units long, got {longest.max()}")
    if rise is not None and 2 * rise.size != index.size:
        raise FileError(f"'edge_rise' must have an entry for each of {index.size // 2} pairs of neighbours")
    own = None if rise is None else rise.astype(np.uint8)
    graph = conformal_graph(neighbours, scale.astype(np.int32), own)
    if graph.weight.max(initial=0) > WEIGHT:
        raise FileError(f"an edge must be at most {WEIGHT} level units long, got {graph.weight.max()}")
    return graph


def require_spread(graph: Graph) -> None:
    """Refuse a graph with a location farther than `SPREAD` from the first one of its connected part."""
    _, first = np.unique(graph.components, return_index=True)
    if np.any(graph.distances_from_any(first, SPREAD) == UNREACHABLE):
        raise FileError(f"every location must be within {SPREAD} level units of the first that it can reach")
