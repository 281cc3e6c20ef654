# SPDX-License-Identifier: Apache-2.0
"""Points, polygons with a value, and squares of a statistical grid, from every kind of table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

import geoelastic as ge
from geoelastic.errors import FileError, InputError
from geoelastic.sources.tables import read_table
from geoelastic.sources.vector import Condition, SourceTable, read_vector

AREA = ge.Area.around(46.2, 6.15, size_km=1)
ROWS = {"lat": [46.2, 46.2, 46.203], "lon": [6.15, 6.15, 6.153], "people": [5.0, 2.0, 4.0], "kind": ["a", "b", "a"]}


def frame() -> Any:
    import geopandas

    return geopandas.GeoDataFrame(
        {"people": ROWS["people"], "kind": ROWS["kind"]},
        geometry=shapely.points(ROWS["lon"], ROWS["lat"]),
        crs="EPSG:4326",
    )


def as_file(folder: Path, name: str) -> Path:
    """The same three points in each format."""
    import pandas

    path = folder / name
    if name == "p.csv":
        pandas.DataFrame(ROWS).to_csv(path, index=False)
    elif name == "p.tsv":
        pandas.DataFrame(ROWS).to_csv(path, index=False, sep="\t")
    elif name == "semicolon.csv":
        pandas.DataFrame(ROWS).rename(columns={"lat": "Latitude", "lon": "LNG"}).to_csv(path, index=False, sep=";")
    elif name == "p.parquet":
        pandas.DataFrame(ROWS).to_parquet(path)
    elif name == "geo.parquet":
        frame().to_parquet(path)
    elif name == "moved.parquet":
        frame().to_crs("EPSG:2056").to_parquet(path)
    else:
        frame().to_file(path)
    return path


@pytest.mark.parametrize(
    "name",
    ["p.csv", "p.tsv", "semicolon.csv", "p.parquet", "geo.parquet", "moved.parquet", "p.geojson", "p.gpkg", "p.shp"],
)
def test_every_format_gives_the_same_quality(tmp_path: Path, name: str) -> None:
    path = as_file(tmp_path, name)
    plain = ge.quality_from_points(path, AREA)
    assert plain.cells.sum() == 3
    weighted = ge.quality_from_points(path, AREA, weight="people", class_column="kind")
    assert weighted.cells.sum() == 11
    assert sorted(weighted.cells[weighted.cells > 0].tolist()) == [4, 7]
    assert weighted.info["layers"]["data"]["classes"] == {"data=a": 2, "data=b": 1}
    by_source = ge.quality_from_source(path, AREA, weight="people")
    np.testing.assert_array_equal(by_source.cells, weighted.cells)


def test_tables_in_memory() -> None:
    import pandas

    for data in (ROWS, pandas.DataFrame(ROWS), frame(), frame().to_crs("EPSG:3857")):
        assert ge.quality_from_points(data, AREA, weight="people").cells.sum() == 11
    with pytest.raises(InputError, match="no coordinate reference system"):
        ge.quality_from_points(frame().set_crs(None, allow_override=True), AREA)


def test_without_an_area_the_box_of_the_points_is_taken() -> None:
    quality = ge.quality_from_points(ROWS, cell_m=50)
    assert quality.cells.sum() == 3
    height_m = quality.grid.rows * 50
    assert 0.003 * 111_000 < height_m < 0.003 * 111_000 + 60


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        (("people", "equals", 5), 1),
        (("people", "not_equals", 5), 2),
        (("people", "at_least", 4), 2),
        (("people", "at_most", 2), 1),
        (("kind", "one_of", ["a", "c"]), 2),
        (("kind", "none_of", ["a"]), 1),
    ],
)
def test_conditions(condition: tuple[str, str, Any], kept: int) -> None:
    features = read_vector(ROWS, SourceTable(where=(Condition(*condition),)))
    assert features.n == kept
    assert features.dropped.get("not chosen by 'where'", 0) == 3 - kept


def test_rows_without_value_or_place_are_counted() -> None:
    rows = {
        "lat": [46.2, np.nan, 46.2, 46.2, 0.0],
        "lon": [6.15, 6.15, 6.15, 6.15, 0.0],
        "n": [1, 1, np.nan, -3, 1],
    }
    features = read_vector(rows, SourceTable(value="n"), bounds=AREA.bounds)
    assert features.n == 1
    assert features.dropped == {"no value, or a negative one": 2, "no place": 1, "outside the area": 1}


@pytest.mark.parametrize("bounds", [None, AREA.bounds])
def test_swapped_latitude_and_longitude(bounds: Any) -> None:
    far = {"lat": [139.7, 139.8], "lon": [35.6, 35.7]} if bounds is None else {"lat": [6.15], "lon": [46.2]}
    with pytest.raises(InputError, match="latitude and longitude look swapped"):
        read_vector(far, bounds=bounds)


def test_swapped_columns_in_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "swapped.csv"
    path.write_text("lat,lon\n6.15,46.2\n6.151,46.201\n")
    with pytest.raises(InputError, match=r"swapped\.csv: latitude and longitude look swapped"):
        ge.quality_from_source(path, AREA)


def test_helpful_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no column 'poeple'; columns are 'lat', 'lon', 'people', 'kind'"):
        read_vector(ROWS, SourceTable(value="poeple"))
    with pytest.raises(InputError, match="column 'kind' must hold numbers"):
        read_vector(ROWS, SourceTable(value="kind"))
    with pytest.raises(InputError, match=r"name the columns with latitude and longitude"):
        read_vector({"a": [1.0], "b": [2.0]})
    with pytest.raises(FileError, match="there is no such file"):
        read_table(tmp_path / "none.csv")
    for name in ("bad.parquet", "bad.geojson", "bad.gpkg"):
        (tmp_path / name).write_bytes(b"nothing of the kind")
        with pytest.raises(FileError, match=name.replace(".", r"\.")):
            read_table(tmp_path / name)
    (tmp_path / "ragged.csv").write_text("lat,lon\n1,2\n3\n")
    with pytest.raises(FileError, match="not a table"):
        read_table(tmp_path / "ragged.csv")
    with pytest.raises(InputError, match="a table must be one of"):
        read_table(as_file(tmp_path, "p.csv").rename(tmp_path / "p.doc"))
    with pytest.raises(InputError, match="'source' must be an OpenStreetMap file"):
        ge.quality_from_source("map.docx")
    with pytest.raises(InputError, match="a table can be a layer of it"):
        ge.quality_from_source(as_file(tmp_path, "p.tsv"), recipe="paper")
    with pytest.raises(InputError, match="nothing that recipe 'single' counts lies in the area; 3 lie outside"):
        ge.quality_from_points(ROWS, ge.Area.around(10, 10, size_km=1))


def box_xy(area: ge.Area, x0: float, y0: float, x1: float, y1: float) -> list[list[float]]:
    lat, lon = area.to_latlon([x0, x1, x1, x0, x0], [y0, y0, y1, y1, y0])
    return [[float(a), float(b)] for a, b in zip(lon, lat, strict=True)]


def feature(kind: str, coordinates: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": {"type": kind, "coordinates": coordinates}}


def test_polygons_share_their_value_by_area(tmp_path: Path) -> None:
    """Census areas: 300 people over 3 cells in a row, 80 people half outside, a line and a polygon without people."""
    path = tmp_path / "census.geojson"
    shapes = [
        feature("Polygon", [box_xy(AREA, -200, 0, 100, 100)], people=300),
        feature("MultiPolygon", [[box_xy(AREA, 400, -100, 600, 0)]], people=80),
        feature("LineString", box_xy(AREA, 0, 0, 50, 50)[:2], people=7),
        feature("Polygon", [box_xy(AREA, 0, 0, 100, 100)], people=None),
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": shapes}))
    quality = ge.quality_from_polygons(path, AREA, value="people")
    assert quality.cells.sum() == pytest.approx(340, rel=1e-6)
    np.testing.assert_allclose(quality.cells[5, 3:6], 100, rtol=1e-6)
    np.testing.assert_allclose(quality.cells[4, 9], 40, rtol=1e-6)
    assert quality.info["dropped"]["census.geojson"] == {
        "no value, or a negative one": 1,
        "neither a point nor a polygon": 1,
    }
    assert quality.info["layers"]["data"]["cut by the area's edge"] == 1


def test_broken_polygons_are_mended(tmp_path: Path) -> None:
    """A bow tie from a census keeps its people: they were counted, whoever drew the outline."""
    lat, lon = AREA.to_latlon([0, 100, 100, 0, 0], [0, 100, 0, 100, 0])
    tie = [[float(a), float(b)] for a, b in zip(lon, lat, strict=True)]
    path = tmp_path / "tie.geojson"
    path.write_text(json.dumps(feature("Polygon", [tie], n=10)))
    quality = ge.quality_from_polygons(path, AREA, value="n")
    assert quality.cells.sum() == pytest.approx(10)


def test_squares_of_a_census_grid() -> None:
    """200 m squares in the European grid, 6 degrees off the local axes: nothing is lost and nothing sticks out far."""
    from pyproj import Transformer

    back = Transformer.from_crs("EPSG:3035", "EPSG:4326", always_xy=True)
    x, y = np.meshgrid(np.arange(3_756_100, 3_757_100, 200), np.arange(2_889_100, 2_890_100, 200))
    lon, lat = back.transform(x.ravel(), y.ravel())
    rows = {"lat": lat, "lon": lon, "n": np.arange(25.0)}
    area = ge.Area.around(float(np.mean(lat)), float(np.mean(lon)), size_km=2)
    quality = ge.quality_from_points(rows, area, weight="n", side_m=200, side_crs="EPSG:3035")
    assert quality.cells.sum() == pytest.approx(300, rel=1e-9)
    assert 100 < np.count_nonzero(quality.cells) < 170
    assert quality.cells.max() <= 24 / 4 * 1.01
    with pytest.raises(InputError, match="'side_m' needs 'side_crs'"):
        ge.quality_from_points(rows, area, side_m=200)
    with pytest.raises(InputError, match="'side_crs' must be"):
        ge.quality_from_points(rows, area, side_m=200, side_crs="nonsense")


@pytest.mark.data
def test_the_population_of_helsinki(data_dir: Path) -> None:
    """All 71,724 people of the grid are on the map; negative marks of the statistics office are not people."""
    path = data_dir / "population" / "helsinki_population_grid_2020.gpkg"
    table = read_table(path)
    column = next(
        c for c in table.columns if np.nansum(np.clip(np.asarray(table.columns[c], dtype=float), 0, None)) == 71_724
    )
    quality = ge.quality_from_polygons(path, value=column)
    assert quality.cells.sum() == pytest.approx(71_724, rel=1e-9)
    assert len(read_vector(path, SourceTable(value=column)).areas) == 92
