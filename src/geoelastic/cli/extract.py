# SPDX-License-Identifier: Apache-2.0
"""`geoelastic extract`"""

from __future__ import annotations

from typing import Any

import click

from ..area import Area
from ..errors import InputError
from ._common import LATLON, geo_command, option, show_progress


@geo_command(short_help="Cut a region for phones and web pages.")
@click.argument("file")
@option("--center", type=LATLON, help="The middle of the region [default: the whole map].")
@option("--size", "size_km", type=float, help="The side of the region in km.")
@option("-o", "--output", required=True, metavar="OUT", help="The .geox (phones, pages) or .geoelastic file to write.")
@option("--measure", default="mass", help="Output measure: mass, uniform or mass^GAMMA.")
@option("--sharpen/--no-sharpen", "sharp", default=True, help="Let reports use nearly all of each distance.")
@option("--client", is_flag=True, help="Also write geolocation.js beside it: the client as one script for web pages.")
def command(
    file: str, output: str, center: tuple[float, float] | None, size_km: float | None, measure: str, **options: Any
) -> dict[str, Any]:
    """Cut a region from FILE whose mechanism is private by itself: reports come from inside it and stay inside it.

    The region is grown to whole locations and verified again; locations near its border that no longer have their crowd
    become frame. Any web server can host the file. Asking for it tells the server which region is of interest.
    """
    from ..service.publishing import make_extract

    if (center is None) != (size_km is None):
        raise InputError("'--center' and '--size' must be given together, or neither for the whole map")
    area = None if center is None or size_km is None else Area.around(*center, size_km=size_km)
    told = make_extract(file, output, area=area, output=measure, progress=show_progress(), **options)
    text = (
        f"{told['output']}: {told['bytes'] / 1000:.0f} kB, {told['km'][0]:g} x {told['km'][1]:g} km, "
        f"{told['locations']} locations, {told['secret']} of them can be hidden, "
        f"verified: {'yes' if told['verified'] else 'NO'}, sharpened: {'yes' if told['sharpened'] else 'no'}\n"
        f"What asking for it reveals: {told['reveals']}"
    )
    looked = told["checkup"]
    if looked is not None and looked["size"] != "large enough":
        text += "\n" + "; ".join([looked["verdict"], *looked["advice"]])
    return told | {"ok": told["verified"], "text": text}
