# SPDX-License-Identifier: Apache-2.0
"""Water, coast, roads and names with a map: read, cut, kept in its file, drawn; and nothing in a file is believed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from click.testing import CliRunner

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.context import KINDS, Context, Name
from geoelastic.context.context import CORNERS, NAMES
from geoelastic.context.context_from_osm import read_context
from geoelastic.context.shores import context_of, lake_faces, moved, sea_faces
from geoelastic.errors import FileError
from geoelastic.fences import disc
from geoelastic.figures.draw import picture_png
from geoelastic.figures.maps import mass_map
from geoelastic.figures.page import picture_page
from geoelastic.metric.metric_file import metric_to_parts
from geoelastic.store import write_container
from maps import PARIS, small_metric

HALF = (500.0, 500.0)
#: An island of 400 m in the middle of a sea around 0 N 0 E (a degree is about 111 km), with a pond that has an islet,
#: a road, a tunnel, a river and two places.
ISLAND = """
n1 x-0.002 y-0.002
n2 x0.002 y-0.002
n3 x0.002 y0.002
n4 x-0.002 y0.002
n5 x-0.001 y-0.001
n6 x0.001 y-0.001
n7 x0.001 y0.001
n8 x-0.001 y0.001
n9 x-0.0003 y-0.0003
n10 x0.0003 y-0.0003
n11 x0.0003 y0.0003
n12 x-0.0003 y0.0003
n13 Tplace=town,name=Middle%20%town x0 y0
n14 Tplace=hamlet,name=Beyond x0.5 y0
n15 Tplace=hamlet,name=%7%bell x0 y0
w1 Tnatural=coastline Nn1,n2,n3,n4,n1
w2 Nn5,n6,n7,n8,n5
w3 Nn9,n10,n11,n12,n9
w4 Thighway=primary Nn1,n3
w5 Thighway=primary,tunnel=yes Nn2,n4
w6 Twaterway=river Nn4,n8
w7 Thighway=residential Nn1,n4
r1 Ttype=multipolygon,natural=water Mw2@outer,w3@inner
"""


@pytest.fixture
def island(tmp_path: Path) -> Path:
    path = tmp_path / "island.osm.opl"
    path.write_text(ISLAND.lstrip(), encoding="utf-8")
    return path


def test_what_an_extract_has_in_an_area(island: Path) -> None:
    found = read_context(island, ge.Area(0, 0, 1000, 1000), 10)
    assert [len(list(found.lines(kind))) for kind in KINDS[1:]] == [4, 1, 1, 1, 0]
    rings = [shapely.Polygon(ring) for ring in found.lines("water")]
    # sea around the island, a pond in it, an islet in the pond: by the even-odd rule
    wet = [sum(ring.contains(shapely.Point(at, 0)) for ring in rings) % 2 for at in (450, 180, 80, 0)]
    assert wet == [1, 0, 1, 0]
    assert [name[2:] for name in found.names] == [(1, "Middle town")]


def test_land_is_on_the_left_of_a_coast_whose_ends_stop_before_the_border() -> None:
    for sign in (1, -1):
        coast = shapely.LineString([(0, -480 * sign), (30, 0), (0, 480 * sign)])
        sea = sea_faces(coast, HALF)
        assert sea.contains(shapely.Point(sign * 300, 0))
        assert not sea.contains(shapely.Point(-sign * 300, 0))
    stub = shapely.LineString([(0, 0), (0, 100)])
    assert sea_faces(stub, HALF).is_empty  # nothing is divided: nobody knows


def test_of_a_lake_with_a_part_of_its_shore_the_side_without_roads_is_wet() -> None:
    shore = shapely.MultiLineString([[(0, -500), (0, 0)], [(0, 500), (0, 0)]])
    roads = shapely.LineString([(-400, 0), (-100, 0)])
    assert lake_faces(shore, roads, HALF).equals(shapely.box(0, -500, 500, 500))
    assert lake_faces(shore, shapely.MultiLineString(), HALF).is_empty  # unclear


def drawn(metric: Any) -> Any:
    """A metric with a pond, a road and a name."""
    road = shapely.LineString([(-900, 10), (900, 10)])
    names = [Name(5, 6, 0, "Här"), Name(700, 0, 3, "beyond")]
    width, height = (side * metric.grid.cell_m for side in (metric.grid.cols, metric.grid.rows))
    pond = shapely.box(-100, -100, 100, 100)
    return replace(metric, context=context_of(pond, {"road": road}, names, width, height, tolerance_m=0))


def test_it_is_kept_with_the_metric_and_changes_nothing_else(tmp_path: Path) -> None:
    plain = small_metric(rows=10, cols=10)
    metric, path = drawn(plain), tmp_path / "m.geoelastic"
    metric.save(path)
    again = ge.load(path)
    assert again.context.to_dict() == metric.context.to_dict()
    assert again.context.to_dict()["lines"]["road"] == [[-500, 10, 500, 10]]  # cut to the map
    assert [name.text for name in again.context.names] == ["Här"]
    assert again.identity == plain.identity
    assert again.certificate == plain.certificate
    assert ge.load(_saved(plain, tmp_path)).context is None
    carved = metric.with_fences([disc(*PARIS, 90)], sharpen=False)
    assert carved.context is metric.context


def _saved(metric: Any, folder: Path) -> Path:
    metric.save(folder / "plain.geoelastic")
    return folder / "plain.geoelastic"


def test_an_extract_has_its_own_part_of_it() -> None:
    context = drawn(small_metric(rows=10, cols=10)).context
    part = moved(context, 100, 0, 400, 400)  # its middle is 100 m further east
    (ring,) = part.lines("water")
    assert shapely.Polygon(ring).equals(shapely.box(-200, -100, 0, 100))
    (road,) = part.lines("road")
    assert road.tolist() == [[-200, 10], [200, 10]]
    assert part.names == (Name(-95, 6, 0, "Här"),)


def test_an_extract_keeps_lines_of_different_lengths() -> None:
    roads = shapely.MultiLineString([[(-300, 0), (0, 0), (0, 300)], [(-300, -50), (300, -50)]])
    part = moved(context_of(shapely.Polygon(), {"road": roads}, [], 800, 800, tolerance_m=0), 0, 0, 400, 400)
    assert sorted(map(len, part.lines("road"))) == [2, 3]


def test_it_is_made_simpler_until_it_is_small() -> None:
    rng = np.random.default_rng(3)
    walk = shapely.LineString(np.cumsum(rng.integers(-3, 4, (2 * CORNERS, 2)), axis=0))
    names = [Name(0, k, 3, f"n{k:04}") for k in range(2 * NAMES)]
    context = context_of(shapely.Polygon(), {"coast": walk}, names, 2e5, 2e5, tolerance_m=0)
    assert 0 < context.x.size <= CORNERS
    assert len(context.names) == NAMES


@pytest.mark.parametrize(
    ("entry", "columns"),
    [
        ({"names": [[0, 0, 0, "a"]] * (NAMES + 1)}, {}),
        ({"names": [[0, 0, 0, "a\x1b[2J"]]}, {}),
        ({"names": [[0, 0, 0, ""]]}, {}),
        ({"names": [[0, 0, 0, "a" * 81]]}, {}),
        ({"names": [[501, 0, 0, "a"]]}, {}),
        ({"names": [[0, 0, 4, "a"]]}, {}),
        ({"names": [[0, 0.5, 0, "a"]]}, {}),
        ({"names": [[0, 0, 0]]}, {}),
        ({"names": "a"}, {}),
        ({}, {}),
        ({"names": [], "more": 1}, {}),
        (None, {}),
        ({"names": []}, {"begins": [0, 4, 0, 0, 0, 0]}),
        ({"names": []}, {"begins": [1, 0, 4, 0, 0, 0]}),
        ({"names": []}, {"begins": [4, 4, 0, 0, 0, 0]}),
        ({"names": []}, {"begins": [6, 0, 0, 0, 0, 0]}),
        ({"names": []}, {"x": [501, 0, 0, 0, 0, 0]}),
        ({"names": []}, {"y": [-(2**31), 0, 0, 0, 0, 0]}),
    ],
)
def test_nothing_of_it_is_believed(tmp_path: Path, entry: Any, columns: dict[str, list[int]]) -> None:
    manifest, tables = metric_to_parts(drawn(small_metric(rows=10, cols=10)))
    assert tables["context"].num_rows == 6
    types = {"begins": pa.uint8(), "x": pa.int32(), "y": pa.int32()}
    table = tables["context"]
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values, types[name]))
    path = tmp_path / "m.geoelastic"
    write_container(path, "metric", manifest | {"context": entry}, tables | {"context": table})
    with pytest.raises(FileError, match="not sound"):
        ge.load(path)
    told = CliRunner().invoke(main, ["info", str(path)])
    assert (told.exit_code, told.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("missing", ["entry", "table", "column"])
def test_its_parts_belong_together(tmp_path: Path, missing: str) -> None:
    manifest, tables = metric_to_parts(drawn(small_metric(rows=10, cols=10)))
    if missing == "entry":
        del manifest["context"]
    elif missing == "table":
        del tables["context"]
    else:
        tables["context"] = tables["context"].drop_columns("y")
    write_container(tmp_path / "m.geoelastic", "metric", manifest, tables)
    with pytest.raises(FileError, match="context"):
        ge.load(tmp_path / "m.geoelastic")


def test_too_many_corners_are_refused(tmp_path: Path) -> None:
    manifest, tables = metric_to_parts(drawn(small_metric(rows=10, cols=10)))
    many = np.zeros(CORNERS + 1, np.int32)
    begins = np.zeros(CORNERS + 1, np.uint8)
    begins[0] = 4
    tables["context"] = pa.table({"begins": begins, "x": many, "y": many})
    write_container(tmp_path / "m.geoelastic", "metric", manifest, tables)
    with pytest.raises(FileError, match=str(CORNERS)):
        ge.load(tmp_path / "m.geoelastic")


def test_it_is_drawn_with_pictures_and_pages() -> None:
    plain = small_metric(rows=10, cols=10)
    with_it = mass_map(drawn(plain))
    assert picture_png(with_it) != picture_png(mass_map(plain))
    hostile = replace(with_it, context=Context(*_empty(), (Name(0, 0, 0, "</script><!--<script>$\\frac{"),)))
    assert "<!--<script>" not in picture_page(hostile)
    assert picture_png(hostile)  # no formula


def _empty() -> tuple[Any, Any, Any]:
    return np.zeros(0, np.uint8), np.zeros(0, np.int32), np.zeros(0, np.int32)


def test_a_build_keeps_it_unless_told_not_to(island: Path, tmp_path: Path) -> None:
    text = island.read_text(encoding="utf-8")
    text += "".join(f"n{100 + k} Tshop=books x{(k % 9 - 4) / 2500:.4f} y{(k // 9 - 4) / 2500:.4f}\n" for k in range(81))
    ways = [line for line in text.splitlines() if line[0] in "wr"]
    island.write_text("\n".join([li for li in text.splitlines() if li[0] == "n"] + ways) + "\n", encoding="utf-8")
    out = tmp_path / "out.geoelastic"
    area = ["--center", "0,0", "--size", "1", "--l-top", "0.7", "--no-sharpen"]
    for option, there in (("--context", True), ("--no-context", False)):
        told = CliRunner().invoke(main, ["build", str(island), *area, option, "-o", str(out)])
        assert told.exit_code == 0, told.output
        assert (ge.load(out).context is not None) == there
