# SPDX-License-Identifier: Apache-2.0
"""`geoelastic sanitize`"""

from __future__ import annotations

from typing import Any

import click

from ._common import DEGREES, budget_and_seed, geo_command, option, place_columns, show_progress

_GUARD = ("low", "medium", "high")


_GROUPS = {
    "One place, or a table": ("lat", "lon", "source", "output", "lat_column", "lon_column", "user_column", "keep"),
    "How it is reported": ("kind", "measure", "remap", "sticky_key", "fresh", "outside", "seed"),
    "Planar Laplace": ("epsilon", "error_m", "guard"),
    "What it costs": ("ledger", "user", "budget", "per_hours", "budget_level"),
}


@geo_command(groups=_GROUPS, short_help="Report a place, or a table of places, with privacy.")
@click.argument("file", required=False)
@option("--lat", type=DEGREES, help="Latitude of one place.")
@option("--lon", type=DEGREES, help="Longitude of one place.")
@option("--input", "source", metavar="T", help="A table of places: CSV, Parquet, GeoJSON, GPX, .gpkg, .fgb or .shp.")
@option("-o", "--output", metavar="T", help="The table to write, in any of these formats.")
@option(
    "--mechanism",
    "kind",
    type=click.Choice(["elastic", "laplace"]),
    default="elastic",
    help="By the crowd around, or the same noise everywhere.",
)
@option("--measure", default="mass", help="Elastic: output measure (mass, uniform, mass^GAMMA).")
@option("--remap", is_flag=True, help="Elastic: replace each report by the best guess under the mass as prior.")
@option("--sticky", "sticky_key", metavar="KEY", help="Elastic: the same report for the same place; made if new.")
@option("--fresh", is_flag=True, help="Elastic: a new report for every row of a track too [default: sticky].")
@option("--epsilon", type=float, help="Laplace: epsilon per metre [default: l* within r_small of FILE].")
@option("--error", "error_m", type=float, help="Laplace: mean error in metres.")
@option("--guard", type=click.Choice(_GUARD), help="Laplace: Location Guard's levels (200, 500, 2000 m).")
@option(
    "--outside",
    type=click.Choice(["error", "drop", "snap"]),
    default="error",
    help="What to do with places that are missing, outside the map or in its frame.",
)
@place_columns
@option("--user-column", help="Column with the user of each row, for --sticky and --ledger.")
@option("--keep", multiple=True, help="Keep this column although it may reveal the place; '*' keeps all.")
@option("--ledger", metavar="LEDGER", help="Count the reports in this file (.json or .parquet) before release.")
@option("--user", default="me", help="Whose reports these are, for --sticky and --ledger.")
@budget_and_seed
def command(**options: Any) -> dict[str, Any]:
    """Report a place (--lat, --lon) or every place of a table (--input, -o) through the metric in FILE.

    Rows that are missing a place, outside the map or in its frame are an error, dropped or moved inside (--outside),
    and counted. Columns that tell the place (an address, an altitude, a venue) are left out unless kept, and named. A
    table that is a track (points seconds or minutes apart) is told from places: what reporting it point by point costs
    is said, and the same place has the same report in it.
    The mechanism 'laplace' needs no FILE if epsilon, error or guard is given.
    """
    from ..release.report_request import sanitize_request

    return sanitize_request(progress=show_progress(), **options)
