# SPDX-License-Identifier: Apache-2.0
"""Traces of many people from files to a file of releases, charged before anything is public."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..accounts.budget import Budget
from ..accounts.ledger import Ledger, updating
from ..errors import InputError
from ..progress import progress_bar
from ..randomness import RandomSource
from ..sources.streams import SEEDED_COLUMN, Batch, Layout, write_stream
from ..sources.traces import Trace, read_traces
from .mechanism import TraceMechanism
from .release import Clock, Habit, Release

#: A released place is the centre of a cell; files have places to 1e-6 degrees or better.
_CENTRE_M = 1.0
_ROWS = [("user", pa.string()), ("time", pa.string()), ("fence", pa.int64())]
_GPX = [("kind", pa.string()), ("line", pa.int64()), ("segment", pa.int64()), ("time", pa.string())]


def release_file(
    mechanism: TraceMechanism,
    sources: Sequence[str | Path],
    target: str | Path,
    *,
    past: Sequence[str | Path] = (),
    user: str | None = None,
    lat: str | None = None,
    lon: str | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
    ledger: str | Path | None = None,
    budget: Budget | None = None,
    account: str = "me",
    rng: RandomSource | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Release the traces in `sources`, one person after the other, and write them to `target`.

    `past`: files of earlier releases. `start_s`, `end_s`: the public time; by default that of each trace, which is
    then public. `account`: whose traces those without a name are, in the `ledger`. The result is for the owner: it
    says how many ticks lay outside the map.
    """
    traces = read_traces(*sources, user=user, lat=lat, lon=lon)
    habits = read_habits(mechanism, past)
    releases, clamped, dropped = [], 0, Counter[str]()
    with progress_bar("release", len(traces), show=progress) as bar:
        for done, trace in enumerate(traces, 1):
            clock = _clock(trace, mechanism.step_s, start_s, end_s)
            clamped += mechanism.clamped(trace, clock)
            dropped.update(trace.dropped)
            releases.append(mechanism.release(trace, habits.get(trace.user, Habit()), rng, clock=clock))
            bar.update(done, note=f"{sum(map(len, releases)):,} ticks")
    told: dict[str, Any] = {}
    write_releases(releases, target, before=lambda: told.update(charge(mechanism, releases, ledger, budget, account)))
    return {
        "users": len(releases),
        "ticks": sum(map(len, releases)),
        "hours": sum(release.clock.hours for release in releases),
        "paid_hours": sum(release.paid_hours for release in releases),
        "moves": sum(release.moves for release in releases),
        "clamped_ticks": clamped,
        "seeded": any(release.seeded for release in releases),
        "dropped": dict(dropped),
        "output": str(target),
    } | told


def charge(
    mechanism: TraceMechanism,
    releases: Iterable[Release],
    ledger: str | Path | None,
    budget: Budget | None,
    account: str,
) -> dict[str, Any]:
    """Charge releases to the ledger in a file, unless that would exceed the budget; what each user has spent."""
    if ledger is None:
        return {}
    name, ends = f"trace:{mechanism.metric.identity}", dict[str, set[int]]()
    with updating(ledger) as book:
        for release in releases:
            who = release.user or account
            for width, hours in mechanism.blocks(release):
                book.charge_block(who, name, width=width, hours=hours)
                ends.setdefault(who, set()).update(hours)
        if budget is not None:
            for who, hours_of in ends.items():
                budget.require(book, [who], ends=sorted(hours_of))
        return {"spent": {who: _spent(book, who, budget) for who in ends}}


def _spent(book: Ledger, who: str, budget: Budget | None) -> dict[str, float]:
    limit = Budget(1.0) if budget is None else budget
    cost = book.cost(who, limit.level, delta=limit.delta).best
    return {"cost": cost} | ({} if budget is None or budget.hours is not None else {"left": budget.most - cost})


def write_releases(
    releases: Sequence[Release], target: str | Path, *, before: Callable[[], None] | None = None
) -> None:
    """Write releases as one table (.csv, .parquet, .geojson) or as tracks (.gpx), a track a person.

    `before` is called when all is written and nothing is in its place yet.
    """
    path = Path(target)
    gpx = ".gpx" in [suffix.lower() for suffix in path.suffixes[-2:]]
    kinds = list(_GPX if gpx else _ROWS)
    seeded = any(release.seeded for release in releases)
    layout = Layout((*(name for name, _ in kinds), "lat", "lon"), pa.schema(kinds))
    if seeded:
        layout = layout.with_column(SEEDED_COLUMN, True)
    with write_stream(path, layout) as writer:
        for number, release in enumerate(releases, 1):
            columns = _tracks(release, number) if gpx else _rows(release)
            rest = pa.table(
                [pa.array(values, kind) for values, (_, kind) in zip(columns, kinds, strict=True)], pa.schema(kinds)
            )
            batch = Batch(release.lat, release.lon, rest)
            writer.write(batch.with_column(SEEDED_COLUMN, True) if seeded else batch)
        if before is not None:
            before()


def _rows(release: Release) -> list[list[Any]]:
    return [[release.user] * len(release), _times(release), release.fence.tolist()]


def _tracks(release: Release, number: int) -> list[list[Any]]:
    """One track a person, a segment wherever a fence is entered or left."""
    crossings = np.concatenate([[0], np.cumsum(release.fence[1:] != release.fence[:-1])]) + 1
    return [["track"] * len(release), [number] * len(release), crossings.tolist(), _times(release)]


def _times(release: Release) -> list[str]:
    return [datetime.fromtimestamp(t, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for t in release.clock.ticks.tolist()]


def read_habits(mechanism: TraceMechanism, paths: Sequence[str | Path]) -> dict[str, Habit]:
    """The habit of each user in files of earlier releases; a file that is no release on this map is refused.

    A habit from true places would void the guarantee, so every place must be the centre of a cell.
    """
    if not paths:
        return {}
    grid, habits = mechanism.metric.grid, dict[str, Habit]()
    for trace in read_traces(*paths):
        x, y = grid.area.to_xy(trace.lat, trace.lon)
        row, col = grid.xy_to_cell(x, y)
        east, north = grid.cell_to_xy(row, col)
        step = np.diff(trace.time_s)
        if np.any(row < 0) or np.any(np.hypot(x - east, y - north) > _CENTRE_M) or np.any(step != np.round(step)):
            raise InputError("'past' must be files of earlier releases on this map: these places are not released ones")
        location = np.asarray(mechanism.metric.locations.owner[row, col], np.int64)
        outside = location[np.asarray(mechanism.metric.fence)[location] == 0]
        seconds = int(np.median(step)) if step.size else mechanism.step_s
        habits[trace.user] = Habit().after(outside.tolist(), seconds)
    return habits


def _clock(trace: Trace, step_s: int, start_s: float | None, end_s: float | None) -> Clock:
    own = Clock.of(trace, step_s)
    first = own.start_s if start_s is None else start_s
    last = own.start_s + own.steps * step_s if end_s is None else end_s
    if not first < last:
        raise InputError("the release must end after it starts")
    return Clock.between(first, last, step_s)
