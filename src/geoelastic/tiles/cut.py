# SPDX-License-Identifier: Apache-2.0
"""A box of a map in tiles as a metric in memory: what extracts are cut from and fences are carved into."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..area import Area
from ..errors import OutsideError
from ..locations import Grid
from ..metric.ascent import carry_rise
from ..metric.cartogram import neighbours_between
from ..metric.decode import conformal_within
from ..metric.metric import Metric
from ..metric.relief import Relief
from .tiling import MARGIN_CELLS, Box
from .window import box_grid, place_of

if TYPE_CHECKING:
    from .tiled_metric import TiledMetric


def cut_part(metric: TiledMetric, box: Box) -> Metric:
    """The locations of a box (cut at multiples of 64 cells) and the paths among them, as a metric that is not
    certified. Fences keep their numbers."""
    window, columns = metric.window(box)
    leaves, kept = window.locations.cut(box_grid(metric.grid, box), 0, 0)
    scale, whole_place = columns["scale"][kept], place_of(columns)
    fence = np.ascontiguousarray(window.fence[kept])
    place = None if whole_place is None else np.ascontiguousarray(whole_place[kept])
    neighbours, rise = neighbours_between(leaves, fence, place), window.rise
    if rise is not None:
        rise = carry_rise(rise, window.neighbours, neighbours, kept)
    relief = None
    if metric.relief is not None:  # of another map, but a good beginning for the part's own
        told = metric.relief
        relief = Relief(metric.height(window)[kept], told.output, told.made_for, slack=told.slack)
    framed = np.ones(box.shape, bool)
    margin = metric.frame_cells
    framed[max(margin - box.row, 0) : max(metric.grid.rows - margin - box.row, 0),
           max(margin - box.col, 0) : max(metric.grid.cols - margin - box.col, 0)] = False  # fmt: skip
    return Metric(
        leaves, window.mass_units[kept], conformal_within(neighbours, scale.astype(np.int64), rise),
        fence, metric.method, requirement=metric.requirement, l_from=metric.l_from,
        l_top=metric.l_top, framed=framed, scale=scale, place=place, rise=rise, relief=relief, info=metric.info,
    )  # fmt: skip


def box_around(grid: Grid, area: Area, margin_cells: int) -> Box:
    """The cells of an area with a margin, grown to multiples of 128 cells."""
    x = np.array([-1, -1, 1, 1]) * area.width_m / 2
    y = np.array([-1, 1, -1, 1]) * area.height_m / 2
    x, y = grid.area.to_xy(*area.to_latlon(x, y))
    rows, cols = (np.asarray(part) / grid.cell_m + n / 2 for part, n in ((y, grid.rows), (x, grid.cols)))
    if not (rows.max() >= 0 and cols.max() >= 0 and rows.min() < grid.rows and cols.min() < grid.cols):
        raise OutsideError("the region must overlap the map")
    step = MARGIN_CELLS
    low = [int(max(0, v.min() - margin_cells)) // step * step for v in (rows, cols)]
    high = [math.ceil((v.max() + margin_cells) / step) * step for v in (rows, cols)]
    return Box(low[0], low[1], min(high[0], grid.rows), min(high[1], grid.cols))
