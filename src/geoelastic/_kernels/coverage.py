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

from typing import Any

import numpy as np

from ._compile import kernel

#: Cells of boxes that are looked at in one go: what is found among them has room.
_AT_ONCE = 2**22


@kernel
def _add_part(buffer, row, xa, xb, dy, cols):
    """One part of an edge inside one row, from xa to xb, signed height dy, split at the columns. Rows of the buffer are
    one longer than there are columns."""
    begin = row * (cols + 1)
    if xa > xb:
        xa, xb = xb, xa
    width = xb - xa
    if xb <= 0.0:
        buffer[begin] += dy
        return
    if xa >= cols:
        return
    if xa < 0.0:
        left = dy * (-xa / width)
        buffer[begin] += left
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
        buffer[begin + first] += dy * (1.0 - f)
        buffer[begin + first + 1] += dy * f
        return
    for col in range(first, last + 1):
        a = max(xa, float(col))
        b = min(xb, float(col + 1))
        part = dy * ((b - a) / width)
        f = 0.5 * (a + b) - col
        buffer[begin + col] += part * (1.0 - f)
        buffer[begin + col + 1] += part * f


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


def coverage(
    x: Any, y: Any, ring_start: Any, area_start: Any, ring_sign: Any, rows: int, cols: int, least: float
) -> Any:
    """(area index, cell index, covered cells) of every cell of which an area covers more than `least` cells.

    `x`, `y`: float64 corners of all rings one after the other (closed: the last corner repeats the first), in cells
    from the grid's south-west corner. `ring_start`: int64, first corner of each ring and one more. `area_start`:
    int64, first ring of each area and one more. `ring_sign`: +1 where the ring as stored adds area (an outer ring
    that runs counter-clockwise or a hole that runs clockwise), else -1. Cells are numbered row by row from the south-
    west.
    """
    box = _boxes(x, y, ring_start[area_start], rows, cols)
    room = (box[:, 1] - box[:, 0]) * (box[:, 3] - box[:, 2])
    buffer = np.zeros(int((room + box[:, 1] - box[:, 0]).max(initial=0)))
    found, first = [], 0
    while first < len(box):
        last = max(first + 1, int(np.searchsorted(np.cumsum(room[first:]), _AT_ONCE, side="right")) + first)
        most = int(room[first:last].sum())
        out = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.float64)
        used = add_areas(x, y, ring_start, area_start, ring_sign, box, cols, least, first, last, buffer, *out)
        found.append([part[:used] for part in out])
        first = last
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def _boxes(x, y, first_corner, rows, cols):
    """Rows and columns that each area may touch, inside the grid: (row, row past, col, col past)."""
    box = np.zeros((first_corner.size - 1, 4), np.int64)
    some = np.flatnonzero(np.diff(first_corner))
    for at, of, size in ((0, y, rows), (2, x, cols)):
        for side, extreme, rounded in ((at, np.minimum, np.floor), (at + 1, np.maximum, np.ceil)):
            if some.size:
                reached = extreme.reduceat(of[: first_corner[-1]], first_corner[some])
                box[some, side] = np.nan_to_num(np.clip(rounded(reached), 0, size))  # what is nowhere has no cells
    return box


@kernel
def add_areas(
    x, y, ring_start, area_start, ring_sign, box, cols, least, first, last, buffer, area_out, cell_out, part_out
):
    """Cells that the areas from `first` to `last` cover. `buffer` is room for a box and one more column, all 0."""
    used = 0
    for area in range(first, last):
        r0, r1, c0, c1 = box[area, 0], box[area, 1], box[area, 2], box[area, 3]
        height, width = r1 - r0, c1 - c0
        if height <= 0 or width <= 0:
            continue
        for ring in range(area_start[area], area_start[area + 1]):
            for i in range(ring_start[ring], ring_start[ring + 1] - 1):
                _add_edge(
                    buffer, x[i] - c0, y[i] - r0, x[i + 1] - c0, y[i + 1] - r0, float(ring_sign[ring]), height, width
                )
        for row in range(height):
            covered = 0.0
            for col in range(width + 1):
                at = row * (width + 1) + col
                covered += buffer[at]
                buffer[at] = 0.0
                if col < width and covered > least:
                    area_out[used] = area
                    cell_out[used] = (r0 + row) * cols + c0 + col
                    part_out[used] = covered
                    used += 1
    return used


@kernel
def _cross(ax, ay, bx, by, cx, cy):
    """Twice the signed area of the triangle a, b, c."""
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)


@kernel
def _apart(ax, ay, bx, by, cx, cy, dx, dy):
    """Whether ab and cd surely do not meet: boxes apart, or one strictly on one side of the other's line."""
    if max(ax, bx) < min(cx, dx) or max(cx, dx) < min(ax, bx) or max(ay, by) < min(cy, dy) or max(cy, dy) < min(ay, by):
        return True
    c, d = _cross(ax, ay, bx, by, cx, cy), _cross(ax, ay, bx, by, dx, dy)
    a, b = _cross(cx, cy, dx, dy, ax, ay), _cross(cx, cy, dx, dy, bx, by)
    return (c > 0 and d > 0) or (c < 0 and d < 0) or (a > 0 and b > 0) or (a < 0 and b < 0)


@kernel(room=lambda x, y, ring_start, most: (np.zeros(ring_start.size - 1, np.bool_),))
def simple_rings(x, y, ring_start, most, result):
    """True for each closed ring of 4 to `most` corners whose sides surely meet only at shared corners.

    `x`, `y`: float64 corners, the last of each ring repeating its first; `ring_start`: int64, first corner of each
    ring and one more. False means unknown: a spike, a crossing, a repeated corner, or too many corners to try all
    pairs of sides.
    """
    for ring in range(ring_start.size - 1):
        first, sides = ring_start[ring], ring_start[ring + 1] - ring_start[ring] - 1
        if sides < 3 or sides + 1 > most:
            continue
        good = True
        for i in range(sides):
            p, q, r = first + i, first + i + 1, first + (i + 2 if i + 2 <= sides else 1)
            # Two sides in line are fine if the outline goes on, a spike if it turns back.
            ahead = (x[q] - x[p]) * (x[r] - x[q]) + (y[q] - y[p]) * (y[r] - y[q]) > 0.0
            if not ahead and _cross(x[p], y[p], x[q], y[q], x[r], y[r]) == 0.0:
                good = False
                break
            for j in range(i + 2, sides):
                if i == 0 and j == sides - 1:
                    continue
                s = first + j
                if not _apart(x[p], y[p], x[q], y[q], x[s], y[s], x[s + 1], y[s + 1]):
                    good = False
                    break
            if not good:
                break
        result[ring] = good
    return result
