# SPDX-License-Identifier: Apache-2.0
"""The doors from data to q(x), files of qualities, and the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.errors import FileError, InputError

ROOT = Path(__file__).resolve().parents[1]
AREA = ge.Area.around(46.2, 6.15, size_km=1)


def points(folder: Path) -> Path:
    path = folder / "points.csv"
    path.write_text("lat,lon,people\n46.2001,6.1501,5\n46.2001,6.1501,2\n46.203,6.153,4\n", encoding="utf-8")
    return path


def recipe(folder: Path, rest: str = "") -> Path:
    path = folder / "mixed.toml"
    path.write_text(
        'name = "mixed"\n'
        '[[layer]]\nname = "people"\nsource = "points.csv"\nvalue = "people"\nweight = 2\ncredit = "us"\n'
        '[[layer]]\nname = "rows"\nsource = "points.csv"\n' + rest,
        encoding="utf-8",
    )
    return path


def test_several_sources_in_one_recipe(tmp_path: Path) -> None:
    points(tmp_path)
    quality = ge.quality_from_source(recipe(tmp_path), AREA)
    assert quality.cells.sum() == 2 * 11 + 3
    assert sorted(quality.cells[quality.cells > 0].tolist()) == [2 * 4 + 1, 2 * 7 + 2]
    assert quality.info["licence"] == "us"
    assert quality.info["layers"]["people"]["quality"] == 22
    assert str(tmp_path) not in json.dumps(quality.info)


def test_a_recipe_may_name_its_area_and_city(tmp_path: Path) -> None:
    points(tmp_path)
    path = recipe(
        tmp_path, "[area]\ncenter=[46.2, 6.15]\nsize_km=2\ncell_m=200\n[city]\ncenter=[46.2, 6.15]\nradius_km=1\n"
    )
    quality = ge.quality_from_source(path)
    assert quality.grid.shape == (10, 10)
    assert quality.info["city_disc"] == [46.2, 6.15, 1000]
    assert ge.mass_from_quality(quality, r_small=300, r_large=900).info["b"] > 0


def test_map_and_files_together(tmp_path: Path) -> None:
    points(tmp_path)
    extract = tmp_path / "map.opl"
    extract.write_text("n1 v1 x6.1501 y46.2001 Tamenity=cafe\n")
    path = recipe(tmp_path, '[[layer]]\nname = "poi"\nmatch = ["amenity"]\nweight = 10\n')
    quality = ge.quality_from_osm(extract, AREA, recipe=path)
    assert quality.cells.sum() == 22 + 3 + 10
    assert quality.info["source"] == ["map.opl", "points.csv", "points.csv"]
    with pytest.raises(InputError, match="reads OpenStreetMap data: give that as the source"):
        ge.quality_from_source(path, AREA)
    with pytest.raises(InputError, match="a recipe can be a layer of it, not its source"):
        ge.quality_from_source(recipe(tmp_path), AREA, recipe="paper")


def test_a_prior_scales_what_is_there(tmp_path: Path) -> None:
    points(tmp_path)
    (tmp_path / "visits.csv").write_text("lat,lon\n46.2001,6.1501\n46.2001,6.1501\n")
    plain = ge.quality_from_source(recipe(tmp_path), AREA)
    with_prior = recipe(tmp_path, '[prior]\nsource = "visits.csv"\nfloor = 0.25\n')
    scaled = ge.quality_from_source(with_prior, AREA)
    assert scaled.cells.sum() == pytest.approx(plain.cells.sum())
    away = plain.cells == 9
    assert scaled.cells[away] == pytest.approx(9 * 0.25)
    assert scaled.info["prior"]["floor"] == 0.25
    given = np.zeros(plain.grid.shape)
    given[plain.cells == 16] = 7
    again = ge.quality_from_source(recipe(tmp_path, "[prior]\nfloor = 0.25\n"), AREA, prior=given)
    np.testing.assert_allclose(again.cells, scaled.cells)
    same = ge.quality_from_source(recipe(tmp_path), AREA, prior=ge.Quality(plain.grid, given))
    assert same.cells[away] == pytest.approx(0.9)
    with pytest.raises(InputError, match="the recipe scales by a prior"):
        ge.quality_from_source(recipe(tmp_path, "[prior]\nfloor = 0.25\n"), AREA)
    with pytest.raises(InputError, match="'prior' must have the grid's shape"):
        ge.quality_from_source(recipe(tmp_path), AREA, prior=np.ones((2, 2)))
    smooth = ge.quality_from_source(
        recipe(tmp_path, '[prior]\nsource = "visits.csv"\nfloor = 0.25\nsmooth_m = 150\n'), AREA
    )
    assert 9 * 0.25 < float(smooth.cells[away][0]) < 9


def test_a_cap_is_named_and_shown(tmp_path: Path) -> None:
    points(tmp_path)
    quality = ge.quality_from_source(recipe(tmp_path, '[cap]\nrule = "value"\namount = 10\n'), AREA)
    assert quality.cells.max() == 10
    assert quality.info["cap"] == {"rule": "value", "amount": 10, "value": 10, "cells cut": 1, "quality cut": 6}


def test_synthetic_maps_and_saved_qualities(tmp_path: Path) -> None:
    assert ge.quality_from_source("synthetic:even").grid.shape == (120, 120)
    made = ge.quality_from_source("synthetic:city", ge.Area.around(10, 20, size_km=6), 200)
    assert made.grid.shape == (30, 30)
    path = tmp_path / "q.parquet"
    ge.save_quality(made, path)
    back = ge.quality_from_source(path)
    np.testing.assert_array_equal(back.cells, made.cells)
    assert back.grid == made.grid
    with pytest.raises(InputError, match="has its own area and cells"):
        ge.quality_from_source(path, AREA)
    assert back.info == made.info
    for options, message in (
        ({"at": "Tue 14:00"}, "'at' is for the opening hours"),
        ({"prior": made}, "a prior scales"),
    ):
        with pytest.raises(InputError, match=message):
            ge.quality_from_source(path, **options)


def test_a_quality_of_a_part_of_an_area_is_saved_where_it_is(tmp_path: Path) -> None:
    """A part keeps its area's plane: its own middle lies east and north of that plane's centre."""
    grid = ge.Grid.over(ge.Area(46.2, 6.15, 1000, 800, east_m=5000, north_m=-700), 100)
    made = ge.Quality(grid, np.arange(80.0).reshape(8, 10))
    ge.save_quality(made, tmp_path / "part.parquet")
    back = ge.load_quality(tmp_path / "part.parquet")
    assert back.grid == grid
    np.testing.assert_array_equal(back.cells, made.cells)


def test_a_saved_quality_is_a_plain_table(tmp_path: Path) -> None:
    import pandas

    quality = ge.quality_from_points(points(tmp_path), AREA, weight="people")
    path = tmp_path / "q.parquet"
    ge.save_quality(quality, path)
    table = pandas.read_parquet(path)
    assert list(table.columns) == ["row", "col", "lat", "lon", "quality", "geometry"]
    assert table["quality"].sum() == 11
    assert quality.grid.latlon_to_cell(table["lat"], table["lon"])[0].tolist() == table["row"].tolist()
    with pytest.raises(InputError, match=r"\.parquet"):
        ge.save_quality(quality, tmp_path / "q.csv")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileError, match="not a quality file of geoelastic, or not a whole one"):
        ge.load_quality(path)
    with pytest.raises(FileError, match="no such file"):
        ge.load_quality(tmp_path / "none.parquet")


@pytest.mark.data
def test_the_recipe_of_paris() -> None:
    """q = households / 20 + 3 (restaurants + venues), against sums over the raw tables."""
    import pandas

    data = ROOT.parent / "shared" / "data" / "paris"
    quality = ge.quality_from_source(ROOT / "examples" / "paris.toml")
    assert quality.grid.shape == (750, 750)
    layers = quality.info["layers"]
    area = quality.grid.area
    homes = pandas.read_csv(data / "filosofi2019_200m_idf.csv")
    deep = (np.abs(np.stack(area.to_xy(homes["lat"], homes["lon"]))) < 37_500 - 150).all(axis=0)
    near = (np.abs(np.stack(area.to_xy(homes["lat"], homes["lon"]))) < 37_500 + 150).all(axis=0)
    assert homes["men"][deep].sum() / 20 <= layers["homes"]["quality"] <= homes["men"][near].sum() / 20
    assert layers["homes"]["quality"] == pytest.approx(homes["men"][near].sum() / 20, rel=2e-3)
    restaurants = pandas.read_csv(data / "osm_restaurants_idf_oct2022.tsv", sep="\t")
    venues = pandas.read_csv(data / "wof_venues_idf_2017.csv", low_memory=False)
    for name, table in (
        ("restaurants", restaurants[restaurants["Endyear"] == 2022].rename(columns={"Lat": "lat", "Lon": "lon"})),
        ("venues", venues[venues["nstack"] <= 20]),
    ):
        inside = area.contains(table["lat"], table["lon"])
        assert layers[name]["features"] == int(inside.sum())
        assert layers[name]["quality"] == 3 * layers[name]["features"]
    assert int((restaurants["Endyear"] == 2022).sum()) == 13_716
    assert quality.cells.sum() == pytest.approx(sum(layer["quality"] for layer in layers.values()))
    assert set(quality.info["licence"].split("; ")) == {
        "INSEE, Filosofi 2019",
        "Who's On First",
        "© OpenStreetMap contributors, ODbL 1.0",
    }


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["quality", *map(str, arguments)])
    return result.exit_code, result.output


def test_the_command(tmp_path: Path) -> None:
    out = tmp_path / "q.parquet"
    code, text = run(points(tmp_path), "--center", "46.2,6.15", "--size", 1, "--weight", "people", "-o", out)
    assert code == 0
    assert "1 x 1 km around 46.20000, 6.15000" in text
    assert "3 features, weight 1, quality 11.0" in text
    code, text = run(points(tmp_path), "--center", "46.2,6.15", "--size", 1, "--cell", 50, "-o", out, "--json")
    facts = json.loads(text)
    assert (code, facts["cells"], facts["quality"]) == (0, [20, 20], 3)
    assert ge.load_quality(out).cells.sum() == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.osm.pbf"], "none.osm.pbf: there is no such file"),
        (["none.xyz"], "'source' must be an OpenStreetMap file"),
        (["postgresql://u:hunter2@127.0.0.1:9/x", "--center", "1,1", "--size", "1"], "cannot be reached"),
        (["synthetic:even", "--center", "1,1"], "both --center LAT,LON and --size KM"),
        (["mysql://u:hunter2@localhost/x"], "got 'mysql://...'"),
        (["none.osm.pbf", "--weight", "n"], "name columns of a table; the source is a map"),
        (["none.osm.pbf", "--recipe", "best"], "'recipe' must be one of"),
        (["none.csv", "--at", "Tue 14:00"], "'at' is for the opening hours of OpenStreetMap objects"),
        (["none.csv", "--cell", "0"], "'cell_m' must be a finite number > 0"),
        (["none.csv", "--cell", "nan"], "'cell_m' must be a finite number > 0"),
    ],
)
def test_one_line_for_bad_input(tmp_path: Path, arguments: list[str], message: str) -> None:
    code, text = run(*arguments, "-o", tmp_path / "q.parquet")
    assert code == 2
    assert message in text
    assert text.count("\n") == 1
    assert "hunter2" not in text


def test_the_output_is_asked_for_before_the_work(tmp_path: Path) -> None:
    code, text = run("none.osm.pbf", "-o", tmp_path / "nowhere" / "q.parquet")
    assert code == 2
    assert "there is no directory" in text


def crowd(strays: list[tuple[float, float]], n: int = 1500) -> dict[str, Any]:
    """A town of 2 x 3 km and some objects elsewhere; (east, north) in km."""
    rng = np.random.default_rng(5)
    x, y = rng.uniform(-1, 1, n), rng.uniform(-1.5, 1.5, n)
    x, y = (np.concatenate([own, [place[k] for place in strays]]) for k, own in enumerate((x, y)))
    lat, lon = ge.Area.around(40.7, -74.0, size_km=90).to_latlon(1000 * x, 1000 * y)
    return {"lat": np.asarray(lat), "lon": np.asarray(lon)}


def test_a_few_strays_do_not_make_the_area_forty_kilometres_long():
    quality = ge.quality_from_points(crowd([(-6, -30), (9, 2), (0.5, 25)]))
    assert quality.grid.area.width_m == pytest.approx(2200, abs=150)
    assert quality.grid.area.height_m == pytest.approx(3300, abs=150)
    assert quality.grid.area.middle == pytest.approx((40.7, -74.0), abs=0.001)
    strays = quality.info["strays"]
    assert strays["objects"] == 3
    assert strays["farthest_km"] == pytest.approx(28.9, abs=0.3)
    (note,) = [text for text in quality.info["notes"] if "dense part" in text]
    assert "3 of 1,503 objects, up to" in note
    assert f"it is {strays['options']}," in note
    center, size, height = strays["options"].split()[1::2]
    same = ge.Area.around(*map(float, center.split(",")), size_km=float(size), height_km=float(height))
    again = ge.quality_from_points(crowd([(-6, -30), (9, 2), (0.5, 25)]), same)
    assert again.cells.sum() == quality.cells.sum() == 1500
    assert again.grid.shape == quality.grid.shape


def test_the_whole_box_is_taken_when_asked_for_and_where_there_are_no_strays():
    far = crowd([(-6, -30), (9, 2), (0.5, 25)])
    assert ge.quality_from_points(far, ge.Area.around(40.7, -74.0, size_km=64)).cells.sum() == 1503
    assert "strays" not in ge.quality_from_points(crowd([])).info
    town = crowd([(8 + k % 3, 14 + k // 30) for k in range(60)])  # a second town of sixty objects is no stray
    assert "strays" not in ge.quality_from_points(town).info
    assert "strays" not in ge.quality_from_points(crowd([(20, 20)], n=90)).info


@pytest.mark.data
def test_downtown_san_francisco_is_found_among_its_strays(data_dir, monkeypatch):
    monkeypatch.setattr("geoelastic.quality.quality_from.stated_box", lambda *_: None)
    quality = ge.quality_from_osm(data_dir / "osm" / "sf_downtown_2023.osm.pbf")
    assert quality.grid.area.middle == pytest.approx((37.7835, -122.4005), abs=0.01)
    assert max(quality.grid.shape) < 45
    assert quality.info["strays"]["objects"] < 100
