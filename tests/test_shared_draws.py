# SPDX-License-Identifier: Apache-2.0
"""Draws for neighbours from one search: what is kept has exactly the neighbour's distribution."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import geoelastic as ge
from geoelastic import _kernels as kernels
from geoelastic.fences import disc
from geoelastic.mechanism import shared_draws
from geoelastic.mechanism.shared_draws import BITS, RADIUS, ceiling, groups_of, threshold
from geoelastic.metric.part import Part
from geoelastic.metric.weights import make_weights
from maps import PARIS, small_metric
from reference.mechanism import exact_probabilities
from statistical.toolbox import assert_draws

HALF = Fraction(1, 2)


class Given:
    """A random source that draws one given number, and remembers below what."""

    seeded = True

    def __init__(self, value: int = 0) -> None:
        self.value, self.bound = value, 0

    def below(self, n: int) -> int:
        self.bound = n
        return self.value

    def bytes(self, n: int) -> bytes:
        raise AssertionError("not asked for")


def far_metric(factor: int = 12):
    """A small map with long ways, so that distances spread over several shells."""
    metric = small_metric("conformal", "uniform", rows=5, cols=6, l_top=0.8)
    graph = ge.metric.Graph(metric.graph.start, metric.graph.index, metric.graph.weight * factor)
    return ge.Metric(metric.locations, metric.mass_units, graph, metric.fence, "paper", l_top=1.0)


@pytest.mark.parametrize("exponent", [HALF, Fraction(7, 8)])
@pytest.mark.parametrize("away", [0, 1, 777, 8192, RADIUS])
def test_the_ceiling_bounds_every_quotient_and_not_by_much(exponent, away):
    weights = make_weights(exponent)
    largest = max(
        weights.exact(max(d - away, 0)) / weights.exact(d) for d in range(0, weights.period + away, 97 if away else 997)
    )
    assert largest <= Fraction(ceiling(weights, away), 2**BITS) <= largest * (1 + Fraction(1, 2000))


@pytest.mark.parametrize("near", [5, 4000, 11356, 11357, 30000])
@pytest.mark.parametrize("away", [1, 3000, RADIUS])
def test_a_threshold_is_at_least_d_for_exactly_its_share_of_the_draws(near, away):
    """The share is w(d) / (C w(near)): the last draw that keeps d and the first that does not are told apart."""
    weights, most = make_weights(HALF), near + away
    ceil = ceiling(weights, away)
    for d in {max(near - away, 0), near - 1, near, near + 1, most - 1, most}:
        source = Given()
        threshold(weights, ceil, near, most, source)
        keeps = weights.exact(d) / (Fraction(ceil, 2**BITS) * weights.exact(near)) * source.bound
        assert keeps.denominator == 1
        assert keeps <= source.bound
        assert threshold(weights, ceil, near, most, Given(int(keeps) - 1)) >= d
        if keeps < source.bound:
            assert threshold(weights, ceil, near, most, Given(int(keeps))) < d


def test_a_ceiling_too_low_would_be_wrong():
    """Just beyond: below the largest quotient a nearby report would have to be kept with more than certainty."""
    weights, near, away = make_weights(HALF), 9000, 3000
    low = ceiling(weights, away) * 999 // 1000
    source = Given()
    threshold(weights, low, near, near + away, source)
    assert weights.exact(near - away) / (Fraction(low, 2**BITS) * weights.exact(near)) > 1


def test_within_is_the_comparison_of_distances():
    metric = far_metric(1)
    graph, space = metric.graph, kernels.within_workspace(metric.n, metric.graph.index.size, 2**19)
    units = [metric.distance_units_from(i) for i in range(metric.n)]
    for centre in (0, 14):
        for frontier in (int(np.median(units[centre])), int(units[centre].max())):
            near = np.where(units[centre] <= frontier, units[centre], units[centre] + 3)
            for x in (0, 11, 29):
                away = int(units[centre][x])
                for z in np.flatnonzero(units[centre] <= frontier)[::2]:
                    d = int(units[x][z])
                    for most in (d - 1, d, 0, -1):
                        answer = kernels.within(
                            graph.start, graph.index, graph.weight, near, frontier, away, x, z, most, *space
                        )
                        assert answer == (d <= most)
    assert (space[0] == 2**31 - 1).all()
    assert (space[1] == -1).all()


class _Line:
    """A line that is known, and whose next dart hits a given location."""

    def __init__(self, units, z):
        self.distances, self._z = (units, int(units.max())), z

    def throw(self, rng):
        return self._z


class _Stop(Exception):
    pass


class Once(Given):
    """Draws once; a second draw means that the first was not kept."""

    used = False

    def below(self, n):
        if self.used:
            raise _Stop
        self.used = True
        return super().below(n)


def kept_draws(sampler, units, x, away, z):
    """(draws that keep z, all draws), by bisection: draws that keep are those below a bound."""

    def keeps(draw):
        source = Once(draw)
        try:
            sampler._one(_Line(units, z), x, away, ceiling(sampler._weights, away), source)
        except _Stop:
            return False
        finally:
            keeps.bound = source.bound
        return True

    keeps(0)
    low, high = 0, keeps.bound
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if keeps(middle) else (low, middle)
    return low, keeps.bound


@pytest.mark.jit  # some 3,000 searches with long queues
@pytest.mark.parametrize("output", ["mass", "uniform"])
def test_what_is_kept_of_a_neighbours_draws_is_ones_own_distribution_exactly(output, monkeypatch):
    monkeypatch.setattr(shared_draws, "RADIUS", 2**19)
    metric = far_metric()
    mechanism = ge.ElasticMechanism(metric, output=output)
    sampler = mechanism._new_sampler()
    sampler.enter(14, 0)
    centre = 14
    units = metric.distance_units_from(centre)
    theirs = exact_probabilities(units, mechanism.measure, mechanism.weights)
    for x in (15, 8):
        away = int(units[x])
        product = []
        for z in range(metric.n):
            keep, bound = kept_draws(sampler, units, x, away, z)
            product.append(theirs[z] * Fraction(keep, bound))
        own = exact_probabilities(metric.distance_units_from(x), mechanism.measure, mechanism.weights)
        assert [p / sum(product) for p in product] == own


def test_groups_hold_every_place_once_at_its_distance():
    metric = small_metric(rows=9, cols=9)
    places = np.arange(0, metric.n, 2)
    rows = [np.arange(k % 3 + 1) for k in range(places.size)]
    groups = groups_of(Part(metric.graph, metric.mass_units), make_weights(HALF), places, rows)
    members = [(group.centre, *member) for group in groups for member in group.members]
    assert sorted(member[1] for member in members) == places.tolist()
    for centre, location, away, _ in members:
        assert away == metric.distance_units_from(centre)[location] <= RADIUS
    centres = [group.centre for group in groups]
    assert len(centres) < places.size
    for a in centres:
        units = metric.distance_units_from(a)
        assert all(units[b] > RADIUS for b in centres if b != a)


def test_a_place_with_many_rows_has_a_search_of_its_own():
    metric = small_metric(rows=9, cols=9)
    rows = [np.arange(shared_draws.MANY if k in (2, 3) else 1) for k in range(6)]
    groups = groups_of(Part(metric.graph, metric.mass_units), make_weights(HALF), np.arange(6), rows)
    assert [group.centre for group in groups[:2]] == [2, 3]
    assert sorted(m[0] for group in groups for m in group.members) == list(range(6))


@pytest.mark.jit  # 60,000 draws
@pytest.mark.parametrize(("output", "exponent"), [("mass", HALF), ("uniform", HALF), ("mass^2", Fraction(1))])
def test_draws_of_a_table_follow_each_places_probabilities(output, exponent, monkeypatch):
    metric = small_metric(rows=12, cols=12, fences=[disc(*PARIS, 160)])
    mechanism = ge.ElasticMechanism(metric, output=output)
    mechanism._weights = make_weights(exponent)
    free = np.flatnonzero((metric.fence == 0) & metric.secret)
    spread, neighbours = free[:: max(1, free.size // 4)], free[1:3]
    places = np.unique(np.concatenate([spread, neighbours, np.flatnonzero(metric.fence)[:1]]))
    assert len(mechanism._groups(places, [places[:1]] * places.size)) < places.size
    monkeypatch.setattr(shared_draws, "MANY", 10**9)
    secrets = np.repeat(places, 3000)
    rows, cols = mechanism.sample_cells(secrets, rng=ge.SeededRandom(11))
    reported = metric.locations.owner[rows, cols]
    for place in places:
        assert_draws(reported[secrets == place], mechanism.probabilities(int(place)))
