# SPDX-License-Identifier: Apache-2.0
"""The whole run: a `Config` to a metric on disk, stage by stage.

A stage that took long is kept beside the output (``OUT.work/``) under a hash of everything it was made from: the
bytes of the source and of the recipe, the options, the version of geoelastic. A run that was stopped and is started
again takes up what is there; a run whose inputs changed in any way finds nothing and starts afresh. When the output
is complete the stages are removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import __version__
from .area import Area
from .errors import FileError, InputError, require_choice, require_count, require_latlon, require_positive
from .levels import LN2
from .mass import Mass, Requirement, mass_from_quality, read_city
from .mass.requirement import REQUIREMENTS
from .quality import Quality, load_quality, load_recipe, quality_from_source, save_quality
from .quality.synthetic import PARIS
from .sources.osm import OSM_SUFFIXES
from .sources.postgis import is_postgres
from .store import require_writable
from .store.digest import digest, file_digest
from .store.kept import kept

if TYPE_CHECKING:
    from .context import Context
    from .locations import Grid
    from .metric import AnyMetric, Metric
    from .tiles import Engine


@dataclass(frozen=True)
class Config:
    """Everything a run depends on.

    `source`: ``synthetic:NAME``, a ``.npy`` array of masses (needs `center` and `cell_m`), or anything that
    `quality_from_source` reads: OpenStreetMap extracts, PostGIS databases, tables of points, polygons, rasters.
    `at`: a local time for opening hours. `context`: keep the extract's water, main roads and names with the map.
    """

    source: str
    center: tuple[float, float] | None = None
    size_km: float | None = None
    height_km: float | None = None
    cell_m: float | None = None
    recipe: str | None = None
    at: str | None = None
    lat_column: str | None = None
    lon_column: str | None = None
    weight_column: str | None = None
    city: str | None = None
    r_small_m: float = 300
    r_large_m: float = 3000
    requirement: str = "quadratic"
    l_star: float = LN2
    l_from: float | None = None
    l_top: float | None = None
    method: str = "conformal"
    layout: str | None = None
    cartogram: bool = True
    strategy: str = "fourfold"
    literal: bool = False
    frame: float = 0.03
    sharpen: bool = True
    context: bool = True
    fences: tuple[str, ...] = ()
    workers: int | None = None
    tile: int | None = None
    cluster: str | None = None
    update: float | None = None

    def __post_init__(self) -> None:
        if self.center is not None:
            require_latlon(*self.center)
        for name, value in self.given("size_km", "height_km", "cell_m").items():
            require_positive(name, value)
        if self.workers is not None:
            require_count("workers", self.workers)
        require_choice("requirement", self.requirement, [kind for kind in REQUIREMENTS if kind != "custom"])
        require_positive("l_star", self.l_star)

    @property
    def area(self) -> Area | None:
        """The area asked for, or None to take the source's own."""
        if self.center is None and self.size_km is None and self.height_km is None:
            return None
        center = PARIS if self.center is None and self.source.startswith("synthetic:") else self.center
        if center is None or self.size_km is None:
            raise InputError("an area must be given by both its center (LAT,LON) and its size in km")
        return Area.around(*center, size_km=self.size_km, height_km=self.height_km)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a table that were named."""
        return {"lat": self.lat_column, "lon": self.lon_column, "weight": self.weight_column}

    def given(self, *names: str) -> dict[str, Any]:
        """Those of these options that have a value, for functions that call them by the same names."""
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def public(self) -> dict[str, Any]:
        """The options as plain data for the file's manifest: no password, no folder, nothing of the machine."""
        options = asdict(self)
        del options["workers"], options["cluster"]
        options["source"] = _shown(self.source)
        options["recipe"] = None if self.recipe is None else Path(self.recipe).name
        options["fences"] = len(self.fences)
        if self.city is not None and Path(self.city).is_file():
            options["city"] = Path(self.city).name
        return options

    def make_requirement(self) -> Requirement:
        """The requirement object that `requirement` and `l_star` name."""
        kind: Any = REQUIREMENTS[self.requirement]  # the first entry of each is its level
        made: Requirement = kind(self.l_star)
        return made


def run(config: Config, output: str | os.PathLike[str], *, resume: bool = True, progress: bool = False) -> AnyMetric:
    """Build the metric of `config`, check it, write it to `output`, return it; a stopped run resumes.

    With `tile` or `cluster` it is built in tiles and `output` is a folder; `resume` = False then forgets what an
    earlier run left there, and `update` builds only what changed by more than that part in the metric that is there.
    """
    if config.tile is not None or config.cluster is not None or config.update is not None:
        return _run_tiles(config, os.fspath(output), resume=resume, progress=progress)
    from .metric.sharpen import sharpened

    target = require_writable(output)
    work = target.with_name(target.name + ".work")
    key = _key("metric", config)
    done = _finished(target, key)
    if done is not None:
        shutil.rmtree(work, ignore_errors=True)  # of a run that was stopped between its last two steps
        return done
    try:
        mass = make_mass(config, work=work, progress=progress)
        metric = _build(config, replace(mass, info=mass.info | {"run_key": key}), work, progress=progress)
        if config.sharpen:
            metric = sharpened(metric, kept=work / "heights.part", workers=config.workers, progress=progress)
        metric = replace(metric, context=_context(config, metric.grid))
        metric.save(target)
        shutil.rmtree(work, ignore_errors=True)
    finally:
        with contextlib.suppress(OSError):  # what is in it is what the next run takes up; empty, it is only in the way
            work.rmdir()
    return metric


def _context(config: Config, grid: Grid) -> Context | None:
    """What is drawn with maps: the water, main roads and names of an OpenStreetMap file."""
    if not (config.context and config.source.lower().endswith(OSM_SUFFIXES)):
        return None
    from .context.context_from_osm import read_context

    return read_context(config.source, grid.covered, grid.cell_m)


def _build(config: Config, mass: Mass, work: Path, *, progress: bool) -> Metric:
    """The metric before it is sharpened, or what an earlier run made of exactly the same."""
    from .metric import build_metric

    key = mass.info["run_key"]
    stage = work / f"built-{key}.geoelastic"
    done = _finished(stage, key)
    if done is not None:
        return done.whole()
    work.mkdir(exist_ok=True)
    options = config.given(
        "method", "cartogram", "strategy", "literal", "frame", "l_from", "l_top", "layout", "workers"
    )
    metric = build_metric(
        mass, requirement=config.make_requirement(), fences=list(config.fences), sharpen=False,
        checkpoint=work / "paper.checkpoint", progress=progress, **options,
    )  # fmt: skip
    if config.sharpen and key is not None:
        metric.save(stage)
    return metric


def _run_tiles(config: Config, output: str, *, resume: bool, progress: bool) -> AnyMetric:
    from .fences import read_fences
    from .tiles import DEFAULT_TILE, DaskEngine, build_tiles, update_tiles
    from .tiles.tiling import require_tile

    if config.method != "conformal" or config.layout == "uniform":
        raise InputError("a build in tiles must be conformal with an adaptive layout")
    if config.fences and config.update is not None:
        raise InputError("an update keeps the fences that are there: change them by 'geoelastic fence'")
    fences = read_fences(list(config.fences))
    tile = require_tile(DEFAULT_TILE if config.tile is None else config.tile)  # before anything is read or written
    with DaskEngine(workers=config.workers, cluster=config.cluster) as engine:
        mass = _tiled_mass(config, output, engine)
        options = config.given("sharpen") | {"engine": engine, "progress": progress}
        options["context"] = _context(config, mass.grid)
        if config.update is not None:
            return update_tiles(output, mass, tolerance=config.update, **options)
        return build_tiles(
            mass, output, requirement=config.make_requirement(), tile=tile, fences=fences, resume=resume,
            **options, **config.given("frame", "cartogram", "l_from", "l_top"),
        )  # fmt: skip


def _tiled_mass(config: Config, output: str, engine: Engine) -> Mass:
    """The mass of the source: read by parts where that is possible; for an update, on the grid and with the constants
    of the metric that is there."""
    from .tiles import mass_as_before
    from .tiles.quality_parts import goes_by_parts, quality_in_parts
    from .tiles.tiled_metric import open_tiles

    if config.source.endswith(".npy"):
        return make_mass(config)
    before = None if config.update is None else open_tiles(output)
    area = before.grid.area if before is not None and config.area is None else config.area
    cell_m = before.grid.cell_m if before is not None and config.cell_m is None else config.cell_m
    if config.at is None and goes_by_parts(config.source, config.recipe):
        quality = quality_in_parts(config.source, output, area, cell_m or 100, config.recipe, engine=engine)
    else:
        quality = quality_from_source(config.source, area, cell_m, config.recipe, at=config.at, **config.columns)
    if before is None:
        return _mass_of(config, quality)
    mass = mass_as_before(before, quality)
    return replace(mass, info=mass.info | {"config": config.public()})


def _finished(target: Path, key: str | None) -> AnyMetric | None:
    """The metric at `target` if an earlier run made it of exactly the same."""
    from .opening import load

    if key is None or not target.is_file():
        return None
    try:
        metric = load(target)
    except FileError:
        return None
    return metric if metric.info.get("run_key") == key else None


def make_mass(config: Config, *, work: Path | None = None, progress: bool = False) -> Mass:
    """The mass of `config`'s source."""
    if config.source.endswith(".npy"):
        return _mass_from_npy(config)
    return _mass_of(config, _quality(config, work, progress=progress))


def _mass_of(config: Config, quality: Quality) -> Mass:
    city = None if config.city is None else read_city(config.city)
    mass = mass_from_quality(quality, r_small=config.r_small_m, r_large=config.r_large_m, city=city)
    return replace(mass, info=mass.info | {"config": config.public()})


def _mass_from_npy(config: Config) -> Mass:
    if config.center is None or config.cell_m is None:
        raise InputError("an array of masses (.npy) needs its centre and its cell size: --center LAT,LON --cell M")
    if (config.size_km, config.recipe, config.at) != (None, None, None):
        raise InputError("an array of masses (.npy) brings its own size and takes neither a recipe nor a time")
    path = Path(config.source)
    if not path.is_file():
        raise FileError(f"{path}: no such file")
    try:
        cells = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError):
        raise FileError(f"{path}: not an array of numpy, or truncated") from None
    info = {"source": path.name, "sha256": file_digest(path), "config": config.public()}
    return Mass.from_array(cells, cell_m=config.cell_m, origin=config.center, info=info)


def _quality(config: Config, work: Path | None, *, progress: bool) -> Quality:
    if config.source.startswith("synthetic:") and config.recipe is not None:
        raise InputError("a made-up map takes no recipe")
    key = None if work is None or config.source.startswith("synthetic:") else _key("quality", config)
    stage = None if work is None or key is None else work / f"quality-{key}.parquet"
    return kept(
        stage,
        load_quality,
        lambda: quality_from_source(
            config.source, config.area, config.cell_m, config.recipe, at=config.at, progress=progress, **config.columns
        ),
        save_quality,
    )


def _key(stage: str, config: Config) -> str | None:
    """Hash of all that a stage is made from; None where it cannot be known (a database changes under our feet)."""
    if is_postgres(config.source):
        return None
    inputs = asdict(replace(config, workers=None))
    if stage == "quality":
        kept = ("source", "center", "size_km", "height_km", "cell_m", "recipe", "at")
        inputs = {name: inputs[name] for name in (*kept, "lat_column", "lon_column", "weight_column")}
    named = [config.source, config.recipe] + ([config.city, *config.fences] if stage == "metric" else [])
    files = [name for name in named if name is not None and Path(name).is_file()]
    files += [inner for name in files if name.endswith(".toml") for inner in _files_of_recipe(name)]
    return digest([stage, __version__, inputs, [file_digest(name) for name in files]])


def _files_of_recipe(path: str) -> list[str]:
    """The files that a recipe's layers read."""
    recipe = load_recipe(path)
    tables = [layer.file for layer in recipe.layers] + [recipe.prior.file if recipe.prior else None]
    return [table.path for table in tables if table is not None and Path(table.path).is_file()]


def _shown(source: str) -> str:
    """A source as it may be shown: no password, no folder."""
    if "://" in source:
        return re.sub(r"//[^/@]*@", "//", source).split("?")[0]
    return source if source.startswith("synthetic:") else Path(source).name
