# SPDX-License-Identifier: Apache-2.0
"""Whole tables through a mechanism: arrays, data frames, files larger than memory. Policies: see `locate`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import IntArray
from ..errors import InputError, require_path
from ..progress import progress_bar
from ..randomness import RandomSource
from ..sources.streams import KEEP_ALL, SEEDED_COLUMN, Batch, open_stream, tells_place, write_stream
from .frames import open_frame
from .locate import LocatedReports, Placement, Tally, groups
from .protocols import Mechanism, over_a_map

#: Rows and bytes that are held at a time, at the least and about.
_BATCH_ROWS = 1 << 18
_BATCH_BYTES = 1 << 27

#: True locations by user, or their number where there is no map.
Visits = dict[str, IntArray | int]


def sanitize_arrays(
    mechanism: Mechanism,
    lat: npt.ArrayLike,
    lon: npt.ArrayLike,
    *,
    outside: str = "error",
    rng: RandomSource | None = None,
) -> LocatedReports:
    """Reports for two arrays of degrees."""
    return Placement(mechanism, outside).report(lat, lon, rng=rng)


def sanitize_frame(
    mechanism: Mechanism,
    frame: Any,
    *,
    lat: str | None = None,
    lon: str | None = None,
    outside: str = "error",
    keep: Collection[str] = (KEEP_ALL,),
    rng: RandomSource | None = None,
) -> Any:
    """A pandas, GeoPandas, Polars or pyarrow table with every place replaced by a report; the same type comes out.

    The place is the active geometry of a GeoDataFrame or a GeoArrow column (points, in any reference system, which is
    kept) or two columns, found by their names or given as `lat` and `lon`. Other columns stay as they are: those that
    may tell the place (an address, an altitude) are named in the result's note, and `keep=()` leaves them out. The
    note is ``attrs["geoelastic"]`` (pandas) or the metadata ``geoelastic`` of the schema (pyarrow): the tally, and
    `seeded`.
    """
    view = open_frame(frame, lat=lat, lon=lon)
    reports = Placement(mechanism, outside).report(*view.latlon(), rng=rng)
    telling = [name for name in view.others if tells_place(name)]
    dropped = [name for name in view.others if tells_place(name, keep)]
    note = asdict(reports.tally) | {
        "seeded": _is_seeded(rng),
        "may_tell_place": [n for n in telling if n not in dropped],
    }
    return view.rebuilt(reports.kept, reports.lat, reports.lon, dropped, note)


def sanitize_file(
    mechanism: Mechanism,
    source: str | Path,
    target: str | Path,
    *,
    lat: str | None = None,
    lon: str | None = None,
    outside: str = "error",
    keep: Collection[str] = (),
    users: str | None = None,
    rng: RandomSource | None = None,
    before_release: Callable[[Tally, Visits], None] | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """A file of places to a file of reports, in bounded memory; see `geoelastic.sources.streams` for the formats.

    Columns that tell the place are withheld unless named in `keep`. `users` names the column that says whose a row is.
    `before_release` is called with the tally and the true locations by user (or their number, without a map) when all
    reports are made and none is public yet: a ledger is charged there.
    """
    require_path("source", source)
    asked = [] if users is None or tells_place(users, keep) else [users]
    reader = open_stream(source, lat=lat, lon=lon, keep=[*keep, *asked])
    layout, seeded = reader.layout, _is_seeded(rng)
    if users is not None and users not in layout.rest.names:
        raise InputError(f"{Path(source).name}: there is no column {users!r} for the users")
    if seeded:
        layout = layout.with_column(SEEDED_COLUMN, True)
    placement, tally, visits = Placement(mechanism, outside), Tally(policy=outside), dict[str, list[Any]]()
    with (
        closing(reader.batches()) as batches,
        write_stream(target, layout) as writer,
        progress_bar("sanitize", 1, show=progress) as bar,
    ):
        for batch in _large_batches(batches):
            whose = None if users is None else batch.rest.column(users).to_pylist()
            reports = placement.report(batch.lat, batch.lon, rng=rng, users=whose)
            tally += reports.tally
            _note_visits(visits, reports, whose)
            done = batch.take(reports.kept, reports.lat, reports.lon)
            writer.write(done.with_column(SEEDED_COLUMN, True) if seeded else done)
            bar.update(reader.fraction(), note=f"{tally.rows:,} rows")
        if before_release is not None:
            whole = {name: np.concatenate(parts).astype(np.int64) for name, parts in visits.items()}
            counted = over_a_map(mechanism) is None
            before_release(tally, {name: int(each.sum()) for name, each in whole.items()} if counted else dict(whole))
    return asdict(tally) | {"withheld": list(reader.withheld), "seeded": seeded}


def _large_batches(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Batches put together: rows of one location share their search only within a batch."""
    waiting: list[Batch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + len(batch.lat), size + batch.rest.nbytes
        if rows >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield Batch.joined(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield Batch.joined(waiting)


def _note_visits(visits: dict[str, list[Any]], reports: LocatedReports, users: list[Any] | None) -> None:
    """Where the rows of each user were, or how many there are, for the ledger; gone when the call ends."""
    kept = np.flatnonzero(reports.kept)
    for name, mine in groups([""] * kept.size if users is None else [users[k] for k in kept]):
        where = [mine.size] if reports.index is None else reports.index[mine]
        visits.setdefault(name, []).append(np.asarray(where, dtype=np.int32))


def _is_seeded(rng: RandomSource | None) -> bool:
    return rng is not None and bool(rng.seeded)
