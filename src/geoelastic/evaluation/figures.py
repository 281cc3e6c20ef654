# SPDX-License-Identifier: Apache-2.0
"""The paper's figures from a study's numbers: mass map, error map, box plots of errors and of adversaries' errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..figures.draw import draw_picture, new_figure
from ..figures.picture import Picture, credit_of
from ..locations import Grid
from ..metric import AnyMetric
from ..store.atomic import writing

FORMATS = ("png", "svg", "pdf")
#: mechanism -> (label, colour)
LABELS = {
    "paper-run": ("EM, as the paper was run*", "#1b6ca8"), "paper": ("EM, cut, whole map*", "#4f8dbd"),
    "paper-box": ("EM, cut and in the box*", "#7ca6c9"), "elastic": ("EM, by mass", "#2e933c"),
    "elastic-mass-squared": ("EM, by mass squared", "#0b5d1e"), "sharpened": ("EM, sharpened", "#0f7b6c"),
    "elastic-uniform": ("EM, even output", "#9bc995"), "grid-2km": ("2 km grid*", "#8d6a9f"),
    "density": ("squares by density*", "#b8a1c4"), "guard-low": ("Location Guard low", "#f3b49f"),
    "guard-medium": ("Location Guard medium", "#ee8a6a"), "guard-high": ("Location Guard high", "#c43d17"),
}  # fmt: skip
LABELS |= {f"laplace={name}": ("PL, same utility", "#e4572e") for name in list(LABELS)}
#: expected errors of each location: (label, colour); maps show the last that there is
_ERRORS = {
    "paper_m": ("cut*", "#1b6ca8"), "elastic_m": ("by mass", "#2e933c"), "sharpened_m": ("sharpened", "#0f7b6c"),
}  # fmt: skip


def save_figure(figure: Any, folder: Path, name: str) -> list[str]:
    """The figure as PNG, SVG and PDF; names of the files."""
    for kind in FORMATS:
        with writing(folder / f"{name}.{kind}") as temporary:
            dated = {"Date": None} if kind == "svg" else {"CreationDate": None} if kind == "pdf" else {}
            figure.savefig(temporary, format=kind, metadata=dated)
    return [f"{name}.{kind}" for kind in FORMATS]


def label_axes(axes: Any, title: str, x: str, y: str) -> None:
    """A title, names of both axes and a faint grid."""
    axes.set_title(title, loc="left", fontweight="bold", fontsize=11)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)


def _window(metric: AnyMetric, cells: Any, margin: int) -> tuple[slice, slice, Grid]:
    """Rows, columns and grid of the smallest rectangle of cells around some cells."""
    row, col = np.divmod(cells, metric.grid.cols)
    r0, r1 = max(int(row.min()) - margin, 0), min(int(row.max()) + margin + 1, metric.grid.rows)
    c0, c1 = max(int(col.min()) - margin, 0), min(int(col.max()) + margin + 1, metric.grid.cols)
    return slice(r0, r1), slice(c0, c1), metric.grid.part(r0, c0, r1, c1)


def maps(metric: AnyMetric, study: dict[str, Any], area_cells: Sequence[Any]) -> Any:
    """Two maps of the areas: the mass of each cell, and the expected error E(x)."""
    credit = credit_of(metric.info)
    rows, cols, grid = _window(metric, np.concatenate(area_cells), 5)
    density = (metric.mass / metric.locations.area_cells)[metric.locations.owner]
    errors = np.full(metric.grid.shape, np.nan)
    inside = np.zeros(metric.grid.shape, dtype=np.int64)
    for k, (cells, part) in enumerate(zip(area_cells, study["areas"].values(), strict=True), start=1):
        found = part["errors"]
        step = int(found["step"])
        key = [key for key in _ERRORS if key in found][-1]
        for r, c, value in zip(found["row"], found["col"], found[key], strict=True):
            errors[r : r + step, c : c + step] = value
        inside.ravel()[cells] = k
    region = (inside[rows, cols],)
    shown = np.where(density > 0, density, np.nan)[rows, cols]
    figure = new_figure(14, 14 * grid.rows / grid.cols / 2 + 1.2)
    left, right = figure.subplots(1, 2)
    mass = Picture(grid, shown, "Privacy mass m(x)", "mass per cell", log=True, regions=region, credit=credit)
    draw_picture(left, mass)
    note = f"elastic mechanism, {_ERRORS[key][0]}"
    error = Picture(
        grid, errors[rows, cols], "Expected error E(x)", "metres", log=True, regions=region, note=note, credit=credit,
        backdrop=np.zeros(grid.shape),
    )  # fmt: skip
    draw_picture(right, error)
    return figure


def error_boxes(study: dict[str, Any]) -> Any:
    """The paper's box plot of the expected error of each location, per area."""
    names = list(study["areas"])
    groups = [
        (f"{name}\n{label}", study["areas"][name]["errors"][key], colour)
        for key, (label, colour) in _ERRORS.items()
        for name in names
        if key in study["areas"][name]["errors"]
    ]
    return _boxes(groups, "Expected error E(x) of each location", "metres", log=True)


def user_boxes(study: dict[str, Any], key: str, mechanisms: Sequence[str], title: str, unit: str) -> Any:
    """Per-user box plots of an adversary's error, areas side by side."""
    groups = [
        (f"{name}\n{LABELS[m][0]}", part["mechanisms"][m][key], LABELS[m][1])
        for name, part in study["areas"].items()
        for m in mechanisms
        if m in part["mechanisms"]
    ]
    return _boxes(groups, title, unit, log=False)


def _boxes(groups: Sequence[tuple[str, Any, str]], title: str, unit: str, *, log: bool) -> Any:
    figure = new_figure(max(6.0, 1.5 * len(groups)), 4.6)
    axes = figure.subplots()
    drawn = axes.boxplot(
        [np.asarray(values, dtype=float) for _, values, _ in groups], whis=(5, 95), showfliers=False, patch_artist=True,
        tick_labels=[label for label, _, _ in groups], medianprops={"color": "black"}, widths=0.6,
    )  # fmt: skip
    for box, (_, _, colour) in zip(drawn["boxes"], groups, strict=True):
        box.set_facecolor(colour)
        box.set_alpha(0.75)
    if log:
        axes.set_yscale("log")
    axes.set_title(title, loc="left", fontweight="bold", fontsize=11)
    axes.set_ylabel(unit)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="y", alpha=0.3)
    axes.set_xlabel("boxes: quartiles; whiskers: 5 % and 95 %; * no guarantee", fontsize=7, loc="left")
    return figure


def trade_off(study: dict[str, Any]) -> Any:
    """Every mechanism: expected distance of its report against the adversary's expected error, one panel an area."""
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    areas = study["areas"]
    figure = new_figure(5 * len(areas) + 2.6, 5)
    panels = np.atleast_1d(figure.subplots(1, len(areas)))
    for axes, (name, part) in zip(panels, areas.items(), strict=True):
        for m, result in part["mechanisms"].items():
            label, colour = LABELS[m]
            pair = f" as '{m.partition('=')[2]}'" if "=" in m else ""
            marker = "x" if not result["sound"] else "s" if pair else "o"
            axes.plot(
                result["expected_m"], result["euclidean_m"], marker, color=colour, markersize=8, label=label + pair
            )
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator([100, 200, 500, 1000, 2000, 5000, 10_000, 20_000]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        label_axes(axes, name, "expected distance of the report, m", "adversary's expected error, m")
    panels[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5), title="crosses: no guarantee")
    return figure


def recovery_curves(recovery: dict[str, Any]) -> Any:
    """Home recovery against the number of reports."""
    figure = new_figure(11, 4.2)
    left, right = figure.subplots(1, 2)
    for name, result in recovery["results"].items():
        left.errorbar(
            result["n"], result["recovered"], yerr=result["stderr_recovered"], marker="o", markersize=4, label=name
        )
        right.plot(result["n"], result["bayes_m"], marker="o", markersize=4, label=name)
    for axes, title, unit in (
        (left, "Home found (the very cell)", "probability"),
        (right, "Distance of the best guess", "metres"),
    ):
        axes.set_xscale("log")
        label_axes(axes, title, "reports from one place", unit)
    left.legend(fontsize=8)
    return figure
