# SPDX-License-Identifier: Apache-2.0
"""What a change of fences costs: the expected error around it before and after, and in a metric built from scratch."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.ndimage import distance_transform_edt

from ..arrays import IntArray
from ..errors import require_count
from ..fences import fence_outlines, read_fences
from ..mass import Mass
from ..mechanism import ElasticMechanism
from ..metric import AnyMetric, build_metric
from ..opening import load
from ..release.fence_request import CROSSING
from ..store import require_writable

#: The places compared lie within this distance of what changed: further away nothing does.
_AROUND_M = 3000.0


def carving_cost(
    before: AnyMetric, after: AnyMetric, *, scratch: AnyMetric | None = None, places: int = 24
) -> dict[str, Any]:
    """Mean expected error (metres, output by mass) at the same places around the change, outside all fences.

    `places` cells are compared, spread evenly over those within 3 km of a cell whose fence changed. `scratch` is a
    metric built from scratch with the fences of `after`, for comparison.
    """
    cells = _cells_around(before, after, require_count("places", places))
    if not len(cells):
        return {"places": 0}
    cost: dict[str, Any] = {
        "places": len(cells),
        "error_before_m": _mean_error(before, cells),
        "error_after_m": _mean_error(after, cells),
    }
    cost["error_change"] = cost["error_after_m"] / cost["error_before_m"] - 1
    if scratch is not None:
        cost["error_scratch_m"] = _mean_error(scratch, cells)
        cost["error_against_scratch"] = cost["error_after_m"] / cost["error_scratch_m"] - 1
    return cost


def rebuilt(metric: AnyMetric, *, workers: int | None = None, progress: bool = False) -> tuple[AnyMetric, float]:
    """A metric with the same fences, requirement, builder and layout, built from scratch, and the seconds it took.

    The mass of a location is taken to lie evenly over its cells, which is all that a metric knows of it.
    """
    begin = time.perf_counter()
    mass = Mass(metric.grid, (metric.mass / metric.locations.area_cells)[metric.locations.owner], metric.info)
    fresh = build_metric(
        mass,
        requirement=metric.requirement,
        method=metric.method,
        layout=metric.locations.kind,
        cartogram=metric.place is not None,
        l_from=metric.l_from,
        l_top=metric.l_top,
        fences=fence_outlines(metric),
        sharpen=metric.relief is not None,
        frame=metric.frame_cells / min(metric.grid.shape),
        workers=workers,
        progress=progress,
    )
    return fresh, time.perf_counter() - begin


def _cells_around(before: AnyMetric, after: AnyMetric, places: int) -> IntArray:
    fence, secrets = ([getattr(m, name)[m.locations.owner] for m in (before, after)] for name in ("fence", "secret"))
    changed = fence[0] != fence[1]
    if not changed.any():
        return np.zeros(0, dtype=np.int64)
    around = distance_transform_edt(~changed) * after.grid.cell_m <= _AROUND_M
    candidates = np.flatnonzero(around & secrets[0] & secrets[1] & (fence[0] == 0) & (fence[1] == 0))
    chosen = np.linspace(0, len(candidates) - 1, min(places, len(candidates))).round().astype(np.int64)
    return np.asarray(candidates[chosen], dtype=np.int64)


def _mean_error(metric: AnyMetric, cells: IntArray) -> float:
    mechanism = ElasticMechanism(metric)
    owner = metric.locations.owner.ravel()[cells]
    errors = {int(i): mechanism.expected_error(int(i)) for i in np.unique(owner)}
    return float(np.mean([errors[int(i)] for i in owner]))


def carve_request(
    file: str, output: str, *, fences: Sequence[str] = (), numbers: Sequence[int] = (), compare: bool = False,
    workers: int | None = None, progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Cut fences into the map in a file, and take others out by their numbers; with what that cost."""
    before = load(file)
    if "://" not in output:
        require_writable(output, folder=not before.at_hand)
    metric = before.with_fences(read_fences(fences), remove=numbers, workers=workers, progress=progress)
    metric.save(output)
    scratch, seconds = rebuilt(metric, workers=workers, progress=progress) if compare else (None, None)
    facts = (
        dict(metric.certificate["carve"]) | {"scratch_seconds": seconds} | carving_cost(before, metric, scratch=scratch)
    )
    numbers_of = [m.totals["fences"] for m in (before, metric)]
    lines = [f"{numbers_of[1]} fences (before: {numbers_of[0]}): {output}", *_carve_lines(facts), CROSSING]
    lines.insert(1, f"verified: {'holds' if metric.certificate['ok'] else 'DOES NOT HOLD'}")
    return {
        "ok": metric.certificate["ok"],
        "output": output,
        "fences": numbers_of[1],
        "carve": facts,
        "certificate": metric.certificate,
        "text": "\n".join(lines),
    }


def _carve_lines(facts: dict[str, Any]) -> list[str]:
    lines = [
        f"{facts['checked_again']:,} locations checked again, {facts['locations_changed']:,} changed, up to "
        f"{facts['reach_km']:g} km from the fence, in {facts['seconds']:g} s"
    ]
    if facts["places"]:
        lines.append(
            f"expected error at {facts['places']} places around: {facts['error_after_m']:,.0f} m, before "
            f"{facts['error_before_m']:,.0f} m ({facts['error_change']:+.1%})"
        )
    if "error_scratch_m" in facts:
        lines.append(
            f"built from scratch: {facts['error_scratch_m']:,.0f} m in {facts['scratch_seconds']:.1f} s; carved "
            f"{facts['error_against_scratch']:+.1%}"
        )
    return lines
