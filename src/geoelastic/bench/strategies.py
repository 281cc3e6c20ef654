# SPDX-License-Identifier: Apache-2.0
"""The paper's builder: orders of candidates, levels raised once or until they stand, merged land, merged submaps.

The paper leaves three improvements open; here they are next to the plain run on one map. Errors are those of the same
mechanism (exponent 1/2, output by mass) at the same places.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..mechanism import ElasticMechanism
from ..metric import build_metric
from ..metric.paper import STRATEGIES
from ..progress import progress_bar
from ._tools import markdown, synthetic_mass, timed, warm_up

__all__ = ["run"]

_POINTS = 150


def run(*, progress: bool = False, side: int = 200) -> dict[str, Any]:
    """One row a variant."""
    warm_up()
    mass = synthetic_mass("paris", side)
    variants: list[dict[str, Any]] = [
        {"strategy": s, "literal": literal} for literal in (False, True) for s in STRATEGIES
    ]
    variants += [{"layout": "adaptive"}, {"layout": "adaptive", "literal": True}, {"submaps": 2}, {"submaps": 3}]
    inner = np.linspace(side // 4, 3 * side // 4, round(_POINTS**0.5)).astype(np.int64)
    rows: list[dict[str, Any]] = []
    with progress_bar("bench strategies", len(variants), show=progress) as bar:
        for variant in variants:
            bar.update(len(rows), note=str(variant))
            built = timed(partial(build_metric, mass, method="paper", **variant))
            metric = built.value
            places = np.unique(metric.locations.owner[np.ix_(inner, inner)])
            errors = ElasticMechanism(metric).expected_errors(locations=places)["mean"]
            rows.append(
                {
                    "order": variant.get("strategy", "fourfold"),
                    "levels": "once a pass" if variant.get("literal") else "until they stand",
                    "layout": metric.locations.kind,
                    "submaps": variant.get("submaps", 1) ** 2,
                    "seconds": round(built.wall_s, 1),
                    "edges_a_location": round(metric.graph.index.size / 2 / metric.n, 2),
                    "least_ratio": round(metric.certificate["ratio"]["min"], 4),
                    "mean_ratio": round(metric.certificate["ratio"]["mean"], 3),
                    "error_m": round(float(errors.mean())),
                }
            )
    return {"rows": rows, "text": markdown(rows)}
