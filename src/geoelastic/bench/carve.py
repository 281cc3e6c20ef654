# SPDX-License-Identifier: Apache-2.0
"""Fences carved into a sharpened map of 30,000 locations: repaired, sharpened again, certified on every edge.

`checked` is the verifier's verdict on every edge of the carved map, by code of its own, for which carving does not
wait; `check_cpu_s` is what that took.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..fences import disc
from ..metric import Metric, build_metric
from ..metric.verify_relief import check_relief
from ._tools import Tell, markdown, quiet, synthetic_mass, timed, warm_up

#: The side of the map in cells; what is called where, and the share of places that are less dense; radii in metres.
SIDE = 460
WHERE = (("in the centre", 1.0), ("at a median place", 0.5), ("in the suburbs", 0.1))
RADII = (150, 800)


def run(
    *, tell: Tell = quiet, progress: bool = False, side: int = SIDE, radii: Sequence[int] = RADII
) -> dict[str, Any]:
    """One row per fence, each carved into the same map."""
    warm_up()
    metric = build_metric(synthetic_mass("paris", side), progress=progress)
    rows: list[dict[str, Any]] = []
    for name, share in WHERE:
        place = _place(metric, share)
        for radius in radii:
            tell(f"{radius} m {name}", of=len(WHERE) * len(radii))
            rows.append({"fence": f"{radius} m {name}"} | _carved(metric, place, radius))
    return {"rows": rows, "text": markdown(rows)}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The quickest and the slowest of the fences."""
    seconds, cpu = ([row[name] for row in rows] for name in ("seconds", "cpu_s"))
    certified = sum(row["checked"] and row["edges_over"] == 0 for row in rows)
    found = (
        f"{min(seconds)} to {max(seconds)} s ({min(cpu)} to {max(cpu)} s of processor time), "
        f"{rows[0]['locations']:,} locations; {certified} of {len(rows)} certified and checked"
    )
    return [("fence carved into a sharpened map", "10 s on two idle cores", found)]


def _carved(metric: Metric, place: tuple[float, float], radius: float) -> dict[str, Any]:
    carved = timed(partial(metric.with_fences, [disc(*place, radius)]))
    relief = carved.value.relief
    assert relief is not None, "the heights of the carved map did not settle"
    check = timed(partial(check_relief, carved.value))
    return {
        "locations": carved.value.n,
        "inside": int(np.count_nonzero(carved.value.fence)),
        "seconds": round(carved.wall_s, 2),
        "cpu_s": round(carved.cpu_s, 2),
        "passes": relief.certificate["passes"],
        "edges": relief.certificate["edges"],
        "edges_over": relief.certificate["edges_over"],
        "worst": relief.certificate["worst"],
        "checked": check.value["ok"],
        "check_cpu_s": round(check.cpu_s, 2),
    }


def _place(metric: Metric, share: float) -> tuple[float, float]:
    """A place in the inner half of the map of which so large a share of those there is less dense."""
    half = min(metric.grid.area.width_m, metric.grid.area.height_m) / 4
    secrets = np.flatnonzero(metric.secret & np.all(np.abs(metric.xy) < half, axis=1))
    density = metric.mass[secrets] / metric.locations.area_cells[secrets]
    return metric.latlon(int(secrets[np.argsort(density, kind="stable")[round(share * (secrets.size - 1))]]))
