# SPDX-License-Identifier: Apache-2.0
"""`track_in`: is a table somebody's track? Points that follow each other soon tell more than so many places."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..traces.record import parse_time
from .columns import KEEP_ALL, usual_column

__all__ = ["Track", "track_in"]

#: A track has so many points, half of which follow the one before within so many seconds. Half an hour: a phone that
#: notes its place every quarter of an hour has 30 points of a night at home, and nobody checks in as often as that.
_FEWEST, _GAP_S = 20, 1800.0
#: Rows that are looked at.
_ROWS = 5000


@dataclass(frozen=True)
class Track:
    """`gap_s`: the middle gap between points. `users`: the column that tells people apart, if there are several."""

    gap_s: float
    users: str | None

    @property
    def words(self) -> str:
        """How close points are in time."""
        gap = f"{self.gap_s:.0f} s" if self.gap_s < 120 else f"{self.gap_s / 60:.0f} minutes"
        return f"a track, with a point about every {gap}" if self.gap_s >= 1 else "a track, several points a second"


def track_in(path: str | Path, *, lat: str | None, lon: str | None, users: str | None) -> Track | None:
    """The track that the first rows of a file look like, or None."""
    from . import open_stream

    batch = next(iter(open_stream(path, lat=lat, lon=lon, keep=[KEEP_ALL]).batches()), None)
    if batch is None:
        return None
    rows = batch.rest.slice(0, _ROWS)
    times = _times(rows)
    if times is None:
        return None
    column = users if users in rows.column_names else usual_column(rows.column_names, "user") or _called_name(rows)
    whose = np.array([""] * rows.num_rows if column is None else [str(v) for v in rows.column(column).to_pylist()])
    gaps = [np.diff(np.sort(times[(whose == name) & np.isfinite(times)])) for name in np.unique(whose)[:200]]
    all_gaps = np.concatenate(gaps)
    if all_gaps.size + 1 < _FEWEST or not float(np.median(all_gaps)) <= _GAP_S:
        return None
    return Track(float(np.median(all_gaps)), column if np.unique(whose).size > 1 else None)


def _called_name(rows: Any) -> str | None:
    return next((name for name in rows.column_names if name.lower() == "name"), None)


def _times(rows: Any) -> Any:
    """Seconds since 1970 of every row (NaN where there is no time), from the column that is called a time or looks
    like one; None if there is none."""
    named = usual_column(rows.column_names, "time")
    for name in [named] if named is not None else rows.column_names:
        first = [_seconds(value, named is not None) for value in rows.column(name).slice(0, 20).to_pylist()]
        if first and not all(map(math.isnan, first)):
            return np.array([_seconds(value, named is not None) for value in rows.column(name).to_pylist()])
    return None


def _seconds(value: Any, named: bool) -> float:
    if hasattr(value, "timestamp"):
        return float(value.timestamp())
    text = str(value)
    if not named and "-" not in text[1:]:  # a bare number is a time only where the column says so
        return math.nan
    try:
        return parse_time(text)
    except (ValueError, OverflowError):
        return math.nan
