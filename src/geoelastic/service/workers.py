# SPDX-License-Identifier: Apache-2.0
"""Several processes that answer at one address, each a copy of the first: they share the maps that it has loaded."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from ..errors import InputError

#: One that died is made again, but not faster than this.
_PAUSE_S = 1.0


def require_workers(count: int) -> int:
    """Refuse what this system cannot do, before anything is loaded."""
    if count > 1 and not hasattr(os, "fork"):
        raise InputError("'workers' must be 1 where processes cannot be copied (Windows); run several services instead")
    return count


def run_workers(count: int, work: Callable[[int], Any]) -> None:
    """Call work(0), ..., work(count - 1), each in a process of its own, until this one is told to stop (SIGTERM,
    Ctrl-C); they are told then, and waited for. One that ends before that is begun again."""
    running: dict[int, int] = {}
    stopping = False

    def stop(*_: Any) -> None:
        nonlocal stopping
        stopping = True
        for pid in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        for place in range(count):
            running[_begin(work, place, before)] = place
        while running:
            pid, _ = os.wait()
            place = running.pop(pid, -1)
            if place >= 0 and not stopping:
                time.sleep(_PAUSE_S)
                if not stopping:
                    running[_begin(work, place, before)] = place
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _begin(work: Callable[[int], Any], place: int, handlers: dict[Any, Any]) -> int:
    """The number of a new process that does this part of the work and nothing else."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        work(place)
        code = 0
    except KeyboardInterrupt:
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)  # what the first process would do at its end is not for its copies
