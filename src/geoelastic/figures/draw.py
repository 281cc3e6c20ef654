# SPDX-License-Identifier: Apache-2.0
"""Pictures and curves as PNG, by matplotlib's objects alone: no global state, no window system.

Water, coast, roads and names lie over a picture so quietly that its colours can still be read.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..context import Context, Name
from ..errors import import_extra
from .picture import Picture, edges_of

#: One sequential map for every quantity: even in lightness, legible in grey and to the colour-blind.
COLOURS = "viridis"
INK = "#1b1f24"
_GREY = "#5b6470"
_PAPER = "white"
#: More cells than this a side are thinned out; a screen does not show them.
_MOST_CELLS = 2400
_DPI = 110


def new_figure(width: float, height: float) -> Any:
    """An empty figure of so many inches, in the house style."""
    figure = import_extra("matplotlib.figure", "plot")
    return figure.Figure(figsize=(width, height), dpi=_DPI, facecolor=_PAPER, layout="constrained")


def to_png(figure: Any) -> bytes:
    """The figure as a PNG file without a date in it, so that equal figures are equal files."""
    sink = io.BytesIO()
    figure.savefig(sink, format="png", metadata={"Software": None})
    return sink.getvalue()


def picture_png(picture: Picture) -> bytes:
    """A picture with its scale bar, colour scale, legend and credit line."""
    aspect = picture.grid.rows / picture.grid.cols
    figure = new_figure(7.6, min(max(7.6 * 0.86 * aspect + 0.7, 3.2), 12))
    draw_picture(figure.subplots(), picture)
    return to_png(figure)


def pictures_png(pictures: Sequence[Picture]) -> bytes:
    """Several pictures of one grid side by side."""
    figure = new_figure(4.9 * len(pictures), 4.5)
    for axes, picture in zip(figure.subplots(1, len(pictures), squeeze=False)[0], pictures, strict=True):
        draw_picture(axes, picture)
    return to_png(figure)


def draw_picture(axes: Any, picture: Picture) -> None:
    """Draw a picture into a matplotlib axes."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LogNorm, Normalize

    half_w, half_h = picture.grid.cols * picture.grid.cell_m / 2, picture.grid.rows * picture.grid.cell_m / 2
    box = {"extent": (-half_w, half_w, -half_h, half_h), "origin": "lower", "interpolation": "nearest"}
    if picture.backdrop is not None:
        axes.imshow(_thin(picture.backdrop), cmap="Greys", vmin=-0.15, vmax=1.6, **box)
    low, high = picture.limits()
    norm = LogNorm(low, high, clip=True) if picture.log else Normalize(low, high, clip=True)
    cells = np.ma.masked_invalid(_thin(picture.cells))
    image = axes.imshow(cells, cmap=COLOURS, norm=norm, **box)
    if picture.numbered:
        _write_numbers(axes, picture)
    elif cells.count():
        scale = axes.figure.colorbar(image, ax=axes, label=picture.label, shrink=0.82, pad=0.015)
        if picture.log and high < 30 * low:  # less than two powers of ten: plain numbers are easier to read
            scale.ax.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
            scale.ax.yaxis.set_minor_formatter(lambda value, _: f"{value:,g}")
    if picture.context is not None:
        draw_context(axes, picture.context)
    for region in picture.regions:
        axes.add_collection(LineCollection(list(edges_of(region, picture.grid)), colors="#e4572e", linewidths=1.3))
    for mark in picture.marks:
        axes.plot(
            mark.x, mark.y, mark.marker, color=mark.colour, markersize=mark.size, markeredgecolor="white",
            markeredgewidth=0.9 if mark.size > 4 else 0.25, label=mark.label or None, linestyle="none",
        )  # fmt: skip
    if picture.marks:
        axes.legend(loc="upper right", fontsize=8, framealpha=0.9, edgecolor="none")
    _furnish(axes, picture, half_w, half_h)


def _write_numbers(axes: Any, picture: Picture) -> None:
    """The number of each thing, at the one of its cells that is nearest to its middle."""
    for number in np.unique(picture.cells[np.isfinite(picture.cells)]).tolist():
        at = np.argwhere(picture.cells == number)
        row, col = at[np.argmin(((at - at.mean(axis=0)) ** 2).sum(axis=1))]
        x, y = (
            (k + 0.5 - side / 2) * picture.grid.cell_m
            for k, side in ((col, picture.grid.cols), (row, picture.grid.rows))
        )
        axes.text(x, y, f"{number:g}", ha="center", va="center", fontsize=9, fontweight="bold", color="white")


def _thin(cells: FloatArray) -> FloatArray:
    step = -(-max(cells.shape) // _MOST_CELLS)
    return cells[::step, ::step]


def _furnish(axes: Any, picture: Picture, half_w: float, half_h: float) -> None:
    """Title, scale bar, credit; no ticks, since the plane's metres mean nothing to a reader."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlim(-half_w, half_w)
    axes.set_ylim(-half_h, half_h)
    for spine in axes.spines.values():
        spine.set_edgecolor("#c8ccd2")
    axes.set_title(picture.title, loc="left", fontsize=11, color=INK, fontweight="bold")
    length = _round_length(half_w * 0.5)
    x, y = -half_w * 0.94, -half_h * 0.93
    text = {"fontsize": 8, "color": INK, "bbox": {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 2}}
    axes.plot([x, x + length], [y, y], color="white", linewidth=5, solid_capstyle="butt")
    axes.plot([x, x + length], [y, y], color=INK, linewidth=2.5, solid_capstyle="butt")
    name = f"{length / 1000:g} km" if length >= 1000 else f"{length:g} m"
    axes.text(x + length / 2, y + half_h * 0.035, name, ha="center", va="bottom", **text)
    below = "   ".join(part for part in (picture.note, picture.credit) if part)
    if below:
        axes.set_xlabel(below, fontsize=7, color=_GREY, loc="left")


def _round_length(most_m: float) -> float:
    """The largest of 1, 2, 5, 10, 20, ... metres that is not longer than `most_m`."""
    power = 10.0 ** math.floor(math.log10(most_m))
    return max(step * power for step in (1, 2, 5) if step * power <= most_m)


_WATER = "#a5cdf2"
#: Colour, width and strength of lines; light, for colours are darkest where little is.
_LINES = {
    "street": ("white", 0.5, 0.35), "road": ("white", 1.0, 0.6), "river": (_WATER, 0.8, 0.8),
    "coast": (_WATER, 0.7, 0.9),
}  # fmt: skip
_SIZES = (10.0, 8.5, 7.5, 6.5)
#: Names that are drawn, at most, and the room that a letter takes, in parts of its height.
_MOST, _LETTER = 24, 0.62


def draw_context(axes: Any, context: Context) -> None:
    """Draw it into a matplotlib axes whose metres are the map's."""
    from matplotlib.collections import LineCollection
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    rings = [Path(np.vstack([ring, ring[:1]]), closed=True) for ring in context.lines("water")]
    if rings:
        axes.add_patch(PathPatch(Path.make_compound_path(*rings), facecolor=_WATER, alpha=0.38, edgecolor="none"))
    for kind, (colour, width, alpha) in _LINES.items():
        axes.add_collection(LineCollection(list(context.lines(kind)), colors=colour, linewidths=width, alpha=alpha))
    _write_names(axes, context)


def _write_names(axes: Any, context: Context) -> None:
    """The best known first; a name that would lie on another or over the edge is left out."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2.2, foreground="white", alpha=0.85)]
    (west, east), (south, north) = axes.get_xlim(), axes.get_ylim()
    metres = (east - west) / (axes.figure.get_figwidth() * 72 * 0.8)  # of a point
    taken: list[tuple[float, float, float, float]] = []
    for name in context.names:
        w, s, e, n = box = _box(name, metres)
        inside = w >= west and s >= south and e <= east and n <= north
        if inside and len(taken) < _MOST and not any(w < t[2] and t[0] < e and s < t[3] and t[1] < n for t in taken):
            taken.append(box)
            axes.text(
                name.x, name.y, name.text, fontsize=_SIZES[name.rank], color="#1b1f24", ha="center", va="center",
                path_effects=halo, clip_on=True, parse_math=False, fontstyle="normal" if name.rank else "italic",
            )  # fmt: skip


def _box(name: Name, metres: float) -> tuple[float, float, float, float]:
    """West, south, east and north of a name on the map."""
    high = 1.6 * _SIZES[name.rank] * metres
    wide = _LETTER * _SIZES[name.rank] * len(name.text) * metres
    return name.x - wide / 2, name.y - high / 2, name.x + wide / 2, name.y + high / 2


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
