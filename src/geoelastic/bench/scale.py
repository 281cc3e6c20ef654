# SPDX-License-Identifier: Apache-2.0
"""Cost per location as the map grows: parts of `synthetic:country` up to all of it, built in tiles on 2 processes.

Masses are those of the whole country, cut from its middle, so that the land is the same at every size. Processor time
is that of all processes; a location's share of it is what must stay flat. The last rows are reports from the largest
metric, each with the metric opened anew and no tile in memory.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FrameError
from ..mass import Mass
from ..mechanism.tiled import TiledMechanism
from ..metric.tiled_metric import open_tiles
from ..progress import progress_bar
from ..scale import DEFAULT_TILE, DaskEngine, Engine, build_tiles
from ._tools import markdown, peak_gb, synthetic_mass

__all__ = ["run"]

SIDES = (500, 1000, 2000, 5000)
WORKERS = 2
REPORTS = 40


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
    with tempfile.TemporaryDirectory() as folder, progress_bar("bench scale", len(sides), show=progress) as bar:
        for side in sides:
            bar.update(len(rows), note=f"{side} x {side}")
            rows.append(_row(_middle(mass, side), f"{folder}/{side}", tile, engine, rows))
        last = Path(folder) / str(sides[-1])
        rows.append({"cells": sides[-1] ** 2} | _cold_reports(str(last), reports))
    return {"rows": rows, "text": markdown(rows)}


def _middle(mass: Mass, side: int) -> Mass:
    low = (mass.grid.rows - side) // 2
    part = mass.cells[low : low + side, low : low + side]
    return Mass.from_array(part, cell_m=mass.grid.cell_m, origin=(mass.grid.area.lat, mass.grid.area.lon))


def _row(mass: Mass, folder: str, tile: int, engine: Engine | None, rows: list[dict[str, Any]]) -> dict[str, Any]:
    build = partial(build_tiles, mass, folder, tile=tile)
    wall, cpu = time.perf_counter(), _cpu_s()
    if engine is not None:
        metric = build(engine=engine)
    else:
        with DaskEngine(workers=WORKERS) as cluster:
            metric = build(engine=cluster)
    wall, cpu = time.perf_counter() - wall, _cpu_s() - cpu
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
        "largest_worker_GB": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9, 2),
    }


def _cpu_s() -> float:
    """Processor time of this process and of the children that have ended."""
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in parts)


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
