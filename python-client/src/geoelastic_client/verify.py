# SPDX-License-Identifier: Apache-2.0
"""A map is checked from its bytes alone: that every secret has its crowd at every level, and that reports keep to the
distances on every edge. No certificate is believed. Nothing is clever here: one search per place, sums of whole numbers
without rounding; minutes where compiled code takes seconds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any, Callable

from .claim import claim_words, facts_of
from .errors import InputError
from .graph import MASK, SHIFT, Search
from .mechanism import Elastic
from .metric import LEVEL_UNITS, graph_key
from .policy import README, required_units, short_of
from .weights import weights_hold

_TOGETHER = 64
#: Sums are exact; a logarithm and the products around it are good to a few units in the last place, far below this.
_MARGIN = 2.0**-27


def verify(
    mechanism: Elastic, *, require: Mapping[str, Any] | None = README, workers: int = 1,
    progress: Callable[[float], None] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Check a map: {ok, claim, facts, faults, short, least_ratio, edges, worst_edge}.

    The claim in plain words and as data, what does not hold, and in what it is less than the policy `require` (default:
    what geoelastic's README promises; None: it is enough if the map holds what it states itself). `workers`: processes.
    `progress`: told how much is done, from 0 to 1.
    """
    if workers < 1:
        raise InputError(f"'workers' must be a whole number >= 1, got {workers}")
    metric = mechanism.metric
    open_places = [i for i in range(metric.n) if not metric.fence[i]]
    secrets = [i for i in open_places if metric.is_secret(i)]
    summed = open_places if metric.sharpened else []
    told, work = [0], max(1, len(secrets) + len(summed))

    def done(count: int) -> None:
        told[0] += count
        if progress is not None:
            progress(told[0] / work)

    balls = list(_mapped(_check_balls, mechanism, secrets, workers, done))
    totals = [total for part in _mapped(_totals, mechanism, summed, workers, done) for total in part]
    edges, over, worst = _check_edges(mechanism, dict(zip(summed, totals)))
    without, least = sum(short for short, _ in balls), min((ratio for _, ratio in balls), default=math.inf)
    facts = facts_of(metric)
    faults = []
    if not facts["secrets"]:
        faults.append("no place can be a secret")
    if without:
        faults.append(f"{without:,} places have not the crowd that is required")
    if any(metric.fence[i] for i in range(metric.n) if metric.graph.arcs(i)):
        faults.append("a fence is not closed")
    if not weights_hold(mechanism.weights, mechanism.part):
        faults.append("the weights of reports fall too fast")
    digest = graph_key(metric)
    if metric.head["certificate"].get("graph_sha256", digest) != digest:
        faults.append("the graph is not the one that its certificate is about")
    if over:
        faults.append(f"reports may tell more than the length of an edge on {over:,} of them")
    short = short_of(README if require is None else require, facts, metric.head)
    return {
        "ok": not faults and (not short or require is None),
        "claim": claim_words(facts, faults, short, required=require is not None),
        "facts": facts, "faults": faults, "short": short,
        "least_ratio": least if math.isfinite(least) else None, "edges": edges, "worst_edge": worst,
    }  # fmt: skip


def _check_balls(mechanism: Elastic, sources: list[int]) -> tuple[int, float]:
    """At how many of these secrets some ball holds less than it must, and the least ratio of the two."""
    metric = mechanism.metric
    table = required_units(metric.head)
    top = len(table) - 1
    short, least = 0, math.inf
    for source in sources:
        search = Search(metric.graph, source)
        search.expand(top, enough=table[top], mass=metric.mass)
        inside, at, holds = 0, 0, True
        # a ball holds least just before the next location enters it
        for key in [*search.order, (top + 1) << SHIFT]:
            d = key >> SHIFT
            if d > at:
                if table[d - 1]:
                    holds = holds and inside >= table[d - 1]
                    least = min(least, inside / table[d - 1])
                at = d
            if d <= top:
                inside += metric.mass[key & MASK]
        short += not holds
    return short, least


def _totals(mechanism: Elastic, sources: list[int]) -> list[tuple[int, int]]:
    """S(x), the sum of measure x w(D) over all that can be reached: whole, in units of 2^-scale, and the scale."""
    metric, weights = mechanism.metric, mechanism.weights
    found = []
    for source in sources:
        search = Search(metric.reporting, source)
        search.expand()
        by_shell: dict[int, int] = {}
        for key in search.order:
            shell, place = divmod(key >> SHIFT, len(weights))
            by_shell[shell] = by_shell.get(shell, 0) + metric.measure[key & MASK] * weights[place]
        scale = max(by_shell)
        found.append((sum(part << (scale - shell) for shell, part in by_shell.items()), scale))
    return found


def _check_edges(mechanism: Elastic, totals: dict[int, tuple[int, int]]) -> tuple[int, int, float]:
    """w'(e) + |ln S(x) - ln S(y)| <= w(e) on every edge: how many there are, how many are over, the largest share."""
    metric = mechanism.metric
    # ends at distance 0 are so in w' too: all their distances are the same
    edges = [
        (i, metric.graph.index[a], metric.graph.weight[a], metric.reporting.weight[a])
        for i in totals
        for a in range(metric.graph.start[i], metric.graph.start[i + 1])
        if i < metric.graph.index[a] and metric.graph.weight[a]
    ]
    over, worst = 0, 0.0
    for i, j, full, low in edges:
        (a, scale_a), (b, scale_b) = totals[i], totals[j]
        a, b = a << max(0, scale_b - scale_a), b << max(0, scale_a - scale_b)
        ratio = max(a, b) / min(a, b) if a and b else math.inf
        share = (low + LEVEL_UNITS * math.log(ratio * (1 + _MARGIN))) / full
        worst = max(worst, share)
        over += not share <= 1
    return len(edges), over, worst


_shared: list[Elastic] = []


def _share(mechanism: Elastic) -> None:
    _shared[:] = [mechanism]


def _work(task: tuple[Callable[..., Any], list[int]]) -> Any:
    return task[0](_shared[0], task[1])


def _mapped(
    check: Callable[[Elastic, list[int]], Any], mechanism: Elastic, sources: list[int], workers: int,
    done: Callable[[int], None],
) -> Iterator[Any]:  # fmt: skip
    """`check` over the sources, some at a time, in their order."""
    parts = [sources[at : at + _TOGETHER] for at in range(0, len(sources), _TOGETHER)]
    with ExitStack() as stack:
        results: Iterable[Any] = (check(mechanism, part) for part in parts)
        if workers > 1:
            from concurrent.futures import ProcessPoolExecutor  # slow to import, and seldom asked for

            pool = stack.enter_context(ProcessPoolExecutor(workers, initializer=_share, initargs=(mechanism,)))
            results = pool.map(_work, [(check, part) for part in parts])
        for result, part in zip(results, parts):
            done(len(part))
            yield result
