# SPDX-License-Identifier: Apache-2.0
"""What a metric and a mechanism look like: the pictures of `geoelastic map`.

Quantities that cost a search each are computed at an even sample of places.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import _kernels as kernels
from ..arrays import FloatArray, IntArray
from ..errors import InputError, require_count
from ..metric.cartogram import UNITS
from ..metric.threads import in_parts
from ..quality import Quality
from .picture import Mark, Picture, credit_of

if TYPE_CHECKING:
    from ..mechanism import ElasticMechanism, RandomSource
    from ..mechanism.sticky import Sticky
    from ..metric import AnyMetric

_PROBES = 16
_HERE = "#d7263d"
_REPORTS = "#f46036"
_CLOUDS = ("#d7263d", "#1b6ca8", "#2e933c", "#8d6a9f")


def quality_map(quality: Quality) -> Picture:
    """q(x), where there is any."""
    cells = np.where(quality.cells > 0, quality.cells, np.nan)
    grey = np.zeros(quality.grid.shape)
    return Picture(
        quality.grid, cells, "Quality", "quality per cell", log=True, backdrop=grey, credit=credit_of(quality.info)
    )


def _picture(metric: AnyMetric, cells: FloatArray, title: str, label: str, **more: Any) -> Picture:
    """A picture of the ground, with whom to name for it and what it is recognised by."""
    return Picture(metric.grid, cells, title, label, credit=credit_of(metric.info), context=metric.context, **more)


def mass_map(metric: AnyMetric) -> Picture:
    """Mass per hectare: on an adaptive layout a location's mass is spread over its cells."""
    density = _mass_per_hectare(metric)
    cells = np.where(density > 0, density, np.nan)
    return _picture(metric, cells, "Privacy mass", "mass per hectare", log=True)


def error_map(mechanism: ElasticMechanism, *, points: int = 4000) -> Picture:
    """Expected distance between a place and its report, exact at about `points` places and even around each."""
    metric = mechanism.metric
    sample = sample_places(metric, points)
    errors = mechanism.expected_errors(locations=sample.places)["mean"]
    return _picture(
        metric, sample.spread(errors), "Expected error of a report", "metres", log=True, backdrop=_grey(metric),
        note=f"exact at {sample.note}",
    )  # fmt: skip


def slack_map(metric: AnyMetric, *, points: int = 20_000) -> Picture:
    """m(B_l)/req(l), mean over the levels: 1 is just enough, more is noise that the requirement did not ask for."""
    sample = sample_places(metric, points)
    graph = kernels.adjacency(metric.n, *metric.edge_units())
    table = metric.requirement.table(metric.l_from, metric.l_top)
    probes = np.unique(np.linspace(max(int(np.argmax(table > 0)), 1), table.size - 1, _PROBES).astype(np.int64))
    sources = sample.places.astype(np.int32)
    parts = in_parts(
        lambda part: kernels.check_balls(*graph, metric.mass_units, table, part, probes, True)[3], sources, workers=None
    )
    ratios = np.nanmean(np.concatenate(parts), axis=1)
    people = np.average(ratios, weights=np.maximum(metric.mass[sources], 1e-300))
    note = f"mean {ratios.mean():.3g} over places, {people:.3g} over people, at {sample.note}"
    return _picture(
        metric, sample.spread(ratios), "Mass within a level, against the requirement", "m(B_l) / req(l)", low=1.0,
        backdrop=_grey(metric), note=note,
    )  # fmt: skip


def cartogram_map(metric: AnyMetric) -> Picture:
    """Mass per hectare on the map that was redrawn for the metric, where crowds take more even room.

    Each cell shows the location whose place is nearest. Its coordinates are those of the new map, not of the ground.
    """
    from scipy.spatial import cKDTree

    if metric.place is None:
        raise InputError("a cartogram needs a metric whose map was redrawn (geoelastic build --cartogram)")
    row, col = np.indices(metric.grid.shape)
    cells = np.column_stack([col.ravel(), row.ravel()]) + 0.5
    nearest = cKDTree(metric.place / UNITS).query(cells, workers=-1)[1].reshape(metric.grid.shape)
    density = (metric.mass / metric.locations.area_cells)[nearest] / (metric.grid.cell_m / 100) ** 2
    from_corner = metric.xy + np.array(metric.grid.shape[::-1]) / 2 * metric.grid.cell_m
    moved = float(np.median(np.linalg.norm(metric.place / UNITS * metric.grid.cell_m - from_corner, axis=1)))
    return Picture(
        metric.grid, np.where(density > 0, density, np.nan), "The map redrawn for even crowds",
        "mass per hectare on the ground", log=True, note=f"half of the locations moved {moved:,.0f} m or more",
        credit=credit_of(metric.info),
    )  # fmt: skip


def ball_map(metric: AnyMetric, i: int) -> Picture:
    """The level of every place seen from one place, up to l_top, outlined at l* and l_top."""
    levels = metric.distances_from(i, limit=metric.l_top)[metric.locations.owner]
    cells = np.where(levels <= metric.l_top, levels, np.nan)
    l_star = float(getattr(metric.requirement, "l_star", metric.l_top))
    inside = _mass_per_hectare(metric) * (metric.grid.cell_m / 100) ** 2
    crowd = float(inside[levels <= l_star].sum())
    note = f"mass within l* = {l_star:.3g}: {crowd:.2f}; outlines: l* and l_top = {metric.l_top:.3g}"
    return _picture(
        metric, cells, "Indistinguishable from here", "level", low=0.0, high=metric.l_top, backdrop=_grey(metric),
        regions=(levels <= l_star, levels <= metric.l_top), marks=(_here(metric, i),), note=note,
    )  # fmt: skip


def report_map(
    mechanism: ElasticMechanism | Sticky, i: int, *, reports: int = 300, rng: RandomSource | None = None
) -> Picture:
    """Where reports from one place go: the exact probability of every place, and some reports drawn from it."""
    metric = mechanism.metric
    chance = mechanism.probabilities(i) / metric.locations.area_cells / (metric.grid.cell_m / 100) ** 2
    cells = chance[metric.locations.owner]
    drawn = metric.xy[mechanism.sample(i, size=require_count("reports", reports), rng=rng)]
    note = f"expected error {mechanism.expected_error(i):,.0f} m"
    high = float(cells.max())
    return _picture(
        metric, np.where(cells > 0, cells, np.nan), "Reports from one place", "probability per hectare", log=True,
        low=max(high * 1e-5, float(cells[cells > 0].min())), high=high,
        marks=(Mark(drawn[:, 0], drawn[:, 1], f"{reports} reports", _REPORTS, size=2.6), _here(metric, i)),
        note=note,
    )  # fmt: skip


def clouds_map(
    mechanism: ElasticMechanism | Sticky, places: Mapping[str, int], *, rng: RandomSource | None = None
) -> Picture:
    """Reports from several places, each with its name and colour, over the mass."""
    metric = mechanism.metric
    marks = _clouds(mechanism, places, 300, rng)
    nothing = np.full(metric.grid.shape, np.nan)
    return _picture(metric, nothing, "Reports", "", backdrop=_grey(metric), marks=marks)


def _clouds(
    mechanism: ElasticMechanism | Sticky, places: Mapping[str, int], reports: int, rng: RandomSource | None
) -> tuple[Mark, ...]:
    """Reports from each place in its colour, and the places themselves on top."""
    metric, marks = mechanism.metric, []
    for (name, i), colour in zip(places.items(), _CLOUDS, strict=False):
        drawn = metric.xy[mechanism.sample(i, size=require_count("reports", reports), rng=rng)]
        marks.append(Mark(drawn[:, 0], drawn[:, 1], f"{reports} reports from {name}", colour, size=3.4))
    for i, colour in zip(places.values(), _CLOUDS, strict=False):
        marks.append(Mark(metric.xy[[i], 0], metric.xy[[i], 1], "", colour, size=9))
    return tuple(marks)


def _beside_fence(metric: AnyMetric, number: int) -> dict[str, int]:
    """A place inside a fence and the nearest one outside that may be a secret, as far as there are any."""
    inside = np.flatnonzero((metric.fence == number) & metric.secret)
    outside = np.flatnonzero((metric.fence == 0) & metric.secret)
    if not inside.size:
        return {}
    apart = np.hypot(*(metric.xy[outside] - metric.xy[inside[0]]).T)
    near = {"just outside": int(outside[np.argmin(apart)])} if outside.size else {}
    return {f"inside fence {number}": int(inside[0])} | near


def fences_map(metric: AnyMetric, *, rng: RandomSource | None = None) -> Picture:
    """The fences over the mass, and reports from inside the first one and from just outside: they never mix."""
    from ..mechanism import ElasticMechanism

    fence = metric.fence[metric.locations.owner]
    count = int(fence.max(initial=0))
    if not count:
        raise InputError("a map of fences needs a metric with at least one fence, got none")
    cells = np.where(fence > 0, fence.astype(float), np.nan)
    hectares = np.count_nonzero(fence) * (metric.grid.cell_m / 100) ** 2
    note = f"{count} fence{'s' if count > 1 else ''}, {hectares:,.0f} hectares"
    return _picture(
        metric, cells, "Fences", "number of the fence", low=1.0, high=float(max(count, 2)), backdrop=_grey(metric),
        regions=(fence,), note=note, numbered=True,
        marks=_clouds(ElasticMechanism(metric), _beside_fence(metric, 1), 200, rng),
    )  # fmt: skip


def _mass_per_hectare(metric: AnyMetric) -> FloatArray:
    per_cell = metric.mass / metric.locations.area_cells
    return per_cell[metric.locations.owner] / (metric.grid.cell_m / 100) ** 2


def _grey(metric: AnyMetric) -> FloatArray:
    """Mass as a backdrop: 0 for the least, 1 for the most, by its logarithm."""
    density = _mass_per_hectare(metric)
    floor = density[density > 0].min()
    shade = np.log(np.maximum(density, floor) / floor)
    top = float(shade.max())
    grey: FloatArray = shade / top if top > 0 else shade
    return grey


def _here(metric: AnyMetric, i: int) -> Mark:
    x, y = metric.xy[i]
    return Mark(np.array([x]), np.array([y]), "the place", _HERE, size=9)


@dataclass(frozen=True, eq=False)
class Sample:
    """`places`: locations, each once; `blocks`: the entry of `places` for each square of `step` cells, or -1."""

    shape: tuple[int, int]
    step: int
    cell_m: float
    places: IntArray
    blocks: npt.NDArray[Any]

    @property
    def note(self) -> str:
        """How dense the sample is."""
        every = "" if self.step == 1 else f", one every {self.step * self.cell_m:g} m"
        return f"{len(self.places):,} places{every}"

    def spread(self, values: FloatArray) -> FloatArray:
        """One value a cell: that of the cell's square; NaN where there is none."""
        coarse = np.where(self.blocks >= 0, values[self.blocks], np.nan)
        fine = np.repeat(np.repeat(coarse, self.step, axis=0), self.step, axis=1)
        return fine[: self.shape[0], : self.shape[1]]


def sample_places(metric: AnyMetric, points: int) -> Sample:
    """About `points` locations on a square lattice that can be secrets and lie in no fence; all, if there are fewer."""
    grid, owner = metric.grid, metric.locations.owner
    step = max(1, math.ceil(math.sqrt(grid.rows * grid.cols / require_count("points", points))))
    rows = np.minimum(np.arange(0, grid.rows, step) + step // 2, grid.rows - 1)
    cols = np.minimum(np.arange(0, grid.cols, step) + step // 2, grid.cols - 1)
    at = owner[np.ix_(rows, cols)].astype(np.int64)
    free = (metric.secret & (metric.fence == 0))[at]
    if not free.any():
        raise InputError("a picture of places needs a location outside the frame and all fences, got none")
    places = np.unique(at[free])
    blocks = np.where(free, np.searchsorted(places, at), -1)
    return Sample(grid.shape, step, grid.cell_m, places, blocks)
