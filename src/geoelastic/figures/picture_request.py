# SPDX-License-Identifier: Apache-2.0
"""The pictures that a command line asks for: of a metric, and of what repeated use of it leaves."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from ..accounts.accounting import HALF, best_costs, level_within
from ..accounts.ledger import Ledger
from ..errors import InputError, require_choice, require_positive
from ..mass.mass import disc_sums
from ..mechanism import ElasticMechanism, SeededRandom
from ..metric import AnyMetric
from ..opening import load
from ..quality import load_quality
from ..release.named_mechanism import account_of
from .maps import ball_map, cartogram_map, error_map, fences_map, mass_map, quality_map, report_map, slack_map
from .picture import Picture
from .save import require_picture_path, save_picture

#: The pictures of a metric.
MAP_KINDS = ("mass", "error", "ball", "report", "slack", "cartogram", "fences")


def picture_of_file(path: str | os.PathLike[str], kind: str, **options: Any) -> Picture:
    """The picture `kind` of a metric's file, or ``"quality"`` of a quality's; `options` are those of `picture_of`."""
    if kind == "quality":
        return quality_map(load_quality(os.fspath(path)))
    return picture_of(load(path), kind, **options)


def picture_of(
    metric: AnyMetric,
    kind: str,
    *,
    at: tuple[float, float] | None = None,
    measure: str = "mass",
    points: int = 4000,
    reports: int = 300,
    seed: int | None = None,
) -> Picture:
    """The picture `kind` of a metric; see the functions of `maps` for what each shows."""
    require_choice("kind", kind, MAP_KINDS)
    rng = None if seed is None else SeededRandom(seed)
    if kind == "mass":
        return mass_map(metric)
    if kind == "slack":
        return slack_map(metric)
    if kind == "cartogram":
        return cartogram_map(metric)
    if kind == "fences":
        return fences_map(metric, rng=rng)
    if kind == "error":
        return error_map(ElasticMechanism(metric, output=measure), points=points)
    place = busiest_place(metric) if at is None else metric.locate_secret(*at)
    if kind == "ball":
        return ball_map(metric, place)
    return report_map(ElasticMechanism(metric, output=measure), place, reports=reports, rng=rng)


def busiest_place(metric: AnyMetric, *, radius_m: float = 500) -> int:
    """The location, among those that can be secrets and lie in no fence, around which most mass lies."""
    owner = metric.locations.owner
    spread = (metric.mass / metric.locations.area_cells)[owner]
    free = (metric.secret & (metric.fence == 0))[owner]
    if not free.any():
        raise InputError("a picture of a place needs a location outside the frame and all fences, got none")
    around = np.where(free, disc_sums(spread, radius_m / metric.grid.cell_m), -1.0)
    return int(owner.ravel()[int(np.argmax(around))])


def ledger_map_request(
    file: str, at: tuple[float, float], output: str, *, reports: int | None, ledger: str | None, user: str,
    level: float, delta: float,
) -> dict[str, Any]:  # fmt: skip
    """Draw the cost of telling a place on the map in a file from every other after so many reports, or those that a
    ledger has counted, where it is within `level`.

    The outline shows the same for a single report. Returns the figures: the distance that still is within the budget,
    and the number of places, the area and the mass inside.
    """
    require_picture_path(output)
    if (reports is None) == (ledger is None):
        raise InputError("give either --reports or --ledger")
    metric, exponent = load(file), HALF
    if ledger is not None:
        account = account_of(Ledger.load(ledger), metric, user)
        reports, exponent = account.fresh, account.exponent
    i, reports, budget = metric.locate_secret(*at), reports or 0, require_positive("budget", level)
    reach = level_within(budget, reports, delta=delta, exponent=exponent)
    away = metric.distances_from(i)
    cost = best_costs(away, reports, delta=delta, exponent=exponent)
    within = (away <= reach) & np.isfinite(away)
    first = away <= level_within(budget, 1, delta=delta, exponent=exponent)
    owner, hectare = metric.locations.owner, (metric.grid.cell_m / 100) ** 2
    figures = {
        "reports": reports,
        "budget": budget,
        "delta": delta,
        "level_within": None if np.isinf(reach) else reach,
        "locations": int(np.count_nonzero(within)),
        "hectares": float(metric.locations.area_cells[within].sum() * hectare),
        "mass": float(metric.mass[within].sum()),
    }
    plain = ball_map(metric, i)
    crowd = f"mass {figures['mass']:.2f} on {figures['hectares']:,.0f} hectares"
    note = f"{crowd}, up to distance {reach:.3g}; outer line: after one report"
    picture = replace(
        plain,
        cells=np.where(within, cost, np.nan)[owner],
        title=f"Still within {budget:.3g} after {reports:,} reports",
        label="level after all reports",
        low=0.0,
        high=budget,
        regions=(within[owner], first[owner]),
        note=note,
    )
    save_picture(picture, output)
    return {**figures, "output": output, "text": f"{picture.title}: {picture.note}\n{output}"}
