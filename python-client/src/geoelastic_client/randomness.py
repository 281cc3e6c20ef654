# SPDX-License-Identifier: Apache-2.0
"""Where random bits come from, and whole numbers made of them exactly as in every other client."""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import Protocol

from .errors import InputError


class RandomSource(Protocol):
    """A stream of random bytes."""

    def bytes(self, n: int) -> bytes: ...


def uniform_below(source: RandomSource, n: int) -> int:
    """A whole number drawn uniformly from [0, n): whole bytes, big-endian, spare high bits cleared, again while it is
    n or more."""
    if n <= 0:
        raise InputError(f"'n' must be >= 1, got {n}")
    bits = (n - 1).bit_length()
    size, mask = (bits + 7) // 8, (1 << bits) - 1
    while True:
        value = int.from_bytes(source.bytes(size), "big") & mask
        if value < n:
            return value


class SystemRandom:
    """The operating system's cryptographic source. Reads ahead a little, because small reads are slow."""

    def __init__(self) -> None:
        self._pool, self._at = b"", 0

    def bytes(self, n: int) -> bytes:
        if self._at + n > len(self._pool):
            self._pool, self._at = os.urandom(max(4096, n)), 0
        self._at += n
        return self._pool[self._at - n : self._at]


class _Blocks:
    """A stream made of blocks, one for each number 0, 1, 2, ... of eight bytes."""

    def __init__(self) -> None:
        self._counter, self._pool = 0, b""

    def _block(self, counter: bytes) -> bytes:
        raise NotImplementedError

    def bytes(self, n: int) -> bytes:
        while len(self._pool) < n:
            self._pool += self._block(self._counter.to_bytes(8, "big"))
            self._counter += 1
        given, self._pool = self._pool[:n], self._pool[n:]
        return given


class SeededRandom(_Blocks):
    """A reproducible stream for research and tests: SHA-256 in counter mode. It protects nobody."""

    def __init__(self, seed: int | bytes) -> None:
        super().__init__()
        self._key = hashlib.sha256(seed if isinstance(seed, bytes) else str(int(seed)).encode()).digest()

    def _block(self, counter: bytes) -> bytes:
        return hashlib.sha256(self._key + counter).digest()


class KeyedRandom(_Blocks):
    """Bytes that look random to all but the holder of a key: HMAC-SHA-256 in counter mode under a derived key."""

    def __init__(self, key: bytes, context: bytes) -> None:
        super().__init__()
        self._key = hmac.digest(key, context, "sha256")

    def _block(self, counter: bytes) -> bytes:
        return hmac.digest(self._key, counter, "sha256")


class ReplayRandom:
    """Given bytes, once: for test vectors."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def bytes(self, n: int) -> bytes:
        if self._at + n > len(self._data):
            raise InputError("the replayed bytes are used up")
        self._at += n
        return self._data[self._at - n : self._at]
