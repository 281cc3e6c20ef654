# SPDX-License-Identifier: Apache-2.0
"""Formats of GIS and data frames, in and out, and nothing of the true places in the bytes of what comes out."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import geopandas
import numpy as np
import polars
import pyarrow as pa
import pyogrio
import pytest
import shapely
from click.testing import CliRunner
from pyarrow import parquet

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.errors import FileError, InputError

ROWS = 300


@pytest.fixture(scope="module")
def mechanism() -> ge.PlanarLaplace:
    return ge.PlanarLaplace.from_expected_error(500)


@pytest.fixture
def places() -> geopandas.GeoDataFrame:
    rng = np.random.default_rng(3)
    # digits that nothing else in a file has
    lat, lon = 48.8 + rng.random(ROWS) / 10, 2.3 + rng.random(ROWS) / 10
    frame = {"user": [f"u{k % 7}" for k in range(ROWS)], "n": np.arange(ROWS), "address": ["12 Rue X"] * ROWS}
    return geopandas.GeoDataFrame(frame, geometry=geopandas.points_from_xy(lon, lat), crs=4326)


def true_bytes(places: geopandas.GeoDataFrame) -> list[bytes]:
    """Each true coordinate as a double and as a float, in degrees and in metres, both ends first; and their bounds."""
    numbers = [*places.geometry.x, *places.geometry.y, *places.total_bounds]
    metres = places.to_crs(2154)
    numbers += [*metres.geometry.x, *metres.geometry.y, *metres.total_bounds]
    spelt = [struct.pack(order + kind, value) for value in numbers for order in "<>" for kind in "df"]
    # a float of four bytes may be met by chance in a file of some kB: 2^-32 a place; doubles cannot
    texts = [f"{value:.6f}".encode() for value in numbers]
    return [*(word for word in spelt if len(word) == 8), *texts, b"12 Rue X"]


def written(places: geopandas.GeoDataFrame, path: Path) -> Path:
    if path.suffix == ".geoparquet":
        places.to_parquet(path, write_covering_bbox=True, schema_version="1.1.0")
    else:
        places.to_file(path, driver={".gpkg": "GPKG", ".fgb": "FlatGeobuf"}.get(path.suffix, "ESRI Shapefile"))
    return path


@pytest.mark.parametrize("crs", [4326, 2154])
@pytest.mark.parametrize("suffix", [".gpkg", ".fgb", ".shp", ".geoparquet"])
def test_files_in_and_out_keep_rows_and_nothing_of_the_true_places(
    mechanism: ge.PlanarLaplace, places: geopandas.GeoDataFrame, tmp_path: Path, suffix: str, crs: int
) -> None:
    source = written(places.to_crs(crs), tmp_path / f"visits{suffix}")
    target = tmp_path / f"reports{'.shz' if suffix == '.shp' else suffix}"
    told = ge.sanitize_file(mechanism, source, target)
    assert told["rows"] == ROWS
    assert set(told["withheld"]) == {"address"} | ({"bbox"} if suffix == ".geoparquet" else set())
    read = geopandas.read_parquet(target) if suffix == ".geoparquet" else pyogrio.read_dataframe(target)
    order = np.argsort(read["n"].to_numpy())  # FlatGeobuf sorts its rows by place: by that of the report
    read = read.iloc[order].reset_index(drop=True)
    assert list(read["user"]) == list(places["user"])
    assert "address" not in read
    assert read.crs.equals(4326, ignore_axis_order=True)
    away = read.to_crs(2154).geometry.distance(places.to_crs(2154).geometry, align=False)
    assert 300 < away.mean() < 700
    assert away.min() > 0
    content = target.read_bytes()
    assert [word for word in true_bytes(places) if word in content] == []
    if suffix != ".geoparquet":
        assert pyogrio.read_info(target, force_total_bounds=True)["total_bounds"] == pytest.approx(read.total_bounds)


def test_the_test_of_the_bytes_would_find_them(places: geopandas.GeoDataFrame, tmp_path: Path) -> None:
    for suffix in (".gpkg", ".fgb", ".shp"):
        content = written(places, tmp_path / f"visits{suffix}").read_bytes()
        assert any(word in content for word in true_bytes(places)), suffix


def test_the_order_of_a_flatgeobuf_which_is_that_of_true_places_is_not_kept(
    mechanism: ge.PlanarLaplace, places: geopandas.GeoDataFrame, tmp_path: Path
) -> None:
    source, target = written(places, tmp_path / "visits.fgb"), tmp_path / "reports.parquet"
    ge.sanitize_file(mechanism, source, target)
    before, after = (list(pyogrio.read_dataframe(source)["n"]), parquet.read_table(target)["n"].to_pylist())
    assert before != sorted(before)  # it is sorted along a curve through the plane
    assert sorted(after) == sorted(before)
    # 300 rows in any order have one of 300! orders; a rank correlation of 0.5 has probability below 10^-15
    assert abs(np.corrcoef(np.argsort(before), np.argsort(after))[0, 1]) < 0.5


@pytest.mark.parametrize("encoding", ["WKB", "geoarrow"])
def test_geoparquet_in_both_encodings(
    mechanism: ge.PlanarLaplace, places: geopandas.GeoDataFrame, tmp_path: Path, encoding: str
) -> None:
    source, target = tmp_path / "visits.parquet", tmp_path / "reports.parquet"
    places.to_parquet(source, geometry_encoding=encoding, schema_version="1.1.0")
    assert ge.sanitize_file(mechanism, source, target)["rows"] == ROWS
    geo = json.loads(parquet.read_metadata(target).metadata[b"geo"])
    assert geo["version"] == "1.1.0"
    assert "bbox" not in geo["columns"]["geometry"]
    assert len(geopandas.read_parquet(target)) == ROWS


def test_a_covering_by_any_name_is_withheld(mechanism: ge.PlanarLaplace, tmp_path: Path) -> None:
    point = shapely.to_wkb(shapely.Point(2.3487, 48.8567))
    covering = {"bbox": {"xmin": ["extent", "xmin"], "ymin": ["extent", "ymin"]}}
    column = {"encoding": "WKB", "geometry_types": ["Point"], "covering": covering}
    geo = {"version": "1.1.0", "primary_column": "g", "columns": {"g": column}}
    table = pa.table({"g": [point], "extent": [{"xmin": 2.3487, "ymin": 48.8567}], "n": [1]})
    source = tmp_path / "a.parquet"
    parquet.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), source)
    assert ge.sanitize_file(mechanism, source, tmp_path / "b.csv", keep=["extent"])["withheld"] == ["extent"]


def test_any_of_them_becomes_any_other(mechanism: ge.PlanarLaplace, tmp_path: Path) -> None:
    source = tmp_path / "visits.csv"
    source.write_text("user,time,lat,lon\nana,2026-05-01T08:00:00Z,48.85,2.35\n")
    for suffix in (".gpkg", ".fgb", ".shz", ".geojson", ".csv"):
        target = tmp_path / f"reports{suffix}"
        ge.sanitize_file(mechanism, source, target)
        source = target
    assert "ana" in source.read_text()


def test_bad_files_are_refused_in_a_line(mechanism: ge.PlanarLaplace, tmp_path: Path) -> None:
    lines = geopandas.GeoDataFrame(geometry=[shapely.LineString([(2, 48), (3, 49)])], crs=4326)
    lines.to_file(tmp_path / "lines.gpkg", driver="GPKG")
    bare = geopandas.GeoDataFrame(geometry=[shapely.Point(2, 48)])
    with pytest.warns(UserWarning, match="crs"):
        bare.to_file(tmp_path / "bare.fgb", driver="FlatGeobuf")
    good = geopandas.GeoDataFrame({"a": [1]}, geometry=[shapely.Point(2, 48)], crs=4326)
    for layer in ("one", "two"):
        good.to_file(tmp_path / "two.gpkg", driver="GPKG", layer=layer)
    whole = written(good, tmp_path / "good.gpkg").read_bytes()
    (tmp_path / "cut.gpkg").write_bytes(whole[:5000])
    (tmp_path / "text.gpkg").write_text("<OGRVRTDataSource/>")
    cases = {"lines.gpkg": "must be a point", "bare.fgb": "reference system", "two.gpkg": "one layer"}
    cases |= {"text.gpkg": "not a GPKG", "cut.gpkg": "not a whole GPKG", "none.gpkg": "no such file"}
    for name, reason in cases.items():
        with pytest.raises((InputError, FileError), match=reason):
            ge.sanitize_file(mechanism, tmp_path / name, tmp_path / "out.csv")
        assert not (tmp_path / "out.csv").exists()
    with pytest.raises(InputError, match=r"write one compressed one, out\.shz"):
        ge.sanitize_file(mechanism, tmp_path / "good.gpkg", tmp_path / "out.shp")
    noise = ["--mechanism", "laplace", "--error", "500"]
    told = CliRunner().invoke(main, ["sanitize", *noise, "--input", str(tmp_path / "lines.gpkg"), "-o", "o.csv"])
    assert told.exit_code == 2
    assert told.stderr.count("\n") == 1


@pytest.mark.parametrize("suffix", [".gpkg", ".fgb", ".shz"])
def test_damaged_files_are_read_or_refused_in_a_line(
    mechanism: ge.PlanarLaplace, places: geopandas.GeoDataFrame, tmp_path: Path, suffix: str
) -> None:
    whole = written(places.drop(columns="address")[:40], tmp_path / f"whole{suffix}").read_bytes()
    draw = random.Random(suffix)
    told: list[str] = []
    for _ in range(60):
        content = bytearray(whole if draw.random() < 0.8 else whole[: draw.randrange(20, len(whole))])
        for _ in range(draw.choice([1, 3, 20])):
            content[draw.randrange(len(content))] = draw.randrange(256)
        (tmp_path / f"damaged{suffix}").write_bytes(content)
        try:
            ge.sanitize_file(mechanism, tmp_path / f"damaged{suffix}", tmp_path / "out.csv", outside="drop")
        except ge.GeoelasticError as error:
            told.append(str(error))
    assert len(told) > 5
    assert not any("\n" in line for line in told)


def test_points_without_any_column_keep_their_number(mechanism: ge.PlanarLaplace, tmp_path: Path) -> None:
    bare = geopandas.GeoDataFrame(geometry=[shapely.Point(2, 48), None, shapely.Point(3, 49)], crs=4326)
    source = written(bare, tmp_path / "bare.gpkg")
    for suffix in (".gpkg", ".csv", ".geojson"):
        assert ge.sanitize_file(mechanism, source, tmp_path / f"out{suffix}", outside="drop")["reports"] == 2


def test_polars_frames(mechanism: ge.PlanarLaplace) -> None:
    columns = {"user": ["a", "b", "c"], "lat": [48.85, 48.86, 48.87], "lon": [2.35, 2.36, 2.37], "n": [1, 2, 3]}
    frame = polars.DataFrame(columns)
    made = ge.sanitize_frame(mechanism, frame)
    assert isinstance(made, polars.DataFrame)
    assert made.schema == frame.schema
    assert made.drop("lat", "lon").equals(frame.drop("lat", "lon"))
    assert not (made["lat"] == frame["lat"]).any()
    with pytest.raises(InputError, match="Polars"):
        ge.sanitize_frame(mechanism, frame.lazy())


@pytest.mark.parametrize("encoding", ["geoarrow", "WKB"])
@pytest.mark.parametrize("crs", [4326, 2154])
def test_geoarrow_tables(mechanism: ge.PlanarLaplace, places: geopandas.GeoDataFrame, encoding: str, crs: int) -> None:
    table = pa.table(places.to_crs(crs).to_arrow(geometry_encoding=encoding, index=False))
    made = ge.sanitize_frame(mechanism, table)
    assert made.schema.field("geometry").equals(table.schema.field("geometry"), check_metadata=True)
    read = geopandas.GeoDataFrame.from_arrow(made)
    assert read.crs == crs
    away = read.to_crs(2154).geometry.distance(places.to_crs(2154).geometry)
    assert 300 < away.mean() < 700
    assert json.loads(made.schema.metadata[b"geoelastic"])["rows"] == ROWS
