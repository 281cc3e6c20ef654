# SPDX-License-Identifier: Apache-2.0
"""A child that runs one damaged input after the other, and its parent, who knows which one it was when the child dies,
takes too long or wants too much.

An input is made from (seed, kind, number), so a number is all that has to be written down before it is run.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol

__all__ = ["CPU_S", "MEMORY_BYTES", "Failure", "Kind", "Tally", "supervise"]

CPU_S, WALL_S, MEMORY_BYTES = 5.0, 90.0, 2**30
#: A child is replaced after so many inputs, lest a small leak adds up to a failure of some later one.
_INPUTS_A_CHILD = 20_000
_STATE = struct.Struct("<qd")


class Kind(Protocol):
    """A kind of input: how one is made, and what is done with it. `run` raises if that shows a fault."""

    name: str

    def make(self, rng: Random) -> bytes: ...

    def run(self, payload: bytes, folder: Path) -> str: ...


@dataclass(frozen=True)
class Failure:
    """An input that showed a fault: `what` says which, the same for all that are alike."""

    kind: str
    what: str
    payload: bytes
    details: str = ""

    @property
    def file_name(self) -> str:
        return f"{self.kind}-{hashlib.sha256(self.payload).hexdigest()[:12]}"


@dataclass
class Tally:
    """How many inputs of each kind ended how."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: dict[str, Failure] = field(default_factory=dict)
    alike: Counter[str] = field(default_factory=Counter)
    peak_bytes: int = 0

    def add(self, failure: Failure) -> None:
        key = f"{failure.kind}: {failure.what}"
        self.alike[key] += 1
        self.failures.setdefault(key, failure)

    def by_kind(self) -> dict[str, dict[str, int]]:
        kinds: dict[str, dict[str, int]] = {}
        for (kind, outcome), count in sorted(self.outcomes.items()):
            kinds.setdefault(kind, {})[outcome] = count
        return {kind: {"inputs": sum(ends.values()), **ends} for kind, ends in kinds.items()}


def supervise(kinds: Sequence[Kind], *, seed: str, until: float, first: int = 0, most: int | None = None) -> Tally:
    """Run inputs, one after the other and kinds in turn, until a time (monotonic) or `most` of them."""
    tally, number = Tally(), first
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    # the parent's folder: a child that is killed could not remove its own
    with mmap.mmap(-1, _STATE.size) as state, tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory) as folder:
        while time.monotonic() < until and (most is None or number - first < most):
            last = number + _INPUTS_A_CHILD if most is None else min(number + _INPUTS_A_CHILD, first + most)
            number = _one_child(kinds, seed, number, last, until, state, tally, Path(folder))
    return tally


def payload_of(kinds: Sequence[Kind], seed: str, number: int) -> tuple[Kind, bytes]:
    """The input of a number."""
    kind = kinds[number % len(kinds)]
    return kind, kind.make(Random(f"{seed}/{kind.name}/{number}"))


def _one_child(
    kinds: Sequence[Kind],
    seed: str,
    number: int,
    last: int,
    until: float,
    state: mmap.mmap,
    tally: Tally,
    folder: Path,
) -> int:
    """Inputs from `number` on in one child; returns the number to go on with."""
    state[:] = _STATE.pack(number, 0.0)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _child(kinds, seed, number, last, until, state, writing, folder)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        os.set_blocking(told.fileno(), False)
        ended = _watch(pid, state, told, lambda line: _hear(line, kinds, seed, tally))
    if ended is None:
        return _STATE.unpack(state[:])[0]
    number = _STATE.unpack(state[:])[0]
    kind, payload = payload_of(kinds, seed, number)
    tally.outcomes[kind.name, "FAILED"] += 1
    tally.add(Failure(kind.name, ended, payload))
    return number + 1


def _watch(pid: int, state: mmap.mmap, told: Any, hear: Callable[[bytes], None]) -> str | None:
    """Wait for the child; None if it ended well, else what it died of."""
    rest, before, since = b"", -1, time.monotonic()
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        rest += told.read() or b""
        *lines, rest = rest.split(b"\n")
        for line in lines:
            hear(line)
        if found:
            if os.WIFSIGNALED(status):
                return f"signal {signal.Signals(os.WTERMSIG(status)).name}"
            return None if os.WEXITSTATUS(status) == 0 else f"exit {os.WEXITSTATUS(status)}"
        number, begun = _STATE.unpack(state[:])
        if number != before:
            before, since = number, time.monotonic()
        elif _cpu_seconds(pid) - begun > CPU_S or time.monotonic() - since > WALL_S:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return f"more than {CPU_S:g} s"
        time.sleep(0.1)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _hear(line: bytes, kinds: Sequence[Kind], seed: str, tally: Tally) -> None:
    message = json.loads(line)
    if "failed" in message:
        kind, payload = payload_of(kinds, seed, message["failed"])
        tally.outcomes[kind.name, "FAILED"] += 1
        tally.add(Failure(kind.name, message["what"], payload, message["details"]))
    else:
        for kind_name, outcome, count in message["outcomes"]:
            tally.outcomes[kind_name, outcome] += count
        tally.peak_bytes = max(tally.peak_bytes, message["peak_bytes"])


def _child(
    kinds: Sequence[Kind],
    seed: str,
    number: int,
    last: int,
    until: float,
    state: mmap.mmap,
    writing: int,
    folder: Path,
) -> None:
    code = 1
    try:
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, used + MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        warnings.simplefilter("error")  # a line on stderr that nobody asked for
        with os.fdopen(writing, "w", encoding="utf-8") as telling:
            _run_all(kinds, seed, number, last, until, state, telling, folder)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _run_all(
    kinds: Sequence[Kind],
    seed: str,
    number: int,
    last: int,
    until: float,
    state: mmap.mmap,
    telling: Any,
    folder: Path,
) -> None:
    outcomes: Counter[tuple[str, str]] = Counter()
    begun = _resident()

    def tell() -> None:
        told = [[kind, outcome, count] for (kind, outcome), count in outcomes.items()]
        outcomes.clear()
        print(json.dumps({"outcomes": told, "peak_bytes": _resident() - begun}), file=telling, flush=True)

    while number < last and time.monotonic() < until:
        kind, payload = payload_of(kinds, seed, number)
        state[:] = _STATE.pack(number, time.process_time())
        try:
            outcomes[kind.name, kind.run(payload, _emptied(folder))] += 1
        except Exception as error:
            found = {"failed": number, "what": described(error), "details": traceback.format_exc()[-3000:]}
            print(json.dumps(found), file=telling, flush=True)
        number += 1
        tell()  # now: it might not live to tell later
    state[:] = _STATE.pack(number, time.process_time())
    tell()


def described(error: BaseException) -> str:
    """The kind of an error and the innermost of our own lines: the same for inputs that fail alike."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if "geoelastic" in frame.filename or "reference" in frame.filename or "fuzz" in frame.filename:
            return f"{type(error).__name__} at {'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno}"
    return type(error).__name__


def _emptied(folder: Path) -> Path:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    return folder


def _resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
