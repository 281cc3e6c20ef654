# SPDX-License-Identifier: Apache-2.0
"""`build_metric`: the one door to both builders."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import __version__
from ..arrays import BoolArray, ByteArray, FloatArray, IndexArray, IntArray
from ..errors import InputError, MassError, require_able, require_choice
from ..fences import fences_to_cells
from ..levels import MASS_BITS, MASS_UNIT, mass_to_units
from ..locations import Grid, Locations, adaptive, uniform
from ..mass import Mass, Quadratic, Requirement
from .ascent import fit_edges, upper_part
from .cartogram import draw_cartogram, evening_radius, neighbours_between
from .conformal import conformal_graph, first_scales, scales_of_density, solve_scales
from .graph import Graph
from .metric import Metric
from .paper import Checkpoint, build_paper_graph
from .sharpen import sharpened
from .verify import verify

METHODS = ("conformal", "paper")
LAYOUTS = ("adaptive", "uniform")
#: The level from which the conformal builder enforces the requirement unless told otherwise: below one lattice step
#: no chained graph can meet it tightly.
DEFAULT_L_FROM = 0.35
#: A leaf holds at most this part of what is required at l_from: small enough that balls are smooth, large enough to
#: merge empty land.
LEAF_SHARE = 1 / 7
MAX_LEAF_CELLS = 64


@dataclass(frozen=True)
class BuildPlan:
    """What is built: the layout, integer masses, fences and the requirement's table."""

    locations: Locations
    mass_units: IntArray
    cells: IntArray
    fence: IndexArray
    secret: BoolArray
    table: IntArray


def build_metric(
    mass: Mass,
    *,
    requirement: Requirement | None = None,
    method: str = "conformal",
    layout: str | None = None,
    l_from: float | None = None,
    l_top: float = math.log(6),
    fences: Any = (),
    frame: float = 0.03,
    cartogram: bool = True,
    ascent: bool = True,
    sharpen: bool = True,
    strategy: str = "fourfold",
    literal: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: bool = False,
) -> Metric:
    """Build a metric in which every ball B_l(x), l in [l_from, l_top], holds at least req(l); verify and sharpen it.

    `method`: "conformal" (the default: tighter, a minute for a city) or "paper" (the algorithm of Chatzikokolakis,
    Palamidessi and Stronati, with its candidate `strategy`; `literal` raises levels once a pass, as listed there).
    `layout`: "adaptive" (default of the conformal builder) or "uniform". `fences`: GeoJSON, files of it or shapely
    polygons. `frame`: part of the shorter side that may be reported but not be a secret. `cartogram`: whether the
    conformal builder first redraws the map so that crowds take more even room, which is tighter; `ascent`: whether it
    then gives edges factors of their own and raises them until they bind, which is tighter still. `sharpen`: whether to
    find and certify how much of each distance reports by mass may use (`sharpen`). `checkpoint`: a file that lets
    a paper build that was stopped go on from its last pass.
    """
    require_able("mass", mass, "cells", "a mass (ge.mass_from_quality or ge.Mass.from_array makes one)")
    require_choice("method", method, METHODS)
    layout = require_choice("layout", layout or ("adaptive" if method == "conformal" else "uniform"), LAYOUTS)
    requirement = requirement or Quadratic()
    l_from = (DEFAULT_L_FROM if method == "conformal" else 0.0) if l_from is None else l_from
    frame_cells = _frame_cells(mass.grid, frame)
    plan = make_plan(mass, requirement, layout, l_from, l_top, fences, frame_cells)
    scale = place = rise = None
    if method == "conformal":
        graph, scale, place, rise = _conformal(plan, mass.cells if cartogram else None, ascent, workers, progress)
    else:
        graph = _paper(plan, strategy, literal, checkpoint, workers, progress)
    info = dict(mass.info) | {"built_with": f"geoelastic {__version__}"}
    metric = Metric(
        plan.locations, plan.mass_units, graph, plan.fence, method, requirement=requirement, l_from=l_from, l_top=l_top,
        frame_cells=frame_cells, scale=scale, place=place, rise=rise, info=info,
    )  # fmt: skip
    metric = certified(metric, workers=workers, progress=progress)
    return sharpened(metric, workers=workers, progress=progress) if sharpen else metric


def _conformal(
    plan: BuildPlan, density: FloatArray | None, ascent: bool, workers: int | None, progress: bool
) -> tuple[Graph, IndexArray, IndexArray | None, ByteArray | None]:
    """The graph of a local scale a location; the scales, the places if the map is redrawn by `density`, and the rise of
    each edge if edges have factors of their own."""
    table = upper_part(plan.table) if ascent else plan.table
    if density is None:
        place, first = None, first_scales(plan.locations, plan.cells, table)
    else:
        drawn = draw_cartogram(plan.locations, density, evening_radius(density, table), progress=progress)
        place, first = drawn.place, scales_of_density(drawn.density, table)
    neighbours = neighbours_between(plan.locations, plan.fence, place)
    sources = np.flatnonzero(plan.secret & (plan.fence == 0)).astype(np.int32)
    even = conformal_graph(neighbours, np.ones(plan.locations.n, np.int32))
    require_connected_mass(even, plan.mass_units, table, sources)
    rise = None
    scale = solve_scales(first, neighbours, plan.mass_units, table, sources, workers=workers, progress=progress)
    if ascent:
        scale, rise = fit_edges(
            neighbours, scale, plan.mass_units, plan.table, sources, workers=workers, progress=progress
        )
    return conformal_graph(neighbours, scale, rise), scale, place, rise


def _paper(
    plan: BuildPlan, strategy: str, literal: bool, checkpoint: str | os.PathLike[str] | None, workers: int | None,
    progress: bool,
) -> Graph:  # fmt: skip
    """The graph that the paper's passes give, from a checkpoint on if there is one."""
    at = plan.locations
    inputs = (plan.mass_units, plan.table, plan.fence, at.row, at.col, at.size)
    keeper = Checkpoint(checkpoint, {"strategy": strategy, "literal": literal}, *inputs)
    graph = build_paper_graph(
        plan.locations, plan.mass_units, plan.table, plan.fence, plan.secret, strategy=strategy, literal=literal,
        state=keeper.read(), on_pass=keeper.write, workers=workers, progress=progress,
    )  # fmt: skip
    keeper.done()
    return graph


def certified(
    metric: Metric, *, only: IndexArray | None = None, workers: int | None = None, progress: bool = False
) -> Metric:
    """The metric with the certificate of a fresh verification (without its timing: equal builds give equal files)."""
    fresh = verify(replace(metric, certificate={}), only=only, workers=workers, progress=progress)
    return replace(metric, certificate={name: value for name, value in fresh.items() if name != "seconds"})


def make_plan(
    mass: Mass, requirement: Requirement, layout: str, l_from: float, l_top: float, fences: Any, frame_cells: int
) -> BuildPlan:
    """Lay out locations and integers for a build, and refuse what cannot be built."""
    grid = mass.grid
    table = requirement.table(l_from, l_top)
    if not table.any():
        raise InputError("the requirement asks for no mass up to l_top: there is nothing to build")
    units = mass_to_units(mass.cells)
    fence_cells = fences_to_cells(grid, () if fences is None else fences, units=units, least=int(table[-1]))
    outside = np.where(fence_cells == 0, units, 0)
    _require_mass(int(outside.sum()), table, requirement, l_top)
    if layout == "adaptive":
        most = most_of_leaf(requirement, l_from, table)
        locations = adaptive(grid, units, max_mass_units=most, max_size=MAX_LEAF_CELLS, separate=fence_cells)
    else:
        locations = uniform(grid)
    secret = locations.inside(frame_cells)
    fence = locations.first_of(fence_cells).ravel().astype(np.int32)
    if not np.any(secret & (fence == 0)):
        raise InputError("the map has no location outside its frame and fences: use more cells or a smaller frame")
    return BuildPlan(locations, locations.sum_over(units), outside, fence, secret, table)


def most_of_leaf(requirement: Requirement, l_from: float, table: IntArray) -> int:
    """The most mass units that a location of several cells may have."""
    bound = requirement.mass_at(max(l_from, DEFAULT_L_FROM)) or float(table[np.argmax(table > 0)]) * MASS_UNIT
    return int(bound * LEAF_SHARE * 2.0**MASS_BITS)


def _frame_cells(grid: Grid, frame: float) -> int:
    if not 0 <= frame < 0.5:
        raise InputError(f"'frame' must be in [0, 0.5), a part of the map's side, got {frame!r}")
    return math.ceil(frame * min(grid.shape))


def _require_mass(total_units: int, table: IntArray, requirement: Requirement, l_top: float) -> None:
    if total_units < table[-1]:
        most = requirement.level_of(total_units * MASS_UNIT)
        raise MassError(
            f"'l_top' must be at most {math.floor(most * 1000) / 1000:g} on this map: up to {l_top:g} the requirement "
            f"asks for {table[-1] * MASS_UNIT:.3g} units of mass and the map outside fences has "
            f"{total_units * MASS_UNIT:.3g}"
        )


def require_connected_mass(graph: Graph, mass_units: IntArray, table: IntArray, sources: IndexArray) -> None:
    """Fences may cut the map into parts; each part that holds secrets needs enough mass of its own."""
    parts = graph.components
    masses = np.bincount(parts, weights=mass_units.astype(float))
    if sources.size and masses[parts[sources]].min() < table[-1]:
        raise MassError(
            "the fences cut off a part of the map that has too little mass for the requirement: "
            "let them cover that part too, or leave a way through"
        )
