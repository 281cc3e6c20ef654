# SPDX-License-Identifier: Apache-2.0
"""Reports and verification on `synthetic:paris`: one cold report, many, the file, the check at every location.

"Cold" is a place that was never asked for, in a process that has loaded the metric and compiled its kernels.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..mechanism import ElasticMechanism, SeededRandom
from ..metric import verify
from ..metric.metric_file import metric_from_parts, metric_to_parts
from ..store import container_bytes
from ._tools import Tell, markdown, peak_gb, places_by_mass, quantity, quiet, synthetic_metric, timed, warm_up

COLD = 200
MANY = 20_000


def run(*, tell: Tell = quiet, side: int = 750) -> dict[str, Any]:
    """One row a quantity."""
    warm_up()
    tell("building", of=4)
    metric = synthetic_metric("paris", side)
    tell("cold reports")
    mechanism = ElasticMechanism(metric)
    places = places_by_mass(metric, COLD + MANY, seed=1, again=True)
    milliseconds = 1000 * np.array([_one(mechanism, int(i)) for i in places[:COLD]])
    tell("many reports")
    many = timed(lambda: mechanism.sample_cells(places[COLD:]))
    tell("verification and file")
    check = timed(lambda: verify(metric))
    parts = metric_to_parts(metric)
    content = container_bytes("metric", *parts)
    again = timed(lambda: metric_from_parts(*parts))
    rows = [
        quantity("one cold report, median", round(float(np.median(milliseconds)), 2), "ms"),
        quantity("one cold report, 95 %", round(float(np.quantile(milliseconds, 0.95)), 2), "ms"),
        quantity(f"{MANY:,} reports, places drawn by mass", round(MANY / many.wall_s), "reports/s"),
        quantity("verification, every location", round(check.wall_s, 2), "s"),
        quantity("violations found", check.value["violations"], ""),
        quantity("file", round(len(content) / 1e6, 3), "MB"),
        quantity("graph from the file's tables", round(again.wall_s, 2), "s"),
        quantity("peak memory", round(peak_gb(), 2), "GB"),
    ]
    return {"rows": rows, "text": markdown(rows)}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """One cold report, and the check of every location."""
    value = {row["what"]: row["value"] for row in rows}
    cold = f"median {value['one cold report, median']} ms, 95 % within {value['one cold report, 95 %']} ms"
    return [
        ("one report, cold", "20 ms", cold),
        ("verification of every location", "30 s", f"{value['verification, every location']} s"),
    ]


def _one(mechanism: ElasticMechanism, i: int) -> float:
    """Seconds of one report; the seeded source makes runs comparable and protects nobody."""
    rng = SeededRandom(i)
    begin = time.perf_counter()
    mechanism.sample(i, rng=rng)
    return time.perf_counter() - begin
