# SPDX-License-Identifier: Apache-2.0
"""The public names: loaded when first used, sorted, and each the one it says."""

from __future__ import annotations

import subprocess
import sys

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
        exported = __import__(f"geoelastic.{module}", fromlist=["__all__"]).__all__
        assert name in exported, f"{name} is not in geoelastic.{module}.__all__"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'ElasticBand'"):
        _ = geoelastic.ElasticBand


def test_importing_is_quick_and_loads_nothing_heavy() -> None:
    heavy = {"numpy", "numba", "scipy", "pyarrow"}
    code = f"import sys, geoelastic, geoelastic.cli; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_is_the_package_s() -> None:
    from importlib.metadata import version

    assert geoelastic.__version__ == version("geoelastic")
