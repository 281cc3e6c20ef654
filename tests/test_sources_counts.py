# SPDX-License-Identifier: Apache-2.0
"""Counts per class on six real extracts against two other routes: osmium-tool's export and GDAL's own reader."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from geoelastic.sources import osm
from geoelastic.sources._collect import BAD_OUTLINE, EDGE_LOST, EDGE_PART, OPEN_WAY
from geoelastic.sources.features import Features, TagRule
from geoelastic.sources.osm_passes import BROKEN, NOT_AREA
from osm_routes import EXTRACTS, LAYERS, broken, by_gdal, by_osmium, differences, section

PAGE = Path(__file__).resolve().parents[1] / "docs" / "osm-counts.md"


def ours(features: Features) -> Counter[tuple[str, bool]]:
    points = len(features.lat)
    return Counter((features.classes[c], i < points) for i, c in enumerate(features.code))


#: extract: how many objects with one of the keys are left out or kept in part, by reason
EDGE = {
    "andorra_2021": {NOT_AREA: 1, OPEN_WAY: 4},
    "geneva_2025": {NOT_AREA: 124, OPEN_WAY: 348, BAD_OUTLINE: 106, BROKEN: 4},
    "liechtenstein_2021": {NOT_AREA: 159, OPEN_WAY: 17},
    "malta_2016": {NOT_AREA: 34, OPEN_WAY: 30},
    "sf_downtown_2023": {NOT_AREA: 325, OPEN_WAY: 94, BAD_OUTLINE: 1},
    "vancouver_2015": {NOT_AREA: 1, OPEN_WAY: 30, BAD_OUTLINE: 3, BROKEN: 3, EDGE_LOST: 127, EDGE_PART: 22},
}


@pytest.mark.data
@pytest.mark.parametrize("name", EXTRACTS)
def test_counts_equal_those_of_other_routes(data_dir: Path, tmp_path: Path, name: str) -> None:
    """Every class as osmium has it; objects at the edge, all that GDAL has otherwise, and multipolygons that cannot be
    put together, one by one.
    """
    path = data_dir / "osm" / f"{name}.osm.pbf"
    features = osm.read_osm(path, LAYERS)
    objects, counts = by_osmium(path, tmp_path)
    gdal = by_gdal(path, tmp_path)
    assert dict(features.dropped) == EDGE[name]
    lost = features.info["objects"]
    assert not {number for numbers in lost.values() for number in numbers} & set(objects)
    kept_in_part = [gdal[number] for number in lost.get(EDGE_PART, ())]
    assert ours(features) - counts == Counter((found, False) for classes in kept_in_part for found in classes)
    assert counts - ours(features) == Counter()
    assert {number: gdal[number] for number in gdal if number in objects} == {
        number: objects[number] for number in objects if number in gdal
    }
    why = broken(path, features)
    assert len(why) == EDGE[name].get(BROKEN, 0)
    told = section(name, objects, differences(path, features, objects, gdal), why)
    assert told in PAGE.read_text(encoding="utf-8")


@pytest.mark.data
def test_the_figures_in_the_data_sheet(data_dir: Path) -> None:
    """Amenity nodes, shop nodes and building ways as counted when the data was put together."""
    for name, expected in (("geneva_2025", (4958, 1021)), ("malta_2016", (1876, 610)), ("andorra_2021", (688, 229))):
        rules = [[TagRule("amenity", geometry="node")], [TagRule("shop", geometry="node")]]
        features = osm.read_osm(data_dir / "osm" / f"{name}.osm.pbf", rules)
        counted = tuple(int((features.rule == i).sum()) for i in (0, 1))
        assert counted == expected
