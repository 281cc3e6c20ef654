# SPDX-License-Identifier: Apache-2.0
"""Tables through mechanisms: frames and files, stated policies, mix-ups, sticky users, ledgers, the command line."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.errors import FileError, FrameError, InputError, OutsideError
from geoelastic.mechanism.sticky import KeyedRandom, Sticky, load_key, new_key
from geoelastic.release.named_mechanism import charge, choose_mechanism
from geoelastic.reports import table_reports
from geoelastic.reports.locate import Placement, Tally
from geoelastic.reports.table_reports import sanitize_arrays
from geoelastic.sources.streams import textfile
from statistical.toolbox import assert_draws

#: Almost every test here needs a built metric.
pytestmark = pytest.mark.jit

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def metric() -> ge.Metric:
    cells = np.full((24, 30), 0.05)
    cells[6:14, 8:20] = 0.3
    mass = ge.Mass.from_array(cells, cell_m=100, origin=(48.85, 2.35))
    return ge.build_metric(mass, method="conformal", layout="adaptive", l_from=0.35, l_top=math.log(3))


@pytest.fixture(scope="module")
def mechanism(metric: ge.Metric) -> ge.ElasticMechanism:
    return ge.ElasticMechanism(metric)


@pytest.fixture(scope="module")
def fenced(metric: ge.Metric) -> ge.ElasticMechanism:
    return ge.ElasticMechanism(metric.with_fences([_square(metric, 40)]))


def _square(metric: ge.Metric, k: int) -> dict[str, Any]:
    i = int(np.flatnonzero(metric.secret)[k])
    x, y = metric.xy[i]
    corners = [(x - 160, y - 160), (x + 160, y - 160), (x + 160, y + 160), (x - 160, y + 160), (x - 160, y - 160)]
    ring = [tuple(map(float, reversed(metric.grid.area.to_latlon(*corner)))) for corner in corners]
    return {"type": "Polygon", "coordinates": [ring]}


@pytest.fixture
def places(metric: ge.Metric) -> tuple[np.ndarray, np.ndarray]:
    index = np.random.default_rng(1).choice(np.flatnonzero(metric.secret), 60)
    lat, lon = np.array([metric.latlon(int(i)) for i in index]).T
    return lat, lon


class Identity:
    """Reports every cell as it is: shows which location a row was placed at."""

    def __init__(self, metric: ge.Metric) -> None:
        self.metric = metric

    def sample_cells(self, i: Sequence[int], *, rng: object = None) -> tuple[np.ndarray, np.ndarray]:
        return self.metric.locations.row[i], self.metric.locations.col[i]


def edge_places(metric: ge.Metric) -> tuple[np.ndarray, np.ndarray]:
    """Inside, in the frame, outside, missing."""
    inside = metric.latlon(int(np.flatnonzero(metric.secret)[0]))
    frame = metric.latlon(int(np.flatnonzero(~metric.secret)[0]))
    rows = [inside, frame, (inside[0] + 1, inside[1]), (math.nan, inside[1]), inside, inside]
    return np.array(rows)[:, 0], np.array(rows)[:, 1]


def test_policies_are_kept_and_counted(metric: ge.Metric) -> None:
    lat, lon = edge_places(metric)
    with pytest.raises(InputError, match="1 of 6 places are missing"):
        sanitize_arrays(Identity(metric), lat, lon)
    present = ~np.isnan(lat)
    with pytest.raises(OutsideError, match="of 5 places 1 outside the map and 1 in the frame cannot be") as caught:
        sanitize_arrays(Identity(metric), lat[present], lon[present])
    assert "48." not in str(caught.value)
    with pytest.raises(FrameError, match="of 2 places 1 in the frame cannot"):
        sanitize_arrays(Identity(metric), lat[:2], lon[:2])
    dropped = sanitize_arrays(Identity(metric), lat, lon, outside="drop")
    assert dropped.tally == Tally(6, 3, 1, 1, 1, "drop")
    assert dropped.kept.tolist() == [True, False, False, False, True, True]
    with pytest.raises(InputError, match="missing"):
        sanitize_arrays(Identity(metric), lat, lon, outside="snap")
    snapped = sanitize_arrays(Identity(metric), lat[present], lon[present], outside="snap")
    assert snapped.tally == Tally(5, 5, 0, 1, 1, "snap")
    assert metric.secret[snapped.index].all()
    with pytest.raises(InputError, match="'outside' must be one of"):
        sanitize_arrays(Identity(metric), lat, lon, outside="ignore")


def test_snapping_goes_to_the_nearest_secret_cell(metric: ge.Metric) -> None:
    rng = np.random.default_rng(3)
    row, col = rng.integers(0, 24, 80), rng.integers(0, 30, 80)
    reports = Placement(Identity(metric), "snap").report(*metric.grid.cell_to_latlon(row, col))
    secret = np.argwhere(metric.secret[metric.locations.owner])
    for r, c, index in zip(row, col, reports.index, strict=True):
        squared = ((secret - [r, c]) ** 2).sum(axis=1)
        nearest = {int(metric.locations.owner[tuple(cell)]) for cell in secret[squared == squared.min()]}
        assert int(index) in nearest


@pytest.mark.parametrize(
    ("lat", "lon", "message"),
    [
        ([2.35, 2.36, 2.34], [48.85, 48.86, 48.84], "mixed up: most places lie on the map only when swapped"),
        ([120.0, 121.0], [48.85, 48.86], "mixed up: some latitudes are beyond 90"),
        ([652000.0], [6862000.0], "look like metres"),
        ([95.0], [200.0], "in degrees"),
    ],
)
def test_mix_ups_are_detected(metric: ge.Metric, lat: list[float], lon: list[float], message: str) -> None:
    for policy in ("error", "drop", "snap"):
        with pytest.raises(InputError, match=message):
            sanitize_arrays(Identity(metric), lat, lon, outside=policy)


def test_a_few_outside_are_not_taken_for_a_mix_up(metric: ge.Metric) -> None:
    reports = sanitize_arrays(Identity(metric), [48.85, 48.85, 2.35], [2.35, 2.35, 48.85], outside="drop")
    assert reports.tally.outside == 1


def test_repeated_places_follow_the_probabilities(mechanism: ge.ElasticMechanism) -> None:
    metric = mechanism.metric
    i = int(np.flatnonzero(metric.secret)[30])
    lat, lon = metric.latlon(i)
    reports = sanitize_arrays(mechanism, np.full(20_000, lat), np.full(20_000, lon), rng=ge.SeededRandom(2))
    rows, cols = metric.grid.latlon_to_cell(reports.lat, reports.lon)
    assert_draws(metric.locations.owner[rows, cols], mechanism.probabilities(i))


def test_pandas_in_pandas_out(mechanism: ge.ElasticMechanism, places: tuple[np.ndarray, np.ndarray]) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"who": range(60), "Latitude": places[0], "lng": places[1], "address": "x"})
    frame.index = frame.index + 100
    before = frame.copy()
    result = mechanism.sanitize_frame(frame, rng=ge.SeededRandom(1))
    pandas.testing.assert_frame_equal(frame, before)
    assert type(result) is pandas.DataFrame
    assert list(result.columns) == list(frame.columns)
    assert result.index.equals(frame.index)
    assert result["who"].equals(frame["who"])
    assert (result["Latitude"] != frame["Latitude"]).mean() > 0.5
    assert result.attrs["geoelastic"] == {
        "rows": 60, "reports": 60, "missing": 0, "outside": 0, "frame": 0, "policy": "error", "seeded": True,
        "may_tell_place": ["address"],
    }  # fmt: skip
    assert "address" not in mechanism.sanitize_frame(frame, keep=()).columns
    frame.loc[105, "Latitude"] = np.nan
    dropped = mechanism.sanitize_frame(frame, outside="drop")
    assert 105 not in dropped.index
    assert dropped.attrs["geoelastic"]["missing"] == 1
    with pytest.raises(InputError, match="must hold numbers"):
        mechanism.sanitize_frame(frame.assign(Latitude="north"))
    with pytest.raises(InputError, match="name the columns"):
        mechanism.sanitize_frame(frame.rename(columns={"lng": "b"}))
    named = mechanism.sanitize_frame(frame.rename(columns={"lng": "b"}), lat="Latitude", lon="b", outside="drop")
    assert len(named) == 59


def test_geopandas_keeps_its_reference_system(
    mechanism: ge.ElasticMechanism, places: tuple[np.ndarray, np.ndarray]
) -> None:
    geopandas = pytest.importorskip("geopandas")
    points = geopandas.points_from_xy(places[1], places[0], crs=4326)
    frame = geopandas.GeoDataFrame({"lat": places[0], "lon": places[1], "n": 1}, geometry=points).to_crs(2154)
    result = mechanism.sanitize_frame(frame, rng=ge.SeededRandom(1))
    assert type(result) is geopandas.GeoDataFrame
    assert result.crs == frame.crs
    degrees = result.geometry.to_crs(4326)
    np.testing.assert_allclose(degrees.y, result["lat"], atol=1e-8)  # the columns beside do not keep the truth
    expected = sanitize_arrays(mechanism, *places, rng=ge.SeededRandom(1))
    np.testing.assert_allclose(degrees.x, expected.lon, atol=1e-8)
    with pytest.raises(InputError, match="no coordinate reference system"):
        mechanism.sanitize_frame(geopandas.GeoDataFrame(geometry=geopandas.points_from_xy([2.35], [48.85])))
    with pytest.raises(InputError, match="must be a point"):
        mechanism.sanitize_frame(frame.set_geometry(frame.buffer(5)))


def test_pyarrow_in_pyarrow_out(mechanism: ge.ElasticMechanism, places: tuple[np.ndarray, np.ndarray]) -> None:
    table = pa.table({"lon": places[1], "lat": [str(v) for v in places[0]], "n": list(range(60))})
    result = mechanism.sanitize_frame(table)
    assert type(result) is pa.Table
    assert result.column_names == ["lon", "lat", "n"]
    assert result["n"].equals(table["n"])
    assert json.loads(result.schema.metadata[b"geoelastic"])["seeded"] is False
    with pytest.raises(InputError, match="must be a pandas, GeoPandas, Polars or pyarrow table, got a list"):
        mechanism.sanitize_frame([1, 2])


def test_planar_laplace_and_its_grid_take_tables_too(metric: ge.Metric, places: tuple[np.ndarray, np.ndarray]) -> None:
    table = pa.table({"lat": places[0], "lon": places[1]})
    assert ge.sanitize_frame(ge.PlanarLaplace(0.01), table).num_rows == 60
    grid = ge.GridLaplace(0.01, metric.grid)
    reports = sanitize_arrays(grid, *places)
    assert np.all(metric.grid.latlon_to_cell(reports.lat, reports.lon)[0] >= 0)
    assert sanitize_arrays(grid, [48.0, *places[0]], [2.0, *places[1]], outside="drop").tally.outside == 1
    with pytest.raises(OutsideError):
        sanitize_arrays(grid, [48.0, *places[0]], [2.0, *places[1]])


def write_csv(path: Path, places: tuple[np.ndarray, np.ndarray], users: int = 3) -> Path:
    rows = [
        f"{k % users},{a!r},{b!r},{k}" for k, (a, b) in enumerate(zip(*map(np.ndarray.tolist, places), strict=True))
    ]
    path.write_text("\n".join(["user,lat,lon,place_id", *rows, ""]))
    return path


def test_files_are_streamed_in_order(
    mechanism: ge.ElasticMechanism, places: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    source = write_csv(tmp_path / "a.csv", places)
    done = ge.sanitize_file(Identity(mechanism.metric), source, tmp_path / "b.parquet")
    assert done["withheld"] == ["place_id"]
    assert not done["seeded"]
    result = parquet.read_table(tmp_path / "b.parquet")
    cells = mechanism.metric.grid.latlon_to_cell(result["lat"].to_numpy(), result["lon"].to_numpy())
    found = mechanism.metric.locations.owner[cells]
    assert np.array_equal(found, mechanism.metric.locations.owner[mechanism.metric.grid.latlon_to_cell(*places)])
    seeded = ge.sanitize_file(mechanism, source, tmp_path / "c.csv", rng=ge.SeededRandom(4))
    assert seeded["seeded"]
    assert (tmp_path / "c.csv").read_text().splitlines()[0] == "user,lat,lon,geoelastic_seeded"
    ge.sanitize_file(mechanism, source, tmp_path / "d.gpx", rng=ge.SeededRandom(4))
    assert "seeded" in (tmp_path / "d.gpx").read_text().splitlines()[1]
    with pytest.raises(InputError, match="no column 'nobody'"):
        ge.sanitize_file(mechanism, source, tmp_path / "e.csv", users="nobody")


def test_batches_do_not_show(
    metric: ge.Metric, places: tuple[np.ndarray, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = tuple(np.tile(column, 40) for column in places)
    source = write_csv(tmp_path / "a.csv", many)
    ge.sanitize_file(Identity(metric), source, tmp_path / "whole.csv")
    monkeypatch.setattr(textfile, "_BLOCK_BYTES", 4000)
    for rows in (1, 500):
        monkeypatch.setattr(table_reports, "_BATCH_ROWS", rows)
        assert ge.sanitize_file(Identity(metric), source, tmp_path / "parts.csv", progress=True)["rows"] == 2400
        assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_nothing_is_released_if_the_ledger_cannot_be_charged(
    mechanism: ge.ElasticMechanism, places: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    def refuse(tally: Tally, visits: object) -> None:
        assert tally.reports == 60
        raise FileError("no ledger")

    source = write_csv(tmp_path / "a.csv", places)
    with pytest.raises(FileError, match="no ledger"):
        ge.sanitize_file(mechanism, source, tmp_path / "b.csv", before_release=refuse)
    assert not (tmp_path / "b.csv").exists()


def test_sticky_reports_repeat_and_depend_on_key_user_and_place(mechanism: ge.ElasticMechanism) -> None:
    metric, sticky = mechanism.metric, Sticky(mechanism, KEY)
    index = np.flatnonzero(metric.secret)[:40]
    first, again = sticky.sample_cells(index), Sticky(mechanism, KEY).sample_cells(index[::-1])
    assert np.array_equal(first[0], again[0][::-1])
    assert np.array_equal(first[1], again[1][::-1])
    for other in (Sticky(mechanism, KEY[::-1]), sticky.for_user("b")):
        assert not np.array_equal(first[0], other.sample_cells(index)[0])
    i = int(index[3])
    assert sticky.sample(i, 3).tolist() == [int(metric.locations.owner[first[0][3], first[1][3]])] * 3
    assert sticky.sanitize(*metric.latlon(i)) == pytest.approx(metric.grid.cell_to_latlon(first[0][3], first[1][3]))
    assert np.array_equal(sticky.probabilities(i), mechanism.probabilities(i))
    assert sticky.loss(i, int(index[0])) == mechanism.loss(i, int(index[0]))
    with pytest.raises(InputError, match="'rng' must be None"):
        sticky.sample(i, rng=ge.SeededRandom(1))
    with pytest.raises(InputError, match="32 secret bytes"):
        Sticky(mechanism, b"short")
    assert "\\x01" not in repr(sticky)


def test_over_all_keys_sticky_reports_follow_the_probabilities(mechanism: ge.ElasticMechanism) -> None:
    i = int(np.flatnonzero(mechanism.metric.secret)[25])
    sticky = Sticky(mechanism, KEY)
    drawn = [int(sticky.for_user(str(k)).sample(i)[0]) for k in range(1500)]
    assert_draws(drawn, mechanism.probabilities(i))


def test_a_fence_is_one_place_for_sticky_reports(fenced: ge.ElasticMechanism) -> None:
    metric = fenced.metric
    inside = np.flatnonzero(metric.fence > 0)
    assert inside.size > 1
    sticky = Sticky(fenced, KEY)
    rows, cols = sticky.sample_cells(inside)
    assert np.unique(rows).size == np.unique(cols).size == 1
    assert metric.fence[metric.locations.owner[rows[0], cols[0]]] == 1
    assert len(set(sticky.tags(inside))) == 1
    outside = np.flatnonzero(metric.secret & (metric.fence == 0))[:5]
    assert np.array_equal(sticky.place_of(outside), outside)


def test_keyed_bytes_are_a_stream() -> None:
    whole = KeyedRandom(KEY, b"a").bytes(100)
    pieces = KeyedRandom(KEY, b"a")
    assert pieces.bytes(1) + pieces.bytes(63) + pieces.bytes(36) == whole
    assert KeyedRandom(KEY, b"b").bytes(100) != whole
    assert [KeyedRandom(KEY, b"c").below(1)] == [0]


@pytest.mark.system_random  # two equal keys of 256 bits: never
def test_keys_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "a.key"
    key = new_key(path)
    assert len(key) == 32
    assert load_key(path) == key
    assert path.stat().st_mode & 0o777 == 0o600
    assert new_key(path) != key
    for text in ("", "geoelastic-key-1 00\n", key.hex(), "geoelastic-key-1 zz"):
        path.write_text(text)
        with pytest.raises(FileError, match="key"):
            load_key(path)
    with pytest.raises(FileError, match="key"):
        load_key(tmp_path / "none")


def test_charges(fenced: ge.ElasticMechanism) -> None:
    metric, ledger = fenced.metric, ge.Ledger()
    inside = np.flatnonzero(metric.fence > 0)
    outside = np.flatnonzero(metric.secret & (metric.fence == 0))
    visits = {"ann": np.concatenate([inside, outside[:2], outside[:2]]), "": outside[:1]}
    charge(ledger, fenced, visits, user="me")
    (account,) = ledger.users["ann"].values()
    assert (account.fresh, account.repeated, account.fenced, account.exponent) == (4, 0, inside.size, 1.0)
    assert ledger.cost("me", 1.0).reports == 1
    sticky = ge.Ledger()
    for _ in range(2):
        charge(sticky, Sticky(fenced, KEY), visits, user="me")
    (account,) = sticky.users["ann"].values()
    assert (account.fresh, account.repeated) == (2, 6)
    charge(ledger, ge.PlanarLaplace(0.01), {"": 5}, user="me")
    assert ledger.users["me"]["laplace:0.01"].exponent == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "laplace"}, "needs epsilon"),
        ({"kind": "laplace", "epsilon": 1.0, "guard": "low"}, "not several"),
        ({"kind": "laplace", "epsilon": 1.0, "remap": True}, "need a map"),
        ({"kind": "elastic"}, "needs a map"),
        ({"kind": "elastic", "epsilon": 1.0}, "belong to the mechanism 'laplace'"),
        ({"kind": "gaussian"}, "'mechanism' must be one of"),
    ],
)
def test_choices_that_do_not_fit(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        choose_mechanism(arguments.pop("kind"), None, **arguments)


def test_laplace_takes_its_level_from_the_map() -> None:
    quality = ge.Quality(ge.Grid.of_shape((40, 40), 100, (48.85, 2.35)), np.ones((40, 40)))
    mass = ge.mass_from_quality(quality, r_small=250, r_large=1500)
    metric = ge.build_metric(mass, method="paper", layout="uniform", l_from=0, l_top=0.5, requirement=ge.Quadratic(0.5))
    noise = choose_mechanism("laplace", metric)
    assert noise.epsilon == pytest.approx(0.5 / 250)


@pytest.fixture(scope="module")
def file(metric: ge.Metric, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("metric") / "m.geoelastic"
    metric.save(path)
    return str(path)


def run(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


def run_json(*arguments: object, code: int = 0) -> Any:
    return json.loads(run(*arguments, "--json", code=code).stdout)


def test_command_reports_one_place(file: str, metric: ge.Metric, tmp_path: Path) -> None:
    place = metric.latlon(int(np.flatnonzero(metric.secret)[9]))
    where = ["--lat", place[0], "--lon", place[1]]
    done = run_json("sanitize", file, *where, "--seed", 3)
    assert done == run_json("sanitize", file, *where, "--seed", 3)
    assert done["seeded"]
    assert metric.locate(done["lat"], done["lon"]) >= 0
    assert "research only" in run("sanitize", file, *where, "--seed", 3).stdout
    assert run_json("sanitize", file, *where, "--mechanism", "laplace", "--guard", "low")["mechanism"] == "laplace"
    assert run_json("sanitize", file, *where, "--remap")["mechanism"] == "elastic"
    key, ledger = tmp_path / "a.key", tmp_path / "l.json"
    first = run_json("sanitize", file, *where, "--sticky", key, "--ledger", ledger)
    assert first == run_json("sanitize", file, *where, "--sticky", key, "--ledger", ledger)
    (row,) = run_json("ledger", "show", ledger)["users"]
    assert (row["user"], row["fresh"], row["repeated"]) == ("me", 1, 1)
    assert run_json("sanitize", file, "--lat", 60, "--lon", 2, "--outside", "drop") == {"reports": 0}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--lat", "48.85"],
        ["--lat", "48.85", "--lon", "2.35", "--input", "a.csv", "-o", "b.csv"],
        ["--input", "a.csv"],
        ["--lat", "60.12345", "--lon", "2.35"],
        ["--lat", "nan", "--lon", "2.35"],
        ["--input", "no-such.csv", "-o", "b.csv"],
        ["--input", "no-such.csv", "-o", "/no/such/folder/b.csv"],
        ["--lat", "48.85", "--lon", "2.35", "--sticky", "k", "--remap"],
    ],
)
def test_command_refuses_in_one_line(file: str, arguments: list[str]) -> None:
    result = run("sanitize", file, *arguments, code=2)
    assert result.stderr.count("\n") == 1
    assert "60.12" not in result.stderr


def test_command_sanitizes_tables_by_user(file: str, places: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    source, target, ledger = write_csv(tmp_path / "a.csv", places), tmp_path / "b.geojson", tmp_path / "l.parquet"
    shared = ["--user-column", "user", "--ledger", ledger, "--sticky", tmp_path / "k"]
    done = run_json("sanitize", file, "--input", source, "-o", target, *shared)
    assert (done["rows"], done["reports"], done["withheld"]) == (60, 60, ["place_id"])
    assert len(json.loads(target.read_text())["features"]) == 60
    run("sanitize", file, "--input", source, "-o", tmp_path / "c.geojson", *shared)
    assert (tmp_path / "c.geojson").read_bytes() == target.read_bytes()
    rows = run_json("ledger", "show", ledger)["users"]
    assert [r["user"] for r in rows] == ["0", "1", "2"]
    assert all(r["fresh"] + r["repeated"] == 40 and r["fresh"] <= 20 for r in rows)
    assert (
        "left out because they tell the place, or may (--keep NAME): place_id"
        in run("sanitize", file, "--input", source, "-o", target).stdout
    )


def test_ledger_commands(file: str, metric: ge.Metric, tmp_path: Path) -> None:
    cost = run_json("ledger", "cost", "--reports", 100, "--level", "ln2", "--budget", 24.3)
    assert (round(cost["pure"], 1), round(cost["concentrated"], 1), cost["reports_within"]) == (69.3, 24.2, 100)
    place = metric.latlon(int(np.flatnonzero(metric.secret)[50]))
    at = ["--at", f"{place[0]},{place[1]}"]
    sizes = []
    for reports in (1, 3, 30):
        done = run_json("ledger", "map", file, *at, "--reports", reports, "--level", "ln3", "-o", tmp_path / "m.png")
        sizes.append(done["locations"])
        assert done["level_within"] >= math.log(3) / reports - 1e-12
    assert sizes[0] > sizes[1] > sizes[2] >= 1
    assert (tmp_path / "m.png").read_bytes()[:4] == b"\x89PNG"
    ledger = tmp_path / "l.json"
    run("sanitize", file, "--lat", place[0], "--lon", place[1], "--ledger", ledger)
    by_ledger = run_json("ledger", "map", file, *at, "--ledger", ledger, "--level", "ln3", "-o", tmp_path / "n.png")
    assert by_ledger["locations"] == sizes[0]
    run("ledger", "show", tmp_path / "none.json", code=2)
    run("ledger", "show", ledger, "--user", "nobody", code=2)
    run("ledger", "map", file, *at, "-o", tmp_path / "m.png", code=2)


def test_audit_commands(file: str, places: tuple[np.ndarray, np.ndarray], tmp_path: Path, monkeypatch: Any) -> None:
    many = tuple(np.tile(column, 6) for column in places)
    source = write_csv(tmp_path / "a.csv", many)
    run("sanitize", file, "--input", source, "-o", tmp_path / "b.csv", "--seed", 5)
    assert run_json("audit", source, "--reported", tmp_path / "b.csv", "--metric", file)["ok"]
    run("sanitize", "--mechanism", "laplace", "--error", 300, "--input", source, "-o", tmp_path / "c.csv", "--seed", 5)
    pair = run_json("audit", source, "--reported", tmp_path / "c.csv", "--error", 300)
    assert pair["ok"]
    verdict = run_json("audit", source, "--reported", tmp_path / "c.csv", "--error", 600, code=1)
    assert not verdict["ok"]
    joined = parquet.read_table(_join(source, tmp_path / "c.csv", tmp_path / "d.parquet"))
    assert joined.num_rows == 360
    assert run_json("audit", tmp_path / "d.parquet", "--error", 300)["ok"]
    named = run_json("audit", tmp_path / "d.parquet", "--error", 300, "--columns", "lat,lon,reported_lat,reported_lon")
    assert named["bounds"] == run_json("audit", tmp_path / "d.parquet", "--error", 300)["bounds"]
    (tmp_path / "bad_noise.py").write_text("def report(lat, lon):\n    return lat + 0.001, lon\n")
    monkeypatch.chdir(tmp_path)
    text = run("audit", "--call", "bad_noise:report", "--error", 300, "--draws", 300, code=1).stdout
    assert "FAULT reused noise" in text
    for wrong in (["--call", "bad_noise:none", "--error", 1], [source, "--error", 300], ["--error", 1, "--epsilon", 1]):
        assert run("audit", *wrong, code=2).stderr.count("\n") == 1


def _join(source: Path, reported: Path, target: Path) -> Path:
    from pyarrow import csv

    a, b = csv.read_csv(source), csv.read_csv(reported)
    table = pa.table({"lat": a["lat"], "lon": a["lon"], "reported_lat": b["lat"], "reported_lon": b["lon"]})
    parquet.write_table(table, target)
    return target


@pytest.mark.data
def test_real_check_ins_are_streamed_and_pass_the_audit(data_dir: Path, tmp_path: Path) -> None:
    source, target = data_dir / "checkins" / "gowalla_paris_30km.txt", tmp_path / "b.csv"
    columns = ["--lat-column", "column_3", "--lon-column", "column_4"]
    noise = ["--mechanism", "laplace", "--error", 800, "--seed", 1]
    done = run_json("sanitize", "--input", source, "-o", target, *columns, *noise)
    assert (done["rows"], done["reports"]) == (17_496, 17_496)
    names = "column_3,column_4,column_3,column_4"
    assert run_json("audit", source, "--reported", target, "--error", 800, "--columns", names)["ok"]
    verdict = run_json("audit", source, "--reported", target, "--error", 900, "--columns", names, code=1)
    assert {"radius", "loss"} & {f["check"] for f in verdict["findings"] if f["flagged"]}
