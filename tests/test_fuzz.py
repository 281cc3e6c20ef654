# SPDX-License-Identifier: Apache-2.0
"""The fuzzer finds what it is there to find, and nothing that it once found has come back."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from fuzz import supervise as supervision
from fuzz.kinds import KEPT, KINDS
from fuzz.supervise import supervise

pytestmark = pytest.mark.jit


@pytest.mark.parametrize("path", sorted(KEPT.glob("*-*")), ids=lambda path: path.name)
def test_what_failed_once_does_not_fail_again(path: Path, tmp_path: Path) -> None:
    KINDS[path.name.rpartition("-")[0]].run(path.read_bytes(), tmp_path)


class Faulty:
    """An input is a number; some of them do what no input may do."""

    name = "faulty"

    def make(self, rng: Random) -> bytes:
        return bytes([rng.randrange(8)])

    def run(self, payload: bytes, folder: Path) -> str:
        if payload == b"\x00":
            raise KeyError("48.8567")
        if payload == b"\x01":
            os.kill(os.getpid(), signal.SIGKILL)
        if payload == b"\x02":
            while True:
                pass
        if payload == b"\x03":
            assert len(bytearray(3 * 2**30)) > 0
        (folder / "left").mkdir()
        return "fine"


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # newer Pythons, about fork
@pytest.mark.parametrize("jobs", [1, 3])
def test_errors_signals_hangs_and_greed_are_found(monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    monkeypatch.setattr(supervision, "CPU_S", 0.5)
    tally = supervise([Faulty()], seed="x", until=time.monotonic() + 300, most=40, jobs=jobs)
    what = {failure.what.partition(" at ")[0]: failure.payload for failure in tally.failures.values()}
    assert what == {"KeyError": b"\x00", "signal SIGKILL": b"\x01", "more than 0.5 s": b"\x02", "MemoryError": b"\x03"}
    ends = tally.by_kind()["faulty"]
    assert ends["inputs"] == 40
    assert ends["fine"] == 40 - ends["FAILED"] > 10
    made = Counter(Random(f"x/faulty/{number}").randrange(8) for number in range(40))
    assert ends["fine"] == sum(made[number] for number in range(4, 8))  # each once, whoever ran it
