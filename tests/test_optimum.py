# SPDX-License-Identifier: Apache-2.0
"""The optimum by its structure: equal to HiGHS on small cases, and bounds that hold without believing any solver."""

from __future__ import annotations

import gzip
import json
import math
import runpy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geoelastic.bench._tools import synthetic_mass
from geoelastic.bench.optimum import gap_rows
from geoelastic.errors import FileError, InputError
from geoelastic.evaluation.optimum import (
    LinearProgram,
    certified_bound,
    certify,
    exp_above,
    solve_optimum,
    spanner,
    write_certificate,
)
from geoelastic.evaluation.optimum_gap import lattice_scene, remapped_errors
from geoelastic.evaluation.study_areas import StudyArea
from geoelastic.levels import LEVEL_UNIT
from geoelastic.metric import build_metric
from reference.optimal import direct_edges, exponential_matrix, optimal_matrix

CHECKER = Path(__file__).resolve().parents[1] / "examples" / "check_optimum.py"


def lattice(side: int, *, stretch: float = 1.0, seed: int = 1, reports: Any = None) -> tuple[LinearProgram, np.ndarray]:
    """Places 400 m apart, a little moved, with random weights; distances 0.9 levels a step, through a small hole."""
    rng = np.random.default_rng(seed)
    t = np.arange(side)
    xy = np.array([(x, y) for x in t for y in t], float) + rng.uniform(-0.2, 0.2, (side * side, 2))
    apart = np.hypot(*(xy[:, None] - xy[None]).transpose(2, 0, 1))
    units = np.rint(apart * 0.9 / LEVEL_UNIT).astype(np.int64)
    edges = spanner(units, stretch)
    places = np.rint(xy * 400_000).astype(np.int64)
    weight = rng.integers(1, 1 << 20, side * side)
    problem = LinearProgram(
        places, places if reports is None else reports, weight, edges, units[edges[:, 0], edges[:, 1]]
    )
    return problem, units


def test_equals_highs_with_all_pairs() -> None:
    problem, units = lattice(4)
    found = solve_optimum(problem)
    best = optimal_matrix(units * LEVEL_UNIT, problem.cost_m, problem.prior)
    want = float((problem.prior[:, None] * problem.cost_m * best).sum())
    assert found.error_m == pytest.approx(want, rel=2e-5)
    assert float((problem.prior[:, None] * problem.cost_m * found.matrix).sum()) == pytest.approx(want, rel=1e-4)
    bound = float(certified_bound(certify(problem, found)))
    assert want * (1 - 1e-4) <= bound <= want * (1 + 1e-9)


def test_the_mechanism_is_private() -> None:
    problem, units = lattice(4)
    matrix = solve_optimum(problem).matrix
    assert matrix.sum(axis=1) == pytest.approx(1)
    growth = np.exp(units * LEVEL_UNIT)
    assert np.all(matrix[:, None, :] <= growth[:, :, None] * matrix[None, :, :] * (1 + 1e-3) + 1e-7)


@pytest.mark.parametrize("stretch", [1.0, 1.1, 1.5])
def test_a_spanner_gives_a_bound_a_little_below(stretch: float) -> None:
    """Fewer constraints: at most the optimum of all pairs, at least that of distances `stretch` times as long."""
    problem, units = lattice(4, stretch=stretch)
    bound = float(certified_bound(certify(problem, solve_optimum(problem))))
    best, longer = (
        float((problem.prior[:, None] * problem.cost_m * matrix).sum())
        for matrix in (optimal_matrix(f * units * LEVEL_UNIT, problem.cost_m, problem.prior) for f in (1, stretch))
    )
    assert longer * (1 - 1e-3) <= bound <= best * (1 + 1e-9)


def test_no_private_mechanism_falls_below_the_bound() -> None:
    """Not even those that report elsewhere, once what they report is moved to the best of the reports."""
    problem, units = lattice(5, stretch=1.05)
    bound = float(certified_bound(certify(problem, solve_optimum(problem))))
    cost = problem.prior[:, None] * problem.cost_m
    for seed in range(5):
        measure = np.random.default_rng(seed).dirichlet(np.ones(25))
        matrix = exponential_matrix(units * LEVEL_UNIT, measure)
        remapped = sum((matrix[:, [z]] * cost).sum(axis=0).min() for z in range(25))
        assert bound < remapped <= (cost * matrix).sum()


def test_any_multipliers_give_a_true_bound_and_bad_ones_a_poor_one() -> None:
    problem, units = lattice(3)
    best = optimal_matrix(units * LEVEL_UNIT, problem.cost_m, problem.prior)
    want = float((problem.prior[:, None] * problem.cost_m * best).sum())
    certificate = certify(problem, solve_optimum(problem))
    rng = np.random.default_rng(3)
    for factor in (0.0, 0.5, 2.0):
        noise = rng.uniform(0, 2, np.shape(certificate["multipliers"])) * factor
        spoilt = [[int(y * f) for y, f in zip(*rows, strict=True)]
                  for rows in zip(certificate["multipliers"], noise.tolist(), strict=True)]  # fmt: skip
        assert float(certified_bound(certificate | {"multipliers": spoilt})) < want * 0.999
    # distances a tenth longer than the map's are another promise, and would show another bound
    longer = certificate | {"units": [u * 11 // 10 for u in certificate["units"]]}
    assert certified_bound(longer) < certified_bound(certificate)
    with pytest.raises(FileError, match=">= 0"):
        certified_bound(certificate | {"multipliers": [[-1] * 9 for _ in certificate["multipliers"]]})


def test_two_places_by_hand() -> None:
    """Randomised response is the best there is: 1 km with chance 1 / (1 + e^d)."""
    units = 10_650
    ends = np.array([[0, 0], [1_000_000, 0]])
    problem = LinearProgram(ends, ends, np.array([1 << 29, 1 << 29]), np.array([[0, 1]]), np.array([units]))
    want = 1000 / (1 + math.exp(units * LEVEL_UNIT))
    assert float(certified_bound(certify(problem, solve_optimum(problem)))) == pytest.approx(want, rel=1e-5)


def test_rounding_is_upwards() -> None:
    for units in (1, 2, 77, 8192, 40_000, 200_000):
        above = Fraction(exp_above(units), 1 << 40)
        assert above >= Fraction(math.exp(units * LEVEL_UNIT)) * (1 - Fraction(1, 2**50))
        assert float(above) == pytest.approx(math.exp(units * LEVEL_UNIT), rel=1e-9)
    series = sum(Fraction(1, math.factorial(k)) for k in range(30))
    assert Fraction(exp_above(8192), 1 << 40) >= series


def test_the_file_is_checked_by_the_standard_library_alone(tmp_path: Path) -> None:
    problem, _ = lattice(3)
    certificate = certify(problem, solve_optimum(problem))
    path = tmp_path / "bound.json.gz"
    write_certificate(path, certificate)
    kept = json.loads(gzip.decompress(path.read_bytes()))
    assert kept == certificate
    checker = runpy.run_path(str(CHECKER))
    assert checker["bound"](kept) == pytest.approx(float(certified_bound(certificate)), rel=1e-9)


def test_bad_problems_are_refused() -> None:
    problem, _ = lattice(2)
    fields = vars(problem) | {}
    options = {k: fields[k] for k in ("places_mm", "reports_mm", "weight", "edges", "units")}
    for change, message in (
        ({"weight": np.zeros(4, np.int64)}, "not all 0"),
        ({"units": problem.units * 0}, "whole number > 0"),
        ({"edges": problem.edges[:1], "units": problem.units[:1]}, "connect all places"),
    ):
        with pytest.raises(InputError, match=message):
            LinearProgram(**(options | change))
    with pytest.raises(InputError, match="'stretch' must be >= 1"):
        spanner(np.zeros((2, 2), np.int64), 0.5)


@pytest.mark.jit
def test_the_mechanism_of_a_map_is_above_the_bound(tmp_path: Path) -> None:
    """The rows of `bench optimum` on a small city: the certified bound is below everything that is private."""
    metric = build_metric(synthetic_mass("city", 40))
    rows = gap_rows(metric, places=4, size_km=2.5, certificate=tmp_path / "bound.json.gz")
    error = {row["step"]: row["error_m"] for row in rows}
    tight, bound, best, remapped, default, half_remapped, half = error.values()
    assert tight < bound <= best < remapped < default < half
    assert remapped < half_remapped < half
    assert best == pytest.approx(bound, rel=1e-3)
    kept = json.loads(gzip.decompress((tmp_path / "bound.json.gz").read_bytes()))
    assert float(certified_bound(kept)) == pytest.approx(bound, abs=0.05)
    all_of_it = lattice_scene(metric, StudyArea("all", *metric.grid.area.middle, 3.95), side=6)
    assert 2 <= len(all_of_it.locations) < 36, "the frame holds no secrets"
    assert np.all(metric.secret[all_of_it.locations])


def test_remapping_by_brute_force() -> None:
    problem, units = lattice(3)
    rows = exponential_matrix(units * LEVEL_UNIT, np.ones(9))
    want = np.zeros(9)
    for z in range(9):
        best = min(range(9), key=lambda r: sum(problem.prior * rows[:, z] * problem.cost_m[:, r]))
        want += rows[:, z] * problem.cost_m[:, best]
    assert remapped_errors(rows, problem) == pytest.approx(want)


def test_the_slow_twin_by_hand() -> None:
    # two points at distance d, 1 km apart: the best is to lie with probability 1 / (1 + e^d) (randomised response)
    d = 1.3
    distances = np.array([[0, d], [d, 0]])
    best = optimal_matrix(distances, np.array([[0, 1.0], [1, 0]]), np.array([0.5, 0.5]))
    assert best[0, 1] == pytest.approx(1 / (1 + math.exp(d)), abs=1e-9)
    line = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    assert direct_edges(line) == [(0, 1), (1, 2), (2, 3), (3, 4)]
