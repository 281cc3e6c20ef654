# SPDX-License-Identifier: Apache-2.0
"""Sums over all reports from many sources: normalisers, expected errors and how errors are spread."""

import numpy as np

from ._compile import kernel
from .paths import SETTLED, begin, clear, close_by, expand, workspace
from .paths_lanes import FAR, LANES, REACHED, lane_workspace, lanes_begin, lanes_clear, lanes_expand
from .sampling import mean_distance

#: When sources share a search: see `close_by`.
CLOSE, FEW = 4 * LANES, 6


def _spaces(start, index, weight, buckets, *_):
    return workspace(start.size - 1, index.size, buckets), lane_workspace(start.size - 1)


def _profile_room(start, index, weight, buckets, measure, tables, periods, row, col, size, sources, bins, bin_cells):
    return (
        *_spaces(start, index, weight, buckets),
        np.zeros((sources.size, tables.shape[0]), np.float64),
        np.zeros(sources.size, np.float64),
        np.zeros((sources.size, bins), np.float64),
        np.empty((tables.shape[0], LANES), np.float64),
    )


@kernel(room=_profile_room)
def profiles(
    start, index, weight, buckets, measure, tables, periods, row, col, size, sources, bins, bin_cells,
    alone, lanes, totals, errors, histogram, sums,
):  # fmt: skip
    """For each source and each table of weights: the total S(x); and, for the first table, sum of weight x distance
    and its histogram.

    Searches the source's whole component. tables[t, d] are weights relative to that of distance 0; beyond the table's
    end they halve with every periods[t]. The histogram has `bins` bins of `bin_cells` cells, the last one open.
    """
    first = 0
    while first < sources.size:
        group = sources[first : first + close_by(sources, first, LANES, CLOSE, FEW)]
        dist, reached, many, width = _weigh(start, index, weight, measure, group, alone, lanes, tables, periods, sums)
        for lane in range(group.size):
            for t in range(tables.shape[0]):
                totals[first + lane, t] = sums[t, lane]
        if bins > 0:
            for j in range(many):
                v = reached[j]
                for lane in range(group.size):
                    d, x = dist[v * width + lane], group[lane]
                    if d < FAR:
                        w = measure[v] * (
                            tables[0, d] if d < tables.shape[1] else _weight_beyond(tables, periods, 0, d)
                        )
                        away = mean_distance(row[x], col[x], size[x], row[v], col[v], size[v])
                        errors[first + lane] += w * away
                        histogram[first + lane, min(bins - 1, int(away / bin_cells))] += w
        clear(alone[0], alone[1], alone[2], alone[5])
        lanes_clear(*lanes)
        first += group.size
    return totals, errors, histogram


@kernel
def _weigh(start, index, weight, measure, group, alone, lanes, tables, periods, sums):
    """Distances from each source of a group to its whole component: a row of `width` of them a vertex, and the `many`
    vertices that were reached; in sums[t, lane] what all of these weigh. `alone` and `lanes` are workspaces, to be
    cleared after it."""
    if group.size == 1:
        begin(np.int64(group[0]), alone[0], alone[1], alone[2], alone[3], alone[5])
        expand(start, index, weight, measure, *alone, FAR - 1, FAR - 1, np.int64(2**62))
        dist, reached, many, width = alone[0], alone[4], alone[5][SETTLED], 1
    else:
        lanes_begin(group, *lanes)
        lanes_expand(start, index, weight, *lanes, FAR - 1)
        dist, reached, many, width = lanes[0], lanes[1], lanes[6][REACHED], LANES
    sums[:] = 0.0
    for j in range(many):
        v = np.uint64(reached[j])
        _add_weights(dist, v * np.uint64(width), group.size, float(measure[v]), tables, periods, sums)
    return dist, reached, many, width


@kernel
def _weight_beyond(tables, periods, t, d):
    """Weight of a distance beyond the end of table t; 0 for lanes that never arrive."""
    halvings = (np.int64(d) - tables.shape[1]) // periods[t] + 1
    return tables[t, np.int64(d) - halvings * periods[t]] * 2.0 ** float(-halvings)


@kernel
def _add_weights(dist, at, lanes, amount, tables, periods, totals):
    """Add to totals[t, lane] what a location of measure `amount` weighs, whose distances begin at `at`."""
    span = np.uint64(tables.shape[1])
    for t in range(tables.shape[0]):
        for lane in range(lanes):
            d = np.uint64(dist[at + np.uint64(lane)])
            w = tables[t, d] if d < span else _weight_beyond(tables, periods, t, d)
            totals[t, lane] += amount * w


@kernel(room=lambda *given: (*_spaces(*given), np.empty((1, LANES), np.float64), np.empty(LANES, np.float64)))
def zone_rows(
    start, index, weight, buckets, measure, tables, periods, sources, first_entry, zone, share, group_of, out,
    alone, lanes, sums, part,
):  # fmt: skip
    """Add to out[zone, group] the chance that a report of the zone falls into a group of locations.

    Source k stands for a part share[e] of zone[e], for each e from first_entry[k] up to first_entry[k + 1]; its own
    reports have probability measure x weight / S. `group_of` is the group of every location, -1 for none.
    """
    first = 0
    while first < sources.size:
        group = sources[first : first + close_by(sources, first, LANES, CLOSE, FEW)]
        dist, reached, many, width = _weigh(start, index, weight, measure, group, alone, lanes, tables, periods, sums)
        for j in range(many):
            v = reached[j]
            g = group_of[v]
            if g < 0:
                continue
            for lane in range(group.size):
                d = np.uint64(dist[v * width + lane])
                w = tables[0, d] if d < np.uint64(tables.shape[1]) else _weight_beyond(tables, periods, 0, d)
                part[lane] = measure[v] * w / sums[0, lane]
            for lane in range(group.size):
                for e in range(first_entry[first + lane], first_entry[first + lane + 1]):
                    out[zone[e], g] += share[e] * part[lane]
        clear(alone[0], alone[1], alone[2], alone[5])
        lanes_clear(*lanes)
        first += group.size
