# SPDX-License-Identifier: Apache-2.0
"""Reports asked for by names: of files, of columns, of a mechanism."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..accounts.accounting import cost
from ..accounts.budget import Budget
from ..errors import InputError
from ..levels import LN2
from ..mechanism.elastic import ElasticMechanism
from ..mechanism.sticky import Sticky
from ..opening import load
from ..randomness import SeededRandom
from ..reports.protocols import Mechanism, ReportsPlaces
from ..reports.table_reports import Visits, sanitize_arrays, sanitize_file
from ..sources.traces.table_traces import Track, track_in
from ..store.atomic import require_writable
from .named_mechanism import charge_file, choose_mechanism, mechanism_name


def sanitize_request(
    *,
    file: str | None,
    kind: str,
    lat: float | None,
    lon: float | None,
    source: str | None,
    output: str | None,
    outside: str,
    ledger: str | None,
    user: str,
    budget: float | None,
    budget_level: float,
    per_hours: int | None,
    seed: int | None,
    progress: bool,
    lat_column: str | None,
    lon_column: str | None,
    user_column: str | None,
    keep: Sequence[str],
    fresh: bool = False,
    **choices: Any,
) -> dict[str, Any]:
    """Sanitize one place or a table of them, and say what was done. Nothing in the answer tells a true place."""
    if (lat is None) != (lon is None) or (lat is None) == (source is None) or (source is None) != (output is None):
        raise InputError(
            "give either one place (--lat and --lon) or a table (--input) and the table to write (--output)"
        )
    for path in (output, ledger):
        if path is not None:
            require_writable(path)
    limit = Budget.asked(budget, budget_level, per_hours, ledger)
    metric = None if file is None else load(file)
    rng = None if seed is None else SeededRandom(seed)
    mechanism = choose_mechanism(kind, metric, user=user, **choices)
    if source is None:
        reports = sanitize_arrays(mechanism, np.array([lat]), np.array([lon]), outside=outside, rng=rng)
        if ledger is not None:
            visits: Visits = {"": 1 if reports.index is None else reports.index}
            charge_file(ledger, mechanism, visits, user=user, budget=limit)
        return _one(reports.lat, reports.lon, kind, seeded=seed is not None)
    track = track_in(source, lat=lat_column, lon=lon_column, users=user_column)
    told = isinstance(mechanism, ElasticMechanism) and track is not None
    one_user = track is not None and (track.users is None or user_column is not None)
    if isinstance(mechanism, ElasticMechanism) and one_user and not fresh and rng is None:
        mechanism = Sticky(mechanism, secrets.token_bytes(32), user)
    most: list[int] = []

    def before_release(_: Any, visits: Visits) -> None:
        most.append(max((_different(mechanism, where) for where in visits.values()), default=0))
        if ledger is not None:
            charge_file(ledger, mechanism, visits, user=user, budget=limit)

    done = sanitize_file(
        mechanism, source, str(output), lat=lat_column, lon=lon_column, outside=outside, keep=keep, users=user_column,
        rng=rng, before_release=before_release, progress=progress,
    )  # fmt: skip
    if track is not None:
        done |= {"track": _track_words(track, mechanism, most[0], told=told)}
    return _many(done, mechanism, str(output))


def _different(mechanism: Mechanism, where: Any) -> int:
    """Reports that somebody's rows cost: sticky ones cost once a place."""
    if isinstance(where, int):
        return where
    return int(np.unique(where).size if isinstance(mechanism, Sticky) else where.size)


def _track_words(track: Track, mechanism: Mechanism, most: int, *, told: bool) -> str:
    """What it costs to report a track point by point, and what would be better."""
    exponent = 1.0 if isinstance(mechanism, ReportsPlaces) else float(mechanism.exponent)  # see `choose.charge`
    spent = cost(most, LN2, exponent=exponent).best
    lines = [
        f"this is {track.words}: point by point it costs as much as {most:,} reports, {spent:.3g} (places ln 2 apart)"
    ]
    if isinstance(mechanism, Sticky):
        lines.append("the same place has the same report here (--fresh: a new one every time)")
    elif told and track.users is not None:
        lines.append(
            f"every point has a fresh report; with --user-column {track.users} the same place has the same one"
        )
    lines.append("running means of such reports follow the track: 'geoelastic trace release' hides all of it at once")
    return "\n".join(lines)


def _one(lat: Any, lon: Any, kind: str, *, seeded: bool) -> dict[str, Any]:
    if not np.size(lat):
        return {"reports": 0, "text": "the place cannot be a secret on this map and was dropped"}
    place = round(float(lat[0]), 7), round(float(lon[0]), 7)
    mark = " (seeded: for research only)" if seeded else ""
    told = {"lat": place[0], "lon": place[1], "mechanism": kind, "seeded": seeded}
    return told | {"text": f"{place[0]}, {place[1]}{mark}"}


def _many(done: dict[str, Any], mechanism: Mechanism, output: str) -> dict[str, Any]:
    lines = [f"{done['reports']:,} reports from {done['rows']:,} rows: {output}"]
    verb = "moved" if done["policy"] == "snap" else "dropped"
    lines += [f"{verb}: {done[k]:,} {what}" for k, what in _WHY.items() if done[k]]
    if done["withheld"]:
        lines.append(f"left out because they tell the place, or may (--keep NAME): {', '.join(done['withheld'])}")
    if "track" in done:
        lines.append(done["track"])
    if done["seeded"]:
        lines.append("seeded: for research only, these reports protect nobody")
    return done | {"mechanism": mechanism_name(mechanism), "output": output, "text": "\n".join(lines)}


_WHY = {"missing": "without a place", "outside": "outside the map", "frame": "in the frame of the map"}
