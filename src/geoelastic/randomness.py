# SPDX-License-Identifier: Apache-2.0
"""Where random bits come from: the operating system, unless a seed is asked for by name.

A source has one method that matters, `bytes(n)`; everything else is derived from it in the same way in Python and in
the JavaScript client, so that the same bytes give the same report in both.
"""

from __future__ import annotations

import hashlib
import os
from typing import Protocol

from .errors import InputError


class RandomSource(Protocol):
    """A stream of random bytes."""

    seeded: bool

    def bytes(self, n: int) -> bytes: ...

    def below(self, n: int) -> int: ...


class BytesToNumbers:
    """A source that defines `bytes`, from which whole numbers are drawn."""

    seeded = False

    def bytes(self, n: int) -> bytes:
        raise AssertionError("a source defines bytes()")

    def below(self, n: int) -> int:
        """A whole number drawn uniformly from [0, n).

        Distribution: exactly uniform (rejection: as many whole bytes as n - 1 needs, big-endian, spare high bits
        cleared, again while the number is >= n). Cost: less than two tries on average.
        """
        if n <= 0:
            raise InputError(f"'n' must be >= 1, got {n}")
        bits = (n - 1).bit_length()
        size, mask = (bits + 7) // 8, (1 << bits) - 1
        while True:
            value = int.from_bytes(self.bytes(size), "big") & mask
            if value < n:
                return value


class SystemRandom(BytesToNumbers):
    """The operating system's cryptographic source. Reads ahead a little, because small reads are slow."""

    def __init__(self) -> None:
        self._pool, self._at = b"", 0

    def bytes(self, n: int) -> bytes:
        if self._at + n > len(self._pool):
            self._pool, self._at = os.urandom(max(4096, n)), 0
        self._at += n
        return self._pool[self._at - n : self._at]


class SeededRandom(BytesToNumbers):
    """A reproducible stream for research: SHA-256 in counter mode. It protects nobody, and results carry the mark
    `seeded`."""

    seeded = True

    def __init__(self, seed: int | bytes) -> None:
        key = seed if isinstance(seed, bytes) else str(int(seed)).encode()
        self._key, self._counter, self._pool, self._at = hashlib.sha256(key).digest(), 0, b"", 0

    def bytes(self, n: int) -> bytes:
        while self._at + n > len(self._pool):
            block = hashlib.sha256(self._key + self._counter.to_bytes(8, "big")).digest()
            self._pool, self._at = self._pool[self._at :] + block, 0
            self._counter += 1
        self._at += n
        return self._pool[self._at - n : self._at]


class ReplayRandom(BytesToNumbers):
    """Given bytes, once: for test vectors and for enumeration."""

    seeded = True

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def bytes(self, n: int) -> bytes:
        if self._at + n > len(self._data):
            raise InputError("the replayed bytes are used up")
        self._at += n
        return self._data[self._at - n : self._at]
