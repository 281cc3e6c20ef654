# SPDX-License-Identifier: Apache-2.0
"""What a metric and a mechanism look like: the pictures of `geoelastic map`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError, require_count
from ..levels import FloatArray
from ..quality import Quality
from .picture import Mark, Picture, credit_of

if TYPE_CHECKING:
    from ..mechanism.base import Mechanism
    from ..mechanism.randomness import RandomSource
    from ..metric import Metric

__all__ = ["ball_map", "error_map", "fences_map", "mass_map", "quality_map", "report_map"]

_HERE = "#d7263d"
_REPORTS = "#f46036"


def quality_map(quality: Quality) -> Picture:
    """q(x), where there is any."""
    cells = np.where(quality.cells > 0, quality.cells, np.nan)
    grey = np.zeros(quality.grid.shape)
    return Picture(
        quality.grid, cells, "Quality", "quality per cell", log=True, backdrop=grey, credit=credit_of(quality.info)
    )


def mass_map(metric: Metric) -> Picture:
    """Mass per hectare: on an adaptive layout a location's mass is spread over its cells."""
    density = _mass_per_hectare(metric)
    cells = np.where(density > 0, density, np.nan)
    return Picture(metric.grid, cells, "Privacy mass", "mass per hectare", log=True, credit=credit_of(metric.info))


def error_map(mechanism: Mechanism, *, points: int = 1500) -> Picture:
    """Expected distance between a place and its report, exact at about `points` places and even around each."""
    metric = mechanism.metric
    step, rows, cols, secret = _lattice(metric, require_count("points", points))
    places = metric.locations.owner[np.ix_(rows, cols)]
    wanted = np.unique(places[secret])
    errors = np.full(metric.n, np.nan)
    errors[wanted] = [mechanism.expected_error(int(i)) for i in wanted]
    coarse = np.where(secret, errors[places], np.nan)
    fine = np.repeat(np.repeat(coarse, step, axis=0), step, axis=1)
    cells = np.full(metric.grid.shape, np.nan)
    height, width = min(fine.shape[0], cells.shape[0]), min(fine.shape[1], cells.shape[1])
    cells[:height, :width] = fine[:height, :width]
    note = f"exact at {len(wanted):,} places" + ("" if step == 1 else f", one every {step * metric.grid.cell_m:g} m")
    return Picture(
        metric.grid, cells, "Expected error of a report", "metres", log=True, backdrop=_grey(metric), note=note,
        credit=credit_of(metric.info),
    )  # fmt: skip


def ball_map(metric: Metric, i: int) -> Picture:
    """The level of every place seen from one place, up to l_top, outlined at l* and l_top."""
    levels = metric.distances_from(i, limit=metric.l_top)[metric.locations.owner]
    cells = np.where(levels <= metric.l_top, levels, np.nan)
    l_star = float(getattr(metric.requirement, "l_star", metric.l_top))
    inside = _mass_per_hectare(metric) * (metric.grid.cell_m / 100) ** 2
    crowd = float(inside[levels <= l_star].sum())
    note = f"mass within l* = {l_star:.3g}: {crowd:.2f}; outlines: l* and l_top = {metric.l_top:.3g}"
    return Picture(
        metric.grid, cells, "Indistinguishable from here", "level", low=0.0, high=metric.l_top, backdrop=_grey(metric),
        regions=(levels <= l_star, levels <= metric.l_top), marks=(_here(metric, i),), note=note, credit=credit_of(metric.info),
    )  # fmt: skip


def report_map(mechanism: Mechanism, i: int, *, reports: int = 300, rng: RandomSource | None = None) -> Picture:
    """Where reports from one place go: the exact probability of every place, and some reports drawn from it."""
    metric = mechanism.metric
    chance = mechanism.probabilities(i) / metric.locations.area_cells / (metric.grid.cell_m / 100) ** 2
    cells = chance[metric.locations.owner]
    drawn = metric.xy[mechanism.sample(i, size=require_count("reports", reports), rng=rng)]
    note = f"expected error {mechanism.expected_error(i):,.0f} m"
    high = float(cells.max())
    return Picture(
        metric.grid, np.where(cells > 0, cells, np.nan), "Reports from one place", "probability per hectare", log=True,
        low=max(high * 1e-5, float(cells[cells > 0].min())), high=high,
        marks=(Mark(drawn[:, 0], drawn[:, 1], f"{reports} reports", _REPORTS, size=2.6), _here(metric, i)),
        note=note, credit=credit_of(metric.info),
    )  # fmt: skip


def fences_map(metric: Metric) -> Picture:
    """The fences over the mass."""
    fence = metric.fence[metric.locations.owner]
    count = int(fence.max(initial=0))
    if not count:
        raise InputError("a map of fences needs a metric with at least one fence, got none")
    cells = np.where(fence > 0, fence.astype(float), np.nan)
    note = f"{count} fence{'s' if count > 1 else ''}, {np.count_nonzero(fence) * (metric.grid.cell_m / 100) ** 2:,.0f} hectares"
    return Picture(
        metric.grid, cells, "Fences", "number of the fence", low=1.0, high=float(max(count, 2)), backdrop=_grey(metric),
        regions=(fence,), note=note, credit=credit_of(metric.info),
    )  # fmt: skip


def _mass_per_hectare(metric: Metric) -> FloatArray:
    per_cell = metric.mass / metric.locations.area_cells
    density: FloatArray = per_cell[metric.locations.owner] / (metric.grid.cell_m / 100) ** 2
    return density


def _grey(metric: Metric) -> FloatArray:
    """Mass as a backdrop: 0 for the least, 1 for the most, by its logarithm."""
    density = _mass_per_hectare(metric)
    floor = density[density > 0].min()
    shade = np.log(np.maximum(density, floor) / floor)
    top = shade.max()
    return shade / top if top > 0 else shade


def _here(metric: Metric, i: int) -> Mark:
    x, y = metric.xy[i]
    return Mark(np.array([x]), np.array([y]), "the place", _HERE, size=9)


def _lattice(metric: Metric, points: int) -> tuple[int, FloatArray, FloatArray, FloatArray]:
    """Rows and columns of an even sample of cells, its step, and which of its places can be secrets."""
    grid = metric.grid
    step = max(1, math.ceil(math.sqrt(grid.rows * grid.cols / points)))
    rows = np.minimum(np.arange(0, grid.rows, step) + step // 2, grid.rows - 1)
    cols = np.minimum(np.arange(0, grid.cols, step) + step // 2, grid.cols - 1)
    places = metric.locations.owner[np.ix_(rows, cols)]
    return step, rows, cols, metric.secret[places]
