# SPDX-License-Identifier: Apache-2.0
"""`Claim`: what a metric and its reports state, as data and as one paragraph in plain words.

A claim is read off what will be sampled: graph, masses, fences, frame, measure and relief. Whether it holds is for
`verify` to say; whether it is enough, for a `Policy`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..levels import units_to_mass
from ..mass.requirement import REQUIREMENTS
from ..mass.requirement import four_digits as _short
from ..metric import Metric

__all__ = ["NOT_COVERED", "Claim", "claim_of"]

NOT_COVERED = "places in the frame, and what several reports tell together"


@dataclass(frozen=True)
class Claim:
    """`secrets`: places that can be hidden, outside fences; shares are theirs. `unit_m`: the radius of the disc whose
    average crowd is one unit of mass, None if the file does not state it; `spread_m`: how far mass was spread over its
    surroundings. `output`: the measure that reports go by."""

    locations: int
    secrets: int
    fenced: int
    fences: int
    share_of_locations: float
    share_of_area: float
    share_of_mass: float
    requirement: dict[str, Any]
    l_from: float
    l_top: float
    mass: float
    mass_per_km2: float
    unit_m: float | None
    spread_m: float
    output: str
    sharpened: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @property
    def words(self) -> str:
        """The claim without a word on whether it holds."""
        shares = [f"{np.floor(1000 * part) / 10:g} %" for part in (self.share_of_area, self.share_of_mass)]
        fenced = f", and {self.fenced:,} more inside fences, where all places are one" if self.fenced else ""
        unit = "what one unit is, the file does not state"
        if self.unit_m is not None:
            unit = f"a unit is what a disc of {_short(self.unit_m)} m holds on average where the map's city is"
        if self.spread_m > 0:
            unit += f"; mass was spread by {_short(self.spread_m)} m, so that crowds are counted where they are not"
        reports = "by half of each distance, so that between two places a report's chance changes by at most e^distance"
        if self.sharpened:
            reports = (
                "by all of each distance over a relief, so that along an edge its chance changes by at most e^length"
            )
        asked = REQUIREMENTS[self.requirement["kind"]].words(self.requirement)
        return (
            f"{self.secrets:,} of {self.locations:,} places can be secrets ({shares[0]} of the area, {shares[1]} of "
            f"the mass){fenced}. Each of them must have, within every level l from {_short(self.l_from)} to "
            f"{_short(self.l_top)}, {asked} around it; the whole map has {_short(self.mass)}, "
            f"{_short(self.mass_per_km2)} a square kilometre; {unit}. Reports go by the measure {self.output[:40]!r}, "
            f"{reports}. Not covered: {NOT_COVERED}."
        )


def claim_of(metric: Metric, output: str | None = None) -> Claim:
    """The claim of a metric whose reports go by the measure called `output` [default: that of its relief, or mass]."""
    cells, mass = metric.locations.area_cells, metric.mass_units.astype(np.float64)
    hidden = metric.secret & (metric.fence == 0)
    total = float(mass.sum())
    area_km2 = float(cells.sum()) * (metric.grid.cell_m / 1000) ** 2
    requirement = {k: v for k, v in metric.requirement.to_dict().items() if k not in ("levels", "masses")}
    units = float(units_to_mass(total))
    relief = metric.relief
    return Claim(
        locations=metric.n, secrets=int(hidden.sum()), fenced=int((metric.secret & ~hidden).sum()),
        fences=int(np.unique(metric.fence[metric.fence > 0]).size),
        share_of_locations=float(hidden.mean()), share_of_area=float(cells[hidden].sum() / cells.sum()),
        share_of_mass=float(mass[hidden].sum() / total) if total else 0.0, requirement=requirement,
        l_from=metric.l_from, l_top=metric.l_top, mass=units, mass_per_km2=units / area_km2,
        unit_m=_positive(metric.info.get("r_small_m")), spread_m=_positive(metric.info.get("spread_m")) or 0.0,
        output=output or ("mass" if relief is None else relief.output), sharpened=relief is not None,
    )  # fmt: skip


def _positive(value: Any) -> float | None:
    """A number that a file states, if it is one and makes sense."""
    sound = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return float(value) if sound else None
