# SPDX-License-Identifier: Apache-2.0
"""What all tests share: which of them may run here, reproducible hypothesis, the real data beside the project."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

#: Real data for some tests; never part of the project.
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
CI = os.environ.get("CI") == "true"

# The same examples on every run: a failure seen once can be seen again, and a green check stays green.
settings.register_profile("geoelastic", deadline=None, derandomize=True)
settings.load_profile("geoelastic")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not JIT and item.get_closest_marker("jit"):
            item.add_marker(pytest.mark.skip(reason="too slow without numba"))
        if not DATA.is_dir() and item.get_closest_marker("data"):
            item.add_marker(pytest.mark.skip(reason="the real data is not here"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """With CI=true no test of the outside world (a server, a browser, the real data if it is there) may be skipped."""
    report = yield
    must_run = ["postgis", "browser"] + (["data"] if DATA.is_dir() else [])
    if (
        CI
        and JIT
        and report.skipped
        and not hasattr(report, "wasxfail")
        and any(map(item.get_closest_marker, must_run))
    ):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI=true does not allow: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real data; use it with the mark `data`."""
    if not DATA.is_dir():
        pytest.skip("the real data is not here")
    return DATA
