# SPDX-License-Identifier: Apache-2.0
"""`geoelastic fence`: suggest, attack, list, carve, remove, move"""

from __future__ import annotations

from typing import Any

import click

from ._common import geo_command, option, place_columns, show_progress, with_options

_LABELS = ("home", "work", "place")

_crowd_options = with_options(
    option("--map", "map_file", metavar="FILE",
           help="Where the crowd is counted: a .geoelastic metric or an OpenStreetMap file [default: by area]."),
    option("--home", type=float, metavar="N",
           help="What a home hides among [default: 300 buildings of OpenStreetMap, 4 units of mass or 1 km²]."),
    option("--work", type=float, metavar="N", help="The same for a workplace [default: 60 POIs, 4 or 1]."),
    option("--margin", "margin_m", type=float, default=300, metavar="M",
           help="Strip around that, in which no track is seen either."),
    option("--timezone", metavar="ZONE", help="Such as Europe/Paris, for night and day [default: by the sun]."),
    option("--user", help="Whose traces, if there are several people."),
    option("--min-days", type=int, default=3, help="Days that make a place recurrent."),
    place_columns,
)  # fmt: skip
_carve_options = with_options(
    option("--compare", is_flag=True, help="Build it from scratch as well, and compare time and expected error."),
    option("--workers", type=click.IntRange(1), metavar="N", help="Threads [default: all cores]."),
    option("-o", "--output", required=True, metavar="OUT",
           help="The .geoelastic file to write, or the folder if FILE is a map in tiles."),
)  # fmt: skip
_FENCES = option("--fence", "fences", multiple=True, required=True, metavar="GEOJSON",
                 help="Polygons or discs to cut in (repeatable).")  # fmt: skip
_NUMBERS = option("--number", "numbers", type=int, multiple=True, required=True,
                  help="A fence to take out, by its number in `fence list` (repeatable).")  # fmt: skip


@click.group(short_help="Hide home and work completely: suggest, attack and carve fences.")
def command() -> None:
    """Fences: regions inside which all places are the same place, for any number of reports."""


@geo_command(under=command, name="suggest", short_help="Draw fences for the recurrent places of traces.")
@click.argument("traces", nargs=-1, required=True)
@_crowd_options
@option("--only", multiple=True, type=click.Choice(_LABELS), help="Kinds of places [default: all].")
@option("--keep", metavar="GEOJSON", help="Fences already in use: they stay as they are, only new places get one.")
@option("-o", "--output", required=True, metavar="OUT", help="The GeoJSON file to write.")
def suggest(traces: tuple[str, ...], output: str, **options: Any) -> dict[str, Any]:
    """Find the recurrent places in TRACES (any table that `sanitize` reads with a time in it, GeoLife .plt, Google
    Takeout, OwnTracks; files or folders) and draw a fence for each.

    Everything stays on this machine, and OUT holds the fences and nothing else of the traces. A fence is irregular, its
    place may be anywhere in its core, and it is drawn with the operating system's randomness: the fence does not tell
    where in its core the place is.
    """
    from ..release.fence_request import suggest_request

    return suggest_request(traces, output, **options)


@geo_command(
    under=command, name="attack", short_help="Try to find the place in a fence from where tracks enter and leave it."
)
@click.argument("traces", nargs=-1)
@_crowd_options
@option("--fence", "fences", multiple=True, metavar="GEOJSON", help="Attack these instead of drawing (repeatable).")
@option("--commuters", type=int, default=30, help="Made-up people, if there are no TRACES.")
@option("--draws", type=int, default=1, help="Fences drawn for each place.")
@option("--seed", type=int, default=1, help="Of the made-up people and of all fences.")
def attack(traces: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """The endpoint attack (Hassan et al. 2018), on fences as `suggest` draws them (or on those given by --fence) and on
    circles of the same area with the place in the middle.

    The adversary sees the exact tracks outside the fence, and the fence. With TRACES the places are the homes and
    workplaces found in them; without, those of made-up commuters. Exit 1 if the fences are not at least three
    times harder.
    """
    from ..evaluation.fence_attack import attack_request

    return attack_request(traces, **options)


@geo_command(under=command, name="list", short_help="The fences of a metric.")
@click.argument("file")
@option("-o", "--output", metavar="OUT", help="Write their outlines to this GeoJSON file.")
def list_(file: str, output: str | None) -> dict[str, Any]:
    """The fences of the metric FILE: number, locations, area; with -o, their outlines."""
    from ..release.fence_request import list_request

    return list_request(file, output)


@geo_command(under=command, name="carve", short_help="Cut fences into a built metric.")
@click.argument("file")
@_FENCES
@_carve_options
def carve(file: str, output: str, **options: Any) -> dict[str, Any]:
    """Cut fences into the metric FILE, repair what that takes away from the outside, check it and write OUT.

    Only what can be affected is touched. The answer says how far the repair reached and what it cost in expected error
    around the fence.
    """
    return _carved(file, output, **options)


@geo_command(under=command, name="remove", short_help="Take fences out of a metric.")
@click.argument("file")
@_NUMBERS
@_carve_options
def remove(file: str, output: str, **options: Any) -> dict[str, Any]:
    """Take fences out of the metric FILE, check it and write OUT."""
    return _carved(file, output, **options)


@geo_command(under=command, name="move", short_help="Put fences of a metric elsewhere.")
@click.argument("file")
@_NUMBERS
@_FENCES
@_carve_options
def move(file: str, output: str, **options: Any) -> dict[str, Any]:
    """Take fences out of the metric FILE and cut others in, check it and write OUT.

    For a place that has moved. A fence that is moved while the place stays narrows it down to where the two overlap.
    """
    return _carved(file, output, **options)


def _carved(file: str, output: str, **options: Any) -> dict[str, Any]:
    from ..evaluation.carving import carve_request

    return carve_request(file, output, progress=show_progress(), **options)
