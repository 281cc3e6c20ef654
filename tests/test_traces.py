# SPDX-License-Identifier: Apache-2.0
"""Readers of traces: every format gives the same fixes, and bad files a clear answer."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geoelastic.errors import FileError, InputError
from geoelastic.sources.traces import Fix, Trace, clean_trace, haversine_m, read_traces

GEOLIFE = Path(__file__).parents[2] / "shared" / "data" / "gps" / "geolife_sample_skmob.txt.gz"
T0 = 1_224_741_185
FIXES = [(39.984094, 116.319236, T0), (39.984198, 116.319322, T0 + 1), (-33.856784, -70.215297, T0 + 90_000)]
PLT_HEAD = "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255,My Track,0,0,2,8421376\n0\n"


def iso(time_s, pattern="%Y-%m-%dT%H:%M:%SZ"):
    return datetime.fromtimestamp(time_s, UTC).strftime(pattern)


def as_gpx(fixes):
    points = "".join(f'<trkpt lat="{a}" lon="{o}"><time>{iso(t)}</time></trkpt>' for a, o, t in fixes)
    return (
        '<?xml version="1.0"?><gpx version="1.1" creator="t" xmlns="http://www.topografix.com/GPX/1/1">'
        f"<trk><trkseg>{points}</trkseg></trk></gpx>"
    )


def as_takeout(fixes, *, wrapped=False):
    def e7(degrees):
        value = round(degrees * 1e7)
        return value + 2**32 if wrapped and value < 0 else value

    rows = [{"latitudeE7": e7(a), "longitudeE7": e7(o), "timestamp": iso(t), "accuracy": 12} for a, o, t in fixes]
    return json.dumps({"locations": rows})


def as_owntracks(fixes):
    return [{"_type": "location", "lat": a, "lon": o, "tst": t} for a, o, t in fixes]


FORMATS = {
    "a.gpx": as_gpx(FIXES),
    "a.plt": PLT_HEAD + "".join(f"{a},{o},0,492,39744.2,{iso(t, '%Y-%m-%d,%H:%M:%S')}\r\n" for a, o, t in FIXES),
    "skmob.csv": "lat,lng,datetime\n" + "".join(f"{a},{o},{iso(t, '%Y-%m-%d %H:%M:%S')}\n" for a, o, t in FIXES),
    "semicolon.txt": "\ufeffTime;Longitude;Latitude\n" + "".join(f"{t};{o};{a}\n" for a, o, t in FIXES),
    "millis.tsv": "timestamp\tlat\tlon\n" + "".join(f"{t * 1000}\t{a}\t{o}\n" for a, o, t in FIXES),
    "offset.csv": "lat,lon,time\n"
    + "".join(f"{a},{o},{iso(t + 7200, '%Y-%m-%dT%H:%M:%S')}+02:00\n" for a, o, t in FIXES),
    "Records.json": as_takeout(FIXES),
    "wrapped.json": as_takeout(FIXES, wrapped=True),
    "old.json": json.dumps({"locations": [
        {"latitudeE7": round(a * 1e7), "longitudeE7": round(o * 1e7), "timestampMs": str(t * 1000)} for a, o, t in FIXES
    ]}),
    "Timeline.json": json.dumps({"semanticSegments": [
        {"visit": {}}, {"timelinePath": [{"point": f"{a}°, {o}°", "time": iso(t)} for a, o, t in FIXES]},
    ]}),
    "owntracks.json": json.dumps([{"_type": "lwt", "tst": 5}, *as_owntracks(FIXES)]),
    "recorder.json": json.dumps({"count": 3, "data": as_owntracks(FIXES)}),
    "lines.jsonl": "\n".join(map(json.dumps, as_owntracks(FIXES))),
    "2008-10.rec": "".join(f"{iso(r['tst'])}\t*                 \t{json.dumps(r)}\n" for r in as_owntracks(FIXES)),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_format_gives_the_same_trace(tmp_path, name, packed):
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(FORMATS[name].encode()) if packed else FORMATS[name].encode())
    (trace,) = read_traces(path)
    np.testing.assert_allclose(np.column_stack([trace.lat, trace.lon, trace.time_s]), FIXES, rtol=0, atol=1e-7)
    assert trace.dropped == {}


def test_people_are_told_apart(tmp_path):
    (tmp_path / "t.csv").write_text("uid,lat,lon,time\nb,1,1,10\na,2,2,10\nb,1,1.001,20\n")
    assert [(t.user, len(t)) for t in read_traces(tmp_path / "t.csv")] == [("a", 1), ("b", 2)]
    assert [t.user for t in read_traces(tmp_path / "t.csv", user="b")] == ["b"]
    with pytest.raises(InputError, match=r"'user' must be one of the 2 in the traces \(a, b\), got 'c'"):
        read_traces(tmp_path / "t.csv", user="c")


def test_a_geolife_folder(tmp_path):
    for user, first in (("000", 0), ("001", 1)):
        folder = tmp_path / "Data" / user / "Trajectory"
        folder.mkdir(parents=True)
        (folder / "20081023.plt").write_text(
            FORMATS["a.plt"] if first else PLT_HEAD + "1.5,2.5,0,9,0,2008-10-23,02:53:04"
        )
    traces = read_traces(tmp_path)
    assert [(t.user, len(t)) for t in traces] == [("000", 1), ("001", 3)]
    assert traces[0].time_s[0] == datetime(2008, 10, 23, 2, 53, 4, tzinfo=UTC).timestamp()


def test_owntracks_topics_name_people(tmp_path):
    rows = [
        {"_type": "location", "lat": 1, "lon": 2, "tst": k, "topic": f"owntracks/{u}/phone"}
        for k, u in enumerate("ab", 1)
    ]
    (tmp_path / "o.json").write_text(json.dumps(rows))
    assert [t.user for t in read_traces(tmp_path / "o.json")] == ["a", "b"]


def test_cleaning_sorts_and_counts_what_it_leaves_out():
    fixes = [
        Fix("", 48.0, 2.0, 100),
        Fix("", 48.0, 2.001, 60),  # out of order
        Fix("", 48.0, 2.002, 100),  # the same instant
        Fix("", 55.0, 9.0, 110),  # a glitch of hundreds of kilometres
        Fix("", 48.0, 2.003, 120),
        Fix("", 0.0, 0.0, 130),  # no signal
        Fix("", 91.0, 0.0, 140),
        Fix("", float("nan"), 2.0, 150),
        Fix("", 48.0, 2.0, float("nan")),
    ]
    trace = clean_trace("", fixes, unreadable=2)
    assert trace.time_s.tolist() == [60, 100, 120]
    assert trace.lon.tolist() == [2.001, 2.0, 2.003]
    assert trace.dropped == {
        "unreadable": 2,
        "not on Earth": 4,
        "same instant": 1,
        "faster than 350 m/s": 1,
        "out of order (sorted, not dropped)": 1,
    }
    assert not trace.lat.flags.writeable


def test_a_flight_is_not_a_glitch():
    hours = np.arange(13)
    lat, lon = 48.0 - 5 * hours, 2.0 + 7 * hours  # Paris to the Indian Ocean at 200 to 270 m/s
    trace = clean_trace("", [Fix("", a, o, 3600.0 * h) for a, o, h in zip(lat, lon, hours, strict=True)])
    assert len(trace) == 13
    assert np.all(haversine_m(trace.lat[:-1], trace.lon[:-1], trace.lat[1:], trace.lon[1:]) > 500_000)


@given(st.lists(st.tuples(st.floats(-90, 90), st.floats(-180, 180), st.integers(0, 10**9)), max_size=30), st.randoms())
def test_cleaning_does_not_depend_on_the_order(rows, shuffler):
    rows = list({t: (a, o, t) for a, o, t in rows}.values())
    mixed = rows.copy()
    shuffler.shuffle(mixed)
    first, second = (clean_trace("", [Fix("", *row) for row in order]) for order in (rows, mixed))
    for name in ("lat", "lon", "time_s"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert np.all(np.diff(first.time_s) > 0)


BAD = {
    "empty.csv": ("", "empty.csv: the table is empty"),
    "header.csv": ("lat,lon,time\n", "must hold fixes with a place and a time, got none$"),
    "columns.csv": (
        "lat,altitude,speed\n1,2,3\n",
        "columns.csv: name the columns with latitude and longitude",
    ),
    "rows.csv": (
        "lat,lon,time\nhere,there,now\n95,0,12\n",
        "got none; none of its 2 records has a place on Earth and a time",
    ),
    "times.csv": ("lat,lon,speed\n1,2,3\n", "must have a column of times"),
    "empty.gpx": ("", "not a whole GPX file"),
    "notime.gpx": (as_gpx(FIXES).replace("<time>", "<name>").replace("</time>", "</name>"), "none of its 3 records"),
    "cut.json": (as_takeout(FIXES)[:-20], "must be JSON, but is not"),
    "other.json": ('{"type": "FeatureCollection", "features": []}', "must hold fixes with a place .*got none$"),
    "list.json": ("[1, 2]", "must be Google Takeout"),
    "bad.plt": ("39.9,116.3,0,492,39744.2,2008-10-23,05:53:05\n", "six header lines"),
    "bad.rec": ("nothing\n", "must be an OwnTracks .rec file"),
    "a.kml": ("<kml/>", "a trace must be a file .csv"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_say_what_is_wrong(tmp_path, name):
    text, message = BAD[name]
    (tmp_path / name).write_text(text)
    with pytest.raises((InputError, FileError), match=message):
        read_traces(tmp_path / name)


def test_files_that_are_no_text(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"lat,lon,time\n1,2,\xff\xfe\n")
    with pytest.raises(FileError, match=r"a\.csv: .*not text in UTF-8"):
        read_traces(tmp_path / "a.csv")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"lat,lon,time\n1,2,3\n" * 99)[:-9])
    with pytest.raises(FileError, match="cut off"):
        read_traces(tmp_path / "b.csv.gz")
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="a folder without any"):
        read_traces(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        read_traces(tmp_path / "missing.csv")


def test_bad_rows_are_counted_and_the_rest_kept(tmp_path):
    (tmp_path / "t.csv").write_text("lat,lon,time\n1,2,3\nx,2,4\n1\n\n1,2,2020-01-01 00:00:00\n")
    (trace,) = read_traces(tmp_path / "t.csv")
    assert len(trace) == 2
    assert trace.dropped == {"unreadable": 2}


def test_a_trace_checks_itself():
    with pytest.raises(InputError, match="same length"):
        Trace("", np.zeros(2), np.zeros(3), np.zeros(2))
    with pytest.raises(InputError, match="must not go backwards"):
        Trace("", np.zeros(2), np.zeros(2), np.array([2.0, 1.0]))
    with pytest.raises(InputError, match="lat in"):
        Trace("", np.array([np.nan]), np.zeros(1), np.zeros(1))


@pytest.mark.data
@pytest.mark.skipif(not GEOLIFE.exists(), reason="needs ../shared/data")
def test_geolife_sample():
    traces = read_traces(GEOLIFE)
    assert [(t.user, len(t), t.dropped) for t in traces] == [("001", 108_607, {}), ("005", 109_046, {})]
