# SPDX-License-Identifier: Apache-2.0
"""Cost per location as the map grows: parts of `synthetic:country` up to all of it, built in tiles on 2 processes.

Masses are those of the whole country, cut from its middle, so that the land is the same at every size. Processor time
is that of the jobs, in whichever process they ran, after a tiny build that loads compiled code; a location's share of
it is what must stay flat. The last row is about reports from the largest metric, each with the metric opened anew and
no tile in memory.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import FrameError
from ..mass import Mass
from ..mechanism.tiled import TiledMechanism
from ..metric.tiled_metric import open_tiles
from ..metric.tiles import MIN_TILE_CELLS
from ..progress import progress_bar
from ..scale import DEFAULT_TILE, DaskEngine, Engine, Job, build_tiles
from ._tools import markdown, peak_gb, synthetic_mass

__all__ = ["run"]

SIDES = (500, 1000, 2000, 5000)
WORKERS = 2
REPORTS = 40
_TINY = 200


def run(
    *,
    progress: bool = False,
    sides: Sequence[int] = SIDES,
    tile: int = DEFAULT_TILE,
    engine: Engine | None = None,
    reports: int = REPORTS,
) -> dict[str, Any]:
    """One row a size; `to_first` is the processor time per location against that of the first size."""
    mass = synthetic_mass("country", max(sides))
    rows: list[dict[str, Any]] = []
    cluster = DaskEngine(workers=WORKERS) if engine is None else nullcontext(engine)
    with cluster as chosen, tempfile.TemporaryDirectory() as folder:
        clock = _Clock(chosen)
        build_tiles(_middle(mass, min(_TINY, *sides)), f"{folder}/tiny", tile=MIN_TILE_CELLS, engine=clock)
        with progress_bar("bench scale", len(sides), show=progress) as bar:
            for side in sides:
                bar.update(len(rows), note=f"{side} x {side}")
                rows.append(_row(_middle(mass, side), f"{folder}/{side}", tile, clock, rows))
        rows.append({"cells": sides[-1] ** 2} | _cold_reports(f"{folder}/{sides[-1]}", reports))
    return {"rows": rows, "text": markdown(rows)}


class _Clock:
    """An engine that adds up the processor time of its jobs."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.cpu_s = engine, 0.0

    def run(self, jobs: Sequence[Job]) -> Iterable[tuple[str, dict[str, Any]]]:
        clocked = [replace(job, function=partial(_clocked, job.function)) for job in jobs]
        for key, told in self._engine.run(clocked):
            self.cpu_s += told["cpu_s"]
            yield key, told["summary"]


def _clocked(function: Callable[[dict[str, Any]], dict[str, Any]], spec: dict[str, Any]) -> dict[str, Any]:
    begun = time.process_time()
    summary = function(spec)
    return {"summary": summary, "cpu_s": time.process_time() - begun}


def _middle(mass: Mass, side: int) -> Mass:
    low = (mass.grid.rows - side) // 2
    part = mass.cells[low : low + side, low : low + side]
    return Mass.from_array(part, cell_m=mass.grid.cell_m, origin=(mass.grid.area.lat, mass.grid.area.lon))


def _row(mass: Mass, folder: str, tile: int, clock: _Clock, rows: list[dict[str, Any]]) -> dict[str, Any]:
    wall, cpu = time.perf_counter(), clock.cpu_s
    metric = build_tiles(mass, folder, tile=tile, engine=clock)
    wall, cpu = time.perf_counter() - wall, clock.cpu_s - cpu
    each = 1e6 * cpu / metric.n
    certificate = metric.certificate
    return {
        "cells": mass.cells.size,
        "locations": metric.n,
        "tiles": certificate["tiles"]["number"],
        "seconds": round(wall, 1),
        "cpu_s": round(cpu, 1),
        "cpu_us_per_location": round(each, 1),
        "to_first": round(each / rows[0]["cpu_us_per_location"], 2) if rows else 1.0,
        "violations": certificate["violations"],
        "mean_ratio": round(certificate["ratio"]["mean"], 3),
        "driver_GB": round(peak_gb(), 2),
    }


def _cold_reports(folder: str, reports: int) -> dict[str, Any]:
    """Median time of one report from a place anywhere on the map, and how many tiles it opened."""
    rng = np.random.Generator(np.random.PCG64(1))
    times: list[float] = []
    opened: list[int] = []
    while len(times) <= reports:
        metric = open_tiles(folder)
        mechanism = TiledMechanism(metric)
        place = metric.grid.cell_to_latlon(rng.integers(metric.grid.rows), rng.integers(metric.grid.cols))
        begin = time.perf_counter()
        try:
            mechanism.sanitize(*(float(part) for part in place))
        except FrameError:
            continue
        times.append(1000 * (time.perf_counter() - begin))
        opened.append(len(metric.opened))
    # the first one loads what is compiled
    return {"cold_report_ms": round(float(np.median(times[1:])), 1), "tiles_opened": float(np.median(opened[1:]))}
