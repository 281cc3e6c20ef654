# SPDX-License-Identifier: Apache-2.0
"""The same place gives the same report again: its random bytes come from a secret key, and nothing about places is
kept.

However often somebody reports from a place, all of it together is as private as the first report, towards all who do
not have the key. That one is back at a place shows; which place, no more than after the first report.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from .errors import FileError, InputError, cannot_be
from .mechanism import Elastic, Report
from .randomness import KeyedRandom

_KEY_BYTES, _TAG_BYTES = 32, 12
_HEADER = "geoelastic-key-1 "


class Sticky:
    """Reports for one `user` under one secret `key` of at least 32 bytes."""

    def __init__(self, mechanism: Elastic, key: bytes, user: str = "") -> None:
        if not isinstance(key, bytes) or len(key) < _KEY_BYTES:
            raise InputError(f"'key' must be at least {_KEY_BYTES} secret bytes")
        self.mechanism, self.user = mechanism, user
        self._key = key

    def report(self, lat: float, lon: float) -> Report:
        """The report of a place."""
        return self.report_from(self.mechanism.metric.locate_secret(lat, lon))

    def report_from(self, i: int) -> Report:
        """The report of a location."""
        place = self._place(i)
        return self.mechanism.report_from(place, random=KeyedRandom(self._key, b"report|" + self._context(place)))

    def tag(self, i: int) -> str:
        """A name of a location's report for a ledger: the same for the same place, random to all without the key."""
        context = b"tag|" + self._context(self._place(i))
        return KeyedRandom(self._key, context).bytes(_TAG_BYTES).hex()

    def _place(self, i: int) -> int:
        """All of a fence is one place: not even returns show inside."""
        metric = self.mechanism.metric
        return metric.fence_members(metric.fence[i])[0] if metric.fence[i] else i

    def _context(self, place: int) -> bytes:
        user = self.user.encode()
        # the length keeps different (map, user, place) from ever spelling the same context
        name = self.mechanism.metric.head["sticky"].encode()
        return b"|".join([name, str(len(user)).encode(), user, str(place).encode()])


def new_key(path: str | os.PathLike[str]) -> bytes:
    """A key from the operating system, written to a new file that only its owner can read."""
    key = secrets.token_bytes(_KEY_BYTES)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise cannot_be("written", path, error) from None
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(f"{_HEADER}{key.hex()}\n")
    return key


def load_key(path: str | os.PathLike[str]) -> bytes:
    """The key in a file made by `new_key` or by geoelastic."""
    key = b""
    with contextlib.suppress(OSError, ValueError):
        text = Path(path).read_text(encoding="ascii")
        if text.startswith(_HEADER):
            key = bytes.fromhex(text[len(_HEADER) :])
    if len(key) != _KEY_BYTES:
        raise FileError(f"{os.fspath(path)}: cannot be read as a key made by geoelastic")
    return key
