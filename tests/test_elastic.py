# SPDX-License-Identifier: Apache-2.0
"""Exact sampling: every location owns exactly its stretch of the line; draws follow `probabilities`; errors add up."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import geoelastic as ge
from geoelastic.fences import disc
from geoelastic.mechanism.sampler import Line, Sampler, draw_full
from geoelastic.metric.part import OnePart
from geoelastic.metric.weights import HALF, WHOLE, make_weights
from maps import PARIS, small_metric
from reference.layouts import mean_distance
from reference.mechanism import exact_probabilities
from statistical.toolbox import assert_draws


class Pointer:
    """A random source that throws the dart at a given point of the line (in units of weight), bit by bit as asked."""

    seeded = True

    def __init__(self, point: Fraction, scale: int) -> None:
        self.point, self.scale = point, scale
        self.first = True

    def below(self, n: int) -> int:
        if self.first:
            self.first = False
            return int(self.point * 2**self.scale)
        bits = n.bit_length() - 1
        self.scale += bits
        return int(self.point * 2**self.scale) % n

    def bytes(self, n: int) -> bytes:
        raise AssertionError("not asked for")


def lines(metric, mechanism, source):
    """The line of a source by its definition: (location, start, end) in the order (distance, number)."""
    units, at, out = metric.distance_units_from(source), Fraction(0), []
    for z in sorted(range(metric.n), key=lambda z: (units[z], z)):
        if units[z] < 2**31 - 1:
            length = int(mechanism.measure[z]) * mechanism.weights.exact(int(units[z]))
            out.append((z, at, at + length))
            at += length
    return out


def first_scale(mechanism, source):
    line = Line(Sampler(OnePart(mechanism.metric.graph, mechanism.measure), mechanism.weights), source)
    line.to_first_frontier()
    return line._first


@pytest.mark.parametrize("exponent", [HALF, pytest.param(WHOLE, marks=pytest.mark.jit)])
@pytest.mark.parametrize("output", ["mass", "uniform"])
def test_lazy_draws_give_every_location_exactly_its_stretch_of_the_line(output, exponent):
    """The first and last point of every stretch is reported as that location: the distribution is exact, whatever is
    lazy."""
    metric = small_metric("conformal", "uniform", rows=4, cols=5, l_top=0.8)
    stretched = ge.Metric(
        metric.locations, metric.mass_units,
        ge.metric.Graph(metric.graph.start, metric.graph.index, metric.graph.weight * 20),
        metric.fence, "paper", l_top=1.0,
    )  # fmt: skip
    mechanism = ge.ElasticMechanism(stretched, output=output)
    mechanism._weights = make_weights(exponent)
    source = 11
    known, bound, scale = first_scale(mechanism, source)
    stretches = lines(stretched, mechanism, source)
    assert Fraction(known, 2**scale) < stretches[-1][2] <= Fraction(bound, 2**scale)
    finest = 2**200
    for z, start, end in stretches:
        for point in (start, end - Fraction(1, finest)):
            rng = Pointer(point, scale)
            assert int(mechanism.sample(source, rng=rng)[0]) == z
            if point > Fraction(known, 2**scale):
                assert rng.scale >= scale


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(0, 20), st.integers(0, 20))
def test_a_part_of_the_order_is_sorted_in_place(numbers, before, after):
    from geoelastic._kernels.sampling import _sort

    part = np.array(numbers, np.int32)
    first = min(before, part.size)
    last = max(first, part.size - after)
    _sort(part, first, last)
    assert part.tolist() == numbers[:first] + sorted(numbers[first:last]) + numbers[last:]


def test_a_dart_beyond_the_line_is_thrown_again():
    metric = small_metric("conformal", "uniform", rows=7, cols=8, l_top=1.0)
    mechanism = ge.ElasticMechanism(metric)
    _, bound, scale = first_scale(mechanism, 11)
    end = lines(metric, mechanism, 11)[-1][2]
    if end < Fraction(bound, 2**scale):

        class Twice(Pointer):
            def below(self, n: int) -> int:
                if n == bound:
                    self.throws = getattr(self, "throws", 0) + 1
                    self.scale = scale
                    self.point = end if self.throws == 1 else Fraction(0)
                    return int(self.point * 2**scale)
                return super().below(n)

        rng = Twice(end, scale)
        rng.first = False
        assert int(mechanism.sample(11, rng=rng)[0]) == 11
        assert rng.throws == 2
    else:
        assert known_everything(mechanism, 11)


def known_everything(mechanism, source):
    known, bound, _ = first_scale(mechanism, source)
    return known == bound


def test_the_full_sampler_has_the_same_line():
    metric = small_metric(rows=6, cols=7, l_top=1.0)
    mechanism = ge.ElasticMechanism(metric)
    units = metric.distance_units_from(9)
    stretches = lines(metric, mechanism, 9)
    scale = int(max(units)) // mechanism.weights.period
    for z, start, end in stretches:
        for point in (start, end - Fraction(1, 2**scale)):
            assert draw_full(units, mechanism.measure, mechanism.weights, [Pointer(point, scale)])[0] == z


@pytest.mark.no_cover
@pytest.mark.jit  # 700,000 draws
@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize("output", ["mass", "uniform"])
def test_a_million_draws_follow_the_probabilities(lazy, output):
    metric = small_metric(fences=[disc(*PARIS, 160)])
    mechanism = ge.ElasticMechanism(metric, output=output, lazy=lazy)
    for source in (int(np.flatnonzero(metric.fence == 0)[3]), int(np.flatnonzero(metric.fence)[0])):
        draws = mechanism.sample(source, 250_000 if lazy else 100_000, rng=ge.SeededRandom(2024))
        assert_draws(draws, mechanism.probabilities(source))


def test_probabilities_equal_the_fractions():
    metric = small_metric(rows=6, cols=6)
    for output in ("mass", "uniform", "mass^1.5"):
        mechanism = ge.ElasticMechanism(metric, output=output)
        for i in (0, metric.n // 2):
            exact = exact_probabilities(metric.distance_units_from(i), mechanism.measure, mechanism.weights)
            assert np.allclose(mechanism.probabilities(i), [float(p) for p in exact], rtol=1e-12, atol=0)


def test_expected_error_is_the_mean_over_all_pairs_of_cells():
    metric = small_metric(rows=8, cols=8)
    mechanism = ge.ElasticMechanism(metric)
    at = metric.locations
    squares = [tuple(map(int, s)) for s in zip(at.row, at.col, at.size, strict=True)]
    for i in (0, metric.n - 1):
        expected = sum(
            p * 100 * mean_distance(squares[i], squares[z]) for z, p in enumerate(mechanism.probabilities(i))
        )
        assert mechanism.expected_error(i) == pytest.approx(expected, rel=1e-9)


def test_error_maps_agree_with_single_errors_and_quantiles_are_quantiles():
    metric = small_metric()
    mechanism = ge.ElasticMechanism(metric)
    result = mechanism.expected_errors(workers=2)
    for k in range(0, metric.n, 7):
        i = int(result["location"][k])
        assert result["mean"][k] == pytest.approx(mechanism.expected_error(i), rel=1e-9)
        p, away = mechanism.probabilities(i), mechanism.distances_m(i)
        for name, share in (("q50", 0.5), ("q90", 0.9), ("q95", 0.95)):
            assert p[away <= result[name][k]].sum() >= share - 1e-9
            width = math.hypot(10, 12) * 100 / 256
            assert p[away < result[name][k] - width].sum() <= share + 1e-9


def test_many_reports_at_once_keep_the_order_and_the_distribution():
    metric = small_metric()
    mechanism = ge.ElasticMechanism(metric)
    secrets = np.array([3, 40, 3, 7, 40] * 400)
    rows, cols = mechanism.sample_cells(secrets, rng=ge.SeededRandom(5), workers=2)
    reported = metric.locations.owner[rows, cols]
    for source in (3, 40, 7):
        assert_draws(reported[secrets == source], mechanism.probabilities(source))
    again = mechanism.sample_cells(secrets, rng=ge.SeededRandom(5), workers=1)
    assert (again[0] == rows).all()
    assert (again[1] == cols).all()


def test_sanitize_gives_a_place_on_the_map():
    metric = small_metric()
    lat, lon = ge.ElasticMechanism(metric).sanitize(*PARIS)
    assert metric.locate(lat, lon) >= 0


def test_mechanisms_work_on_the_euclidean_metric_too():
    metric = ge.euclidean_metric(small_metric_mass(), epsilon=math.log(2) / 200)
    mechanism = ge.ElasticMechanism(metric, output="uniform")
    draws = mechanism.sample(30, 20_000, rng=ge.SeededRandom(1))
    assert_draws(draws, mechanism.probabilities(30))
    assert mechanism.loss(30, 31) <= metric.distances_from(30)[31] + 1e-12


def small_metric_mass():
    from maps import small_mass

    return small_mass(8, 8)


@pytest.mark.parametrize("bad", ["best", "mass^x", "mass^-1", [1.0], [-1.0] * 3])
def test_bad_measures_are_refused(bad):
    with pytest.raises(ge.InputError, match=r"output|gamma"):
        ge.ElasticMechanism(small_metric(), output=bad)


def test_a_measure_that_reports_nothing_is_refused():
    metric = small_metric()
    with pytest.raises(ge.InputError, match="at least one location"):
        ge.ElasticMechanism(metric, never=np.ones(metric.n, bool))


def test_water_is_never_reported():
    metric = small_metric("conformal", "uniform")
    water = np.zeros(metric.grid.shape, bool)
    water[4:7] = True
    mechanism = ge.ElasticMechanism(metric, never=water)
    rows, _ = mechanism.sample_cells(np.full(2000, 5), rng=ge.SeededRandom(3))
    assert not np.isin(rows, [4, 5, 6]).any()


def test_numbers_below_are_uniform_by_enumeration():
    for n in (1, 2, 3, 7, 200, 256):
        seen = []
        for byte in range(256):
            try:
                seen.append(ge.ReplayRandom(bytes([byte])).below(n))
            except ge.InputError:
                continue
        counts = np.bincount(seen, minlength=n)
        assert counts.min() == counts.max() > 0


def test_wrong_sizes_and_locations_are_refused():
    mechanism = ge.ElasticMechanism(small_metric())
    with pytest.raises(ge.InputError, match="size"):
        mechanism.sample(0, 0)
    with pytest.raises(ge.OutsideError):
        mechanism.sample(10**6)
