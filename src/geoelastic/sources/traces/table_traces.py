# SPDX-License-Identifier: Apache-2.0
"""Traces in tables of places, of every kind that `streams` reads, with a time and perhaps a user in every row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ..streams import KEEP_ALL, find_place_columns, open_stream, usual_column
from .record import Fix, parse_time

__all__ = ["frame_fixes", "read_table_traces"]


def read_table_traces(path: Path, *, lat: str | None = None, lon: str | None = None) -> Iterator[Fix | None]:
    """Fixes of a table; None for a row that cannot be read, or without a place or a time. Of GPX, its tracks."""
    reader = open_stream(path, lat=lat, lon=lon, keep=(KEEP_ALL,), strict=False)
    for batch in reader.batches():
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
