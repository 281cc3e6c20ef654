# SPDX-License-Identifier: Apache-2.0
"""How much of the half can be earned back: the certified exponent by metric, measure and region.

On every edge |ln S(x) - ln S(x')| must be at most (1 - exponent) x the edge's level. `worst` is the largest quotient of
the two at exponent 1/2. Near the border some edge always needs the half; `inner` looks only at edges that keep a
quarter of the side from it: what secrets and paths that keep this margin can have
(`ElasticMechanism(..., margin=0.25)`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..levels import LEVEL_UNIT
from ..mechanism import ElasticMechanism
from ..mechanism.errors import weight_totals
from ..mechanism.weights import HALF, make_weights
from ..metric import build_metric
from ..progress import progress_bar
from ._tools import markdown, synthetic_mass, warm_up

__all__ = ["run"]

L_FROM = (0.35, 0.5, 0.7)
OUTPUTS = ("uniform", "mass", "mass^2")


def run(*, progress: bool = False, side: int = 150) -> dict[str, Any]:
    """One row a metric and output measure."""
    warm_up()
    mass = synthetic_mass("paris", side)
    rows: list[dict[str, Any]] = []
    with progress_bar("bench exponent", len(L_FROM) * len(OUTPUTS), show=progress) as bar:
        for l_from in L_FROM:
            metric = build_metric(mass, l_from=l_from)
            for output in OUTPUTS:
                bar.update(len(rows), note=f"l_from {l_from}, {output}")
                rows.append({"l_from": l_from, "output": output} | _row(ElasticMechanism(metric, output=output)))
    return {"rows": rows, "text": markdown(rows)}


def _row(mechanism: ElasticMechanism) -> dict[str, Any]:
    metric = mechanism.metric
    totals = weight_totals(mechanism, [make_weights(HALF)])[:, 0]
    tail, tip, units = metric.graph.edges()
    some = units > 0
    quotient = np.abs(np.log(totals[tail[some]] / totals[tip[some]])) / (units[some] * LEVEL_UNIT)
    kept = metric.locations.inside(min(metric.grid.shape) // 4)
    inner = quotient[kept[tail[some]] & kept[tip[some]]]
    return {
        "locations": metric.n,
        "certified": mechanism.certify()["exponent"],
        "certified_inner": mechanism.certify(margin=0.25)["exponent"],
        "median": round(float(np.median(quotient)), 3),
        "99_%": round(float(np.quantile(quotient, 0.99)), 3),
        "worst": round(float(quotient.max()), 3),
        "inner_worst": round(float(inner.max()), 3) if inner.size else 0.0,
    }
