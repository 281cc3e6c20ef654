# SPDX-License-Identifier: Apache-2.0
"""A bound on every mechanism that needs no trust: whole numbers in, a fraction out, no solver.

For numbers Y(e, z) >= 0, one for each directed edge e = (x, x') and report z, and R(e) >= e^d(x,x'), every d-private K
has, since R(e) K(x')(z) - K(x)(z) >= 0,

    error(K) >= sum_{x,z} K(x)(z) [ pi(x) |x - z| + sum_{e from x} Y(e, z) - sum_{e to x} R(e) Y(e, z) ]
             >= sum_x min_z [ ... ],

because K(x) sums to 1. Any Y gives a true bound; those of a good solution give a good one. Distances in metres are
rounded down and R is rounded up, so that the sum, done in whole numbers, can only be too small.
`examples/check_optimum.py` does the same from the file with nothing but Python's standard library.
"""

from __future__ import annotations

import gzip
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError
from ..levels import LEVEL_BITS
from ..store.atomic import write_bytes
from .optimum import LinearProgram, Optimum

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
    """Metres that no d-private mechanism between these places can fall below; exact."""
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


def read_certificate(path: str | Path) -> Certificate:
    try:
        found = json.loads(gzip.decompress(Path(path).read_bytes()))
        if found["format"] != _FORMAT:
            raise FileError(f"'{path}' must be a certificate of an optimum, its format is {found['format']!r}")
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"'{path}' must be a certificate of an optimum written by bench optimum") from None
    return dict(found)
