# SPDX-License-Identifier: Apache-2.0
"""Streamed tables: every format in and out, nothing lost, nothing telling kept, nothing half written."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from geoelastic.errors import FileError, InputError
from geoelastic.sources.streams import Batch, Layout, open_stream, tells_place, write_stream
from geoelastic.sources.streams import geojsonfile as geojson_module

GPX = """<?xml version="1.0"?>
<gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1">
<metadata><name>my way home</name><bounds minlat="48" minlon="2" maxlat="49" maxlon="3"/></metadata>
<wpt lat="48.5" lon="2.5"><ele>35</ele><name>home</name></wpt>
<trk><name>morning</name><trkseg>
<trkpt lat="48.1" lon="2.1"><ele>30</ele><time>2024-01-01T00:00:00Z</time></trkpt>
<trkpt lat="48.2" lon="2.2"><time>2024-01-01T00:01:00Z</time></trkpt>
</trkseg><trkseg><trkpt lat="48.3" lon="2.3"/></trkseg></trk>
<trk><trkseg><trkpt lat="48.4" lon="2.4"/></trkseg></trk>
</gpx>"""


def copy(source: Path, target: Path, **options: object) -> list[str]:
    reader = open_stream(source, **options)  # type: ignore[arg-type]
    with write_stream(target, reader.layout) as writer:
        for batch in reader.batches():
            writer.write(batch)
    return reader.withheld


def places(path: Path, **options: object) -> list[tuple[float, float]]:
    reader = open_stream(path, **options)  # type: ignore[arg-type]
    return [(float(a), float(b)) for batch in reader.batches() for a, b in zip(batch.lat, batch.lon, strict=True)]


def test_csv_keeps_text_as_it_is(tmp_path: Path) -> None:
    source, target = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text('id;Latitude;note;Longitude\n007;48.5;"a ""b"", c";2.25\n8;-0.1;;-170\n')
    assert copy(source, target) == []
    assert target.read_text() == 'id,Latitude,note,Longitude\n007,48.5,"a ""b"", c",2.25\n8,-0.1,,-170\n'
    assert places(target) == [(48.5, 2.25), (-0.1, -170.0)]


def test_csv_without_a_header_and_compressed(tmp_path: Path) -> None:
    source, target = tmp_path / "snap.txt.gz", tmp_path / "b.tsv.gz"
    source.write_bytes(
        gzip.compress(b"0\t2010-10-19T23:55:27Z\t48.5\t2.5\t22847\n1\t2010-10-19T23:55:27Z\t48.6\t2.6\t1\n")
    )
    with pytest.raises(InputError, match="'column_3', 'column_4'"):
        open_stream(source)
    copy(source, target, lat="column_3", lon="column_4", keep=["column_1", "column_5"])
    lines = gzip.decompress(target.read_bytes()).decode().splitlines()
    assert lines[0].split("\t") == ["column_1", "column_2", "column_3", "column_4", "column_5"]
    assert lines[1] == "0\t2010-10-19T23:55:27Z\t48.5\t2.5\t22847"
    copy(source, tmp_path / "c.tsv.gz", lat="column_3", lon="column_4", keep=["*"])
    assert (tmp_path / "c.tsv.gz").read_bytes() == target.read_bytes()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "empty"),
        ("a.csv", "a,b\n1,2\n", "name the columns"),
        ("a.csv", "lat,lat,lon\n1,2,3\n", "different from each other"),
        ("a.csv", "lat,latitude,lon\n1,2,3\n", "name the columns"),
        ("a.csv", "lat,lon\n48.123456,x\n", "column 'lon' must hold numbers"),
        ("a.csv", "lat,lon\n48.123456,2,3\n", "does not have the 2 columns"),
        ("a.geojson", '{"type": "FeatureCollection", "features": [{"type": "Feature", ', "not a whole GeoJSON"),
        ("a.geojson", '{"type": "FeatureCollection"}', "not a whole GeoJSON"),
        ("a.geojson", "[1, 2]", "not a whole GeoJSON"),
        ("a.geojson", '{"features": [{"geometry": {"type": "LineString", "coordinates": []}}]}', "must be a Point"),
        (
            "a.geojson",
            '{"crs": {"properties": {"name": "urn:ogc:def:crs:EPSG::2154"}}, "features": []}',
            "must be in degrees",
        ),
    ],
)
def test_a_bad_file_is_one_clear_error_that_tells_no_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    source = tmp_path / name
    source.write_text(text)
    with pytest.raises((InputError, FileError), match=message) as caught:
        places(source)
    assert "48.12" not in str(caught.value)


def test_missing_places_are_nan(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("lat,lon\n48.5, \n,\n1,2\n")
    found = np.array(places(source))
    assert np.isnan(found[0, 1])
    assert np.isnan(found[1]).all()
    assert found[2].tolist() == [1, 2]


def test_columns_that_tell_the_place_are_withheld_unless_asked_for(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("lat,lon,user,place_id,addr:street,start_lat,latency,ele\n1,2,u,9,Rue,3,7,100\n")
    assert copy(source, tmp_path / "b.csv") == ["place_id", "addr:street", "start_lat", "ele"]
    assert (tmp_path / "b.csv").read_text() == "lat,lon,user,latency\n1,2,u,7\n"
    assert copy(source, tmp_path / "c.csv", keep=["ele"]) == ["place_id", "addr:street", "start_lat"]
    assert copy(source, tmp_path / "d.csv", keep=["*"]) == []
    assert tells_place("Lng2")
    assert tells_place("latitudeE7")
    assert not any(map(tells_place, ["platform", "along", "relation", "longest", "belong", "time", "user", "latest"]))


def test_parquet_keeps_types_and_order(tmp_path: Path) -> None:
    source, target = tmp_path / "a.parquet", tmp_path / "b.parquet"
    table = pa.table(
        {
            "user": pa.array([1, None], pa.int16()),
            "lat": pa.array([48.5, None], pa.float32()),
            "tags": pa.array([["a"], []]),
            "lon": pa.array([2.5, 3.5]),
        }
    )
    parquet.write_table(table, source)
    copy(source, target)
    result = parquet.read_table(target)
    assert result.column_names == table.column_names
    assert result.column("user").equals(table.column("user"))
    assert result.column("tags").to_pylist() == [["a"], []]
    assert result.column("lat").to_pylist()[0] == 48.5


def test_geoparquet_in_any_reference_system(tmp_path: Path) -> None:
    geopandas = pytest.importorskip("geopandas")
    frame = geopandas.GeoDataFrame({"user": ["u"]}, geometry=geopandas.points_from_xy([2.25], [48.75]), crs=4326)
    frame.to_crs(2154).to_parquet(tmp_path / "a.parquet")
    ((lat, lon),) = places(tmp_path / "a.parquet")
    assert (lat, lon) == pytest.approx((48.75, 2.25), abs=1e-9)
    copy(tmp_path / "a.parquet", tmp_path / "b.parquet")
    back = geopandas.read_parquet(tmp_path / "b.parquet")
    assert back.crs.to_epsg() == 4326 or back.crs.to_authority() == ("OGC", "CRS84")
    assert back.geometry.iloc[0].coords[0] == pytest.approx((2.25, 48.75), abs=1e-7)
    assert "bbox" not in json.loads(parquet.read_schema(tmp_path / "b.parquet").metadata[b"geo"])["columns"]["geometry"]


def test_bad_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(FileError, match="not a whole Parquet"):
        open_stream(path)
    table = pa.table({"geometry": [b"x"]})
    for geo, message in [
        (b"{", "must follow GeoParquet"),
        (b'{"primary_column": "geometry", "columns": {}}', "must follow GeoParquet"),
        (b'{"primary_column": "geometry", "columns": {"geometry": {"encoding": "polygon"}}}', "must be points"),
    ]:
        parquet.write_table(table.replace_schema_metadata({b"geo": geo}), path)
        with pytest.raises(InputError, match=message):
            open_stream(path)
    shapely = pytest.importorskip("shapely")
    line = pa.table({"geometry": [shapely.to_wkb(shapely.LineString([(0, 0), (1, 1)]))]})
    geo = b'{"primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB"}}}'
    parquet.write_table(line.replace_schema_metadata({b"geo": geo}), path)
    with pytest.raises(InputError, match="must be a point"):
        places(path)


def test_nested_columns_cannot_be_text(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"lat": [1.0], "lon": [2.0], "tags": [["a"]]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="cannot be written as CSV"):
        copy(tmp_path / "a.parquet", tmp_path / "b.csv")


def test_pandas_reads_its_own_table_back(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"lat": [1.0, 2.0], "lon": [3.0, 4.0], "place": ["a", "b"]}, index=pandas.Index([5, 6], name="k")
    )
    frame.to_parquet(tmp_path / "a.parquet")
    copy(tmp_path / "a.parquet", tmp_path / "b.parquet")
    back = pandas.read_parquet(tmp_path / "b.parquet")
    assert "place" not in back.columns
    assert back["lat"].tolist() == [1.0, 2.0]


def test_geojson_keeps_ids_and_properties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = tmp_path / "a.geojson", tmp_path / "b.geojson"
    features = [
        {
            "type": "Feature",
            "id": 7,
            "geometry": {"type": "Point", "coordinates": [2.5, 48.5, 30]},
            "properties": {"n": 1.5},
        },
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [-2, 8]},
            "properties": {"é": [1, {"b": None}]},
        },
        {"type": "Feature", "geometry": {"type": "Point", "coordinates": [3, 4]}, "properties": None},
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [3, 4]},
            "properties": {"address": "x", "q": 2},
        },
    ]
    document = {"type": "FeatureCollection", "bbox": [1, 2, 3, 4], "features": features, "note": {"a": [1]}}
    for chunk in (1, 7, 1 << 18):  # every way the pieces can fall
        monkeypatch.setattr(geojson_module, "_CHUNK_CHARS", chunk)
        source.write_text(json.dumps(document, indent=chunk % 3))
        assert copy(source, target) == ["address"]
        result = json.loads(target.read_text())
        assert list(result) == ["type", "features"]
        assert [f["geometry"]["coordinates"] for f in result["features"]] == [[2.5, 48.5], [-2, 8], [3, 4], [3, 4]]
        assert [f["properties"] for f in result["features"]] == [{"n": 1.5}, {"é": [1, {"b": None}]}, {}, {"q": 2}]
        assert [f.get("id") for f in result["features"]] == [7, None, None, None]


def test_geojson_lines_and_empty_collections(tmp_path: Path) -> None:
    lines = tmp_path / "a.geojsonl"
    lines.write_text('{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":1}}\n\n')
    copy(lines, tmp_path / "b.ndjson")
    assert json.loads((tmp_path / "b.ndjson").read_text())["properties"] == {"a": 1}
    empty = tmp_path / "empty.geojson"
    empty.write_text('{"type": "FeatureCollection", "features": []}')
    copy(empty, tmp_path / "c.geojson")
    assert json.loads((tmp_path / "c.geojson").read_text())["features"] == []


def test_gpx_keeps_lines_and_times_only(tmp_path: Path) -> None:
    source, target = tmp_path / "a.gpx", tmp_path / "b.gpx"
    source.write_text(GPX)
    withheld = copy(source, target)
    assert set(withheld) == {"metadata", "ele", "name"}
    text = target.read_text()
    assert "home" not in text
    assert "ele" not in text.replace("geoelastic", "")
    assert text.count("<trk>") == 2
    assert text.count("<trkseg>") == 3
    assert text.count("<time>2024") == 2
    assert places(target) == places(source) == [(48.5, 2.5), (48.1, 2.1), (48.2, 2.2), (48.3, 2.3), (48.4, 2.4)]
    assert open_stream(target).layout == open_stream(source).layout
    gpxpy = pytest.importorskip("gpxpy")
    parsed = gpxpy.parse(text)
    assert [len(s.points) for t in parsed.tracks for s in t.segments] == [2, 1, 1]
    assert len(parsed.waypoints) == 1


@pytest.mark.parametrize("text", [GPX[:-20], "<kml></kml>", "", GPX.replace('lat="48.3"', "")])
def test_bad_gpx(tmp_path: Path, text: str) -> None:
    source = tmp_path / "a.gpx"
    source.write_text(text)
    with pytest.raises(FileError, match="not a whole GPX"):
        places(source)


@pytest.mark.parametrize("first", ["csv", "parquet", "geojson", "gpx"])
@pytest.mark.parametrize("second", ["csv", "tsv.gz", "parquet", "geojson", "geojsonl.gz", "gpx"])
def test_any_format_becomes_any_other(tmp_path: Path, first: str, second: str) -> None:
    start = tmp_path / "start.csv"
    start.write_text("time,lat,lon,user\n2024-01-01T00:00:00Z,48.1,2.1,a\n2024-01-01T00:01:00Z,48.2,2.2,b\n")
    copy(start, tmp_path / f"a.{first}")
    copy(tmp_path / f"a.{first}", tmp_path / f"b.{second}")
    assert places(tmp_path / f"b.{second}") == [(48.1, 2.1), (48.2, 2.2)]


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path: Path) -> None:
    target = tmp_path / "b.csv"
    target.write_text("old")
    layout = Layout(("lat", "lon"), pa.schema([]))
    batch = Batch(np.array([1.0]), np.array([2.0]), pa.table({}))
    for name in ("b.csv", "b.parquet", "b.geojson", "b.gpx"):
        with pytest.raises(RuntimeError), write_stream(tmp_path / name, layout) as writer:
            _fail_after(writer.write, batch)
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["b.csv"]


def _fail_after(write: object, batch: Batch) -> None:
    write(batch)  # type: ignore[operator]
    raise RuntimeError


def test_names_of_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be one of"):
        open_stream(tmp_path / "a.xlsx")
    with pytest.raises(InputError, match=r"must not be called \.gz"):
        open_stream(tmp_path / "a.parquet.gz")
    for name in ("a.csv", "a.parquet", "a.geojson", "a.gpx"):
        with pytest.raises(FileError, match="no such file"):
            open_stream(tmp_path / name)
    for name in ("a.gpx", "a.geojson"):
        (tmp_path / name).write_text(GPX)
        with pytest.raises(InputError, match="cannot be named"):
            open_stream(tmp_path / name, lat="a", lon="b")
