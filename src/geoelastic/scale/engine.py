# SPDX-License-Identifier: Apache-2.0
"""Where the jobs of a tiled build run: on Dask (a cluster, or processes of this machine), or in this very process.

A job is a function of files that writes files; what it returns is small. Where and when it runs, and how often, has
no influence on what it writes, so an engine only has to respect which job comes after which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from ..errors import CheckError, MissingExtraError, require_count

__all__ = ["DaskEngine", "Engine", "InlineEngine", "Job"]

Summary = dict[str, Any]
#: A task is tried again on another worker when its worker dies; one that kills this many workers is at fault itself.
_LIVES = 8


@dataclass(frozen=True)
class Job:
    """`function(spec)` once the jobs called `after` are done. `key` is a hash of all that the result depends on."""

    key: str
    function: Callable[[dict[str, Any]], Summary]
    spec: dict[str, Any]
    after: Sequence[str] = field(default=())


class Engine(Protocol):
    """Runs jobs and yields (key, summary) as they finish."""

    def run(self, jobs: Sequence[Job]) -> Iterable[tuple[str, Summary]]: ...


class InlineEngine:
    """One job after the other in this process, in the order given or, with a `seed`, in any order that is allowed."""

    def __init__(self, *, seed: int | None = None) -> None:
        self._rng = None if seed is None else np.random.default_rng(seed)

    def run(self, jobs: Sequence[Job]) -> Iterable[tuple[str, Summary]]:
        here = {job.key for job in jobs}
        left = list(jobs)
        done: set[str] = set()
        while left:
            ready = [k for k, job in enumerate(left) if all(key in done for key in job.after if key in here)]
            job = left.pop(ready[0] if self._rng is None else int(self._rng.choice(ready)))
            yield job.key, job.function(job.spec)
            done.add(job.key)


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
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
            )
        self.client = distributed.Client(cluster if self._local is None else self._local, set_as_default=False)

    def run(self, jobs: Sequence[Job]) -> Iterable[tuple[str, Summary]]:
        import distributed

        futures: dict[str, Any] = {}
        for job in jobs:
            after = [futures[key] for key in job.after if key in futures]
            futures[job.key] = self.client.submit(_call, job.function, job.spec, after, key=job.key, pure=True)
        try:
            for future in distributed.as_completed(list(futures.values()), loop=self.client.loop):
                yield future.key, future.result()
        except distributed.scheduler.KilledWorker as error:
            raise CheckError(
                f"a tile ended {_LIVES} workers in a row, most likely for want of memory: use smaller tiles or fewer "
                f"workers a machine ({error.task})"
            ) from None
        finally:
            self.client.cancel(list(futures.values()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        if self._local is not None:
            self._local.close()
        self._settings.__exit__(None, None, None)


def _call(function: Callable[[dict[str, Any]], Summary], spec: dict[str, Any], after: list[Any]) -> Summary:
    """`after` only makes the scheduler wait for it."""
    return function(spec)
