# SPDX-License-Identifier: Apache-2.0
"""`geoelastic pack`: make, check"""

from __future__ import annotations

from typing import Any

import click

from ._common import AliasGroup, geo_command, option, show_progress


@click.group(cls=AliasGroup, short_help="A folder of regions for any web server.")
def command() -> None:
    """Regions for devices, as a folder that any web server can host. `geoelastic pack MAP... -o DIR` makes one."""


@geo_command(under=command, name="make", short_help="Make a pack, or bring one up to date.")
@click.argument("maps", nargs=-1, required=True, metavar="MAP...")
@option("-o", "--output", required=True, metavar="DIR", help="The folder: a pack, empty, or not there yet.")
@option("--name", default="", show_default=False, help="What the catalogue calls itself [default: the folder's name].")
@option("--licence", help="Credit for the data [default: what the maps say].")
@option(
    "--districts",
    "district_km",
    type=float,
    metavar="KM",
    help="Cut every map into districts of this side; inf: none "
    "[default: maps of over 100,000 locations, into districts of 30,000 on average].",
)
@option(
    "--every",
    "every_days",
    type=click.IntRange(1, 366),
    default=28,
    metavar="DAYS",
    help="How often devices should ask for a newer catalogue.",
)
def make(maps: tuple[str, ...], output: str, **options: Any) -> dict[str, Any]:
    """Write each MAP (.geoelastic, .geox or tiles) into DIR as one sharpened, verified .geox file, or as one a
    district, and the catalogue of them. What did not change keeps its file and its date.
    """
    from ..packs import make_pack

    told = make_pack(maps, output, progress=show_progress(), **options)
    lines = [
        f"{r['id']}: {r['bytes'] / 1000:.0f} kB, {r['km'][0]:g} x {r['km'][1]:g} km, {r['secrets']} of "
        f"{r['locations']} locations can be hidden{'' if r['id'] in told['changed'] else ' (as before)'}"
        for r in told["regions"]
    ]
    if told["left_out"]:
        lines.append(f"left out, without enough crowd: {len(told['left_out'])} districts")
    for file, fences in told["fences"].items():
        lines.append(
            f"note: {file} has {fences} fence{'s' * (fences > 1)}, which all who take the pack will see: homes are "
            "better carved by each device for itself"
        )
    total = f"{told['pack']}: {len(told['regions'])} regions, {told['bytes'] / 1000:.0f} kB, {len(told['changed'])} new"
    return told | {"text": "\n".join([*lines, total])}


@geo_command(under=command, name="check", short_help="Check every file of a pack.")
@click.argument("folder", metavar="DIR")
def check(folder: str) -> dict[str, Any]:
    """Check the catalogue of DIR, the digest of every file, and every map from scratch."""
    from ..packs import check_pack

    told = check_pack(folder, progress=show_progress())
    lines = [f"{region}: {'; '.join(found)}" for region, found in told["faults"].items()]
    lines += [f"not in the catalogue: {', '.join(told['strays'])}"] if told["strays"] else []
    verdict = "all hold" if told["ok"] else f"{len(told['faults'])} do not hold"
    return told | {"text": "\n".join([*lines, f"{told['name']}: {told['regions']} regions, {verdict}"])}
