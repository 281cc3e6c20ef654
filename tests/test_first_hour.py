# SPDX-License-Identifier: Apache-2.0
"""What a newcomer meets in the first hour: tracks, tiles, tables without a header, missing extras, plain messages."""

from __future__ import annotations

import gzip
import inspect
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.demo import run_demo
from geoelastic.errors import MissingExtraError
from geoelastic.evaluation.study_report import _STYLE, _html_table
from geoelastic.fences.suggest import numbered
from geoelastic.figures.draw import draw_picture, new_figure
from geoelastic.figures.page import picture_page
from geoelastic.figures.picture import Picture
from geoelastic.figures.save import write_geotiff
from geoelastic.sources.traces.table_traces import track_in
from maps import small_metric


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    path = tmp_path_factory.mktemp("city") / "city.geoelastic"
    small_metric().save(path)
    return path


def ask(*arguments):
    done = CliRunner().invoke(main, [str(part) for part in arguments])
    return done.exit_code, done.output


def walk(metric, points: int) -> list[tuple[float, float]]:
    """Two places, one after the other, with the shake of a phone."""
    ends = [metric.latlon(int(i)) for i in np.flatnonzero(metric.secret)[[5, 20]]]
    return [ends[k * 2 // points] for k in range(points)]


def gpx(path, places, step_s: int):
    rows = [
        f'<trkpt lat="{lat}" lon="{lon}"><time>2026-03-02T08:{s // 60:02d}:{s % 60:02d}Z</time></trkpt>'
        for s, (lat, lon) in zip(range(0, step_s * len(places), step_s), places, strict=True)
    ]
    path.write_text(f"<gpx><trk><trkseg>{''.join(rows)}</trkseg></trk></gpx>")
    return path


def test_a_track_says_what_it_costs_and_its_reports_are_sticky(city, tmp_path):
    source, target = gpx(tmp_path / "run.gpx", walk(ge.load(city), 60), 3), tmp_path / "out.csv"
    code, said = ask("sanitize", city, "--input", source, "-o", target)
    assert code == 0, said
    assert "a track, with a point about every 3 s" in said
    assert "as much as 2 reports" in said
    assert "geoelastic trace release" in said
    places = [line.rsplit(",", 2)[1:] for line in target.read_text().splitlines()[1:]]
    assert len(places) == 60
    assert len({tuple(place) for place in places}) <= 2
    _, said = ask("sanitize", city, "--input", source, "-o", target, "--fresh")
    assert "as much as 60 reports" in said
    places = [line.rsplit(",", 2)[1:] for line in target.read_text().splitlines()[1:]]
    assert len({tuple(place) for place in places}) > 2  # two draws of sixty: the same by a chance below 2^-30
    _, told = ask("sanitize", city, "--input", source, "-o", target, "--json")
    assert "trace release" in json.loads(told)["track"]


def test_a_point_every_ten_minutes_is_a_track(tmp_path):
    path = tmp_path / "day.csv"
    rows = "".join(f"2026-11-01T{k // 6:02}:{k % 6}0:00Z,48.85,2.35\n" for k in range(24 * 6))
    path.write_text("time,lat,lon\n" + rows)
    assert "every 10 minutes" in track_in(path, lat=None, lon=None, users=None).words


def test_places_hours_apart_are_no_track(tmp_path):
    lines = [f"{hour % 24},48.85,2.34,2026-03-{1 + hour // 24:02d}T{hour % 24:02d}:00:00" for hour in range(60)]
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(["number,lat,lon,time", *lines]))
    assert track_in(path, lat=None, lon=None, users=None) is None
    path.write_text("lat,lon,time\n48.85,2.34,1772438400\n48.86,2.34,1772438403\n")
    assert track_in(path, lat=None, lon=None, users=None) is None  # two points are no track


def test_people_of_one_table_are_told_apart_before_anything_sticks(city, tmp_path):
    places = walk(ge.load(city), 60)
    lines = [f"{'ab'[k % 2]},{lat},{lon},{1772438400 + 5 * k}" for k, (lat, lon) in enumerate(places)]
    source, target = tmp_path / "two.csv", tmp_path / "out.csv"
    source.write_text("\n".join(["user,lat,lon,timestamp", *lines]))
    assert track_in(source, lat=None, lon=None, users=None).users == "user"
    _, said = ask("sanitize", city, "--input", source, "-o", target)
    assert "--user-column user" in said
    assert "as much as 60 reports" in said
    _, said = ask("sanitize", city, "--input", source, "-o", target, "--user-column", "user")
    assert "as much as 2 reports" in said


def test_a_demo_without_pictures_says_so_before_it_works(monkeypatch, tmp_path):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"geoelastic\[plot\]"):
        run_demo(tmp_path / "demo")
    assert not (tmp_path / "demo").exists()


def test_the_side_of_tiles_is_checked_before_anything_is_read(tmp_path):
    code, said = ask("build", tmp_path / "none.osm.pbf", "--tile", 32, "-o", tmp_path / "tiles")
    assert code == 2
    assert "'tile' must be a power of two >= " in said
    assert list(tmp_path.iterdir()) == []


def test_sharpening_tiles_in_place_gives_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr("geoelastic.mechanism.sharpen_file.is_tiled", lambda path: True)
    code, said = ask("sharpen", tmp_path)
    assert code == 2
    assert "a map in tiles is sharpened into one file: name it (-o OUT.geoelastic)" in said
    assert "directory" not in said


@pytest.mark.parametrize("packed", [False, True])
def test_build_and_sanitize_read_the_same_tables(city, tmp_path, packed):
    rng = np.random.default_rng(4)
    metric = ge.load(city)
    rows = [(*metric.latlon(int(i)), k) for k, i in enumerate(rng.choice(np.flatnonzero(metric.secret), 300))]
    text = "\n".join(f"{k}\t2010-10-19T23:55:27Z\t{lat}\t{lon}\t{k + 9}" for lat, lon, k in rows)
    source = tmp_path / ("snap.txt.gz" if packed else "snap.txt")
    source.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    code, said = ask("quality", source, "-o", tmp_path / "q.parquet")
    assert code == 2
    for option in ("--lat-column", "--lon-column", "'column_3'"):
        assert option in said
    named = ("--lat-column", "column_3", "--lon-column", "column_4")
    code, said = ask("quality", source, *named, "-o", tmp_path / "q.parquet")
    assert code == 0, said
    assert ge.load_quality(tmp_path / "q.parquet").cells.sum() == 300
    assert ask("sanitize", city, "--input", source, "-o", tmp_path / "out.csv", *named)[0] == 0
    assert "--lat-column" in ask("build", "--help")[1]


def test_one_place_is_called_the_place(city):
    for lat, lon, where in ((10, 10, "outside the map"),):
        code, said = ask("sanitize", city, "--lat", lat, "--lon", lon)
        assert code == 2
        assert f"the place lies {where}" in said
        assert "--outside snap" in said
        assert "of 1 " not in said


def test_fences_of_one_kind_have_names_of_their_own():
    notes = [{"name": name, "kind": name} for name in ("home", "home", "work", "home")]
    assert [note["name"] for note in numbered(notes)] == ["home", "home 2", "work", "home 3"]
    assert [note["name"] for note in numbered(notes[:2], taken=["home", "home 3"])] == ["home 2", "home 4"]
    assert {note["kind"] for note in numbered(notes[:2])} == {"home"}


def test_a_picture_of_fences_has_numbers_on_them_and_no_scale():
    grid = small_metric().grid
    cells = np.full(grid.shape, np.nan)
    cells[1:3, 1:4], cells[5:7, 2:4] = 1.0, 2.0
    picture = Picture(grid, cells, "Fences", "number of the fence", low=1.0, high=2.0, numbered=True)
    figure = new_figure(4, 4)
    draw_picture(figure.subplots(), picture)
    assert len(figure.axes) == 1  # a scale would be another
    assert {"1", "2"} <= {text.get_text() for text in figure.axes[0].texts}
    plain = new_figure(4, 4)
    draw_picture(plain.subplots(), replace(picture, numbered=False))
    assert len(plain.axes) == 2
    assert '"numbered": true' in picture_page(picture)


def test_tables_of_an_evaluation_stay_on_the_page():
    shown = _html_table((tuple(f"column {k}" for k in range(40)), [list(range(40))]))
    assert shown.startswith('<div class="wide">')
    assert ".wide{overflow-x:auto" in _STYLE


def test_a_quality_file_opens_in_geopandas(tmp_path):
    geopandas = pytest.importorskip("geopandas")
    quality = ge.synthetic_quality("city", rows=20, cols=24)
    ge.save_quality(quality, tmp_path / "q.parquet")
    frame = geopandas.read_parquet(tmp_path / "q.parquet")
    assert frame.crs.equals("OGC:CRS84")
    assert np.allclose(frame.geometry.x, frame["lon"])
    assert np.allclose(frame.geometry.y, frame["lat"])
    assert frame["quality"].sum() == pytest.approx(quality.cells.sum())
    assert np.array_equal(ge.load_quality(tmp_path / "q.parquet").cells, quality.cells)


def test_a_geotiff_says_what_plane_it_is_in(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    grid = small_metric().grid
    write_geotiff(Picture(grid, np.ones(grid.shape), "Ones", "one"), tmp_path / "ones.tif")
    with rasterio.open(tmp_path / "ones.tif") as image:
        said = image.crs.to_wkt()
    assert "Transverse Mercator around 48.85670, 2.34870" in said
    assert "nknown" not in said


@pytest.mark.parametrize("kind", ["elastic", "sticky", "remapped", "laplace", "grid"])
def test_rows_of_places_are_reported_like_one_place(kind):
    metric = small_metric()
    elastic = ge.ElasticMechanism(metric)
    mechanism = {
        "elastic": lambda: elastic,
        "sticky": lambda: ge.Sticky(elastic, bytes(32)),
        "remapped": lambda: ge.Remapped(elastic, metric.mass),
        "laplace": lambda: ge.PlanarLaplace.from_expected_error(500),
        "grid": lambda: ge.PlanarLaplace.from_expected_error(500).on_grid(metric.grid),
    }[kind]()
    lat, lon = np.array([metric.latlon(int(i)) for i in np.flatnonzero(metric.secret)[:7]]).T
    for places in ((lat, lon), (lat.tolist(), lon.tolist())):
        reported = mechanism.sanitize(*places)
        assert [part.shape for part in reported] == [(7,), (7,)]
        assert np.all(np.abs(reported[0] - lat) < 1)
    one = mechanism.sanitize(float(lat[0]), float(lon[0]))
    assert [type(part) for part in one] == [float, float]
    for wrong in (("48.8x", "2.3"), (None, None), (["a"], ["b"]), (lat, lon[:3])):
        with pytest.raises(ge.InputError) as caught:
            mechanism.sanitize(*wrong)
        assert "48.8" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ge.ElasticMechanism("city.geoelastic"), r"'metric' must be a metric \(ge\.load .*\), got a str"),
        (lambda: ge.ElasticMechanism(None), "'metric' must be a metric"),
        (lambda: ge.Sticky(small_metric(), bytes(32)), "'mechanism' must be a mechanism over a map.*, got a Metric"),
        (lambda: ge.Remapped(3, [1.0]), "'mechanism' must be a mechanism over a map.*, got an int"),
        (lambda: ge.build_metric(np.ones((4, 4))), r"'mass' must be a mass .*, got a ndarray"),
        (lambda: ge.mass_from_quality("q.parquet"), r"'quality' must be a quality .*, got a str"),
    ],
)
def test_things_of_the_wrong_kind_are_refused_in_one_line(call, said):
    with pytest.raises(ge.InputError, match=said):
        call()


def test_signatures_are_spelt_out():
    for function in (
        ge.ElasticMechanism.sanitize_frame, ge.Sticky.sanitize_frame, ge.Remapped.sanitize_frame,
        ge.ElasticMechanism.expected_errors, ge.Metric.with_fences, ge.quality_from_osm, ge.quality_from_postgis,
    ):  # fmt: skip
        kinds = [part.kind for part in inspect.signature(function).parameters.values()]
        assert inspect.Parameter.VAR_KEYWORD not in kinds, function


@pytest.mark.parametrize("wrong", [None, 3, object()], ids=["nothing", "a number", "an object"])
@pytest.mark.parametrize(
    "name",
    [
        "ElasticMechanism",
        "LiveTrace",
        "Remapped",
        "Sticky",
        "TraceMechanism",
        "build_metric",
        "build_tiles",
        "extract",
        "load",
        "load_mechanism",
        "load_quality",
        "mass_from_quality",
        "metric_crowd",
        "prior_from_checkins",
        "quality_from_osm",
        "quality_from_postgis",
        "read_checkins",
        "sanitize_file",
        "sanitize_frame",
        "save_mechanism",
        "save_quality",
        "sharpen",
        "synthetic_quality",
        "update_tiles",
        "verify",
    ],
)
def test_no_public_name_answers_the_wrong_kind_with_a_fault_of_its_own(name, wrong):
    function = getattr(ge, name)
    needed = [part for part in inspect.signature(function).parameters.values() if part.default is part.empty]
    with pytest.raises(ge.GeoelasticError) as caught:
        function(*[wrong for _ in needed])
    assert "\n" not in str(caught.value)
