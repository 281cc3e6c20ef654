# SPDX-License-Identifier: Apache-2.0
"""Cost per location as the map grows: parts of `synthetic:country`, built in tiles on 2 processes.

Masses are those of the whole country, cut from its middle, so that the land is the same at every size. Processor time
is that of the jobs, in whichever process they ran, and of what is done for all of the map at once, raising edges and
finding heights, after a tiny build that loads compiled code; a location's share of it is what must stay flat. Then
reports from the largest metric, each cold: compiled code is loaded, but the metric is not open, no tile is in memory,
and the system has been asked to forget its files. With `seams`, a city built in tiles beside the same city in one
piece: its errors at the seams, and the time of a table of reports.

With a `folder`, a run that was stopped goes on where it was: what is built is not built again, and what it took is read
from the log beside it, in which all runs up to the one that ended add up. A run that is killed loses half a minute.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FrameError
from ..mass import Mass
from ..mechanism import ElasticMechanism
from ..tiles import DEFAULT_TILE, DaskEngine, Engine, Job, build_tiles
from ..tiles.folder import KINDS
from ..tiles.tiled_metric import TiledMetric, open_tiles
from ..tiles.tiling import MIN_TILE_CELLS
from ._seams import both_row, both_ways, seam_rows, table_row
from ._tools import Tell, apart, kept_in, markdown, peak_gb, quiet, synthetic_mass, timed

SIDES, WHOLE = (500, 1000, 2000), 5000
RECORDED = {"whole": True, "seams": True}
WORKERS = 2
REPORTS = 40
#: The city that is built both ways, and the tiles it is cut into.
SEAMS_SIDE, SEAMS_TILE, SEAMS_PLACES = 750, 256, 300
TABLE_ROWS = 100_000
_TINY = 200
#: What is asked for the steps of the country: seconds by the wall on two idle cores.
_ASKED = {"tiles to check": 600, "heights": 1200}
_TAKEN = ("wall_s", "cpu_s", "at_once_cpu_s", "driver_GB", "worker_GB")
#: The land of the Earth without Antarctica.
_LAND_KM2 = 135e6
#: Seconds between two lines of a log about the same step.
_BEAT = 30.0


def run(
    *,
    tell: Tell = quiet,
    whole: bool = False,
    seams: bool = False,
    folder: str | None = None,
    sides: Sequence[int] = SIDES,
    tile: int = DEFAULT_TILE,
    engine: Engine | None = None,
    reports: int = REPORTS,
) -> dict[str, Any]:
    """One row a size (with `whole`, up to the 25 million cells of the country), then reports, then seams.

    `to_first` is the processor time per location against that of the first size.
    """
    sizes = [*sides, WHOLE] if whole else list(sides)
    mass = synthetic_mass("country", WHOLE if whole else max(sizes))
    cluster = DaskEngine(workers=WORKERS) if engine is None else nullcontext(engine)
    with cluster as chosen, kept_in(folder) as place:
        rows = _sizes(mass, sizes, Path(place), tile, chosen, tell)
        steps = [{"step": name} | row for name, row in rows[-1].pop("steps").items()]
        # in a process of its own, like those who report: without a cluster and the map's mass in memory
        cold = apart(_cold_reports, f"{place}/{sizes[-1]}", reports)
        tables = [rows, steps, [{"cells": sizes[-1] ** 2} | cold]]
        if seams:
            city = synthetic_mass("paris", SEAMS_SIDE)
            ways = both_ways(city, f"{place}/seams", tile=SEAMS_TILE, engine=chosen)
            tables += [seam_rows(*ways, places=SEAMS_PLACES), [both_row(*ways)], [table_row(*ways, TABLE_ROWS)]]
    every = [row for table in tables for row in table]
    return {"rows": every, "text": "\n\n".join(map(markdown, tables)), "parts": parts(every)}


def parts(rows: list[dict[str, Any]]) -> dict[str, str]:
    """What all of the country took, a location of it, and what the land of the Earth would take at that pace."""
    largest = [row for row in rows if "to_first" in row][-1]
    if largest["cells"] != WHOLE**2:
        missing = "*not measured in this run: `geoelastic bench scale --whole`*"
        return dict.fromkeys(("country", "each", "planet"), missing)
    each_ms = largest["cpu_us_per_location"] / 1000
    hours = _LAND_KM2 * largest["locations"] / (WHOLE / 10) ** 2 * each_ms / 3.6e6
    memory = max(largest["driver_GB"], largest["worker_GB"])
    steps = ", ".join(f"{row['step']} {row['wall_s']:,.0f} s" for row in rows if "step" in row)
    country = (
        f"{largest['wall_s']:,.0f} s, {largest['cpu_s']:,.0f} s of processor time, at most {memory} GB in a process "
        f"({steps}); {largest['violations']} violations, mean ratio {largest['mean_ratio']}"
    )
    return {"country": country, "each": f"{each_ms:.2f} ms", "planet": f"{hours:,.0f} hours"}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Cost per location, a cold report, and the seams where they were looked at."""
    sizes = [row for row in rows if "to_first" in row]
    each = ", ".join(f"{row['cpu_us_per_location']:.0f}" for row in sizes)
    largest = sizes[-1]
    lines = [
        (f"cost per location, {sizes[0]['cells']:,} to {largest['cells']:,} cells", "flat",
         f"{each} µs of processor time; {largest['violations']} violations"),
        ("one report from the largest, cold", "50 ms",
         ", ".join(f"{row['cold_report_ms']} ms" for row in rows if "cold_report_ms" in row)),
    ]  # fmt: skip
    steps = {row["step"]: row for row in rows if "step" in row}
    if largest["cells"] == WHOLE**2 and {"tiles", "ascent", "check", "heights"} <= steps.keys():
        begun = sum(steps[name]["wall_s"] for name in ("tiles", "ascent", "check"))
        memory = f"{max(largest['driver_GB'], largest['worker_GB'])} GB a process at the most"
        lines += [
            ("country: tiles with a cartogram, raised and checked", f"{_ASKED['tiles to check']} s, 2 GB a process",
             f"{begun:.0f} s, {memory}; {largest['locations']:,} locations, {largest['violations']} violations"),
            ("country: heights, certified on every edge", f"{_ASKED['heights']} s more",
             f"{steps['heights']['wall_s']:.0f} s, {steps['heights']['cpu_s']:.0f} s of processor time"),
        ]  # fmt: skip
    seams = [row for row in rows if "largest_percent" in row]
    if seams:
        mean = ", ".join(f"{row['mean_error_percent']}" for row in seams)
        found = f"mean {mean} %, at most {max(row['largest_percent'] for row in seams)} % at any place"
        lines.append(("errors at the seams of tiles", "within 3 % of a build in one piece", found))
    lines += [
        ("errors and mean ratio, in tiles and in one piece", "1.02, and the same to 0.02",
         f"{row['error_ratio']} ({row['in_tiles_m']} and {row['one_piece_m']} m); "
         f"{row['in_tiles_mean_ratio']} and {row['one_piece_mean_ratio']}")
        for row in rows if "error_ratio" in row
    ]  # fmt: skip
    return lines + [
        (f"a table of {row['table_rows']:,} rows, in tiles / in one piece", "2",
         f"{row['cpu_ratio']} ({row['in_tiles_cpu_s']} and {row['one_piece_cpu_s']} s of processor time)")
        for row in rows if "table_rows" in row
    ]  # fmt: skip


def _sizes(
    mass: Mass, sizes: Sequence[int], folder: Path, tile: int, engine: Engine, tell: Tell
) -> list[dict[str, Any]]:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as tiny:
        build_tiles(_middle(mass, min(_TINY, *sizes)), tiny, tile=MIN_TILE_CELLS, engine=engine)
    rows: list[dict[str, Any]] = []
    for side in sizes:
        tell(f"{side} x {side}", of=len(sizes))
        with _Clock(engine, folder / f"{side}.jsonl", (folder / str(side) / "manifest.json").exists()) as clock:
            metric = build_tiles(
                _middle(mass, side), str(folder / str(side)), tile=tile, engine=clock, begins=clock.begins
            )
        rows.append(_row(metric, clock, rows))
        if side != sizes[-1]:
            del rows[-1]["steps"]
    return rows


class _Clock(AbstractContextManager["_Clock"]):
    """An engine that logs what its jobs take, and what each step takes by the wall and in the process that gives them
    out, which does what is for all of the map at once; so that it is known after a stop as well.

    Lines are ["job", key, step, processor seconds, GB] and ["step", run, step, seconds by the wall, processor seconds
    of this process beside jobs, GB]. The last line counts of each job, and of each step of each run. Of a map that was
    `built` before nothing is logged unless there is something to do.
    """

    def __init__(self, engine: Engine, log: Path, built: bool) -> None:
        self._engine, self._log, self._quiet, self._run = engine, log, built, time.time_ns()
        self._step: str | None = None
        self._since, self._inline, self._lock = (0.0, 0.0), 0.0, threading.Lock()
        self._ended = threading.Event()
        self._beat = threading.Thread(target=self._go_on, daemon=True)

    def __enter__(self) -> _Clock:
        self._beat.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._beat.join()
        self._tell()

    def _go_on(self) -> None:
        while not self._ended.wait(_BEAT):
            self._tell()

    def begins(self, step: str) -> None:
        """The step before ends, and this one begins."""
        self._tell()
        with self._lock:
            self._step, self._since, self._inline = step, (time.perf_counter(), time.process_time()), 0.0

    def _tell(self) -> None:
        with self._lock:
            if self._step is not None and not self._quiet:
                wall, cpu = time.perf_counter() - self._since[0], time.process_time() - self._since[1] - self._inline
                self._write(["step", self._run, self._step, wall, max(cpu, 0.0), peak_gb()])

    def _write(self, line: list[Any]) -> None:
        with self._log.open("a", encoding="utf-8") as log:
            print(json.dumps(line), file=log, flush=True)

    def run(self, jobs: Sequence[Job]) -> Iterable[tuple[str, dict[str, Any]]]:
        clocked = [replace(job, function=partial(_clocked, job.function)) for job in jobs]
        for key, told in self._engine.run(clocked):
            with self._lock:
                self._quiet = False
                self._write(["job", key, self._step, told["cpu_s"], told["GB"]])
                self._inline += told["cpu_s"] if told["process"] == os.getpid() else 0.0
            yield key, told["summary"]

    def taken(self) -> dict[str, dict[str, float]]:
        """Seconds by the wall, processor seconds of all and of this process, GB of the largest process: by step."""
        text = self._log.read_text(encoding="utf-8") if self._log.exists() else ""
        lines = [line for line in text.splitlines() if line.endswith("]")]  # the last one may be torn
        last = {tuple(line[1 : 2 if line[0] == "job" else 3]): line for line in map(json.loads, lines)}
        steps: dict[str, dict[str, float]] = {}
        for line in last.values():
            step = steps.setdefault(line[2], dict.fromkeys(_TAKEN, 0.0))
            if line[0] == "job":
                step["cpu_s"] += line[3]
                step["worker_GB"] = max(step["worker_GB"], line[4])
            else:
                step["wall_s"] += line[3]
                step["cpu_s"] += line[4]
                step["at_once_cpu_s"] += line[4]
                step["driver_GB"] = max(step["driver_GB"], line[5])
        return steps


def _clocked(function: Callable[[dict[str, Any]], dict[str, Any]], spec: dict[str, Any]) -> dict[str, Any]:
    begun = time.process_time()
    summary = function(spec)
    return {"summary": summary, "cpu_s": time.process_time() - begun, "process": os.getpid(), "GB": peak_gb()}


def _middle(mass: Mass, side: int) -> Mass:
    low = (mass.grid.rows - side) // 2
    part = mass.cells[low : low + side, low : low + side]
    return Mass.from_array(part, cell_m=mass.grid.cell_m, origin=(mass.grid.area.lat, mass.grid.area.lon))


def _row(metric: TiledMetric, clock: _Clock, rows: list[dict[str, Any]]) -> dict[str, Any]:
    steps = clock.taken()
    cpu_s, driver = (sum(step[name] for step in steps.values()) for name in ("cpu_s", "at_once_cpu_s"))
    each = 1e6 * cpu_s / metric.n
    cells = metric.grid.rows * metric.grid.cols
    certificate = metric.certificate
    return {
        "cells": cells,
        "locations": metric.n,
        "tiles": certificate["tiles"]["number"],
        "wall_s": round(sum(step["wall_s"] for step in steps.values()), 1),
        "cpu_s": round(cpu_s, 1),
        "at_once_cpu_s": round(driver, 1),
        "cpu_s_per_million_cells": round(1e6 * cpu_s / cells, 1),
        "cpu_us_per_location": round(each, 1),
        "to_first": round(each / rows[0]["cpu_us_per_location"], 2) if rows else 1.0,
        "violations": certificate["violations"],
        "mean_ratio": round(certificate["ratio"]["mean"], 3),
        "driver_GB": round(max((step["driver_GB"] for step in steps.values()), default=0.0), 2),
        "worker_GB": round(max((step["worker_GB"] for step in steps.values()), default=0.0), 2),
        "steps": {name: {key: round(value, 2) for key, value in step.items()} for name, step in steps.items()},
    }


def _cold_reports(folder: str, reports: int) -> dict[str, Any]:
    """Median time of one report from a place anywhere on the map, opening the metric included."""
    rng = np.random.Generator(np.random.PCG64(1))
    grid = open_tiles(folder).grid
    times: list[float] = []
    cpu: list[float] = []
    opened: list[int] = []
    while len(times) <= reports:
        cells = rng.integers(grid.rows), rng.integers(grid.cols)
        lat, lon = (float(part) for part in grid.cell_to_latlon(*cells))
        _forget_files(Path(folder))
        metric = timed(lambda: open_tiles(folder))
        try:
            report = timed(partial(ElasticMechanism(metric.value).sanitize, lat, lon))
        except FrameError:
            continue
        times.append(1000 * (metric.wall_s + report.wall_s))
        cpu.append(1000 * (metric.cpu_s + report.cpu_s))
        opened.append(len(metric.value.opened))
    # the first one loads what is compiled
    median, most = np.quantile(times[1:], [0.5, 0.9])
    return {
        "cold_report_ms": round(float(median), 1),
        "nine_in_ten_ms": round(float(most), 1),
        "cold_report_cpu_ms": round(float(np.median(cpu[1:])), 1),
        "tiles_opened": float(np.median(opened[1:])),
    }


def _forget_files(folder: Path) -> None:
    """Ask the system to read the files of a metric from the disk the next time, where it can be asked."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in [folder / "manifest.json", *(file for kind in KINDS.values() for file in folder.glob(f"{kind}/*"))]:
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
