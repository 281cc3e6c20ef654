# SPDX-License-Identifier: Apache-2.0
"""Every command that reads places reads the same files in the same way: any format, header or not, packed or not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from geoelastic.cli import main
from geoelastic.errors import FileError, GeoelasticError, InputError
from geoelastic.evaluation.study_areas import read_areas
from geoelastic.fences.shapes import read_fences
from geoelastic.mechanism.laplace import PlanarLaplace
from geoelastic.reports.table_reports import sanitize_file
from geoelastic.sources.checkins import read_checkins
from geoelastic.sources.streams import open_stream
from geoelastic.sources.streams.geojsonfile import read_features
from geoelastic.sources.streams.plumbing import ByteSource
from geoelastic.sources.traces import read_traces
from geoelastic.sources.vector import SourceTable, read_vector
from geoelastic.statistics.reports import read_reports

PLACES = [(48.8567, 2.3487), (48.8571, 2.3521), (-33.92, 18.42)]
TIMES = ["2026-03-02T08:00:00Z", "2026-03-02T08:10:00Z", "2026-03-04T09:00:00Z"]
ROWS = [(*place, time) for place, time in zip(PLACES, TIMES, strict=True)]


def delimited(names: tuple[str, ...], delimiter: str = ",") -> str:
    lines = [delimiter.join(map(str, row)) for row in ROWS]
    return "\n".join(([delimiter.join(names)] if names else []) + lines) + "\n"


def feature(lat: float, lon: float, time: str) -> dict[str, Any]:
    point = {"type": "Point", "coordinates": [lon, lat]}
    return {"type": "Feature", "geometry": point, "properties": {"time": time}}


FEATURES = [feature(*row) for row in ROWS]
TRACK = "".join(f'<trkpt lat="{a}" lon="{o}"><time>{t}</time></trkpt>' for a, o, t in ROWS)
TEXTS = {
    "plain.csv": delimited(("lat", "lon", "time")),
    "usual.tsv": delimited(("Latitude", "LNG", "timestamp"), "\t"),
    "underscored.csv": "\ufeff" + delimited(("decimal_latitude", "decimal_longitude", "date_time"), ";"),
    "letters.txt": delimited(("y", "x", "time"), "|"),
    "a.geojson": json.dumps({"type": "FeatureCollection", "features": FEATURES}),
    "a.json": json.dumps({"features": FEATURES, "type": "FeatureCollection"}),
    "a.geojsonl": "\n".join(map(json.dumps, FEATURES)),
    "a.gpx": f'<gpx xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>{TRACK}</trkseg></trk></gpx>',
}
NAMED = {
    "named.csv": (delimited(("north", "east", "time")), "north", "east"),
    "bare.csv": (delimited(()), "column_1", "column_2"),
    "other.csv": (delimited(("home_lat", "home_lon", "time")), "home_lat", "home_lon"),
}

Read = Callable[..., tuple[Any, Any]]


def by_stream(path: Path, **named: str) -> tuple[Any, Any]:
    (batch,) = open_stream(path, **named).batches()
    return batch.lat, batch.lon


def by_build(path: Path, **named: str) -> tuple[Any, Any]:
    found = read_vector(path, SourceTable(**named))
    return found.lat, found.lon


def by_evaluate(path: Path, **named: str) -> tuple[Any, Any]:
    found = read_checkins(path, columns=named)
    return found.lat, found.lon


def by_trace(path: Path, **named: str) -> tuple[Any, Any]:
    (trace,) = read_traces(path, **named)
    assert trace.dropped == {}
    return trace.lat, trace.lon


def by_estimate(path: Path, **named: str) -> tuple[Any, Any]:
    found = read_reports(path, **named)
    return found.lat, found.lon


#: The reader of each command: `trace` and `fence` have one.
READERS: dict[str, Read] = {
    "sanitize": by_stream, "build": by_build, "evaluate": by_evaluate, "trace, fence": by_trace,
    "estimate": by_estimate,
}  # fmt: skip


def expect_places(found: tuple[Any, Any]) -> None:
    np.testing.assert_allclose(np.column_stack([np.asarray(part) for part in found]), PLACES, rtol=0, atol=1e-12)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_every_command_reads_the_same_text(tmp_path: Path, name: str, packed: bool, reader: str) -> None:
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(TEXTS[name].encode()) if packed else TEXTS[name].encode())
    expect_places(READERS[reader](path))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ["a.parquet", "a.pq", "a.geoparquet"])
def test_every_command_reads_the_same_parquet(tmp_path: Path, name: str, reader: str) -> None:
    lat, lon, time = zip(*ROWS, strict=True)
    pq.write_table(pa.table({"lat": lat, "lon": lon, "time": time}), tmp_path / name)
    expect_places(READERS[reader](tmp_path / name))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", NAMED)
def test_columns_can_be_named_everywhere(tmp_path: Path, name: str, reader: str) -> None:
    text, lat, lon = NAMED[name]
    (tmp_path / name).write_text(text)
    expect_places(READERS[reader](tmp_path / name, lat=lat, lon=lon))
    with pytest.raises(InputError, match="name the columns with latitude and longitude"):
        READERS[reader](tmp_path / name)
    with pytest.raises(InputError, match="there is no column"):
        READERS[reader](tmp_path / name, lat="nowhere", lon=lon)


@pytest.mark.parametrize("reader", [name for name in READERS if name != "trace, fence"])
def test_two_columns_without_a_header_are_latitude_and_longitude(tmp_path: Path, reader: str) -> None:
    (tmp_path / "two.csv").write_text("".join(f"{lat},{lon}\n" for lat, lon in PLACES))
    expect_places(READERS[reader](tmp_path / "two.csv"))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut.csv.gz", gzip.compress(TEXTS["plain.csv"].encode() * 99)[:-9]),
        ("cut.geojson", TEXTS["a.geojson"][:-30].encode()),
        ("cut.gpx", TEXTS["a.gpx"][:-30].encode()),
        ("none.parquet", b"PAR1"),
        ("empty.csv", b""),
        ("lines.geojson", b'{"type": "LineString", "coordinates": 3}'),
    ],
)
def test_no_command_takes_what_is_damaged_or_tells_a_place(
    tmp_path: Path, name: str, content: bytes, reader: str, opened: list[IO[bytes]]
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises((InputError, FileError)) as caught:
        READERS[reader](tmp_path / name)
    assert name in str(caught.value)
    assert "48.85" not in str(caught.value)
    assert all(file.closed for file in opened)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[IO[bytes]]:
    """Every file that a reader opens; an error that is still held keeps nothing open."""
    files: list[IO[bytes]] = []
    open_once = ByteSource.open

    @contextmanager
    def noted(self: ByteSource) -> Iterator[IO[bytes]]:
        with open_once(self) as file:
            files.append(file)
            yield file

    monkeypatch.setattr(ByteSource, "open", noted)
    return files


@pytest.mark.parametrize(
    ("read", "name", "content"),
    [
        (lambda path: read_fences(path), "a.geojson", TEXTS["a.geojson"]),
        (lambda path: read_areas(path), "a.geojsonl", TEXTS["a.geojsonl"]),
        (lambda path: read_traces(path), "no-time.csv", "lat,lon,kind\n48.1,2.1,a\n" * 2),
        (lambda path: read_reports(path, user="nobody"), "plain.csv", TEXTS["plain.csv"]),
        (lambda path: read_reports(path), "nowhere.csv", "lat,lon\n48.1,nan\n"),
        (
            lambda path: sanitize_file(PlanarLaplace(0.01), path, path.with_name("out.csv")),
            "off.csv",
            "lat,lon\n148,2\n",
        ),
    ],
)
def test_what_is_refused_in_the_middle_of_a_file_leaves_none_open(
    tmp_path: Path, read: Callable[[Path], Any], name: str, content: str, opened: list[IO[bytes]]
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError):
        read(tmp_path / name)
    assert opened
    assert all(file.closed for file in opened)


COMMANDS = {
    "build": [], "quality": [], "sanitize": [], "evaluate": [], "estimate": ["run"], "fence": ["suggest", "attack"],
    "trace": ["release", "attack", "map"],
}  # fmt: skip


@pytest.mark.parametrize(
    "command", [[name, *part] for name, parts in COMMANDS.items() for part in ([p] for p in parts or [""])]
)
def test_every_command_that_reads_places_lets_columns_be_named(command: list[str]) -> None:
    text = CliRunner().invoke(main, [*filter(None, command), "--help"]).output
    assert "--lat-column" in text
    assert "--lon-column" in text


SHAPE = {"type": "Polygon", "coordinates": [[[2.0, 48.0], [2.1, 48.0], [2.1, 48.1], [2.0, 48.0]]]}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "document",
    [
        SHAPE,
        {"type": "Feature", "geometry": SHAPE, "properties": {"name": "a"}},
        {"type": "FeatureCollection", "features": [{"type": "Feature", "properties": None, "geometry": SHAPE}]},
        {"bbox": [2, 48, 3, 49], "features": [SHAPE], "type": "FeatureCollection"},
    ],
)
def test_a_shape_is_read_from_every_kind_of_geojson(tmp_path: Path, document: Any, packed: bool) -> None:
    path = tmp_path / ("a.geojson" + ".gz" * packed)
    text = json.dumps(document).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    assert [found["geometry"] for found in read_features(path)] == [SHAPE]


@pytest.mark.parametrize(
    "text", ["", "[]", "3", '{"type": "Feature"', '{"type": "Topology", "a": 1}', "{}", '{"features": [3]}']
)
def test_what_is_no_geojson_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.geojson").write_text(text)
    with pytest.raises(GeoelasticError, match=r"a\.geojson: not a whole GeoJSON file"):
        list(read_features(tmp_path / "a.geojson"))
