# SPDX-License-Identifier: Apache-2.0
"""Reading a part of an OpenStreetMap file: nothing that touches it is lost, and nothing else is kept."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import osmium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geoelastic.errors import FileError
from geoelastic.sources import osm, osm_passes
from geoelastic.sources._collect import Collector
from geoelastic.sources._opl import NODE, RELATION, WAY, objects
from geoelastic.sources._survey import FileSurvey, Sides, UnsortedError, apart, sides_of
from geoelastic.sources.features import Areas, Bounds, Features, in_bounds
from test_sources_lines import tags_of
from test_sources_osm import PAPER, helsinki, opl


@pytest.fixture
def surveyed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are looked through as large ones are."""
    monkeypatch.setattr(osm, "SURVEY_BYTES", 0)


def one_by_one(features: Features, chosen: Bounds | None = None) -> list[tuple[Any, ...]]:
    """Each feature as plain data, in an order of its own; only those that touch the box, if one is given."""
    points = np.ones(len(features.lat), dtype=np.bool_)
    areas = np.ones(len(features.areas), dtype=np.bool_)
    if chosen is not None:
        points = in_bounds(features.lat, features.lon, chosen)
        areas = features.areas.touching(chosen)
    rows = [(features.classes[c], int(r)) for c, r in zip(features.code, features.rule, strict=True)]
    result: list[tuple[Any, ...]] = []
    for i in np.flatnonzero(points).tolist():
        result.append((*rows[i], features.lat[i], features.lon[i]))
    for i in np.flatnonzero(areas).tolist():
        area: Areas = features.areas.take(np.array([i]))
        result.append((*rows[len(features.lat) + i], area.lat.tolist(), area.lon.tolist(), area.hole.tolist()))
    return sorted(result, key=repr)


def survey(path: Path, bounds: Bounds) -> tuple[tuple[bytes, int], int]:
    """What a survey finds, and the number of runs that it held."""
    collector = Collector(PAPER, bounds, levels=False, hours=False)
    made = FileSurvey(path, collector.keys, collector.counts, bounds)
    return made.run(), sum(len(sides.runs()[0]) for sides in (made._node_sides, made._way_sides))


def lines_by_kind(text: bytes) -> Counter[str]:
    return Counter(line[0] for line in text.decode().splitlines())


def test_columns_hold_what_the_file_does() -> None:
    """Numbers, places to the last digit, references and tags, against pyosmium's own objects."""
    ours: list[tuple[Any, ...]] = []
    for block in objects(helsinki(), NODE):
        places = zip(block.lon.tolist(), block.lat.tolist(), strict=True)
        ours += zip(block.id.tolist(), map(tags_of, block.tags.to_pylist()), places, strict=True)
    for block in objects(helsinki(), WAY):
        nodes = [block.ref[block.start[i] : block.start[i + 1]].tolist() for i in range(len(block.id))]
        ours += zip(block.id.tolist(), map(tags_of, block.tags.to_pylist()), nodes, strict=True)
    theirs: list[tuple[Any, ...]] = []
    for entity in osmium.FileProcessor(str(helsinki()), osmium.osm.NODE | osmium.osm.WAY):
        place = (entity.location.lon, entity.location.lat) if entity.is_node() else [n.ref for n in entity.nodes]
        theirs.append((entity.id, dict(entity.tags), place))
    assert ours == theirs
    assert len(ours) > 10_000


def test_columns_of_odd_objects(tmp_path: Path) -> None:
    """Ways without nodes, nodes without a place, letters that are written as escapes, kinds that are not there."""
    path = opl(tmp_path, "n1 v1 x1 y2 Tname=a%20%b%2c%\nn2 v1 x y\nw1 v1 N\nw2 v1 Nn1,n2\nw3 v1 N\n")
    block = next(objects(path, NODE))
    assert tags_of(block.tags[0].as_py()) == {"name": "a b,"}
    assert block.lon.tolist()[0] == 1
    assert np.isnan(block.lat[1])
    assert block.lines(np.array([1])) == ["n2 T x y"]
    block = next(objects(path, WAY))
    assert (block.ref.tolist(), block.start.tolist()) == ([1, 2], [0, 0, 2, 2])
    assert np.isnan(block.lon).all()
    assert list(objects(path, RELATION)) == []


places = st.tuples(st.integers(-170, 170), st.integers(-80, 80))


@given(st.lists(places, min_size=1), places, st.integers(0, 40), st.integers(0, 40))
def test_sides_tell_whether_boxes_meet(
    corners: list[tuple[int, int]], corner: tuple[int, int], height: int, width: int
) -> None:
    """Against the definition: the box around the corners meets the box, as it is or a turn of the globe away."""
    (west, south), (lon, lat) = corner, (np.array(axis, dtype=np.float64) for axis in zip(*corners, strict=True))
    box = (south, west, south + height, west + width)
    shared = np.bitwise_and.reduce(sides_of(lat, lon, box), keepdims=True)
    beside = any(lon.max() + turn >= west and lon.min() + turn <= west + width for turn in (-360, 0, 360))
    assert bool(~apart(shared)[0]) == (beside and lat.max() >= south and lat.min() <= south + height)


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 3)), unique_by=lambda item: item[0]),
    st.integers(2, 12), st.integers(1, 9),
)  # fmt: skip
def test_runs_never_claim_a_side_too_many(items: list[tuple[int, int]], most: int, step: int) -> None:
    items.sort()
    kept = Sides(most)
    for i in range(0, len(items), step):
        ids, sides = zip(*items[i : i + step], strict=True)
        kept.add(np.array(ids, dtype=np.int64), np.array(sides, dtype=np.uint8))
    start, sides_of_run = kept.runs()
    assert len(start) <= most
    changes = sum(1 for i, item in enumerate(items) if i == 0 or item[1] != items[i - 1][1])
    for number, sides in items:
        told = int(sides_of_run[np.searchsorted(start, number, side="right") - 1])
        assert told & sides == told
        assert told == sides or changes > most // 4


def random_map(draw: random.Random) -> str:
    """Points, outlines small and large, some of them cut or crossed, and multipolygons out of arcs."""
    lines = []
    for n in range(1, 61):
        tag = draw.choice(["", "", " Tamenity=cafe", " Tshop=no", " Tshop=a,building=yes"])
        lines.append(f"n{2 * n} v1 x{draw.uniform(-3, 3):.7f} y{draw.uniform(-3, 3):.7f}{tag}")
    for w in range(1, 31):
        corners = [2 * draw.randint(1, 62) for _ in range(draw.choice([1, 3, 3, 3, 4]))]
        ends = corners[:1] if draw.random() < 0.8 else []
        tag = draw.choice(["building=yes", "amenity=a,building=b", "building=no", "highway=a", "shop=a,area=no"])
        lines.append(f"w{3 * w} v1 T{tag} N{','.join(f'n{c}' for c in corners + ends)}")
    for r in range(1, 16):
        members = ",".join(f"w{3 * draw.randint(1, 32)}@outer" for _ in range(draw.randint(1, 3)))
        tag = draw.choice(["type=multipolygon,building=a", "type=boundary,amenity=b", "type=site,amenity=c"])
        lines.append(f"r{r} v1 T{tag} M{members},n{2 * draw.randint(1, 60)}@")
    return "\n".join(lines)


@pytest.mark.no_cover
@pytest.mark.usefixtures("surveyed")
@pytest.mark.parametrize(("seed", "most_runs"), [(1, 4_000_000), (2, 4_000_000), (3, 8)])
def test_a_part_holds_what_of_the_whole_touches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, most_runs: int
) -> None:
    """Objects that merely cross the box or surround it included; also if runs have to be joined."""
    monkeypatch.setattr(FileSurvey, "most_runs", most_runs)
    draw = random.Random(seed)
    path = opl(tmp_path, random_map(draw))
    whole = osm.read_osm(path, PAPER)
    assert len(whole.areas) > 3
    for size in (0.01, 0.3, 0.3, 2):
        south, west = draw.uniform(-3, 3), draw.uniform(-3, 3)
        bounds = (south, west, south + size, west + size)
        part = osm.read_osm(path, PAPER, bounds=bounds)
        assert one_by_one(part) == one_by_one(whole, bounds)
        listed = {n for reason, names in part.info["objects"].items() for n in names}
        assert listed <= {n for names in whole.info["objects"].values() for n in names}


@pytest.mark.usefixtures("surveyed")
def test_what_surrounds_the_box_is_kept(tmp_path: Path) -> None:
    """No corner of either square lies within 40 degrees of the box; a third is as large and beside it."""
    path = opl(
        tmp_path,
        """
        n1 v1 x-50 y-40
        n2 v1 x50 y-40
        n3 v1 x50 y40
        n4 v1 x-50 y40
        n5 v1 x60 y-40
        n6 v1 x160 y-40
        n7 v1 x160 y40
        n8 v1 x60 y40
        n9 v1 x0 y0
        w1 v1 Tbuilding=around Nn1,n2,n3,n4,n1
        w2 v1 Tbuilding=beside Nn5,n6,n7,n8,n5
        w3 v1 T Nn1,n2,n3
        w4 v1 T Nn3,n4,n1
        w5 v1 T Nn5,n6,n7
        w6 v1 T Nn7,n8,n5
        r1 v1 Ttype=multipolygon,building=ring Mw3@outer,w4@outer
        r2 v1 Ttype=multipolygon,building=beyond Mw5@outer,w6@outer
        """,
    )
    part = osm.read_osm(path, PAPER, bounds=(-0.01, -0.01, 0.01, 0.01))
    assert [row[0] for row in one_by_one(part)] == ["building=around", "building=ring"]
    assert part.dropped == {"outside the area": 2}


def copies(folder: Path, count: int) -> Path:
    """The extract from Helsinki `count` times, side by side, numbers interleaved: each copy among all others.

    References to what the extract has not got are left out: nobody knows on which side that would be.
    """
    path = folder / f"copies-{count}.osm.pbf"
    plain: dict[str, list[Any]] = {"n": [], "w": [], "r": []}
    there: dict[str, set[int]] = {"n": set(), "w": set(), "r": set()}
    for entity in osmium.FileProcessor(str(helsinki())):
        tags = dict(entity.tags)
        there[entity.type_str()].add(entity.id)
        if entity.is_node():
            plain["n"].append((entity.id, (entity.location.lon, entity.location.lat), tags))
        elif entity.is_way():
            plain["w"].append((entity.id, [n.ref for n in entity.nodes if n.ref in there["n"]], tags))
        else:
            members = [(m.type, m.ref, m.role) for m in entity.members if m.ref in there[m.type]]
            plain["r"].append((entity.id, members, tags))
    mutable = osmium.osm.mutable
    with osmium.SimpleWriter(str(path)) as writer:
        for number, (lon, lat), tags in plain["n"]:
            for copy in range(count):
                place = (lon + 0.5 * (copy % 8), lat - 0.5 * (copy // 8))
                writer.add_node(mutable.Node(id=number * count + copy, location=place, tags=tags))
        for number, nodes, tags in plain["w"]:
            for copy in range(count):
                refs = [node * count + copy for node in nodes]
                writer.add_way(mutable.Way(id=number * count + copy, nodes=refs, tags=tags))
        for number, members, tags in plain["r"]:
            for copy in range(count):
                of_copy = [(kind, ref * count + copy, role) for kind, ref, role in members]
                writer.add_relation(mutable.Relation(id=number * count + copy, members=of_copy, tags=tags))
    return path


@pytest.mark.no_cover
def test_what_is_kept_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of twice the file but the same part of the first copy, and of the rest a bounded number of runs."""
    box = osm.osm_box(helsinki())
    assert box is not None
    lat, lon = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    bounds = (lat - 0.002, lon - 0.004, lat + 0.002, lon + 0.004)
    one, many = copies(tmp_path, 1), copies(tmp_path, 2)
    (small, _), (large, runs) = survey(one, bounds), survey(many, bounds)
    (small_text, small_outside), (large_text, large_outside) = small, large
    held = lines_by_kind(small_text)
    assert held == lines_by_kind(large_text)
    assert 50 < held["w"] < 1000
    assert held["n"] < sum(len(block.id) for block in objects(one, NODE)) / 2
    assert large_outside > 2 * small_outside
    monkeypatch.setattr(FileSurvey, "most_runs", 5_000)
    assert survey(many, bounds)[1] <= 2 * 5_000 < runs
    monkeypatch.setattr(osm, "SURVEY_BYTES", 0)
    assert one_by_one(osm.read_osm(many, PAPER, bounds=bounds)) == one_by_one(osm.read_osm(one, PAPER), bounds)


UNSORTED = """
    n3 v1 x0.1 y0.1
    n2 v1 x0.1 y0
    n1 v1 x0 y0 Tamenity=cafe
    w1 v1 Tbuilding=yes Nn1,n2,n3,n1
"""


@pytest.mark.usefixtures("surveyed")
def test_a_file_that_is_not_sorted_is_read_as_a_whole(tmp_path: Path) -> None:
    path, bounds = opl(tmp_path, UNSORTED), (-1, -1, 1, 1)
    with pytest.raises(UnsortedError):
        survey(path, bounds)
    assert [row[0] for row in one_by_one(osm.read_osm(path, PAPER, bounds=bounds))] == ["amenity=cafe", "building=yes"]


@pytest.mark.usefixtures("surveyed")
def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    part = tmp_path / "part.osm.pbf"
    part.write_bytes(helsinki().read_bytes()[:200_000])
    with pytest.raises(FileError, match=r"part\.osm\.pbf: not a whole OpenStreetMap file"):
        osm.read_osm(part, PAPER, bounds=(60, 24, 60.001, 24.001))


@pytest.mark.usefixtures("surveyed")
def test_relations_that_are_no_areas_are_named_where_they_are(tmp_path: Path) -> None:
    """Those elsewhere are counted; parts of other objects are not counted again."""
    path = opl(
        tmp_path,
        """
        n1 v1 t2020-01-02T03:04:05Z x0 y0 Tamenity=cafe
        n2 v1 x5 y5
        n3 v1 x9 y5
        n4 v1 x9 y9
        n5 v1 x0 y3 Tshop=a
        w1 v1 Tbuilding=yes Nn2,n3,n4,n2
        w2 v1 Tbuilding=yes Nn1,n3,n5,n1
        w3 v1 T Nn2,n3,n5
        r1 v1 Ttype=site,amenity=a Mn1@
        r2 v1 Ttype=site,amenity=a Mn2@
        r3 v1 Ttype=multipolygon,amenity=a Mw2@outer
        """,
    )
    part = osm.read_osm(path, PAPER, bounds=(4, 4, 6, 6))
    assert part.info["objects"] == {osm_passes.NOT_AREA: ("relation/2",)}
    assert [row[0] for row in one_by_one(part)] == ["amenity=a", "building=yes", "building=yes"]
    assert part.dropped == {osm_passes.NOT_AREA: 1, "outside the area": 3}
    assert part.info["timestamp"] == "2020-01-02T03:04:05Z"
