# SPDX-License-Identifier: Apache-2.0
"""`geoelastic audit`"""

from __future__ import annotations

from typing import Any

import click

from ._common import geo_command, option


@geo_command(short_help="Does a mechanism do what is claimed of it?")
@click.argument("table", required=False)
@option("--reported", metavar="T", help="Second table with the reports, row by row [default: columns of TABLE].")
@option("--call", metavar="MODULE:NAME", help="Audit this Python function (lat, lon) -> (lat, lon) instead.")
@option("--metric", "metric_file", metavar="FILE", help="Claim: the elastic mechanism on this metric.")
@option("--measure", default="mass", help="With --metric: the output measure that is claimed.")
@option("--epsilon", type=float, help="Claim: planar Laplace noise of this epsilon per metre.")
@option("--error", "error_m", type=float, help="Claim: planar Laplace noise of this mean error in metres.")
@option("--sticky", is_flag=True, help="Claim also that a place always gives the same report.")
@option("--columns", metavar="LAT,LON,LAT2,LON2", help="Names of true and reported columns [default: by name].")
@option("--draws", type=int, default=20_000, help="Reports asked for at each place of a call.")
@option("--alpha", type=float, default=1e-3, help="Chance of any false alarm, over all checks.")
def command(**options: Any) -> dict[str, Any]:
    """Audit a TABLE of true and reported places, a function (--call), or, with neither, the claimed mechanism itself.

    Gives lower bounds on the loss by distance, direction and latitude, and looks for noise in the wrong plane,
    clamped or cut radii, atoms, stale and dead caches. Exit 1 if anything contradicts the claim. Nothing found is no
    proof.
    """
    from ..evaluation.audit.audit_request import audit_request

    return audit_request(**options)
