# SPDX-License-Identifier: Apache-2.0
"""Released traces: the theorem on all pairs in fractions, the rounding that is paid for, draws against the law."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import geoelastic as ge
from geoelastic import _kernels as kernels
from geoelastic.traces import Habit
from geoelastic.traces.release import jump_measure
from geoelastic.traces.rounding import require_room, rounding_bound
from maps import JIT, small_metric
from reference import traces as slow
from statistical.toolbox import assert_chi_square

SIDE = 7 if JIT else 4


def mechanism(rows: int = 3, cols: int = 3, **options: Any) -> Any:
    metric = small_metric("conformal", "uniform", rows=rows, cols=cols, l_top=0.5)
    options = {"step_minutes": 120, "moves_per_day": 3} | options
    return ge.TraceMechanism(ge.ElasticMechanism(metric), **options)


def exp_below(y: Fraction) -> Fraction:
    """A fraction below e^y, to 2^-60 or so: the exponential series, cut."""
    total = term = Fraction(1)
    for k in range(1, 40):
        term *= y / k
        total += term
    return Fraction(math.floor(total * 2**80), 2**80)


def jump_of(traces: Any, past: Any = None) -> Any:
    inside = np.arange(traces.metric.n)
    return jump_measure(traces.measure, inside, past or Habit(), habit=traces.habit, jump=traces.jump)


def passes_of(traces: Any, trace: Any, past: Any = None) -> Any:
    return traces._passes(np.array(trace, np.int64), past or Habit(), None)


def test_all_pairs_of_traces_on_49_locations_keep_the_bound_and_some_pair_needs_most_of_it() -> None:
    """Any two traces are joined by traces that differ in one step by one edge of the graph, along which the bound adds
    up exactly; so all pairs hold if those do, and the worst share of the bound is one of theirs. Whole numbers only.
    """
    traces = mechanism(SIDE, SIDE, habit=0.5)
    metric, n = traces.metric, traces.metric.n
    weight = slow.weight_matrix(metric, traces.weights)
    scale = 2 ** max(f.denominator.bit_length() for row in weight for f in row)
    w = np.array([[int(f * scale) for f in row] for row in weight], dtype=object)
    jump = np.array([int(f * 2**80) for f in slow.exact(jump_of(traces, Habit({1: 600, 5: 1200})))], dtype=object)
    keep = int(Fraction(1.0 - traces.jump) * 2**80)

    def forward(a: Any) -> Any:
        return keep * a + jump * a.sum(axis=-1, keepdims=True)

    second = forward(forward(w * jump)[:, None, :] * w[None, :, :])
    sums = second @ w.T  # S(x_1, x_2, x_3)
    worst = 0.0
    tail, tip, _ = metric.edge_units()
    pairs = [*zip(tail.tolist(), tip.tolist(), strict=True), *zip(tip.tolist(), tail.tolist(), strict=True)]
    for a, b in pairs:
        level = Fraction(int(metric.distance_units_from(a)[b]), 2**13)
        nearer = max(Fraction(int(p), int(q)) for p, q in zip(w[a], w[b], strict=True))
        most = exp_below(traces.twice_beta * level) / nearer
        for t in range(3):
            ours, theirs = np.take(sums, a, axis=t).ravel(), np.take(sums, b, axis=t).ravel()
            assert np.all(theirs * most.denominator <= ours * most.numerator)
            if level > 0:
                ratio = max((y / x for x, y in zip(ours.tolist(), theirs.tolist(), strict=True)))
                loss = math.log(nearer) + math.log(ratio)
                worst = max(worst, loss / float(traces.twice_beta * level))
    assert n == SIDE * SIDE
    assert 0.6 < worst < 1


def test_the_law_of_the_program_keeps_the_bound_on_all_pairs_in_fractions() -> None:
    """Not the law on paper: the very doubles that the program draws from, with their rounding."""
    traces = mechanism(2, 3, step_minutes=60)
    n, steps = traces.metric.n, 2
    jump, keep = jump_of(traces), 1.0 - traces.jump
    every = list(product(range(n), repeat=steps))
    laws = {x: list(slow.drawn_law(passes_of(traces, x).steps(), jump, keep, every)) for x in every}
    assert all(sum(p) == 1 for p in laws.values())
    units = [traces.metric.distance_units_from(i) for i in range(n)]
    shares = []
    for x, y in product(every, every):
        apart = sum(int(units[a][b]) for a, b in zip(x, y, strict=True))
        most = exp_below(traces.twice_beta * Fraction(apart, 2**13))
        worst = max(p / q for p, q in zip(laws[x], laws[y], strict=True))
        assert worst <= most
        assert traces.bound(x, y) == pytest.approx(float(traces.twice_beta) * apart / 2**13, rel=1e-12)
        if apart:
            shares.append(math.log(worst) / (float(traces.twice_beta) * apart / 2**13))
    assert max(shares) > 0.6


def test_a_habit_from_true_places_breaks_the_bound_and_one_from_releases_does_not() -> None:
    traces = mechanism(3, 3, step_minutes=60)
    x, y = (0, 0, 0), (1, 0, 0)
    true_x, true_y = (Habit().after(trace, traces.step_s) for trace in (x, y))
    released = Habit().after((4, 4, 8), traces.step_s)

    def loss(past_x: Habit, past_y: Habit) -> float:
        law_x, law_y = (
            slow.law(trace, slow.weight_matrix(traces.metric, traces.weights), slow.exact(jump_of(traces, past)),
                     Fraction(1.0 - traces.jump))
            for trace, past in ((x, past_x), (y, past_y))
        )  # fmt: skip
        return max(abs(math.log(law_x[z] / law_y[z])) for z in law_x)

    assert loss(released, released) <= traces.bound(x, y)
    assert loss(true_x, true_y) > 2 * traces.bound(x, y)


@pytest.mark.parametrize("past", [Habit(), Habit({3: 1800, 700 % 576: 60})])
def test_rounding_stays_below_its_bound_where_sums_have_several_blocks(past: Habit) -> None:
    side = 24 if JIT else 5
    traces = mechanism(side, side, step_minutes=30)
    n = traces.metric.n
    rng = np.random.default_rng(5)
    trace = rng.integers(n, size=4)
    jump, keep = slow.exact(jump_of(traces, past)), Fraction(1.0 - traces.jump)
    passes = passes_of(traces, trace, past)
    weight = {
        int(x): [traces.weights.exact(int(d)) / traces.weights.exact(0) for d in traces.metric.distance_units_from(x)]
        for x in trace
    }
    a = [j * w for j, w in zip(jump, weight[int(trace[0])], strict=True)]
    for x in trace[1:]:
        total = sum(a)
        a = [(keep * v + j * total) * w for v, j, w in zip(a, jump, weight[int(x)], strict=True)]
    whole = sum(a)
    releases = [rng.integers(n, size=4).tolist() for _ in range(20)] + [[z, z, z, n - 1] for z in range(20)]
    eta = rounding_bound(4, n)
    drawn = slow.drawn_law(passes.steps(), jump_of(traces, past), 1.0 - traces.jump, releases)
    worst = Fraction(0)
    for released, chance in zip(releases, drawn, strict=True):
        true = slow.numerator(released, trace.tolist(), weight, jump, keep) / whole
        worst = max(worst, abs(chance / true - 1))
        assert traces.log_probability(released, trace, past) == pytest.approx(math.log(true), rel=1e-12)
    assert 0 < worst <= 2 * eta * (1 + 2 * eta)
    assert 4 * eta <= Fraction(1, 2**8) * traces.twice_beta / 2**13


def test_traces_at_distance_zero_are_released_with_the_very_same_bits() -> None:
    """The share that pays for rounding is nothing where the distance is: there must be nothing to pay for."""
    metric = small_metric("conformal", "uniform", rows=3, cols=3, l_top=0.5)
    from geoelastic.metric import Graph

    tail, tip, weight = metric.graph.edges()
    weight = np.where((tail == 0) & (tip == 1), 0, weight)
    from dataclasses import replace

    joined = replace(metric, graph=Graph.from_edges(metric.n, tail, tip, weight), scale=None, place=None, relief=None)
    traces = ge.TraceMechanism(ge.ElasticMechanism(joined), step_minutes=60)
    assert traces.bound([0, 0, 5], [1, 0, 5]) == 0
    ours, theirs = (passes_of(traces, trace).steps() for trace in ([0, 0, 5], [1, 0, 5]))
    for (row, total), (other, other_total) in zip(ours, theirs, strict=True):
        assert row.tobytes() == other.tobytes()
        assert total == other_total


def test_filter_does_each_operation_once_and_in_order() -> None:
    rng = np.random.default_rng(2)
    n = 1100 if JIT else 520
    before, jump = rng.random(n), rng.random(n) * 1e-3
    weights = np.stack([rng.random(n), 2.0 ** -rng.integers(500, 600, n).astype(float)])
    which = np.array([0, 1, 1, 0])
    out, sums, raised = np.empty((4, n)), np.empty(4), np.empty(4, np.int64)
    kernels.filter_steps(before, 0.7, weights, which, jump, 0.9, out, sums, raised)
    rows, slow_sums, slow_raised = slow.plain_filter(before, 0.7, weights, which.tolist(), jump, 0.9)
    assert out.tobytes() == rows.tobytes()
    assert sums.tolist() == slow_sums
    assert raised.tolist() == slow_raised
    assert max(slow_raised) >= 7
    assert kernels.block_sums(out[0]).tolist() == slow.plain_sums(rows[0])


def test_weights_of_a_row_are_those_of_the_whole_table_and_have_a_floor() -> None:
    traces = mechanism(step_minutes=60)
    table, period = traces.weights.table, traces.weights.period
    units = np.array([0, 1, period - 1, period, 7 * period + 3, 700 * period, 2**31 - 1], np.int32)
    out = np.empty(units.size)
    kernels.trace_weights(units, table, np.iinfo(np.int32).max, out)
    for d, value in zip(units[:5].tolist(), out[:5].tolist(), strict=True):
        assert Fraction(value) == traces.weights.exact(d) / 2**31
    assert out[5] == 2.0**-600
    assert out[6] == 0


@pytest.mark.no_cover
@pytest.mark.jit
def test_a_million_draws_follow_the_enumerated_law() -> None:
    """False-alarm rate 1e-7 (the toolbox's ALPHA): 343 outcomes, three steps, a habit."""
    traces = mechanism(1, 7, step_minutes=120)
    trace, past = (1, 1, 5), Habit({2: 7200})
    passes = passes_of(traces, trace, past)
    weight = slow.weight_matrix(traces.metric, traces.weights)
    law = slow.law(trace, weight, slow.exact(jump_of(traces, past)), Fraction(1.0 - traces.jump))
    source = FastRandom(11)
    counts = dict.fromkeys(law, 0)
    for _ in range(1_000_000):
        counts[tuple(passes.draw(source).tolist())] += 1
    assert_chi_square(list(counts.values()), [float(p) for p in law.values()])


class FastRandom:
    """Python's own generator: a million draws must not wait for SHA-256."""

    seeded = True

    def __init__(self, seed: int) -> None:
        self.below = random.Random(seed).randrange


def test_blocks_of_too_many_short_steps_are_refused() -> None:
    with pytest.raises(ge.InputError, match="a block must have at most"):
        require_room(100_000, 20_000, Fraction(1, 2) / 360)
    require_room(1440, 20_000, Fraction(1, 2) / 60)
    with pytest.raises(ge.InputError, match="'rate'"):
        mechanism(rate=-1)
    with pytest.raises(ge.InputError, match="whole number of seconds"):
        mechanism(step_minutes=Fraction(1, 7))
    with pytest.raises(ge.InputError, match="between"):
        mechanism(rate=200)
