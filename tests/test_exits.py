# SPDX-License-Identifier: Apache-2.0
"""How commands end: bad input is one line and exit 2, a fault of ours one line and exit 3; no line tells a place."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

import geoelastic as ge
from geoelastic.cli import main
from maps import small_metric

LAPLACE = ["--mechanism", "laplace", "--error", "300"]


def run(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    if code >= 2:
        assert result.stderr.startswith("geoelastic: ")
        assert result.stderr.count("\n") == 1
        assert "Traceback" not in result.output
    return result


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("metric") / "m.geoelastic"
    small_metric().save(path)
    return str(path)


@pytest.fixture
def place() -> tuple[float, float]:
    metric = small_metric()
    lat, lon = metric.latlon(int(np.flatnonzero(metric.secret)[9]))
    return round(lat, 5), round(lon, 5)


def test_a_fault_of_ours_is_exit_3_and_says_where_but_not_what(
    file: str, place: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Any, lat: float, lon: float, **_: Any) -> None:
        raise ZeroDivisionError(f"at {lat}, {lon}")

    monkeypatch.setattr("geoelastic.reports.locate.Placement.report", broken)
    asked = ["sanitize", file, "--lat", place[0], "--lon", place[1]]
    line = run(*asked, code=3).stderr
    assert "ZeroDivisionError" in line
    assert "--traceback" in line
    assert str(place[0]) not in line
    more = CliRunner().invoke(main, [*map(str, asked), "--traceback"])
    assert more.exit_code == 3
    assert "Traceback (most recent call last)" in more.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"], ["info"], ["info", "--no-such-option"], ["sanitize", "--lat", "48,85667", "--lon", "2.35"],
        ["sanitize", "48.85667", "2.35"], ["sanitize", "--mechanism", "laplace", "48.85667", "2.35"],
        ["ledger", "nothing"], ["verify", "FILE", "--sample", "-1"],
        ["sanitize", "--input", "a.csv", "-o", "b.csv", "--per", "0h"],
    ],
)  # fmt: skip
def test_wrong_usage_is_one_line_that_repeats_no_place(file: str, arguments: list[str]) -> None:
    line = run(*[file if word == "FILE" else word for word in arguments], code=2).stderr
    assert "48.85667" not in line
    assert "48,85667" not in line


def test_nothing_that_json_cannot_say_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    from geoelastic.cli._common import emit

    shown: list[str] = []
    monkeypatch.setattr("click.echo", shown.append)
    emit({"a": float("inf"), "b": [np.float64("nan"), 1], "c": {"d": np.array([np.inf, 2])}}, as_json=True)
    assert json.loads(shown[0]) == {"a": None, "b": [None, 1], "c": {"d": [None, 2]}}


def test_long_sentences_are_broken_at_words_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from geoelastic.cli import _common

    monkeypatch.setenv("COLUMNS", "40")
    shown: list[str] = []
    monkeypatch.setattr("click.echo", shown.append)
    monkeypatch.setattr(_common.sys.stdout, "isatty", lambda: True, raising=False)
    table = "one    2    3" + "    4" * 9
    _common.emit({"text": f"{'claim':>12}  {'word ' * 12}\n{table}\n\n{'said ' * 12}"}, as_json=False)
    first, *rest = shown[0].split("\n")
    assert first == "       claim  word word word word word"
    assert rest[:2] == [" " * 14 + "word word word word word", " " * 14 + "word word"]
    assert rest[2:4] == [table, ""]
    assert max(map(len, rest[4:])) <= 40


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "geojson", "geojsonl", "gpx"])
def test_dropping_every_row_gives_an_empty_table(file: str, tmp_path: Path, suffix: str) -> None:
    source = tmp_path / "in.csv"
    source.write_text("user,time,lat,lon\nann,2026-01-01T00:00:00Z,10.5,20.5\nann,2026-01-01T00:01:00Z,11,20\n")
    target = tmp_path / f"out.{suffix}"
    ledger = ["--ledger", tmp_path / "l.json", "--user-column", "user"]
    for more in ([], ["--seed", 1], ledger, [*ledger, "--sticky", tmp_path / "k"], ["--remap"]):
        done = run("sanitize", file, "--input", source, "-o", target, "--outside", "drop", "--json", *more)
        assert json.loads(done.stdout)["reports"] == 0
        assert target.exists()
    again = tmp_path / f"again.{suffix}"
    assert json.loads(run("sanitize", *LAPLACE, "--input", target, "-o", again, "--json").stdout)["rows"] == 0


DAMAGED = {
    "cut.csv.gz": gzip.compress(b"lat,lon\n" + b"48.85667,2.35\n" * 9000)[:-20],
    "hole.csv.gz": gzip.compress(b"lat,lon\n" + bytes(range(256)) * 99)[:300] + b"\0" * 300,
    "none.csv.gz": b"lat,lon\n48.85667,2.35\n",
    "hole.geojson.gz": gzip.compress(b"[" * 9999)[:15] + b"\xff" * 30,
    "latin.csv": "lat,lon,name\n48.85667,2.35,café\n".encode("latin-1"),
    "text.csv": b"lat,lon\n48.85667N,2.35E\n",
    "header.csv": b"N48.85667,E2.35\nN48.9,E2.3\n",
    "degrees.csv": "ann,48°51'24\"N,2°20'55\"E\n".encode(),
    "rows.csv": b"lat,lon\n48.85667,2.35,7\n",
    "empty.csv": b"",
    "nul.csv": b"\0" * 100,
    "quote.csv": b'lat,lon\n"48.85667,2.35\n',
    "digits.geojson": b'{"features": [{"geometry": {"type": "Point", "coordinates": [1%s, 2]}}]}' % (b"0" * 400),
    "more.geojson": b'{"features": [{"geometry": {"type": "Point", "coordinates": [1%s, 2]}}]}' % (b"0" * 9000),
    "deep.geojson": b'{"features": ' + b"[" * 100_000,
    "deeper.geojson": b'{"features": [{"geometry": null, "properties": ' + b'{"a": ' * 100_000,
    "list.geojson": b'{"features": [[]]}',
    "text.geojson": b'{"features": [{"geometry": "48.85667"}]}',
    "kind.geojson": b'{"features": [{"geometry": {"type": "48.85667", "coordinates": [1, 2]}}]}',
    "properties.geojson": b'{"features": [{"geometry": null, "properties": [1, 2]}]}',
    "crs.geojson": b'{"crs": 7, "features": []}',
    "surrogate.geojson": b'{"features": [{"geometry": null, "properties": {"a": "\\ud800"}}]}',
    "deep.geojsonl": b"[" * 100_000,
    "encoding.gpx": b'<?xml version="1.0" encoding="no-such"?><gpx/>',
    "wide.gpx": b'<?xml version="1.0" encoding="utf-32"?><gpx/>',
    "text.gpx": b'<gpx><wpt lat="48.85667N" lon="2"/></gpx>',
    "deep.gpx": b"<gpx>" + b"<a>" * 50_000,
    "laughs.gpx": b'<!DOCTYPE gpx [<!ENTITY a "%s">]><gpx><wpt lat="1" lon="1"><time>&a;</time>' % (b"&a;" * 10),
    "short.parquet": b"PAR1" + b"\0" * 40 + b"PAR1",
}


@pytest.mark.parametrize("name", sorted(DAMAGED))
def test_a_damaged_table_is_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(DAMAGED[name])
    done = run("sanitize", *LAPLACE, "--input", tmp_path / name, "-o", tmp_path / "out.csv", code=2)
    assert "48.85" not in done.stderr
    assert "48°" not in done.stderr
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("geo", "column"),
    [
        (b"[" * 100_000, [b"x"]), (b"7", [b"x"]), (b'{"primary_column": "g", "columns": 3}', [b"x"]),
        (b'{"primary_column": "g", "columns": {"g": {"encoding": "WKB", "crs": 7}}}', [b"x"]),
        (b'{"primary_column": "g", "columns": {"g": {"encoding": "WKB"}}}', [b"not wkb"]),
        (b'{"primary_column": "g", "columns": {"g": {"encoding": "WKB"}}}', [7]),
    ],
)  # fmt: skip
def test_a_damaged_geoparquet_is_one_line(tmp_path: Path, geo: bytes, column: list[Any]) -> None:
    table = pa.table({"g": column}).replace_schema_metadata({b"geo": geo})
    parquet.write_table(table, tmp_path / "a.parquet")
    run("sanitize", *LAPLACE, "--input", tmp_path / "a.parquet", "-o", tmp_path / "out.csv", code=2)


def test_a_table_without_a_header_keeps_user_and_time_only(tmp_path: Path) -> None:
    """The check-in files of SNAP: user, time, latitude, longitude, number of the venue."""
    source, target = tmp_path / "gowalla.txt", tmp_path / "out.tsv"
    source.write_text("0\t2010-10-19T23:55:27Z\t30.23\t-97.79\t22847\n0\t2010-10-18T22:17:43Z\t30.26\t-97.76\t420315\n")
    as_told = [
        "sanitize",
        *LAPLACE,
        "--input",
        source,
        "--lat-column",
        "column_3",
        "--lon-column",
        "column_4",
        "-o",
        target,
    ]
    done = json.loads(run(*as_told, "--user-column", "column_1", "--json").stdout)
    assert done["withheld"] == ["column_5"]
    rows = [line.split("\t") for line in target.read_text().splitlines()]
    assert rows[0] == ["column_1", "column_2", "column_3", "column_4"]
    assert rows[1][:2] == ["0", "2010-10-19T23:55:27Z"]
    assert "22847" not in target.read_text()
    assert json.loads(run(*as_told, "--json").stdout)["withheld"] == ["column_1", "column_5"]
    assert json.loads(run(*as_told, "--keep", "column_5", "--json").stdout)["withheld"] == ["column_1"]
    assert "--keep" in run(*as_told).stdout
    assert json.loads(run(*as_told, "--keep", "*", "--json").stdout)["withheld"] == []
    assert "22847" in target.read_text()


def test_a_budget_refuses_before_it_reports(file: str, place: tuple[float, float], tmp_path: Path) -> None:
    ledger = tmp_path / "l.json"
    one = ["sanitize", file, "--lat", place[0], "--lon", place[1], "--ledger", ledger]
    limit = ["--budget", "ln6", "--per", "24h"]  # at ln 2 apiece: two reports
    for _ in range(2):
        run(*one, *limit)
    before = ledger.read_bytes()
    refused = run(*one, *limit, code=1)
    assert refused.stdout == ""
    assert "nothing was reported" in refused.stderr
    assert ledger.read_bytes() == before
    run(*one, *limit, "--user", "bob")  # each user has a budget
    run(*one, *limit[:2], code=1)
    run(*one, "--budget", 3, "--per", "7d")
    assert "give --ledger too" in run(*one[:-2], *limit, code=2).stderr
    assert "give --budget too" in run(*one, "--per", "24h", code=2).stderr
    shown = run("ledger", "show", ledger, "--per", "24h").stdout
    assert "2.08  pure" in shown


def test_a_budget_holds_for_a_table_by_user_and_leaves_no_file(
    file: str, place: tuple[float, float], tmp_path: Path
) -> None:
    source, target, ledger = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "l.parquet"
    source.write_text("user,lat,lon\n" + f"ann,{place[0]},{place[1]}\n" * 2 + f"bob,{place[0]},{place[1]}\n" * 3)
    table = ["sanitize", file, "--input", source, "-o", target, "--user-column", "user", "--ledger", ledger]
    line = run(*table, "--budget", "ln6", code=1).stderr
    assert "1 of 2 users" in line
    assert "bob" not in line
    assert not target.exists()
    assert not ledger.exists()
    run(*table, "--budget", "ln9")
    shown = run("ledger", "show", ledger).stdout
    assert "ann" in shown
    assert "pure" in shown


def test_the_ledger_shows_the_bound_that_applies(tmp_path: Path) -> None:
    book = ge.Ledger()
    book.charge("few", "m", fresh=2)
    book.charge("many", "m", fresh=1000)
    book.save(tmp_path / "l.json")
    few, many = run("ledger", "show", tmp_path / "l.json").stdout.splitlines()[2:]
    assert few.split() == ["few", "2", "0", "0", "1.39", "pure"]
    assert many.split()[-1] == "concentrated"
    assert float(many.split()[-2]) < 200 < 1000 * 0.69
    text = run("ledger", "cost", "--reports", 100).stdout
    assert "cost 24.22 (concentrated bound)" in text
    assert "69.3" not in text


def test_zlib_is_what_we_think() -> None:
    """`zlib.error` is no OSError: readers of compressed files must name it."""
    assert not issubclass(zlib.error, OSError)
