# SPDX-License-Identifier: Apache-2.0
"""The part of `geoelastic fence` that works on a metric: list, carve, remove, move"""

from __future__ import annotations

import json
from typing import Any

import click

from ._common import geo_command, show_progress

__all__ = ["CROSSING", "carve", "list_", "move", "remove"]

CROSSING = "Whoever sees the reports sees when you cross a fence, but not where in it you are."

_CARVE_OPTIONS = (
    click.option("--compare", is_flag=True, help="Build it from scratch as well, and compare time and expected error."),
    click.option("--workers", type=click.IntRange(1), metavar="N", help="Threads [default: all cores]."),
    click.option("-o", "--output", required=True, metavar="OUT",
                 help="The .geoelastic file to write, or the folder if FILE is a map in tiles."),
)  # fmt: skip
_FENCES = click.option("--fence", "fences", multiple=True, required=True, metavar="GEOJSON",
                       help="Polygons or discs to cut in (repeatable).")  # fmt: skip
_NUMBERS = click.option("--number", "numbers", type=int, multiple=True, required=True,
                        help="A fence to take out, by its number in `fence list` (repeatable).")  # fmt: skip


def _carve_options(function: Any) -> Any:
    for option in reversed(_CARVE_OPTIONS):
        function = option(function)
    return function


@geo_command(name="list", short_help="The fences of a metric.")
@click.argument("file")
@click.option("-o", "--output", metavar="OUT", help="Write their outlines to this GeoJSON file.")
def list_(file: str, output: str | None) -> dict[str, Any]:
    """The fences of the metric FILE: number, locations, area; with -o, their outlines."""
    from ..fences import fence_outlines, fences_to_geojson
    from ..opening import load
    from ..store import write_bytes

    metric = load(file)
    cell_km2 = (metric.grid.cell_m / 1000) ** 2
    members = {k: metric.fence_members(k) for k in range(1, metric.totals["fences"] + 1)}
    fences = [
        {
            "number": k,
            "locations": some.size,
            "area_km2": round(cell_km2 * int((metric.leaves(some)[2].astype(int) ** 2).sum()), 4),
        }
        for k, some in members.items()
    ]
    if output:
        document = fences_to_geojson(fence_outlines(metric), fences)
        write_bytes(output, (json.dumps(document) + "\n").encode())
    lines = [f"fence {f['number']}: {f['area_km2']:g} km², {f['locations']} locations" for f in fences]
    return {"file": file, "fences": fences, "text": "\n".join(lines) or "no fences"}


@geo_command(name="carve", short_help="Cut fences into a built metric.")
@click.argument("file")
@_FENCES
@_carve_options
def carve(file: str, fences: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """Cut fences into the metric FILE, repair what that takes away from the outside, check it and write OUT.

    Only what can be affected is touched. The answer says how far the repair reached and what it cost in expected error
    around the fence.
    """
    return _refenced(file, fences, (), **options)


@geo_command(name="remove", short_help="Take fences out of a metric.")
@click.argument("file")
@_NUMBERS
@_carve_options
def remove(file: str, numbers: tuple[int, ...], **options: Any) -> dict[str, Any]:
    """Take fences out of the metric FILE, check it and write OUT."""
    return _refenced(file, (), numbers, **options)


@geo_command(name="move", short_help="Put fences of a metric elsewhere.")
@click.argument("file")
@_NUMBERS
@_FENCES
@_carve_options
def move(file: str, numbers: tuple[int, ...], fences: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """Take fences out of the metric FILE and cut others in, check it and write OUT.

    For a place that has moved. A fence that is moved while the place stays narrows it down to where the two overlap.
    """
    return _refenced(file, fences, numbers, **options)


def _refenced(
    file: str, fences: tuple[str, ...], numbers: tuple[int, ...], *, compare: bool, workers: int | None, output: str
) -> dict[str, Any]:
    from ..evaluation.carving import carving_cost, rebuilt
    from ..fences import read_fences
    from ..opening import load
    from ..store import require_writable

    before = load(file)
    if "://" not in output:
        require_writable(output, folder=not before.at_hand)
    metric = before.with_fences(read_fences(fences), remove=numbers, workers=workers, progress=show_progress())
    metric.save(output)
    scratch, seconds = rebuilt(metric, workers=workers, progress=show_progress()) if compare else (None, None)
    facts = (
        dict(metric.certificate["carve"]) | {"scratch_seconds": seconds} | carving_cost(before, metric, scratch=scratch)
    )
    numbers_of = [m.totals["fences"] for m in (before, metric)]
    lines = [f"{numbers_of[1]} fences (before: {numbers_of[0]}): {output}", *_carve_lines(facts), CROSSING]
    lines.insert(1, f"verified: {'holds' if metric.certificate['ok'] else 'DOES NOT HOLD'}")
    return {
        "ok": metric.certificate["ok"],
        "output": output,
        "fences": numbers_of[1],
        "carve": facts,
        "certificate": metric.certificate,
        "text": "\n".join(lines),
    }


def _carve_lines(facts: dict[str, Any]) -> list[str]:
    lines = [
        f"{facts['checked_again']:,} locations checked again, {facts['locations_changed']:,} changed, up to "
        f"{facts['reach_km']:g} km from the fence, in {facts['seconds']:g} s"
    ]
    if facts["places"]:
        lines.append(
            f"expected error at {facts['places']} places around: {facts['error_after_m']:,.0f} m, before "
            f"{facts['error_before_m']:,.0f} m ({facts['error_change']:+.1%})"
        )
    if "error_scratch_m" in facts:
        lines.append(
            f"built from scratch: {facts['error_scratch_m']:,.0f} m in {facts['scratch_seconds']:.1f} s; carved "
            f"{facts['error_against_scratch']:+.1%}"
        )
    return lines
