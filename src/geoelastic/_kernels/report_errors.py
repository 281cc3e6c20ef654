# SPDX-License-Identifier: Apache-2.0
"""Tables of probabilities (inputs, outputs), and sums over them: for evaluation only.

Outputs are squares of `side` x `side` cells whose report is a cell drawn evenly inside. Near squares are summed cell by
cell (at most 8 x 8 parts); for far ones the mean of |v + u| over offsets u of variance s² a coordinate is
|v| + s²/(2|v|) up to fourth order.
"""

import math

import numpy as np

from ._compile import kernel

NEAR_SIDES = 4.0
MAX_PARTS = 8
LEAST_DIFFERENCE = 1e-12


@kernel
def add_square(vx, vy, side, cell_m, p, w, histogram):
    """Mean distance times `p` over the parts of a square at (vx, vy); `w` is spread over the histogram (1 m bins)."""
    parts = min(side, MAX_PARTS)
    step = side / parts * cell_m
    variance = step * step * (1.0 - (parts / side) ** 2) / 12.0
    total = 0.0
    share = 1.0 / (parts * parts)
    for i in range(parts):
        y = vy + (i + 0.5 - parts / 2) * step
        for j in range(parts):
            x = vx + (j + 0.5 - parts / 2) * step
            c = math.sqrt(x * x + y * y)
            total += c + variance / (2.0 * max(c, math.sqrt(variance))) if variance > 0 else c
            histogram[int(c)] += w * share
    return p * total * share


@kernel
def report_distances(xy, row_of_place, weights, block, out_xy, side, cell_m, fine_m, expected, histogram):
    """Add one block of outputs to each place's expected distance and to the weighted histogram of distances.

    block (inputs, outputs) float64; squares nearer than `fine_m` enter the histogram part by part.
    """
    for p in range(xy.shape[0]):
        row = row_of_place[p]
        total = 0.0
        for z in range(block.shape[1]):
            probability = block[row, z]
            if probability > 0.0:
                vx, vy = out_xy[z, 0] - xy[p, 0], out_xy[z, 1] - xy[p, 1]
                c = math.sqrt(vx * vx + vy * vy)
                w = probability * weights[p]
                width = side[z] * cell_m
                if side[z] == 1:
                    total += probability * c
                    histogram[int(c)] += w
                elif c < NEAR_SIDES * width or c < fine_m + width:
                    total += add_square(vx, vy, side[z], cell_m, probability, w, histogram)
                else:
                    variance = cell_m * cell_m * (side[z] * side[z] - 1) / 12.0
                    total += probability * (c + variance / (2.0 * c))
                    histogram[int(c)] += w
        expected[p] += total


@kernel
def outcomes(units, column, first, last, weight_of, measure, inside, fenced, scale):
    """Outputs first..last-1 of a channel: scale[r] x measure x weight_of[distance], (inputs, last - first).

    Output z lies at units[:, column[z]], or nowhere within reach where that is -1. weight_of ends with a 0 for all
    distances beyond. Inputs that are `fenced` report by the measure `inside`.
    """
    block = np.empty((units.shape[0], last - first))
    beyond = weight_of.size - 1
    for r in range(units.shape[0]):
        mu = inside if fenced[r] else measure
        for z in range(first, last):
            at = column[z]
            distance = beyond if at < 0 else min(units[r, at], beyond)
            block[r, z - first] = scale[r] * mu[z] * weight_of[distance]
    return block


@kernel
def survey(block, logs, chance, best, guess, luck, total, never):
    """Sums over a block of outputs that need no distance; returns the sum of -p ln p over joint probabilities.

    Row r of the block is an input of probability chance[r], whose likeliest place has best[r]; logs is ln of the block.
    By output: which input has the likeliest place (guess) and its probability (luck), the probability of the output
    (total), and how many inputs never give it (never). All four are zero when this begins.
    """
    hidden = 0.0
    for r in range(block.shape[0]):
        of_input = math.log(chance[r])
        row = 0.0
        for z in range(block.shape[1]):
            probability = block[r, z]
            if probability > 0.0:
                row -= probability * (logs[r, z] + of_input)
                total[z] += probability * chance[r]
                if probability * best[r] > luck[z]:
                    luck[z] = probability * best[r]
                    guess[z] = r
            else:
                never[z] += 1
        hidden += chance[r] * row
    return hidden


@kernel
def largest_difference(rows, pairs):
    """Largest |rows[a, z] - rows[b, z]| over pairs (a, b) and columns z; infinity less infinity counts for nothing."""
    worst = 0.0
    for k in range(pairs.shape[0]):
        a, b = pairs[k, 0], pairs[k, 1]
        for z in range(rows.shape[1]):
            if rows[a, z] != rows[b, z]:
                worst = max(worst, abs(rows[a, z] - rows[b, z]))
    return worst


@kernel
def corner(table, row, col):
    """Signed entry of a table of rectangles from a source to a corner (col - 1/2, row - 1/2) cells away."""
    i = row - 1 if row > 0 else -row
    j = col - 1 if col > 0 else -col
    return table[i, j] if (row > 0) == (col > 0) else -table[i, j]


@kernel
def far_square(epsilon, cell_m, south, west, side):
    """Planar Laplace mass of a far square by 3 x 3 Gauss-Legendre, where a difference would drown in rounding."""
    node = math.sqrt(0.6)
    half = side * cell_m / 2
    total = 0.0
    for i in range(-1, 2):
        y = (south - 0.5) * cell_m + half * (1 + i * node)
        for j in range(-1, 2):
            x = (west - 0.5) * cell_m + half * (1 + j * node)
            weight = (8.0 if i == 0 else 5.0) * (8.0 if j == 0 else 5.0) / 81.0
            total += weight * math.exp(-epsilon * math.sqrt(x * x + y * y))
    return total * half * half * epsilon * epsilon / (2 * math.pi)


@kernel
def square_masses(table, epsilon, cell_m, source_row, source_col, row, col, side):
    """Planar Laplace mass of each square (south-west cell and side) from each source cell: a signed sum of corners."""
    mass = np.empty((source_row.size, row.size))
    for s in range(source_row.size):
        for z in range(row.size):
            south, west = row[z] - source_row[s], col[z] - source_col[s]
            north, east = south + side[z], west + side[z]
            m = corner(table, south, west) - corner(table, north, west)
            m += corner(table, north, east) - corner(table, south, east)
            mass[s, z] = m if m > LEAST_DIFFERENCE else far_square(epsilon, cell_m, south, west, side[z])
    return mass
