# SPDX-License-Identifier: Apache-2.0
"""The best mechanism for hundreds of places of a map: the linear program of `optimal`, solved by its structure.

Minimise sum_x pi(x) sum_z K(x)(z) |x - z| over all K with K(x)(z) <= e^d(x,x') K(x')(z) along the edges of a spanner of
the places. Every d-private K keeps these, so the optimum here is at most that of all pairs, and at least that for
distances `stretch` times as long.

Every report z has its own block of variables K(.)(z) and its own copy of the edges; all that ties blocks together is
that rows sum to 1. An interior-point method (Mehrotra's predictor and corrector) then needs, each step, one inverse of
n x n a report and one of their sum: 225 places and as many reports, with half a million constraints, take a minute.
Nothing of it has to be believed: `certify` makes of the multipliers, in whole numbers, a bound on every mechanism that
holds whatever they are: whole numbers in, a fraction out, no solver (`certified_bound`).
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import FloatArray, IntArray
from ..errors import FileError, GeoelasticError, InputError
from ..levels import LEVEL_BITS, LEVEL_UNIT
from ..store.atomic import write_bytes

#: The solution and the bound of its multipliers differ by at most this part.
TOLERANCE = 1e-5
#: Steps are this part of the longest that keeps everything positive.
_NEARLY = 0.995
_STEPS = 60
#: After so many steps without a better bound the numbers are spent.
_PATIENCE = 3


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """Places and reports in millimetres (n, 2) and (m, 2), whole weights of the places, and edges (E, 2) with their
    lengths in level units: whole numbers only, so that a bound can be exact."""

    places_mm: IntArray
    reports_mm: IntArray
    weight: IntArray
    edges: IntArray
    units: IntArray

    def __post_init__(self) -> None:
        n = len(self.places_mm)
        if not (n > 1 and len(self.weight) == n and np.all(self.weight >= 0) and self.weight.sum() > 0):
            raise InputError("'weight' must have a number >= 0 for each of at least two places, not all 0")
        if len(self.edges) != len(self.units) or not np.all(self.units > 0):
            raise InputError("'units' must have a whole number > 0 for each edge")
        parts, _ = sparse.csgraph.connected_components(
            sparse.coo_array((np.ones(len(self.edges)), self.edges.T), shape=(n, n)), directed=False
        )
        if parts != 1:
            raise InputError(f"'edges' must connect all places, they leave {parts} parts")

    @cached_property
    def prior(self) -> FloatArray:
        share: FloatArray = self.weight / self.weight.sum()
        return share

    @cached_property
    def cost_m(self) -> FloatArray:
        """Metres between each place and each report."""
        apart = (self.places_mm[:, None, :] - self.reports_mm[None, :, :]) / 1000
        return np.hypot(apart[..., 0], apart[..., 1])


def spanner(units: IntArray, stretch: float) -> IntArray:
    """Edges (E, 2) whose shortest paths are at most `stretch` times `units`, a table of all distances (greedy)."""
    if not stretch >= 1:
        raise InputError(f"'stretch' must be >= 1, got {stretch}")
    n = len(units)
    first, second = np.triu_indices(n, 1)
    direct = np.asarray(units[first, second], np.float64)
    paths = np.where(np.eye(n, dtype=bool), 0.0, np.inf)
    chosen = []
    for k in np.argsort(direct, kind="stable"):
        i, j = int(first[k]), int(second[k])
        if paths[i, j] > stretch * direct[k]:
            chosen.append((i, j))
            through = paths[i][:, None] + direct[k] + paths[j][None, :]
            paths = np.minimum(paths, np.minimum(through, through.T))
    return np.array(chosen, np.int64).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class Optimum:
    """`matrix` (n, m): the mechanism; `multipliers` (2E, m): one for each constraint, first from edges[k, 0] to
    edges[k, 1], then the other way; `error_m` of the mechanism, and `bound_m` that the multipliers show (up to
    floating point)."""

    matrix: FloatArray
    multipliers: FloatArray
    error_m: float
    bound_m: float


def solve_optimum(problem: LinearProgram, *, step: Callable[[int, float, float], None] | None = None) -> Optimum:
    """The optimum, to `TOLERANCE`; `step(k, error_m, bound_m)` is told how far it is."""
    solver = _Solver(problem)
    best: Optimum | None = None
    behind = 0
    for k in range(_STEPS):
        error, bound = solver.figures()
        if step is not None:
            step(k, error, bound)
        behind = behind + 1 if best is not None and bound <= best.bound_m else 0
        if best is None or bound > best.bound_m:
            best = Optimum(solver.k.copy(), solver.y.copy(), error, bound)
        if error - best.bound_m <= TOLERANCE * error or behind == _PATIENCE:
            break
        solver.advance()
    if best is None or not best.bound_m > 0:
        raise GeoelasticError("the linear program was not solved: no bound was found")
    matrix = np.maximum(best.matrix, 0)
    matrix /= matrix.sum(axis=1, keepdims=True)
    return replace(best, matrix=matrix, multipliers=best.multipliers * solver.scale)


class _Solver:
    """min <c, k> with rows of k that sum to 1 and s = G k >= 0; G has a row 1(x') - e^-d 1(x) for each constraint.

    Multipliers y >= 0 and u fulfil u + G^T y = c in the end.
    """

    def __init__(self, problem: LinearProgram) -> None:
        n, m = problem.cost_m.shape
        self.i, self.j = problem.edges.T
        tail, head = np.concatenate([self.i, self.j]), np.concatenate([self.j, self.i])
        self.rho = np.exp(-np.tile(problem.units, 2) * LEVEL_UNIT)
        rows = np.tile(np.arange(len(tail)), 2)
        entries = np.concatenate([np.ones(len(tail)), -self.rho]), (rows, np.concatenate([head, tail]))
        self.g = sparse.csr_array(entries, shape=(len(tail), n))
        self.gt, self.gt2 = sparse.csr_array(self.g.T), sparse.csr_array((self.g * self.g).T)
        cost = problem.prior[:, None] * problem.cost_m
        self.scale = float(cost.sum(axis=0).min())
        self.c = cost / self.scale
        self.k = np.full((n, m), 1 / m)  # strictly inside: every report as likely from everywhere
        self.s = self.g @ self.k
        self.y = self.c.mean() / m / self.s
        self.u = np.zeros(n)

    def figures(self) -> tuple[float, float]:
        """(error of the mechanism, bound by the multipliers) in metres."""
        return float((self.c * self.k).sum()) * self.scale, float((self.c - self.gt @ self.y).min(axis=1).sum()) * (
            self.scale
        )

    def advance(self) -> None:
        inverse: FloatArray = np.asarray(np.linalg.inv(self._normal(self.y / self.s)), np.float64)
        together = inverse.sum(axis=0)
        even = float((self.y * self.s).mean())
        dk, ds, dy, du = self._direction(inverse, together, -self.y * self.s)
        ahead = (self.s + _longest(self.s, ds) * ds) * (self.y + _longest(self.y, dy) * dy)
        centre = even * (float(ahead.mean()) / even) ** 3
        dk, ds, dy, du = self._direction(inverse, together, centre - self.y * self.s - ds * dy)
        along, across = _NEARLY * _longest(self.s, ds), _NEARLY * _longest(self.y, dy)
        self.k += along * dk
        self.s += along * ds
        self.y += across * dy
        self.u += across * du

    def _normal(self, w: FloatArray) -> FloatArray:
        """G^T diag(w_z) G for every report z, as one stack."""
        n, m = self.k.shape
        half = len(self.i)
        stack = np.zeros((m, n, n))
        stack[:, self.i, self.j] = stack[:, self.j, self.i] = -(self.rho[:half, None] * (w[:half] + w[half:])).T
        stack[:, np.arange(n), np.arange(n)] = (self.gt2 @ w).T
        return stack

    def _direction(self, inverse: FloatArray, together: FloatArray, complement: FloatArray) -> Any:
        """Newton's step that brings y s to `complement` more, and the rest to 0."""
        dual = self.c - self.u[:, None] - self.gt @ self.y
        slack = self.g @ self.k - self.s
        right = self.gt @ ((complement - self.y * slack) / self.s) - dual
        alone = np.matmul(inverse, right.T[:, :, None])[:, :, 0].T
        du = np.linalg.solve(together, 1 - self.k.sum(axis=1) - alone.sum(axis=1))
        dk = alone + np.matmul(inverse, du[None, :, None])[:, :, 0].T
        ds = self.g @ dk + slack
        return dk, ds, (complement - self.y * ds) / self.s, du


def _longest(value: FloatArray, change: FloatArray) -> float:
    """How much of a change, at most all of it, keeps every value from falling below 0."""
    falling = change < 0
    return min(1.0, float((-value[falling] / change[falling]).min(initial=np.inf)))


#: Fractional bits of R and of Y.
R_BITS, Y_BITS = 40, 20
_FORMAT = "geoelastic-optimum-1"
#: Multipliers are kept in these parts of a weight times a millimetre; smaller weights would lose them.
WEIGHTS_TOTAL = 1 << 30

Certificate = dict[str, Any]


def exp_above(units: int, bits: int = R_BITS) -> int:
    """A whole number of 2^-bits that is at least e^(units 2^-13)."""
    guard = bits + 40
    # e^h <= 1 + h + h^2 for 0 <= h <= 1; h = 2^-13 2^-27 makes the excess of each of 2^27 factors harmless
    value, left = (1 << guard) + (1 << (guard - LEVEL_BITS - 27)) + 1, units << 27
    result = 1 << guard
    while left:
        if left & 1:
            result = -(-result * value >> guard)
        value = -(-value * value >> guard)
        left >>= 1
    return -(-result >> (guard - bits))


def certify(problem: LinearProgram, optimum: Optimum) -> Certificate:
    """All that the bound needs, in whole numbers; `problem.weight` in parts of about 2^30."""
    total = int(problem.weight.sum())
    rho = np.exp(-np.tile(problem.units, 2) / 2.0**LEVEL_BITS)
    # the solver's constraint is K(x') - e^-d K(x) >= 0, here it is e^d K(x') - K(x) >= 0: K(x) has coefficient 1
    scaled = np.maximum(optimum.multipliers, 0) * rho[:, None] * (total * 1000 * 2.0**Y_BITS)
    return {
        "format": _FORMAT,
        "places_mm": problem.places_mm.tolist(),
        "reports_mm": problem.reports_mm.tolist(),
        "weight": problem.weight.tolist(),
        "edges": problem.edges.tolist(),
        "units": problem.units.tolist(),
        "multipliers": [[int(v) for v in row] for row in scaled],
    }


def certified_bound(certificate: Certificate) -> Fraction:
    """Metres that no d-private mechanism between these places can fall below; exact.

    For numbers Y(e, z) >= 0, one for each directed edge e = (x, x') and report z, and R(e) >= e^d(x,x'), every
    d-private K has, since R(e) K(x')(z) - K(x)(z) >= 0,

        error(K) >= sum_{x,z} K(x)(z) [ pi(x) |x - z| + sum_{e from x} Y(e, z) - sum_{e to x} R(e) Y(e, z) ]
                 >= sum_x min_z [ ... ],

    because K(x) sums to 1. Any Y gives a true bound; those of a good solution give a good one. Distances in metres are
    rounded down and R is rounded up, so that the sum, done in whole numbers, can only be too small.
    `examples/check_optimum.py` does the same from the file with nothing but Python's standard library.
    """
    weight, edges = certificate["weight"], certificate["edges"]
    directed = [*edges, *([j, i] for i, j in edges)]
    growth = [exp_above(u) for u in certificate["units"]] * 2
    if min(weight) < 0 or any(min(row) < 0 for row in certificate["multipliers"]):
        raise FileError("a certificate must have weights and multipliers >= 0")
    least: list[int | None] = [None] * len(weight)
    for z, (zx, zy) in enumerate(certificate["reports_mm"]):
        value = [
            (w * math.isqrt((x - zx) ** 2 + (y - zy) ** 2)) << (R_BITS + Y_BITS)
            for w, (x, y) in zip(weight, certificate["places_mm"], strict=True)
        ]
        for (tail, head), r, row in zip(directed, growth, certificate["multipliers"], strict=True):
            value[tail] += row[z] << R_BITS
            value[head] -= r * row[z]
        least = [v if known is None else min(v, known) for v, known in zip(value, least, strict=True)]
    found = sum(v for v in least if v is not None)
    return Fraction(found, (sum(weight) * 1000) << (R_BITS + Y_BITS))


def write_certificate(path: str | Path, certificate: Certificate) -> None:
    """One gzipped JSON object."""
    write_bytes(Path(path), gzip.compress(json.dumps(certificate, separators=(",", ":")).encode(), mtime=0))
