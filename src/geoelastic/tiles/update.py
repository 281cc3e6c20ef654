# SPDX-License-Identifier: Apache-2.0
"""Bringing a tiled metric up to date: only tiles whose mass changed by more than a tolerance are built again."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import __version__
from ..arrays import FloatArray
from ..context import Context
from ..errors import InputError, require_nonnegative, require_path
from ..fences import fence_outlines
from ..levels import mass_to_units
from ..mass import Mass
from ..quality import Quality
from . import stages
from .build_tiles import run_plan
from .engine import Engine
from .folder import write_context_file
from .store import TileStore
from .tiled_metric import TiledMetric, open_tiles
from .window import read_cells


def mass_as_before(metric: TiledMetric, quality: Quality) -> Mass:
    """The mass of a newer quality with the a and b of a metric, so that what did not change has the same mass."""
    if not {"a", "b"} <= metric.info.keys():
        raise InputError("the metric does not say how its mass came from a quality: give the new mass itself")
    info = dict(metric.info) | {"quality": quality.info}
    return Mass(quality.grid, metric.info["a"] + metric.info["b"] * quality.cells, info)


def update_tiles(
    output: str,
    mass: Mass,
    *,
    tolerance: float = 0.01,
    sharpen: bool = True,
    context: Context | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    engine: Engine | None = None,
    progress: bool = False,
) -> TiledMetric:
    """Build the tiles of a metric again whose mass changed, and what their windows touch; the rest stays as it is.

    A tile has changed if the sum of |new - old| over its cells exceeds `tolerance` times its old mass. The others
    keep their old masses, and the requirement is certified for the masses that are kept: the certificate says how
    many tiles were taken over and the largest change among them. Edges are raised and heights found for all of the map
    again: a change here can be felt there. Fences are carved again where they were; what is drawn
    with maps stays unless a `context` is given.
    """
    require_path("output", output)
    tolerance = require_nonnegative("tolerance", tolerance)
    metric = open_tiles(output)
    if mass.grid != metric.grid:
        raise InputError("the new mass must be on the grid of the metric: same centre, size and cells")
    names, drift = _compare(metric, mass, tolerance)
    changed = drift > tolerance
    statement: dict[str, Any] = {
        "tolerance": tolerance, "tiles_changed": int(np.count_nonzero(changed)),
        "tiles_with_old_masses": int(np.count_nonzero(~changed)),
        "largest_change_not_taken": float(drift[~changed].max(initial=0.0)),
        "previous_graph_sha256": metric.certificate["graph_sha256"],
    }  # fmt: skip
    info = dict(mass.info) | {"built_with": f"geoelastic {__version__}"}
    return run_plan(
        TileStore(metric.store.root),
        metric.plan,
        names,
        info,
        sharpen=sharpen,
        workers=workers,
        cluster=cluster,
        engine=engine,
        progress=progress,
        update=statement,
        fences=fence_outlines(metric),
        context=metric.content.get("context") if context is None else write_context_file(metric.store, context),
    )


def _compare(metric: TiledMetric, mass: Mass, tolerance: float) -> tuple[dict[int, str], FloatArray]:
    """The file of each tile's cells, new ones written where the tile changed; and by how much each tile did."""
    store, tiling = TileStore(metric.store.root), metric.tiling
    units, old = mass_to_units(mass.cells), {k: tile["cells"] for k, tile in enumerate(metric.content["tiles"])}
    names, drift = dict(old), np.zeros(tiling.n)
    for tile in range(tiling.n):
        box = tiling.box(tile)
        new = np.ascontiguousarray(units[box.row : box.row_end, box.col : box.col_end])
        before = read_cells(store, tiling, box, old)
        drift[tile] = np.abs(new - before).sum(dtype=np.float64) / max(float(before.sum()), 1.0)
        if drift[tile] > tolerance:
            names[tile] = stages.put_cells(store, tiling.name(tile), new)
    return names, drift
