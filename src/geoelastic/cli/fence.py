# SPDX-License-Identifier: Apache-2.0
"""`geoelastic fence`: suggest, attack, list, carve, remove, move"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import FileError, InputError
from ._common import geo_command
from ._fence_metric import CROSSING, carve, list_, move, remove

if TYPE_CHECKING:
    from ..fences.suggest import CrowdOf
    from ..sources.traces import Trace

_KEEP = "Keep this file: a fence drawn anew for the same place narrows it down to where the two overlap."
_LABELS = ("home", "work", "place")

_CROWD_OPTIONS = (
    click.option("--map", "map_file", metavar="FILE",
                 help="Where the crowd is counted: a .geoelastic metric or an OpenStreetMap file [default: by area]."),
    click.option("--home", type=float, metavar="N",
                 help="What a home hides among [default: 300 buildings of OpenStreetMap, 4 units of mass or 1 km²]."),
    click.option("--work", type=float, metavar="N", help="The same for a workplace [default: 60 POIs, 4 or 1]."),
    click.option("--margin", "margin_m", type=float, default=300, show_default=True, metavar="M",
                 help="Strip around that, in which no track is seen either."),
    click.option("--timezone", metavar="ZONE", help="Such as Europe/Paris, for night and day [default: by the sun]."),
    click.option("--user", help="Whose traces, if there are several people."),
    click.option("--min-days", type=int, default=3, show_default=True, help="Days that make a place recurrent."),
)  # fmt: skip


def _crowd_options(function: Any) -> Any:
    for option in reversed(_CROWD_OPTIONS):
        function = option(function)
    return function


@click.group(short_help="Hide home and work completely: suggest, attack and carve fences.")
def command() -> None:
    """Fences: regions inside which all places are the same place, for any number of reports."""


@geo_command(name="suggest", short_help="Draw fences for the recurrent places of traces.")
@click.argument("traces", nargs=-1, required=True)
@_crowd_options
@click.option("--only", multiple=True, type=click.Choice(_LABELS), help="Kinds of places [default: all].")
@click.option(
    "--keep", metavar="GEOJSON", help="Fences already in use: they stay as they are, only new places get one."
)
@click.option("-o", "--output", required=True, metavar="OUT", help="The GeoJSON file to write.")
def suggest(
    traces: tuple[str, ...],
    output: str,
    only: tuple[str, ...],
    keep: str | None,
    user: str | None,
    timezone: str | None,
    min_days: int,
    **crowd: Any,
) -> dict[str, Any]:
    """Find the recurrent places in TRACES (GPX, GeoLife .plt, CSV, Google Takeout, OwnTracks; files or folders) and
    draw a fence for each.

    Everything stays on this machine, and OUT holds the fences and nothing else of the traces. A fence is irregular, its
    place may be anywhere in its core, and it is drawn with the operating system's randomness: the fence does not tell
    where in its core the place is.
    """
    from ..fences import fences_to_geojson, read_named_fences
    from ..fences.places import find_places
    from ..fences.suggest import numbered, suggest_fences
    from ..store import require_writable, write_bytes

    target = require_writable(output)
    if target.exists() and keep is None:
        raise FileError(
            f"{target.name} exists, and a fence drawn anew narrows its place down: give --keep {target.name} to keep "
            "its fences, or remove it"
        )
    trace = _one_trace(traces, user)
    places = find_places(trace, timezone=timezone, min_days=min_days)
    chosen = [place for place in places if not only or place.label in only]
    kept = read_named_fences(keep) if keep else []
    fences, notes = suggest_fences(
        chosen, _crowd_of(**crowd), keep=[(shape, note.get("kind") or note.get("name")) for shape, note in kept]
    )
    if not fences and not kept:
        found = "; ".join(notes) or f"the traces show none of {', '.join(only)}"
        raise InputError(f"no fence could be drawn: {found}")
    properties = numbered([fence.properties() for fence in fences], (note.get("name") for _, note in kept))
    named = [*kept, *((fence.shape, note) for fence, note in zip(fences, properties, strict=True))]
    document = fences_to_geojson((shape for shape, _ in named), (note for _, note in named))
    write_bytes(target, (json.dumps(document) + "\n").encode())
    lines = [f"{p['name']:>6}  {p['area_km2']:g} km², core of {p['holds']:g} {p['unit']}" for p in properties]
    lines += [*notes, f"{len(fences)} new fences, {len(kept)} kept: {output}", CROSSING, _KEEP]
    result = {"output": output, "fences": properties, "kept": len(kept), "notes": notes, "dropped": trace.dropped}
    return result | {"text": "\n".join(lines)}


@geo_command(name="attack", short_help="Try to find the place in a fence from where tracks enter and leave it.")
@click.argument("traces", nargs=-1)
@_crowd_options
@click.option(
    "--fence", "fences", multiple=True, metavar="GEOJSON", help="Attack these instead of drawing (repeatable)."
)
@click.option("--commuters", type=int, default=30, show_default=True, help="Made-up people, if there are no TRACES.")
@click.option("--draws", type=int, default=1, show_default=True, help="Fences drawn for each place.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the made-up people and of all fences.")
def attack(
    traces: tuple[str, ...],
    fences: tuple[str, ...],
    commuters: int,
    draws: int,
    seed: int,
    user: str | None,
    timezone: str | None,
    min_days: int,
    **crowd: Any,
) -> dict[str, Any]:
    """The endpoint attack (Hassan et al. 2018), on fences as `suggest` draws them (or on those given by --fence) and on
    circles of the same area with the place in the middle.

    The adversary sees the exact tracks outside the fence, and the fence. With TRACES the places are the homes and
    workplaces found in them; without, those of made-up commuters. Exit 1 if the fences are not at least three
    times harder.
    """
    from ..evaluation.fence_attack_study import (
        compare_with_circle,
        drawn_fences,
        given_fences,
        known_cases,
        trace_cases,
    )
    from ..fences import read_fences
    from ..randomness import SeededRandom
    from ..sources.traces import read_traces

    if traces:
        cases = trace_cases(read_traces(*traces, user=user), timezone=timezone, min_days=min_days)
    else:
        cases = known_cases(commuters, seed=seed)
    fence_of = given_fences(read_fences(fences)) if fences else drawn_fences(_crowd_of(**crowd), rng=SeededRandom(seed))
    result = compare_with_circle(cases, fence_of, draws=draws)
    return result | {"seed": seed, "text": _attack_table(result)}


def _attack_table(result: dict[str, Any]) -> str:
    def figures(row: dict[str, float]) -> str:
        return f"{row['median_m']:6.0f} m {row['within_100_m']:6.0%}"

    circle, ours = result["estimators"]["circle"], result["estimators"]["ours"]
    lines = [
        f"{result['attacks']} attacks, fences of {result['median_area_km2']:.2f} km²; median error, share within 100 m",
        f"{'the adversary guesses':<30} {'centred circle':>16} {'the fence':>16}",
        *(f"{name:<30} {figures(circle[name]):>16} {figures(ours[name]):>16}" for name in ours),
        f"{'the best of these':<30} {figures(result['best']['circle']):>16} {figures(result['best']['ours']):>16}",
        f"the fences are {result['times_harder']:.0f} times harder",
    ]
    return "\n".join(lines)


def _one_trace(traces: tuple[str, ...], user: str | None) -> Trace:
    from ..sources.traces import read_traces

    found = read_traces(*traces, user=user)
    if len(found) > 1:
        names = ", ".join(trace.user for trace in found[:8])
        raise InputError(f"the traces are of {len(found)} people: choose one with --user ({names})")
    return found[0]


def _crowd_of(map_file: str | None, home: float | None, work: float | None, margin_m: float) -> CrowdOf:
    """What the fence of a place must hold; a place that is neither home nor work is treated as a home."""
    from ..fences.crowds import area_crowd, metric_crowd, osm_crowd
    from ..opening import load

    def amount(label: str, for_home: float, for_work: float) -> float:
        given, default = (work, for_work) if label == "work" else (home, for_home)
        return default if given is None else given

    if map_file is None:
        return lambda p: area_crowd(p.lat, p.lon, area_km2=amount(p.label, 1, 1), margin_m=margin_m)
    if Path(map_file).suffix == ".geoelastic":
        metric = load(map_file)
        return lambda p: metric_crowd(metric, amount(p.label, 4, 4), margin_m=margin_m)

    def counted(place: Any) -> Any:
        what = "POIs" if place.label == "work" else "buildings"
        needed = amount(place.label, 300, 60)
        return osm_crowd(map_file, what, place.lat, place.lon, amount=needed, margin_m=margin_m)

    return counted


for _subcommand in (suggest, attack, list_, carve, remove, move):
    command.add_command(_subcommand)
