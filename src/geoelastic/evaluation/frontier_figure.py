# SPDX-License-Identifier: Apache-2.0
"""The frontier as a picture: one panel an area, a curve a mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from ..figures.draw import new_figure

__all__ = ["frontier_png"]

_COLOURS = {"elastic": "#0f7b6c", "planar Laplace": "#e4572e", "grid": "#8d6a9f", "squares by density": "#b59a3a"}
_NAMES = {"elastic": "elastic, the default", "grid": "grid*", "squares by density": "squares by density*"}


def frontier_png(rows: Sequence[dict[str, Any]], credit: str) -> bytes:
    """Error of reports against the Euclidean adversary's, the median user (full) and the worst-off tenth (dashed)."""
    areas = list(dict.fromkeys(row["area"] for row in rows))
    figure = new_figure(5.2 * len(areas), 4.6)
    panels = figure.subplots(1, len(areas), sharey=True, squeeze=False)[0]
    for panel, area in zip(panels, areas, strict=True):
        _draw(panel, [row for row in rows if row["area"] == area])
        panel.set_title(area)
        panel.set_xlabel("error of a report (km, on average)")
    most = max(row[key] for row in rows for key in ("adversary_median_m", "adversary_worst_tenth_m"))
    panels[0].set_ylim(0, 1.05 * most / 1000)
    panels[0].set_ylabel("error of the best guess (km)")
    panels[-1].legend(loc="lower right", fontsize=8, frameon=False)
    note = "Full: the median user. Dashed: the worst-off tenth. Grey: no report at all. * no guarantee."
    figure.supxlabel(f"{note}\n{credit}", fontsize=7, color="#555555", x=0.01, ha="left")
    with BytesIO() as content:
        figure.savefig(content, format="png", dpi=130)
        return content.getvalue()


def _draw(panel: Any, rows: Sequence[dict[str, Any]]) -> None:
    for kind, colour in _COLOURS.items():
        line = sorted((row for row in rows if row["mechanism"] == kind), key=lambda row: row["error_m"])
        error = [row["error_m"] / 1000 for row in line]
        for key, style, marker in (("adversary_median_m", "-", "o"), ("adversary_worst_tenth_m", "--", ".")):
            label = _NAMES.get(kind, kind) if style == "-" else None
            adversary = [row[key] / 1000 for row in line]
            panel.plot(error, adversary, style, marker=marker, ms=4.5, lw=1.5, color=colour, label=label)
    for row in (row for row in rows if row["mechanism"] == "no report"):
        for key, style in (("adversary_median_m", "-"), ("adversary_worst_tenth_m", "--")):
            panel.axhline(row[key] / 1000, ls=style, lw=1, color="#999999", zorder=0)
    panel.set_xscale("log")
    panel.set_xticks([0.1, 0.2, 0.5, 1, 2, 5], ["0.1", "0.2", "0.5", "1", "2", "5"])
    panel.minorticks_off()
    panel.grid(alpha=0.25, lw=0.5)
