# SPDX-License-Identifier: Apache-2.0
"""How many reports each user has made and what they cost together; never where anybody was. The file is geoelastic's
own (`geoelastic ledger` reads it), and a charge is written before a report is released: a crash can only over-count.

*Pure*: n fresh reports cost n d between places at distance d. *Concentrated*: each is (2 beta d)²/8-zCDP, beta being
the mechanism's exponent, which converts to rho + 2 sqrt(rho ln(1/delta)) except with probability delta. The smaller
applies.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Union

from .errors import CheckError, FileError, InputError, cannot_be
from .mechanism import Elastic
from .prepared import write_whole
from .sticky import Sticky

DELTA = 1e-6
_FORMAT, _VERSION, _READ = "geoelastic-ledger", 3, (1, 2, 3)
#: Counts by the hour are kept this long; no count is larger than that.
_KEPT_HOURS, _MOST = 366 * 24, 10**15
By = Union[Elastic, Sticky]


class Cost(NamedTuple):
    """The cost of telling two places apart at distance `level`: both bounds, and the smaller of them."""

    reports: int
    level: float
    pure: float
    concentrated: float
    best: float


@dataclass
class Account:
    """Reports of one user through one mechanism: *fresh* ones cost, *repeated* ones (sticky) and *fenced* ones do not.
    `hours`: fresh ones by the hour since 1970. `blocks`: what released traces told; only geoelastic adds any."""

    fresh: int = 0
    repeated: int = 0
    fenced: int = 0
    exponent: float = 0.5
    tags: set[str] = field(default_factory=set)
    hours: dict[int, int] = field(default_factory=dict)
    blocks: dict[int, tuple[float, float]] = field(default_factory=dict)


class Ledger:
    """Accounts by user and by the name of the mechanism."""

    def __init__(self) -> None:
        self.users: dict[str, dict[str, Account]] = {}

    def charge(self, by: By, i: int, *, user: str = "", hour: int | None = None) -> None:
        """Add one report from location `i`, before it is drawn. A sticky one of a place that is known costs nothing."""
        mechanism = by.mechanism if isinstance(by, Sticky) else by
        metric = mechanism.metric
        name = f"elastic:{metric.head['sticky'].split('|')[0]}"
        account = self.users.setdefault(user, {}).setdefault(name, Account(exponent=mechanism.exponent))
        account.exponent = max(account.exponent, mechanism.exponent)
        if metric.fence[i]:
            account.fenced += 1
            return
        if isinstance(by, Sticky):
            tag = by.tag(i)
            if tag in account.tags:
                account.repeated += 1
                return
            account.tags.add(tag)
        now = int(time.time() // 3600) if hour is None else hour
        account.fresh += 1
        account.hours = {when: count for when, count in account.hours.items() if when > now - _KEPT_HOURS}
        account.hours[now] = account.hours.get(now, 0) + 1

    def cost(self, user: str = "", level: float = math.log(2), *, delta: float = DELTA) -> Cost:
        """What all reports of a user cost together between places `level` apart."""
        if not (math.isfinite(level) and level >= 0 and 0 < delta < 1):
            raise InputError("'level' must be a finite number >= 0 and 'delta' a probability in (0, 1)")
        accounts = self.users.get(user, {}).values()
        reports = sum(account.fresh for account in accounts)
        blocks = [sums for account in accounts for sums in account.blocks.values()]
        rho = sum(account.fresh * (2 * account.exponent * level) ** 2 / 8 for account in accounts)
        rho += math.fsum(square for _, square in blocks) * level**2 / 8
        pure = (reports + math.fsum(width for width, _ in blocks)) * level
        concentrated = rho + 2 * math.sqrt(rho * math.log(1 / delta))
        return Cost(reports, level, pure, concentrated, min(pure, concentrated))

    def require(self, budget: float, user: str = "", level: float = math.log(2), *, delta: float = DELTA) -> None:
        """CheckError if the reports of a user cost more than the budget."""
        cost = self.cost(user, level, delta=delta).best
        if not cost <= budget:
            raise CheckError(f"nothing was reported: it would cost {cost:.4g}, more than the budget of {budget:.4g}")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ledger:
        """The ledger in a file of JSON; an empty one if there is no such file."""
        ledger, source = cls(), Path(path)
        try:
            document = json.loads(source.read_text(encoding="utf-8"))
            if document["format"] != _FORMAT or document["version"] not in _READ:
                raise ValueError("another format")
            for row in document["accounts"]:
                ledger._put(row, int(source.stat().st_mtime // 3600))
        except FileNotFoundError:
            return ledger
        except OSError as error:
            raise cannot_be("read", source, error) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            raise FileError(f"{source}: not a whole ledger of geoelastic (version {_VERSION})") from None
        return ledger

    def _put(self, row: dict[str, Any], written: int) -> None:
        """The account in a row of a file; a second one of a user and mechanism would hide it."""
        user, name, tags = row["user"], row["mechanism"], row["tags"]
        if not all(isinstance(text, str) for text in (user, name, *tags)) or name in self.users.get(user, {}):
            raise ValueError("names and tags are text, and an account stands once")
        counts = [_count(row[kind]) for kind in ("fresh", "repeated", "fenced")]
        # reports that no hour is known of were made when the file was last written, or before
        hours = [[written, row["fresh"]]] if row.get("hours") is None else row["hours"]
        by_hour = {_count(hour): _count(fresh) for hour, fresh in hours}
        blocks = {int(hour): (_real(width), _real(square)) for hour, width, square in row.get("blocks") or []}
        sound = len(by_hour) == len(hours) and sum(by_hour.values()) <= counts[0]
        if not (sound and 2.0**-20 <= _real(row["exponent"]) <= 1):
            raise ValueError("hours that are not those of the reports")
        account = Account(counts[0], counts[1], counts[2], row["exponent"], set(tags), by_hour, blocks)
        self.users.setdefault(user, {})[name] = account

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ledger whole, for its owner's eyes only."""
        rows = [
            {
                "user": user, "mechanism": name, "fresh": a.fresh, "repeated": a.repeated, "fenced": a.fenced,
                "exponent": a.exponent, "tags": sorted(a.tags),
                "hours": [list(pair) for pair in sorted(a.hours.items())],
                "blocks": [[hour, *sums] for hour, sums in sorted(a.blocks.items())],
            }
            for user, accounts in sorted(self.users.items())
            for name, a in sorted(accounts.items())
        ]  # fmt: skip
        text = json.dumps({"format": _FORMAT, "version": _VERSION, "accounts": rows}, indent=1) + "\n"
        try:
            write_whole(Path(path), text.encode())
        except OSError as error:
            raise cannot_be("written", path, error) from None


@contextlib.contextmanager
def updating(path: str | os.PathLike[str]) -> Iterator[Ledger]:
    """The ledger in a file, written back when the block ends well; others who update it wait until then (on systems
    with POSIX locks; elsewhere one writer at a time is the caller's business)."""
    lock = Path(f"{os.fspath(path)}.lock")
    try:
        handle = _acquired(lock)
    except OSError as error:
        raise cannot_be("written", lock, error) from None
    try:
        ledger = Ledger.load(path)
        yield ledger
        ledger.save(path)
    finally:
        lock.unlink()
        os.close(handle)


def _acquired(lock: Path) -> int:
    """The file of the lock, open and locked. Its last holder removes it, so those who waited begin again."""
    while True:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with contextlib.suppress(ImportError):
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle
        os.close(handle)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        raise ValueError("a count is a whole number >= 0")
    return value


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise ValueError("a finite number >= 0")
    return value
