# SPDX-License-Identifier: Apache-2.0
"""The paper's builder: orders of candidates, levels raised once or until they stand, merged land.

The paper leaves the order of candidates open; here the orders are next to each other on one map, in the columns of
`bench build`.
"""

from __future__ import annotations

from typing import Any

from ..metric.paper import STRATEGIES
from ._tools import Tell, markdown, quiet, synthetic_mass, warm_up
from .build import build_row


def run(*, tell: Tell = quiet, side: int = 120) -> dict[str, Any]:
    """One row an order, with levels raised either way, and one for merged land."""
    warm_up()
    builds: list[dict[str, Any]] = [
        {"layout": "uniform", "strategy": order, "literal": literal}
        for literal in (False, True)
        for order in STRATEGIES
    ]
    builds.append({"layout": "adaptive"})
    mass, rows = synthetic_mass("paris", side), list[dict[str, Any]]()
    for options in builds:
        tell(str(options), of=len(builds))
        rows.append({"order": options.get("strategy", "fourfold")} | build_row(mass, {"method": "paper"} | options))
    return {"rows": rows, "text": markdown(rows)}
