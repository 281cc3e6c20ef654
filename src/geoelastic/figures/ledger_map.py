# SPDX-License-Identifier: Apache-2.0
"""What repeated use leaves: the places that are still within a level of the user after some reports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..accounts.accounting import DELTA, HALF, best_costs, level_within
from ..accounts.ledger import Ledger
from ..errors import InputError, require_positive
from ..opening import load
from ..release.named_mechanism import account_of
from .maps import ball_map
from .picture import Picture
from .save import require_picture_path, save_picture

if TYPE_CHECKING:
    from ..metric import AnyMetric


def ledger_map(
    metric: AnyMetric, i: int, *, reports: int, budget: float, delta: float = DELTA, exponent: float = HALF
) -> tuple[Picture, dict[str, Any]]:
    """The cost of telling location `i` from every other place after `reports` reports, where it is within `budget`.

    The outline shows the same for a single report. Also returns the figures: the distance that still is within the
    budget, and the number of places, the area and the mass inside.
    """
    budget = require_positive("budget", budget)
    reach = level_within(budget, reports, delta=delta, exponent=exponent)
    level = metric.distances_from(i)
    cost = best_costs(level, reports, delta=delta, exponent=exponent)
    within = (level <= reach) & np.isfinite(level)
    first = level <= level_within(budget, 1, delta=delta, exponent=exponent)
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
    return picture, figures


def ledger_map_request(
    file: str, at: tuple[float, float], output: str, *, reports: int | None, ledger: str | None, user: str,
    level: float, delta: float,
) -> dict[str, Any]:  # fmt: skip
    """The picture around a place on the map in a file, of so many reports or of those that a ledger has counted."""
    require_picture_path(output)
    if (reports is None) == (ledger is None):
        raise InputError("give either --reports or --ledger")
    metric, exponent = load(file), HALF
    if ledger is not None:
        account = account_of(Ledger.load(ledger), metric, user)
        reports, exponent = account.fresh, account.exponent
    picture, figures = ledger_map(
        metric, metric.locate_secret(*at), reports=reports or 0, budget=level, delta=delta, exponent=exponent
    )
    save_picture(picture, output)
    return {**figures, "output": output, "text": f"{picture.title}: {picture.note}\n{output}"}
