# SPDX-License-Identifier: Apache-2.0
"""`Ledger`: how many reports each user has made, and what they cost. It never holds where anybody was.

A ledger counts, per user and per mechanism, three kinds of reports: *fresh* ones, which cost; *repeated* ones
(sticky: the same report again for the same place), which do not; and those from inside a *fence*, which cost nothing
towards places of that fence. A charge is written before a report is released, so that a crash can only over-count.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import FileError, InputError
from ..store.atomic import writing
from .accounting import DELTA, HALF, Cost, level_within, rho, rho_to_epsilon

__all__ = ["Account", "Ledger", "updating"]

_FORMAT = "geoelastic-ledger"
_VERSION = 1


@dataclass(frozen=True)
class Account:
    """Reports of one user through one mechanism. `exponent` is the mechanism's beta, which sets its bounded range."""

    fresh: int = 0
    repeated: int = 0
    fenced: int = 0
    exponent: float = HALF
    tags: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name in ("fresh", "repeated", "fenced"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not value >= 0:
                raise InputError(f"'{name}' must be a whole number >= 0, got {value!r}")
        if not 0 < self.exponent <= 1:
            raise InputError(f"'exponent' must be a number in (0, 1], got {self.exponent!r}")


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
    ) -> None:
        """Add reports to an account. It keeps the largest exponent it has seen, which bounds all of them.

        `tags` are those of sticky reports, one a report: a tag that is new counts as fresh, a known one as repeated.
        """
        known = self.users.get(str(user), {}).get(mechanism, Account()).tags
        given = list(tags)
        new = set(given) - known
        more = Account(fresh + len(new), repeated + len(given) - len(new), fenced, exponent)
        old = self.users.setdefault(str(user), {}).get(mechanism, Account(exponent=exponent))
        self.users[str(user)][mechanism] = replace(
            old,
            fresh=old.fresh + more.fresh,
            repeated=old.repeated + more.repeated,
            fenced=old.fenced + more.fenced,
            exponent=max(old.exponent, exponent),
            tags=old.tags | new,
        )

    def accounts(self, user: str) -> dict[str, Account]:
        """The accounts of one user, by mechanism."""
        if user not in self.users:
            raise InputError(f"'user' must be one of the {len(self.users)} in the ledger, got {user!r}")
        return dict(self.users[user])

    def cost(self, user: str, level: float, *, delta: float = DELTA) -> Cost:
        """What telling two places apart has cost this user, for places at distance `level` by every map used.

        Both bounds add up over mechanisms; a user that has reported from several places pays this at most for any
        pair of histories that are `level` apart at each report.
        """
        accounts = self.accounts(user).values()
        reports = sum(account.fresh for account in accounts)
        total = sum(rho(account.fresh, level, exponent=account.exponent) for account in accounts)
        return Cost(reports, level, reports * level, total, rho_to_epsilon(total, delta), delta)

    def level_within(self, user: str, budget: float, *, delta: float = DELTA) -> float:
        """The largest distance at which places are within `budget` of this user; infinite before the first report."""
        accounts = [account for account in self.accounts(user).values() if account.fresh]
        if not accounts:
            return math.inf
        # n reports of different exponents weigh like n of their root mean square
        reports = sum(account.fresh for account in accounts)
        square = sum(account.fresh * account.exponent**2 for account in accounts) / reports
        return level_within(budget, reports, delta=delta, exponent=math.sqrt(square))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ledger:
        """The ledger in a file (.json or .parquet); an empty one if there is no such file."""
        source = Path(path)
        if not source.exists():
            return cls()
        try:
            rows = _read_parquet(source) if source.suffix.lower() == ".parquet" else _read_json(source)
            ledger = cls()
            for row in rows:
                counts = row["fresh"], row["repeated"], row["fenced"]
                account = Account(*counts, row["exponent"], frozenset(map(str, row["tags"])))
                ledger.users.setdefault(row["user"], {})[row["mechanism"]] = account
        except (ValueError, KeyError, TypeError) as error:
            raise FileError(f"{source.name}: not a whole ledger of geoelastic (version {_VERSION})") from error
        return ledger

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ledger (.json or .parquet), atomically, for its owner's eyes only."""
        rows = [
            {"user": user, "mechanism": name, "fresh": a.fresh, "repeated": a.repeated, "fenced": a.fenced}
            | {"exponent": a.exponent, "tags": sorted(a.tags)}
            for user, accounts in sorted(self.users.items())
            for name, a in sorted(accounts.items())
        ]
        with writing(path) as temporary:
            if Path(path).suffix.lower() == ".parquet":
                _write_parquet(temporary, rows)
            else:
                document = {"format": _FORMAT, "version": _VERSION, "accounts": rows}
                temporary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        Path(path).chmod(0o600)


@contextmanager
def updating(path: str | os.PathLike[str]) -> Iterator[Ledger]:
    """The ledger in a file, written back when the block ends well; others who update it wait until then.

    A lost update would under-count, so the file is locked (on systems with POSIX locks; elsewhere one writer at a
    time is the caller's business).
    """
    lock = Path(f"{os.fspath(path)}.lock")
    try:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise FileError(f"{lock}: cannot be written: {(error.strerror or 'unknown').lower()}") from None
    try:
        with contextlib.suppress(ImportError):
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        ledger = Ledger.load(path)
        yield ledger
        ledger.save(path)
    finally:
        os.close(handle)


def _read_json(source: Path) -> list[dict[str, Any]]:
    document = json.loads(source.read_text(encoding="utf-8"))
    if document["format"] != _FORMAT or document["version"] != _VERSION:
        raise ValueError("another format")
    rows: list[dict[str, Any]] = document["accounts"]
    return rows


def _read_parquet(source: Path) -> list[dict[str, Any]]:
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(source)
    except (ArrowException, OSError) as error:
        raise ValueError("not Parquet") from error
    if (table.schema.metadata or {}).get(_FORMAT.encode()) != str(_VERSION).encode():
        raise ValueError("another format")
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    kinds = [("user", pa.string()), ("mechanism", pa.string()), ("fresh", pa.int64()), ("repeated", pa.int64())]
    schema = pa.schema([*kinds, ("fenced", pa.int64()), ("exponent", pa.float64()), ("tags", pa.list_(pa.string()))])
    table = pa.Table.from_pylist(rows, schema=schema).replace_schema_metadata({_FORMAT: str(_VERSION)})
    parquet.write_table(table, path)
