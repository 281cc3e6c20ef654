# SPDX-License-Identifier: Apache-2.0
"""Children that run one damaged input after the other, and their parent, who knows which one it was when a child dies,
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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
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


def supervise(
    kinds: Sequence[Kind], *, seed: str, until: float, first: int = 0, most: int | None = None, jobs: int = 1
) -> Tally:
    """Run inputs, kinds in turn, in so many children at once, until a time (monotonic) or `most` of them."""
    tally, end = Tally(), None if most is None else first + most
    size = _INPUTS_A_CHILD if most is None else min(_INPUTS_A_CHILD, -(-most // jobs))
    waiting, running = _blocks(first, end, size), list[_Child]()
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    # the parent's folder: a child that is killed could not remove its own
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory) as folder:
        while True:
            while len(running) < jobs and time.monotonic() < until and (block := next(waiting, None)):
                running.append(_Child(kinds, seed, block, until, Path(folder)))
            if not running:
                return tally
            time.sleep(0.05)
            for child in [child for child in running if child.ended(tally)]:
                running.remove(child)
                if child.left:
                    waiting = chain([child.left], waiting)


def _blocks(first: int, end: int | None, size: int) -> Iterator[range]:
    while end is None or first < end:
        yield range(first, first + size if end is None else min(first + size, end))
        first += size


def payload_of(kinds: Sequence[Kind], seed: str, number: int) -> tuple[Kind, bytes]:
    """The input of a number."""
    kind = kinds[number % len(kinds)]
    return kind, kind.make(Random(f"{seed}/{kind.name}/{number}"))


class _Child:
    """A process that runs a block of inputs in a folder of its own, and what its parent knows of it."""

    def __init__(self, kinds: Sequence[Kind], seed: str, block: range, until: float, folder: Path) -> None:
        self._kinds, self._seed, self._block = kinds, seed, block
        self.left = range(0)
        self._state = mmap.mmap(-1, _STATE.size)
        self._state[:] = _STATE.pack(block.start, 0.0)
        self._rest, self._before, self._since = b"", -1, time.monotonic()
        own = Path(tempfile.mkdtemp(dir=folder))
        reading, writing = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(reading)
            _child(kinds, seed, block, until, self._state, writing, own)
        os.close(writing)
        os.set_blocking(reading, False)
        self._told = os.fdopen(reading, "rb")

    def ended(self, tally: Tally) -> bool:
        """Hear what it has to say; whether it has ended. Then `left` is what it has not come to."""
        found, status = os.waitpid(self._pid, os.WNOHANG)
        self._hear(tally)
        number, begun = _STATE.unpack(self._state[:])
        if found:
            self._end(tally, number, _died_of(status))
        elif number != self._before:
            self._before, self._since = number, time.monotonic()
        elif _cpu_seconds(self._pid) - begun > CPU_S or time.monotonic() - self._since > WALL_S:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._end(tally, number, f"more than {CPU_S:g} s")
            return True
        return bool(found)

    def _end(self, tally: Tally, number: int, died_of: str) -> None:
        if died_of:
            kind, payload = payload_of(self._kinds, self._seed, number)
            tally.outcomes[kind.name, "FAILED"] += 1
            tally.add(Failure(kind.name, died_of, payload))
            self.left = range(number + 1, self._block.stop)
        self._told.close()
        self._state.close()

    def _hear(self, tally: Tally) -> None:
        *lines, self._rest = (self._rest + (self._told.read() or b"")).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "failed" in message:
                kind, payload = payload_of(self._kinds, self._seed, message["failed"])
                tally.outcomes[kind.name, "FAILED"] += 1
                tally.add(Failure(kind.name, message["what"], payload, message["details"]))
            else:
                for kind_name, outcome, count in message["outcomes"]:
                    tally.outcomes[kind_name, outcome] += count
                tally.peak_bytes = max(tally.peak_bytes, message["peak_bytes"])


def _died_of(status: int) -> str:
    """What a process that ended died of; nothing if it ended well."""
    if os.WIFSIGNALED(status):
        return f"signal {signal.Signals(os.WTERMSIG(status)).name}"
    return "" if os.WEXITSTATUS(status) == 0 else f"exit {os.WEXITSTATUS(status)}"


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _child(
    kinds: Sequence[Kind], seed: str, block: range, until: float, state: mmap.mmap, writing: int, folder: Path
) -> None:
    code = 1
    try:
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, used + MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        warnings.simplefilter("error")  # a line on stderr that nobody asked for
        with os.fdopen(writing, "w", encoding="utf-8") as telling:
            _run_all(kinds, seed, block, until, state, telling, folder)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _run_all(
    kinds: Sequence[Kind], seed: str, block: range, until: float, state: mmap.mmap, telling: Any, folder: Path
) -> None:
    outcomes: Counter[tuple[str, str]] = Counter()
    begun = _resident()

    def tell() -> None:
        told = [[kind, outcome, count] for (kind, outcome), count in outcomes.items()]
        outcomes.clear()
        print(json.dumps({"outcomes": told, "peak_bytes": _resident() - begun}), file=telling, flush=True)

    for number in block:
        if time.monotonic() >= until:
            break
        kind, payload = payload_of(kinds, seed, number)
        state[:] = _STATE.pack(number, time.process_time())
        try:
            outcomes[kind.name, kind.run(payload, _emptied(folder))] += 1
        except Exception as error:
            found = {"failed": number, "what": described(error), "details": traceback.format_exc()[-3000:]}
            print(json.dumps(found), file=telling, flush=True)
        tell()  # now: it might not live to tell later


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
