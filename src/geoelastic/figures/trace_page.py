# SPDX-License-Identifier: Apache-2.0
"""A released trace beside the truth, tick by tick: a page with a time slider that needs nothing else.

The page holds the true track: it is for its owner and goes nowhere.
"""

from __future__ import annotations

import html
import json
import string
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..metric import AnyMetric
from .page import inside_script

__all__ = ["trace_page"]

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
    template = string.Template(files(__package__).joinpath("trace.html").read_text(encoding="utf-8"))
    return template.substitute(title=html.escape(title), data=inside_script(json.dumps(data, allow_nan=False)))


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
