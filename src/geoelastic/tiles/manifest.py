# SPDX-License-Identifier: Apache-2.0
"""The manifest of a tiled metric: parameters, tiles, totals, and the certificate put together from all tiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..levels import units_to_level
from ..store.digest import Digest
from .parts import BLOCK_CELLS, PLACE_UNIT, measure_units, tile_weights
from .store import TileStore
from .tiling import TilePlan
from .window import centre_or_place, fence_of, later_arcs, tile_leaves

if TYPE_CHECKING:
    from .build_tiles import Run


def make_manifest(
    run: Run, info: dict[str, Any], margins: dict[int, int], update: dict[str, Any] | None,
    heights: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The content of the manifest of a build whose jobs are done."""
    layouts = run.summaries["lay_out"]
    first, tiles = 0, []
    for tile in range(run.plan.tiling.n):
        check = run.summaries["check"][tile]
        tiles.append({
            "tile": run.names["tile"][tile], "edges": run.names["link"][tile], "cells": run.names["cells"][tile],
            "first": first, "n": layouts[tile]["n"], "mass": layouts[tile]["mass"],
            "slope": check["slope"], "pace": check["pace"],
        })  # fmt: skip
        if run.plan.ascent:
            tiles[-1]["rises"] = run.names["rises"][tile]
        if heights is not None:
            tiles[-1] |= {"heights": heights["files"][tile], "low_slope": heights["slopes"][tile]}
        first += layouts[tile]["n"]
    return {
        "plan": run.plan.to_dict(),
        "n": first,
        "tiles": tiles,
        "measures": measures_told(run.store, run.plan, tiles),
        "blocks": blocks_told(run.store, run.plan, tiles),
        "identity": _identity(run, tiles),
        "certificate": _certificate(run, tiles, margins, update),
        "info": info,
        **({} if heights is None else {"relief": heights["relief"]}),
    }


def tidy_stages(run: Run, heights: dict[str, Any] | None) -> None:
    """Remove the stages of an earlier build. Those that this one was made from stay, for updates."""
    for missing in ("redraw", "raised", "raise"):
        run.names.setdefault(missing, {})
    run.names["whole"] = run.names["raise"] | ({} if heights is None else {1: heights["index"]})
    kept = {
        "cells": "cells", "layout": "lay_out", "place": "redraw", "solved": "solve", "patch": "stitch",
        "raised": "raised", "check": "check", "whole": "whole",
    }  # fmt: skip
    for folder, stage in kept.items():
        named = set(run.names[stage].values())
        for name in run.store.names(f"build/{folder}"):
            if name not in named:
                run.store.remove(name)


def measures_told(store: TileStore, plan: TilePlan, tiles: list[dict[str, Any]]) -> dict[str, Any]:
    """For each output measure: what its weights are relative to, how many units each block of cells has outside fences,
    and the hash of all, by which keyed reports know it."""
    columns = [store.read_table(tile["tile"])[0] for tile in tiles]
    densest = max(float((part["mass"] / 4.0 ** part["exponent"]).max()) for part in columns)
    n, blocks = _number(tiles), [-(-side // BLOCK_CELLS) for side in plan.grid.shape]
    measures = {}
    for output in ("mass", "uniform"):
        total = float(np.concatenate([tile_weights(part, output, densest) for part in columns]).sum())
        units, state = np.zeros(blocks, np.int64), Digest()
        for tile, part in enumerate(columns):
            leaves = tile_leaves(store, plan.tiling, tile, tiles[tile]["tile"], part["exponent"])
            where = leaves[:, 0] // BLOCK_CELLS, leaves[:, 1] // BLOCK_CELLS
            mine = measure_units(part, output, densest, total, n)
            state.add(mine)
            np.add.at(units, where, np.where(fence_of(part) > 0, 0, mine))
        measures[output] = {
            "densest": densest, "total": total, "block_units": units.tolist(), "sha256": state.text,
        }  # fmt: skip
    return measures


def blocks_told(store: TileStore, plan: TilePlan, tiles: list[dict[str, Any]]) -> list[list[int]]:
    """(least y, largest y, least x, largest x) of the places in each block of cells, in half cells, rounded apart."""
    shape = [-(-side // BLOCK_CELLS) for side in plan.grid.shape]
    low, high = np.full((2, *shape), np.inf), np.full((2, *shape), -np.inf)
    for tile, listed in enumerate(tiles):
        columns = store.read_table(listed["tile"])[0]
        leaves = tile_leaves(store, plan.tiling, tile, listed["tile"], columns["exponent"])
        where = leaves[:, 0] // BLOCK_CELLS, leaves[:, 1] // BLOCK_CELLS
        for axis, value in enumerate(centre_or_place(leaves, columns).T[::-1] / PLACE_UNIT):
            np.minimum.at(low[axis], where, value)
            np.maximum.at(high[axis], where, value)
    edges = np.floor(low[0]), np.ceil(high[0]), np.floor(low[1]), np.ceil(high[1])
    boxes: list[list[int]] = np.column_stack([edge.ravel() for edge in edges]).astype(np.int64).tolist()
    return boxes


def _number(tiles: list[dict[str, Any]]) -> int:
    return int(sum(tile["n"] for tile in tiles))


def _certificate(
    run: Run, tiles: list[dict[str, Any]], margins: dict[int, int], update: dict[str, Any] | None
) -> dict[str, Any]:
    checks = [run.summaries["check"][tile] for tile in range(len(tiles))]
    secrets = sum(summary["secrets"] for summary in run.summaries["lay_out"].values())
    checked = sum(check["checked"] for check in checks)
    violations = sum(check["violations"] for check in checks)
    plan = run.plan
    tiled: dict[str, Any] = {
        "number": len(tiles), "side_cells": plan.side, "windows_clipped": sum(check["clipped"] for check in checks),
        "margin_cells": [min(margins.values()), max(margins.values())],
        "at_seams": sum(summary["seam"] for summary in run.summaries["solve"].values()),
        "scales_lowered_at_seams": sum(summary["moved"] for summary in run.summaries["stitch"].values()),
    }  # fmt: skip
    if update is not None:
        tiled["update"] = update
    return {
        "ok": violations == 0 and checked == secrets,
        "checked": checked,
        "secret_outside_fences": secrets,
        "locations": _number(tiles),
        "edges": sum(check["edges"] for check in checks),
        "l_from": plan.l_from,
        "l_top": plan.l_top,
        "requirement": {k: v for k, v in plan.requirement.items() if k not in ("levels", "masses")},
        "violations": violations,
        "ratio": _ratio(checks),
        "fences": {"number": 0, "leaking_edges": 0, "not_closed": 0},
        "graph_sha256": _digest(run, tiles),
        "same_graph_as_certified": True,
        "tiles": tiled,
    }


def _ratio(checks: list[dict[str, Any]]) -> dict[str, Any]:
    means = np.concatenate([np.array(check["profile"], float) for check in checks])
    people = np.concatenate([np.array(check["people"], float) for check in checks])
    by_level = np.sum([check["by_level"] for check in checks], axis=0) / max(means.size, 1)
    return {
        "min": min(check["least"] for check in checks if check["least"] is not None),
        "median": float(np.median(means)),
        "mean": float(means.mean()),
        "mean_by_mass": float(np.average(means, weights=people)) if people.any() else None,
        "profiled": int(means.size),
        "levels": [round(float(level), 4) for level in units_to_level(np.array(checks[0]["probes"]))],
        "by_level": [round(float(value), 4) for value in by_level],
    }


def _digest(run: Run, tiles: list[dict[str, Any]]) -> str:
    """The hash that `verify` takes of the whole graph, worked out tile by tile."""
    state = Digest()
    for name in ("tail", "tip", "level", "mass"):
        for part in _column(run, tiles, name):
            state.add(part.astype("<i8"))
    for tile in tiles:
        state.add(bytes(8 * tile["n"]))
    return state.text


def _identity(run: Run, tiles: list[dict[str, Any]]) -> str:
    """The name that ledgers and sticky reports know a metric by (`Metric.identity`), tile by tile."""
    grid, n, state = run.plan.grid, _number(tiles), Digest()
    edges = sum(check["edges"] for check in run.summaries["check"].values())
    state.add(repr((grid.area, grid.cell_m, grid.rows, grid.cols, n)))
    kinds = {"mass": ("<i8", n), "fence": ("<i4", n), "size": ("<i4", n)}
    kinds |= dict.fromkeys(("tail", "tip", "level"), ("<i4", edges))
    for name, (dtype, count) in kinds.items():
        state.add(f"{dtype}{(count,)}")
        for part in _column(run, tiles, name):
            state.add(part.astype(dtype))
    return state.text[:32]


def _column(run: Run, tiles: list[dict[str, Any]], name: str) -> Iterator[npt.NDArray[Any]]:
    """One column of the whole metric, tile by tile: of its locations, or of its edges, each from its earlier end."""
    first = np.array([tile["first"] for tile in tiles], np.int64)
    for number, tile in enumerate(tiles):
        if name in ("mass", "size", "fence"):
            columns = run.store.read_table(tile["tile"], ["exponent", "mass"])[0]
            columns["size"] = np.left_shift(1, columns["exponent"].astype(np.int32))
            columns["fence"] = np.zeros(tile["n"], np.int32)
            yield columns[name]
        else:
            level = run.store.read_table(run.names["check"][number])[0]["level"]
            tail, other, tip, _ = later_arcs(run.plan.tiling, number, run.store.read_table(tile["edges"])[0])
            columns = {"tail": first[number] + tail, "tip": first[other] + tip, "level": level}
            yield columns[name][level >= 0]
