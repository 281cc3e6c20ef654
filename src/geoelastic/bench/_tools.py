# SPDX-License-Identifier: Apache-2.0
"""What measurements share: a clock, a process of its own, a table, a warm-up."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import InputError
from ..mass import Mass, mass_from_quality
from ..mechanism import ElasticMechanism
from ..metric import AnyMetric, Metric, build_metric
from ..metric.totals import in_walking_order
from ..progress import Bar, progress_bar
from ..quality import synthetic_quality

Value = TypeVar("Value")


@dataclass(frozen=True)
class Timed(Generic[Value]):
    """A result with the seconds it took, by the wall and of processors; of a process also its memory at the peak."""

    value: Value
    wall_s: float
    cpu_s: float
    peak_mb: float = 0.0


def timed(function: Callable[[], Value]) -> Timed[Value]:
    """Call `function` and time it."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = function()
    return Timed(value, time.perf_counter() - wall, time.process_time() - cpu)


def spawn(command: Sequence[str], **environment: str) -> Timed[str]:
    """Run a process to its end: what it said. One that fails cannot be measured."""
    begin = time.perf_counter()
    quiet, env = subprocess.DEVNULL, {**os.environ, **environment}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True, env=env) as process:
        assert process.stdout is not None
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise InputError(f"{Path(command[0]).name} could not be measured: it ended with code {process.returncode}")
    return Timed(out, time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def apart(function: Callable[..., Value], *arguments: Any) -> Value:
    """Call `function` in a process of its own, which holds nothing of what this one has made."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        return fresh.submit(function, *arguments).result()


def data_folder() -> Path:
    """Where real data lie: the folder in GEOELASTIC_DATA, or beside the project."""
    return Path(os.environ.get("GEOELASTIC_DATA", "../shared/data"))


def reset_peak() -> None:
    """From now on `peak_gb` is about what comes; where the system cannot do that, about all of the process."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def kept_in(folder: str | None) -> AbstractContextManager[str]:
    """A folder to keep what was built in, or one that is gone afterwards."""
    return tempfile.TemporaryDirectory() if folder is None else nullcontext(folder)


def places_by_mass(metric: AnyMetric, count: int, *, seed: int, again: bool = False) -> IntArray:
    """Locations that can be secrets, drawn by mass; each at most once, unless `again`."""
    weights = np.where(metric.secret, metric.mass, 0)
    rng = np.random.Generator(np.random.PCG64(seed))
    count = count if again else min(count, int(np.count_nonzero(weights)))
    return rng.choice(weights.size, size=count, replace=again, p=weights / weights.sum())


def places_at_even_steps(metric: Metric, count: int) -> IntArray:
    """Locations that can be secrets, at even steps of the mass along the map's curve: every part of the map, and every
    kind of place, has its share of them, so that means over them leave less to chance than of places that are drawn.
    Where a location has more than a step of mass it comes more than once."""
    walk = in_walking_order(metric.locations, metric.graph, metric.secret & (metric.fence == 0))
    ends = np.cumsum(metric.mass[walk])
    places: IntArray = walk[np.searchsorted(ends, (np.arange(count) + 0.5) / count * ends[-1])]
    return places


def errors_at(metric: AnyMetric, places: IntArray) -> FloatArray:
    """Expected metres between some locations and their reports."""
    return ElasticMechanism(metric).expected_errors(locations=places)["mean"]


def latlon_by_mass(metric: AnyMetric, count: int, *, again: bool = False) -> list[tuple[float, float]]:
    """(lat, lon) of such locations, always the same."""
    return [metric.latlon(int(i)) for i in places_by_mass(metric, count, seed=1, again=again)]


def peak_gb() -> float:
    """The most memory this process has held since `reset_peak`."""
    with suppress(OSError, IndexError):
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e9
    return _most_gb(resource.RUSAGE_SELF)


def peak_gb_of_processes() -> float:
    """The most memory that any one of the processes has held that this one started and has seen end."""
    return _most_gb(resource.RUSAGE_CHILDREN)


def _most_gb(whose: int) -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(whose).ru_maxrss * unit / 1e9


#: Told a note, a measurement's next step begins; `of`: how many there are in all, which the first must say.
Tell = Callable[..., None]


def quiet(note: str, *, of: int = 1) -> None:
    """Nobody looks."""


@contextmanager
def steps(title: str, *, show: bool) -> Iterator[Tell]:
    """A bar for the steps of a measurement, from the first one on; before that it may show bars of its own."""
    bars, done = list[Bar](), count()

    def tell(note: str, *, of: int = 1) -> None:
        if not bars:
            bars.append(stack.enter_context(progress_bar(title, of, show=show)))
        bars[0].update(next(done), note=note)

    with ExitStack() as stack:
        yield tell


@cache
def warm_up() -> float:
    """Seconds that compiling (or loading compiled) kernels takes: told apart, and never inside a measurement."""

    def everything() -> None:
        mass = synthetic_mass("city", 24)
        for method in ("paper", "conformal"):
            metric = build_metric(mass, method=method, l_top=0.8)
            mechanism = ElasticMechanism(metric)
            mechanism.expected_errors()
            mechanism.sample(int(metric.secret.argmax()))
            mechanism.sample_cells(np.flatnonzero(metric.secret)[:9])

    return timed(everything).wall_s


def synthetic_mass(name: str, side: int) -> Mass:
    """The mass of a made-up map of `side` x `side` cells of 100 m."""
    return mass_from_quality(synthetic_quality(name, rows=side, cols=side))


def stopwatch() -> Callable[[], dict[str, float]]:
    """Begins to count; called, tells the seconds by the wall, and of this process and those it waited for."""

    def spent() -> float:
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system

    wall, cpu = time.perf_counter(), spent()
    return lambda: {"wall_s": round(time.perf_counter() - wall, 1), "cpu_s": round(spent() - cpu, 1)}


def synthetic_metric(name: str, side: int, *, sharpened: bool = True) -> Metric:
    """The default build of a made-up map."""
    return build_metric(synthetic_mass(name, side), sharpen=sharpened)


def quantity(what: str, value: Any, unit: str, target: str | None = None) -> dict[str, Any]:
    """The row of a measurement that has one figure a row, and maybe a target for it."""
    return {"what": what, "value": value, "unit": unit} | ({} if target is None else {"target": target})


def beside_targets(rows: Sequence[dict[str, Any]], *, of: str = "") -> list[tuple[str, str, str]]:
    """The summary of such rows: those that there is a target for."""
    kept = [row for row in rows if "target" in row]
    return [(of + row["what"], row["target"], f"{row['value']} {row['unit']}".strip()) for row in kept]


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as a Markdown table; a column is there if some row has it."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(column.replace("_", " ") for column in columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(_shown(row.get(column, "")) for column in columns) + " |" for row in rows]
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
