# SPDX-License-Identifier: Apache-2.0
"""Traces as documents: Google Takeout (Records.json and the phone's Timeline.json), OwnTracks JSON and .rec, GeoLife's
.plt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from ...errors import InputError
from .record import Fix, parse_time

#: Fixes from cell towers alone can be kilometres off and would move the places found.
_MAX_ACCURACY_M = 500.0
#: GeoLife's user guide: six lines that are of no use, then one fix a line, times in GMT.
_PLT_HEADER_LINES = 6


def read_json(stream: TextIO, name: str) -> Iterator[Fix | None]:
    """Fixes of a Google Takeout or OwnTracks file, told apart by what is in it."""
    text = stream.read()
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if not lines or _parse(lines[0]) is None:
            raise InputError(f"{name} must be JSON, but is not (it may be cut off)") from error
        yield from (_guarded(_owntracks, _parse(line)) for line in lines)
        return
    if isinstance(document, dict) and isinstance(document.get("locations"), list):
        yield from (_guarded(_takeout, record) for record in document["locations"])
    elif isinstance(document, dict) and isinstance(document.get("semanticSegments"), list):
        for segment in document["semanticSegments"]:
            path = segment.get("timelinePath", []) if isinstance(segment, dict) else []
            yield from (_guarded(_timeline_point, point) for point in path)
    else:
        records = document.get("data", [document]) if isinstance(document, dict) else document
        if not isinstance(records, list) or not any(isinstance(r, dict) and "tst" in r for r in records):
            raise InputError(
                f"{name} must be Google Takeout (Records.json: a list 'locations'; Timeline.json: 'semanticSegments') "
                "or OwnTracks (records with lat, lon, tst)"
            )
        yield from (_guarded(_owntracks, record) for record in records if _is_location(record))


def read_rec(stream: TextIO, name: str) -> Iterator[Fix | None]:
    """Fixes of an OwnTracks recorder file: time, kind and a JSON record, parted by tabs."""
    found = False
    for line in stream:
        record = _parse(line.rsplit("\t", 1)[-1])
        if record is None:
            yield None
        elif _is_location(record):
            found = True
            yield _guarded(_owntracks, record)
    if not found:
        raise InputError(f"{name} must be an OwnTracks .rec file: lines of time, kind and a JSON record of a location")


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


def _is_location(record: Any) -> bool:
    return isinstance(record, dict) and record.get("_type", "location") == "location"


def _parse(line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None


def _guarded(read: Any, record: Any) -> Fix | None:
    try:
        fix: Fix | None = read(record)
        return fix
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _takeout(record: Mapping[str, Any]) -> Fix | None:
    if float(record.get("accuracy", 0)) > _MAX_ACCURACY_M:
        return None
    time_s = parse_time(record["timestamp"]) if "timestamp" in record else float(record["timestampMs"]) / 1000
    return Fix("", _e7(record["latitudeE7"], 90), _e7(record["longitudeE7"], 180), time_s)


def _e7(value: int, largest: int) -> float:
    """Degrees of a count of 1e-7; some exports wrapped negative values to unsigned 32 bits."""
    return (value - 2**32 if value > largest * 10**7 else value) / 1e7


def _timeline_point(point: Mapping[str, Any]) -> Fix:
    lat, lon = (float(part.strip().rstrip("°")) for part in point["point"].split(","))
    return Fix("", lat, lon, parse_time(point["time"]))


def _owntracks(record: Mapping[str, Any]) -> Fix | None:
    if float(record.get("acc", 0)) > _MAX_ACCURACY_M:
        return None
    # the topic is owntracks/USER/DEVICE; `tid` is the short name of the device
    topic = str(record.get("topic", "")).split("/")
    user = topic[1] if len(topic) >= 3 else str(record.get("tid", ""))
    return Fix(user, float(record["lat"]), float(record["lon"]), float(record["tst"]))
