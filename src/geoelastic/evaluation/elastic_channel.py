# SPDX-License-Identifier: Apache-2.0
"""Channels of a metric: exp(-d/2) over its locations, and the paper's evaluation as it was really run.

All of them come from one table of distances, from each location that holds a place to every location: it is the costly
part, computed once (whole units of level, exact). The weights are the mechanism's own integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .. import _kernels as kernels
from ..arrays import FloatArray, IndexArray, IntArray
from ..errors import InputError
from ..levels import UNREACHABLE, level_to_units
from ..mechanism.elastic import ElasticMechanism
from ..mechanism.sticky import Sticky
from ..metric import AnyMetric
from ..metric.measures import output_measure
from ..metric.relief import reporting_metric
from ..metric.totals import in_walking_order
from ..metric.weights import HALF, WHOLE, Weights, make_weights
from ..progress import progress_bar
from .channel import Channel, Outputs, channel_from_matrix
from .prior import Prior
from .study_areas import StudyArea
from .utility import expected_distance


@dataclass(frozen=True, eq=False)
class DistanceTable:
    """`units[r]`: distances from location `inputs[r]` to all locations; `row_of_place`: a place's row."""

    metric: AnyMetric
    inputs: IntArray
    row_of_place: IntArray
    units: IndexArray

    def for_places(self, prior: Prior) -> DistanceTable:
        """The same distances for another prior, whose places lie in the same locations."""
        locations = _locations_of(self.metric, prior)
        rows = np.minimum(np.searchsorted(self.inputs, locations), len(self.inputs) - 1)
        if not np.array_equal(self.inputs[rows], locations):
            raise InputError("the places must lie in locations that the table has a row for")
        return replace(self, row_of_place=rows)


def distance_table(metric: AnyMetric, prior: Prior, *, workers: int = 2, progress: bool = False) -> DistanceTable:
    """Distances from the location of every place of the prior. The places must lie on the metric's grid."""
    inputs, rows = np.unique(_locations_of(metric, prior), return_inverse=True)
    table = np.empty((len(inputs), metric.n), dtype=np.int32)
    for some, units in _distances(metric, inputs, workers=workers, progress=progress):
        table[some] = units
    table.setflags(write=False)
    return DistanceTable(metric, inputs, rows, table)


def _distances(
    metric: AnyMetric, locations: IntArray, *, workers: int, progress: bool = False
) -> Iterator[tuple[IntArray, IndexArray]]:
    """Whole distances from `locations` to all, some sources at a time: (their numbers in `locations`, a row each).

    Sources that lie side by side share a search, which takes a third of the time of one each; not inside a fence, where
    there is none.
    """
    whole = metric.whole()
    fenced = whole.fence[locations] > 0
    free, turn = np.flatnonzero(~fenced), np.zeros(whole.n, np.int64)
    walk = in_walking_order(whole.locations, whole.graph, whole.fence == 0)
    turn[walk] = np.arange(walk.size)
    free = free[np.argsort(turn[locations[free]])]
    groups = [
        part[k : k + kernels.TOGETHER]
        for part in (free, np.flatnonzero(fenced))
        for k in range(0, len(part), kernels.TOGETHER)
    ]

    def search(some: IntArray) -> IndexArray:
        if fenced[some[0]]:
            return np.stack([whole.distance_units_from(int(i)) for i in locations[some]])
        graph, far = whole.graph, UNREACHABLE
        kind = kernels.lane_kind(far)
        space = kernels.bounded_workspace(graph.n, graph.index.size, graph.buckets, kind)
        sources = locations[some].astype(np.int32)
        region, lanes = kernels.bounded_paths(
            graph.start, graph.index, graph.weight, sources, np.int64(far), kind, *space
        )
        units = np.full((len(some), graph.n), UNREACHABLE, dtype=np.int32)
        units[:, region] = lanes.reshape(len(region), kernels.TOGETHER)[:, : len(some)].T
        return units

    with ThreadPoolExecutor(workers) as pool, progress_bar("distances", len(locations), show=progress) as bar:
        done = 0
        for first in range(0, len(groups), workers):
            part = groups[first : first + workers]
            for some, units in zip(part, pool.map(search, part), strict=True):
                yield some, units
                bar.update(done := done + len(some))


def _locations_of(metric: AnyMetric, prior: Prior) -> IntArray:
    return metric.locations.owner.ravel()[prior.cell].astype(np.int64)


def _outputs(metric: AnyMetric) -> Outputs:
    return Outputs(np.asarray(metric.xy), metric.locations.size.astype(np.int64), float(metric.grid.cell_m))


def elastic_channel(
    table: DistanceTable, *, output: str | FloatArray = "mass", sharpened: bool = False, name: str | None = None
) -> Channel:
    """K(x)(z) proportional to mu(z) exp(-d(x, z)/2), with full support: d-private for every metric and measure.

    `sharpened`: the table is of the metric that a certified relief lets reports go by, and all of d' counts.
    """
    metric = table.metric
    measure, cells = output_measure(metric.whole(), output), metric.locations.area_cells.astype(np.float64)
    table_of_weights = make_weights(WHOLE if sharpened else HALF)
    farthest = int(table.units.max(where=table.units < UNREACHABLE, initial=0))
    weight_of = _weight_by_units(table_of_weights, farthest)
    kind = "elastic, sharpened" if sharpened else "elastic"
    label = name or f"{kind}, output by {output if isinstance(output, str) else 'measure'}"
    # inside a fence every report is even over it, whatever the measure outside
    return _channel(label, table, np.arange(metric.n), weight_of, (measure, cells), _outputs(metric), sound=True)


def law_channel(table: DistanceTable, output: str, rate: float) -> Channel:
    """K(x)(z) proportional to mu(z) exp(-rate x units): any law of the table's distances, whether private or not."""
    farthest = int(table.units.max(where=table.units < UNREACHABLE, initial=0))
    weight_of = np.append(np.exp(-rate * np.arange(farthest + 1)), 0.0)
    measure = output_measure(table.metric.whole(), output)
    name, column = f"by {output}, {rate:g} a unit", np.arange(table.metric.n)
    return _channel(name, table, column, weight_of, (measure, measure), _outputs(table.metric), sound=False)


def reported_by(metric: AnyMetric) -> tuple[AnyMetric, Callable[[DistanceTable], Channel]]:
    """The metric that the map's own reports go by, and the channel that its distances make: by a certified relief if
    the map was sharpened, else by half of d."""
    if metric.relief is None:
        return metric, elastic_channel
    return reporting_metric(metric.whole()), partial(elastic_channel, output=metric.relief.output, sharpened=True)


def reporting_channel(metric: AnyMetric, prior: Prior, *, workers: int = 2, progress: bool = False) -> Channel:
    """What the map's own mechanism reports."""
    lowered, make = reported_by(metric)
    return make(distance_table(lowered, prior, workers=workers, progress=progress))


def mechanism_channel(mechanism: ElasticMechanism | Sticky, prior: Prior, *, name: str = "mechanism") -> Channel:
    """The channel of any mechanism over a metric's locations, row by row from its `probabilities`."""
    inputs, rows = np.unique(_locations_of(mechanism.metric, prior), return_inverse=True)
    matrix = np.stack([mechanism.probabilities(int(i)) for i in inputs])
    return channel_from_matrix(name, matrix, _outputs(mechanism.metric), rows)


def _weight_by_units(weights: Weights, most: int) -> FloatArray:
    """The mechanism's weight at each whole distance up to `most`, and then 0 for whatever lies beyond."""
    return np.append(weights.at(np.arange(most + 1)), 0.0)


def cells_in(metric: AnyMetric, area: StudyArea) -> IntArray:
    """Row-major cells of the metric's grid whose centre lies in the area."""
    grid = metric.grid
    row, col = np.divmod(np.arange(grid.rows * grid.cols), grid.cols)
    x, y = grid.cell_to_xy(row, col)
    x0, y0 = grid.area.to_xy(area.lat, area.lon)
    near = np.flatnonzero(np.maximum(np.abs(x - x0), np.abs(y - y0)) <= 1000 * area.size_km)
    lat, lon = grid.area.to_latlon(x[near], y[near])
    inside: IntArray = near[np.asarray(area.contains(lat, lon))]
    return inside


def paper_channel(
    table: DistanceTable, prior: Prior | None = None, area: StudyArea | None = None, *, name: str | None = None
) -> Channel:
    """The paper's evaluation as its program ran it: exp(-d/2) evenly over cells, and nothing beyond level 2 l_top.

    With an `area` only its cells, and those of the prior's places, are reported, the rest is normalised away. NO
    GUARANTEE: the support depends on the secret, so some reports exclude some places for certain. It is here to
    compare with the paper's figures, not to be used.
    """
    metric = table.metric
    if area is None or prior is None:
        outputs, column = _outputs(metric), np.arange(metric.n)
        label = "as in the paper, whole map (no guarantee)"
    else:
        cells = np.union1d(cells_in(metric, area), prior.cell)
        xy = np.column_stack(metric.grid.cell_to_xy(*np.divmod(cells, metric.grid.cols)))
        outputs = Outputs(xy, np.ones(len(cells), dtype=np.int64), float(metric.grid.cell_m))
        column = metric.locations.owner.ravel()[cells].astype(np.int64)
        label = "as in the paper, in the box (no guarantee)"
    count = outputs.side.astype(np.float64) ** 2
    weight_of = _weight_by_units(make_weights(HALF), level_to_units(2 * metric.l_top))
    return _channel(name or label, table, column, weight_of, (count, count), outputs, sound=False)


def _channel(
    name: str, table: DistanceTable, column: IntArray, weight_of: FloatArray, measures: tuple[Any, Any],
    outputs: Outputs, *, sound: bool,
) -> Channel:  # fmt: skip
    """The channel measure x weight of the distance in `column`, normalised.

    `measures`: outside and inside fences.
    """
    outside, inside = (np.asarray(measure, dtype=np.float64) for measure in measures)
    fenced = np.asarray(table.metric.fence[table.inputs] > 0)

    def rows(scale: FloatArray) -> Channel:
        def block(start: int, stop: int) -> FloatArray:
            found: FloatArray = kernels.outcomes(
                table.units, column, start, stop, weight_of, outside, inside, fenced, scale
            )
            return found

        return Channel(name, table.row_of_place, outputs, block, sound)

    return rows(1 / rows(np.ones(len(table.inputs))).total())


def expected_errors(
    metric: AnyMetric,
    locations: IntArray,
    *channels: Callable[[DistanceTable], Channel],
    workers: int = 2,
    progress: bool = False,
) -> list[FloatArray]:
    """Expected metres between the centre of each of `locations` and its report over the whole map: the paper's E(x).

    One array for each of the `channels`, which are made of a few distances at a time: they share the searches.
    """
    found = [np.empty(len(locations)) for _ in channels]
    for some, units in _distances(metric, locations, workers=workers, progress=progress):
        table = DistanceTable(metric, locations[some], np.arange(len(some)), units)
        for errors, make in zip(found, channels, strict=True):
            channel = make(table)
            rows = channel.block(0, channel.outputs.n)
            errors[some] = expected_distance(rows, metric.xy[locations[some]], channel.outputs)
    return found
