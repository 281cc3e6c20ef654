# SPDX-License-Identifier: Apache-2.0
"""Estimates as pictures of one scale: raw histogram, best guess, interval, truth."""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray
from ..figures.picture import Picture
from .estimate import Estimate


def estimate_pictures(estimate: Estimate, truth: FloatArray | None = None) -> list[Picture]:
    """Raw histogram, best guess, width of the interval, and the truth if it is known: shares per square kilometre."""
    zones = estimate.zones
    km2 = zones.cells * (zones.grid.cell_m / 1000) ** 2
    low, high = estimate.groups.interval()
    of_zone = estimate.groups.of_zone[:-1]
    group_km2 = np.bincount(np.maximum(of_zone, 0), km2 * (of_zone >= 0), estimate.groups.n)
    wide = ((high - low) / 2 / np.where(group_km2 > 0, group_km2, np.inf))[of_zone]
    shown = [("Reports as they are", estimate.raw / km2), ("Estimate", estimate.shares / km2)]
    shown += [("Half the 95 % interval, by group", np.where(of_zone >= 0, wide, np.nan))]
    if truth is not None:
        shown.append(("Truth", truth / km2))
    top = max(float(np.nanmax(values)) for _, values in shown)
    return [
        Picture(
            zones.grid, _painted(estimate, values), title, "share of people per km²", log=True, low=top / 3000,
            high=top, note=f"{estimate.n:,.0f} people" if title == "Estimate" else "",
        )
        for title, values in shown
    ]  # fmt: skip


def _painted(estimate: Estimate, values: FloatArray) -> FloatArray:
    label = estimate.zones.label
    return np.where(label >= 0, values[label], np.nan)
