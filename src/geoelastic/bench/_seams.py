# SPDX-License-Identifier: Apache-2.0
"""A map in tiles beside the same map in one piece: expected errors at the seams, and the time of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..mass import Mass
from ..mechanism import ElasticMechanism
from ..metric import AnyMetric, Metric, build_metric
from ..metric.verify import verify
from ..randomness import SeededRandom
from ..tiles import Engine, build_tiles
from ..tiles.tiled_metric import TiledMetric, open_tiles
from ._tools import errors_at, places_by_mass, timed

#: Cells from the nearest seam; the last stretch has no end.
_STRETCHES = (0, 8, 32)


def both_ways(mass: Mass, folder: str, *, tile: int, engine: Engine, **levels: Any) -> tuple[TiledMetric, Metric]:
    """A map in tiles and in one piece; their locations are the same and have the same numbers."""
    return build_tiles(mass, folder, tile=tile, engine=engine, **levels), build_metric(mass, **levels)


def table_row(tiled: TiledMetric, whole: Metric, rows: int) -> dict[str, Any]:
    """The time of a table of places drawn by mass, from the map as it is opened and from the one in memory."""
    places = places_by_mass(whole, rows, seed=1, again=True)
    folder, seed = tiled.store.root, SeededRandom(1).bytes(32)
    taken = {}
    for name, opened in (("tiles", lambda: open_tiles(folder)), ("one_piece", lambda: whole)):
        ElasticMechanism(opened()).sample_cells(places[:300])  # loads what is compiled
        taken[name] = timed(lambda: ElasticMechanism(opened()).sample_cells(places, rng=SeededRandom(seed)))  # noqa: B023
    (ours, theirs), tiles = taken.values(), tiled.tiling.n
    return {
        "table_rows": rows, "locations": whole.n, "tiles": tiles,
        "in_tiles_s": round(ours.wall_s, 1), "in_tiles_cpu_s": round(ours.cpu_s, 1),
        "one_piece_s": round(theirs.wall_s, 1), "one_piece_cpu_s": round(theirs.cpu_s, 1),
        "cpu_ratio": round(ours.cpu_s / theirs.cpu_s, 2),
    }  # fmt: skip


def both_row(tiled: TiledMetric, whole: Metric, *, places: int = 100) -> dict[str, Any]:
    """Expected errors at places drawn by mass, and mean ratios by one verification (tiles have looked at others)."""
    some = places_by_mass(whole, places, seed=2, again=True)
    ours, theirs = (float(errors_at(metric, some).mean()) for metric in (tiled, whole))
    ratios = [round(verify(metric)["ratio"]["mean"], 3) for metric in (tiled, whole)]
    return {
        "places_by_mass": places, "in_tiles_m": round(ours), "one_piece_m": round(theirs),
        "error_ratio": round(ours / theirs, 4), "in_tiles_mean_ratio": ratios[0], "one_piece_mean_ratio": ratios[1],
    }  # fmt: skip


def seam_rows(tiled: TiledMetric, whole: Metric, *, places: int) -> list[dict[str, Any]]:
    """One row for each stretch of distances from the seams, with the errors at `places` random secrets there.

    `mean_error` compares the means over these places; `largest` is the largest difference at any of them.
    """
    away = _from_seams(whole, tiled.tiling.side)
    rng = np.random.Generator(np.random.PCG64(1))
    rows = []
    for low, high in zip(_STRETCHES, (*_STRETCHES[1:], np.inf), strict=True):
        inside = np.flatnonzero(whole.secret & (away >= low) & (away < high))
        some = np.sort(rng.permutation(inside)[:places])
        ours, theirs = (errors_at(metric, some) for metric in (tiled, whole))
        rows.append({
            "cells_from_a_seam": f"{low} to {high:g}" if np.isfinite(high) else f"{low} and more",
            "locations": inside.size,
            "places": some.size,
            "error_m": round(float(ours.mean())),
            "untiled_m": round(float(theirs.mean())),
            "mean_error_percent": round(100 * float(ours.mean() / theirs.mean() - 1), 3),
            "largest_percent": round(100 * float(np.abs(ours / theirs - 1).max()), 3),
        })  # fmt: skip
    return rows


def _from_seams(metric: AnyMetric, tile: int) -> FloatArray:
    """Cells between the centre of each location and the nearest seam."""
    at = metric.locations
    away = np.full(at.n, np.inf)
    for low, cells in ((at.row, metric.grid.rows), (at.col, metric.grid.cols)):
        centre = low + at.size / 2
        for seam in range(tile, cells, tile):
            np.minimum(away, np.abs(centre - seam), out=away)
    return away
