# SPDX-License-Identifier: Apache-2.0
"""Tables of places, fences, ledgers and recipes."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pyarrow as pa
from pyarrow import parquet

import geoelastic as ge
from geoelastic.accounts.ledger import updating
from geoelastic.errors import GeoelasticError
from geoelastic.fences import fences_to_cells, read_fences
from geoelastic.quality import load_recipe

from .files import damaged_table
from .mutate import damaged_bytes, damaged_json, damaged_text, some

CSV = b"user,time,lat,lon,place_id\nann,2026-01-01T00:00:00Z,48.8567,2.3487,7\nbob,2026-01-01T00:01:00Z,48.86,2.35,8\n"
SNAP = b"0\t2010-10-19T23:55:27Z\t48.23\t2.79\t22847\n0\t2010-10-18T22:17:43Z\t48.26\t2.76\t420315\n"
GPX = (
    b'<?xml version="1.0" encoding="UTF-8"?><gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1">'
    b'<wpt lat="48.85" lon="2.35"><ele>35</ele><time>2026-01-01T00:00:00Z</time></wpt><trk><name>home</name><trkseg>'
    b'<trkpt lat="48.86" lon="2.36"><time>2026-01-01T00:01:00Z</time></trkpt></trkseg></trk></gpx>'
)
FEATURES: dict[str, Any] = {
    "type": "FeatureCollection",
    "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}},
    "features": [
        {
            "type": "Feature",
            "id": 7,
            "geometry": {"type": "Point", "coordinates": [2.35, 48.85]},
            "properties": {"user": "ann", "address": "x", "n": 1.5},
        },
        {"type": "Feature", "geometry": None, "properties": None},
    ],
}
_SUFFIXES = ("csv", "tsv", "csv.gz", "geojson", "geojsonl", "geojson.gz", "gpx", "gpx.gz", "parquet", "json")


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


class Tables:
    """A table in any of the formats to any of the formats, through planar Laplace noise."""

    name = "tables"

    def make(self, rng: Random) -> bytes:
        suffix = some(rng, _SUFFIXES)
        content = self._content(rng, suffix)
        to = some(rng, ("csv", "csv.gz", "geojson", "geojsonl", "gpx", "parquet"))
        outside = some(rng, ("error", "drop", "drop", "snap"))
        columns = some(rng, (None, None, None, ("lat", "lon"), ("column_3", "column_4"), ("x", "y")))
        return _dumped({"suffix": suffix, "to": to, "outside": outside, "columns": columns}) + b"\n" + content

    def _content(self, rng: Random, suffix: str) -> bytes:
        if suffix.endswith(".gz"):
            inner = self._content(rng, suffix.removesuffix(".gz"))
            packed = gzip.compress(inner, 1)
            return damaged_bytes(rng, packed) if rng.random() < 0.5 else packed
        if suffix == "parquet":
            if rng.random() < 0.5:
                return damaged_bytes(rng, some(rng, _parquets()))
            return self._parquet(rng)
        if suffix in ("geojson", "json"):
            damaged = _dumped(damaged_json(rng, FEATURES))
            return damaged if rng.random() < 0.7 else damaged_text(rng, damaged)
        if suffix == "geojsonl":
            lines = b"\n".join(_dumped(damaged_json(rng, feature)) for feature in FEATURES["features"])
            return lines if rng.random() < 0.7 else damaged_text(rng, lines)
        return damaged_text(rng, GPX if suffix == "gpx" else some(rng, (CSV, SNAP, CSV.replace(b",", b";"))))

    def _parquet(self, rng: Random) -> bytes:
        table = parquet.read_table(io.BytesIO(some(rng, _parquets())))
        metadata = table.schema.metadata or {}
        numbers = pa.table({"lat": [1, 2], "lon": [3, 4], "k": [5, 6]})
        try:
            table = damaged_table(rng, numbers) if rng.random() < 0.5 else table
            if b"geo" in metadata:
                geo = damaged_json(rng, json.loads(metadata[b"geo"]))
                table = table.replace_schema_metadata({b"geo": _dumped(geo)})
            sink = io.BytesIO()
            parquet.write_table(table, sink)
            return sink.getvalue()
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return b"PAR1"

    def run(self, payload: bytes, folder: Path) -> str:
        line, _, content = payload.partition(b"\n")
        spec = json.loads(line)
        source, target = folder / f"in.{spec['suffix']}", folder / f"out.{spec['to']}"
        source.write_bytes(content)
        lat, lon = spec["columns"] or (None, None)
        try:
            done = ge.sanitize_file(_noise(), source, target, outside=spec["outside"], lat=lat, lon=lon)
        except GeoelasticError as error:
            if "48.8567" in str(error) or "\n" in str(error):
                raise AssertionError("a message tells a place, or has several lines") from None
            return "refused"
        return "some rows" if done["reports"] else "no rows"


@cache
def _noise() -> Any:
    return ge.PlanarLaplace(0.01)


@cache
def _parquets() -> list[bytes]:
    import shapely

    plain = pa.table(
        {"user": ["ann", "bob"], "lat": [48.85, 48.86], "lon": [2.35, None], "n": [1, 2], "tags": [["a"], []]}
    )
    points = pa.array([shapely.to_wkb(shapely.Point(2.35, 48.85)), None], pa.binary())
    geo = {
        "version": "1.0.0",
        "primary_column": "g",
        "columns": {"g": {"encoding": "WKB", "geometry_types": ["Point"]}},
    }
    shapes = pa.table({"g": points, "name": ["a", "b"]}).replace_schema_metadata({b"geo": json.dumps(geo).encode()})
    files = []
    for table in (plain, shapes):
        sink = io.BytesIO()
        parquet.write_table(table, sink)
        files.append(sink.getvalue())
    return files


class Fences:
    """Regions in GeoJSON, and the cells of a small map that they cover."""

    name = "fences"
    shape: ClassVar[Any] = {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"name": "home"},
                "geometry": {
                    "type": "Polygon",
                    "coordinates": [[[2.346, 48.855], [2.351, 48.855], [2.351, 48.858], [2.346, 48.855]]],
                },
            },
            {
                "type": "Feature",
                "properties": {"radius_m": 120},
                "geometry": {"type": "Point", "coordinates": [2.34, 48.85]},
            },
            {
                "type": "MultiPolygon",
                "coordinates": [[[[2.35, 48.86], [2.352, 48.86], [2.352, 48.862], [2.35, 48.86]]]],
            },
        ],
    }

    def make(self, rng: Random) -> bytes:
        damaged = _dumped(damaged_json(rng, self.shape))
        return damaged if rng.random() < 0.8 else damaged_text(rng, damaged)

    def run(self, payload: bytes, folder: Path) -> str:
        path = folder / "fence.geojson"
        path.write_bytes(payload)
        try:
            fences = read_fences([str(path)])
            fences_to_cells(_grid(), fences)
        except GeoelasticError:
            return "refused"
        return f"{min(len(fences), 4)} fences"


@cache
def _grid() -> Any:
    return ge.Mass.from_array([[1.0] * 24] * 24, cell_m=100, origin=(48.8567, 2.3487)).grid


class Ledgers:
    """Ledgers as JSON and Parquet: read, charged, written, read again; a count is never lower than it was."""

    name = "ledgers"

    def make(self, rng: Random) -> bytes:
        if rng.random() < 0.75:
            damaged = _dumped(damaged_json(rng, json.loads(_ledgers()[0])))
            return b"json\n" + (damaged if rng.random() < 0.8 else damaged_text(rng, damaged))
        if rng.random() < 0.5:
            return b"parquet\n" + damaged_bytes(rng, _ledgers()[1])
        table = parquet.read_table(io.BytesIO(_ledgers()[1]))
        sink = io.BytesIO()
        try:
            rows = damaged_json(rng, table.to_pylist())
            schema = table.schema if rng.random() < 0.5 else None
            again = pa.Table.from_pylist(rows, schema=schema)
            parquet.write_table(again.replace_schema_metadata(table.schema.metadata), sink)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError, KeyError):
            return b"parquet\nPAR1"
        return b"parquet\n" + sink.getvalue()

    def run(self, payload: bytes, folder: Path) -> str:
        suffix, _, content = payload.partition(b"\n")
        path = folder / f"ledger.{suffix.decode()}"
        path.write_bytes(content)
        try:
            with updating(path) as ledger:
                before = {(u, m): a.fresh for u, accounts in ledger.users.items() for m, a in accounts.items()}
                for user in list(ledger.users):
                    ledger.cost(user, 0.7)
                    ledger.level_within(user, 3.0)
                    ledger.charge(user, "elastic:a", fresh=1, tags=["t"])
            after = ge.Ledger.load(path).users
        except GeoelasticError:
            return "refused"
        assert all(after[u][m].fresh >= fresh for (u, m), fresh in before.items())
        return "charged"


@cache
def _ledgers() -> list[bytes]:
    ledger = ge.Ledger()
    ledger.charge("ann", "elastic:a", fresh=3, repeated=2, tags=["a1", "b2"])
    ledger.charge("bob", "laplace:0.01", fresh=1, exponent=1.0)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("l.json", "l.parquet")]
        for path in files:
            ledger.save(path)
        return [path.read_bytes() for path in files]


class Recipes:
    """What counts as quality, in TOML."""

    name = "recipes"

    def make(self, rng: Random) -> bytes:
        return damaged_text(rng, some(rng, _recipes()))

    def run(self, payload: bytes, folder: Path) -> str:
        path = folder / "recipe.toml"
        path.write_bytes(payload)
        try:
            load_recipe(path)
        except GeoelasticError:
            return "refused"
        return "read"


@cache
def _recipes() -> list[bytes]:
    top = Path(__file__).resolve().parents[2]
    found = [
        *sorted((top / "examples").glob("*.toml")),
        *sorted((top / "src" / "geoelastic" / "quality").rglob("*.toml")),
    ]
    assert found
    return [path.read_bytes() for path in found]
