# SPDX-License-Identifier: Apache-2.0
"""Nodes and ways as columns, with the places of their corners: what libosmium writes is what is read."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import osmium
import osmium.filter
import osmium.index
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geoelastic._kernels import parse_lines
from geoelastic.errors import FileError
from geoelastic.sources import _collect, _opl, osm
from geoelastic.sources._collect import BAD_OUTLINE
from geoelastic.sources._opl import LOCATED, _plain, located, tag_sets
from test_sources_osm import PAPER, helsinki, opl

#: whole numbers of ten millionths of a degree, as OpenStreetMap has them
units = st.integers(-1_800_000_000, 1_800_000_000)


def written(unit: int) -> str:
    """As libosmium writes a coordinate: no zeros at the end."""
    sign, digits = "-" if unit < 0 else "", f"{abs(unit):08d}"
    return f"{sign}{digits[:-7]}.{digits[-7:]}".rstrip("0").rstrip(".")


@given(st.lists(st.lists(st.tuples(st.integers(1, 2**40), st.none() | st.tuples(units, units)), max_size=4)))
def test_corners_are_the_nearest_numbers(ways: list[list[tuple[int, tuple[int, int] | None]]]) -> None:
    """To the last bit what Python makes of the same text, and what libosmium has: units divided by ten million."""
    lines = []
    for way in ways:
        places = ["xy" if place is None else f"x{written(place[0])}y{written(place[1])}" for _, place in way]
        corners = ",".join(f"n{ref}{place}" for (ref, _), place in zip(way, places, strict=True))
        lines.append(f"w{len(lines)} T N{corners}\n")
    text = np.frombuffer("".join(lines).encode(), dtype=np.uint8)
    number, _, _, _, start, ref, x, y, _ = parse_lines(text, len(lines))
    assert number.tolist() == list(range(len(lines)))
    assert start.tolist() == np.cumsum([0, *map(len, ways)]).tolist()
    corner = [each for way in ways for each in way]
    assert ref.tolist() == [node for node, _ in corner]
    for axis, column in enumerate((x, y)):
        known = [place[axis] if place is not None else None for _, place in corner]
        np.testing.assert_array_equal(column, [np.nan if unit is None else float(written(unit)) for unit in known])
        np.testing.assert_array_equal(column, [np.nan if unit is None else unit / 1e7 for unit in known])


def test_fields_in_any_order_and_company() -> None:
    text = (
        "n7 v3 dV c9 t2021-02-03T04:05:06Z i5 uT%20%t Tname=café,a=b x1.5 y-.25\n"
        "w8 dV t T N\nn9 x y T\nr5 v1 t2020-12-31T23:59:59Z Ttype=x Mw8@outer,n7@\n"
    )
    letters = np.frombuffer(text.encode(), dtype=np.uint8)
    number, is_way, tag_start, tags, start, ref, x, y, newest = parse_lines(letters, 4)
    assert (number.tolist(), is_way.tolist()) == ([7, 8, 9, 5], [False, True, False, False])
    each = [bytes(tags[tag_start[i] : tag_start[i + 1]]).decode() for i in range(4)]
    assert each == ["name=café,a=b", "", "", "type=x"]
    assert (start.tolist(), ref.tolist(), newest) == ([0, 1, 1, 2, 2], [0, 0], 20210203040506)
    np.testing.assert_array_equal(x, [1.5, np.nan])
    np.testing.assert_array_equal(y, [-0.25, np.nan])


def tags_of(text: str) -> dict[str, str]:
    """``name=caf%e9%,shop=books`` as a mapping."""
    pairs = (pair.split("=", 1) for pair in text.split(",") if pair)
    return {_plain(key): _plain(value) for key, value in pairs}


texts = st.sampled_from(["a", "b", "c", "building", "caf%e9%", "x%2c%y"])


@given(st.lists(st.lists(st.tuples(texts, texts), unique_by=lambda pair: pair[0]), min_size=1))
def test_sets_hold_the_tags_of_each_object(objects: list[list[tuple[str, str]]]) -> None:
    lines = [",".join(f"{key}={value}" for key, value in tags) for tags in objects]
    keys = ["building", "b", "café", "nowhere"]
    sets, which = tag_sets(pa.array(lines), keys)
    for line, number in zip(lines, which.tolist(), strict=True):
        assert sets[number] == {key: value for key, value in tags_of(line).items() if key in keys}
    assert len({tuple(sorted(tags.items())) for tags in sets}) == len(sets)


def with_places(path: Path) -> Iterator[Any]:
    """Nodes and ways that have a key, by pyosmium's own objects."""
    places = osmium.NodeLocationsForWays(osmium.index.create_map("sparse_mem_array"))
    places.ignore_errors()
    with osmium.io.Reader(str(path), osmium.osm.NODE | osmium.osm.WAY) as reader:
        handlers = [places, osmium.filter.KeyFilter("building", "amenity")]
        yield from osmium.OsmFileIterator(reader, *handlers)


def test_columns_hold_what_the_file_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks of any size, smaller than a line included."""
    theirs = []
    target = tmp_path / "located.opl"
    with osmium.SimpleWriter(osmium.io.File(str(target), LOCATED)) as writer:
        for entity in with_places(helsinki()):
            writer.add(entity)
            corners = entity.nodes if entity.is_way() else [entity]
            places = [(c.location.lon, c.location.lat) if c.location.valid() else None for c in corners]
            theirs.append((entity.is_way(), entity.id, dict(entity.tags), places))
    assert len(theirs) > 1000
    for size in (50, 1 << 20):
        monkeypatch.setattr(_opl, "_BLOCK_BYTES", size)
        ours = []
        for block in located(target):
            known = ~np.isnan(block.lon)
            place = [
                (x, y) if there else None
                for x, y, there in zip(block.lon.tolist(), block.lat.tolist(), known, strict=True)
            ]
            corners = [place[block.start[i] : block.start[i + 1]] for i in range(len(block.id))]
            tags = (tags_of(text) for text in block.tags.to_pylist())
            ours += zip(block.is_way.tolist(), block.id.tolist(), tags, corners, strict=True)
        assert ours == theirs


def test_odd_ways_and_nodes(tmp_path: Path) -> None:
    """Without nodes, with one node, with corners at the same place, without a place: left out and named."""
    path = opl(
        tmp_path,
        """
        n1 v1 x1 y1
        n2 v1 x2 y1
        n3 v1 x2 y2
        n4 v1 x2 y2
        n5 v1 x y Tamenity=cafe
        w1 v1 Tbuilding=yes N
        w2 v1 Tbuilding=yes Nn1
        w3 v1 Tbuilding=yes Nn1,n2,n3,n4,n1
        w4 v1 Tbuilding=yes Nn1,n3,n4,n1
        """,
    )
    features = osm.read_osm(path, PAPER, bounds=(0, 0, 3, 3))
    assert features.info["objects"] == {BAD_OUTLINE: ("way/2", "way/4")}
    assert features.dropped["outside the area"] == 2  # way/1 and node/5 are nowhere
    assert features.areas.lon.tolist() == [1, 2, 2, 1]
    everywhere = osm.read_osm(path, PAPER)
    assert everywhere.info["objects"][_collect.OPEN_WAY] == ("way/1",)
    assert (len(everywhere.lat), everywhere.dropped["outside the area"]) == (0, 1)


def test_a_full_disk_is_said_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """libosmium would end the process."""
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=100))
    with pytest.raises(FileError, match="0 MB are free; TMPDIR can name another folder"):
        osm.read_osm(opl(tmp_path, "n1 v1 x1 y1 Tamenity=cafe\n"), PAPER)
