# SPDX-License-Identifier: Apache-2.0
"""`Relief`: a height for each location, which says how much of each distance reports may use.

The exponential mechanism with weights e^(-d/2) spends half of every distance on its weights and keeps the other half
for its normaliser S, which could change as much. It hardly ever does. With a height h close to ln S, reports can go by
the *lowered* graph, whose edges are shorter by the difference of the heights of their ends and by no more (a little
slack aside), and use all of its distances. `metric.sharpen` finds the heights and says why the guarantee stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import IndexArray, Locked
from ..errors import InputError
from ..store.digest import digest
from .graph import Graph
from .metric import Metric

#: What an edge gives up besides the difference of heights, so that heights need not be exact: four units, and a 2^k-th
#: of its length, k being the `slack` of the relief. With a fine one reports err half a percent less; a coarse one is
#: found and checked in less time.
SLACK_UNITS, COARSE, FINE = 4, 7, 10
#: The most that a file may state: from there on no edge is long enough to give up more than the units.
MOST_SLACK = 24


@dataclass(frozen=True, eq=False)
class Relief(Locked):
    """Heights in level units, one per location, for the output measure called `output` and for no other.

    `made_for` is `Relief.key` of the metric: on any other map the heights say nothing. `slack`: which part of an edge
    is given up for what heights are not exact (`lowered`). `certificate`: what was checked.
    """

    height: IndexArray
    output: str
    made_for: str
    certificate: dict[str, Any] = field(default_factory=dict)
    slack: int = COARSE

    @staticmethod
    def key(metric: Metric) -> str:
        """A digest of all that the heights depend on: graph, masses and fences."""
        return digest(*metric.graph.rows, metric.mass_units, metric.fence)

    @property
    def digest(self) -> str:
        """A name of the heights, and of the slack that goes with them."""
        return digest(*((self.height,) if self.slack == COARSE else (self.height, self.slack)))[:32]

    def stated(self) -> dict[str, Any]:
        """What a file says of the heights beside themselves; a coarse slack goes without saying."""
        said = {"output": self.output, "made_for": self.made_for, "certificate": self.certificate}
        return said if self.slack == COARSE else said | {"slack": self.slack}

    def require_fit(self, metric: Metric) -> None:
        """Refuse heights that were made for another map."""
        if self.height.shape != (metric.n,) or self.made_for != self.key(metric):
            raise InputError("the relief was made for another metric: sharpen this one again")


def lowered(graph: Graph, height: npt.NDArray[Any], slack: int) -> Graph:
    """The graph with weights w - floor(w / 2^slack) - 4 - |difference of heights|, at least 0."""
    level = height.astype(np.int64)
    slope = np.abs(np.repeat(level, np.diff(graph.start)) - level[graph.index])
    weight = np.maximum(graph.weight - (graph.weight >> slack) - SLACK_UNITS - slope, 0).astype(np.int32)
    return Graph(graph.start, graph.index, weight)


def reporting_metric(metric: Metric) -> Metric:
    """The metric by whose distances reports are drawn: the lowered one if there is a relief, else the metric itself."""
    if metric.relief is None:
        return metric
    metric.relief.require_fit(metric)
    graph = lowered(metric.graph, metric.relief.height, metric.relief.slack)
    return replace(
        metric, graph=graph, method="lowered", scale=None, place=None, rise=None, relief=None, certificate={}
    )
