# SPDX-License-Identifier: Apache-2.0
"""The whole evaluation of traces, written to a folder: numbers, a report, figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...figures.draw import new_figure
from ...mechanism.elastic import ElasticMechanism
from ...progress import progress_bar
from ...sources.traces import read_traces
from ...store import write_bytes
from ..figures import label_axes, save_figure
from .trace_study import home_study, step_study, trace_study

_STEP_DAYS = 2
#: kind -> colour
_COLOURS = {
    "clock": "#f3b49f",
    "clock, sharpened": "#e4572e",
    "predictive": "#c9b6d6",
    "predictive, sharpened": "#8d6a9f",
    "trace": "#4f8dbd",
    "trace, 24 h, habit": "#0f7b6c",
    "trace, 8 h, habit": "#8cc5b8",
}
_BY_HOUR = ("clock, sharpened", "predictive, sharpened", "trace", "trace, 24 h, habit")


def evaluate_traces(
    mechanism: ElasticMechanism, sources: Sequence[str | Path], folder: str | Path, *,
    costs: Sequence[float] = (10.0, 20.0), most_days: int | None = None, commuters: int = 24, lat: str | None = None,
    lon: str | None = None, progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """The whole evaluation: `traces.json`, `traces.md` and figures in a folder; returns what the first holds."""
    traces = read_traces(*sources, lat=lat, lon=lon)
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    with progress_bar("traces", len(costs) + 2, show=progress) as bar:
        result = trace_study(mechanism, traces, costs=costs, most_days=most_days, bar=bar)
        bar.update(len(costs), note="steps of 1 and 10 minutes")
        result["steps"] = step_study(mechanism, traces, cost=costs[0], most_days=_STEP_DAYS)
        result["homes"] = {}
        if commuters:
            result["homes"] = home_study(
                mechanism, cost=costs[0], commuters=commuters,
                tell=lambda done: bar.update(len(costs) + 1 + done, note="homes of made-up commuters"),
            )  # fmt: skip
    figures = [name for name, figure in _figures(result) for name in save_figure(figure, out, name)]
    files = {"json": out / "traces.json", "report": out / "traces.md"}
    write_bytes(files["json"], (json.dumps(result, indent=1) + "\n").encode())
    lines = [*report_lines(result), "", *(f"![{name}]({name})" for name in figures if name.endswith(".png"))]
    write_bytes(files["report"], ("\n".join(lines) + "\n").encode())
    return result | {"files": {name: str(path) for name, path in files.items()}, "figures": figures}


def report_lines(result: dict[str, Any]) -> list[str]:
    """The evaluation as Markdown."""
    steps = result["steps"]
    lines = [
        "# Traces",
        f"{result['days']} days of {result['users']} people, {result['measured_days']} of them measured and the others "
        "to tune on; metres.",
        "",
        "| cost a day | mechanism | error | median day | of the best sharpened clock | by person | tracked "
        "| running mean | new places a day |",
        "|---|---|---|---|---|---|---|---|---|",
        *map(_line, result["rows"]),
        "",
        f"Ticks of 1 and 10 minutes: {steps['1']:.0f} and {steps['10']:.0f} m, ratio {steps['ratio']:.3f}.",
    ]
    if homes := result["homes"]:
        lines += ["", *_home_lines(homes)]
    return lines


def _line(row: dict[str, Any]) -> str:
    users = ", ".join(f"{error:.0f}" for error in row["users"].values())
    more = ["", "", ""]
    if "tracked_m" in row:
        more = [
            f"{row['tracked_m']:.0f} from {row['attacked_error_m']:.0f}",
            f"{row['running_mean_m']:.0f}",
            f"{row['new_places']:.2f} ({', '.join(f'{n:.2f}' for n in row['new_places_users'].values())})",
        ]
    cells = [
        f"{row['cost']:g}", row["kind"], f"{row['error_m']:.0f}", f"{row['median_m']:.0f}",
        f"{row['of_best_clock']:.2f}", users, *more,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _home_lines(homes: dict[str, Any]) -> list[str]:
    lines = [
        f"Homes of {homes['people']} made-up commuters, cost {homes['cost']:g} a day: metres between guess and home.",
        "",
        f"| nights | {' | '.join(str(count) for count in homes['after'])} |",
        "|" + "---|" * (len(homes["after"]) + 1),
    ]
    for name in ("no habit", "habit"):
        for key, who in (
            ("mean_m", "middle of the nights"), ("bayes_m", "Bayes, nights"), ("informed_m", "Bayes, told all but home")
        ):  # fmt: skip
            lines.append(f"| {name}: {who} | {' | '.join(f'{m:.0f}' for m in homes[name][key])} |")
    return [
        *lines,
        "",
        f"With habit the last is {homes['times_further']:.2f} times as far off after {homes['after'][-1]} nights "
        f"(standard error {homes['times_further_se']:.2f}); releases are off by {homes['no habit']['release_m']:.0f} m "
        f"without habit and {homes['habit']['release_m']:.0f} m with it.",
    ]


def _figures(result: dict[str, Any]) -> list[tuple[str, Any]]:
    found = [("errors", _errors(result["rows"])), ("hours", _hours(result["rows"]))]
    return [*found, ("homes", _homes(result["homes"]))] if result["homes"] else found


def _panels(rows: Sequence[dict[str, Any]], title: str) -> Any:
    """A figure, and for each cost its panel with the rows that belong there."""
    costs = sorted({row["cost"] for row in rows})
    figure = new_figure(5.2 * len(costs), 3.8)
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
    panels = np.atleast_1d(figure.subplots(1, len(costs)))
    for axes, cost in zip(panels, costs, strict=True):
        axes.set_title(f"cost {cost:g} a day", loc="left", fontsize=9)
        axes.grid(alpha=0.3)
        axes.set_axisbelow(True)
    return figure, [(axes, [row for row in rows if row["cost"] == c]) for axes, c in zip(panels, costs, strict=True)]


def _errors(rows: Sequence[dict[str, Any]]) -> Any:
    figure, panels = _panels(rows[::-1], "Mean error on days that nothing was tuned on")
    for axes, shown in panels:
        bars = axes.barh(
            [row["kind"] for row in shown], [row["error_m"] for row in shown],
            color=[_COLOURS[row["kind"]] for row in shown],
        )  # fmt: skip
        axes.bar_label(bars, fmt="%.0f", padding=3, fontsize=8)
        axes.margins(x=0.12)
        axes.set_xlabel("metres")
    return figure


def _hours(rows: Sequence[dict[str, Any]]) -> Any:
    figure, panels = _panels(rows, "Mean error over the day")
    for axes, shown in panels:
        for row in shown:
            if row["kind"] in _BY_HOUR:
                axes.plot(np.arange(24) + 0.5, row["hours"], color=_COLOURS[row["kind"]], label=row["kind"])
        axes.set_xticks(range(0, 25, 6))
        axes.set_ylim(bottom=0)
        axes.set_xlabel("hour of the day")
        axes.set_ylabel("metres")
    panels[0][0].legend(fontsize=8)
    return figure


def _homes(homes: dict[str, Any]) -> Any:
    figure = new_figure(6, 3.8)
    axes = figure.subplots()
    for name, colour in (("no habit", "#e4572e"), ("habit", "#0f7b6c")):
        found = homes[name]
        axes.errorbar(
            homes["after"], found["informed_m"], yerr=found["informed_se_m"], marker="o", capsize=3, color=colour,
            label=f"{name}, told all but the home",
        )  # fmt: skip
        axes.plot(homes["after"], found["bayes_m"], ":", marker="x", color=colour, label=f"{name}, the nights alone")
    axes.set_ylim(bottom=0)
    axes.set_xticks(homes["after"])
    label_axes(axes, f"Where {homes['people']} made-up commuters live", "nights", "metres between guess and home")
    axes.legend(fontsize=8)
    return figure
