# SPDX-License-Identifier: Apache-2.0
"""The audit flags each planted fault, names it, and passes what is sound."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import geoelastic as ge
from geoelastic.errors import InputError
from geoelastic.evaluation.audit import AuditResult, ElasticClaim, Finding, LaplaceClaim, audit, audit_table
from geoelastic.evaluation.audit.auditor import loss_bound
from geoelastic.evaluation.audit.findings import judge
from geoelastic.mechanism.laplace import PlanarLaplace
from geoelastic.mechanism.sticky import Sticky
from geoelastic.randomness import SeededRandom
from geoelastic.reports.locate import Placement
from maps import one_town

EPSILON = 2 / 500
DRAWS = 2000
METRES_PER_DEGREE = 111_195.0

Report = Callable[[float, float], tuple[float, float]]


class Faulty:
    """Planar Laplace noise with a fault in it, as found in the wild."""

    def __init__(self, **faults: float) -> None:
        self.faults, self.rng, self.noise, self.last = faults, np.random.default_rng(11), None, (0.0, 0.0)
        self.calls = 0

    def radius(self) -> float:
        radius = self.rng.gamma(2, 1 / EPSILON) * self.faults.get("scale", 1)
        while radius > self.faults.get("redraw_beyond", math.inf):
            radius = self.rng.gamma(2, 1 / EPSILON)
        return min(radius, self.faults.get("clamp", math.inf))

    def __call__(self, lat: float, lon: float) -> tuple[float, float]:
        self.calls += 1
        if self.calls % self.faults.get("stale", 1) and self.calls > 1:
            return self.last
        if self.noise is None or "reuse" not in self.faults:
            self.noise = self.radius(), self.rng.uniform(0, 2 * math.pi)
        if self.rng.random() < self.faults.get("truth", 0):
            return lat, lon
        north, east = self.noise[0] * math.cos(self.noise[1]), self.noise[0] * math.sin(self.noise[1])
        shrink = 1.0 if "wrong_plane" in self.faults else math.cos(math.radians(lat))
        self.last = lat + north / METRES_PER_DEGREE, lon + east / METRES_PER_DEGREE / shrink
        return self.last


def flagged(result: AuditResult) -> set[str]:
    assert result.ok == (not result.flagged)
    return {finding.check for finding in result.flagged}


FAULTS = [
    ({"wrong_plane": 1}, {"plane", "loss"}),
    ({"clamp": 1200}, {"clamp"}),
    ({"redraw_beyond": 1500}, {"cut"}),
    ({"scale": 0.6}, {"radius", "loss"}),
    ({"truth": 0.02}, {"truth"}),
    ({"stale": 3}, {"stale cache", "atoms"}),
    ({"reuse": 1}, {"reused noise"}),
]


@pytest.mark.parametrize(("faults", "expected"), FAULTS, ids=[next(iter(f)) for f, _ in FAULTS])
def test_planted_faults_are_flagged_by_name(faults: dict[str, float], expected: set[str]) -> None:
    result = audit(Faulty(**faults), LaplaceClaim(EPSILON), draws=DRAWS)
    assert expected <= flagged(result), result.text()
    assert not result.as_dict()["ok"]


def test_wrong_plane_is_found_where_it_is_and_in_the_right_direction() -> None:
    result = audit(Faulty(wrong_plane=1), LaplaceClaim(EPSILON), draws=6000)
    planes = {f.where for f in result.flagged if f.check == "plane"}
    assert "lat +0 to +15" not in planes
    assert {"lat +60 to +75", "lat +45 to +60"} <= planes
    excess = {(b.where, b.direction): b.lower / b.claimed for b in result.bounds if b.claimed == 0.5}
    assert excess["70 north", "east"] > 1.5
    assert excess["70 north", "north"] <= 1


@pytest.mark.parametrize("seed", [1, 2])
def test_sound_planar_laplace_passes_and_its_bounds_come_close(seed: int) -> None:
    mechanism = PlanarLaplace(EPSILON)
    result = audit(mechanism, LaplaceClaim(EPSILON), draws=6000, rng=SeededRandom(seed))
    assert result.ok, result.text()
    assert all(b.lower <= b.claimed for b in result.bounds)
    assert min(b.lower / b.claimed for b in result.bounds if b.claimed == 1.5) > 0.5


def table(subject: Report, rows: int = 6000) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(3)
    lat = rng.choice([0.0, 48.0, 69.0], rows) + rng.uniform(0, 1, rows)
    lon = rng.uniform(5, 20, rows)
    reported = np.array([subject(float(a), float(b)) for a, b in zip(lat, lon, strict=True)])
    return lat, lon, reported[:, 0], reported[:, 1]


@pytest.mark.parametrize(("faults", "expected"), FAULTS, ids=[next(iter(f)) for f, _ in FAULTS])
def test_planted_faults_show_in_a_table_too(faults: dict[str, float], expected: set[str]) -> None:
    result = audit_table(*table(Faulty(**faults)), LaplaceClaim(EPSILON))
    assert expected - {"loss"} <= flagged(result), result.text()


def test_a_sound_table_passes() -> None:
    mechanism = PlanarLaplace(EPSILON)
    source = SeededRandom(5)
    result = audit_table(*table(lambda lat, lon: mechanism.sanitize(lat, lon, source), 2400), LaplaceClaim(EPSILON))
    assert result.ok, result.text()
    assert {b.direction for b in result.bounds} == {"north", "east"}


def test_sticky_claims() -> None:
    fixed, source = {}, SeededRandom(12)

    def cached(lat: float, lon: float) -> tuple[float, float]:
        return fixed.setdefault((lat, lon), PlanarLaplace(EPSILON).sanitize(lat, lon, source))

    assert audit(cached, LaplaceClaim(EPSILON), sticky=True).ok
    assert "dead cache" in flagged(audit(Faulty(), LaplaceClaim(EPSILON), sticky=True))
    lat, lon, lat2, lon2 = table(Faulty(), 400)
    repeated = [np.concatenate([column, column]) for column in (lat, lon, lat2, lon2)]
    assert audit_table(*repeated, LaplaceClaim(EPSILON), sticky=True).ok
    repeated[2][-1] += 0.001
    assert "dead cache" in flagged(audit_table(*repeated, LaplaceClaim(EPSILON), sticky=True))


def test_false_alarms_are_as_rare_as_stated() -> None:
    """At alpha = 0.2, audits of sound noise are flagged in at most about a fifth of the cases."""
    rng = np.random.default_rng(8)
    alarms = 0
    for _ in range(30):
        lat, lon = rng.uniform(40, 44, 300), rng.uniform(0, 9, 300)
        rows = PlanarLaplace(EPSILON).sanitize_many(lat, lon, rng=SeededRandom(int(rng.integers(1 << 30))))
        alarms += not audit_table(lat, lon, *rows, LaplaceClaim(EPSILON), alpha=0.2).ok
    assert stats.binom.sf(alarms - 1, 30, 0.2) > 1e-6


def test_holm_controls_for_the_number_of_checks() -> None:
    findings = [Finding("a", "", "", p) for p in (0.004, 0.011, 0.02, 0.9, 0.03)]
    assert [f.flagged for f in judge(findings, 0.05)] == [True, True, False, False, False]
    assert not any(f.flagged for f in judge([Finding("a", "", "", math.nan)], 0.05))


def test_loss_bound_is_valid_and_sees_disjoint_outputs() -> None:
    rng = np.random.default_rng(4)
    same = rng.normal(size=(4000, 2)), rng.normal(size=(4000, 2))
    lower, p, _ = loss_bound(*same, (1.0, 0.0), 0.0, 0.01)
    assert lower < 0.05 or p > 1e-4
    cells = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    first, second = cells[rng.choice(3, 4000, p=[0.5, 0.3, 0.2])], cells[rng.choice(3, 4000, p=[0.25, 0.3, 0.45])]
    lower, p, event = loss_bound(first, second, (2.0, 0.0), math.log(1.5), 0.001)
    assert 0.4 < lower <= math.log(2)
    assert p < 1e-3
    assert event != "none"
    lower, p, _ = loss_bound(np.zeros((4000, 2)), np.ones((4000, 2)), (1.0, 1.0), 3.0, 0.001)
    assert lower > 5
    assert p < 1e-40


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: audit(7, LaplaceClaim(EPSILON)), "mechanism or a function"),
        (lambda: audit(lambda a, b: (math.nan, b), LaplaceClaim(EPSILON)), "every report must be"),
        (lambda: audit(Faulty(), LaplaceClaim(EPSILON), draws=0), "'draws' must be"),
        (lambda: audit_table([1.0], [1.0], [1.0], [1.0], LaplaceClaim(EPSILON)), "at least 200 rows"),
        (lambda: audit_table([1.0], [1.0], [1.0], [], LaplaceClaim(EPSILON)), "equal length"),
        (lambda: audit_table([math.nan], [1.0], [1.0], [1.0], LaplaceClaim(EPSILON)), "must be numbers"),
        (lambda: audit_table([100.0], [1.0], [1.0], [1.0], LaplaceClaim(EPSILON)), "in degrees"),
        (lambda: LaplaceClaim(math.nan), "'epsilon' must be"),
        (lambda: audit_table(*table(Faulty(), 300), LaplaceClaim(EPSILON), alpha=0), "'alpha' must be"),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


@pytest.fixture(scope="module")
def mechanism() -> ge.ElasticMechanism:
    return one_town(26, 0.03, slice(8, 14), 0.4, 100, method="conformal", l_from=0.35, l_top=math.log(3))


class Cut:
    """The mechanism with its tail dropped, as in the authors' program: not private, whatever its metric."""

    def __init__(self, mechanism: ge.ElasticMechanism, level: float) -> None:
        self.metric, self.inner, self.level = mechanism.metric, mechanism, level
        self.rng = np.random.default_rng(2)

    def sample_cells(self, i: np.ndarray, *, rng: object = None) -> tuple[np.ndarray, np.ndarray]:
        reported = np.empty(len(i), np.int64)
        for place in np.unique(i):
            near = self.metric.distances_from(int(place)) <= self.level
            chances = np.where(near, self.inner.probabilities(int(place)), 0)
            mine = i == place
            reported[mine] = self.rng.choice(chances.size, int(mine.sum()), p=chances / chances.sum())
        return self.metric.locations.row[reported], self.metric.locations.col[reported]

    def sanitize(self, lat: float, lon: float) -> tuple[float, float]:
        reports = Placement(self).report(np.array([lat]), np.array([lon]))
        return float(reports.lat[0]), float(reports.lon[0])


@pytest.mark.jit
def test_elastic_mechanism_passes_and_a_cut_or_foreign_one_does_not(mechanism: ge.ElasticMechanism) -> None:
    claim = ElasticClaim(mechanism)
    sound = audit(mechanism, claim, draws=2000, rng=SeededRandom(3))
    assert sound.ok, sound.text()
    assert {f.check for f in sound.findings} >= {"probabilities", "error", "loss", "stale cache", "reused noise"}
    assert {"probabilities", "error"} <= flagged(audit(Cut(mechanism, 1.0), claim, draws=2000))
    foreign = ge.ElasticMechanism(mechanism.metric, output="uniform")
    assert "probabilities" in flagged(audit(foreign, claim, draws=2000, rng=SeededRandom(4)))


@pytest.mark.jit
def test_a_cut_tail_is_a_loss_even_without_probabilities(mechanism: ge.ElasticMechanism) -> None:
    result = audit(Cut(mechanism, 0.6), ElasticClaim(mechanism), draws=3000)
    assert "loss" in flagged(result), result.text()


@pytest.mark.jit
def test_elastic_tables(mechanism: ge.ElasticMechanism) -> None:
    claim, metric = ElasticClaim(mechanism), mechanism.metric
    secret = np.flatnonzero(metric.secret)
    rng = np.random.default_rng(9)
    index = np.concatenate([rng.choice(secret, 500), np.repeat(secret[[10, 60, 61]], 400)])
    lat, lon = np.array([metric.latlon(int(i)) for i in index]).T
    lat2, lon2 = metric.grid.cell_to_latlon(*mechanism.sample_cells(index, rng=SeededRandom(6)))
    result = audit_table(lat, lon, lat2, lon2, claim)
    assert result.ok, result.text()
    assert any(b.claimed < 2 for b in result.bounds)
    assert "off the map" in flagged(audit_table(lat, lon, lat2 + 0.0004, lon2, claim))
    assert {"stale cache"} <= flagged(audit_table(lat, lon, np.repeat(lat2[::4], 4), np.repeat(lon2[::4], 4), claim))
    assert "error" in flagged(audit_table(lat, lon, *metric.grid.cell_to_latlon(*_near(metric, index)), claim))
    with pytest.raises(InputError, match="outside the map"):
        audit_table(lat + 1, lon, lat2, lon2, claim)


def _near(metric: ge.Metric, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return metric.locations.row[index], metric.locations.col[index]


@pytest.mark.jit
def test_sticky_elastic_passes_as_sticky(mechanism: ge.ElasticMechanism) -> None:
    assert audit(Sticky(mechanism, bytes(range(32))), ElasticClaim(mechanism), sticky=True).ok
    assert not audit(mechanism, ElasticClaim(mechanism), sticky=True, rng=SeededRandom(1)).ok
