# SPDX-License-Identifier: Apache-2.0
"""`Sticky`: the same place gives the same report again, at no further cost, and nothing about places is stored.

A table of past reports would itself say where the user was. Instead the random bytes of a report come from a keyed
pseudo-random function: HMAC-SHA-256 of a secret key over the map, the user and the location. The exact sampler reads
these bytes as it would any others, so the report of a place is a function of the key, and the key is all that is
kept.

Guarantee: however often a user reports from x, all of it together is as private as the first report: d(x, x2) towards
a user who is as often at x2. It holds against those who do not have the key (that the function looks random is a
computational assumption; fresh reports need none). What shows is *that* one is back at a place, not which: the
guarantee compares histories with the same returns. All of a fence counts as one place, so inside not even the returns
show. Different locations, users and maps get independent reports: k locations cost k reports.

Who has the key *and* the reports can try all places. Keep it like a password; a new one (`new_key`) makes old reports
irreversible, and the next report from each place costs once more.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray, IntArray
from ..errors import FileError, InputError, require_able
from ..randomness import BytesToNumbers, RandomSource
from ..store.atomic import write_bytes
from .elastic import ElasticMechanism, OverElastic

_KEY_BYTES = 32
_TAG_BYTES = 12
_HEADER = "geoelastic-key-1 "


class KeyedRandom(BytesToNumbers):
    """Bytes that look random to all but the holder of the key: HMAC-SHA-256 in counter mode under a derived key."""

    def __init__(self, key: bytes, context: bytes) -> None:
        self._key, self._counter, self._pool = hmac.digest(key, context, "sha256"), 0, b""

    def bytes(self, n: int) -> bytes:
        while len(self._pool) < n:
            self._pool += hmac.digest(self._key, self._counter.to_bytes(8, "big"), "sha256")
            self._counter += 1
        given, self._pool = self._pool[:n], self._pool[n:]
        return given


@dataclass(frozen=True, eq=False)
class Sticky(OverElastic):
    """A mechanism whose report of a place never changes, for one `user` and one `key` of at least 32 bytes."""

    mechanism: ElasticMechanism
    key: bytes = field(repr=False)
    user: str = ""

    def __post_init__(self) -> None:
        require_able("mechanism", self.mechanism, "sample_cells", "a mechanism over a map, such as ElasticMechanism")
        if not isinstance(self.key, bytes) or not len(self.key) >= _KEY_BYTES:
            raise InputError(f"'key' must be at least {_KEY_BYTES} secret bytes")

    @cached_property
    def _map(self) -> bytes:
        name = f"{self.metric.identity}|{self.mechanism.measure_digest}|{self.mechanism.exponent}"
        relief = self.metric.relief if self.mechanism.sharpened else None
        return (name if relief is None else f"{name}|{relief.digest}").encode()

    @property
    def map_name(self) -> str:
        """The name of map and mechanism that reports are derived from; part of a portable file."""
        return self._map.decode()

    def for_user(self, user: str) -> Sticky:
        """The same for another user, whose reports are independent of this one's."""
        sticky = replace(self, user=user)
        sticky.__dict__["_map"] = self._map
        return sticky

    def place_of(self, indices: npt.ArrayLike) -> IntArray:
        """The location whose report is given at each of `indices`: itself, or for a fence its first location."""
        index = np.asarray(indices, dtype=np.int64)
        fence = self.metric.fences_at(index)
        first = index.copy()
        for number in np.unique(fence[fence > 0]).tolist():
            first[fence == number] = self.metric.fence_members(number)[0]
        return first

    def sample_cells(
        self, i: npt.ArrayLike, *, rng: RandomSource | None = None, workers: int | None = None
    ) -> tuple[IntArray, IntArray]:
        """The reported (rows, columns) of each location in `i`; the same again for the same location."""
        self._require_no_rng(rng)
        places, inverse = np.unique(self.place_of(i), return_inverse=True)
        cells = np.array([self._report(int(place))[1:] for place in places], dtype=np.int64).reshape(-1, 2)
        return cells[inverse, 0], cells[inverse, 1]

    def sample(self, i: int, size: int = 1, *, rng: RandomSource | None = None) -> IntArray:
        """The one reported location of location `i`, `size` times."""
        self._require_no_rng(rng)
        return np.full(size, self._report(int(self.place_of(i)))[0], dtype=np.int64)

    def _report(self, place: int) -> tuple[int, int, int]:
        """(location, row, column) reported from a place, from the bytes that belong to it."""
        source = self._source(place)
        location = int(self.mechanism.sample(place, rng=source)[0])
        row, col, side = (int(part) for part in self.metric.leaves(location))
        down, across = divmod(source.below(side * side), side)
        return location, row + down, col + across

    def probabilities(self, i: int) -> FloatArray:
        """The chances of each report of location `i` for those who do not have the key."""
        return self.mechanism.probabilities(i)

    def expected_error(self, i: int) -> float:
        """Mean distance in metres over all keys."""
        return float(self.mechanism.expected_error(i))

    def tags(self, indices: npt.ArrayLike) -> list[str]:
        """A tag for each location's report, for a ledger: equal for the same place, random to all without the key."""
        places = self.place_of(indices)
        known = {int(place): KeyedRandom(self.key, b"tag|" + self._context(int(place))) for place in np.unique(places)}
        texts = {place: source.bytes(_TAG_BYTES).hex() for place, source in known.items()}
        return [texts[int(place)] for place in places]

    def _source(self, place: int) -> KeyedRandom:
        return KeyedRandom(self.key, b"report|" + self._context(place))

    def _context(self, place: int) -> bytes:
        user = self.user.encode()
        # the length keeps different (map, user, place) from ever spelling the same context
        return b"|".join([self._map, str(len(user)).encode(), user, str(place).encode()])

    def _require_no_rng(self, rng: RandomSource | None) -> None:
        if rng is not None:
            raise InputError("'rng' must be None for sticky reports: their random bytes come from the key")


def new_key(path: str | Path) -> bytes:
    """A key from the operating system, written to a file that only its owner can read."""
    key = secrets.token_bytes(_KEY_BYTES)
    write_bytes(path, f"{_HEADER}{key.hex()}\n".encode("ascii"), private=True)
    return key


def load_key(path: str | Path) -> bytes:
    """The key in a file made by `new_key`."""
    source = Path(path)
    try:
        text = source.read_text(encoding="ascii")
        key = bytes.fromhex(text.removeprefix(_HEADER))
    except (OSError, ValueError):
        raise FileError(f"{source}: cannot be read as a key made by geoelastic") from None
    if not text.startswith(_HEADER) or len(key) != _KEY_BYTES:
        raise FileError(f"{source}: not a whole key made by geoelastic")
    return key
