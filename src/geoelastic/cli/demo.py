# SPDX-License-Identifier: Apache-2.0
"""`geoelastic demo`"""

from __future__ import annotations

from typing import Any

from ._common import geo_command, option, show_progress


@geo_command(short_help="The whole story on a made-up city, with a report to read.")
@option("-o", "--output", default="geoelastic-demo", metavar="DIR", help="Folder to write to.")
def command(output: str) -> dict[str, Any]:
    """Build two metrics of a made-up city, sharpen the better one, check all, compare with planar Laplace, write a
    report."""
    from ..demo import run_demo

    result = run_demo(output, progress=show_progress())
    lines = [
        f"{row['builder']:>10}: {row['locations']:,} locations in {row['seconds']} s, verified: {row['verified']}, "
        f"mass ratio {row['mean_ratio']} (least {row['least_ratio']}), mean error {row['expected_error_m']:,} m"
        for row in result["builders"]
    ]
    lines += [
        f"at {result['equal_error_in_the_city_m']:,} m of error in the city, the least mass within level ln 2 is "
        f"{result['least_mass_elastic']} (elastic) and {result['least_mass_laplace']} (planar Laplace)",
        f"{result['seconds']} s; open {result['report']}",
    ]
    return result | {"text": "\n".join(lines)}
