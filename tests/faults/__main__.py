# SPDX-License-Identifier: Apache-2.0
"""`./run faults --moments N`: work killed (SIGKILL) at N random moments each, and what is there then and after the same
command again.

Half of the moments are random times, half are the k-th change of the file system for a random k, which is where it
hurts. All runs are forks of this process, which has done each piece of work once: that is the result to compare with,
and nothing has to be imported or compiled again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from .subjects import SUBJECTS, Subject, tree

#: Events of Python's audit hooks that come before a change of the file system.
_CHANGES = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "shutil.rmtree")


def main() -> int:
    """Kill, look, repeat, compare; the exit code is 1 if anything was not as it must be."""
    parser = argparse.ArgumentParser(prog="./run faults", description=__doc__)
    parser.add_argument("--moments", type=int, default=20, help="moments for each piece of work (default: 20)")
    parser.add_argument("--only", choices=sorted(SUBJECTS), action="append", help="only this piece of work")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    options = parser.parse_args()
    results = {}
    for name in options.only or SUBJECTS:
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            results[name] = _kill_often(SUBJECTS[name](), Path(folder), options.moments, random.Random(options.seed))
        print(f"{name}: {json.dumps(results[name])}", file=sys.stderr, flush=True)
    print(json.dumps(results))
    return 1 if any(result["faults"] for result in results.values()) else 0


def _kill_often(subject: Subject, folder: Path, moments: int, rng: random.Random) -> dict[str, object]:
    subject.prepare(folder)
    done = folder / "reference"
    _set_out(subject, done)
    subject.run(done)
    _set_out(subject, again := folder / "again")
    begun = time.perf_counter()
    subject.run(again)
    seconds = time.perf_counter() - begun
    wanted, faults, killed, runs = tree(done), [], 0, 0
    changes = _count_changes(subject, folder / "counted")
    while killed < moments:
        runs += 1
        work = folder / f"work{runs}"
        _set_out(subject, work)
        by_time = killed % 2 == 0
        moment = rng.uniform(0, seconds) if by_time else rng.randrange(changes)
        begun = time.perf_counter()
        died = _fork(subject.run, work, after=moment if by_time else None, change=None if by_time else int(moment))
        killed += died
        if not died:  # it was faster than before; what it left is looked at all the same
            seconds = min(seconds, time.perf_counter() - begun)
        said = f"{'after' if by_time else 'at change'} {moment:.4g}{' s' if by_time else f' of {changes}'}"
        faults += [f"{said}: {fault}" for fault in subject.faults_when_killed(work, wanted)]
        if _fork(subject.run, work):
            faults.append(f"{said}: the second run died")
        faults += [f"{said}, again: {fault}" for fault in subject.faults_when_repeated(work, wanted)]
        shutil.rmtree(work)
    return {"killed": killed, "runs": runs, "changes": changes, "seconds": round(seconds, 3), "faults": faults}


def _set_out(subject: Subject, folder: Path) -> None:
    folder.mkdir()
    subject.set_out(folder)


def _fork(
    function: Callable[[Path], None], folder: Path, *, after: float | None = None, change: int | None = None
) -> bool:
    """Run in a process of its own, killed after some seconds or at a change of the file system; whether it was."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setsid()
            if change is not None:
                _die_at(folder, change)
            function(folder)
            code = 0
        finally:
            os._exit(code)
    if after is not None:
        deadline = time.monotonic() + after
        while time.monotonic() < deadline:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                return _died(status)
            time.sleep(0.0005)
        os.kill(pid, signal.SIGKILL)
    return _died(os.waitpid(pid, 0)[1])


def _died(status: int) -> bool:
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status) == signal.SIGKILL
    if os.WEXITSTATUS(status):
        raise SystemExit(f"the work itself failed with exit code {os.WEXITSTATUS(status)}")
    return False


def _is_change(folder: Path, event: str, arguments: tuple[object, ...]) -> bool:
    return event in _CHANGES and str(arguments[0]).startswith(str(folder))


def _die_at(folder: Path, change: int) -> None:
    left = change

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if _is_change(folder, event, arguments):
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.addaudithook(hook)


def _count_changes(subject: Subject, folder: Path) -> int:
    """How many changes of the file system a run makes; in a fork, since an audit hook stays."""
    _set_out(subject, folder)
    told = folder.with_suffix(".count")

    def counting(work: Path) -> None:
        seen = [0]

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            seen[0] += _is_change(work, event, arguments)

        sys.addaudithook(hook)
        subject.run(work)
        told.write_text(str(seen[0]), encoding="ascii")

    _fork(counting, folder)
    return int(told.read_text(encoding="ascii"))


if __name__ == "__main__":
    sys.exit(main())
