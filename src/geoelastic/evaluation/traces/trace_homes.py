# SPDX-License-Identifier: Apache-2.0
"""Where is home? The strongest adversary there is, and one who has nothing but the release.

Both know the mechanism, its rate, its habit and every earlier release, and use Bayes' rule with the exact law of a
release: ln P(Z | home) is the sum of ln w(d(home, Z_t)) over the ticks at home, less ln S of the trace with that home.
The *informed* one is also told at which ticks the person was at home and where at all the others: nobody can know
more. The other takes each night (local hours 0 to 6) as a trace of its own, spent at home. A released place that only
repeats the habit is likely from many homes, and says so through S.

The guess is the point with the least expected distance from the home.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ... import _kernels as kernels
from ...arrays import BoolArray, FloatArray, IndexArray, IntArray
from ...levels import LEVEL_UNIT, LN2, UNREACHABLE
from ...mechanism.elastic import ElasticMechanism
from ...mechanism.remap import best_guess
from ...metric.threads import worker_count
from ...traces import Habit, Release
from ...traces.live import LiveTrace
from ...traces.mechanism import TraceMechanism
from ...traces.release import jump_measure

_NIGHT_HOURS = (0.0, 6.0)
#: Candidates for a home, the best by a first look; beyond e^-_LEAST of the best one nothing is left to find.
_CANDIDATES = 400
_LEAST = 14.0


@dataclass(frozen=True, eq=False)
class Told:
    """A piece of a release as an adversary sees it: released locations, those of the ticks that were `at_home`, the
    true locations at the others, and the habit before."""

    released: IntArray
    at_home: BoolArray
    places: IntArray
    past: Habit


def nights_of(releases: Sequence[Release], pasts: Sequence[Habit], *, offset_s: float) -> list[Told]:
    """The night of each released day, as one who was told nothing takes it."""
    found = []
    for release, past in zip(releases, pasts, strict=True):
        hour = (release.clock.ticks + offset_s) / 3600 % 24
        inside = release.location[(hour >= _NIGHT_HOURS[0]) & (hour < _NIGHT_HOURS[1]) & (release.fence == 0)]
        if inside.size:
            found.append(Told(inside, np.ones(inside.size, bool), inside, past))
    return found


def home_by_mean(mechanism: TraceMechanism, pieces: Sequence[Told]) -> FloatArray:
    """The middle (by coordinates) of what was released while at home, tick by tick."""
    seen = np.concatenate([piece.released[piece.at_home] for piece in pieces])
    return np.asarray(np.median(mechanism.metric.xy[seen], axis=0), np.float64)


def homes_by_bayes(
    mechanism: TraceMechanism, pieces: Sequence[Told], after: Sequence[int], prior: npt.ArrayLike | None = None
) -> list[FloatArray]:
    """The best guesses after so many of the pieces. `prior`: one number per location [default: the mass]."""
    candidates, beliefs = home_beliefs(mechanism, pieces, after, prior)
    return [np.array(best_guess(mechanism.metric.xy[candidates], belief), np.float64) for belief in beliefs]


def home_beliefs(
    mechanism: TraceMechanism, pieces: Sequence[Told], after: Sequence[int], prior: npt.ArrayLike | None = None
) -> tuple[IntArray, list[FloatArray]]:
    """Candidates for the home and their posteriors after so many of the pieces: exact, but for homes that are not among
    the best `_CANDIDATES` by a first look."""
    prior = mechanism.metric.mass if prior is None else np.asarray(prior, np.float64)
    with np.errstate(divide="ignore"):
        before = np.log(np.where(np.asarray(mechanism.metric.secret), prior, 0.0))
    looks = before + np.cumsum([_first_look(mechanism, piece) for piece in pieces], axis=0)
    candidates = np.unique(np.concatenate([_best(looks[count - 1]) for count in after]))
    rows = mechanism.searches(candidates)
    threads = worker_count(None)

    def logs_of(law: _Piece) -> FloatArray:
        parts = [[rows[int(h)] for h in part] for part in np.array_split(candidates, threads)]
        return np.concatenate(list(pool.map(law.logs, parts)))

    with ThreadPoolExecutor(threads) as pool:
        exact = before[candidates] + np.cumsum([logs_of(_Piece(mechanism, piece)) for piece in pieces], axis=0)
    beliefs = [np.exp(exact[count - 1] - exact[count - 1].max()) for count in after]
    return candidates, [belief / belief.sum() for belief in beliefs]


def _best(look: FloatArray) -> IntArray:
    order = np.argsort(-look)[:_CANDIDATES]
    return np.asarray(order[look[order] > look[order[0]] - _LEAST], np.int64)


def _first_look(mechanism: TraceMechanism, piece: Told) -> FloatArray:
    """About ln P(Z | home) of every location, as if the ticks at home were a trace of their own that never moved, on a
    map whose balls hold just what they must by default: there the mass within level l is the same everywhere."""
    seen, counts = np.unique(piece.released[piece.at_home], return_counts=True)
    logs = np.zeros(mechanism.metric.n)
    if not seen.size:
        return logs
    beta, past = float(mechanism.weights.exponent), piece.past.seconds
    strength, known = beta * int(counts.sum()), sum(past.values())
    rows = mechanism.searches(np.unique(np.concatenate([seen, np.array(list(past), np.int64)])))
    habit = mechanism.habit if known else 0.0
    units = 2 / (strength * LN2) ** 2
    sums = np.full(mechanism.metric.n, (1 - habit) * units / float(mechanism.metric.mass.sum()))
    for z, seconds in past.items():
        sums += habit * (seconds / max(known, 1)) * np.exp(-strength * LEVEL_UNIT * rows[z])
    for z, count in zip(seen.tolist(), counts.tolist(), strict=True):
        logs -= beta * count * LEVEL_UNIT * np.where(rows[z] == UNREACHABLE, np.inf, rows[z])
    return np.asarray(logs - np.log(sums), np.float64)


def _weights(mechanism: TraceMechanism, locations: IntArray) -> FloatArray:
    """w(d(x, z)) of every place z, a row for each of the locations x."""
    rows, weights = mechanism.searches(locations), np.empty((len(locations), mechanism.metric.n))
    for k, location in enumerate(locations.tolist()):
        kernels.trace_weights(rows[location], mechanism.weights.table, UNREACHABLE, weights[k])
    return weights


class _Piece:
    """ln P(Z | home) of one piece, up to a constant, for any home."""

    def __init__(self, mechanism: TraceMechanism, piece: Told) -> None:
        away, which = np.unique(piece.places[~piece.at_home], return_inverse=True)
        self._weights = np.vstack([np.empty(mechanism.metric.n), _weights(mechanism, away)])
        self._which = np.zeros(piece.released.size, np.int64)
        self._which[~piece.at_home] = which.ravel() + 1
        self._seen = piece.released[piece.at_home]
        inside = np.flatnonzero(mechanism.parts == mechanism.parts[piece.released[0]])
        self._jump = jump_measure(mechanism.measure, inside, piece.past, habit=mechanism.habit, jump=mechanism.jump)
        self._keep, self._table = 1.0 - mechanism.jump, mechanism.weights.table

    def logs(self, rows: Sequence[IndexArray]) -> FloatArray:
        """One number per row of distances from a home."""
        weights, found = self._weights.copy(), np.empty(len(rows))
        for k, row in enumerate(rows):
            kernels.trace_weights(row, self._table, UNREACHABLE, weights[0])
            seen = float(np.log(weights[0][self._seen]).sum())
            start = np.zeros(self._jump.size)
            found[k] = seen - kernels.filter_sum(start, 1.0, weights, self._which, self._jump, self._keep)
        return found


@dataclass(frozen=True, eq=False)
class HomeTicks:
    """The law of a tick of live reports from each of some locations: w(d(x, z)) times the measure of jumps, which
    is in part the habit, a few places; so the sums over all reports are kept up place by place."""

    traces: TraceMechanism
    weights: FloatArray
    measure: FloatArray
    sums: FloatArray

    @classmethod
    def of(cls, mechanism: ElasticMechanism, locations: IntArray) -> HomeTicks:
        traces = LiveTrace(mechanism).mechanism
        weights = _weights(traces, locations)
        inside = np.flatnonzero(traces.parts == traces.parts[locations[0]])
        measure = jump_measure(traces.measure, inside, Habit(), habit=traces.habit, jump=traces.jump)
        return cls(traces, weights, measure, weights @ measure)


class LiveHome:
    """What one person's live reports have told so far: the seconds at each released place, and the last."""

    def __init__(self, ticks: HomeTicks) -> None:
        self._ticks, self._seconds, self._last = ticks, dict[int, int](), -1
        self._usual = np.zeros(len(ticks.sums))  # sum over the habit of w(d(x, z)), by the seconds there

    def _parts(self) -> FloatArray:
        """What of the sum over all reports is the measure's, the habit's and the last place's: (3, locations)."""
        ticks, traces = self._ticks, self._ticks.traces
        if not self._seconds:
            return np.stack([ticks.sums, 0 * ticks.sums, 0 * ticks.sums])
        usual = traces.jump * traces.habit
        habit = usual * (1 - traces.on_last) / sum(self._seconds.values()) * self._usual
        last = usual * traces.on_last * ticks.weights[:, self._last]
        return np.stack([(1 - traces.habit) * ticks.sums, habit, last])

    def logs(self, z: int) -> FloatArray:
        """ln of the likelihood of a tick at z, by location, up to what is the same for all."""
        found: FloatArray = np.log(self._ticks.weights[:, z]) - np.log(self._parts().sum(axis=0))
        return found

    def draw(self, row: int, rng: np.random.Generator) -> int:
        """A tick from the location `row`: which part of the law, then a place of it."""
        parts = self._parts()[:, row]
        part = rng.choice(3, p=parts / parts.sum())
        if part == 2:
            return self._last
        weights = self._ticks.weights[row]
        if part == 0:
            chances = weights * self._ticks.measure
            return int(rng.choice(chances.size, p=chances / chances.sum()))
        places = np.array(list(self._seconds))
        chances = weights[places] * np.array(list(self._seconds.values()))
        return int(rng.choice(places, p=chances / chances.sum()))

    def say(self, z: int) -> None:
        """One more tick at z, which everybody knows from now on."""
        step = int(self._ticks.traces.step_s)
        self._seconds[z] = self._seconds.get(z, 0) + step
        self._usual += step * self._ticks.weights[:, z]
        self._last = z
