# SPDX-License-Identifier: Apache-2.0
"""Estimates asked for by name: from files to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..mechanism.elastic import ElasticMechanism
from ..mechanism.geox_mechanism import load_mechanism
from ..metric.geox_file import is_portable
from ..opening import load
from .estimate import Estimate, Survey, estimate, prepare
from .output import estimate_rows, require_output, save_estimate, short_name
from .plan import Plan, plan
from .reports import read_reports
from .zones import Zones


def _survey(file: str, zones: str, measure: str, **options: Any) -> Survey:
    mechanism = load_mechanism(file) if is_portable(file) else ElasticMechanism(load(file), output=measure)
    return prepare(mechanism, zones, **options)


def estimate_files(
    file: str, reports: str, zones: str, output: str, *, measure: str = "mass", user: str | None = None,
    lat_column: str | None = None, lon_column: str | None = None, elsewhere: bool = True, picture: str | None = None,
    truth: str | None = None,
    cache: str | None = None, progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """The shares of zones in the reports of a file, written to `output`, and a summary in words."""
    for path in (output, picture):
        if path is not None:
            require_output(path)
    survey = _survey(file, zones, measure, elsewhere=elsewhere, cache=cache, progress=progress)
    found = estimate(survey, reports, user=user, lat=lat_column, lon=lon_column)
    known = None if truth is None else _shares(survey.zones, truth)
    for path in (output, picture):
        if path is not None:
            save_estimate(found, path, truth=known)
    return _summary(found, output) | {"zones": estimate_rows(found)}


def _shares(zones: Zones, truth: str) -> FloatArray:
    """The shares of true places, for those who know them and want to compare."""
    places = read_reports(truth)
    zone = zones.locate(places.lat, places.lon)
    return np.bincount(zone[zone >= 0], minlength=zones.n) / zone.size


def _summary(found: Estimate, output: str) -> dict[str, Any]:
    low, high = found.groups.interval()
    order = np.argsort(-found.groups.shares)[:5]
    names = found.merged
    told = f"{found.groups.n} groups apart" if found.groups.n > 1 else "no two apart (more reports or larger zones may)"
    lines = [
        f"{found.n:,.0f} people, {found.zones.n} zones, of which these reports tell {told}; "
        f"the public guess counts as {found.fit.strength:g} people: the most that suits reports that were left out",
        *(
            f"  {found.groups.shares[g]:7.2%}  [{max(low[g], 0):.2%}, {high[g]:.2%}]  {short_name(names[g]['zones'])}"
            for g in order
        ),
        f"written: {Path(output).name}",
    ]
    return {
        "people": found.n, "groups": found.groups.n, "steps": found.fit.steps, "strength": found.fit.strength,
        "guess": found.fit.guess, "elsewhere": found.elsewhere,
        "output": output, "text": "\n".join(lines),
    }  # fmt: skip


def plan_file(
    file: str, zones: str, people: float, *, measure: str = "mass", precision: float = 0.25, cache: str | None = None,
    progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """What the reports of so many people will tell, before anything is collected."""
    survey = _survey(file, zones, measure, cache=cache, progress=progress)
    found: Plan = plan(survey, people, precision=precision)
    needed = np.sort(found.needed)
    half = float(needed[needed.size // 2])
    groups = int(found.groups.max()) + 1
    text = (
        f"{people:,.0f} people, one report each: {groups} groups of {survey.zones.n} zones are told apart to "
        f"{precision:.0%} of their share (standard error)\n"
        f"half of the zones would need {half:,.0f} people or fewer to be told by themselves\n"
        f"an unbiased estimate of all zones is off by {found.distance:.3f} in total variation, at the least"
    )
    return {
        "people": people, "zones": survey.zones.n, "groups": groups, "group_of_zone": found.groups,
        "relative_error": found.relative_error, "people_needed": found.needed, "least_distance": found.distance,
        "text": text,
    }  # fmt: skip
