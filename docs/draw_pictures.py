# SPDX-License-Identifier: Apache-2.0
"""The pictures of the explanation pages, from made-up maps: `.venv/bin/python docs/draw_pictures.py [FOLDER]`.

- guarantee.png: the crowd within a level, on the map and against what is required;
- sharpening.png: heights along a line through a city, and how much of each edge reports use;
- limit.png: how far reports fall in an even plane, beside the best possible.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import geoelastic as ge
from geoelastic.figures.draw import INK, new_figure, to_png
from geoelastic.levels import LEVEL_UNIT, LN2
from geoelastic.quality import synthetic_quality

RED, BLUE, GREEN = "#d1495b", "#2e6f9e", "#66a182"
#: Metres within which a unit of mass is, on average in the city.
UNIT_M = 300


def built(name: str, side: int) -> Any:
    """The default metric of a made-up map."""
    return ge.build_metric(ge.mass_from_quality(synthetic_quality(name, rows=side, cols=side)))


def titled(axes: Any, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold", color=INK)


def plain(axes: Any, title: str) -> None:
    titled(axes, title)
    axes.grid(color="#e1e4e8", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def from_the_busiest(metric: Any, kilometres: list[float]) -> list[int]:
    """The secrets nearest to places so far east of where the crowd is densest."""
    secrets = np.flatnonzero(metric.secret & (metric.mass > 0))
    density = metric.mass[secrets] / metric.locations.area_cells[secrets]
    centre = metric.xy[secrets[np.argmax(density)]]
    away = [np.hypot(*(metric.xy[secrets] - centre - (1000 * east, 0)).T) for east in kilometres]
    return [int(secrets[np.argmin(one)]) for one in away]


def guarantee(metric: Any) -> bytes:
    """Balls of one level around some places, and the mass within every level against the requirement."""
    figure = new_figure(9.8, 4.3)
    where, crowd = figure.subplots(1, 2)
    grid, owner = metric.grid, metric.locations.owner
    half = grid.cols * grid.cell_m / 2000
    density = (metric.mass / metric.locations.area_cells)[owner]
    box = {"extent": (-half, half, -half, half), "origin": "lower", "interpolation": "nearest"}
    where.imshow(np.log(density + density[density > 0].min()), cmap="Greys", alpha=0.6, **box)
    reach = half * 0.75
    chosen = from_the_busiest(metric, [0.0, reach * 0.4, reach * 0.8])
    levels = np.linspace(metric.l_from, metric.l_top, 200)
    for i, colour in zip(chosen, (RED, BLUE, GREEN), strict=True):
        distance = metric.distances_from(i)
        inside = (distance <= metric.l_top)[owner]
        centres = (np.arange(grid.cols) + 0.5) * grid.cell_m / 1000 - half
        where.contourf(centres, centres, inside, levels=[0.5, 1.5], colors=[colour], alpha=0.45)
        where.plot(*(metric.xy[i] / 1000), "o", color=colour, ms=3.5, mec="white", mew=0.6)
        held = [metric.mass[distance <= level].sum() for level in levels]
        crowd.plot(levels, held, color=colour, lw=2)
    where.set_xlabel("km")
    titled(where, "Within one level (ln 6): the same crowd")
    crowd.plot(levels, (levels / LN2) ** 2, ":", color=INK, lw=1.6, label="required: (l / ln 2)²")
    crowd.set_xlabel("level l")
    crowd.set_ylabel("mass within l of the place")
    crowd.legend(fontsize=9, frameon=False)
    plain(crowd, "At every level at least what is required")
    return to_png(figure)


def sharpening(metric: Any) -> bytes:
    """Heights along a line through the middle, and how much of each edge reports use."""
    figure = new_figure(9.8, 3.8)
    heights, shares = figure.subplots(1, 2)
    line = np.unique(metric.locations.owner[metric.grid.rows // 2])
    line = line[np.argsort(metric.xy[line, 0])]
    east = metric.xy[line, 0] / 1000
    heights.plot(east, LEVEL_UNIT * metric.relief.height[line], color=BLUE, lw=2)
    heights.set_xlabel("km east, along a line through the city")
    heights.set_ylabel("height, in levels")
    plain(heights, "The relief: the height follows ln S")
    graph, reporting = metric.graph, ge.ElasticMechanism(metric).reporting.graph
    part = np.sort(reporting.weight[graph.weight > 0] / graph.weight[graph.weight > 0])
    shares.plot(100 * np.arange(part.size) / part.size, 100 * part, color=RED, lw=2, label="sharpened")
    shares.axhline(50, color=INK, ls=":", lw=1.4, label="without: half of every edge")
    shares.set_xlabel("% of the edges, those of which least is used first")
    shares.set_ylabel("% of the edge's length in reports")
    shares.set_ylim(0, 103)
    shares.legend(fontsize=9, frameon=False, loc="lower right")
    plain(shares, "How much of each distance reports use")
    return to_png(figure)


def limit(metric: Any) -> bytes:
    """The chance that a report from the middle is within r, for the best possible, the default, and half distances."""
    figure = new_figure(6.4, 3.9)
    axes = figure.subplots()
    middle = int(np.argmin(np.hypot(*metric.xy.T) + np.where(metric.secret, 0, np.inf)))
    radius = np.linspace(0, 5000, 300)
    scaled = LN2 / UNIT_M * radius
    curves = {"the best possible": (1 - np.exp(-scaled) * (1 + scaled), INK)}
    half = ge.ElasticMechanism(replace(metric, relief=None))
    for name, mechanism, colour in (
        ("the default", ge.ElasticMechanism(metric), RED),
        ("half of each distance", half, BLUE),
    ):
        chance, away = mechanism.probabilities(middle), mechanism.distances_m(middle)
        curves[name] = np.array([chance[away <= r].sum() for r in radius]), colour
    for name, (within, colour) in curves.items():
        axes.plot(radius / 1000, 100 * within, color=colour, lw=2, ls=":" if colour == INK else "-", label=name)
    axes.set_xlabel("km from the place")
    axes.set_ylabel("% of the reports that are nearer")
    axes.legend(fontsize=9, frameon=False, loc="lower right")
    plain(axes, "Reports in an even plane")
    return to_png(figure)


def main(folder: str | None = None, side: int = 200, even: int = 120) -> None:
    """Write the pictures into a folder [default: img beside this file]."""
    out = Path(folder) if folder else Path(__file__).parent / "img"
    city = built("city", side)
    (out / "guarantee.png").write_bytes(guarantee(city))
    (out / "sharpening.png").write_bytes(sharpening(city))
    (out / "limit.png").write_bytes(limit(built("even", even)))


if __name__ == "__main__":
    main(*sys.argv[1:2])
