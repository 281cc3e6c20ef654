# SPDX-License-Identifier: Apache-2.0
"""`Ledger`: how many reports each user has made, and what they cost. It never holds where anybody was.

A ledger counts, per user and per mechanism, three kinds of reports: *fresh* ones, which cost; *repeated* ones
(sticky: the same report again for the same place), which do not; and those from inside a *fence*, which cost nothing
towards places of that fence. A charge is written before a report is released, so that a crash can only over-count.
Fresh reports are also counted by the hour of the charge, for a year, so that a `Budget` can hold for a window of time.

Released traces are charged by the *block*: one that tells traces `level` apart by at most `width` x level is kept as
its width, spread over the hours that the trace tells of. Reports and blocks of one user add up.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from ..errors import FileError, InputError, require_nonnegative
from ..store.atomic import writing
from .accounting import DELTA, HALF, Cost, level_of_widths, rho, rho_to_epsilon

_FORMAT = "geoelastic-ledger"
_VERSION = 3
#: The first version did not know hours, the second no blocks of traces.
_READ_VERSIONS = (1, 2, 3)
#: Counts by the hour are kept this long after it.
KEPT_HOURS = 366 * 24
#: More reports than anybody makes; far from what 64 bits or a float can hold.
_MOST = 10**15


@dataclass(frozen=True)
class Account:
    """Reports of one user through one mechanism. `exponent` is the mechanism's beta, which sets its bounded range.

    `blocks`: by the hour that a released trace tells of, the sums of the widths of blocks and of their squares.
    """

    fresh: int = 0
    repeated: int = 0
    fenced: int = 0
    exponent: float = HALF
    tags: frozenset[str] = frozenset()
    hours: Mapping[int, int] = field(default_factory=dict)
    blocks: Mapping[int, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("fresh", "repeated", "fenced"):
            _require_number(name, getattr(self, name))
        for hour, fresh in self.hours.items():
            _require_number("hours", hour)
            _require_number("hours", fresh)
        if sum(self.hours.values()) > self.fresh:
            raise InputError("'hours' must add up to no more than 'fresh'")
        for hour, sums in self.blocks.items():
            _require_number("blocks", hour)
            for value in sums:
                require_nonnegative("blocks", value)
        # a mechanism has 1/2 or 1; the square of much less would vanish, and a division by it fail
        if not isinstance(self.exponent, int | float) or not 2.0**-20 <= self.exponent <= 1:
            raise InputError(f"'exponent' must be a number in [2^-20, 1], got {self.exponent!r}")

    def fresh_since(self, hour: int | None, until: int | None = None) -> int:
        """Fresh reports charged in this hour (since 1970, UTC) or later, up to `until`; all of them for None."""
        return self.fresh if hour is None else sum(n for when, n in self.hours.items() if _within(when, hour, until))

    def blocks_since(self, hour: int | None, until: int | None = None) -> tuple[float, float]:
        """The widths of blocks that tell of this hour or later, up to `until`, and their squares, added up."""
        sums = [pair for when, pair in self.blocks.items() if hour is None or _within(when, hour, until)]
        return math.fsum(width for width, _ in sums), math.fsum(square for _, square in sums)


@dataclass
class Ledger:
    """Accounts by user and by the name of the mechanism."""

    users: dict[str, dict[str, Account]] = field(default_factory=dict)

    def charge(
        self,
        user: str,
        mechanism: str,
        *,
        fresh: int = 0,
        repeated: int = 0,
        fenced: int = 0,
        exponent: float = HALF,
        tags: Iterable[str] = (),
        hour: int | None = None,
    ) -> None:
        """Add reports to an account. It keeps the largest exponent it has seen, which bounds all of them.

        `tags` are those of sticky reports, one per report: a tag that is new counts as fresh, a known one as repeated.
        `hour` is the one to charge them to (since 1970, UTC), by default this one.
        """
        known = self.users.get(str(user), {}).get(mechanism, Account()).tags
        given = list(tags)
        new = set(given) - known
        more = Account(fresh + len(new), repeated + len(given) - len(new), fenced, exponent)
        old = self.users.setdefault(str(user), {}).get(mechanism, Account(exponent=exponent))
        now = this_hour() if hour is None else hour
        hours = {when: count for when, count in old.hours.items() if when > now - KEPT_HOURS}
        if more.fresh:
            hours[now] = hours.get(now, 0) + more.fresh
        self.users[str(user)][mechanism] = replace(
            old,
            fresh=old.fresh + more.fresh,
            repeated=old.repeated + more.repeated,
            fenced=old.fenced + more.fenced,
            exponent=max(old.exponent, exponent),
            tags=old.tags | new,
            hours=hours,
        )

    def charge_block(self, user: str, mechanism: str, *, width: float, hours: Mapping[int, float]) -> None:
        """Add a block of a released trace: traces that are `level` apart all the time differ by width x level.

        `hours`: the part of the block in each hour that it tells of (since 1970, UTC). Its square is spread alike:
        traces that differ in a part of a block only have less.
        """
        require_nonnegative("width", width)
        whole = math.fsum(hours.values())
        old = self.users.setdefault(str(user), {}).get(mechanism, Account())
        blocks = dict(old.blocks)
        for hour, part in hours.items():
            spent, squares = blocks.get(hour, (0.0, 0.0))
            blocks[hour] = (spent + width * part / whole, squares + width**2 * part / whole)
        self.users[str(user)][mechanism] = replace(old, blocks=blocks)

    def accounts(self, user: str) -> dict[str, Account]:
        """The accounts of one user, by mechanism."""
        if user not in self.users:
            raise InputError(f"'user' must be one of the {len(self.users)} in the ledger, got {user!r}")
        return dict(self.users[user])

    def cost(
        self, user: str, level: float, *, delta: float = DELTA, since: int | None = None, until: int | None = None
    ) -> Cost:
        """What telling two places apart has cost this user, for places at distance `level` by every map used.

        Both bounds add up over mechanisms; a user that has reported from several places pays this at most for any
        pair of histories that are `level` apart at each report. `since`: only what was charged from this hour on,
        up to the hour `until`.
        """
        accounts = self.accounts(user).values()
        reports = sum(account.fresh_since(since, until) for account in accounts)
        total = sum(rho(account.fresh_since(since, until), level, exponent=account.exponent) for account in accounts)
        blocks = [account.blocks_since(since, until) for account in accounts]
        # a block's log-ratios lie in a range of width x level: Hoeffding's lemma as for a report
        total += math.fsum(square for _, square in blocks) * level**2 / 8
        pure = (reports + math.fsum(width for width, _ in blocks)) * level
        return Cost(reports, level, pure, total, rho_to_epsilon(total, delta), delta)

    def summary(self, user: str | None, level: float, *, delta: float = DELTA, hours: int | None = None) -> Any:
        """A row for each user (or for one): counts of reports, and what those of the last `hours` (or all) cost."""
        since = None if hours is None else this_hour() - hours
        rows = []
        for name in [user] if user is not None else sorted(self.users):
            accounts = self.accounts(name).values()
            counts = {kind: sum(getattr(account, kind) for account in accounts) for kind in ("repeated", "fenced")}
            cost = self.cost(name, level, delta=delta, since=since).as_dict()
            rows.append({"user": name, "fresh": cost["reports"], **counts, **cost})
        return rows

    def level_within(self, user: str, budget: float, *, delta: float = DELTA) -> float:
        """The largest distance at which places are within `budget` of this user; infinite before the first report."""
        one = self.cost(user, 1.0, delta=delta)
        if one.pure == 0:
            return math.inf
        return level_of_widths(budget, one.pure, 8 * one.rho, delta=delta)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ledger:
        """The ledger in a file (.json or .parquet); an empty one if there is no such file."""
        source = Path(path)
        ledger = cls()
        try:
            if not source.exists():
                return ledger
            rows = _read_parquet(source) if source.suffix.lower() == ".parquet" else _read_json(source)
            # reports that no hour is known of were made when the file was last written, or before
            written = int(source.stat().st_mtime // 3600)
            for row in rows:
                ledger._put(row, written)
        except FileError:
            raise
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise FileError(f"{source}: cannot be read: {reason}") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            raise FileError(f"{source.name}: not a whole ledger of geoelastic (version {_VERSION})") from None
        return ledger

    def _put(self, row: dict[str, Any], written: int) -> None:
        """The account in a row of a file; a second one for the same user and mechanism would hide the first."""
        user, mechanism, tags = row["user"], row["mechanism"], row["tags"]
        if not all(isinstance(text, str) for text in (user, mechanism, *tags)):
            raise TypeError("names and tags are text")
        accounts = self.users.setdefault(user, {})
        if mechanism in accounts:
            raise ValueError("an account twice")
        known = [[written, row["fresh"]]] if row.get("hours") is None else row["hours"]
        hours: dict[int, int] = dict(known)
        if len(hours) != len(known):
            raise ValueError("an hour twice")
        blocks = {int(hour): (width, square) for hour, width, square in row.get("blocks") or []}
        accounts[mechanism] = Account(
            row["fresh"], row["repeated"], row["fenced"], row["exponent"], frozenset(tags), hours, blocks
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ledger (.json or .parquet), atomically, for its owner's eyes only."""
        rows = [
            {"user": user, "mechanism": name}
            | asdict(a)
            | {
                "tags": sorted(a.tags),
                "hours": [list(pair) for pair in sorted(a.hours.items())],
                "blocks": [[hour, *sums] for hour, sums in sorted(a.blocks.items())],
            }
            for user, accounts in sorted(self.users.items())
            for name, a in sorted(accounts.items())
        ]
        with writing(path, private=True) as temporary:
            if Path(path).suffix.lower() == ".parquet":
                _write_parquet(temporary, rows)
            else:
                document = {"format": _FORMAT, "version": _VERSION, "accounts": rows}
                temporary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


@contextmanager
def updating(path: str | os.PathLike[str]) -> Iterator[Ledger]:
    """The ledger in a file, written back when the block ends well; others who update it wait until then.

    A lost update would under-count, so the file is locked (on systems with POSIX locks; elsewhere one writer at a
    time is the caller's business).
    """
    with _locked(Path(f"{os.fspath(path)}.lock")):
        ledger = Ledger.load(path)
        yield ledger
        ledger.save(path)


def _within(hour: int, since: int, until: int | None) -> bool:
    return hour >= since and (until is None or hour <= until)


def this_hour() -> int:
    """Hours since 1970, UTC."""
    return int(time.time() // 3600)


@contextmanager
def _locked(lock: Path) -> Iterator[None]:
    """Holds the lock of this name, whose file is gone afterwards."""
    try:
        handle = _acquired(lock)
    except OSError as error:
        raise FileError(f"{lock}: cannot be written: {(error.strerror or 'unknown').lower()}") from None
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(handle)


def _acquired(lock: Path) -> int:
    """The file of the lock, open and locked. Its last holder removes it, so those who waited begin again."""
    while True:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
        with contextlib.suppress(ImportError):
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle
        os.close(handle)


def _require_number(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        shown = repr(value) if not isinstance(value, int) or abs(value) <= _MOST else "a larger one"
        raise InputError(f"'{name}' must be a whole number >= 0 and at most 10^15, got {shown}")
    return value


def _read_json(source: Path) -> list[dict[str, Any]]:
    document = json.loads(source.read_text(encoding="utf-8"))
    if document["format"] != _FORMAT or document["version"] not in _READ_VERSIONS:
        raise ValueError("another format")
    rows: list[dict[str, Any]] = document["accounts"]
    return rows


def _read_parquet(source: Path) -> list[dict[str, Any]]:
    try:
        table = parquet.read_table(source)
    except (pa.ArrowException, OSError) as error:
        raise ValueError("not Parquet") from error
    known = [str(version).encode() for version in _READ_VERSIONS]
    if (table.schema.metadata or {}).get(_FORMAT.encode()) not in known:
        raise ValueError("another format")
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    kinds = [("user", pa.string()), ("mechanism", pa.string()), ("fresh", pa.int64()), ("repeated", pa.int64())]
    kinds += [("fenced", pa.int64()), ("exponent", pa.float64()), ("tags", pa.list_(pa.string()))]
    kinds += [("hours", pa.list_(pa.list_(pa.int64()))), ("blocks", pa.list_(pa.list_(pa.float64())))]
    schema = pa.schema(kinds)
    table = pa.Table.from_pylist(rows, schema=schema).replace_schema_metadata({_FORMAT: str(_VERSION)})
    parquet.write_table(table, path)
