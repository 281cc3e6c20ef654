# SPDX-License-Identifier: Apache-2.0
"""What elastic reports are compared with, as channels: planar Laplace, Location Guard's levels, snapping to a grid.

Snapping is deterministic: the report is the centre of the cell one is in. NO GUARANTEE in the sense of a metric: two
neighbours on either side of a line are told apart for certain, and crossing the line gives a track away.

Planar Laplace is the density eps²/(2 pi) exp(-eps r) integrated over every output cell. The integral over a rectangle
with a corner at the source is two right triangles, and over a triangle with leg a along an axis and opposite leg b it
is, in polar coordinates and with tan(theta) = sinh(u),

    T(a, b) = 1/(2 pi) * integral of g(eps a cosh u) / cosh u, u from 0 to asinh(b / a), g(t) = 1 - (1 + t) exp(-t),

smooth, so that Gauss-Legendre is exact to rounding. A cell's probability is a signed sum of four such rectangles; where
that would lose digits (below 1e-12) it is a Gauss-Legendre sum over the cell.

The outputs are the grid's cells over the area and a margin, then rings of cells of twice the side each: coarser outputs
only far away, where a report says little. The last ring ends where less than 1e-12 of the noise is left.

`calibrate` finds the epsilon that gives the utility of another mechanism: the paper's fair comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import optimize

from .. import _kernels as kernels
from ..arrays import FloatArray, IntArray
from ..errors import InputError, require_positive
from ..locations import Grid
from ..mechanism.laplace import PlanarLaplace
from .channel import Channel, Outputs
from .prior import Prior
from .utility import Utility

#: cells of a side of the largest square of a quadtree
_MOST_SIDE = 512


def location_guard_channel(prior: Prior, grid: Grid, level: str) -> Channel:
    """Planar Laplace at one of the three levels that the browser extension Location Guard offers."""
    epsilon = PlanarLaplace.from_location_guard(level).epsilon
    return laplace_channel(prior, grid, epsilon, name=f"Location Guard, {level}")


def grid_snap_channel(prior: Prior, grid: Grid, *, side_m: float = 2000) -> Channel:
    """The centre of the square of a fixed grid, by default 2 km as phones offer for an approximate location."""
    side = round(require_positive("side_m", side_m) / grid.cell_m)
    if side < 1:
        raise InputError(f"'side_m' must be at least a cell of {grid.cell_m:g} m, got {side_m:g}")
    row, col = np.divmod(prior.cell, grid.cols)
    squares = np.column_stack([row // side * side, col // side * side, np.full(len(row), side)])
    return _snapped(f"grid of {side * grid.cell_m / 1000:g} km (no guarantee)", squares, grid)


def density_snap_channel(prior: Prior, grid: Grid, people: FloatArray, *, people_min: float = 1000) -> Channel:
    """The centre of the smallest square of a quadtree that holds at least `people_min`: population decides the level.

    `people`: persons (or another count of the crowd) in each cell of the grid. This is how recent phones coarsen a
    location by density; their squares are S2 cells, these are powers of two of the grid's own.
    """
    if people.shape != grid.shape or not np.all(people >= 0):
        raise InputError(f"'people' must be counts >= 0 of the grid's shape {grid.shape}, got shape {people.shape}")
    require_positive("people_min", people_min)
    side = 1
    row, col = np.divmod(prior.cell, grid.cols)
    chosen = np.zeros((len(row), 3), dtype=np.int64)
    open_ = np.ones(len(row), dtype=bool)
    while open_.any():
        crowd = _pooled(people, side)
        enough = open_ & ((crowd[row // side, col // side] >= people_min) | (side >= _MOST_SIDE))
        chosen[enough] = np.column_stack([row // side * side, col // side * side, np.full(len(row), side)])[enough]
        open_ &= ~enough
        side *= 2
    return _snapped(f"squares of {people_min:g} people (no guarantee)", chosen, grid)


def _pooled(cells: FloatArray, side: int) -> FloatArray:
    """Sum over squares of `side` cells."""
    rows, cols = (-(-n // side) * side for n in cells.shape)
    padded = np.zeros((rows, cols))
    padded[: cells.shape[0], : cells.shape[1]] = cells
    pooled: FloatArray = padded.reshape(rows // side, side, cols // side, side).sum(axis=(1, 3))
    return pooled


def _snapped(name: str, squares: IntArray, grid: Grid) -> Channel:
    """A deterministic channel: each place's square (row, col, side) is its output, reported as its centre."""
    unique, output_of = np.unique(squares, axis=0, return_inverse=True)
    row, col, side = unique.T
    xy = np.column_stack([col + side / 2 - grid.cols / 2, row + side / 2 - grid.rows / 2]) * grid.cell_m
    outputs = Outputs(xy, np.ones(len(unique), dtype=np.int64), grid.cell_m)
    identity = np.eye(len(unique))
    return Channel(name, output_of.ravel(), outputs, lambda start, stop: identity[:, start:stop], sound=False)


_TAIL = 1e-12
#: epsilons that calibration looks at
_LOW, _HIGH = 1e-9, 1e3
_NODES = 48


def laplace_expected_m(epsilon: float) -> float:
    """Expected distance of planar Laplace noise: 2 / eps."""
    return 2 / require_positive("epsilon", epsilon)


def laplace_miss(epsilon: float, radius_m: float) -> float:
    """Chance that the noise is `radius_m` or longer: (1 + eps r) exp(-eps r)."""
    t = require_positive("epsilon", epsilon) * radius_m
    return (1 + t) * math.exp(-t)


def rectangle_mass(epsilon: float, x: FloatArray, y: FloatArray) -> FloatArray:
    """Probability of noise in [0, x] x [0, y], for arrays of x, y >= 0 of one shape."""
    return _triangle(epsilon, x, y) + _triangle(epsilon, y, x)


def _triangle(epsilon: float, a: FloatArray, b: FloatArray) -> FloatArray:
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = np.where(a > 0, np.arcsinh(b / a), 0.0)
    total = np.zeros(np.broadcast(a, b).shape)
    for t, w in zip((node + 1) / 2, weight / 2, strict=True):
        cosh = np.cosh(t * top)
        s = epsilon * a * cosh
        total += w * (-np.expm1(-s) - s * np.exp(-s)) / cosh
    return total * top / (2 * math.pi)


def _telescope(row: IntArray, col: IntArray, margin: int, reach: int) -> IntArray:
    """Single cells over the inputs and a margin, then rings of squares of doubled side up to `reach` cells beyond: rows
    and columns of their south-west cells (which may lie off the grid), and their sides in cells."""
    centre_row, centre_col = (int(row.min()) + int(row.max())) // 2, (int(col.min()) + int(col.max())) // 2
    spread = max(int(row.max()) - centre_row, centre_row - int(row.min()), int(col.max()) - centre_col)
    spread = max(spread, centre_col - int(col.min()))
    need = spread + reach + 1
    half = 2 * math.ceil((spread + margin + 1) / 2)
    side, inner, parts = 1, 0, []
    while True:
        t = np.arange(-half, half, side)
        r, c = (a.ravel() for a in np.meshgrid(t, t, indexing="ij"))
        ring = ~((r >= -inner) & (r < inner) & (c >= -inner) & (c < inner))
        r, c = r[ring], c[ring]
        # square by square, so that outputs of one block lie together and the adversary has few guesses to compare
        order = np.lexsort((c, r, c // (32 * side), r // (32 * side)))
        parts.append((r[order] + centre_row, c[order] + centre_col, np.full(len(r), side)))
        if half >= need:
            break
        inner, half, side = half, 2 * half, 2 * side
    return np.concatenate(parts, axis=1, dtype=np.int64)


def laplace_channel(
    prior: Prior, grid: Grid, epsilon: float, *, name: str = "planar Laplace", margin_m: float = 1000
) -> Channel:
    """Planar Laplace from the centre of each place's cell, discretised exactly onto square outputs."""
    require_positive("epsilon", epsilon)
    cells, row_of_place = np.unique(prior.cell, return_inverse=True)
    row, col = np.divmod(cells, grid.cols)
    tail = _tail()
    reach = math.ceil(tail / epsilon / grid.cell_m)
    if reach > 20_000:
        raise InputError(f"'epsilon' must be at least {tail / 20_000 / grid.cell_m:.2g} per metre, got {epsilon:g}")
    low, left, side = squares = _telescope(row, col, math.ceil(margin_m / grid.cell_m), reach)
    table = _corner_table(epsilon, grid.cell_m, squares, row, col)

    def block(start: int, stop: int) -> FloatArray:
        part = slice(start, stop)
        mass: FloatArray = kernels.square_masses(
            table, epsilon, grid.cell_m, row, col, low[part], left[part], side[part]
        )
        return mass

    xy = np.column_stack([left + side / 2 - grid.cols / 2, low + side / 2 - grid.rows / 2])
    return Channel(name, row_of_place, Outputs(xy * grid.cell_m, side, grid.cell_m), block)


def _tail() -> float:
    """t = eps r beyond which `_TAIL` of the noise is left: (1 + t) exp(-t)."""
    return float(optimize.brentq(lambda t: math.log1p(t) - t - math.log(_TAIL), 1, 200))


def boxed_laplace_channel(
    prior: Prior, grid: Grid, epsilon: float, cells: IntArray, *, name: str = "planar Laplace in the box"
) -> Channel:
    """Planar Laplace whose reports outside a box go to the nearest cell of it: its border cells reach to infinity.

    The box is the smallest rectangle of the grid's cells around `cells` and the places.
    """
    require_positive("epsilon", epsilon)
    inputs, row_of_place = np.unique(prior.cell, return_inverse=True)
    row, col = np.divmod(inputs, grid.cols)
    rows, cols = (np.unique(part) for part in np.divmod(np.union1d(cells, inputs), grid.cols))
    rows, cols = np.arange(rows[0], rows[-1] + 1), np.arange(cols[0], cols[-1] + 1)
    far = max(len(rows), len(cols))
    half = np.append((np.arange(far) + 0.5) * grid.cell_m, (far + 1) * grid.cell_m + _tail() / epsilon)
    corner = rectangle_mass(epsilon, *np.meshgrid(half, half))

    def edges(side: IntArray, source: IntArray) -> tuple[IntArray, FloatArray]:
        """For each source the index in `half`, and the sign, of the box's edges between its cells along one axis."""
        step = np.append(side, side[-1] + 1) - source[:, None]
        index = np.where(step > 0, step - 1, -step)
        index[:, [0, -1]] = far
        return index, np.where(step > 0, 1.0, -1.0)

    (i, sign_i), (j, sign_j) = edges(rows, row), edges(cols, col)

    def block(start: int, stop: int) -> FloatArray:
        r, c = np.divmod(np.arange(start, stop), len(cols))
        mass = np.zeros((len(inputs), stop - start))
        for dr, dc in ((1, 1), (0, 0), (1, 0), (0, 1)):
            sign = (1 if dr == dc else -1) * sign_i[:, r + dr] * sign_j[:, c + dc]
            mass += sign * corner[i[:, r + dr], j[:, c + dc]]
        return np.maximum(mass, 0)

    xy = np.column_stack(grid.cell_to_xy(np.repeat(rows, len(cols)), np.tile(cols, len(rows))))
    outputs = Outputs(xy, np.ones(len(xy), dtype=np.int64), float(grid.cell_m))
    return Channel(name, row_of_place, outputs, block)


def _corner_table(epsilon: float, cell_m: float, squares: IntArray, row: IntArray, col: IntArray) -> FloatArray:
    """Mass of [0, (j + 1/2) cell] x [0, (i + 1/2) cell]: every corner lies half a cell off the centre of an input."""
    ends = ((row, squares[0]), (col, squares[1]))
    far = max(int(max((low + squares[2]).max() - of.min(), of.max() - low.min())) for of, low in ends)
    half = (np.arange(far + 2) + 0.5) * cell_m
    x, y = np.meshgrid(half, half)
    upper = np.triu_indices(len(half))
    table = np.empty_like(x)
    table[upper] = rectangle_mass(epsilon, x[upper], y[upper])
    table.T[upper] = table[upper]
    return np.asarray(table, dtype=np.float64)


def calibrate(utility: Callable[[float], float], target: float) -> float:
    """The epsilon from `_LOW` to `_HIGH` at which a function that falls with epsilon takes the value `target`.

    The bracket is widened from the middle on a logarithmic scale, so that `utility` is never asked for extremes that it
    does not need, and the root is found by Brent's method on log(eps) to a relative 1e-12.
    """
    require_positive("target", target)
    a = b = math.sqrt(_LOW * _HIGH)
    while utility(a) < target:
        if a <= _LOW:
            raise InputError(f"no epsilon >= {_LOW:g} per metre loses as much utility as {target:g}")
        a = max(_LOW, a / 8)
    while utility(b) > target:
        if b >= _HIGH:
            raise InputError(f"no epsilon <= {_HIGH:g} per metre loses as little utility as {target:g}")
        b = min(_HIGH, b * 8)
    if a == b:
        return a
    root = optimize.brentq(lambda t: utility(math.exp(t)) - target, math.log(a), math.log(b), xtol=1e-12, rtol=1e-12)
    return math.exp(root)


def laplace_epsilons(utility: Utility) -> dict[str, float]:
    """Epsilon per metre for each of a mechanism's utility measures: the expected distance and each threshold."""
    found = {"expected distance": calibrate(laplace_expected_m, utility.expected_m)}
    for radius_m, missed in utility.threshold.items():
        if 0 < missed < 1:
            found[f"missed by {radius_m} m"] = calibrate(partial(laplace_miss, radius_m=radius_m), missed)
    return found
