# SPDX-License-Identifier: Apache-2.0
"""`Trace`: where one person was and when, cleaned and in order of time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import BoolArray, FloatArray, read_only
from ...errors import InputError

#: Mean radius of the Earth (IUGG); distances between fixes need no better figure.
EARTH_RADIUS_M = 6_371_008.8
#: Faster than any airliner over the ground (1,240 km/h, in a jet stream): a fix this far off on both sides is an error.
_MAX_SPEED_M_S = 350.0
#: A fix further from both neighbours than this can be a glitch at all; below it, jitter within a second looks fast.
_GLITCH_M = 1000.0


class Fix(NamedTuple):
    """One record as a reader finds it: whose, where (degrees), when (seconds since 1970, UTC)."""

    user: str
    lat: float
    lon: float
    time_s: float


@dataclass(frozen=True, eq=False)
class Trace:
    """The fixes of one person in order of time. `dropped` counts what was left out, by reason."""

    user: str
    lat: FloatArray
    lon: FloatArray
    time_s: FloatArray
    dropped: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        arrays = [np.array(a, dtype=np.float64) for a in (self.lat, self.lon, self.time_s)]
        if len({a.shape for a in arrays}) != 1 or arrays[0].ndim != 1:
            raise InputError("'lat', 'lon' and 'time_s' must be lists of the same length")
        if not (
            np.all(np.abs(arrays[0]) <= 90) and np.all(np.abs(arrays[1]) <= 180) and np.all(np.isfinite(arrays[2]))
        ):
            raise InputError("a trace must have lat in [-90, 90], lon in [-180, 180] and finite times")
        if np.any(np.diff(arrays[2]) < 0):
            raise InputError("'time_s' must not go backwards")
        for name, array in zip(("lat", "lon", "time_s"), arrays, strict=True):
            object.__setattr__(self, name, read_only(array))

    def __len__(self) -> int:
        return len(self.lat)


def clean_trace(user: str, fixes: Iterable[Fix], *, unreadable: int = 0) -> Trace:
    """A trace of the fixes that can be true, sorted by time.

    Left out and counted: rows that could not be read, places not on Earth (also the 0, 0 that loggers write without a
    signal), second fixes of the same instant, and single fixes that would need more than 350 m/s to reach and to leave.
    """
    table = np.array([(f.lat, f.lon, f.time_s) for f in fixes], dtype=np.float64).reshape(-1, 3)
    lat, lon, time_s = table.T
    on_earth = (np.abs(lat) <= 90) & (np.abs(lon) <= 180) & np.isfinite(time_s) & ((lat != 0) | (lon != 0))
    table = table[on_earth]
    unsorted = int(np.count_nonzero(np.diff(table[:, 2]) < 0))
    table = table[np.argsort(table[:, 2], kind="stable")]
    first = np.concatenate([[True], np.diff(table[:, 2]) > 0])[: len(table)]
    table = table[first]
    glitch = _glitches(*table.T)
    dropped = {
        "unreadable": unreadable,
        "not on Earth": int(np.count_nonzero(~on_earth)),
        "same instant": int(np.count_nonzero(~first)),
        "faster than 350 m/s": int(np.count_nonzero(glitch)),
    }
    if unsorted:
        dropped["out of order (sorted, not dropped)"] = unsorted
    lat, lon, time_s = table[~glitch].T
    return Trace(user, lat, lon, time_s, {reason: count for reason, count in dropped.items() if count})


def _glitches(lat: FloatArray, lon: FloatArray, time_s: FloatArray) -> BoolArray:
    """Single fixes that are impossibly far from both neighbours; a flight is fast on one side only, and slower."""
    glitch = np.zeros(len(lat), dtype=bool)
    if len(lat) >= 3:
        hop_m = haversine_m(lat[:-1], lon[:-1], lat[1:], lon[1:])
        wild = (hop_m > _GLITCH_M) & (hop_m > _MAX_SPEED_M_S * np.diff(time_s))
        glitch[1:-1] = wild[:-1] & wild[1:]
    return glitch


def haversine_m(lat1: npt.ArrayLike, lon1: npt.ArrayLike, lat2: npt.ArrayLike, lon2: npt.ArrayLike) -> FloatArray:
    """Metres between places on a round Earth."""
    p1, l1, p2, l2 = (np.radians(np.asarray(a, dtype=np.float64)) for a in (lat1, lon1, lat2, lon2))
    h = np.sin((p2 - p1) / 2) ** 2 + np.cos(p1) * np.cos(p2) * np.sin((l2 - l1) / 2) ** 2
    return np.asarray(2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(np.clip(h, 0, 1))))


def parse_time(text: str) -> float:
    """Seconds since 1970 of an ISO 8601 time (UTC unless it names an offset) or of a count of s, ms, µs since then."""
    text = text.strip()
    try:
        number = float(text)
    except ValueError:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    for scale in (1.0, 1e3, 1e6, 1e9):
        if abs(number) / scale < 1e11:  # 1e11 s is the year 5138: beyond it the unit was a smaller one
            return number / scale
    raise ValueError("not a time")
