# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime as dt
import math
import re
from pathlib import Path

import numpy as np
import pytest

import geoelastic as ge
from geoelastic.errors import FileError, InputError
from geoelastic.quality.recipe import Hours, open_factor, parse_moment

LAYER = '[[layer]]\nname = "a"\nmatch = ["amenity"]\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_recipes_in_the_package_load() -> None:
    assert ge.recipe_names() == ["default", "paper", "places"]
    assert ge.load_recipe().name == "default"
    paper = ge.load_recipe("paper")
    assert paper.name == "paper"
    assert [(layer.name, layer.weight, [m.rule.key for m in layer.matches]) for layer in paper.layers] == [
        ("places", 3, ["amenity", "shop"]),
        ("buildings", 1, ["building"]),
    ]
    places = ge.load_recipe("places")
    assert places.reads_map
    assert places.diversity is not None
    assert places.hours is not None
    assert set(places.hours.times) == {"day", "evening", "night"}
    assert [layer.name for layer in places.layers if places.opens(layer)] == ["places", "transport"]


def test_street_furniture_does_not_count_unless_the_paper_is_asked_for(tmp_path: Path) -> None:
    names = ["cafe", "bench", "waste_basket", "parking_space", "vending_machine", "bicycle_parking", "school"]
    lines = [f"n{k + 1} v1 x{0.001 * k} y0.001 Tamenity={name}" for k, name in enumerate(names)]
    path = tmp_path / "street.opl"
    path.write_text("\n".join([*lines, "n99 v1 x0.002 y0.002 Tshop=vacant", "n100 v1 x0 y0.002 Tshop=bakery", ""]))
    area = ge.Area.around(0, 0, size_km=2)
    default, paper = (ge.quality_from_osm(path, area, 100, recipe) for recipe in (None, "paper"))
    assert default.cells.sum() == pytest.approx(3 * 3)  # a café, a school and a bakery, three times each
    assert paper.cells.sum() == pytest.approx(3 * 9)
    assert default.info["layers"]["places"]["classes"] == {"amenity=cafe": 1, "amenity=school": 1, "shop=bakery": 1}


def test_what_is_furniture_for_the_recipe_of_places_is_furniture_by_default() -> None:
    left_out = [ge.load_recipe(name).layers[0].matches[0].rule for name in ("default", "places")]
    assert [rule.key for rule in left_out] == ["amenity", "amenity"]
    assert left_out[1].without <= left_out[0].without


def test_every_setting_is_read(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
name = "all"
about = "everything"
[area]
center = [48.85, 2.35]
size_km = 10
cell_m = 50
[city]
center = [48.85, 2.35]
radius_km = 2.5
[[layer]]
name = "poi"
weight = 2
match = [{ key = "amenity", values = ["bar"], without = ["bench"], geometry = "node", weight = 4 }, "shop"]
[[layer]]
name = "homes"
match = ["building"]
levels = { unknown = 2, most = 9 }
[[layer]]
name = "people"
source = "grid.csv"
lat = "y"
lon = "x"
value = "n"
side_m = 200
side_crs = "EPSG:3035"
where = [{ column = "n", at_least = 1 }, { column = "kind", one_of = ["a", "b"] }]
class_column = "kind"
credit = "somebody"
[diversity]
order = inf
strength = 1
layers = ["poi"]
[hours]
noon = "Mon 12:00"
at = "noon"
unknown = 0.3
closed = 0.1
layers = ["poi"]
[sensitive]
cover = 0.2
groups = { x = ["amenity=bar"] }
[prior]
source = "prior.tif"
floor = 0.5
smooth_m = 250
[cap]
rule = "quantile"
amount = 0.99
""",
    )
    recipe = ge.load_recipe(path)
    assert (recipe.centre, recipe.size_km, recipe.cell_m, recipe.city) == ((48.85, 2.35), 10, 50, (48.85, 2.35, 2500))
    first, second, third = recipe.layers
    assert first.matches[0].weight == 4
    assert first.matches[0].rule.geometry == "node"
    assert [first.matches[0].rule.matches(v) for v in ("bar", "bench", "pub")] == [True, False, False]
    assert [first.matches[1].rule.matches(v) for v in ("no", "books")] == [False, True]
    assert (second.levels, second.levels_unknown, second.levels_most) == (True, 2, 9)
    assert third.file is not None
    assert third.file.path == str(tmp_path / "grid.csv")
    assert [c.op for c in third.file.where] == ["at_least", "one_of"]
    assert recipe.diversity is not None
    assert math.isinf(recipe.diversity.order)
    assert recipe.hours is not None
    assert recipe.hours.moment(None) == dt.datetime(2026, 3, 9, 12)
    assert recipe.prior is not None
    assert recipe.prior.smooth_m == 250
    assert recipe.cap is not None
    assert (recipe.cap.rule, recipe.cap.amount) == ("quantile", 0.99)


DOCS = (Path(__file__).resolve().parents[1] / "docs" / "recipes.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", re.findall(r"```toml\n(.*?)```", DOCS, flags=re.DOTALL))
def test_recipes_in_the_docs_are_recipes(tmp_path: Path, text: str) -> None:
    assert ge.load_recipe(write(tmp_path, text)).layers


def test_the_docs_name_every_setting(tmp_path: Path) -> None:
    """As the reader itself lists them when it meets one that it does not know."""
    known: set[str] = set()
    for table in (
        "",
        "[area]",
        "[city]\ncenter=[0,0]",
        "[diversity]",
        "[sensitive]\ngroups={a=['b']}",
        "[prior]",
        "[cap]",
    ):
        with pytest.raises(InputError) as caught:
            ge.load_recipe(
                write(tmp_path, f"name='x'\n{table and LAYER}{table}\nunheard_of=1\n{'' if table else LAYER}")
            )
        known |= set(re.findall(r"known: ([^)]*)\)", str(caught.value))[0].split(", "))
    assert len(known) > 15
    assert [name for name in sorted(known) if name not in DOCS] == []


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        'name = 3\ncolour = "red"\n[[layer]]\nname = "a"\nweight = -1\n'
        'match = [{ key = "amenity", geometry = "line" }]\n'
        "[cap]\nrule = 'quantile'\namount = nan\n[hours]\nday = 'noon'\n[diversity]\nlayers = ['b']\n",
    )
    with pytest.raises(InputError) as caught:
        ge.load_recipe(path)
    message = str(caught.value)
    for part in (
        "'name' must be a text, got 3",
        "'colour' is not a known setting",
        "'layer[0].weight' must be a number >= 0, got -1",
        "'layer[0].match[0].geometry' must be one of 'any', 'node', 'area', got 'line'",
        "'cap.amount' must be a number > 0 and <= 1, got nan",
        "'hours.day' must be a time",
        "'diversity.layers' must be names of layers (a)",
    ):
        assert part in message


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("name = 'x'\n", "'layer' must be one or more"),
        ("name = 'x'\n" + LAYER + LAYER, "different names"),
        ("name = 'x'\n[[layer]]\nname = 'a'\n", "a list of tag keys"),
        ("name = [", "not valid TOML"),
        ("name = 'x'\nlayer = 3\n", "'layer' must be a list"),
        ("name = 'x'\nlayer = [3]\n", r"'layer\[0\]' must be a table"),
        ("name = 'x'\n[[layer]]\nname='a'\nsource='t.csv'\nwhere=[{column='c'}]\n", "one test of equals"),
        ("name = 'x'\n[sensitive]\ncover=0.1\n" + LAYER, "'sensitive.groups' must be"),
        ("name = 'x'\n[area]\ncenter=[100, 0]\n" + LAYER, r"'area.center' must be \[lat, lon\]"),
    ],
)
def test_bad_recipes(tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        ge.load_recipe(write(tmp_path, text))


def test_recipes_that_are_not_there() -> None:
    with pytest.raises(InputError, match=r"must be one of .default., .paper., .places. or a \.toml file"):
        ge.load_recipe("best")
    with pytest.raises(FileError, match="cannot be read as a recipe"):
        ge.load_recipe("nowhere.toml")


def test_times() -> None:
    assert parse_moment("Tue 14:00") == dt.datetime(2026, 3, 10, 14)
    assert parse_moment("sunday 3:30") == dt.datetime(2026, 3, 15, 3, 30)
    assert parse_moment("2026-11-17T14:00") == dt.datetime(2026, 11, 17, 14)
    for wrong in ("noon", "Tue 25:00", "", "Xyz 10:00", 3):
        with pytest.raises(InputError, match="'at' must be a time"):
            parse_moment(wrong)
    hours = Hours({"day": dt.datetime(2026, 3, 10, 14)})
    assert hours.moment("day") == dt.datetime(2026, 3, 10, 14)
    assert hours.moment(None) is None
    with pytest.raises(InputError, match="or one of 'day'"):
        hours.moment("dusk")


def test_opening_hours() -> None:
    texts = ["Mo-Fr 08:00-18:00", "24/7", "Mo-Su 18:00-02:00", "after work, maybe", "Sa 10:00-12:00 unknown"]
    index = np.array([0, 1, 2, 3, 4, -1, -1])
    hours = Hours(unknown=0.5, closed=0.1)
    noon, counts = open_factor(texts, index, hours, parse_moment("Tue 12:00"))
    assert noon.tolist() == [1, 1, 0.1, 0.5, 0.1, 0.5, 0.5]
    assert counts == {"open": 2, "closed": 2, "hours unknown": 2, "hours unreadable": 1}
    night, _ = open_factor(texts, index, hours, parse_moment("Wed 01:00"))
    assert night.tolist() == [0.1, 1, 1, 0.5, 0.1, 0.5, 0.5]
    saturday, _ = open_factor(texts, index, hours, parse_moment("Sat 11:00"))
    assert saturday.tolist() == [0.1, 1, 0.1, 0.5, 0.5, 0.5, 0.5]
