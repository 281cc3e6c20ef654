# SPDX-License-Identifier: Apache-2.0
"""The client in plain Python: the same vectors as the JavaScript client's, bit for bit, and the same files refused."""

from __future__ import annotations

import base64
import json
import math
import os
import resource
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import geoelastic_client as gc
import numpy as np
import pytest
from geoelastic_client.__main__ import main
from geoelastic_client.fresh import Rectangles
from geoelastic_client.graph import MASK, SHIFT, Search
from geoelastic_client.projection import Projection

import geoelastic as ge
import hostile
import vectors
from geoelastic.accounts.ledger import Ledger
from geoelastic.judge import README, verify
from geoelastic.mechanism.geox_mechanism import load_mechanism, save_mechanism
from geoelastic.mechanism.sticky import Sticky
from geoelastic.release.named_mechanism import charge
from maps import small_metric
from statistical.toolbox import assert_draws

SOURCE = Path(gc.__file__).parent
INSIDE = (48.8567, 2.3387)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEOELASTIC_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def town() -> gc.Elastic:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEOELASTIC_CACHE", "")
        return gc.Elastic.open(vectors.FILE)


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(vectors.VECTORS.read_text(encoding="utf-8"))
    return made


def test_fresh_reports_are_those_of_the_vectors_also_from_places_that_were_reported_before(
    town: gc.Elastic, stored: dict[str, Any]
) -> None:
    assert len(stored["reports"]) >= 400
    for _ in range(2):
        for row in stored["reports"]:
            drawn = town.report_from(row["from"], random=gc.SeededRandom(row["seed"]))
            assert [drawn.row, drawn.col] == row["to"]


def test_many_reports_from_one_place_share_a_search(town: gc.Elastic, stored: dict[str, Any]) -> None:
    for row in stored["many"]:
        assert town.sample(row["from"], len(row["to"]), random=gc.SeededRandom(row["seed"])) == row["to"]


def test_sticky_reports_are_those_of_the_vectors(town: gc.Elastic, stored: dict[str, Any]) -> None:
    for row in stored["sticky"]:
        drawn = gc.Sticky(town, bytes.fromhex(stored["key"]), row["user"]).report_from(row["from"])
        assert [drawn.row, drawn.col] == row["to"]


def test_probabilities_are_those_of_the_vectors(town: gc.Elastic, stored: dict[str, Any]) -> None:
    chances = town.probabilities(stored["probabilities"]["from"])
    assert chances == pytest.approx(stored["probabilities"]["values"], rel=1e-12)


def test_hostile_files_are_refused_alike_and_odd_ones_read_alike() -> None:
    rows = json.loads(hostile.FILE.read_text(encoding="utf-8"))
    assert sum(not row["accept"] for row in rows) >= 200
    for row in rows:
        content = base64.b64decode(row["bytes"])
        if not row["accept"]:
            with pytest.raises(gc.FileError):
                gc.Elastic.from_bytes(content)
            continue
        metric = gc.Elastic.from_bytes(content).metric
        secrets = sum(metric.is_secret(i) for i in range(metric.n))
        assert (secrets, sum(metric.reporting.weight)) == (row["secrets"], row["weight"]), row["name"]


@pytest.mark.parametrize(("method", "output", "sharp"), [("paper", "uniform", False), ("conformal", "mass", True)])
def test_other_maps_give_the_reports_of_the_package(tmp_path: Path, method: str, output: str, sharp: bool) -> None:
    metric = small_metric(method, rows=12, cols=12, l_top=0.8)
    metric = ge.sharpen(metric) if sharp else replace(metric, relief=None)
    path = tmp_path / "m.geox"
    save_mechanism(ge.ElasticMechanism(metric, output=output), path)
    theirs, ours = load_mechanism(path), gc.Elastic.open(path)
    assert ours.metric.sharpened == theirs.sharpened == sharp
    for seed, i in enumerate(np.flatnonzero(theirs.metric.secret).tolist()):
        assert ours.metric.locate(*theirs.metric.latlon(i)) == i
        lat, lon = theirs.sanitize(*theirs.metric.latlon(i), rng=ge.SeededRandom(seed))
        assert ours.report_from(i, random=gc.SeededRandom(seed))[:2] == pytest.approx((lat, lon), abs=1e-9)


class Darts:
    """A source of random bytes that gives one number after the other, each as often as it is asked for it."""

    def __init__(self, *numbers: int) -> None:
        self.left = list(numbers)

    def bytes(self, n: int) -> bytes:
        return self.left.pop(0).to_bytes(n, "big")


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", ["paper", "sharp", "town"])
def test_darts_from_anywhere_hit_each_location_by_its_measure_and_weight(tmp_path: Path, kind: str) -> None:
    """Every column and every height at which the answer changes, against plain searches and exact fractions."""
    path = vectors.FILE
    if kind != "town":
        metric = small_metric("paper" if kind == "paper" else "conformal", rows=12, cols=12, l_top=0.8)
        metric = ge.sharpen(metric) if kind == "sharp" else replace(metric, relief=None)
        path = tmp_path / "m.geox"
        save_mechanism(ge.ElasticMechanism(metric, output="uniform" if kind == "paper" else "mass"), path)
    elastic = gc.Elastic.open(path)
    drawn = elastic._prepared()
    members = sorted(drawn._members)
    assert members == [i for i in range(elastic.metric.n) if elastic.metric.part[i] == elastic._main]
    for x in members[len(members) // 3 :: len(members) // 2]:
        ends, heights = drawn._seen_from(drawn._block[x])
        search = Search(elastic.metric.reporting, x)
        search.expand()
        before, shown = 0, {key & MASK: key >> SHIFT for key in search.order}
        for z in drawn._members:
            share, height = elastic.metric.measure[z], heights[drawn._block[z]]
            shell, place = divmod(shown[z], len(elastic.weights))
            weight = Fraction(elastic.weights[place] << 64, 1 << shell)
            assert weight <= height, "a location stands out of its rectangle"
            whole = math.floor(weight)
            tried = {(0, True), (whole - 1, True), (whole + 1, False), (height - 1, height <= weight)}
            for column in {0, share - 1} if share else ():
                for level, hit in tried:
                    if 0 <= level < height and level != whole:
                        dart = before + column * height + level
                        found = drawn.draw(x, Darts(dart)) if hit else missed(drawn, x, dart)
                        assert found == (z if hit else None)
            for after, hit in ((0, weight > whole), ((1 << shell) - 1, False)):
                if shell:
                    assert drawn._below(whole, x, z, Darts(after)) == hit
            before += share * height
        assert before == ends[-1]


def missed(drawn: Rectangles, x: int, dart: int) -> None:
    """A dart that hits nothing: another one is asked for."""
    with pytest.raises(IndexError):
        drawn.draw(x, Darts(dart))


@pytest.mark.no_cover
def test_reports_from_many_places_are_drawn_with_the_chances_of_the_line(stored: dict[str, Any]) -> None:
    elastic = gc.Elastic.open(vectors.FILE)
    places = [i for i in range(elastic.metric.n) if elastic.metric.is_secret(i) and not elastic.metric.fence[i]]
    for i in places[:30]:
        elastic.report_from(i)
    assert elastic._rectangles is not None
    assert len(elastic._lines) == 12
    source = gc.SeededRandom(5)
    place = stored["probabilities"]["from"]
    drawn = [elastic._rectangles.draw(place, source) for _ in range(6_000)]
    assert_draws(drawn, stored["probabilities"]["values"])
    # given bits are still used as everywhere
    for row in stored["reports"][:20]:
        report = elastic.report_from(row["from"], random=gc.SeededRandom(row["seed"]))
        assert [report.row, report.col] == row["to"]


def test_a_check_states_what_the_package_states(tmp_path: Path, town: gc.Elastic) -> None:
    metric = ge.sharpen(small_metric(rows=14, cols=14, l_top=0.8))
    sharp, broken, steep = (tmp_path / f"{name}.geox" for name in ("sharp", "broken", "steep"))
    save_mechanism(ge.ElasticMechanism(metric), sharp)
    halved = replace(metric, mass_units=metric.mass_units // 2, certificate={}, relief=None)
    save_mechanism(ge.ElasticMechanism(halved, output="uniform"), broken)
    save_mechanism(ge.ElasticMechanism(metric), steep)
    for path in (vectors.FILE, sharp, broken):
        told, want = gc.verify(gc.Elastic.open(path)), verify(load_mechanism(path), require=README)
        assert {name: told[name] for name in ("ok", "claim", "faults", "short")} == {
            name: want[name] for name in ("ok", "claim", "faults", "short")
        }
        for name, value in want["facts"].items():
            assert told["facts"][name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value)
    assert "crowd" in gc.verify(gc.Elastic.open(broken), require=None)["faults"][0]
    foreign = gc.Elastic.open(broken)
    foreign.metric.head["certificate"]["graph_sha256"] = "0" * 64
    foreign.metric.head["info"]["spread_m"] = 150
    told = gc.verify(foreign, require=None)
    assert "the graph is not the one that its certificate is about" in told["faults"]
    assert "mass was spread by 150 m" in told["claim"]
    checked = gc.Elastic.open(sharp)
    found = gc.verify(checked, require=None)
    assert found["ok"]
    assert 0.9 < found["worst_edge"] <= 1
    # measures that no relief was made for
    checked.metric.measure[: checked.metric.n // 2] = [1] * (checked.metric.n // 2)
    assert "edge" in gc.verify(checked, require=None)["faults"][0]


def test_processes_come_to_the_same_verdict(town: gc.Elastic) -> None:
    told: list[float] = []
    assert gc.verify(town, workers=2, progress=told.append) == gc.verify(town)
    assert told == sorted(told)
    assert told[-1] == 1


def test_a_ledger_is_the_packages(tmp_path: Path, town: gc.Elastic) -> None:
    theirs = load_mechanism(vectors.FILE)
    places = [int(i) for i in np.flatnonzero(theirs.metric.secret)[:300:10]]
    places += [int(np.flatnonzero(theirs.metric.fence > 0)[0])]
    key, ours, own = bytes(range(32)), gc.Ledger(), Ledger()
    for by, twin in ((town, theirs), (gc.Sticky(town, key, "Zoë"), Sticky(theirs, key, "Zoë"))):
        for i in (*places, *places[:5]):
            ours.charge(by, i, user="Zoë", hour=480_000)
            charge(own, twin, {"Zoë": np.array([i])})
    path = tmp_path / "ledger.json"
    ours.save(path)
    read = Ledger.load(path)
    (mine,), (want,) = read.users["Zoë"].values(), own.users["Zoë"].values()
    assert (mine.fresh, mine.repeated, mine.fenced, mine.exponent, mine.tags) == (
        want.fresh, want.repeated, want.fenced, want.exponent, want.tags,
    )  # fmt: skip
    assert list(read.users["Zoë"]) == list(own.users["Zoë"])
    cost = own.cost("Zoë", 0.7)
    assert ours.cost("Zoë", 0.7)[2:] == pytest.approx((cost.pure, cost.concentrated, cost.best))
    own.charge_block("Zoë", "trace", width=2.0, hours={480_000: 1.0})
    own.save(path)
    with gc.updating(path) as again:
        assert again.cost("Zoë", 0.7).best == pytest.approx(own.cost("Zoë", 0.7).best)
        with pytest.raises(gc.CheckError):
            again.require(1.0, "Zoë")
    assert Ledger.load(path).users == own.users
    assert not list(tmp_path.glob("*.lock"))
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "geoelastic-ledger", "version": 9, "accounts": []}'])
def test_what_is_no_ledger_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ledger.json"
    path.write_text(text)
    with pytest.raises(gc.FileError, match="not a whole ledger"):
        gc.Ledger.load(path)


def test_what_was_prepared_reads_as_the_same_map_and_damage_is_noticed(tmp_path: Path, town: gc.Elastic) -> None:
    gc.Elastic.open(vectors.FILE)
    (kept,) = (tmp_path / "cache").iterdir()
    again = gc.Elastic.open(vectors.FILE)
    assert again.metric.head == town.metric.head
    assert again.report(*INSIDE, random=gc.SeededRandom(1)) == town.report(*INSIDE, random=gc.SeededRandom(1))
    whole = kept.read_bytes()
    for damaged in (whole[:-1], whole[:2000] + bytes([whole[2000] ^ 1]) + whole[2001:], b""):
        kept.write_bytes(damaged)
        found = gc.Elastic.open(vectors.FILE).report(*INSIDE, random=gc.SeededRandom(1))
        assert found == town.report(*INSIDE, random=gc.SeededRandom(1))
        assert kept.read_bytes() == whole


def test_places_that_cannot_be_hidden_give_no_report_and_no_message_holds_them(town: gc.Elastic) -> None:
    corner = town.metric.cell_to_latlon(0, 0)
    nan = float("nan")
    cases: list[tuple[Any, type[Exception]]] = [((40.125, 2.35), gc.OutsideError), (corner, gc.FrameError)]
    cases += [((nan, 2.35), gc.InputError), ((91.0, 2.35), gc.InputError), (("north", 2.35), gc.InputError)]
    for place, kind in cases:
        with pytest.raises(kind) as caught:
            town.report(*place)
        assert str(place[0]) not in str(caught.value).split()


@pytest.mark.parametrize(("lat", "lon"), [(48.8567, 2.3487), (-33.9, 151.2), (69.65, 18.96), (17.0, 179.9)])
def test_the_projection_agrees_to_the_micrometre(lat: float, lon: float) -> None:
    area = ge.Area(lat, lon, 100_000, 100_000, 1500.0, -2500.0)
    plane = Projection(lat, lon, 1500.0, -2500.0)
    for x, y in ((-100_000.0, 40_000.0), (0.0, 0.0), (99_000.0, -77_000.0)):
        there = [float(part) for part in area.to_latlon(x, y)]
        assert math.dist(plane.to_xy(*there), (x, y)) < 1e-6
        assert plane.to_latlon(x, y) == pytest.approx(there, abs=1e-10)


def test_it_is_small_and_needs_nothing_and_the_first_report_comes_at_once(town: gc.Elastic) -> None:
    files = [path for path in SOURCE.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 100_000
    script = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]);"
        "from geoelastic_client import Elastic; print(Elastic.open(sys.argv[2]).report(48.8567, 2.3387).lat);"
        "print(*{name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names - before)"
    )
    command = [sys.executable, "-I", "-S", "-c", script, str(SOURCE.parent), str(vectors.FILE)]
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env=os.environ | {"COVERAGE_PROCESS_CONFIG": ""}
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    place, foreign = done.stdout.splitlines()
    assert 48 < float(place) < 49
    assert foreign == "geoelastic_client"
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


def test_its_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key, ledger, town = str(tmp_path / "key"), str(tmp_path / "ledger.json"), str(vectors.FILE)
    report = ["report", town, *map(str, INSIDE), "--sticky-key", key, "--ledger", ledger]
    assert main(report) == 0
    first = capsys.readouterr().out
    assert main(report) == 0
    assert capsys.readouterr().out == first
    assert gc.Ledger.load(ledger).cost(level=1.0).pure == 1
    fresh = ["report", town, *map(str, INSIDE), "--ledger", ledger, "--budget", "0.7"]
    before = Path(ledger).read_bytes()
    assert main(fresh) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "budget" in captured.err
    assert Path(ledger).read_bytes() == before
    assert main(["report", town, "0", "0"]) == 2
    assert capsys.readouterr().err == "error: the place is outside the map\n"
    assert main(["report", str(tmp_path / "none.geox"), "0", "0"]) == 2
    assert main(["verify", town, "--workers", "1"]) == 0
    assert capsys.readouterr().out.startswith("This map holds what it states.")


def test_the_example_of_its_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (SOURCE.parents[1] / "README.md").read_text(encoding="utf-8")
    (tmp_path / "town.geox").write_bytes(vectors.FILE.read_bytes())
    monkeypatch.chdir(tmp_path)
    exec(text.split("```python\n")[1].split("```")[0], {})
