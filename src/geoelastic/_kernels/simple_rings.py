# SPDX-License-Identifier: Apache-2.0
"""Which rings are plainly simple, so that only the rest needs a full check of validity."""

from __future__ import annotations

import numpy as np

from ._compile import kernel

__all__ = ["simple_rings"]


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
