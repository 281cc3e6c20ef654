# SPDX-License-Identifier: Apache-2.0
"""Tiled builds on real processes: the same bytes whatever happens, nothing lost when something dies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.errors import CheckError, FileError, InputError, MassError
from geoelastic.pipeline import Config, make_mass
from geoelastic.reports.table_reports import sanitize_arrays
from geoelastic.tiles import DaskEngine, InlineEngine, Job, build_tiles, mass_as_before, update_tiles
from geoelastic.tiles import engine as engine_module
from geoelastic.tiles.quality_parts import goes_by_parts, quality_in_parts
from geoelastic.tiles.tiled_metric import open_tiles
from tiled_maps import LEVELS, TILE, folder_digest, small_mass

pytestmark = pytest.mark.jit


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build that nothing disturbed, one job after the other."""
    path = tmp_path_factory.mktemp("clean") / "map"
    metric = build_tiles(small_mass(), str(path), tile=TILE, engine=InlineEngine(), **LEVELS)
    for kind in ("rises", "heights"):  # what is done for all of the map at once must not depend on who did the rest
        assert len(list(path.glob(f"{kind}/*"))) == metric.tiling.n
    return path


class Counting(InlineEngine):
    """Counts the jobs that are really run, by stage."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: dict[str, int] = {}

    def run(self, jobs: Sequence[Job]) -> Iterable[tuple[str, dict[str, Any]]]:
        for job in jobs:
            name = job.function.__name__
            self.jobs[name] = self.jobs.get(name, 0) + 1
        return super().run(jobs)


class Killing(DaskEngine):
    """Kills a worker's process, for good, after the first job of the first two stages that have several."""

    killed = 0

    def run(self, jobs: Sequence[Job]) -> Iterable[tuple[str, dict[str, Any]]]:
        for done, result in enumerate(super().run(jobs)):
            if done == 0 and len(jobs) > 4 and self.killed < 2:
                nanny = list(self._local.workers.values())[self.killed]
                os.kill(nanny.pid, signal.SIGKILL)
                self.killed += 1
            yield result


def test_any_order_gives_the_same_bytes(clean: Path, tmp_path: Path) -> None:
    build_tiles(small_mass(), str(tmp_path / "map"), tile=TILE, engine=InlineEngine(seed=7), **LEVELS)
    assert folder_digest(tmp_path / "map") == folder_digest(clean)


def test_four_workers_of_which_two_are_killed_give_the_same_bytes(clean: Path, tmp_path: Path) -> None:
    with Killing(workers=4) as engine:
        build_tiles(small_mass(), str(tmp_path / "map"), tile=TILE, engine=engine, **LEVELS)
    assert engine.killed == 2
    assert folder_digest(tmp_path / "map") == folder_digest(clean)


def test_a_build_that_was_killed_goes_on(clean: Path, tmp_path: Path) -> None:
    """kill -9 in the middle: no manifest, no half-written file; the next run does only what is left."""
    target = tmp_path / "map"
    code = """
import os, signal, sys, threading
sys.path.insert(0, sys.argv[2])
from tiled_maps import *
from geoelastic.tiles import *

class Dying(InlineEngine):
    def run(self, jobs):
        for k, done in enumerate(super().run(jobs), 1):
            yield done
            if jobs[0].function.__name__ == "solve" and k == 3:  # dies while it works on the next one
                threading.Timer(0.005, os.kill, (os.getpid(), signal.SIGKILL)).start()
            if jobs[0].function.__name__ == "solve" and k == 4:  # or here, if that one took no 5 ms
                signal.pause()

build_tiles(small_mass(), sys.argv[1], tile=TILE, engine=Dying(), **LEVELS)
"""
    ended = subprocess.run([sys.executable, "-c", code, str(target), str(Path(__file__).parent)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not (target / "manifest.json").exists()
    with pytest.raises(FileError, match="did not end"):
        open_tiles(target)
    engine = Counting()
    build_tiles(small_mass(), str(target), tile=TILE, engine=engine, **LEVELS)
    tiles = open_tiles(clean).tiling.n
    assert "lay_out" not in engine.jobs
    assert engine.jobs["solve"] <= tiles - 3
    for leftover in target.rglob(".*.tmp"):  # what the killed process was writing has a name that nobody reads
        leftover.unlink()
    assert folder_digest(target) == folder_digest(clean)


def test_nothing_is_done_twice_and_a_damaged_stage_is_done_again(clean: Path, tmp_path: Path) -> None:
    copy = tmp_path / "map"
    shutil.copytree(clean, copy)
    victim = sorted(copy.glob("build/solved/*"))[2]
    victim.write_bytes(victim.read_bytes()[:-50])
    engine = Counting()
    build_tiles(small_mass(), str(copy), tile=TILE, engine=engine, **LEVELS)
    assert engine.jobs == {"solve": 1}
    assert folder_digest(copy) == folder_digest(clean)
    again = Counting()
    build_tiles(small_mass(), str(copy), tile=TILE, engine=again, resume=False, **LEVELS)
    assert again.jobs["lay_out"] == open_tiles(clean).tiling.n


def test_a_full_disk_is_told_and_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        if "layout" in str(self):
            raise OSError(28, "No space left on device")
        return real(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(FileError, match=r"layout.*cannot be written: no space left on device"):
        build_tiles(small_mass(), str(tmp_path / "map"), tile=TILE, engine=InlineEngine(), **LEVELS)
    assert list((tmp_path / "map").glob("build/layout/*")) == []
    assert not (tmp_path / "map" / "manifest.json").exists()


def test_an_update_builds_what_changed_and_says_so(clean: Path, tmp_path: Path) -> None:
    """A wide map, a new town in one corner: far tiles keep their files; the result is that of a fresh build."""
    shape = (140, 1000)
    levels = LEVELS | {"l_top": 0.6}
    before, after = small_mass(shape=shape), small_mass(shape=shape, extra=(60, 940, 8))
    target = tmp_path / "map"
    first = build_tiles(before, str(target), tile=TILE, engine=InlineEngine(), **levels)
    engine = Counting()
    updated = update_tiles(str(target), after, tolerance=0.0, engine=engine)
    told = updated.certificate["tiles"]["update"]
    assert told["tiles_changed"] in (1, 2)
    assert told["tiles_changed"] + told["tiles_with_old_masses"] == first.tiling.n
    assert told["largest_change_not_taken"] == 0.0
    assert told["previous_graph_sha256"] == first.certificate["graph_sha256"]
    assert 0 < engine.jobs["solve"] <= first.tiling.n / 2
    assert 0 < engine.jobs["check"] < first.tiling.n
    assert ge.verify(updated)["ok"]
    fresh = build_tiles(after, str(tmp_path / "fresh"), tile=TILE, engine=InlineEngine(), **levels)
    assert fresh.certificate["graph_sha256"] == updated.certificate["graph_sha256"]
    same = update_tiles(str(target), before, tolerance=10.0, engine=Counting())
    assert same.certificate["tiles"]["update"]["tiles_changed"] == 0
    assert same.certificate["graph_sha256"] == updated.certificate["graph_sha256"]
    with pytest.raises(InputError, match="on the grid of the metric"):
        update_tiles(str(clean), after)
    with pytest.raises(InputError, match="'tolerance' must be"):
        update_tiles(str(target), after, tolerance=float("nan"))


def test_mass_with_the_constants_of_before(tmp_path: Path) -> None:
    quality = ge.synthetic_quality("city", rows=140, cols=140)
    mass = ge.mass_from_quality(quality)
    metric = build_tiles(mass, str(tmp_path / "map"), tile=TILE, l_top=0.6, engine=InlineEngine())
    more = ge.Quality(quality.grid, quality.cells * 2, {"source": "newer"})
    again = mass_as_before(metric, more)
    assert np.allclose(again.cells, mass.info["a"] + 2 * mass.info["b"] * quality.cells)
    assert again.info["quality"] == {"source": "newer"}
    plain = build_tiles(
        small_mass(), str(tmp_path / "plain"), tile=256, engine=InlineEngine(), **LEVELS | {"l_top": 0.5}
    )
    with pytest.raises(InputError, match="does not say how its mass came"):
        mass_as_before(plain, more)


def test_what_cannot_be_built_is_refused(tmp_path: Path) -> None:
    out = str(tmp_path / "map")
    with pytest.raises(MassError, match="'l_top' must be at most"):
        build_tiles(small_mass(), out, tile=TILE, engine=InlineEngine(), l_top=9.9)
    with pytest.raises(InputError, match="frame"):
        build_tiles(small_mass(), out, tile=TILE, engine=InlineEngine(), frame=0.499, l_top=0.5)
    with pytest.raises(InputError, match="power of two"):
        build_tiles(small_mass(), out, tile=100, engine=InlineEngine())
    with pytest.raises(InputError, match="'workers' must be"):
        DaskEngine(workers=0)


def test_a_failed_check_is_not_a_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from geoelastic.tiles import whole_graph as whole_map

    def too_long(neighbours: Any, scale: Any, *_: Any, **__: Any) -> Any:
        return scale * 3, np.full(neighbours[1].size // 2, 128, np.uint8)

    monkeypatch.setattr(whole_map, "fit_edges", too_long)
    with pytest.raises(CheckError, match="do not meet the requirement"):
        build_tiles(small_mass(), str(tmp_path / "map"), tile=256, engine=InlineEngine(), **LEVELS)
    assert not (tmp_path / "map" / "manifest.json").exists()


def test_the_command_line_with_two_workers_gives_the_same_bytes(tmp_path: Path) -> None:
    out = str(tmp_path / "city")
    options = ["--size", "16", "--tile", "128", "--workers", "2", "--l-top", "0.6", "-o", out, "--json"]
    built = CliRunner().invoke(main, ["build", "synthetic:city", *options])
    assert built.exit_code == 0, built.output
    facts = json.loads(built.stdout)
    assert facts["ok"]
    assert facts["certificate"]["tiles"]["number"] == 4
    assert 1000 < facts["bytes"] < 1_000_000
    assert facts["info"]["config"]["tile"] == 128
    config = Config("synthetic:city", size_km=16, tile=128, l_top=0.6)
    build_tiles(make_mass(config), str(tmp_path / "again"), tile=128, l_top=0.6, engine=InlineEngine(seed=2))
    for part in ("tiles", "edges", "rises", "heights", "build"):
        assert folder_digest(tmp_path / "again" / part) == folder_digest(tmp_path / "city" / part)
    checked = CliRunner().invoke(main, ["verify", out, "--stated", "--json"])
    assert checked.exit_code == 0, checked.output
    assert json.loads(checked.stdout)["same_graph_as_certified"]
    place = ["--lat", "48.8567", "--lon", "2.3487", "--seed", "4", "--json"]
    reported = [json.loads(CliRunner().invoke(main, ["sanitize", out, *place]).stdout) for _ in range(2)]
    assert reported[0] == reported[1]
    mechanism = ge.ElasticMechanism(open_tiles(out))
    expected = sanitize_arrays(mechanism, [48.8567], [2.3487], rng=ge.SeededRandom(4))
    assert (reported[0]["lat"], reported[0]["lon"]) == pytest.approx((expected.lat[0], expected.lon[0]), abs=1e-6)
    update = ["build", "synthetic:city", "--size", "16", "--workers", "1", "--update", "0.05", "-o", out, "--json"]
    updated = json.loads(CliRunner().invoke(main, update).stdout)
    assert updated["certificate"]["tiles"]["update"]["tiles_changed"] == 0
    assert updated["certificate"]["graph_sha256"] == facts["certificate"]["graph_sha256"]
    for wrong in (["--method", "paper"], ["--layout", "uniform"]):
        refused = CliRunner().invoke(main, ["build", "synthetic:city", *options, *wrong])
        assert refused.exit_code == 2
        assert "a build in tiles must be conformal" in refused.output


def _opl(path: Path) -> Path:
    """Amenities scattered over 20 km."""
    rng = np.random.default_rng(2)
    lat, lon = 47 + rng.normal(0, 0.04, 300), 8 + rng.normal(0, 0.05, 300)
    places = enumerate(zip(lat, lon, strict=True), 1)
    lines = [f"n{k} v1 dV c1 t2020-01-01T00:00:00Z i1 u Tamenity=cafe x{b:.6f} y{a:.6f}" for k, (a, b) in places]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_quality_by_parts_is_that_of_the_whole(tmp_path: Path) -> None:
    source, area = str(_opl(tmp_path / "map.opl")), ge.Area.around(47, 8, size_km=30)
    whole = ge.quality_from_osm(source, area)
    engine = Counting()
    parts = quality_in_parts(source, str(tmp_path / "out"), area, engine=engine, part_cells=128)
    assert parts.grid == whole.grid
    assert np.allclose(parts.cells, whole.cells, atol=1e-9)
    assert parts.cells.sum() > 100
    assert engine.jobs == {"read_part": 9}
    quality_in_parts(source, str(tmp_path / "out"), area, engine=engine, part_cells=128)
    assert engine.jobs == {"read_part": 9}, "what was read is not read again"
    Path(source).write_text(Path(source).read_text().replace("cafe", "bar", 1))
    quality_in_parts(source, str(tmp_path / "out"), area, engine=engine, part_cells=128)
    assert engine.jobs == {"read_part": 18}, "another file is"
    with pytest.raises(FileError, match="no such file"):
        quality_in_parts(str(tmp_path / "none.opl"), str(tmp_path / "out"), area, engine=engine)
    with pytest.raises(InputError, match="states no box"):
        quality_in_parts(source, str(tmp_path / "out"), engine=engine)
    with pytest.raises(InputError, match="nothing that the recipe"):
        quality_in_parts(source, str(tmp_path / "out"), ge.Area.around(40, 8, size_km=5), engine=engine)


def test_a_recipe_with_a_cap_does_not_go_by_parts(tmp_path: Path) -> None:
    recipe = tmp_path / "capped.toml"
    layer = '[[layer]]\nname = "a"\nweight = 1\n[[layer.match]]\nkey = "amenity"\n'
    recipe.write_text(f'name = "capped"\nabout = "x"\n{layer}[cap]\nrule = "mean_std"\namount = 2\n')
    source = str(_opl(tmp_path / "map.opl"))
    assert goes_by_parts(source, None)
    assert not goes_by_parts("synthetic:city", None)
    assert not goes_by_parts(source, str(recipe))
    with pytest.raises(InputError, match="needs the whole map"):
        quality_in_parts(source, str(tmp_path / "out"), recipe=str(recipe), engine=InlineEngine())


@pytest.mark.data
def test_a_real_extract_by_parts(data_dir: Path, tmp_path: Path) -> None:
    source = str(data_dir / "osm/andorra_2021.osm.pbf")
    whole = ge.quality_from_osm(source)
    parts = quality_in_parts(source, str(tmp_path), part_cells=256, engine=InlineEngine())
    assert np.allclose(parts.cells, whole.cells, atol=1e-9)
    assert "ODbL" in parts.info["licence"]


def test_a_cluster_that_is_already_there() -> None:
    distributed: Any = pytest.importorskip("distributed")
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with distributed.LocalCluster(n_workers=1, processes=True, **options) as cluster:
        with DaskEngine(cluster=cluster.scheduler_address) as engine:
            done = dict(engine.run([Job(f"job-{k}", dict, {"k": k}) for k in range(3)]))
            assert done == {f"job-{k}": {"k": k} for k in range(3)}
        assert cluster.status.name == "running", "a cluster that we did not start is not ours to stop"


def test_a_job_that_ends_every_worker_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "_LIVES", 0)
    deadly: Any = signal.raise_signal
    with DaskEngine(workers=1) as engine, pytest.raises(CheckError, match="want of memory"):
        list(engine.run([Job("deadly", deadly, signal.SIGKILL)]))  # type: ignore[arg-type]
