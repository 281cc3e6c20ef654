# SPDX-License-Identifier: Apache-2.0
"""Work that is killed: the same bytes after the same command, nothing lost, nothing left behind, no count too low."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from pathlib import Path

import pytest

from geoelastic.store import write_bytes, writing
from geoelastic.store.atomic import _sweep

MOMENTS = 5


@pytest.mark.jit
def test_killed_at_any_moment() -> None:
    """A few moments of `./run faults`, which takes as many as one likes."""
    command = [sys.executable, "-m", "faults", "--moments", str(MOMENTS), "--seed", "2"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads(done.stdout)
    assert set(results) == {"build", "sanitize", "ledger", "tiles"}
    for result in results.values():
        assert result["killed"] == MOMENTS


def test_the_next_writer_removes_what_a_dead_one_left(tmp_path: Path) -> None:
    dead, living, foreign = (
        tmp_path / name for name in (".geoelastic-dead.tmp", ".geoelastic-alive.tmp", ".other.tmp")
    )
    for path in (dead, living, foreign):
        path.write_text("half of something")
    with living.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        write_bytes(tmp_path / "a", b"1")
        assert sorted(p.name for p in tmp_path.iterdir()) == [living.name, foreign.name, "a"]
    _sweep.cache_clear()  # as in another process
    write_bytes(tmp_path / "a", b"2")
    assert sorted(p.name for p in tmp_path.iterdir()) == [foreign.name, "a"]


def test_a_writer_is_not_taken_for_a_dead_one(tmp_path: Path) -> None:
    """While one writes, others that begin to write in the same folder leave its file alone."""
    with writing(tmp_path / "a") as temporary:
        temporary.write_text("first half")
        _sweep.cache_clear()
        write_bytes(tmp_path / "b", b"2")
        with temporary.open("a") as more:
            more.write(", second half")
    assert (tmp_path / "a").read_text() == "first half, second half"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_link_is_not_followed_when_sweeping(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    (tmp_path / ".geoelastic-x.tmp").symlink_to(tmp_path / "mine")
    write_bytes(tmp_path / "a", b"1")
    assert (tmp_path / "mine").read_text() == "kept"
