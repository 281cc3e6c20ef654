# SPDX-License-Identifier: Apache-2.0
"""Water, coast, roads and names over a picture, so quietly that its colours can still be read."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..context import Context, Name

__all__ = ["draw_context"]

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
        box = _box(name, metres)
        inside = box[0] >= west and box[1] >= south and box[2] <= east and box[3] <= north
        if inside and len(taken) < _MOST and not any(_overlap(box, other) for other in taken):
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


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
