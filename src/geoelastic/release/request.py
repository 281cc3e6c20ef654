# SPDX-License-Identifier: Apache-2.0
"""Reports asked for by names: of files, of columns, of a mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..accounts.budget import Budget
from ..errors import InputError
from ..opening import load
from ..randomness import SeededRandom
from ..reports.tables import Visits, sanitize_arrays, sanitize_file
from ..store.atomic import require_writable
from .choose import charge_file, choose_mechanism, mechanism_name

__all__ = ["sanitize_request"]


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
    **choices: Any,
) -> dict[str, Any]:
    """Sanitize one place or a table of them, and say what was done. Nothing in the answer tells a true place."""
    if (lat is None) != (lon is None) or (lat is None) == (source is None) or (source is None) != (output is None):
        raise InputError("give either one place (lat and lon) or a table and the table to write")
    for path in (output, ledger):
        if path is not None:
            require_writable(path)
    limit = _budget(ledger, budget, budget_level, per_hours)
    metric = None if file is None else load(file)
    rng = None if seed is None else SeededRandom(seed)
    mechanism = choose_mechanism(kind, metric, user=user, **choices)
    if source is None:
        reports = sanitize_arrays(mechanism, np.array([lat]), np.array([lon]), outside=outside, rng=rng)
        if ledger is not None:
            visits: Visits = {"": 1 if reports.index is None else reports.index}
            charge_file(ledger, mechanism, visits, user=user, budget=limit)
        return _one(reports.lat, reports.lon, kind, seeded=seed is not None)
    done = sanitize_file(
        mechanism,
        source,
        str(output),
        lat=lat_column,
        lon=lon_column,
        outside=outside,
        keep=keep,
        users=user_column,
        rng=rng,
        before_release=None
        if ledger is None
        else lambda _, visits: charge_file(ledger, mechanism, visits, user=user, budget=limit),
        progress=progress,
    )
    return _many(done, mechanism, str(output))


def _budget(ledger: str | None, most: float | None, level: float, hours: int | None) -> Budget | None:
    if most is None:
        if hours is not None:
            raise InputError("a window of time (--per) belongs to a budget: give --budget too")
        return None
    if ledger is None:
        raise InputError("a budget needs the ledger that it is held against: give --ledger too")
    return Budget(most, level=level, hours=hours)


def _one(lat: Any, lon: Any, kind: str, *, seeded: bool) -> dict[str, Any]:
    if not np.size(lat):
        return {"reports": 0, "text": "the place cannot be a secret on this map and was dropped"}
    place = round(float(lat[0]), 7), round(float(lon[0]), 7)
    mark = " (seeded: for research only)" if seeded else ""
    return {
        "lat": place[0],
        "lon": place[1],
        "mechanism": kind,
        "seeded": seeded,
        "text": f"{place[0]}, {place[1]}{mark}",
    }


def _many(done: dict[str, Any], mechanism: Any, output: str) -> dict[str, Any]:
    lines = [f"{done['reports']:,} reports from {done['rows']:,} rows: {output}"]
    verb = "moved" if done["policy"] == "snap" else "dropped"
    lines += [f"{verb}: {done[k]:,} {what}" for k, what in _WHY.items() if done[k]]
    if done["withheld"]:
        lines.append(f"left out because they tell the place, or may (--keep NAME): {', '.join(done['withheld'])}")
    if done["seeded"]:
        lines.append("seeded: for research only, these reports protect nobody")
    return done | {"mechanism": mechanism_name(mechanism), "output": output, "text": "\n".join(lines)}


_WHY = {"missing": "without a place", "outside": "outside the map", "frame": "in the frame of the map"}
