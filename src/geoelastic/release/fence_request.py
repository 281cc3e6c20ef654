# SPDX-License-Identifier: Apache-2.0
"""Fences asked for by names: drawn for the recurrent places of traces, and listed from a map."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import FileError, InputError
from ..fences import fence_outlines, fences_to_geojson, read_named_fences
from ..fences.crowds import area_crowd, metric_crowd, osm_crowd
from ..fences.places import find_places
from ..fences.suggest import CrowdOf, numbered, suggest_fences
from ..opening import load
from ..sources.traces import read_traces
from ..store import require_writable, write_bytes

CROSSING = "Whoever sees the reports sees when you cross a fence, but not where in it you are."
_KEEP = "Keep this file: a fence drawn anew for the same place narrows it down to where the two overlap."


def suggest_request(
    traces: Sequence[str], output: str, *, only: Sequence[str], keep: str | None, user: str | None,
    lat_column: str | None, lon_column: str | None, timezone: str | None, min_days: int, **crowd: Any,
) -> dict[str, Any]:  # fmt: skip
    """Draw a fence for each recurrent place of one person's traces and write them, with those to keep, as GeoJSON."""
    target = require_writable(output)
    if target.exists() and keep is None:
        raise FileError(
            f"{target.name} exists, and a fence drawn anew narrows its place down: give --keep {target.name} to keep "
            "its fences, or remove it"
        )
    trace, *others = found = read_traces(*traces, user=user, lat=lat_column, lon=lon_column)
    if others:
        names = ", ".join(one.user for one in found[:8])
        raise InputError(f"the traces are of {len(found)} people: choose one with --user ({names})")
    places = find_places(trace, timezone=timezone, min_days=min_days)
    chosen = [place for place in places if not only or place.label in only]
    kept = read_named_fences(keep) if keep else []
    fences, notes = suggest_fences(
        chosen, crowd_for(**crowd), keep=[(shape, note.get("kind") or note.get("name")) for shape, note in kept]
    )
    if not fences and not kept:
        why = "; ".join(notes) or f"the traces show none of {', '.join(only)}"
        raise InputError(f"no fence could be drawn: {why}")
    properties = numbered([fence.properties() for fence in fences], (note.get("name") for _, note in kept))
    named = [*kept, *((fence.shape, note) for fence, note in zip(fences, properties, strict=True))]
    _write(target, fences_to_geojson((shape for shape, _ in named), (note for _, note in named)))
    lines = [f"{p['name']:>6}  {p['area_km2']:g} km², core of {p['holds']:g} {p['unit']}" for p in properties]
    lines += [*notes, f"{len(fences)} new fences, {len(kept)} kept: {output}", CROSSING, _KEEP]
    result = {"output": output, "fences": properties, "kept": len(kept), "notes": notes, "dropped": trace.dropped}
    return result | {"text": "\n".join(lines)}


def list_request(file: str, output: str | None) -> dict[str, Any]:
    """The fences of a map, and their outlines in a file if one is named."""
    metric = load(file)
    cell_km2 = (metric.grid.cell_m / 1000) ** 2
    fences = []
    for number in range(1, metric.totals["fences"] + 1):
        members = metric.fence_members(number)
        cells = int((metric.leaves(members)[2].astype(int) ** 2).sum())
        fences.append({"number": number, "locations": members.size, "area_km2": round(cell_km2 * cells, 4)})
    if output:
        _write(Path(output), fences_to_geojson(fence_outlines(metric), fences))
    lines = [f"fence {f['number']}: {f['area_km2']:g} km², {f['locations']} locations" for f in fences]
    return {"file": file, "fences": fences, "text": "\n".join(lines) or "no fences"}


def crowd_for(map_file: str | None, home: float | None, work: float | None, margin_m: float) -> CrowdOf:
    """What the fence of a place must hold; a place that is neither home nor work is treated as a home."""

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


def _write(target: Path, document: dict[str, Any]) -> None:
    write_bytes(target, (json.dumps(document) + "\n").encode())
