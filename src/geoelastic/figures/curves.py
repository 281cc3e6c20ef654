# SPDX-License-Identifier: Apache-2.0
"""Curves: two mechanisms side by side, from the centre of a city outwards."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import FloatArray
from .draw import INK, new_figure, to_png

_COLOURS = ("#d1495b", "#2e6f9e", "#66a182", "#8d6a9f")
_BINS = 14


def compare_png(
    distance_km: FloatArray, panels: Mapping[str, Mapping[str, FloatArray]], *, level_lines: Mapping[str, float]
) -> bytes:
    """One panel a quantity (its name is the axis label), one colour a mechanism; lines are medians, dots are places.

    `level_lines`: a horizontal line in the panels named, such as the mass that was promised.
    """
    figure = new_figure(4.9 * len(panels), 3.9)
    for axes, (label, series) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        for colour, (name, values) in zip(_COLOURS, series.items(), strict=False):
            axes.plot(distance_km, values, ".", color=colour, markersize=2.2, alpha=0.35)
            axes.plot(*_running_median(distance_km, values), "-", color=colour, linewidth=2.4, label=name)
        if label in level_lines:
            axes.axhline(level_lines[label], color=INK, linewidth=1, linestyle=":")
        axes.set_yscale("log")
        axes.set_xlabel("km from the centre")
        axes.set_title(label, loc="left", fontsize=10, fontweight="bold", color=INK)
        axes.grid(color="#e1e4e8", linewidth=0.6)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.legend(fontsize=8, frameon=False)
    return to_png(figure)


def _running_median(x: FloatArray, y: FloatArray) -> tuple[list[Any], list[Any]]:
    edges = np.linspace(x.min(), x.max(), _BINS + 1)
    middle, median = [], []
    for low, high in pairwise(edges):
        inside = (x >= low) & (x <= high)
        if np.count_nonzero(inside) >= 3:
            middle.append((low + high) / 2)
            median.append(np.median(y[inside]))
    return middle, median
