# SPDX-License-Identifier: Apache-2.0
"""The epsilon of planar Laplace that gives the utility of another mechanism: the paper's fair comparison."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from scipy import optimize

from ..errors import InputError, require_positive
from .laplace_channel import laplace_expected_m, laplace_miss
from .utility import Utility

__all__ = ["calibrate", "laplace_epsilons"]

_LOW, _HIGH = 1e-9, 1e3


def calibrate(utility: Callable[[float], float], target: float, *, low: float = _LOW, high: float = _HIGH) -> float:
    """The epsilon in [low, high] at which a function that falls with epsilon takes the value `target`.

    The bracket is widened from the middle on a logarithmic scale, so that `utility` is never asked for extremes that it
    does not need, and the root is found by Brent's method on log(eps) to a relative 1e-12.
    """
    require_positive("target", target)
    a = b = math.sqrt(low * high)
    while utility(a) < target:
        if a <= low:
            raise InputError(f"no epsilon >= {low:g} per metre loses as much utility as {target:g}")
        a = max(low, a / 8)
    while utility(b) > target:
        if b >= high:
            raise InputError(f"no epsilon <= {high:g} per metre loses as little utility as {target:g}")
        b = min(high, b * 8)
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
