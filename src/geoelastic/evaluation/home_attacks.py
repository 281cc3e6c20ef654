# SPDX-License-Identifier: Apache-2.0
"""Attacks on the home of somebody who uses a map as it comes: many ways to report, and adversaries who know more.

The candidates are the cells of a square, as likely as they have mass; homes are drawn from them. Every adversary knows
the mechanism and everything public, and uses Bayes' rule with the exact law of what he sees; his guess is the candidate
with the least expected distance. Only what is seen is simulated, with a named seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..mechanism.elastic import ElasticMechanism
from ..metric import AnyMetric
from ..randomness import SeededRandom
from ..traces import Habit, TraceMechanism
from .attacks import home_fence, home_prior
from .elastic_channel import reporting_channel
from .prior import Prior, metres_between
from .study_areas import StudyArea
from .traces.trace_homes import HomeTicks, LiveHome, Told, home_beliefs


@dataclass(frozen=True, eq=False)
class HomeScene:
    """A mechanism, candidates with their prior, and ln K of every report from every candidate's location."""

    mechanism: ElasticMechanism
    prior: Prior
    row_of_place: IntArray
    rows: FloatArray
    logs: FloatArray
    apart_m: FloatArray

    @classmethod
    def of(cls, metric: AnyMetric, prior: Prior) -> HomeScene:
        mechanism = ElasticMechanism(metric)
        channel = reporting_channel(metric, prior)
        rows = channel.row(np.arange(channel.n_inputs))
        with np.errstate(divide="ignore"):
            logs = np.log(rows)
        return cls(mechanism, prior, channel.row_of_place, rows, logs, metres_between(prior.xy, prior.xy))

    def draw(self, home: int, rng: np.random.Generator, size: int) -> IntArray:
        row = self.rows[self.row_of_place[home]]
        return rng.choice(row.size, size=size, p=row / row.sum())

    def seen(self, reports: IntArray) -> FloatArray:
        """ln of the likelihood of these reports, by candidate."""
        total: FloatArray = self.logs[:, reports].sum(axis=1)[self.row_of_place]
        return total

    def judge(self, logs: FloatArray, home: int, *, prior: FloatArray | None = None) -> tuple[float, float]:
        """(chance that the likeliest candidate is the home, metres between the best guess and the home)."""
        with np.errstate(divide="ignore"):
            score = logs + np.log(self.prior.weights if prior is None else prior)
        belief = np.exp(score - score.max())
        best = np.flatnonzero(score >= score.max() - 1e-9)
        guess = int(np.argmin(belief @ self.apart_m))
        return float((home in best) / len(best)), float(self.apart_m[guess, home])


_SEED = 0
#: A night of the trace mechanism: hours at home, drawn at once.
_NIGHT_TICKS = 36
#: How far from work people live: chances fall like e^(-metres / this).
_COMMUTE_M = 3000.0
#: Neighbours of a fence live within so many cells of it.
_NEIGHBOUR_CELLS = 3


class _AttackTable:
    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, attack: str, seen: str, found: Sequence[tuple[float, float]], **more: Any) -> None:
        hit, metres = np.array(found).T
        error = float(metres.std(ddof=1) / np.sqrt(len(metres))) if len(metres) > 1 else 0.0
        self.rows.append(
            {"attack": attack, "seen": seen, "guess_off_m": round(float(metres.mean())), "stderr_m": round(error),
             "found": round(float(hit.mean()), 3)} | more
        )  # fmt: skip


def attack_rows(
    metric: AnyMetric, area: StudyArea, *, second: AnyMetric | None = None, people: int = 400, nights_of: int = 40,
    reports: Sequence[int] = (1, 10, 100), nights: int = 5, tell: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:  # fmt: skip
    """One row an attack: what is seen, how far off the best guess is, how often the very cell is found.

    `people` have homes drawn by the prior that the adversary holds; only the first `nights_of` of them are traced.
    """
    scene = HomeScene.of(metric, home_prior(metric, area))
    secret = metric.secret[metric.locations.owner.ravel()[scene.prior.cell]]
    chances = np.where(secret, scene.prior.weights, 0.0)
    homes = np.random.default_rng(_SEED).choice(scene.prior.n_places, size=people, p=chances / chances.sum())
    table = _AttackTable()
    attacks: tuple[tuple[str, Callable[[], None]], ...] = (
        ("fresh", lambda: _fresh(table, scene, homes, reports)),
        ("live", lambda: _live(table, scene, homes, reports[-1])),
        ("traced", lambda: _traced(table, scene, homes[:nights_of], nights)),
        ("work", lambda: _work(table, scene, people, reports)),
        ("two maps", lambda: _two_maps(table, scene, second, homes)),
        ("neighbours", lambda: _neighbours(table, scene, int(homes[0]), people, reports)),
    )
    for name, attack in attacks:
        tell(name)
        attack()
    return table.rows


def _fresh(table: _AttackTable, scene: HomeScene, homes: IntArray, reports: Sequence[int]) -> None:
    rng = np.random.default_rng(_SEED)
    cases = [(home, scene.draw(home, rng, reports[-1])) for home in homes.tolist()]
    none = np.zeros(scene.prior.n_places)
    table.add("nothing is reported", "nothing", [scene.judge(none, home) for home, _ in cases])
    for n in reports:
        found = [scene.judge(scene.seen(seen[:n]), home) for home, seen in cases]
        table.add("the default, a fresh report each time", f"{n} from home", found)
    found = [scene.judge(scene.seen(seen[:1]), home) for home, seen in cases]
    table.add("sticky reports", f"{reports[-1]} from home, all the same", found)


def _live(table: _AttackTable, scene: HomeScene, homes: IntArray, ticks: int) -> None:
    """`LiveTrace` at home, one tick after the other: its own law, with the habit that everybody sees grow."""
    owner = scene.mechanism.metric.locations.owner.ravel()[scene.prior.cell]
    home_ticks = HomeTicks.of(scene.mechanism, np.unique(owner).astype(np.int64))
    rng = np.random.default_rng(_SEED)
    marks = sorted({min(12, ticks), ticks})
    found: dict[int, list[tuple[float, float]]] = {mark: [] for mark in marks}
    for home in homes.tolist():
        told, logs = LiveHome(home_ticks), np.zeros(len(home_ticks.sums))
        for tick in range(1, ticks + 1):
            z = told.draw(int(scene.row_of_place[home]), rng)
            logs += told.logs(z)
            told.say(z)
            if tick in found:
                found[tick].append(scene.judge(logs[scene.row_of_place], home))
    for mark in marks:
        table.add("live reports, a tick every two hours", f"{mark} ticks at home", found[mark])


def _traced(table: _AttackTable, scene: HomeScene, homes: IntArray, nights: int) -> None:
    """Whole nights at home through the trace mechanism, with habit, before one who knows when they are."""
    traces = TraceMechanism(scene.mechanism)
    metric, owner = scene.mechanism.metric, scene.mechanism.metric.locations.owner.ravel()
    by_location = np.bincount(owner[scene.prior.cell], weights=scene.prior.weights, minlength=metric.n)
    marks = sorted({1, nights})
    found: dict[int, list[tuple[float, float]]] = {mark: [] for mark in marks}
    rng = SeededRandom(_SEED)
    for home in homes.tolist():
        at, past, pieces = int(owner[scene.prior.cell[home]]), Habit(), []
        for _ in range(nights):
            release = traces.release([at] * _NIGHT_TICKS, past, rng)
            pieces.append(Told(release.location, np.ones(_NIGHT_TICKS, bool), release.location, past))
            past = past.after(release.location.tolist(), traces.step_s)
        candidates, beliefs = home_beliefs(traces, pieces, marks, by_location)
        for mark, belief in zip(marks, beliefs, strict=True):
            spread = np.zeros(metric.n)
            spread[candidates] = belief / np.maximum(by_location[candidates], 1e-300)
            with np.errstate(divide="ignore"):
                found[mark].append(scene.judge(np.log(spread[owner[scene.prior.cell]]), home))
    for mark in marks:
        table.add("traced: nights of six hours at home", f"{mark} night{'s' * (mark > 1)}", found[mark])


def _work(table: _AttackTable, scene: HomeScene, cases: int, reports: Sequence[int]) -> None:
    """One who knows where a person works, and that people live near their work."""
    rng = np.random.default_rng(_SEED)
    works = rng.choice(scene.prior.n_places, size=cases, p=scene.prior.weights)
    priors = [scene.prior.weights * np.exp(-scene.apart_m[work] / _COMMUTE_M) for work in works]
    priors = [prior / prior.sum() for prior in priors]
    homes = [int(rng.choice(scene.prior.n_places, p=prior)) for prior in priors]
    seen = [scene.draw(home, rng, reports[-2]) for home in homes]
    none = np.zeros(scene.prior.n_places)
    for n in (0, *reports[:-1]):
        for name, known in (("knows the place of work", priors), ("does not know it", [scene.prior.weights] * cases)):
            found = [
                scene.judge(scene.seen(z[:n]) if n else none, home, prior=prior)
                for home, z, prior in zip(homes, seen, known, strict=True)
            ]
            table.add(f"lives near work; the adversary {name}", f"{n} from home" if n else "nothing", found)


def _two_maps(table: _AttackTable, scene: HomeScene, second: AnyMetric | None, homes: IntArray) -> None:
    """A report through each of two maps of the same land, beside two through one: d adds up over maps as well."""
    if second is None:
        return
    other = HomeScene.of(second, scene.prior)
    rng = np.random.default_rng(_SEED)
    cases = [(home, scene.draw(home, rng, 2), other.draw(home, rng, 2)) for home in homes.tolist()]
    ways: tuple[tuple[str, Callable[[IntArray, IntArray], FloatArray]], ...] = (
        ("two reports through one map", lambda a, b: scene.seen(a)),
        ("two reports through another map", lambda a, b: other.seen(b)),
        ("a report through each of the two", lambda a, b: scene.seen(a[:1]) + other.seen(b[:1])),
    )
    for name, seen in ways:
        table.add(name, "2 from home", [scene.judge(seen(a, b), home) for home, a, b in cases])


def _neighbours(table: _AttackTable, scene: HomeScene, home: int, people: int, reports: Sequence[int]) -> None:
    """Those who live next to somebody's fence: what reports tell of them with it and without."""
    metric, prior = scene.mechanism.metric, scene.prior
    fenced = metric.with_fences([home_fence(metric, int(prior.cell[home]))])
    inside = fenced.fence[fenced.locations.owner.ravel()[prior.cell]] > 0
    secret = fenced.secret[fenced.locations.owner.ravel()[prior.cell]]
    reach = scene.apart_m[:, inside].min(axis=1)
    next_door = np.flatnonzero(~inside & secret & (reach <= _NEIGHBOUR_CELLS * metric.grid.cell_m))
    after = HomeScene.of(fenced, prior)
    for name, world in (("without the fence", scene), ("with it", after)):
        rng = np.random.default_rng(_SEED)
        cases = [(h, world.draw(h, rng, reports[-2])) for h in rng.choice(next_door, size=people).tolist()]
        owner = world.mechanism.metric.locations.owner.ravel()
        errors = [world.mechanism.expected_error(int(i)) for i in np.unique(owner[prior.cell[next_door]])]
        for n in reports[:-1]:
            found = [world.judge(world.seen(seen[:n]), h) for h, seen in cases]
            table.add(
                f"neighbours of a fence, {name}", f"{n} from home", found, report_off_m=round(float(np.mean(errors)))
            )
