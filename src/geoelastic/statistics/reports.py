# SPDX-License-Identifier: Apache-2.0
"""Reports as statistics read them: where, by whom, when; a file in batches, whatever its size."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray, IntArray
from ..errors import InputError
from ..sources.streams import KEEP_ALL, open_stream

Columns = tuple[npt.NDArray[Any] | None, npt.NDArray[Any] | None]


@dataclass(frozen=True, eq=False)
class ReadReports:
    """Places in degrees; `person`: a number for each person, None where nobody is named and so everybody another;
    `hour`: hours since the epoch, None where unknown."""

    lat: FloatArray
    lon: FloatArray
    person: IntArray | None = None
    hour: FloatArray | None = None

    def __len__(self) -> int:
        return int(self.lat.size)

    @classmethod
    def joined(cls, parts: Sequence[ReadReports]) -> ReadReports:
        """The reports of several batches of one table."""

        def one(name: str) -> Any:
            arrays = [getattr(part, name) for part in parts]
            return None if arrays[0] is None else np.concatenate(arrays)

        return parts[0] if len(parts) == 1 else cls(one("lat"), one("lon"), one("person"), one("hour"))


def read_reports(
    source: Any, *, user: str | None = None, time: str | None = None, lat: str | None = None, lon: str | None = None
) -> ReadReports:
    """Reports from a table on disk (any format of `sanitize`), a data frame, or a pair of arrays (lat, lon).

    `user` and `time` name the columns that say whose a report is and when it was made.
    """
    return ReadReports.joined(list(report_batches(source, user=user, time=time, lat=lat, lon=lon)))


def report_batches(
    source: Any, *, user: str | None = None, time: str | None = None, lat: str | None = None, lon: str | None = None
) -> Generator[ReadReports, None, None]:
    """The same batch by batch: of a file that is larger than memory, no more than a batch is held."""
    numbers: dict[str, int] = {}
    found = False
    with closing(_tables(source, user, time, lat, lon)) as tables:
        for part_lat, part_lon, (whose, when) in tables:
            found = True
            yield _checked(part_lat, part_lon, whose, when, numbers)
    if not found:
        raise InputError(f"{Path(source).name}: there must be at least one report, got none")


def _tables(
    source: Any, user: str | None, time: str | None, lat: str | None, lon: str | None
) -> Generator[tuple[FloatArray, FloatArray, Columns], None, None]:
    if isinstance(source, str | Path):
        with closing(open_stream(source, lat=lat, lon=lon, keep=(KEEP_ALL,)).batches()) as batches:
            for batch in batches:
                missing = next((n for n in (user, time) if n is not None and n not in batch.rest.column_names), None)
                if missing is not None:
                    known = ", ".join(batch.rest.column_names) or "none"
                    raise InputError(f"{Path(source).name}: there is no column {missing!r}; the columns are {known}")
                whose, when = (None if n is None else np.array(batch.rest.column(n).to_pylist()) for n in (user, time))
                yield batch.lat, batch.lon, (whose, when)
    elif hasattr(source, "columns") or hasattr(source, "schema"):
        from ..reports.frames import open_frame

        places = open_frame(source, lat=lat, lon=lon).latlon()
        whose, when = (None if n is None else np.asarray(source[n]) for n in (user, time))
        yield *places, (whose, when)
    elif isinstance(source, Sequence) and len(source) == 2:
        lats, lons = (np.asarray(part, dtype=np.float64) for part in source)
        yield lats, lons, (None, None)
    else:
        raise InputError(f"'reports' must be a file, a table or arrays (lat, lon), got {type(source).__name__}")


def _checked(lat: FloatArray, lon: FloatArray, user: Any, time: Any, numbers: dict[str, int]) -> ReadReports:
    if lat.shape != lon.shape or lat.ndim != 1 or not lat.size:
        raise InputError("'reports' must be at least one place, as many latitudes as longitudes")
    if not np.all(np.isfinite(lat) & np.isfinite(lon)):
        lost = np.count_nonzero(~(np.isfinite(lat) & np.isfinite(lon)))
        raise InputError(f"every report must have a place: {lost} have none")
    person = hour = None
    if user is not None:
        names, where = np.unique(user.astype(str), return_inverse=True)
        person = np.array([numbers.setdefault(name, len(numbers)) for name in names.tolist()], np.int64)[where]
    if time is not None:
        try:
            hour = np.array([np.datetime64(str(t).replace("Z", "").replace("+00:00", ""), "s") for t in time])
            hour = hour.astype(np.float64) / 3600
        except ValueError:
            raise InputError("the column of times must hold times such as 2024-05-01T14:00:00 (UTC)") from None
    return ReadReports(lat, lon, person, hour)
