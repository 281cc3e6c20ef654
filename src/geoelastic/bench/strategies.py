# SPDX-License-Identifier: Apache-2.0
"""The paper's builder: orders of candidates, levels raised once or until they stand, merged land.

The paper leaves the order of candidates open; here the orders are next to each other on one map. Errors are those of
the same mechanism (exponent 1/2) at the same places.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..mass import Mass
from ..metric import build_metric
from ..metric.paper import STRATEGIES
from ..progress import progress_bar
from ._tools import markdown, synthetic_mass, timed, warm_up
from .build import mean_errors

_POINTS = 150


def run(*, progress: bool = False, side: int = 120) -> dict[str, Any]:
    """One row an order, with levels raised either way, and one for merged land."""
    warm_up()
    variants: list[dict[str, Any]] = [
        {"strategy": order, "literal": literal} for literal in (False, True) for order in STRATEGIES
    ]
    variants.append({"layout": "adaptive"})
    with progress_bar("bench strategies", len(variants), show=progress) as bar:
        rows = variant_rows(synthetic_mass("paris", side), variants, lambda k: bar.update(k, note=str(variants[k])))
    return {"rows": rows, "text": markdown(rows)}


def variant_rows(mass: Mass, variants: Sequence[dict[str, Any]], on_variant: Any) -> list[dict[str, Any]]:
    """One row per variant of the paper's build; `on_variant(k)` is told before the k-th."""
    rows = []
    for k, variant in enumerate(variants):
        on_variant(k)
        built = timed(partial(build_metric, mass, method="paper", sharpen=False, **variant))
        metric = built.value
        row = {
            "order": variant.get("strategy", "fourfold"),
            "levels": "once a pass" if variant.get("literal") else "until they stand",
            "layout": metric.locations.kind,
            "seconds": round(built.wall_s, 1),
            "cpu_s": round(built.cpu_s, 1),
            "edges_a_location": round(metric.graph.index.size / 2 / metric.n, 2),
            "least_ratio": round(metric.certificate["ratio"]["min"], 4),
            "mean_ratio": round(metric.certificate["ratio"]["mean"], 3),
        }
        rows.append(row | mean_errors(metric, mass, points=_POINTS))
    return rows
