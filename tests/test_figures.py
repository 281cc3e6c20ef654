# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import io
import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from matplotlib.image import imread
from pyproj import Transformer
from shapely.geometry import Point

import geoelastic as ge
from geoelastic.errors import FileError, InputError
from geoelastic.figures.draw import compare_png, picture_png
from geoelastic.figures.maps import (
    ball_map,
    error_map,
    fences_map,
    mass_map,
    quality_map,
    report_map,
    sample_places,
    slack_map,
)
from geoelastic.figures.page import picture_page, report_page
from geoelastic.figures.picture import Mark, Picture, credit_of, edges_of
from geoelastic.figures.picture_request import busiest_place, picture_of
from geoelastic.figures.save import save_picture
from geoelastic.locations import Grid
from geoelastic.metric import Metric, build_metric
from geoelastic.randomness import SeededRandom

pytestmark = pytest.mark.jit  # whole metrics are built here

CENTRE = (48.8567, 2.3487)


@pytest.fixture(scope="module")
def metric() -> Metric:
    quality = ge.synthetic_quality("city", rows=24, cols=30)
    lat, lon = quality.grid.cell_to_latlon(6, 7)
    fence = Point(float(lon), float(lat)).buffer(0.003)
    return build_metric(ge.mass_from_quality(quality), l_top=0.8, fences=[fence])


def cells_of_page(page: str, name: str = "cells") -> Any:
    data = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, flags=re.DOTALL)[1])  # type: ignore[index]
    steps = np.frombuffer(zlib.decompress(base64.b64decode(data[name])), dtype="<u2")
    return data, steps.reshape(data["rows"], data["cols"])


def test_edges_lie_between_cells_that_differ() -> None:
    grid = Grid.of_shape((5, 7), 10, CENTRE)
    region = np.random.default_rng(2).integers(0, 3, grid.shape)
    expected = set()
    for r in range(5):
        for c in range(7):
            if r < 4 and region[r, c] != region[r + 1, c]:
                expected.add(((c, r + 1), (c + 1, r + 1)))
            if c < 6 and region[r, c] != region[r, c + 1]:
                expected.add(((c + 1, r), (c + 1, r + 1)))
    pieces = edges_of(region, grid) / 10 + np.array([3.5, 2.5])
    assert {tuple(map(tuple, piece)) for piece in pieces.tolist()} == expected


def test_limits_are_those_of_what_is_shown() -> None:
    grid = Grid.of_shape((1, 4), 10, CENTRE)
    cells = np.array([[np.nan, 0.0, 2.0, 8.0]])
    assert Picture(grid, cells, "t", "l").limits() == (0, 8)
    assert Picture(grid, cells, "t", "l", log=True).limits() == (2, 8)
    assert Picture(grid, cells, "t", "l", low=1.0, high=3.0).limits() == (1, 3)
    for empty in (np.full((1, 4), np.nan), np.zeros((1, 4)), np.full((1, 4), 5.0)):
        for log in (True, False):
            low, high = Picture(grid, empty, "t", "l", log=log).limits()
            assert low < high


def test_mass_is_shown_per_hectare(metric: Metric) -> None:
    picture = mass_map(metric)
    assert np.nansum(picture.cells) == pytest.approx(metric.mass.sum())
    assert "made-up" in picture.credit


def test_a_ball_is_the_metric_s(metric: Metric) -> None:
    place = busiest_place(metric)
    picture = ball_map(metric, place)
    levels = metric.distances_from(place)[metric.locations.owner]
    assert np.array_equal(np.isfinite(picture.cells), levels <= metric.l_top)
    shown = picture.cells[np.isfinite(picture.cells)]
    assert np.array_equal(shown, levels[levels <= metric.l_top])
    crowd = metric.mass[metric.ball(place, np.log(2))].sum()
    assert f"{crowd:.2f}" in picture.note


def test_slack_is_never_below_one(metric: Metric) -> None:
    picture = slack_map(metric)
    shown = picture.cells[np.isfinite(picture.cells)]
    assert shown.min() >= 1
    free = (metric.secret & (metric.fence == 0))[metric.locations.owner]
    assert np.array_equal(np.isfinite(picture.cells), free)


def test_fences_are_outlined(metric: Metric) -> None:
    picture = fences_map(metric)
    assert np.nanmax(picture.cells) == 1
    inside, outside = (
        metric.locations.owner[metric.grid.xy_to_cell(mark.x, mark.y)]
        for mark in picture.marks
        if "reports" in mark.label
    )
    assert (metric.fence[inside] == 1).all()
    assert (metric.fence[outside] == 0).all()
    assert "1 fence," in picture.note
    plain = build_metric(ge.mass_from_quality(ge.synthetic_quality("city", rows=24, cols=24)), l_top=0.8)
    with pytest.raises(InputError, match="at least one fence"):
        fences_map(plain)


def test_errors_are_exact_where_they_are_sampled(metric: Metric) -> None:
    mechanism = ge.ElasticMechanism(metric)
    picture = error_map(mechanism, points=60)
    sample = sample_places(metric, 60)
    shown = np.unique(picture.cells[np.isfinite(picture.cells)])
    assert shown.tolist() == pytest.approx(sorted({mechanism.expected_error(int(i)) for i in sample.places}))
    assert sample.step == 4
    assert "400 m" in picture.note


def test_reports_are_drawn_from_the_probabilities(metric: Metric) -> None:
    mechanism = ge.ElasticMechanism(metric)
    place = busiest_place(metric)
    picture = report_map(mechanism, place, reports=50, rng=SeededRandom(1))
    per_cell = mechanism.probabilities(place) / metric.locations.area_cells
    assert np.nansum(picture.cells) == pytest.approx(1)
    assert np.nanmax(picture.cells) == pytest.approx(per_cell.max())
    again = report_map(mechanism, place, reports=50, rng=SeededRandom(1))
    assert np.array_equal(picture.marks[0].x, again.marks[0].x)
    assert len(picture.marks[0].x) == 50


def test_the_busiest_place_has_most_mass_around(metric: Metric) -> None:
    place = busiest_place(metric, radius_m=50)
    free = metric.secret & (metric.fence == 0)
    density = metric.mass / metric.locations.area_cells
    assert density[place] == density[free].max()


@pytest.mark.parametrize("kind", ["mass", "error", "ball", "report", "slack", "cartogram", "fences"])
def test_every_kind_can_be_drawn(kind: str, metric: Metric) -> None:
    picture = picture_of(metric, kind, points=50, seed=3)
    image = imread(io.BytesIO(picture_png(picture)))
    assert image.shape[1] > 700
    assert len(np.unique(image.reshape(-1, image.shape[2]), axis=0)) > 50


@pytest.mark.parametrize("kind", ["report", "fences"])
def test_pictures_with_reports_follow_their_seed(kind: str, metric: Metric) -> None:
    first, again, other = (picture_of(metric, kind, seed=seed).marks[0].x.tolist() for seed in (3, 3, 4))
    assert first == again != other


def test_pictures_of_a_place(metric: Metric) -> None:
    with pytest.raises(InputError, match="'kind' must be one of"):
        picture_of(metric, "weather")
    with pytest.raises(InputError, match="outside the map"):
        picture_of(metric, "ball", at=(0.0, 0.0))
    here = picture_of(metric, "ball", at=CENTRE).marks[0]
    assert abs(float(here.x[0])) <= 6400


def test_equal_pictures_are_equal_files(metric: Metric) -> None:
    assert picture_png(mass_map(metric)) == picture_png(mass_map(metric))
    assert picture_page(mass_map(metric)) == picture_page(mass_map(metric))


def test_a_page_carries_the_values_and_needs_nothing_else(metric: Metric) -> None:
    picture = mass_map(metric)
    page = picture_page(picture)
    assert not re.search(r"""(src|href)\s*=|https?://|@import|url\(""", page)
    data, steps = cells_of_page(page)
    share = (steps - 1.0) / (data["steps"] - 1)
    values = data["low"] * (data["high"] / data["low"]) ** share
    np.testing.assert_allclose(values, picture.cells, rtol=2e-4)
    side = data["lattice"]["side"]
    middle = side * (side // 2) + side // 2
    assert (data["lattice"]["lat"][middle], data["lattice"]["lon"][middle]) == pytest.approx(CENTRE, abs=1e-6)
    ball, shown = cells_of_page(picture_page(ball_map(metric, busiest_place(metric))))
    assert np.array_equal(shown == 0, np.isnan(ball_map(metric, busiest_place(metric)).cells))
    assert ball["backdrop"] is not None


def test_titles_cannot_break_out_of_a_page() -> None:
    grid = Grid.of_shape((1, 1), 10, CENTRE)
    mark = Mark(np.zeros(1), np.zeros(1), "</script><b>", "red")
    page = picture_page(Picture(grid, np.ones((1, 1)), "<script>", "l", marks=(mark,)))
    assert "<title>&lt;script&gt;" in page
    assert "</script><b>" not in page
    assert "<h2>&lt;i&gt;</h2>" in report_page("t", [("<i>", "<p>text</p>", None)])


def test_a_geotiff_lies_where_the_grid_lies(metric: Metric, tmp_path: Path) -> None:
    picture = slack_map(metric)
    save_picture(picture, tmp_path / "x.tif")
    with rasterio.open(tmp_path / "x.tif") as image:
        band = image.read(1)
        to_degrees = Transformer.from_crs(image.crs, "EPSG:4326", always_xy=True)
        for row, col in [(0, 0), (5, 20), (23, 29)]:
            lon, lat = to_degrees.transform(*image.xy(metric.grid.rows - 1 - row, col))
            assert (lat, lon) == pytest.approx([float(v) for v in metric.grid.cell_to_latlon(row, col)], abs=1e-7)
        assert image.tags()["credit"] == picture.credit
        assert image.descriptions == (picture.label,)
    np.testing.assert_array_equal(band[::-1], picture.cells.astype(np.float32))


def test_a_file_is_of_the_kind_its_name_says(metric: Metric, tmp_path: Path) -> None:
    quality = quality_map(ge.synthetic_quality("city", rows=10, cols=10))
    for name, magic in {"a.png": b"\x89PNG", "a.HTML": b"<!doctype html>", "a.tif": b"II*"}.items():
        save_picture(quality, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(magic)
    with pytest.raises(InputError, match=r"must end in \.png, \.html, \.tif, got 'a\.jpg'"):
        save_picture(quality, tmp_path / "a.jpg")
    with pytest.raises(FileError, match="cannot be written"):
        save_picture(quality, tmp_path / "none" / "a.png")


def test_large_maps_are_thinned_out() -> None:
    grid = Grid.of_shape((10, 5000), 10, CENTRE)
    assert imread(io.BytesIO(picture_png(Picture(grid, np.ones(grid.shape), "wide", "l")))).shape[1] > 700


def test_credits_are_found_wherever_they_are() -> None:
    info = {"quality": {"layers": [{"credit": "A"}, {"licence": "B"}], "attribution": "A"}, "credit": "", "n": 3}
    assert credit_of(info) == "A; B"


def test_comparison() -> None:
    x = np.linspace(0, 5, 40)
    image = compare_png(x, {"error": {"a": 1 + x, "b": np.ones(40)}, "mass": {"a": 1 + x}}, level_lines={"mass": 1.0})
    assert imread(io.BytesIO(image)).shape[1] > 900


@pytest.mark.browser
def test_a_page_runs_in_a_browser(metric: Metric, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no browser here")
    path = tmp_path / "ball.html"
    save_picture(ball_map(metric, busiest_place(metric)), path)
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [browser, *flags, "--virtual-time-budget=8000", "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert 'data-ready="yes"' in done.stdout
    assert "● </span>the place" in done.stdout
