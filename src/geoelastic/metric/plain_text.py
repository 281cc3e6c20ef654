# SPDX-License-Identifier: Apache-2.0
"""A metric and its reports as plain text, for checkers that share nothing with this program (docs/proof.md).

    geoelastic-dump 3
    locations N edges M top T sharpened 0|1 slack K
    power E star A over J from F last B over K
    required      T + 1 numbers: the mass that a ball of each radius must hold
    location      N lines: mass fence secret height measure
    edge          M lines: location location weight
    end

Of a sharpened map reports go by edges of length w - floor(w / 2^K) - 4 - |difference of heights|, at least 0.
The requirement is (l / l_star)^E from level F on, with l_star = A / 2^J and l_top = B / 2^K; E = 0: it is none of
these, and what is required is as the table says. All numbers are whole: levels in units of 2^-13, masses in units of
2^-32.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import IntArray
from ..levels import level_to_units
from .measures import output_measure
from .metric import Metric
from .relief import COARSE


def dump_text(metric: Metric, measure: IntArray | None = None) -> Iterator[str]:
    """The text of a metric and the measure that its reports go by (by default the one it was sharpened for, or its
    mass), in pieces."""
    tail, tip, weight = metric.edge_units()
    asked, relief = metric.requirement, metric.relief
    required = asked.table(metric.l_from, metric.l_top)
    star = getattr(asked, "l_star", 0) if asked.power else 0
    if measure is None:
        measure = output_measure(metric, "mass" if relief is None else relief.output)
    height = np.zeros(metric.n, np.int64) if relief is None else relief.height
    locations = np.column_stack([metric.mass_units, metric.fence, metric.secret, height, measure])
    sharp = f"sharpened {int(relief is not None)} slack {COARSE if relief is None else relief.slack}"
    yield "geoelastic-dump 3\n"
    yield f"locations {metric.n} edges {tail.size} top {required.size - 1} {sharp}\n"
    yield f"power {asked.power} star {_exact(star)} from {level_to_units(metric.l_from)} last {_exact(metric.l_top)}\n"
    yield "required\n" + _lines(required[:, None])
    yield "location\n" + _lines(locations)
    yield "edge\n" + _lines(np.column_stack([tail, tip, weight]))
    yield "end\n"


def _exact(number: float) -> str:
    """A double as it is: a whole number over a power of two."""
    over, under = float(number).as_integer_ratio()
    return f"{over} over {under.bit_length() - 1}"


def _lines(rows: npt.NDArray[Any]) -> str:
    return "".join(" ".join(map(str, row)) + "\n" for row in rows.tolist())
