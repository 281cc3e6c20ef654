# SPDX-License-Identifier: Apache-2.0
"""What a newcomer meets in the first hour: tracks, tiles, tables without a header, missing extras, plain messages."""

from __future__ import annotations

import gzip
import json
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.demo import run_demo
from geoelastic.errors import MissingExtraError
from geoelastic.sources.streams.track import track_in
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
