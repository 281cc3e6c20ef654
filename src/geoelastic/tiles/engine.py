# SPDX-License-Identifier: Apache-2.0
"""Where the jobs of a tiled build run: on Dask (a cluster, or processes of this machine), or in this very process.

A job is a function of files that writes files; what it returns is small. Where and when it runs, and how often, has
no influence on what it writes. The jobs of one call do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from ..errors import CheckError, MissingExtraError, require_count

Summary = dict[str, Any]
#: A task is tried again on another worker when its worker dies; one that kills this many workers is at fault itself.
_LIVES = 8


@dataclass(frozen=True)
class Job:
    """`function(spec)`, of which `key` holds a hash of all that the result depends on."""

    key: str
    function: Callable[[dict[str, Any]], Summary]
    spec: dict[str, Any]


class Engine(Protocol):
    """Runs jobs and yields (key, summary) as they finish."""

    def run(self, jobs: Sequence[Job]) -> Iterable[tuple[str, Summary]]: ...


class InlineEngine:
    """One job after the other in this process, in the order given or, with a `seed`, in any order."""

    def __init__(self, *, seed: int | None = None) -> None:
        self._rng = None if seed is None else np.random.default_rng(seed)

    def run(self, jobs: Sequence[Job]) -> Iterable[tuple[str, Summary]]:
        order = range(len(jobs)) if self._rng is None else self._rng.permutation(len(jobs))
        for k in order:
            yield jobs[k].key, jobs[k].function(jobs[k].spec)


class DaskEngine(AbstractContextManager["DaskEngine"]):
    """Jobs as tasks of dask.distributed: on the scheduler at `cluster`, or on `workers` processes of this machine."""

    def __init__(self, *, workers: int | None = None, cluster: str | None = None) -> None:
        try:
            import dask
            import distributed
        except ImportError:
            raise MissingExtraError("dask.distributed", "scale") from None
        if workers is not None:
            require_count("workers", workers)
        self._settings = dask.config.set({"distributed.scheduler.allowed-failures": _LIVES})
        self._local = None
        if cluster is None:
            self._local = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",
                silence_logs=50,
            )
        self.client = distributed.Client(cluster if self._local is None else self._local, set_as_default=False)

    def run(self, jobs: Sequence[Job]) -> Iterable[tuple[str, Summary]]:
        import distributed

        futures = [self.client.submit(job.function, job.spec, key=job.key, pure=True) for job in jobs]
        try:
            for future in distributed.as_completed(futures, loop=self.client.loop):
                yield future.key, future.result()
        except distributed.scheduler.KilledWorker as error:
            raise CheckError(
                f"a tile ended {_LIVES} workers in a row, most likely for want of memory: use smaller tiles or fewer "
                f"workers a machine ({error.task})"
            ) from None
        finally:
            self.client.cancel(futures)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        if self._local is not None:
            self._local.close()
        self._settings.__exit__(None, None, None)
