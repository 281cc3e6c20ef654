# SPDX-License-Identifier: Apache-2.0
"""What all tests share: which of them may run here, chance that repeats, the real data beside the project."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
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


@pytest.fixture(autouse=True)
def certain_chance(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the operating system would draw comes from a stream named after the test: nothing fails by chance.

    For the real thing there is the mark `system_random`; beside it stands why the test still cannot fail (at most once
    in 10^9 runs). Other processes (a served page, a browser) are out of reach here, and the same bound holds for them.
    """
    if request.node.get_closest_marker("system_random"):
        return
    from geoelastic import randomness
    from geoelastic.mechanism import sticky

    stream, lock = randomness.SeededRandom(request.node.nodeid.encode()), threading.Lock()

    def read(n: int) -> bytes:
        with lock:
            return stream.bytes(n)

    monkeypatch.setattr(randomness, "os", SimpleNamespace(urandom=read))
    monkeypatch.setattr(sticky, "secrets", SimpleNamespace(token_bytes=read))


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


@pytest.fixture
def broken_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """No mechanism can be had, and the reason has a place in it."""
    from geoelastic.service.registry import Published

    def broken(self: Published) -> Any:
        raise RuntimeError("at 48.8567, 2.3387")

    monkeypatch.setattr(Published, "own_mechanism", broken)
