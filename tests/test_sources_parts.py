# SPDX-License-Identifier: Apache-2.0
"""A map that is read part by part says of itself what a map that is read at once does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import geoelastic as ge
from geoelastic.tiles.engine import InlineEngine
from geoelastic.tiles.quality_parts import quality_in_parts
from test_sources_osm import opl

AREA = ge.Area.around(47, 8, size_km=20)


def same_account(parts: dict[str, Any], whole: dict[str, Any]) -> None:
    """Dates, counts and reasons are equal; sums of quality are, up to rounding. What lies outside every part is not
    known to any of them.
    """
    assert parts["timestamp"] == whole["timestamp"]
    assert parts["layers"].keys() == whole["layers"].keys()
    for name, layer in parts["layers"].items():
        expected = dict(whole["layers"][name])
        assert layer | {"quality": 0} == expected | {"quality": 0}
        assert list(layer["classes"]) == list(expected["classes"])
        assert layer["quality"] == pytest.approx(expected["quality"], abs=1e-9)
    for source, reasons in whole["dropped"].items():
        assert parts["dropped"][source] == {k: n for k, n in reasons.items() if k != "outside the area"}


def test_counts_and_date_of_parts_are_those_of_the_whole(tmp_path: Path) -> None:
    """A building over four parts, one over two of them and the area's edge, a line over two, points here and there."""
    nodes, number = [], 0

    def corner(lat: float, lon: float, tags: str = "") -> str:
        nonlocal number
        number += 1
        nodes.append(f"n{number} v1 t2021-02-03T04:05:06Z x{lon:.7f} y{lat:.7f} {tags}")
        return f"n{number}"

    def square(lat: float, lon: float, half: float) -> str:
        signs = ((-1, -1), (-1, 1), (1, 1), (1, -1))
        refs = [corner(lat + a * half, lon + b * half) for a, b in signs]
        return ",".join([*refs, refs[0]])

    # parts of 128 cells of 100 m: their borders cross at the middle and 2.8 km beside it
    ways = [
        f"w1 v1 Tbuilding=large N{square(47.0255, 8.0373, 0.01)}",
        f"w2 v1 Tbuilding=cut N{square(47.09, 8.0, 0.06)}",
        f"w3 v1 Tbuilding=yes N{square(46.95, 7.95, 0.0001)}",
        f"w4 v1 Tbuilding=line N{corner(47, 7.95)},{corner(47, 8.05)}",
        f"w5 v1 Tbuilding=away N{square(49, 9, 0.01)}",
    ]
    for i in range(70):
        corner(47 + 0.001 * (i - 35), 8 + 0.001 * (i - 35), f"Tamenity=kind{i % 65}")
    path = opl(tmp_path, "\n".join([*nodes, *ways]))
    whole = ge.quality_from_osm(path, AREA)
    parts = quality_in_parts(str(path), str(tmp_path / "out"), AREA, engine=InlineEngine(), part_cells=128)
    assert parts.info["parts"] == 4
    assert whole.info["layers"]["buildings"]["classes"] == {"building=cut": 1, "building=large": 1, "building=yes": 1}
    assert whole.info["layers"]["buildings"]["cut by the area's edge"] == 1
    assert "others" in whole.info["layers"]["places"]["classes"]
    same_account(parts.info, whole.info)


@pytest.mark.data
def test_the_account_of_a_real_extract(data_dir: Path, tmp_path: Path) -> None:
    source = str(data_dir / "osm/andorra_2021.osm.pbf")
    parts = quality_in_parts(source, str(tmp_path), part_cells=128, engine=InlineEngine())
    assert parts.info["timestamp"] == "2021-10-28T20:21:09Z"
    same_account(parts.info, ge.quality_from_osm(source).info)
