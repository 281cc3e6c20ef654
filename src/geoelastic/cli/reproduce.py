# SPDX-License-Identifier: Apache-2.0
"""`geoelastic reproduce`"""

from __future__ import annotations

from typing import Any

import click

from ._common import geo_command, option, show_progress


@geo_command(short_help="Section 5 of the paper from raw files, in one resumable run.")
@option("--data", required=True, metavar="DIR", help="Folder with the census, points, maps and check-ins.")
@option("--size", "size_km", type=float, default=75, metavar="KM", help="Side of the Paris map.")
@option("--workers", type=int, default=2, metavar="N", help="Studies at a time, each in a process of its own.")
@option("--skip-sf", is_flag=True, help="Leave San Francisco out.")
@option(
    "--part", "parts", type=click.Choice(["paper", "today"]), multiple=True, default=("paper", "today"),
    help="Only the paper as it was run, or only what is built today.",
)  # fmt: skip
@option("-o", "--output", required=True, metavar="OUT", help="Folder for everything that is made.")
def command(data: str, output: str, skip_sf: bool, **options: Any) -> dict[str, Any]:
    """From the raw files in DIR to reports in OUT: the paper as it was run, and the default build of today.

    The first part has Paris with the paper's claims one by one, and San Francisco; the second the default build on the
    same check-ins and on made-up commuters.

    A stopped run resumes where it stopped when the same command is given again.
    """
    from ..evaluation import reproduce

    done = reproduce(data, output, san_francisco=not skip_sf, progress=show_progress(), **options)
    claims = done["paris"]["claims"] if "paris" in done else []
    lines = [
        f"{'holds' if c['holds'] else 'fails'}  [{c['mechanism']}] {c['about']}: {c['found']} ({c['criterion']})"
        for c in claims
    ]
    reports = [part["files"]["report"] for name, part in done.items() if name != "seconds"]
    lines += [f"report: {path}" for path in reports] + [f"{done['seconds']:.0f} s"]
    return {"seconds": done["seconds"], "claims": claims, "reports": reports, "text": "\n".join(lines)}
