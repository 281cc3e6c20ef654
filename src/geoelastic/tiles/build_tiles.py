# SPDX-License-Identifier: Apache-2.0
"""A metric built tile by tile: the jobs, their order, and the manifest that makes the result a metric.

    cells -> lay_out -> link -> redraw -> solve -> stitch (in turns) -> raise -> check -> sharpen -> carve -> manifest

Raising and sharpening are for all of the map at once (`whole_graph`), carving (`carve_tiles`) is for the tiles around
fences, the others are for a tile each.

Every file is named by a hash of all it is made from, so a build that was stopped at any moment goes on with what is
there, and a build of a map that changed in one place finds the rest done. The manifest is written last: a folder
without one is a build that did not end.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from .. import __version__
from ..arrays import IntArray
from ..context import Context
from ..errors import CheckError, InputError, require_able
from ..fences import read_fences
from ..levels import mass_to_units
from ..mass import Mass, Quadratic, Requirement
from ..metric.build import DEFAULT_L_FROM, _frame_cells, _require_mass
from ..metric.cartogram import evening_radius
from ..progress import Bar, progress_bar
from ..store.kept import kept_name
from . import stages
from .carve_tiles import carve_tiles
from .engine import DaskEngine, Engine, Job
from .folder import FOLDERS, files_of, write_context_file
from .manifest import make_manifest, tidy_stages
from .store import CachedStore, TileStore
from .tiled_metric import TiledMetric, open_tiles
from .tiling import MARGIN_CELLS, Box, TilePlan
from .whole_graph import find_heights, raise_edges

DEFAULT_TILE = 512
#: Secrets this far beyond a tile (in radii of the disc that l_top asks for) take part in its solution; and the window
#: is wide enough for their balls, which are not quite discs.
OVERLAP, REACH = 1.0, 2.5
#: Stages that each tile goes through before it is checked.
_STAGES = 5
BUILD_FOLDERS = ("cells", "layout", "place", "solved", "patch", "raised", "check", "whole", "passes")
#: Part of the secrets whose whole balls are measured for the statistics of m(B_l)/req(l).
PROFILE_SHARE = 1 / 150


def build_tiles(
    mass: Mass,
    output: str,
    *,
    requirement: Requirement | None = None,
    l_from: float = DEFAULT_L_FROM,
    l_top: float = math.log(6),
    frame: float = 0.03,
    tile: int = DEFAULT_TILE,
    cartogram: bool = True,
    ascent: bool = True,
    sharpen: bool = True,
    fences: Any = (),
    context: Context | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    engine: Engine | None = None,
    resume: bool = True,
    progress: bool = False,
    begins: Callable[[str], None] | None = None,
) -> TiledMetric:
    """Build a conformal metric over an adaptive layout tile by tile into the folder `output`, and verify it.

    `tile`: side of a tile in cells, a power of two. `cartogram`, `ascent`, `sharpen`: as for `build_metric`. `fences`
    (anything `read_fences` takes) are carved into the map when it is built (`carve`). `context` is drawn with its maps.
    `workers`: processes on this machine (default: one per core);
    `cluster`: the address of a Dask scheduler instead, whose workers must see `output` under the same name (a shared
    disk, or an address that fsspec knows). The result depends on neither. A build that was stopped goes on where it
    was, unless `resume` is False. `begins` is told the name of each step when it begins.
    """
    plan = make_tile_plan(
        mass, requirement or Quadratic(), l_from, l_top, frame, tile, cartogram=cartogram, ascent=ascent
    )
    store = TileStore(str(output))
    if not resume:
        _forget(store)
    cells = put_map(store, plan, mass_to_units(mass.cells))
    info = dict(mass.info) | {"built_with": f"geoelastic {__version__}"}
    return run_plan(
        store, plan, cells, info, sharpen=sharpen, workers=workers, cluster=cluster, engine=engine, progress=progress,
        begins=begins, fences=read_fences(fences),
        context=None if context is None else write_context_file(store, context),
    )  # fmt: skip


def make_tile_plan(
    mass: Mass,
    requirement: Requirement,
    l_from: float,
    l_top: float,
    frame: float,
    tile: int,
    *,
    cartogram: bool = True,
    ascent: bool = True,
) -> TilePlan:
    """The plan of a tiled build; refuses what cannot be built."""
    require_able("mass", mass, "cells", "a mass (ge.mass_from_quality or ge.Mass.from_array makes one)")
    plan = TilePlan(
        mass.grid, tile, requirement.to_dict(), l_from, l_top, _frame_cells(mass.grid, frame), ascent=ascent
    )
    if not plan.table.any():
        raise InputError("the requirement asks for no mass up to l_top: there is nothing to build")
    _ = plan.tiling
    _require_mass(int(mass_to_units(mass.cells).sum()), plan.table, requirement, l_top)
    if not cartogram:
        return plan
    return replace(plan, evening_cells=evening_radius(mass.cells, plan.scale_table), mean_mass=float(mass.cells.mean()))


def put_map(store: TileStore, plan: TilePlan, units: IntArray) -> dict[int, str]:
    """Keep the masses of all cells, tile by tile; the name of each tile's file tells its content."""
    names = {}
    for tile in range(plan.tiling.n):
        box = plan.tiling.box(tile)
        part = units[box.row : box.row_end, box.col : box.col_end]
        names[tile] = stages.put_cells(store, plan.tiling.name(tile), part)
    return names


def _forget(store: TileStore) -> None:
    for folder in (*FOLDERS, *(f"build/{name}" for name in BUILD_FOLDERS)):
        for name in store.names(folder):
            store.remove(name)
    store.remove("manifest.json")


@dataclass
class Run:
    """A build under way: where its files are, and what its jobs said."""

    store: TileStore
    plan: TilePlan
    engine: Engine
    bar: Bar
    names: dict[str, dict[int, str]] = field(default_factory=dict)
    summaries: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    reused: dict[str, int] = field(default_factory=dict)
    done: int = 0

    def stage(
        self,
        stage: str,
        function: Callable[[dict[str, Any]], dict[str, Any]],
        specs: dict[int, dict[str, Any]],
        folder: str,
    ) -> None:
        """One job for each tile in `specs`, unless its file is there already; in the end all have their summary."""
        names, summaries = self.names.setdefault(stage, {}), self.summaries.setdefault(stage, {})
        jobs, tiles, plan = [], {}, json.dumps(self.plan.to_dict(), sort_keys=True)
        for tile, spec in specs.items():
            name = names[tile] = self.file_of(folder, tile, stage, spec)
            found = self.store.summary(name)
            if found is not None and self._also_there(spec):
                summaries[tile] = found
                self.reused[stage] = self.reused.get(stage, 0) + 1
                self._step()
                continue
            full = spec | {"root": self.store.root, "plan": plan, "tile": tile, "output": name}
            jobs.append(Job(f"geoelastic-{name}", function, full))
            tiles[jobs[-1].key] = tile
        for key, summary in self.engine.run(jobs):
            summaries[tiles[key]] = summary
            self._step()

    def file_of(self, folder: str, tile: int, stage: str, spec: dict[str, Any]) -> str:
        """The file that a stage writes for a tile: by the plan, the version and the names of the files it reads."""
        told = {key: value for key, value in spec.items() if key != "patches"}  # `patched` tells what is in them
        return kept_name(f"{folder}/{self.plan.tiling.name(tile)}", stage, self.plan.to_dict(), told)

    def _also_there(self, spec: dict[str, Any]) -> bool:
        return "tile_output" not in spec or self.store.summary(spec["tile_output"]) is not None

    def _step(self) -> None:
        self.done += 1
        self.bar.update(self.done)

    def pick(self, stage: str, tiles: list[int]) -> dict[int, str]:
        """The files of some tiles."""
        return {tile: self.names[stage][tile] for tile in tiles}


def run_plan(
    store: TileStore,
    plan: TilePlan,
    cells: dict[int, str],
    info: dict[str, Any],
    *,
    sharpen: bool = True,
    workers: int | None = None,
    cluster: str | None = None,
    engine: Engine | None = None,
    progress: bool = False,
    update: dict[str, Any] | None = None,
    fences: Any = (),
    context: str | None = None,
    begins: Callable[[str], None] | None = None,
) -> TiledMetric:
    """Run all jobs that are not done yet, carve the fences and write the manifest."""
    step = begins or (lambda _: None)
    place = nullcontext(engine) if engine is not None else DaskEngine(workers=workers, cluster=cluster)
    with place as chosen:
        with progress_bar("tiles", plan.tiling.n * _STAGES, show=progress) as bar:
            step("tiles")
            run = Run(store, plan, chosen, bar, {"cells": cells})
            _layout_stages(run)
            margins = _solve_stage(run)
            meets = _stitch_stage(run, margins)
        if plan.ascent:
            step("ascent")
            run.names |= raise_edges(store, plan, _whole_spec(run), progress=progress)
        step("check")
        with progress_bar("check", plan.tiling.n, show=progress) as bar:
            run.bar, run.done = bar, 0
            _check_stage(run, margins, meets)
    failed = sum(summary["violations"] for summary in run.summaries["check"].values())
    if failed:
        raise CheckError(f"{failed} locations do not meet the requirement: the build is at fault, nothing was written")
    heights = None
    if sharpen:
        step("heights")
        rises = run.names["rises"] if plan.ascent else None
        heights = find_heights(store, plan, run.names["tile"], run.names["link"], rises, progress=progress)
        if "failed" in heights:
            warnings.warn(f"not sharpened: {heights['failed']}", stacklevel=3)
            heights = None
    step("manifest")
    content = make_manifest(run, info, margins, update, heights) | ({} if context is None else {"context": context})
    metric = TiledMetric(CachedStore(store.root), content)
    kept = files_of(metric.content)  # also without fences: with them, a later build of the same map begins with these
    shapes = read_fences(fences)
    if shapes:
        metric = carve_tiles(metric, shapes, sharpen=sharpen, workers=workers, progress=progress)
        # equal builds give equal files: nothing is said of how long it took
        metric.content["certificate"] = {k: v for k, v in metric.certificate.items() if k != "carve"}
    metric.write(store, keep=kept)
    tidy_stages(run, heights)
    return open_tiles(store.root)


def _whole_spec(run: Run) -> dict[str, Any]:
    """All files that a step for the whole map reads."""
    files = {"layout": "lay_out", "edges": "link", "solved": "solve"} | (
        {"place": "redraw"} if run.plan.redrawn else {}
    )
    tiles = list(range(run.plan.tiling.n))
    return {kind: run.pick(stage, tiles) for kind, stage in files.items()} | _patches(run, tiles)


def _layout_stages(run: Run) -> None:
    tiling = run.plan.tiling
    near = {tile: tiling.meeting(tiling.window(tile, MARGIN_CELLS)) for tile in range(tiling.n)}
    run.stage("lay_out", stages.lay_out, {t: {"cells": run.pick("cells", near[t])} for t in near}, "build/layout")
    run.stage("link", stages.link, {t: {"layout": run.pick("lay_out", near[t])} for t in near}, "edges")
    if run.plan.redrawn:
        margin = run.plan.redraw_margin_cells
        specs = {t: tiling.meeting(tiling.window(t, margin)) for t in near}
        run.stage(
            "redraw", stages.redraw,
            {t: {"cells": run.pick("cells", specs[t]), "layout": run.names["lay_out"][t]} for t in near}, "build/place",
        )  # fmt: skip
    if not any(summary["secrets"] for summary in run.summaries["lay_out"].values()):
        raise InputError("the map has no location outside its frame: use more cells or a smaller frame")


def _window_spec(run: Run, tile: int, margin: int, *kinds: str) -> dict[str, Any]:
    tiles = run.plan.tiling.meeting(run.plan.tiling.window(tile, margin))
    files = {"lay_out": "layout", "link": "edges", "solve": "solved", "redraw": "place"}
    known = [*kinds, "redraw"] if run.plan.redrawn else kinds
    return {"margin_cells": margin} | {files.get(kind, kind): run.pick(kind, tiles) for kind in known}


def _solve_stage(run: Run) -> dict[int, int]:
    """Solve every tile; where searches came to the rim of the window, again in a wider one. The margins in the end."""
    reach = {tile: _reach(run, tile) for tile in range(run.plan.tiling.n)}
    whole = max(run.plan.grid.shape)
    margins = {tile: max(MARGIN_CELLS, math.ceil(REACH * cells)) for tile, cells in reach.items()}
    todo = list(margins)
    while todo:
        specs = {
            tile: _window_spec(run, tile, margins[tile], "cells", "lay_out", "link")
            | {"overlap_cells": math.ceil(OVERLAP * reach[tile])}
            for tile in todo
        }
        run.stage("solve", stages.solve, specs, "build/solved")
        todo = [tile for tile in todo if run.summaries["solve"][tile]["clipped"] and margins[tile] < whole]
        margins |= {tile: 2 * margins[tile] for tile in todo}
    return margins


def _reach(run: Run, tile: int) -> int:
    """Radius in cells that holds the mass of l_top around every location of a tile."""
    found = run.summaries["lay_out"][tile]["reach_cells"]
    if found is not None:
        return int(found)
    tiling, need = run.plan.tiling, int(run.plan.table[-1])
    rings, box = 1, tiling.box(tile)
    while True:
        wide = rings * tiling.side
        around = tiling.clipped(Box(box.row - wide, box.col - wide, box.row_end + wide, box.col_end + wide))
        if sum(run.summaries["lay_out"][k]["mass"] for k in tiling.meeting(around)) >= need:
            return wide + tiling.side
        rings += 1


def _stitch_stage(run: Run, margins: dict[int, int]) -> dict[int, list[int]]:
    """Stitch in turns, so that windows that meet are never stitched at the same time; the tiles whose windows meet.

    Tiles `apart` tiles apart lie as far apart as the widest windows reach, 2 x margin rounded up: theirs do not meet.
    """
    tiling = run.plan.tiling
    windows = {tile: tiling.window(tile, margins[tile]) for tile in margins}
    apart = 1 + max(-(-2 * margin // tiling.side) for margin in margins.values())
    turn = {t: (tiling.places[t][0] % apart) * apart + tiling.places[t][1] % apart for t in margins}
    meets = {
        t: [k for k in _around(run, windows, t, max(margins.values())) if windows[k].meets(windows[t])] for t in margins
    }
    run.names.setdefault("stitch", {})
    for now in sorted(set(turn.values())):
        specs = {
            t: _window_spec(run, t, margins[t], "lay_out", "link", "solve")
            | _patches(run, [k for k in meets[t] if turn[k] < now])
            for t in margins
            if turn[t] == now
        }
        run.stage("stitch", stages.stitch, specs, "build/patch")
    return meets


def _check_stage(run: Run, margins: dict[int, int], meets: dict[int, list[int]]) -> None:
    """Check every tile, with the scales and edges that will be used."""
    checks = {}
    for tile in margins:
        if run.plan.ascent:
            spec = _window_spec(run, tile, margins[tile], "lay_out", "link", "raised", "rises")
        else:
            spec = _window_spec(run, tile, margins[tile], "lay_out", "link", "solve") | _patches(run, meets[tile])
        spec["profile"] = math.ceil(PROFILE_SHARE * run.summaries["lay_out"][tile]["secrets"])
        checks[tile] = spec | {"tile_output": run.file_of("tiles", tile, "tile", spec)}
    run.names["tile"] = {tile: spec["tile_output"] for tile, spec in checks.items()}
    run.stage("check", stages.check, checks, "build/check")


def _patches(run: Run, tiles: list[int]) -> dict[str, Any]:
    """The files in which some tiles lowered scales. What depends on them is named by what is in them, not by how they
    came about: a tile that had to be stitched again with the same result changes nothing further away."""
    made = [tile for tile in sorted(tiles) if run.summaries["stitch"][tile]["moved"]]
    return {
        "patches": [run.names["stitch"][tile] for tile in made],
        "patched": [[tile, run.summaries["stitch"][tile]["content"]] for tile in made],
    }


def _around(run: Run, windows: dict[int, Box], tile: int, widest: int) -> list[int]:
    """The tiles whose windows may meet that of a tile."""
    tiling, box = run.plan.tiling, windows[tile]
    wide = -(-widest // tiling.side) * tiling.side + tiling.side
    return tiling.meeting(tiling.clipped(Box(box.row - wide, box.col - wide, box.row_end + wide, box.col_end + wide)))
