# SPDX-License-Identifier: Apache-2.0
"""Pictures, reports and traces as web pages that need nothing else: no server, no library.

No map tiles either: fetching them would tell someone where you look. A page of a trace holds the true track: it is for
its owner and goes nowhere.
"""

from __future__ import annotations

import base64
import html
import json
import string
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..errors import import_extra
from ..metric import AnyMetric
from .draw import COLOURS
from .picture import Picture, edges_of

#: Values are carried as whole steps from 1 to this; 0 is "nothing here".
_STEPS = 65_534
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
"""
#: Places on a lattice of so many points a side; the page interpolates between them (to metres, on a map of 75 km).
_LATTICE = 33


def picture_page(picture: Picture) -> str:
    """A picture that can be dragged, zoomed and pointed at: value and coordinates of the cell under the pointer."""
    low, high = picture.limits()
    colours = import_extra("matplotlib", "plot").colormaps[COLOURS]
    data = {
        "rows": picture.grid.rows,
        "cols": picture.grid.cols,
        "cell_m": picture.grid.cell_m,
        "low": low,
        "high": high,
        "log": picture.log,
        "label": picture.label,
        "numbered": picture.numbered,
        "steps": _STEPS,
        "lattice": _lattice(picture),
        "cells": _packed(_quantised(picture.cells, low, high, log=picture.log)),
        "backdrop": None if picture.backdrop is None else _packed(_quantised(picture.backdrop, 0, 1, log=False)),
        "colours": np.rint(255 * colours(np.arange(256))[:, :3]).astype(int).tolist(),
        "edges": [np.round(edges_of(region, picture.grid), 1).tolist() for region in picture.regions],
        "context": None if picture.context is None else picture.context.to_dict(),
        "marks": [
            {"xy": np.round(np.column_stack([np.atleast_1d(m.x), np.atleast_1d(m.y)]), 1).tolist(), "label": m.label,
             "colour": m.colour, "size": m.size}
            for m in picture.marks
        ],
    }  # fmt: skip
    return _filled(
        "picture",
        picture.title,
        label=html.escape(picture.label),
        below=html.escape(" · ".join(part for part in (picture.note, picture.credit) if part)),
        data=inside_script(json.dumps(data, allow_nan=False)),
    )


def _filled(kind: str, title: str, **parts: str) -> str:
    """The page of a kind: the head that all have, then its own file with its parts in their places."""
    rest = files(__package__).joinpath(f"{kind}.html").read_text(encoding="utf-8")
    return string.Template(_HEAD + rest).substitute(title=html.escape(title), **parts)


def inside_script(text: str) -> str:
    """JSON for a script element. It holds words of others, and "</script" or "<!--" would move the element's end."""
    return text.replace("<", "\\u003c")


def _quantised(cells: FloatArray, low: float, high: float, *, log: bool) -> Any:
    shown = np.isfinite(cells) & ((cells > 0) | (not log))
    values = np.where(shown, cells, low)
    if log:
        share = np.log(values / low) / np.log(high / low)
    else:
        share = (values - low) / (high - low)
    return np.where(shown, 1 + np.rint(np.clip(share, 0, 1) * (_STEPS - 1)), 0).astype("<u2")


def _packed(steps: Any) -> str:
    """Deflated, base64: browsers unpack it with DecompressionStream."""
    return base64.b64encode(zlib.compress(steps.tobytes(), 9)).decode()


def _lattice(picture: Picture) -> dict[str, Any]:
    grid = picture.grid
    x = np.linspace(-0.5, 0.5, _LATTICE) * grid.cols * grid.cell_m
    y = np.linspace(-0.5, 0.5, _LATTICE) * grid.rows * grid.cell_m
    lat, lon = grid.area.to_latlon(*np.meshgrid(x, y))
    lon = grid.area.lon + (lon - grid.area.lon + 540) % 360 - 180
    return {"side": _LATTICE, "lat": np.round(lat, 6).ravel().tolist(), "lon": np.round(lon, 6).ravel().tolist()}


def report_page(title: str, sections: Sequence[tuple[str, str, bytes | None]], *, footer: str = "") -> str:
    """A page of sections (heading, HTML text, PNG or None) with every picture inside it."""
    body = []
    for heading, text, png in sections:
        image = "" if png is None else (
            f'<img alt="{html.escape(heading)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
        )  # fmt: skip
        body.append(f"<section><h2>{html.escape(heading)}</h2>{text}{image}</section>")
    return _filled("report", title, body="\n".join(body), footer=footer)


_MARGIN = 0.15
_MOST_CELLS = 20_000


def trace_page(
    metric: AnyMetric, *, title: str, times_s: FloatArray, truth: FloatArray, released: FloatArray, belief: FloatArray,
    spread_m: FloatArray,
) -> str:  # fmt: skip
    """The page of places in metres (T, 2): where one was, what was released, what an adversary believes."""
    points = np.vstack([truth, released, belief])
    low, high = points.min(axis=0), points.max(axis=0)
    margin = np.maximum(_MARGIN * (high - low), 500.0)
    box = [*(low - margin), *(high + margin)]
    data = {
        "box": _round(box), "cells": _cells(metric, box), "truth": _round(truth), "released": _round(released),
        "belief": _round(belief), "spread": _round(spread_m),
        "times": [datetime.fromtimestamp(t, UTC).strftime("%a %d %b %Y, %H:%M UTC") for t in times_s.tolist()],
    }  # fmt: skip
    return _filled("trace", title, data=inside_script(json.dumps(data, allow_nan=False)))


def _cells(metric: AnyMetric, box: list[float]) -> Any:
    """(x, y, side, grey) of the locations in the box, darker where more mass is."""
    xy, side = np.asarray(metric.xy), np.asarray(metric.locations.size) * metric.grid.cell_m
    inside = np.flatnonzero(
        (xy[:, 0] > box[0]) & (xy[:, 0] < box[2]) & (xy[:, 1] > box[1]) & (xy[:, 1] < box[3])
    )  # fmt: skip
    density = np.asarray(metric.mass)[inside] / side[inside] ** 2
    shade = np.sqrt(density / max(float(density.max(initial=0.0)), 1e-300))
    rows = np.column_stack([xy[inside], side[inside], 250 - 110 * shade])
    return _round(rows[np.argsort(-shade)][:_MOST_CELLS])


def _round(values: Any) -> Any:
    return np.round(np.asarray(values, np.float64), 0).astype(int).tolist()
