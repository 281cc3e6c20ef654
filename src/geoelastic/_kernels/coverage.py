# SPDX-License-Identifier: Apache-2.0
"""How much of each cell a polygon covers, exactly.

The signed area accumulation of scan converters: the part of an edge that lies in row r and column c, of height dy,
adds dy (1 - f) to that cell and dy to every cell right of it, f being how far into the cell the middle of the part
is. Summed along the row, over all edges of closed rings (outer rings counter-clockwise, holes clockwise), this is the
covered area. The work is proportional to the number of cells that the outline crosses plus the cells of its box;
edges beyond the grid need no clipping: left of it they count as lying on its first column's left side, right of it
they add nothing.
"""

from __future__ import annotations

import numpy as np

from ._compile import kernel

__all__ = ["coverage"]


@kernel
def _add_part(buffer, row, xa, xb, dy, cols):
    """One part of an edge inside one row, from xa to xb, signed height dy, split at the columns."""
    if xa > xb:
        xa, xb = xb, xa
    width = xb - xa
    if xb <= 0.0:
        buffer[row, 0] += dy
        return
    if xa >= cols:
        return
    if xa < 0.0:
        left = dy * (-xa / width)
        buffer[row, 0] += left
        dy -= left
        xa = 0.0
        width = xb
    if xb > cols:
        dy *= (cols - xa) / width
        xb = float(cols)
        width = xb - xa
    first = min(int(xa), cols - 1)
    last = min(int(np.ceil(xb)) - 1, cols - 1)
    if last <= first:
        f = 0.5 * (xa + xb) - first
        buffer[row, first] += dy * (1.0 - f)
        buffer[row, first + 1] += dy * f
        return
    for col in range(first, last + 1):
        a = max(xa, float(col))
        b = min(xb, float(col + 1))
        part = dy * ((b - a) / width)
        f = 0.5 * (a + b) - col
        buffer[row, col] += part * (1.0 - f)
        buffer[row, col + 1] += part * f


@kernel
def _add_edge(buffer, x0, y0, x1, y1, sign, rows, cols):
    """One edge, in cells from the buffer's corner, split at the rows. An upward edge has its polygon on the left."""
    if y0 == y1:
        return
    if y0 > y1:
        x0, y0, x1, y1 = x1, y1, x0, y0
    else:
        sign = -sign
    slope = (x1 - x0) / (y1 - y0)
    first = max(int(np.floor(y0)), 0)
    last = min(int(np.ceil(y1)), rows)
    for row in range(first, last):
        a = max(y0, float(row))
        b = min(y1, float(row + 1))
        if b > a:
            xa = x0 if a == y0 else x0 + (a - y0) * slope
            xb = x1 if b == y1 else x0 + (b - y0) * slope
            _add_part(buffer, row, xa, xb, sign * (b - a), cols)


@kernel
def _box(x, y, begin, end, rows, cols):
    """Rows and columns that points begin..end may touch, inside the grid: (row, row past, col, col past)."""
    x_lo = x_hi = x[begin]
    y_lo = y_hi = y[begin]
    for i in range(begin, end):
        x_lo = min(x_lo, x[i])
        x_hi = max(x_hi, x[i])
        y_lo = min(y_lo, y[i])
        y_hi = max(y_hi, y[i])
    r0 = int(min(max(np.floor(y_lo), 0.0), float(rows)))
    r1 = int(min(max(np.ceil(y_hi), 0.0), float(rows)))
    c0 = int(min(max(np.floor(x_lo), 0.0), float(cols)))
    c1 = int(min(max(np.ceil(x_hi), 0.0), float(cols)))
    return r0, r1, c0, c1


@kernel
def _grow(old, used):
    new = np.empty(2 * old.size, old.dtype)
    for k in range(used):  # assigning a slice would have numba compile the message of an error, too: a second
        new[k] = old[k]
    return new


@kernel
def coverage(x, y, ring_start, area_start, ring_sign, rows, cols, least):
    """(area index, cell index, covered cells) of every cell of which an area covers more than `least` cells.

    `x`, `y`: float64 corners of all rings one after the other (closed: the last corner repeats the first), in cells
    from the grid's south-west corner. `ring_start`: int64, first corner of each ring and one more. `area_start`:
    int64, first ring of each area and one more. `ring_sign`: +1 where the ring as stored adds area (an outer ring
    that runs counter-clockwise or a hole that runs clockwise), else -1. Cells are numbered row by row from the south-
    west.
    """
    area_out = np.empty(1024, np.int64)
    cell_out = np.empty(1024, np.int64)
    part_out = np.empty(1024, np.float64)
    used = np.int64(0)  # a plain 0 is a type of its own at first, for which `_grow` would be compiled once more
    for area in range(area_start.size - 1):
        begin, end = ring_start[area_start[area]], ring_start[area_start[area + 1]]
        if begin == end:
            continue
        r0, r1, c0, c1 = _box(x, y, begin, end, rows, cols)
        height, width = r1 - r0, c1 - c0
        if height <= 0 or width <= 0:
            continue
        buffer = np.zeros((height, width + 1))
        for ring in range(area_start[area], area_start[area + 1]):
            for i in range(ring_start[ring], ring_start[ring + 1] - 1):
                _add_edge(
                    buffer, x[i] - c0, y[i] - r0, x[i + 1] - c0, y[i + 1] - r0, float(ring_sign[ring]), height, width
                )
        for row in range(height):
            covered = 0.0
            for col in range(width):
                covered += buffer[row, col]
                if covered > least:
                    if used == area_out.size:
                        area_out, cell_out, part_out = (
                            _grow(area_out, used),
                            _grow(cell_out, used),
                            _grow(part_out, used),
                        )
                    area_out[used] = area
                    cell_out[used] = (r0 + row) * cols + c0 + col
                    part_out[used] = covered
                    used += 1
    return area_out[:used].copy(), cell_out[:used].copy(), part_out[:used].copy()
