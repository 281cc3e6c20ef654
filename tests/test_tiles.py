# SPDX-License-Identifier: Apache-2.0
"""Tiled metrics against the untiled ones: layout, graph, guarantee, extracts, files and reports."""

from __future__ import annotations

import hashlib
import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import geoelastic as ge
from geoelastic import _kernels as kernels
from geoelastic.cli import main
from geoelastic.cli._describe import describe
from geoelastic.context import Name
from geoelastic.context.shores import context_of
from geoelastic.errors import FileError, FrameError, InputError, OutsideError
from geoelastic.judge import checkup
from geoelastic.levels import units_to_mass
from geoelastic.mechanism.sampler import Line, Sampler
from geoelastic.metric.cartogram import neighbours_between
from geoelastic.metric.conformal import conformal_graph
from geoelastic.metric.extract import extract
from geoelastic.metric.relief import Relief
from geoelastic.randomness import SeededRandom
from geoelastic.reports.table_reports import sanitize_arrays
from geoelastic.tiles import InlineEngine, build_tiles
from geoelastic.tiles import parts as tiled_parts
from geoelastic.tiles.store import CachedStore
from geoelastic.tiles.tiled_metric import TiledMetric, open_tiles
from geoelastic.tiles.tiling import Box, Tiling
from statistical.toolbox import assert_chi_square
from tiled_maps import LEVELS, TILE, small_mass

pytestmark = pytest.mark.jit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiles") / "map.geoelastic"
    build_tiles(small_mass(), str(path), tile=TILE, engine=InlineEngine(), **LEVELS)
    return path


@pytest.fixture(scope="module")
def tiled(folder: Path) -> TiledMetric:
    return open_tiles(folder)


@pytest.fixture(scope="module")
def whole() -> ge.Metric:
    return ge.build_metric(small_mass(), **LEVELS)


@given(st.integers(1, 900), st.integers(1, 900), st.sampled_from([128, 256]), st.integers(0, 400))
def test_tiles_cover_the_map_once(rows: int, cols: int, side: int, margin: int) -> None:
    tiling = Tiling(rows, cols, side)
    cover = np.zeros((rows, cols), int)
    for tile in range(tiling.n):
        box, window = tiling.box(tile), tiling.window(tile, margin)
        cover[box.row : box.row_end, box.col : box.col_end] += 1
        assert tile in tiling.meeting(window)
        assert window.row <= max(box.row - margin, 0)
        assert window.row_end >= min(box.row_end + margin, rows)
        assert window.row % 64 == 0
        assert window.col % 64 == 0
        assert tiling.around(tile)[4] == tile
        assert tiling.tile_of(box.row_end - 1, box.col_end - 1) == tile
    assert (cover == 1).all()


@pytest.mark.parametrize("side", [0, 64, 100, 384, -128])
def test_a_tile_is_a_power_of_two(side: int) -> None:
    with pytest.raises(InputError, match="'tile' must be a power of two >= 128"):
        Tiling(1000, 1000, side)


def test_layout_and_neighbours_are_those_of_the_whole_map(tiled: TiledMetric, whole: ge.Metric) -> None:
    assert tiled.n == whole.n
    for name in ("row", "col", "size"):
        assert np.array_equal(getattr(tiled.locations, name), getattr(whole.locations, name))
    assert np.array_equal(tiled.mass_units, whole.mass_units)
    start, index, length = neighbours_between(whole.locations, None, tiled.place)
    window, _ = tiled.window(Box(0, 0, *tiled.grid.shape))
    for ours, theirs in zip(window.neighbours, (start, index, length), strict=True):
        assert np.array_equal(ours, theirs)
    rebuilt = conformal_graph((start, index, length), tiled.scale, tiled.whole().rise)
    for name in ("start", "index", "weight"):
        assert np.array_equal(getattr(rebuilt, name), getattr(tiled.graph, name))


def test_edges_have_factors_and_locations_have_heights_of_their_own(tiled: TiledMetric) -> None:
    """As if the map had been in one piece: what is read by windows is what was found for the whole."""
    whole = tiled.whole()
    assert whole.rise is not None
    assert whole.relief is not None
    assert tiled.relief is not None
    assert tiled.relief.digest == whole.relief.digest
    whole.relief.require_fit(whole)
    window, _ = tiled.window(Box(64, 64, 256, 256))
    assert np.array_equal(tiled.height(window), whole.relief.height[tiled.numbers(window)])
    rise, factor = window.rise, {}
    start, index, _ = neighbours_between(whole.locations, None, whole.place)
    tail = np.repeat(np.arange(whole.n), np.diff(start))
    later = tail < index
    factor = dict(zip(zip(tail[later].tolist(), index[later].tolist(), strict=True), whole.rise.tolist(), strict=True))
    numbers, (begin, other, _) = tiled.numbers(window), window.neighbours
    own = np.repeat(np.arange(numbers.size), np.diff(begin))
    pairs = zip(numbers[own[own < other]].tolist(), numbers[other[own < other]].tolist(), strict=True)
    assert rise is not None
    assert rise.tolist() == [factor[pair] for pair in pairs]
    # and both do something: some edges are longer than their scales say, some shorter, some have gone
    assert {0} < set(whole.rise.tolist())
    assert whole.rise.max() > 128


def test_reports_from_a_window_go_by_the_heights_of_the_whole(tiled: TiledMetric) -> None:
    here, there = ge.ElasticMechanism(tiled), ge.ElasticMechanism(tiled.whole())
    assert here.sharpened
    assert there.sharpened
    assert here.exponent == there.exponent == 1
    assert np.array_equal(here.measure, there.measure)
    assert not ge.ElasticMechanism(tiled, output="uniform").sharpened


def test_the_least_slope_of_each_tile(tiled: TiledMetric) -> None:
    """By its definition, edge by edge, in the graph that reports go by."""
    whole, graph = tiled.whole(), ge.ElasticMechanism(tiled).reporting.graph
    tail, tip, weight = graph.edges()
    assert whole.place is not None
    length = np.floor(np.hypot(*(whole.place[tail] - whole.place[tip]).astype(float).T))
    slope = weight * 256.0 / (length + 1)
    for number, tile in enumerate(tiled.content["tiles"]):
        first, end = tiled.first[number], tiled.first[number + 1]
        mine = ((tail >= first) & (tail < end)) | ((tip >= first) & (tip < end))
        assert tile["low_slope"] == pytest.approx(slope[mine].min(), rel=1e-12)


def test_heights_that_are_wrong_by_a_little_are_found(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    heights = open_tiles(copy).whole().relief.height  # type: ignore[union-attr]
    wrong = heights.copy()
    wrong[heights.size // 2] += 400
    store, first = open_tiles(copy).store, 0
    for tile in manifest["content"]["tiles"]:
        store.write_table(tile["heights"], {"height": wrong[first : first + tile["n"]]}, {})
        first += tile["n"]
    with pytest.raises(ge.FileError, match="do not fit together"):
        open_tiles(copy).whole()
    # a forger would bring the digests along
    relief = manifest["content"]["relief"]
    relief["digest"] = Relief(wrong, "mass", "", slack=relief["slack"]).digest
    for tile in manifest["content"]["tiles"]:
        tile["low_slope"] = 0.0
    manifest["sha256"] = hashlib.sha256(json.dumps(manifest["content"], sort_keys=True).encode()).hexdigest()
    (copy / "manifest.json").write_text(json.dumps(manifest))
    found = ge.verify(open_tiles(copy))
    assert not found["ok"]
    assert found["relief"]["edges_over"] > 0


@pytest.mark.parametrize(("kind", "column"), [("rises", "rise"), ("heights", "height")])
def test_columns_without_an_entry_are_refused_by_reports_too(
    folder: Path, tmp_path: Path, kind: str, column: str
) -> None:
    """Without any heights, say, reports would go by all of each distance of a graph that nothing lowered."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    metric = open_tiles(copy)
    for tile in metric.content["tiles"]:
        columns, summary = metric.store.read_table(tile[kind])
        metric.store.write_table(tile[kind], {column: columns[column][:0]}, summary)
    place = metric.latlon(int(metric.people(1).places[0]))
    with pytest.raises(FileError, match="do not fit together"):
        ge.ElasticMechanism(open_tiles(copy)).sanitize(*place)
    with pytest.raises(FileError, match="do not fit together"):
        open_tiles(copy).whole()


def test_the_whole_holds_by_an_untiled_verification(tiled: TiledMetric) -> None:
    fresh = ge.verify(tiled)
    assert fresh["ok"]
    assert fresh["checked"] == tiled.certificate["checked"] == int(tiled.secret.sum())
    assert fresh["graph_sha256"] == tiled.certificate["graph_sha256"]
    assert fresh["edges"] == tiled.certificate["edges"]
    assert fresh["ratio"]["min"] == pytest.approx(tiled.certificate["ratio"]["min"], abs=1e-12)
    assert tiled.certificate["tiles"]["windows_clipped"] == 0
    assert tiled.certificate["tiles"]["at_seams"] > 0


def test_a_scale_raised_behind_its_back_is_noticed(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    metric = open_tiles(copy)
    name = metric.content["tiles"][0]["tile"]
    columns, summary = metric.store.read_table(name)
    metric.store.write_table(name, columns | {"scale": (columns["scale"] * 2).astype(np.int32)}, summary)
    with pytest.raises(FileError, match="do not fit together"):  # by the name that keyed reports go by
        ge.verify(open_tiles(copy))
    with mock.patch.object(TiledMetric, "identity", mock.ANY):
        fresh = ge.verify(open_tiles(copy))
    assert not fresh["ok"]
    assert fresh["violations"] > 0
    assert not fresh["same_graph_as_certified"]


def test_distances_in_a_window_are_never_short_and_true_before_the_rim(tiled: TiledMetric) -> None:
    window, columns = tiled.window(Box(64, 64, 256, 256))
    graph = conformal_graph(window.neighbours, columns["scale"], window.rise)
    numbers = tiled.numbers(window)
    for local in np.linspace(0, graph.n - 1, 12).astype(int):
        inside = graph.distances(int(local), 2**30)
        true = tiled.distance_units_from(int(numbers[local]))[numbers]
        assert (inside >= true).all()
        safe = inside < inside[window.rim].min()
        assert np.array_equal(inside[safe], true[safe])


def test_seams_cost_no_quality(tiled: TiledMetric, whole: ge.Metric) -> None:
    """Expected error within 3 % of the untiled build, on average over the locations along the seams and overall."""
    ours, theirs = ge.ElasticMechanism(tiled), ge.ElasticMechanism(whole)
    at = whole.locations
    seam = np.zeros(whole.n, bool)
    for place in (at.row, at.col):
        seam |= (place % TILE < 16) | (place % TILE >= TILE - 16)
    for chosen in (whole.secret & seam, whole.secret & ~seam):
        some = np.flatnonzero(chosen)[::3]
        a, b = (mech.expected_errors(locations=some)["mean"] for mech in (ours, theirs))
        assert abs(a.mean() / b.mean() - 1) < 0.03
        assert np.quantile(np.abs(a / b - 1), 0.9) < 0.06


def test_places_open_their_tile_only(folder: Path, tiled: TiledMetric, whole: ge.Metric) -> None:
    metric = ge.load(folder)
    assert isinstance(metric, TiledMetric)
    lat, lon = whole.grid.cell_to_latlon(150, 40)
    i = metric.locate(lat, lon)
    assert i == whole.locate(lat, lon)
    assert metric.latlon(i) == pytest.approx(whole.latlon(i), abs=1e-12)
    assert metric.is_secret(i) == whole.is_secret(i)
    assert not metric.is_secret(0)
    assert metric.opened == {metric.tiling.tile_of(150, 40), 0}
    with pytest.raises(OutsideError):
        metric.locate(10, 10)


def test_cells_open_their_tiles_only(folder: Path, whole: ge.Metric) -> None:
    metric = open_tiles(folder)
    row, col = np.divmod(np.arange(0, 330 * 300, 7), 300)
    west = col < 128
    index, secret = metric.at_cells(row[west], col[west])
    assert np.array_equal(index, whole.locations.owner[row[west], col[west]])
    assert np.array_equal(secret, whole.secret[index])
    assert secret.any()
    assert not secret.all()
    assert metric.opened == {metric.tiling.tile_of(row, 0) for row in (0, 128, 256)}


def test_facts_and_names_are_those_of_the_whole_and_open_no_tile(folder: Path, tiled: TiledMetric) -> None:
    metric = open_tiles(folder)
    totals, name = metric.totals, metric.identity
    assert metric.opened == set()
    whole = tiled.whole()
    assert totals == {k: describe(whole, folder)[k] for k in totals}
    assert totals == {k: describe(metric, folder)[k] for k in totals}
    assert name == whole.identity


def test_a_notebook_shows_of_it_what_it_shows_of_the_whole(folder: Path, tiled: TiledMetric) -> None:
    whole = tiled.whole()
    metric = open_tiles(folder)
    facts = metric._repr_html_()
    assert metric.opened == set()
    assert facts == whole._repr_html_().replace("<b>Metric</b>", "<b>TiledMetric</b>")
    assert ge.ElasticMechanism(metric)._repr_html_() == ge.ElasticMechanism(whole)._repr_html_()
    assert metric.to_geodataframe().equals(whole.to_geodataframe())
    assert metric.plot("mass")._repr_png_() == whole.plot("mass")._repr_png_()
    assert metric.explore("error", points=20).text == whole.explore("error", points=20).text
    assert "<script" in metric.explore().text


def test_a_table_opens_the_tiles_around_its_places(tmp_path: Path) -> None:
    """A wide map with all places in its west: the east is never read, and the rows outside are told as ever."""
    target = str(tmp_path / "map")
    build_tiles(small_mass(shape=(140, 1200)), target, tile=TILE, engine=InlineEngine(), **LEVELS | {"l_top": 0.6})
    metric = open_tiles(target)
    rng = np.random.default_rng(3)
    lat, lon = metric.grid.cell_to_latlon(rng.integers(50, 90, 40), rng.integers(60, 100, 40))
    mechanism = ge.ElasticMechanism(metric)
    reports = sanitize_arrays(mechanism, [*lat, 10.0], [*lon, 10.0], outside="drop", rng=SeededRandom(2))
    assert (reports.tally.reports, reports.tally.outside) == (40, 1)
    assert np.array_equal(reports.index, [metric.locate(*place) for place in zip(lat, lon, strict=True)])
    assert metric.grid.area.contains(reports.lat, reports.lon).all()
    assert len(metric.opened) < metric.tiling.n / 2
    with pytest.raises(FrameError, match="in the frame of the map"):
        sanitize_arrays(mechanism, *([part] for part in metric.grid.cell_to_latlon(1, 1)))
    moved = sanitize_arrays(
        mechanism, *([part] for part in metric.grid.cell_to_latlon(1, 1)), outside="snap", rng=SeededRandom(2)
    )
    assert moved.tally.frame == 1
    frame = pa.table({"lat": lat, "lon": lon, "n": np.arange(40)})
    done = mechanism.sanitize_frame(frame, rng=SeededRandom(2))
    assert np.allclose(done["lat"], reports.lat)


def test_a_table_by_the_command_line(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(self: TiledMetric) -> Any:
        raise AssertionError("the whole map was loaded")

    monkeypatch.setattr(TiledMetric, "whole", never)
    metric = open_tiles(folder)
    lat, lon = metric.grid.cell_to_latlon(np.full(5, 129), np.arange(60, 65))
    source, ledger = tmp_path / "in.csv", tmp_path / "ledger.json"
    source.write_text("lat,lon\n" + "".join(f"{a},{b}\n" for a, b in zip(lat, lon, strict=True)), encoding="utf-8")
    asked = ["sanitize", str(folder), "--input", str(source), "-o", str(tmp_path / "out.csv"), "--seed", "3"]
    told = CliRunner().invoke(main, [*asked, "--ledger", str(ledger), "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["reports"] == 5
    assert json.loads(told.stdout)["mechanism"] == f"elastic:{metric.identity}"
    assert f"elastic:{metric.identity}" in ledger.read_text(encoding="utf-8")
    assert len((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()) == 6
    wrong = CliRunner().invoke(main, [*asked, "--epsilon", "0.01"])
    assert wrong.exit_code == 2
    assert "belong to the mechanism 'laplace'" in wrong.output


def test_as_one_file_and_back(tiled: TiledMetric, tmp_path: Path) -> None:
    tiled.whole().save(tmp_path / "one.geoelastic")
    one = ge.load(tmp_path / "one.geoelastic")
    assert not isinstance(one, TiledMetric)
    assert np.array_equal(one.graph.weight, tiled.graph.weight)
    assert ge.verify(one)["ok"]


def test_an_extract_is_that_of_the_whole(folder: Path, tiled: TiledMetric) -> None:
    area = ge.Area.around(*map(float, tiled.grid.cell_to_latlon(130, 60)), size_km=7)
    metric = open_tiles(folder)
    ours, theirs = extract(metric, area), extract(tiled.whole(), area)
    assert ours.certificate == theirs.certificate
    assert ours.certificate["ok"]
    assert ours.info["extract"] == theirs.info["extract"]
    assert np.array_equal(ours.secret, theirs.secret)
    assert len(metric.opened) < metric.tiling.n
    with pytest.raises(OutsideError):
        extract(metric, ge.Area.around(10, 10, size_km=5))


@pytest.mark.parametrize("misfit", ["step", "slot", "rows"])
def test_tiles_that_do_not_fit_together_are_told(folder: Path, tmp_path: Path, misfit: str) -> None:
    """A whole file, with a right checksum, of another map."""
    metric = open_tiles(_broken(folder, tmp_path))
    place = tuple(map(float, metric.grid.cell_to_latlon(64, 64)))
    name = metric.content["tiles"][metric.tile_of(metric.locate(*place))]["edges"]
    columns, summary = metric.store.read_table(name)
    slot, step = columns["slot"].copy(), columns["step"].copy()
    if misfit == "step":
        step += 1_000_000
    elif misfit == "slot":
        slot &= 0x80
    else:
        slot &= 0x7F
    metric.store.write_table(name, {"slot": slot, "step": step}, summary)
    with pytest.raises(FileError, match="do not fit together"):
        ge.ElasticMechanism(open_tiles(metric.store.root)).sanitize(*place, rng=SeededRandom(1))


def _exact_line(mech: ge.ElasticMechanism, i: int) -> tuple[Fraction, list[Fraction]]:
    """S(x) and its parts from all distances, in fractions."""
    measure = mech.measure
    parts = [
        int(m) * mech.weights.exact(int(d)) for m, d in zip(measure, mech.reporting.distance_units_from(i), strict=True)
    ]
    return sum(parts, Fraction(0)), parts


@pytest.mark.parametrize("output", ["mass", "uniform"])
def test_the_line_of_a_draw_is_exact(tiled: TiledMetric, output: str) -> None:
    """At every frontier: settled <= S(x) <= settled + bound of the rest; at the end settled = S(x)."""
    mech = ge.ElasticMechanism(tiled, output=output)
    for i in (tiled.n // 2, int(np.flatnonzero(tiled.secret)[7])):
        total, _ = _exact_line(mech, i)
        sampler = Sampler(mech._parts, mech.weights)
        line = Line(sampler, i)
        tight = False
        while line._open:
            line._advance()
            known, bound, scale = line._now
            assert Fraction(known, 2**scale) <= total <= Fraction(bound, 2**scale)
            left = line._total - int(line._shells[1].sum())
            plain = known + left * int(mech.weights.table[(line._frontier + 1) % mech.weights.period])
            tight |= bound < plain
        assert Fraction(known, 2**scale) == total
        assert tight, "the bound by blocks never beats the plain one: it does nothing"


def test_a_part_knows_how_far_it_sees(folder: Path, tiled: TiledMetric, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below its reach every distance is that of the whole map, wider parts see further, the widest everything."""
    monkeypatch.setattr(tiled_parts, "_USUAL_LEVELS", 0.1)
    parts, reporting = open_tiles(folder).parts("mass"), ge.ElasticMechanism(tiled).reporting
    assert parts is not None
    narrow = 0
    for source in np.flatnonzero(tiled.secret)[[5, 900, -3]].tolist():
        true = reporting.distance_units_from(source)
        part, seen, wider = parts.around(source), -1, 0
        while part.reach is not None:
            local = part.local(source)
            inside, reach = part.graph.distances(local, 2**30), int(part.reach[local])
            assert part.sees(local) == reach - 1
            here = [part.number(vertex) for vertex in np.flatnonzero(inside < reach).tolist()]
            assert np.array_equal(here, np.flatnonzero(true < reach))
            assert np.array_equal(inside[inside < reach], true[part.numbers][inside < reach])
            narrow += part.graph.n < tiled.n and bool((true >= reach).any())
            assert reach >= seen
            wider += 1
            part, seen = parts.around(source, wider), reach
        assert part.graph.n == tiled.n
    assert narrow > 0, "every part was the whole map: the test says nothing"


@pytest.mark.parametrize("output", ["mass", "uniform"])
def test_a_part_has_the_edges_of_the_graph_that_reports_go_by(
    tiled: TiledMetric, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one kernel puts together from files, against the whole graph, made step by step and cut."""
    monkeypatch.setattr(tiled_parts, "_USUAL_LEVELS", 2.0)
    graph = ge.ElasticMechanism(tiled.whole(), output=output).reporting.graph
    parts = tiled.parts(output)
    assert isinstance(parts, tiled_parts.TiledParts)
    sizes = set()
    for part in (parts.whole(), *(parts.around(i) for i in np.flatnonzero(tiled.secret)[[3, 700, -9]].tolist())):
        assert part.numbers is not None
        assert part.rim is not None
        here = np.full(tiled.n, -1)
        here[part.numbers] = np.arange(part.graph.n)
        tail = np.repeat(np.arange(tiled.n), np.diff(graph.start))
        inside = (here[tail] >= 0) & (here[graph.index] >= 0)
        assert np.array_equal(part.graph.index, here[graph.index[inside]])
        assert np.array_equal(part.graph.weight, graph.weight[inside])
        assert np.array_equal(np.diff(part.graph.start), np.bincount(here[tail[inside]], minlength=part.graph.n))
        leaving = np.unique(here[tail[(here[tail] >= 0) & (here[graph.index] < 0)]])
        assert part.rim[leaving].all()
        sizes.add(part.graph.n)
    assert len(sizes) > 1, "every part was the whole map: the test says nothing"


def test_places_of_a_table_share_their_parts(folder: Path, tiled: TiledMetric) -> None:
    metric = open_tiles(folder)
    parts = metric.parts("mass")
    assert parts is not None
    places = np.flatnonzero(tiled.secret)[::37]
    groups = parts.together(places)
    assert np.array_equal(np.sort(np.concatenate(groups)), np.arange(places.size))
    for some in groups:
        assert len({id(parts.around(int(i))) for i in places[some]}) == 1


def test_reports_do_not_depend_on_what_is_open(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mechanism that has reported from all over the map, one that starts afresh each time, and one that forgets."""
    metric = open_tiles(folder)
    used = ge.ElasticMechanism(metric)
    places = np.flatnonzero(metric.secret)[:: metric.n // 12].tolist()
    first = [used.sample(i, 20, rng=SeededRandom(i)).tolist() for i in places]
    again = [used.sample(i, 20, rng=SeededRandom(i)).tolist() for i in reversed(places)]
    fresh = [ge.ElasticMechanism(open_tiles(folder)).sample(i, 20, rng=SeededRandom(i)).tolist() for i in places]
    monkeypatch.setattr(tiled_parts, "_KEPT", 1)
    forgetful = [used.sample(i, 20, rng=SeededRandom(i)).tolist() for i in places]
    assert first == again[::-1] == fresh == forgetful
    assert len({tuple(row) for row in first}) == len(places)


def test_sticky_reports_open_the_tiles_around_and_are_those_of_one_piece(folder: Path, tiled: TiledMetric) -> None:
    metric = open_tiles(folder)
    lat, lon = map(float, metric.grid.cell_to_latlon(60, 60))
    apart = ge.Sticky(ge.ElasticMechanism(metric), bytes(32))
    i = metric.locate_secret(lat, lon)
    report = int(apart.sample(i)[0])
    assert len(metric.opened) < metric.tiling.n
    together = ge.Sticky(ge.ElasticMechanism(tiled.whole()), bytes(32))
    assert apart.map_name == together.map_name
    assert apart.tags([i]) == together.tags([i])
    assert report == int(apart.sample(i)[0])
    older = json.loads(json.dumps(metric.content))  # written before the name of a measure was told
    for told in older["measures"].values():
        del told["sha256"]
    assert ge.Sticky(ge.ElasticMechanism(TiledMetric(metric.store, older)), bytes(32)).map_name == together.map_name


def test_reports_follow_the_distribution(tiled: TiledMetric) -> None:
    mech = ge.ElasticMechanism(tiled)
    i = tiled.locate(*map(float, tiled.grid.cell_to_latlon(129, 62)))
    total, parts = _exact_line(mech, i)
    drawn = mech.sample(i, 4000, rng=SeededRandom(11))
    groups = np.arange(tiled.n) * 40 // tiled.n
    expected = np.bincount(groups, weights=[float(part / total) for part in parts])
    observed = np.bincount(groups[drawn], minlength=expected.size)
    assert_chi_square(observed, expected)


def test_one_report_and_its_errors(folder: Path) -> None:
    metric = open_tiles(folder)
    mech = ge.ElasticMechanism(metric)
    lat, lon = map(float, metric.grid.cell_to_latlon(60, 130))
    assert mech.sanitize(lat, lon, rng=SeededRandom(1)) == mech.sanitize(lat, lon, rng=SeededRandom(1))
    out = mech.sanitize(lat, lon)
    assert metric.grid.area.contains(*out)
    with pytest.raises(FrameError, match="frame"):
        mech.sample(0)
    with pytest.raises(InputError, match="'output' must be one of"):
        ge.ElasticMechanism(metric, output="people")


def test_masses_are_kept(tiled: TiledMetric) -> None:
    assert float(units_to_mass(tiled.mass_units).sum()) == pytest.approx(small_mass().total, rel=1e-6)


def _broken(folder: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    return copy


@pytest.mark.parametrize("damage", ["flip", "cut", "gone"])
def test_a_damaged_tile_is_named(folder: Path, tmp_path: Path, damage: str) -> None:
    copy = _broken(folder, tmp_path)
    metric = open_tiles(copy)
    victim = copy / metric.content["tiles"][1]["tile"]
    content = bytearray(victim.read_bytes())
    if damage == "gone":
        victim.unlink()
    elif damage == "cut":
        victim.write_bytes(content[: len(content) // 2])
    else:
        content[len(content) // 3] ^= 0xFF
        victim.write_bytes(content)
    with pytest.raises(FileError, match=victim.name):
        ge.verify(metric)


def test_a_damaged_or_missing_manifest_is_told(folder: Path, tmp_path: Path) -> None:
    copy = _broken(folder, tmp_path)
    manifest = copy / "manifest.json"
    text = manifest.read_text()
    for bad, message in [
        (text[:-20], "truncated"), (text.replace('"n": ', '"n": 1', 1), "checksum"),
        (text.replace('"version": 3', '"version": 2'), "another version"), ("{}", "not a manifest"),
        (text.replace('"geoelastic tiles"', '"other"'), "not a geoelastic"),
    ]:  # fmt: skip
        manifest.write_text(bad)
        with pytest.raises(FileError, match=message):
            ge.load(copy)
    manifest.unlink()
    with pytest.raises(FileError, match="did not end"):
        ge.load(copy)


def test_in_an_object_store(folder: Path, tiled: TiledMetric) -> None:
    fsspec: Any = pytest.importorskip("fsspec")
    fs = fsspec.filesystem("memory")
    for path in folder.rglob("*"):
        if path.is_file():
            fs.pipe_file(f"/map/{path.relative_to(folder)}", path.read_bytes())
    metric = ge.load("memory://map")
    assert metric.certificate == tiled.certificate
    lat, lon = map(float, metric.grid.cell_to_latlon(129, 62))
    assert metric.locate(lat, lon) == tiled.locate(lat, lon)
    ge.ElasticMechanism(metric).sanitize(lat, lon)
    store = metric.store
    store.write("sub/x", b"1")
    assert store.names("sub") == ["sub/x"]
    store.remove("sub/x")
    assert not store.exists("sub/x")
    with pytest.raises(FileError, match="no such file"):
        store.read("sub/x")
    assert store.names("nothing") == []


def test_flags_met_by_a_search_are_those_of_its_ball(tiled: TiledMetric) -> None:
    """Twin of the kernel: the ball that first holds the mass of the last level, or the whole ball of that level."""
    table = tiled.requirement.table(tiled.l_from, tiled.l_top)
    graph, flag = tiled.graph, (np.arange(tiled.n) % 7 == 0).astype(np.uint8)
    flag |= np.where(tiled.locations.row > 200, 2, 0).astype(np.uint8)
    sources = np.linspace(0, tiled.n - 1, 40).astype(np.int32)
    met = kernels.met_flags(
        graph.start, graph.index, graph.weight, tiled.mass_units, graph.buckets, table, sources, flag
    )
    for source, bits in zip(sources, met, strict=True):
        dist = tiled.distance_units_from(int(source), tiled.l_top)
        levels = np.unique(dist[dist < table.size])
        full = [level for level in levels if tiled.mass_units[dist <= level].sum() >= table[-1]]
        ball = dist <= (full[0] if full else levels[-1])
        assert bits == np.bitwise_or.reduce(flag[ball])


@pytest.mark.parametrize("lie", ["block_units", "slope", "blocks", "one way"])
def test_what_a_manifest_tells_is_checked_against_its_tiles(folder: Path, tmp_path: Path, lie: str) -> None:
    """Reports rely on it for what they do not open: a whole manifest, with a right checksum, that tells less."""
    copy = _broken(folder, tmp_path)
    head = json.loads((copy / "manifest.json").read_text())
    content = head["content"]
    if lie == "block_units":
        content["measures"]["mass"]["block_units"][0][0] = 0
    elif lie == "slope":
        for tile in content["tiles"]:
            tile["slope"] *= 1e6
    elif lie == "blocks":
        content["blocks"][0] = [0, 0, 0, 0]
    else:
        store = open_tiles(copy).store
        columns, summary = store.read_table(content["tiles"][0]["edges"])
        inner = np.flatnonzero(columns["slot"] == 4)[100]
        cut = {name: np.delete(part, inner) for name, part in columns.items()}
        store.write_table(content["tiles"][0]["edges"], cut, summary)
    head["sha256"] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    (copy / "manifest.json").write_text(json.dumps(head))
    with pytest.raises(FileError, match="do not fit together"):
        ge.verify(ge.load(copy))


def test_errors_in_metres_are_those_of_the_same_map_in_memory(folder: Path) -> None:
    """From the tiles around a few places; what is left out is at most a thousandth of their reports."""
    tiled = open_tiles(folder)
    ours, theirs = checkup(tiled), checkup(tiled.whole())
    assert ours is not None
    assert theirs is not None
    assert (ours.places, ours.hidden, ours.framed) == (theirs.places, theirs.hidden, theirs.framed)
    assert ours.error_m == pytest.approx(theirs.error_m, rel=0.01)
    assert ours.held == pytest.approx(theirs.held, abs=0.002)
    assert ours.error_m != theirs.error_m, "everything was looked at: the test says nothing"
    assert "are off by" in CliRunner().invoke(main, ["doctor", str(folder)]).output


def test_water_and_names_are_kept_beside_the_tiles(folder: Path, tmp_path: Path) -> None:
    names = [Name(-3000, 900, 0, "Middle"), Name(14000, 0, 1, "Far away")]
    drawn = context_of(shapely.box(-4000, 0, -2000, 3000), {}, names, 30000, 33000, tolerance_m=0)
    path = tmp_path / "map.geoelastic"
    shutil.copytree(folder, path)
    plain = json.loads((path / "manifest.json").read_text())["content"]
    build_tiles(small_mass(), str(path), tile=TILE, engine=InlineEngine(), context=drawn, **LEVELS)
    metric = open_tiles(path)
    assert metric.context is not None
    assert metric.context.to_dict() == drawn.to_dict()
    assert metric.whole().context is metric.context
    assert {key: value for key, value in metric.content.items() if key != "context"} == plain
    cut = extract(metric, ge.Area.around(47.0, 2.5, size_km=12), sharpen=False)
    assert cut.context is not None
    assert [name.text for name in cut.context.names] == ["Middle"]
    metric.save(tmp_path / "copy")
    assert open_tiles(tmp_path / "copy").context is not None
    assert [file.parent.name for file in (tmp_path / "copy").rglob("*") if file.is_file()].count("context") == 1
    name = metric.content["context"]
    metric.store.write_table(name, {"begins": np.ones(1, np.uint8)}, {"names": []})
    with pytest.raises(FileError, match="context"):
        _ = open_tiles(path).context


def test_nothing_can_be_missing_in_a_table_of_a_tile(tmp_path: Path) -> None:
    """Such columns are read in half the time; those of older maps, where the file would allow it, are read as well."""
    columns = {"exponent": np.array([0, 3], np.uint8), "mass": np.array([5, 7], np.int64)}
    store = CachedStore(str(tmp_path))
    store.write_table("build/a.parquet", columns, {"of": 2})
    written = pq.read_table(tmp_path / "build/a.parquet")
    assert not any(field.nullable for field in written.schema)
    older = written.cast(pa.schema([field.with_nullable(True) for field in written.schema], written.schema.metadata))
    pq.write_table(older, tmp_path / "build/b.parquet")
    store.fetch(["build/a.parquet", "build/b.parquet", "build/none.parquet"])  # one that is not there is found later
    for name in ("a", "b"):
        found, summary = store.read_table(f"build/{name}.parquet")
        assert summary == {"of": 2}
        assert {key: (value.dtype, value.tolist()) for key, value in found.items()} == {
            key: (value.dtype, value.tolist()) for key, value in columns.items()
        }
    with pytest.raises(FileError, match="no such file"):
        store.read_table("build/none.parquet")
