# SPDX-License-Identifier: Apache-2.0
"""Check-in readers: every format, every kind of bad row, and the counts of the real files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geoelastic.errors import FileError, InputError
from geoelastic.sources.checkins import read_checkins

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "checkins"
SNAP = (
    "7\t2010-07-25T11:40:18Z\t48.86\t2.33\t1500\n"
    "7\t2010-07-26T11:40:18Z\t48.86\t2.33\t1500\n"
    "9\t2010-05-20T06:26:35Z\t48.85\t2.34\t48\n"
)


def test_snap_plain_and_gz(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(SNAP)
    (tmp_path / "g.txt.gz").write_bytes(gzip.compress(SNAP.encode()))
    for name in ("g.txt", "g.txt.gz"):
        c = read_checkins(tmp_path / name)
        assert c.info["format"] == "snap"
        assert c.user.tolist() == [0, 0, 1]
        assert c.user_ids == ("7", "9")
        assert c.place_ids == ("1500", "48")
        assert c.lat.tolist() == [48.86, 48.86, 48.85]
        assert c.time[2] == np.datetime64("2010-05-20T06:26:35")
        assert len(c.distinct_visits()) == 2


def test_brightkite_bad_rows_are_counted_not_guessed(tmp_path: Path) -> None:
    rows = SNAP + "3\t\t\t\t\n" + "4\t2008-10-03T20:50:28Z\t0.0\t0.0\t00000000\n" + "5\tbroken\n" + "6\tx\t95\t2\ta1\n"
    (tmp_path / "b.txt").write_text(rows)
    c = read_checkins(tmp_path / "b.txt")
    assert len(c) == 3
    assert c.info["dropped_no_position"] == 2
    assert c.info["dropped_null_island"] == 1
    assert c.info["dropped_malformed"] == 1


def test_foursquare(tmp_path: Path) -> None:
    row = "470\t49bbd6c0\t4bf58dd8\tArts & Crafts Store\t40.7198\t-74.0026\t-240\tTue Apr 03 18:00:09 +0000 2012\n"
    (tmp_path / "f.txt").write_bytes((row + row.replace("Arts", "Caf\xe9")).encode("latin-1"))
    c = read_checkins(tmp_path / "f.txt")
    assert c.info["format"] == "foursquare"
    assert c.lon.tolist() == [-74.0026, -74.0026]
    assert c.place_ids == ("49bbd6c0",)
    assert c.time[0] == np.datetime64("2012-04-03T18:00:09")


def test_tables(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("User_ID,Latitude,LNG,when\na,1.5,2.5,2020-01-01 10:00:00\nb,,3,\n")
    c = read_checkins(tmp_path / "t.csv", columns={"time": "when"})
    assert (len(c), c.user_ids, c.info["dropped_no_position"]) == (1, ("a",), 1)
    assert c.time[0] == np.datetime64("2020-01-01T10:00:00")
    assert not c.has_places
    pq.write_table(pa.table({"lat": [1.0, 2.0], "lon": [3.0, 4.0], "venue_id": [8, 8]}), tmp_path / "t.parquet")
    c = read_checkins(tmp_path / "t.parquet")
    assert c.place.tolist() == [0, 0]
    assert not c.has_users
    (tmp_path / "bare.csv").write_text("1.5,2.5\n3,4\n")
    assert read_checkins(tmp_path / "bare.csv").lat.tolist() == [1.5, 3.0]


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        read_checkins(tmp_path / "none.txt")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="name the columns with latitude and longitude"):
        read_checkins(tmp_path / "a.csv")
    (tmp_path / "three.csv").write_text("1,2,3\n")
    with pytest.raises(InputError, match="name the columns with latitude and longitude"):
        read_checkins(tmp_path / "three.csv")
    (tmp_path / "bad.parquet").write_bytes(b"not parquet")
    with pytest.raises(FileError, match="not a whole Parquet file"):
        read_checkins(tmp_path / "bad.parquet")
    (tmp_path / "bad.csv.gz").write_bytes(b"\x1f\x8b broken")
    with pytest.raises(FileError, match=r"bad\.csv\.gz"):
        read_checkins(tmp_path / "bad.csv.gz")
    (tmp_path / "ok.csv").write_text("lat,lon\n1,2\n")
    with pytest.raises(InputError, match="'format' must be one of"):
        read_checkins(tmp_path / "ok.csv", format="xls")
    with pytest.raises(InputError, match="distinct visits"):
        read_checkins(tmp_path / "ok.csv").distinct_visits()


def test_arrays_are_read_only(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(SNAP)
    c = read_checkins(tmp_path / "g.txt")
    with pytest.raises(ValueError, match="read-only"):
        c.lat[0] = 0


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason="the real data is not beside the project")
def test_real_files() -> None:
    c = read_checkins(DATA / "gowalla_paris_30km.txt")
    assert (len(c), len(c.user_ids), len(c.place_ids)) == (17_496, 1_366, 4_256)
    assert len(read_checkins(DATA / "gowalla_sf_latlon.csv")) == 123_026
