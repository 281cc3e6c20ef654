# SPDX-License-Identifier: Apache-2.0
"""Verification from the graph alone: an edge list, masses, fences and the requirement. It shares no code with the
builders."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .. import _kernels as kernels
from ..arrays import BoolArray, IntArray
from ..levels import units_to_level
from ..progress import progress_bar
from ..store.digest import digest
from .any_metric import AnyMetric
from .metric import Metric
from .threads import in_parts

#: Locations whose whole ball is measured for the statistics of m(B_l)/req(l): one in `PROFILE_ONE_IN`, within these
#: bounds. The requirement itself is checked at every one.
PROFILE_ONE_IN, PROFILE_LEAST, PROFILE_MOST = 8, 1000, 4000
PROBES = 16


def verify(
    metric: AnyMetric,
    *,
    sample: int | None = None,
    only: Any = None,
    workers: int | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Check the requirement exactly, at every jump of every ball, for every secret location outside a fence (or
    `sample` of them).

    The result is the metric's certificate: `ok`, how many locations and levels were checked, violations, the ratio
    m(B_l)/req(l) (least over all; median, mean over places, mean over people, i.e. by mass, and by level, from l_from
    or a fifth of l_top on, at a stated number of locations), whether fences are closed, and a hash of graph and masses.
    `ok` is False if anything fails, or if a certificate that the metric carries was given for another graph.
    """
    begun = time.perf_counter()
    metric = metric.whole()
    tail, tip, level = metric.edge_units()
    table = metric.requirement.table(metric.l_from, metric.l_top)
    sources = np.flatnonzero(metric.secret & (metric.fence == 0)).astype(np.int32)
    if only is not None:
        sources = np.intersect1d(sources, only).astype(np.int32)
    if sample is not None and sample < sources.size:
        sources = sources[np.linspace(0, sources.size - 1, sample).astype(np.int64)]
    digest = _digest(metric, tail, tip, level)
    leaks, open_fences = _fence_faults(metric, tail, tip, level)
    graph = kernels.adjacency(metric.n, tail, tip, level)
    lowest = max(int(np.argmax(table > 0)), (table.size - 1) // 5)
    probes = np.unique(np.linspace(lowest, table.size - 1, PROBES).astype(np.int64))
    whole = _profiled(sources.size)

    def check(part: Any, all_of_it: bool) -> Any:
        return kernels.check_balls(*graph, metric.mass_units, table, part, probes, all_of_it)

    with progress_bar("verify", sources.size, show=progress) as bar:
        measured = in_parts(lambda part: check(part, True), sources[whole], workers=workers, bar=bar)
        done = int(np.count_nonzero(whole))
        checked = in_parts(lambda part: check(part, False), sources[~whole], workers=workers, bar=bar, done=done)
    least, holds = (np.concatenate([part[k] for part in measured + checked]) for k in (0, 2))
    violations = int(np.count_nonzero(~holds))
    stated = metric.certificate.get("graph_sha256", digest)
    return {
        "ok": violations == 0
        and leaks == 0
        and open_fences == 0
        and (sources.size > 0 or only is not None)
        and stated == digest,
        "checked": int(sources.size),
        "secret_outside_fences": int(np.count_nonzero(metric.secret & (metric.fence == 0))),
        "locations": metric.n,
        "edges": int(tail.size),
        "l_from": metric.l_from,
        "l_top": metric.l_top,
        "requirement": {k: v for k, v in metric.requirement.to_dict().items() if k not in ("levels", "masses")},
        "violations": violations,
        "ratio": _ratio(
            least, np.concatenate([part[3] for part in measured]), probes, metric.mass_units[sources[whole]]
        ),
        "fences": {"number": int(metric.fence.max(initial=0)), "leaking_edges": leaks, "not_closed": open_fences},
        "graph_sha256": digest,
        "same_graph_as_certified": stated == digest,
        "seconds": round(time.perf_counter() - begun, 2),
    }


def _profiled(n: int) -> BoolArray:
    """Which of n locations are measured whole: some, evenly spread."""
    some = min(n, max(PROFILE_LEAST, min(n // PROFILE_ONE_IN, PROFILE_MOST)))
    chosen = np.zeros(n, bool)
    chosen[np.linspace(0, max(n - 1, 0), some).astype(np.int64)] = True
    return chosen


def _ratio(least: Any, profile: Any, probes: IntArray, people: IntArray) -> dict[str, Any]:
    finite = least[np.isfinite(least)]
    by_location = np.nanmean(profile, axis=1) if profile.size else np.zeros(0)
    return {
        "min": float(finite.min()) if finite.size else None,
        "median": float(np.median(by_location)) if by_location.size else None,
        "mean": float(by_location.mean()) if by_location.size else None,
        "mean_by_mass": float(np.average(by_location, weights=people)) if people.any() else None,
        "profiled": int(by_location.size),
        "levels": [round(float(level), 4) for level in units_to_level(probes)],
        "by_level": [round(float(value), 4) for value in np.nan_to_num(profile).mean(axis=0)] if profile.size else [],
    }


def _fence_faults(metric: Metric, tail: Any, tip: Any, level: Any) -> tuple[int, int]:
    """Edges that cross a fence or have length inside one; fences whose locations the zero edges do not tie together."""
    crossing = metric.fence[tail] != metric.fence[tip]
    stretched = (metric.fence[tail] > 0) & ~crossing & (level > 0)
    zero = (metric.fence[tail] > 0) & ~crossing & (level == 0)
    parent = {int(v): int(v) for v in np.flatnonzero(metric.fence > 0)}

    def root(v: int) -> int:
        while parent[v] != v:
            parent[v] = parent[parent[v]]
            v = parent[v]
        return v

    for a, b in zip(tail[zero], tip[zero], strict=True):
        parent[root(int(a))] = root(int(b))
    pieces = len({root(v) for v in parent})
    fences = len(np.unique(metric.fence[metric.fence > 0]))
    return int(np.count_nonzero(crossing | stretched)), pieces - fences


def _digest(metric: Metric, *arrays: Any) -> str:
    return digest(*(np.asarray(array, "<i8") for array in (*arrays, metric.mass_units, metric.fence)))
