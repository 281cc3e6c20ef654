# SPDX-License-Identifier: Apache-2.0
"""The public names: loaded when first used, sorted, and each the one it says."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import geoelastic

#: Names that scripts outside the project rely on (docs/reference/python.md has all).
CONTRACT = {
    "Area", "ElasticMechanism", "Mass", "PlanarLaplace", "Quadratic", "build_metric", "load", "mass_from_quality",
    "quality_from_osm", "quality_from_points", "quality_from_postgis", "quality_from_raster", "verify",
}  # fmt: skip


def test_the_contract_is_kept() -> None:
    assert set(geoelastic.__all__) >= CONTRACT


def test_every_name_exists_and_is_documented() -> None:
    assert geoelastic.__all__ == sorted(set(geoelastic.__all__))
    assert set(dir(geoelastic)) == {*geoelastic.__all__, "__version__"}
    for name in geoelastic.__all__:
        value = getattr(geoelastic, name)
        assert getattr(value, "__name__", name) == name
        if callable(value):
            assert (value.__doc__ or "").strip(), name


def test_every_name_is_exported_by_the_module_that_it_is_said_to_come_from() -> None:
    for name, module in geoelastic._EXPORTS.items():
        found = import_module(f"geoelastic.{module}")
        # a package lists what it hands on; in a module every name without an underscore is public
        here = found.__all__ if hasattr(found, "__path__") else vars(found)
        assert name in here, f"{name} is no public name of geoelastic.{module}"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'ElasticBand'"):
        _ = geoelastic.ElasticBand


def test_importing_is_quick_and_loads_nothing_heavy() -> None:
    heavy = {"numpy", "numba", "scipy", "pyarrow"}
    code = f"import sys, geoelastic, geoelastic.cli; print(sorted({heavy} & set(sys.modules)))"
    took = []
    for _ in range(3):  # the first may have to compile what Python keeps, others may be in the way
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"COVERAGE_PROCESS_CONFIG": ""},
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.stdout.strip() == "[]"
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(took) < 0.5


def test_the_version_is_the_package_s() -> None:
    from importlib.metadata import version

    assert geoelastic.__version__ == version("geoelastic")


SCRIPT = """
import geoelastic as ge

metric = ge.load("map.geoelastic")
mechanism = ge.ElasticMechanism(metric, output="mass")
reveal_type(metric)
reveal_type(mechanism.sanitize(48.85, 2.35))
reveal_type(ge.build_metric)
reveal_type(ge.PlanarLaplace(0.01).sanitize)
ge.ElasticMechanism(3)
ge.load()
"""


def test_a_users_script_is_checked_by_its_types(tmp_path: Path) -> None:
    """`py.typed` is a promise: what is wrong is found without running it, what is right has its type."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    root = str(Path(geoelastic.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--ignore-missing-imports",
         "--cache-dir", str(tmp_path / "cache"), str(script)],
        capture_output=True, text=True, check=False, env=os.environ | {"MYPYPATH": root},
    )  # fmt: skip
    told = [line.split(": ", 1)[1] for line in done.stdout.splitlines() if line.startswith(str(script))]
    assert 'note: Revealed type is "geoelastic.metric.any_metric.AnyMetric"' in told, done.stdout
    assert any("Revealed" in line and "tuple[" in line and "float" in line for line in told), told
    assert not any('"Any"' in line for line in told if "Revealed" in line)
    errors = [line for line in told if line.startswith("error")]
    assert len(errors) == 2, errors
    assert '"int"; expected "AnyMetric"' in errors[0]
    assert "Missing positional argument" in errors[1]
