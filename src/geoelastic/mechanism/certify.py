# SPDX-License-Identifier: Apache-2.0
"""The half can be earned back: the largest exponent that is still d-private for one metric and one measure.

With exponent b the loss between x and x' is at most b d(x, x') + |ln S(x) - ln S(x')|. If |ln S(x) - ln S(x')| <= (1
- b) level(e) on every edge e = (x, x'), then by the triangle inequality along shortest paths the mechanism is
d-private. b = 1/2 always passes.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import require_count
from ..levels import LEVEL_UNIT
from .errors import weight_totals
from .weights import HALF, make_weights

if TYPE_CHECKING:
    from .elastic import ElasticMechanism

__all__ = ["certify"]

#: S is summed in double precision: relative error below n x 2^-53 < 1e-9. A certified exponent keeps this distance
#: from the bound.
MARGIN = 1e-8


def certify(
    mechanism: ElasticMechanism,
    *,
    margin: float = 0.0,
    steps: int = 20,
    workers: int | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Check every edge for the exponents 1/2, ..., 1 in `steps` steps; the largest that passes (and all below it) is
    certified.

    With a `margin` (a part of the shorter side) only edges that keep it from the border are checked: the mechanism is
    then private for `inner_metric(metric, margin)`, whose paths and secrets keep that margin too. Near the border some
    edges always need the half, so this is what earns something back.

    Returns `exponent` (as text, a fraction), `edges`, and by exponent the largest |ln S(x) - ln S(x')| / level(e),
    which must be at most 1 - exponent, and the number of edges where it is more.
    """
    require_count("steps", steps)
    metric = mechanism.metric
    kept = metric.locations.inside(round(margin * min(metric.grid.shape))) & (metric.fence == 0)
    tail, tip, units = metric.graph.edges()
    # Ends at distance 0 have the same distances to everything, and so the same S, exactly.
    chosen = kept[tail] & kept[tip] & (units > 0)
    tail, tip, level = tail[chosen], tip[chosen], units[chosen] * LEVEL_UNIT
    ladder = [HALF + Fraction(k, 2 * steps) for k in range(steps + 1)]
    weights = [make_weights(b) for b in ladder]
    totals = weight_totals(mechanism, weights, only=kept, workers=workers, progress=progress)
    table: list[dict[str, Any]] = []
    for column, exponent in enumerate(ladder):
        drift = np.abs(np.log(totals[tail, column] / totals[tip, column]))
        allowed = float(1 - exponent) * level - (0 if exponent == HALF else MARGIN)
        table.append(
            {
                "exponent": str(exponent),
                "worst": round(float((drift / level).max(initial=0.0)), 6),
                "allowed": float(1 - exponent),
                "edges_over": int(np.count_nonzero(drift > allowed)),
            }
        )
    passed = HALF
    for row in table[1:]:
        if row["edges_over"]:
            break
        passed = Fraction(row["exponent"])
    return {"exponent": str(passed), "margin": margin, "edges": int(tail.size), "by_exponent": table}
