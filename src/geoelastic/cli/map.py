# SPDX-License-Identifier: Apache-2.0
"""`geoelastic map`"""

from __future__ import annotations

from typing import Any

import click

from ._common import LATLON, geo_command, option

KINDS = ("mass", "error", "ball", "report", "slack", "cartogram", "fences", "quality", "page")


@geo_command(short_help="Pictures of a metric or a quality: PNG, web page or GeoTIFF.")
@click.argument("file")
@click.argument("kind", type=click.Choice(KINDS))
@option("-o", "--output", required=True, metavar="OUT", help="The .png, .html or .tif file to write.")
@option("--at", type=LATLON, help="The place of a ball or of reports [default: the place of most mass around].")
@option("--measure", default="mass", help="Output measure: mass, uniform or mass^GAMMA.")
@option("--points", type=int, default=4000, help="Places at which the error is computed.")
@option("--reports", type=int, default=300, help="Reports to draw.")
@option("--seed", type=int, help="Draw the reports from a seeded source (research only, never to protect anyone).")
def command(file: str, kind: str, output: str, **options: Any) -> dict[str, Any]:
    """Draw FILE: its privacy mass, the expected error of a report, the ball around a place, the reports from a place,
    how much more than required each place gets (slack), the map redrawn for even crowds (cartogram), or its fences; or
    the quality in a file that `geoelastic quality` wrote.

    The picture is of the kind that OUT's name says: .png, .html (a page that needs nothing else) or .tif (GeoTIFF of
    the values). KIND page writes the interactive page of `geoelastic serve` as one .html file.
    """
    if kind == "page":
        from ..service.service_page import write_page

        return write_page(file, output, measure=options["measure"])
    from ..errors import InputError
    from ..figures.picture_request import picture_of_file
    from ..figures.save import require_picture_path, save_picture

    if require_picture_path(output).suffix.lower() == ".tif" and kind == "cartogram":
        raise InputError("a cartogram has no coordinates on the ground: its file must end in .png or .html")
    save_picture(picture_of_file(file, kind, **options), output)
    return {"output": output, "kind": kind, "text": f"{kind} of {file}: {output}"}
