# SPDX-License-Identifier: Apache-2.0
"""`geoelastic sanitize`"""

from __future__ import annotations

from typing import Any

import click

from ..levels import LN2
from ._common import DEGREES, HOURS, LEVEL, PLACE_COLUMNS, geo_command, show_progress, with_options

_GUARD = ("low", "medium", "high")


_GROUPS = {
    "One place, or a table": ("lat", "lon", "source", "output", "lat_column", "lon_column", "user_column", "keep"),
    "How it is reported": ("kind", "measure", "remap", "sticky_key", "fresh", "outside", "seed"),
    "Planar Laplace": ("epsilon", "error_m", "guard"),
    "What it costs": ("ledger", "user", "budget", "per_hours", "budget_level"),
}


@geo_command(groups=_GROUPS, short_help="Report a place, or a table of places, with privacy.")
@click.argument("file", required=False)
@click.option("--lat", type=DEGREES, help="Latitude of one place.")
@click.option("--lon", type=DEGREES, help="Longitude of one place.")
@click.option(
    "--input", "source", metavar="T", help="A table of places: CSV, Parquet, GeoJSON, GPX, .gpkg, .fgb or .shp."
)
@click.option("-o", "--output", metavar="T", help="The table to write, in any of these formats.")
@click.option(
    "--mechanism",
    "kind",
    type=click.Choice(["elastic", "laplace"]),
    default="elastic",
    show_default=True,
    help="By the crowd around, or the same noise everywhere.",
)
@click.option(
    "--measure", default="mass", show_default=True, help="Elastic: output measure (mass, uniform, mass^GAMMA)."
)
@click.option("--remap", is_flag=True, help="Elastic: replace each report by the best guess under the mass as prior.")
@click.option("--sticky", "sticky_key", metavar="KEY", help="Elastic: the same report for the same place; made if new.")
@click.option("--fresh", is_flag=True, help="Elastic: a new report for every row of a track too [default: sticky].")
@click.option("--epsilon", type=float, help="Laplace: epsilon per metre [default: l* within r_small of FILE].")
@click.option("--error", "error_m", type=float, help="Laplace: mean error in metres.")
@click.option("--guard", type=click.Choice(_GUARD), help="Laplace: Location Guard's levels (200, 500, 2000 m).")
@click.option(
    "--outside",
    type=click.Choice(["error", "drop", "snap"]),
    default="error",
    show_default=True,
    help="What to do with places that are missing, outside the map or in its frame.",
)
@with_options(*PLACE_COLUMNS)
@click.option("--user-column", help="Column with the user of each row, for --sticky and --ledger.")
@click.option("--keep", multiple=True, help="Keep this column although it may reveal the place; '*' keeps all.")
@click.option("--ledger", metavar="LEDGER", help="Count the reports in this file (.json or .parquet) before release.")
@click.option("--user", default="me", show_default=True, help="Whose reports these are, for --sticky and --ledger.")
@click.option("--budget", type=LEVEL, help="Report nothing if a user's reports in --ledger would then cost more.")
@click.option("--per", "per_hours", type=HOURS, help="The budget is for every window of this length [default: ever].")
@click.option("--budget-level", type=LEVEL, default=LN2, help="Distance of the places it is about [default: ln2].")
@click.option("--seed", type=int, help="Seeded randomness: for research only, protects nobody, marks the output.")
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
