# SPDX-License-Identifier: Apache-2.0
"""Counts per class against an independent route: osmium-tool's export for all extracts, GDAL's own reader for one."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from geoelastic.sources import osm
from geoelastic.sources._collect import BAD_OUTLINE
from geoelastic.sources.features import Features, TagRule
from geoelastic.sources.osm_passes import BROKEN, EDGE_LOST, EDGE_PART, NOT_AREA, OPEN_WAY

KEYS = ("amenity", "shop", "leisure", "tourism", "office", "public_transport", "building")
#: an object with two of the keys is in two layers, and in two counts
LAYERS = [[TagRule(key)] for key in KEYS]

Counts = Counter[tuple[str, bool]]


def ours(features: Features) -> Counts:
    points = len(features.lat)
    return Counter((features.classes[c], i < points) for i, c in enumerate(features.code))


def exported(path: Path, folder: Path) -> tuple[Counts, dict[str, set[str]]]:
    """Classes of points and polygons, and the classes of each object, by ``osmium export``."""
    if shutil.which("osmium") is None:
        pytest.skip("needs osmium-tool: see tests/system-packages")
    config = folder / "export.json"
    config.write_text(json.dumps({"attributes": {"type": True, "id": True}, "linear_tags": False, "area_tags": True}))
    options = ["-c", str(config), "-f", "geojsonseq", "-x", "print_record_separator=false"]
    chosen = folder / "chosen.osm.pbf"
    filters = [f"nwr/{key}" for key in KEYS]
    subprocess.run(["osmium", "tags-filter", "-o", str(chosen), str(path), *filters], check=True, timeout=120)
    command = ["osmium", "export", *options, "--geometry-types=point,polygon", "-o", "-", str(chosen)]
    counts, of_object = Counts(), {}
    for line in subprocess.run(command, check=True, capture_output=True, timeout=120).stdout.splitlines():
        item = json.loads(line)
        tags = item["properties"]
        found = {f"{key}={tags[key]}" for key in KEYS if tags.get(key, "no") != "no"}
        counts.update((name, item["geometry"]["type"] == "Point") for name in found)
        of_object[f"{tags['@type']}/{tags['@id']}"] = found
    return counts, of_object


#: extract: how many objects with one of the keys are left out or kept in part, by reason
EDGE = {
    "andorra_2021": {NOT_AREA: 1, OPEN_WAY: 4},
    "geneva_2025": {NOT_AREA: 124, OPEN_WAY: 348, BAD_OUTLINE: 106, BROKEN: 4},
    "liechtenstein_2021": {NOT_AREA: 159, OPEN_WAY: 17},
    "malta_2016": {NOT_AREA: 34, OPEN_WAY: 30},
    "sf_downtown_2023": {NOT_AREA: 325, OPEN_WAY: 94, BAD_OUTLINE: 1},
    "vancouver_2015": {
        NOT_AREA: 1, OPEN_WAY: 30, BAD_OUTLINE: 3, BROKEN: 3, EDGE_LOST: 127, EDGE_PART: 22,
    },
}  # fmt: skip


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(EDGE))
def test_counts_equal_those_of_osmium_export(data_dir: Path, tmp_path: Path, name: str) -> None:
    """Every class, points and areas. Objects at the edge one by one: osmium drops what is cut, we may keep a part."""
    path = data_dir / "osm" / f"{name}.osm.pbf"
    features = osm.read_osm(path, LAYERS)
    counts, of_object = exported(path, tmp_path)
    assert dict(features.dropped) == EDGE[name]
    objects = features.info["objects"]
    assert not {number for numbers in objects.values() for number in numbers} & set(of_object)
    kept = classes_of(path, set(objects.get(EDGE_PART, ())))
    assert ours(features) - counts == Counter((name, False) for found in kept.values() for name in found)
    assert counts - ours(features) == Counter()


def classes_of(path: Path, numbers: set[str]) -> dict[str, set[str]]:
    """The classes of single objects, from their tags in the file."""
    import osmium

    found: dict[str, set[str]] = {}
    for entity in osmium.FileProcessor(str(path), osmium.osm.WAY | osmium.osm.RELATION):
        number = f"{'way' if entity.is_way() else 'relation'}/{entity.id}"
        if number in numbers:
            found[number] = {f"{t.k}={t.v}" for t in entity.tags if t.k in KEYS and t.v != "no"}
    return found


@pytest.mark.data
def test_buildings_equal_those_of_gdal(data_dir: Path) -> None:
    """GDAL shares no code with libosmium."""
    import pyogrio

    path = data_dir / "osm" / "andorra_2021.osm.pbf"
    table = pyogrio.read_dataframe(path, layer="multipolygons", columns=["building"], read_geometry=False)
    theirs = Counter(f"building={value}" for value in table["building"].dropna() if value != "no")
    features = osm.read_osm(path, [[TagRule("building", geometry="area")]])
    assert Counter(features.classes[c] for c in features.code) == theirs
    assert theirs.total() == 5031


@pytest.mark.data
def test_the_figures_in_the_data_sheet(data_dir: Path) -> None:
    """Amenity nodes, shop nodes and building ways as counted when the data was put together."""
    for name, expected in (("geneva_2025", (4958, 1021)), ("malta_2016", (1876, 610)), ("andorra_2021", (688, 229))):
        rules = [[TagRule("amenity", geometry="node")], [TagRule("shop", geometry="node")]]
        features = osm.read_osm(data_dir / "osm" / f"{name}.osm.pbf", rules)
        counted = tuple(int((features.rule == i).sum()) for i in (0, 1))
        assert counted == expected
