# SPDX-License-Identifier: Apache-2.0
"""Compiling: never for one report, said when it takes long, and the same numbers with and without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import geoelastic as ge
from geoelastic import _kernels as kernels
from geoelastic._kernels import _compile
from geoelastic.mechanism import ElasticMechanism
from geoelastic.mechanism.geox_mechanism import save_mechanism
from geoelastic.randomness import SeededRandom
from geoelastic.reports.table_reports import sanitize_arrays
from maps import small_metric

jit = pytest.mark.jit


def run(script: str, cache: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def test_one_report_from_an_extract_compiles_nothing(tmp_path):
    metric = small_metric()
    path = tmp_path / "town.geox"
    save_mechanism(ElasticMechanism(metric), path)
    script = """
import sys
from geoelastic.cli import main
main(["sanitize", sys.argv[1], "--lat", sys.argv[2], "--lon", sys.argv[3], "--seed", "7"], standalone_mode=False)
print("numba" in sys.modules)
"""
    place = metric.latlon(int(np.flatnonzero(metric.secret)[0]))
    reported, imported = run(script, tmp_path / "cache", str(path), *map(str, place)).splitlines()
    assert imported == "False"
    assert not (tmp_path / "cache").exists()
    drawn = sanitize_arrays(ElasticMechanism(ge.load(path)), [place[0]], [place[1]], rng=SeededRandom(7))
    assert reported.startswith(f"{round(float(drawn.lat[0]), 7)}, {round(float(drawn.lon[0]), 7)}")


@jit
def test_searches_read_by_python_and_compiled_give_the_same_reports(monkeypatch):
    metric = small_metric()
    place = int(np.flatnonzero(metric.secret)[3])
    monkeypatch.setattr(_compile, "PATIENCE", 1e9)
    read = ElasticMechanism(metric).sample(place, 40, rng=SeededRandom(1))
    monkeypatch.setattr(_compile, "PATIENCE", 0.0)
    assert np.array_equal(ElasticMechanism(metric).sample(place, 40, rng=SeededRandom(1)), read)


@jit
def test_small_work_is_read_by_python_only_until_it_has_taken_long_enough(monkeypatch):
    monkeypatch.setattr(_compile, "_spent", 0.0)

    def twice(values):
        return 2 * values[0]

    small = _compile.Kernel(twice, small=10)
    assert small(np.arange(3) + 1) == 2
    assert "compiled" not in small.__dict__
    assert small._is_small([np.zeros(10)])
    assert not small._is_small([np.zeros(5), np.zeros(6)])


@jit
def test_it_is_said_once_that_kernels_are_compiled_and_not_when_they_were_before(tmp_path):
    script = """
import numpy as np
from geoelastic import _kernels as kernels
from geoelastic._kernels import _compile
_compile.LONG = 0.0
kernels.when_compiling(lambda: print("compiling"))
kernels.block_sums(np.zeros(2)); kernels.block_sums(np.zeros(2, np.float32))
"""
    assert run(script, tmp_path).split() == ["compiling"]
    assert run(script, tmp_path).split() == []


@jit
def test_an_array_that_must_not_be_written_is_no_second_compilation():
    fixed = np.array([0.0, 1.0])
    fixed.setflags(write=False)
    assert kernels.block_sums(fixed).tolist() == [1.0]
    before = len(kernels.block_sums.compiled.signatures)
    assert kernels.block_sums(np.array([2.0])).tolist() == [2.0]
    assert len(kernels.block_sums.compiled.signatures) == before
    assert kernels.when_compiling is _compile.when_compiling


@jit
def test_a_build_compiles_few_kernels_and_each_for_one_combination_of_types_only(tmp_path):
    script = """
import sys
import numpy as np
import geoelastic as ge
from geoelastic import _kernels
from geoelastic._kernels import _compile
cells = 0.02 + np.random.default_rng(1).random((24, 20)) ** 3
metric = ge.build_metric(ge.Mass.from_array(cells, cell_m=100, origin=(48.8, 2.3)), l_top=1.1, frame=0.0)
modules = [value for value in vars(_kernels).values() if hasattr(value, "__file__")]
known = {k.__name__: k for m in modules for k in vars(m).values() if isinstance(k, _compile.Kernel)}
done = {name: len(k.compiled.signatures) for name, k in known.items() if "compiled" in vars(k)}
metric.save(sys.argv[1])
assert "pandas" not in sys.modules  # a second
assert metric.relief is not None and 4 < len(done) < 32, done  # each takes a newcomer a third of a second
print([name for name, number in done.items() if number > 1])
"""
    command = [sys.executable, "-c", script, str(tmp_path / "town.geoelastic")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
