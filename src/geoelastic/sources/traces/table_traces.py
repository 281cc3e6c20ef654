# SPDX-License-Identifier: Apache-2.0
"""Traces in tables of places, of every kind that `streams` reads, with a time and perhaps a user in every row; and
`track_in`: is a table somebody's track? Points that follow each other soon tell more than so many places."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ..streams import KEEP_ALL, find_place_columns, open_stream, usual_column
from .record import Fix, parse_time

#: A track has so many points, half of which follow the one before within so many seconds. Half an hour: a phone that
#: notes its place every quarter of an hour has 30 points of a night at home, and nobody checks in as often as that.
_FEWEST, _GAP_S = 20, 1800.0
#: Rows that are looked at.
_ROWS = 5000


def read_table_traces(path: Path, *, lat: str | None = None, lon: str | None = None) -> Iterator[Fix | None]:
    """Fixes of a table; None for a row that cannot be read, or without a place or a time. Of GPX, its tracks."""
    reader = open_stream(path, lat=lat, lon=lon, keep=(KEEP_ALL,), strict=False)
    with closing(reader.batches()) as batches:
        for batch in batches:
            if "kind" in batch.rest.column_names and ".gpx" in path.name.lower():
                track = np.array(batch.rest.column("kind").to_pylist()) == "track"
                batch = batch.take(track, batch.lat[track], batch.lon[track])
            rest = batch.unpacked().rest
            columns = {name: rest.column(name).to_pylist() for name in rest.column_names}
            yield from _fixes(batch.lat.tolist(), batch.lon.tolist(), columns, path.name)
    yield from [None] * reader.skipped


def frame_fixes(frame: Any) -> Iterator[Fix | None]:
    """Fixes of a pandas or GeoPandas table; the time is a column or the index (as MovingPandas has it)."""
    table = frame.reset_index() if type(frame.index).__name__ == "DatetimeIndex" else frame
    columns = {str(name): list(table[name]) for name in table.columns}
    if hasattr(frame, "geometry") and hasattr(frame, "crs"):
        points = frame.geometry if frame.crs is None else frame.geometry.to_crs(4326)
        lat, lon = points.y.tolist(), points.x.tolist()
    else:
        lat, lon = (columns.pop(name) for name in find_place_columns(list(columns), None, None, where="the table"))
    if "index" in columns and usual_column(columns, "time") is None:
        columns["time"] = columns["index"]
    yield from _fixes(lat, lon, columns, "the table")


def _fixes(lat: Sequence[Any], lon: Sequence[Any], columns: dict[str, list[Any]], where: str) -> Iterator[Fix | None]:
    time, user = (usual_column(columns, role) for role in ("time", "user"))
    time = time or _like_a_time(columns)
    if time is None:
        raise InputError(f"{where} must have a column of times, called 'time', 'timestamp' or 'datetime'")
    users = [""] * len(lat) if user is None else columns[user]
    for a, o, when, who in zip(lat, lon, columns[time], users, strict=True):
        if a != a or o != o:  # no place, or one that is not a number
            yield None
            continue
        try:
            yield Fix("" if who is None else str(who).strip(), float(a), float(o), _seconds(when))
        except (TypeError, ValueError, AttributeError, OverflowError):
            yield None


def _like_a_time(columns: dict[str, list[Any]]) -> str | None:
    """The first column that holds dates, of a table without a header."""
    for name, values in columns.items():
        if name.startswith("column_") and values and "-" in str(values[0])[1:]:
            try:
                parse_time(str(values[0]))
            except (ValueError, OverflowError):
                continue
            return name
    return None


def _seconds(value: Any) -> float:
    if hasattr(value, "timestamp"):
        return float((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
    return parse_time(str(value))


def _seconds_or_nan(value: Any, named: bool) -> float:
    """The same, NaN for what is no time; a bare number is one only where the column says so."""
    if not named and not hasattr(value, "timestamp") and "-" not in str(value)[1:]:
        return math.nan
    try:
        return _seconds(value)
    except (ValueError, OverflowError):
        return math.nan


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
    with closing(open_stream(path, lat=lat, lon=lon, keep=[KEEP_ALL]).batches()) as batches:
        batch = next(batches, None)
    if batch is None:
        return None
    rows = batch.rest.slice(0, _ROWS)
    times = _times(rows)
    if times is None:
        return None
    named = next((name for name in rows.column_names if name.lower() == "name"), None)
    column = users if users in rows.column_names else usual_column(rows.column_names, "user") or named
    whose = np.array([""] * rows.num_rows if column is None else [str(v) for v in rows.column(column).to_pylist()])
    gaps = [np.diff(np.sort(times[(whose == name) & np.isfinite(times)])) for name in np.unique(whose)[:200]]
    all_gaps = np.concatenate(gaps)
    if all_gaps.size + 1 < _FEWEST or not float(np.median(all_gaps)) <= _GAP_S:
        return None
    return Track(float(np.median(all_gaps)), column if np.unique(whose).size > 1 else None)


def _times(rows: Any) -> Any:
    """Seconds since 1970 of every row (NaN where there is no time), from the column that is called a time or looks
    like one; None if there is none."""
    named = usual_column(rows.column_names, "time")
    for name in [named] if named is not None else rows.column_names:
        first = [_seconds_or_nan(value, named is not None) for value in rows.column(name).slice(0, 20).to_pylist()]
        if first and not all(map(math.isnan, first)):
            return np.array([_seconds_or_nan(value, named is not None) for value in rows.column(name).to_pylist()])
    return None
