# SPDX-License-Identifier: Apache-2.0
"""Reports as statistics read them: where, by whom, when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray, IntArray
from ..errors import InputError
from ..sources.streams import KEEP_ALL, open_stream

__all__ = ["ReadReports", "read_reports"]


@dataclass(frozen=True, eq=False)
class ReadReports:
    """Places in degrees; `person`: a number for each person (all different where nobody is named); `hour`: hours since
    the epoch, NaN where unknown."""

    lat: FloatArray
    lon: FloatArray
    person: IntArray
    hour: FloatArray

    def __len__(self) -> int:
        return int(self.lat.size)

    def take(self, chosen: Any) -> ReadReports:
        """Some of the reports."""
        return ReadReports(self.lat[chosen], self.lon[chosen], self.person[chosen], self.hour[chosen])


def read_reports(
    source: Any, *, user: str | None = None, time: str | None = None, lat: str | None = None, lon: str | None = None
) -> ReadReports:
    """Reports from a table on disk (any format of `sanitize`), a data frame, or a pair of arrays (lat, lon).

    `user` and `time` name the columns that say whose a report is and when it was made.
    """
    if isinstance(source, ReadReports):
        return source
    if isinstance(source, str | Path):
        return _from_file(source, user, time, lat, lon)
    if hasattr(source, "columns") or hasattr(source, "schema"):
        from ..reports.frames import open_frame

        places = open_frame(source, lat=lat, lon=lon).latlon()
        columns = {name: np.asarray(source[name]) for name in (user, time) if name is not None}
        return _checked(*places, columns.get(user or ""), columns.get(time or ""))
    if isinstance(source, Sequence) and len(source) == 2:
        lats, lons = (np.asarray(part, dtype=np.float64) for part in source)
        return _checked(lats, lons, None, None)
    raise InputError(f"'reports' must be a file, a table or arrays (lat, lon), got {type(source).__name__}")


def _from_file(source: str | Path, user: str | None, time: str | None, lat: str | None, lon: str | None) -> ReadReports:
    batches = list(open_stream(source, lat=lat, lon=lon, keep=(KEEP_ALL,)).batches())
    if not batches:
        raise InputError(f"{Path(source).name}: there must be at least one report, got none")
    columns: list[npt.NDArray[Any] | None] = []
    for name in (user, time):
        if name is not None and name not in batches[0].rest.column_names:
            known = ", ".join(batches[0].rest.column_names) or "none"
            raise InputError(f"{Path(source).name}: there is no column {name!r}; the columns are {known}")
        parts = None if name is None else [np.array(b.rest.column(name).to_pylist(), dtype=object) for b in batches]
        columns.append(None if parts is None else np.concatenate(parts))
    lats, lons = (np.concatenate([getattr(b, axis) for b in batches]) for axis in ("lat", "lon"))
    return _checked(lats, lons, *columns)


def _checked(
    lat: FloatArray, lon: FloatArray, user: npt.NDArray[Any] | None, time: npt.NDArray[Any] | None
) -> ReadReports:
    if lat.shape != lon.shape or lat.ndim != 1 or not lat.size:
        raise InputError("'reports' must be at least one place, as many latitudes as longitudes")
    if not np.all(np.isfinite(lat) & np.isfinite(lon)):
        raise InputError(f"every report must have a place: {np.count_nonzero(~np.isfinite(lat))} have none")
    person = np.arange(lat.size) if user is None else np.unique(user.astype(str), return_inverse=True)[1]
    hour = np.full(lat.size, np.nan)
    if time is not None:
        try:
            hour = np.array([np.datetime64(str(t).replace("Z", "").replace("+00:00", ""), "s") for t in time])
            hour = hour.astype(np.float64) / 3600
        except ValueError:
            raise InputError("the column of times must hold times such as 2024-05-01T14:00:00 (UTC)") from None
    return ReadReports(lat, lon, person.astype(np.int64), hour)
