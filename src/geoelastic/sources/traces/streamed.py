# SPDX-License-Identifier: Apache-2.0
"""Traces in tables of points: Parquet, GeoParquet and GeoJSON, with a time and perhaps a user in every row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

from ...errors import InputError
from ..streams import open_stream
from .record import Fix, parse_time
from .text_traces import TIME_NAMES, USER_NAMES

__all__ = ["STREAM_SUFFIXES", "frame_fixes", "read_streamed"]

STREAM_SUFFIXES = (".parquet", ".geoparquet", ".geojson", ".geojsonl", ".ndjson")
#: MovingPandas calls a trajectory's name traj_id.
_USERS = (*USER_NAMES, "traj_id", "trajectory_id")


def read_streamed(path: Path) -> Iterator[Fix | None]:
    """Fixes of a table; None for a row without a place or a time."""
    for batch in open_stream(path, keep=("*",)).batches():
        columns = {name.lower(): batch.rest.column(name).to_pylist() for name in batch.rest.schema.names}
        if "properties" in columns and set(columns) <= {"id", "properties"}:
            rows = [json.loads(text or "{}") for text in columns["properties"]]
            names = {str(key).lower() for row in rows for key in row}
            columns = {name: [_lower(row).get(name) for row in rows] for name in names}
        yield from _fixes(batch.lat.tolist(), batch.lon.tolist(), columns, path.name)


def frame_fixes(frame: Any) -> Iterator[Fix | None]:
    """Fixes of a pandas or GeoPandas table; the time is a column or the index (as MovingPandas has it)."""
    table = frame.reset_index() if type(frame.index).__name__ == "DatetimeIndex" else frame
    columns = {str(name).lower(): list(table[name]) for name in table.columns}
    if hasattr(frame, "geometry") and hasattr(frame, "crs"):
        points = frame.geometry if frame.crs is None else frame.geometry.to_crs(4326)
        lat, lon = points.y.tolist(), points.x.tolist()
    else:
        lat, lon = (_one(columns, names, "the table") for names in (("lat", "latitude"), ("lon", "lng", "longitude")))
    if "index" in columns and not any(name in columns for name in TIME_NAMES):
        columns["time"] = columns["index"]
    yield from _fixes(lat, lon, columns, "the table")


def _fixes(lat: Sequence[Any], lon: Sequence[Any], columns: dict[str, list[Any]], where: str) -> Iterator[Fix | None]:
    times = _one(columns, TIME_NAMES, where)
    users = next((columns[name] for name in _USERS if name in columns), [""] * len(times))
    for a, o, when, who in zip(lat, lon, times, users, strict=True):
        try:
            yield Fix("" if who is None else str(who), float(a), float(o), _seconds(when))
        except (TypeError, ValueError, AttributeError):
            yield None


def _one(columns: dict[str, list[Any]], names: Sequence[str], where: str) -> list[Any]:
    found = next((columns[name] for name in names if name in columns), None)
    if found is None:
        raise InputError(f"{where} must have a column {names[0]!r} (or {', '.join(names[1:])})")
    return found


def _seconds(value: Any) -> float:
    if hasattr(value, "timestamp"):
        return float((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
    return parse_time(str(value))


def _lower(row: dict[str, Any]) -> dict[str, Any]:
    return {str(key).lower(): value for key, value in row.items()}
