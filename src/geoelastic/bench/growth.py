# SPDX-License-Identifier: Apache-2.0
"""The default builder on larger and larger maps: processor time per location, verification and sharpening included.

Next to the time stands what it is spent on: `ball` is the mean number of locations within l_top, over an even sample,
and `ns_in_ball` the processor time per location and member of its ball; `sharpen_cpu_s` is the part that finding and
certifying heights takes. Sizes are compared by processor time: what else the machine does while one of them is built
would count for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..levels import UNREACHABLE, level_to_units
from ..metric import Metric, build_metric
from ..metric.sharpen import sharpen
from ._tools import Tell, markdown, peak_gb, quiet, synthetic_mass, timed, warm_up

SIDES = (400, 750, 1500)
_BALLS = 400


def run(*, tell: Tell = quiet, sides: Sequence[int] = SIDES) -> dict[str, Any]:
    """One row per map of `synthetic:paris`; `times_least` compares processor time per location with the least."""
    warm_up()
    rows: list[dict[str, Any]] = []
    for side in sides:
        tell(f"{side} x {side}", of=len(sides))
        mass = synthetic_mass("paris", side)
        built = timed(partial(build_metric, mass, sharpen=False))
        sharp = timed(partial(sharpen, built.value))
        wall_s, cpu_s = built.wall_s + sharp.wall_s, built.cpu_s + sharp.cpu_s
        n, ball = built.value.n, _mean_ball(built.value)
        rows.append(
            {
                "cells": f"{side} x {side}",
                "locations": n,
                "seconds": round(wall_s, 2),
                "cpu_s": round(cpu_s, 2),
                "sharpen_cpu_s": round(sharp.cpu_s, 2),
                "cpu_us_per_location": 1e6 * cpu_s / n,
                "ball": round(ball),
                "ns_in_ball": round(1e9 * cpu_s / n / ball),
                "violations": built.value.certificate["violations"],
                "edges_over": sharp.value.relief.certificate["edges_over"] if sharp.value.relief else None,
                "mean_ratio": round(built.value.certificate["ratio"]["mean"], 3),
                "peak_GB": round(peak_gb(), 2),
            }
        )
    least = min(row["cpu_us_per_location"] for row in rows)
    for row in rows:
        row["times_least"] = round(row["cpu_us_per_location"] / least, 2)
        row["cpu_us_per_location"] = round(row["cpu_us_per_location"], 1)
    return {"rows": rows, "text": markdown(rows)}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Processor time per location from the smallest map to the largest."""
    each = ", ".join(f"{row['cpu_us_per_location']:.0f}" for row in rows)
    times = max(row["times_least"] for row in rows)
    what, target = "default build, sharpened, by size", "cost per location within 1.5 from 400 x 400 to 1500 x 1500"
    return [
        (what, target, f"{each} µs of processor time at {', '.join(row['cells'] for row in rows)}: a factor of {times}")
    ]


def _mean_ball(metric: Metric) -> float:
    """How many locations lie within l_top of one, on average over an even sample."""
    secret = np.flatnonzero(metric.secret & (metric.fence == 0))
    some = secret[np.linspace(0, secret.size - 1, min(_BALLS, secret.size)).astype(np.int64)]
    top = level_to_units(metric.l_top)
    return float(np.mean([np.count_nonzero(metric.graph.distances(int(i), top) != UNREACHABLE) for i in some]))
