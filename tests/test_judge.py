# SPDX-License-Identifier: Apache-2.0
"""`verify` checks what will be sampled, states its claim, and holds it against a policy."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.errors import InputError
from geoelastic.judge import README, Policy, check, claim_of, load_policy, open_mechanism, policy_of, verify
from geoelastic.mechanism.geox_mechanism import load_mechanism, mechanism_bytes
from geoelastic.metric.weights import Weights, make_weights
from maps import small_metric


def geoelastic(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def promised() -> Any:
    """A small map that holds the README's promise."""
    return small_metric(rows=8, cols=9, l_top=math.log(6), l_from=0.35, frame=0.1)


@pytest.fixture(scope="module")
def sharp(promised: Any) -> Any:
    return ge.sharpen(promised)


def test_the_default_is_the_readme() -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    assert "(l / ln 2)² units of mass" in text
    assert "an average disc of 300 m" in text
    assert ge.Quadratic(math.log(2)) == README.requirement
    assert (README.l_from, README.l_top, README.unit_m) == (0.35, math.log(6), 300)


def test_a_map_that_holds_says_so_in_one_paragraph(tmp_path, promised, sharp):
    for metric in (promised, sharp):
        found = ge.verify(metric, require=README)
        assert found["ok"]
        assert found["faults"] == found["short"] == []
        facts, words = found["facts"], found["claim"]
        assert facts["secrets"] == int(promised.secret.sum()) < promised.n == facts["locations"]
        assert facts["share_of_mass"] == pytest.approx(promised.mass[promised.secret].sum() / promised.mass.sum())
        assert facts["mass"] == pytest.approx(promised.mass.sum())
        for said in ("holds what it states", f"{facts['secrets']} of {promised.n} places", "(l / 0.6931)²",
                     "0.35 to 1.792",
                     "does not state", "frame", "several reports", "'mass'"):  # fmt: skip
            assert said in words
        assert "\n" not in words
        assert ("relief" in words) == (metric is sharp)
        path = tmp_path / "m.geoelastic"
        metric.save(path)
        told = geoelastic("verify", path)
        assert told.exit_code == 0
        assert told.stdout.startswith(words)
        assert claim_of(metric).words in geoelastic("info", path).stdout
    assert ge.verify(sharp)["relief"]["edges_over"] == 0


def test_the_unit_of_mass_is_what_the_file_states():
    quality = ge.synthetic_quality("city", rows=30, cols=30, seed=2)
    metric = ge.build_metric(ge.mass_from_quality(quality, r_small=200, r_large=900), l_top=0.8)
    found = ge.verify(metric, require=Policy(l_top=0.8))
    assert found["facts"]["unit_m"] == 200
    assert "a disc of 200 m" in found["claim"]
    assert not found["ok"]
    assert ["disc of 200 m, not of 300 m" in line for line in found["short"]] == [True]
    assert ge.verify(metric, require=Policy(l_top=0.8, unit_m=200))["ok"]


def test_mass_that_was_spread_is_said(tmp_path):
    """From the recipe to the claim."""
    recipe = tmp_path / "wide.toml"
    recipe.write_text('name = "wide"\nspread_m = 150\n[[layer]]\nname = "places"\nsource = "places.csv"\n')
    rng = np.random.default_rng(1)
    lat, lon = 48.85 + rng.normal(0, 0.004, 900), 2.35 + rng.normal(0, 0.006, 900)
    rows = "".join(f"{a},{b}\n" for a, b in zip(lat, lon, strict=True))
    (tmp_path / "places.csv").write_text("lat,lon\n" + rows)
    area = ge.Area.around(48.85, 2.35, size_km=4)
    quality = ge.quality_from_source(str(recipe), area, 100)
    assert quality.info["spread_m"] == 150
    assert quality.cells.sum() == pytest.approx(np.count_nonzero(area.contains(lat, lon)))
    metric = ge.build_metric(ge.mass_from_quality(quality, r_small=300, r_large=900), l_top=0.8, sharpen=False)
    assert claim_of(metric).spread_m == 150
    assert "mass was spread by 150 m" in claim_of(metric).words
    assert "spread by" not in claim_of(replace(metric, info={})).words


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (Policy(l_from=0.3), "from level 0.35 on, not from 0.3"), (Policy(l_top=2.0), "up to level 1.792, not up to 2"),
        (Policy(requirement=ge.Quadratic(0.6)), "it asks for"), (Policy(requirement=ge.Linear(0.01)), "it asks for"),
        (Policy(requirement=ge.Step(0.4, 3.0)), "not 3"),
        (Policy(secrets=10**6), "places can be secrets, not 1,000,000"),
        (Policy(share_of_mass=0.999), "of the mass, not 99.9 %"), (Policy(mass_per_km2=0.1), "a square kilometre"),
    ],
)  # fmt: skip
def test_a_policy_that_asks_for_more_is_not_met_and_says_why(promised, policy, said):
    found = ge.verify(promised, require=policy)
    assert not found["ok"]
    assert found["faults"] == []
    assert any(said in line for line in found["short"]), found["short"]
    assert "less than is required" in found["claim"]
    assert ge.verify(promised)["ok"]


@pytest.mark.parametrize(
    "policy",
    [
        Policy(l_from=0.4), Policy(l_top=1.0), Policy(requirement=ge.Quadratic(0.7)),
        Policy(requirement=ge.Step(1.0, 2.0)), Policy(requirement=ge.Linear(2.0)), Policy(secrets=1, share_of_mass=0.0),
    ],
)  # fmt: skip
def test_a_policy_that_asks_for_less_is_met(promised, policy):
    assert ge.verify(promised, require=policy)["ok"]


def test_what_a_requirement_demands_counts_and_not_its_kind():
    """A step to as much as the quadratic asks at l_top is more than the quadratic everywhere from that level on."""
    metric = small_metric(rows=6, cols=6, l_top=0.8)
    stepped = replace(metric, requirement=ge.Step(0.0, (0.8 / math.log(2)) ** 2), certificate={})
    policy = Policy(l_top=0.8)
    assert policy.short_of(claim_of(stepped), stepped) == []
    late = replace(metric, requirement=ge.Step(0.79, 50.0), certificate={})
    assert "asks for 0 units" in policy.short_of(claim_of(late), late)[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"l_from": 0.8}, {"l_top": 1.0}, {"requirement": ge.Quadratic(2.0)}, {"requirement": ge.Quadratic(900.0)},
        {"requirement": ge.Linear(5.0)}, {"requirement": ge.Step(1.7, 1.0)}, {"frame_cells": 4},
        {"requirement": ge.Custom(lambda level: 1e-6 * level, "hardly anything")},
    ],
)  # fmt: skip
def test_a_weak_claim_fails_by_default_and_never_with_a_traceback(tmp_path, promised, changes):
    path = tmp_path / "m.geoelastic"
    replace(promised, **changes).save(path)
    for arguments in ([], ["--json"], ["--sample", "3", "--json"]):
        told = geoelastic("verify", path, *arguments)
        assert told.exit_code == 1, told.output
        assert not told.exception or isinstance(told.exception, SystemExit)
    assert json.loads(told.stdout)["short"] or json.loads(told.stdout)["faults"]


@pytest.mark.parametrize(
    "changes",
    [
        {"l_from": 0.9, "l_top": 0.9}, {"l_top": 0.0, "l_from": 0.0}, {"requirement": ge.Quadratic(1e6)},
        {"requirement": ge.Step(9.0, 1.0)}, {"requirement": ge.Custom(lambda level: 0.0, "nothing")},
        {"requirement": ge.Quadratic(1e-6)},
    ],
)  # fmt: skip
def test_a_claim_that_says_nothing_is_refused(tmp_path, promised, changes):
    path = tmp_path / "m.geoelastic"
    replace(promised, **changes).save(path)
    told = geoelastic("verify", path, "--json")
    assert (told.exit_code, told.stderr.count("\n")) == (2, 1)
    assert "not sound" in told.stderr


def test_masses_that_no_place_has_are_not_believed(tmp_path, promised):
    path = tmp_path / "m.geoelastic"
    heavy = replace(promised, mass_units=np.full(promised.n, 2**50), certificate={})
    heavy.save(path)
    told = geoelastic("verify", path)
    assert told.exit_code == 1
    assert "units of mass a square kilometre, more than 1000" in told.stdout
    replace(promised, mass_units=np.full(promised.n, 2**60), certificate={}).save(path)
    assert geoelastic("verify", path).exit_code == 2


def test_a_map_without_secrets_does_not_hold(promised):
    for changes in ({"frame_cells": 4}, {"framed": np.ones(promised.grid.shape, bool)}):
        found = ge.verify(replace(promised, certificate={}, **changes))
        assert not found["ok"]
        assert "no place can be a secret" in found["claim"]
        json.dumps(found, allow_nan=False)


def test_the_measure_that_is_sampled_is_the_one_that_is_checked(tmp_path, sharp):
    """Heights hold for one measure: with other integers in the file reports lose more than d, and `verify` sees it."""
    path = tmp_path / "m.geox"
    path.write_bytes(mechanism_bytes(ge.ElasticMechanism(sharp)))
    assert geoelastic("verify", path).exit_code == 0
    mechanism = load_mechanism(path)
    steep = np.where(np.arange(sharp.n) < sharp.n // 2, 1, 2**24)
    other = ge.ElasticMechanism.from_measure(mechanism.metric, steep, output="mass")
    worst = max(
        other.loss(i, j) / sharp.distances_from(i)[j]
        for i in np.flatnonzero(sharp.secret)[::3] for j in np.flatnonzero(sharp.secret)[::2]
        if sharp.distances_from(int(i))[int(j)] > 0
    )  # fmt: skip
    assert worst > 1.05
    path.write_bytes(mechanism_bytes(other))
    assert open_mechanism(path).measure.tolist() == steep.tolist()
    told = geoelastic("verify", path)
    assert told.exit_code == 1
    assert "more than the length of an edge" in told.stdout
    assert not json.loads(geoelastic("verify", path, "--json").stdout)["relief"]["ok"]


def test_a_mechanism_that_does_not_use_the_relief_needs_none(sharp):
    found = verify(ge.ElasticMechanism(sharp, output="uniform"))
    assert found["ok"]
    assert "relief" not in found
    assert found["facts"]["output"] == "uniform"
    assert verify(ge.ElasticMechanism(sharp))["relief"]["ok"]


def test_weights_that_fall_too_fast_are_seen(promised, monkeypatch):
    def faster(exponent: Any) -> Weights:
        good = make_weights(exponent)
        table = good.table.copy()
        table[5:] -= 3 * 10**5
        return Weights(exponent, table)

    monkeypatch.setattr(check, "make_weights", faster)
    assert "weights of reports fall too fast" in ge.verify(promised)["claim"]


def test_distances_beyond_what_kernels_hold_are_seen(promised):
    graph = promised.graph
    longer = replace(
        promised, graph=type(graph)(graph.start, graph.index, graph.weight + np.int32(2**22)), certificate={}
    )
    assert any("level units of the first" in fault for fault in ge.verify(longer)["faults"])


def test_policies_from_files_and_options(tmp_path, promised):
    path, policy = tmp_path / "m.geoelastic", tmp_path / "p.toml"
    promised.save(path)
    policy.write_text('requirement = {kind = "quadratic", l_star = 0.5}\nl_from = 0.4\nsecrets = 3\n', encoding="utf-8")
    assert load_policy(policy) == Policy(requirement=ge.Quadratic(0.5), l_from=0.4, secrets=3)
    assert policy_of(policy, l_star=0.7, l_top=None).requirement == ge.Quadratic(0.7)
    assert geoelastic("verify", path, "--require", policy).exit_code == 1
    assert geoelastic("verify", path, "--require", policy, "--stated").exit_code == 0
    assert geoelastic("verify", path, "--require", policy, "--l-star", "0.7").exit_code == 0
    assert geoelastic("verify", path, "--share", "0.99999").exit_code == 1
    assert geoelastic("verify", path, "--l-top", "2").exit_code == 1


@pytest.mark.parametrize(
    "text",
    [
        "l_top = 11", "l_top = 0.1", 'l_top = "1"', "l_from = nan", "more = 1", "secrets = 0", "secrets = 1.5",
        "share_of_mass = 2", "requirement = 1", 'requirement = {kind = "custom"}', "= 5", "\xff",
        'requirement = {kind = "quadratic", l_star = 0}', 'requirement = {kind = "step", level = 1}', "l_top = true",
        "requirement = {kind = []}",
    ],
)  # fmt: skip
def test_a_policy_that_is_none_is_one_line(tmp_path, promised, text):
    path, policy = tmp_path / "m.geoelastic", tmp_path / "p.toml"
    promised.save(path)
    policy.write_text(text, encoding="latin-1")
    told = geoelastic("verify", path, "--require", policy)
    assert (told.exit_code, told.stderr.count("\n")) == (2, 1)
    assert "p.toml" in told.stderr


@pytest.mark.parametrize("sample", ["-1", "0"])
def test_a_sample_is_a_number_of_places(tmp_path, promised, sample):
    promised.save(tmp_path / "m.geoelastic")
    told = geoelastic("verify", tmp_path / "m.geoelastic", "--sample", sample)
    assert (told.exit_code, told.stderr.count("\n")) == (2, 1)
    with pytest.raises(InputError, match="'sample'"):
        ge.verify(promised, sample=int(sample))
    some = ge.verify(promised, sample=2)
    assert some["claim"].startswith("Checked at 2 places")


def test_what_a_file_says_of_itself_is_not_believed_and_breaks_nothing(tmp_path, promised):
    path = tmp_path / "m.geoelastic"
    for info in ({"r_small_m": "x", "quality": 5}, {"quality": {"layers": 5}}, {"extract": 5}, {"r_small_m": True}):
        for certificate in ({}, {"ok": 5, "ratio": None}, {"ok": True, "graph_sha256": 5}):
            replace(promised, info=info, certificate=certificate).save(path)
            for command in (["info"], ["info", "--json"], ["verify"], ["extract", "-o", tmp_path / "x.geox"]):
                told = geoelastic(command[0], path, *command[1:])
                assert told.exit_code in (0, 1), (command, told.output, told.exception)
                assert not told.exception or isinstance(told.exception, SystemExit)
