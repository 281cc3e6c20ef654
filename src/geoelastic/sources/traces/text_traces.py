# SPDX-License-Identifier: Apache-2.0
"""Traces as lines of text: CSV of any dialect with a header (also scikit-mobility's), and GeoLife's .plt."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from ...errors import InputError
from .record import Fix, parse_time

__all__ = ["TIME_NAMES", "USER_NAMES", "read_csv", "read_plt"]

_LAT = ("lat", "latitude", "y")
_LON = ("lon", "lng", "long", "longitude", "x")
TIME_NAMES = ("time", "timestamp", "datetime", "date_time", "tst", "date", "t")
USER_NAMES = ("user", "uid", "user_id", "userid")
#: GeoLife's user guide: six lines that are of no use, then one fix a line, times in GMT.
_PLT_HEADER_LINES = 6


def read_csv(stream: TextIO, name: str) -> Iterator[Fix | None]:
    """Fixes of a table with the columns lat, lon, time and, for several people, user; None for a bad row."""
    header_line = stream.readline().lstrip("\ufeff")
    delimiter = max(",;\t|", key=header_line.count)
    header = [column.strip().strip('"').lower() for column in next(csv.reader([header_line], delimiter=delimiter), [])]
    if not any(header):
        raise InputError(f"{name} is empty: a trace must have a header and rows of lat, lon and time")
    lat, lon, time = (_column(header, names) for names in (_LAT, _LON, TIME_NAMES))
    if lat is None or lon is None or time is None:
        raise InputError(
            f"{name} must have the columns lat, lon and time (or latitude, longitude/lng, datetime/timestamp), "
            f"got {', '.join(header[:8])}"
        )
    user = _column(header, USER_NAMES)
    for row in csv.reader(stream, delimiter=delimiter):
        if not row:
            continue
        try:
            who = row[user].strip() if user is not None else ""
            yield Fix(who, float(row[lat]), float(row[lon]), parse_time(row[time]))
        except (ValueError, IndexError):
            yield None


def _column(header: Sequence[str], names: Sequence[str]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def read_plt(stream: TextIO, path: Path) -> Iterator[Fix | None]:
    """Fixes of one GeoLife trajectory: lat, lon, 0, altitude, days, date, time. The user is the folder's name."""
    user = path.parent.parent.name if path.parent.name == "Trajectory" else ""
    lines = stream.read().splitlines()
    if len(lines) < _PLT_HEADER_LINES or not lines[0].startswith("Geolife"):
        raise InputError(
            f"{path.name} must be a GeoLife .plt file: six header lines that begin with 'Geolife trajectory'"
        )
    for line in lines[_PLT_HEADER_LINES:]:
        parts = line.split(",")
        try:
            yield Fix(user, float(parts[0]), float(parts[1]), parse_time(f"{parts[5]} {parts[6]}"))
        except (ValueError, IndexError):
            yield None
