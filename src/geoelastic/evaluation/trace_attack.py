# SPDX-License-Identifier: Apache-2.0
"""Attacks on files of released traces, judged by the truth; and the whole evaluation of traces, written to a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..levels import FloatArray, IntArray
from ..mechanism.elastic import ElasticMechanism
from ..progress import progress_bar
from ..sources.traces import Trace, read_traces
from ..store import write_bytes
from ..store.atomic import writing
from ..traces import Clock, Habit, Release, TraceMechanism
from .trace_adversaries import believe, home_by_bayes, home_by_mean, log_weights, mean_distance, nights_of, running_mean
from .trace_study import home_study, step_study, trace_study

__all__ = ["attack_releases", "evaluate_traces", "map_release"]

_WINDOWS = (3, 6, 12, 36, 72)
_DAY_S = 86_400
_LEAST_NIGHTS = 3


def attack_releases(
    mechanism: TraceMechanism, released: str | Path, truth: Sequence[str | Path], *, user: str | None = None
) -> dict[str, Any]:
    """What adversaries who know the mechanism make of a file of releases: errors in metres over its ticks, by user.

    Only the errors come out: nothing in the result tells a true place.
    """
    true = {trace.user: trace for trace in read_traces(*truth, user=user)}
    rows = []
    for trace in read_traces(released):
        owner = true.get(trace.user) or (next(iter(true.values())) if len(true) == 1 else None)
        if owner is not None:
            rows.append({"user": trace.user or owner.user} | _attack(mechanism, trace, owner))
    if not rows:
        raise InputError("the releases and the truth must be of the same people: no user is in both")
    return {"users": rows}


def map_release(
    mechanism: TraceMechanism, released: str | Path, truth: Sequence[str | Path], target: str | Path, *,
    user: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A page of one person's release beside the truth; the page is its owner's, readable by nobody else."""
    from ..figures.trace import trace_page

    owner, shown_trace = read_traces(*truth, user=user), read_traces(released, user=user)
    if len(owner) != 1 or len(shown_trace) != 1:
        raise InputError("a map is of one person: choose one with 'user'")
    location, shown, true_xy, step_s = _seen(mechanism, shown_trace[0], owner[0])
    guess, spread = _believed(mechanism, location, step_s)
    page = trace_page(
        mechanism.metric, title="A released trace", times_s=shown_trace[0].time_s, truth=true_xy, released=shown,
        belief=guess, spread_m=spread,
    )  # fmt: skip
    with writing(target, private=True) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return {"output": str(target), "ticks": len(shown_trace[0])}


def _seen(mechanism: TraceMechanism, released: Trace, truth: Trace) -> tuple[IntArray, FloatArray, FloatArray, float]:
    """Released locations, their places and the true ones in metres, and the step."""
    grid = mechanism.metric.grid
    fix = np.maximum(np.searchsorted(truth.time_s, released.time_s, side="right") - 1, 0)
    row, col = grid.latlon_to_cell(released.lat, released.lon)
    if np.any(row < 0):
        raise InputError("the releases must lie on this map")
    location = np.asarray(mechanism.metric.locations.owner[row, col], np.int64)
    step_s = float(np.median(np.diff(released.time_s))) if len(released) > 1 else float(mechanism.step_s)
    true_xy = np.column_stack(grid.area.to_xy(truth.lat[fix], truth.lon[fix]))
    return location, np.column_stack(grid.cell_to_xy(row, col)), true_xy, step_s


def _believed(mechanism: TraceMechanism, location: IntArray, step_s: float) -> tuple[FloatArray, FloatArray]:
    mass, xy = np.asarray(mechanism.metric.mass), np.asarray(mechanism.metric.xy)
    return believe(location, lambda z: log_weights(mechanism, z), mass / mass.sum(), xy, step_s=step_s)


def _attack(mechanism: TraceMechanism, released: Trace, truth: Trace) -> dict[str, Any]:
    location, shown, true_xy, step_s = _seen(mechanism, released, truth)
    guess, _ = _believed(mechanism, location, step_s)
    means = {w: mean_distance(running_mean(shown, w), true_xy) for w in _WINDOWS}
    found: dict[str, Any] = {
        "ticks": len(released),
        "release_m": mean_distance(shown, true_xy),
        "tracking_m": mean_distance(guess, true_xy),
        "running_mean_m": min(means.values()),
        "running_mean_ticks": min(means, key=lambda w: means[w]),
    }
    return found | _attack_home(mechanism, released, location, true_xy, step_s)


def _attack_home(
    mechanism: TraceMechanism, released: Trace, location: IntArray, true_xy: FloatArray, step_s: float
) -> dict[str, Any]:
    """Where the nights were spent, if there are several: the truth is the middle of the true nights."""
    offset = 3600.0 * round(float(np.median(released.lon)) / 15)
    hour = (released.time_s + offset) / 3600 % 24
    days = np.floor((released.time_s + offset) / _DAY_S)
    releases, pasts, past = list[Release](), list[Habit](), Habit()
    for day in np.unique(days):
        here = np.flatnonzero(days == day)
        clock = Clock(float(released.time_s[here[0]]), step_s, int(here.size))
        fence = np.asarray(mechanism.metric.fence, np.int64)[location[here]]
        releases.append(Release("", clock, location[here], released.lat[here], released.lon[here], fence))
        pasts.append(past)
        past = past.after(location[here].tolist(), round(step_s))
    nights = nights_of(releases, pasts, offset_s=offset)
    if len(nights) < _LEAST_NIGHTS:
        return {"nights": len(nights)}
    home = np.median(true_xy[hour < 6], axis=0)
    guesses = {"home_mean_m": home_by_mean(mechanism, nights), "home_bayes_m": home_by_bayes(mechanism, nights)}
    return {"nights": len(nights)} | {name: float(np.hypot(*(at - home))) for name, at in guesses.items()}


def evaluate_traces(
    mechanism: ElasticMechanism, sources: Sequence[str | Path], folder: str | Path, *,
    costs: Sequence[float] = (10.0, 20.0), most_days: int = 30, commuters: int = 8, progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """The whole evaluation: `traces.json` and `traces.md` in a folder; returns what they hold."""
    traces = read_traces(*sources)
    with progress_bar("traces", len(costs) + 2, show=progress) as bar:
        result = trace_study(mechanism, traces, costs=costs, most_days=most_days, bar=bar)
        bar.update(len(costs), note="steps of 1 and 10 minutes")
        result["steps"] = step_study(mechanism, traces, cost=costs[0], most_days=min(most_days, 3))
        bar.update(len(costs) + 1, note="homes of made-up commuters")
        result["homes"] = home_study(mechanism, cost=costs[0], commuters=commuters) if commuters else {}
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    files = {"json": out / "traces.json", "report": out / "traces.md"}
    write_bytes(files["json"], (json.dumps(result, indent=1) + "\n").encode())
    write_bytes(files["report"], ("\n".join(report_lines(result)) + "\n").encode())
    return result | {"files": {name: str(path) for name, path in files.items()}}


def report_lines(result: dict[str, Any]) -> list[str]:
    """The evaluation as Markdown."""
    lines = [
        "# Traces",
        f"{result['days']} days of {result['users']} people, {result['measured_days']} of them measured; in metres.",
        "",
        "| cost a day | mechanism | error | of the best sharpened clock | tracked | new places a day |",
        "|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        tracked = f"{row['tracked_m']:.0f} from {row['attacked_error_m']:.0f}" if "tracked_m" in row else ""
        places = f"{row['new_places']:.2f}" if "new_places" in row else ""
        lines.append(
            f"| {row['cost']:g} | {row['kind']} | {row['error_m']:.0f} | {row['of_best_clock']:.2f} | {tracked} "
            f"| {places} |"
        )
    steps, homes = result["steps"], result["homes"]
    lines += ["", f"Ticks of 1 and 10 minutes: {steps['1']:.0f} and {steps['10']:.0f} m, ratio {steps['ratio']:.3f}."]
    if homes:
        lines.append(
            f"Homes after {homes['nights']} nights by Bayes: {homes['no habit']['bayes_m']:.0f} m without habit, "
            f"{homes['habit']['bayes_m']:.0f} m with it ({homes['times_further']:.1f} times)."
        )
    return lines
