# SPDX-License-Identifier: Apache-2.0
"""`geoelastic estimate`, `geoelastic estimate plan`"""

from __future__ import annotations

from typing import Any

import click

from ._common import AliasGroup, geo_command, option, place_columns, show_progress

_ZONES = "grid:METRES, leaves:COUNT, h3:RESOLUTION or a GeoJSON file of polygons."


@click.group(cls=AliasGroup, short_help="How people were spread over zones, from private reports.")
def command() -> None:
    """How people were spread over zones, from the reports that they made through a map.

    \b
    geoelastic estimate MAP --reports R --zones Z -o OUT     the estimate ('run' may be left out)
    geoelastic estimate plan MAP --zones Z --people N        what so many reports will tell, before any is collected
    """


@geo_command(under=command, name="run", short_help="The estimate; 'run' may be left out.")
@click.argument("file", metavar="MAP")
@option("--reports", required=True, metavar="R", help="Reports: any table that `sanitize` reads.")
@option("--zones", required=True, metavar="Z", help=_ZONES)
@option(
    "-o", "--output", required=True, metavar="OUT", help="The estimate: .csv, .geojson, .parquet, .tif, .png, .html."
)
@option("--picture", metavar="FILE", help="Also reports, estimate and interval side by side, .png or .html.")
@option("--truth", metavar="T", help="True places, where they are known: a picture then shows them beside.")
@option("--measure", default="mass", help="Output measure with which reports were made.")
@option("--user-column", "user", help="Column with the user of each report: everybody then counts once.")
@place_columns
@option("--elsewhere/--no-elsewhere", default=True, help="People may be outside all zones.")
@option("--cache", metavar="DIR", help="Keep the model of the map's reports here, by content.")
def run(file: str, reports: str, zones: str, output: str, **options: Any) -> dict[str, Any]:
    """Shares of people by zone, with intervals, from the reports in R that were made through MAP.

    The blur that the mechanism added is public and exactly known: it is taken out of totals, which tells nothing more
    about anybody than the reports did. Zones that the reports cannot tell apart are merged, and said to be.
    """
    from ..statistics.estimate_request import estimate_files

    return estimate_files(file, reports, zones, output, progress=show_progress(), **options)


@geo_command(under=command, name="plan", short_help="What so many reports will tell, before any is collected.")
@click.argument("file", metavar="MAP")
@option("--zones", required=True, metavar="Z", help=_ZONES)
@option("--people", required=True, type=float, metavar="N", help="People who report, once each.")
@option("--precision", default=0.25, help="Standard error to reach, relative to the share.")
@option("--measure", default="mass", help="Output measure with which reports will be made.")
@option("--cache", metavar="DIR", help="Keep the model of the map's reports here, by content.")
def plan(file: str, zones: str, people: float, **options: Any) -> dict[str, Any]:
    """How many groups of zones N reports tell apart, and how many people each zone would need by itself."""
    from ..statistics.estimate_request import plan_file

    return plan_file(file, zones, people, progress=show_progress(), **options)
