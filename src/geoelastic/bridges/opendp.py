# SPDX-License-Identifier: Apache-2.0
"""Reports as a measurement of OpenDP, which composes them with others and refuses what its budget does not allow.

The domain is the places that a map can hide, the distance between two of them is the metric's level d, and the measure
is pure differential privacy: a report is d-close on places that are d apart, which is what `verify` checks. OpenDP
cannot check it, so it asks for ``dp.enable_features("contrib", "honest-but-curious")``.
"""

from __future__ import annotations

import math
from typing import Any

from ..errors import InputError, import_extra
from ..mechanism import ElasticMechanism


def _opendp() -> Any:
    return import_extra("opendp.prelude", "bridges")


def place_domain(mechanism: ElasticMechanism) -> Any:
    """(lat, lon) of all places that the map can hide. Two maps have two domains, so that they are never mixed up."""

    def member(place: Any) -> bool:
        try:
            lat, lon = place
            mechanism.metric.locate_secret(lat, lon)
        except (InputError, TypeError, ValueError):
            return False
        return True

    name = mechanism.metric.identity
    return _opendp().user_domain(f"places of the map {name}", member, descriptor=name)


def place_distance(mechanism: ElasticMechanism) -> Any:
    """The distance of the map's metric, in levels."""
    name = mechanism.metric.identity
    return _opendp().user_distance(f"levels of the map {name}", descriptor=name)


def make_report(mechanism: ElasticMechanism) -> Any:
    """A measurement that takes a place (lat, lon) and releases one fresh report (lat, lon).

    Its privacy map is the identity: places at level d differ by at most e^d in the chance of any report. n of them
    compose to n d, as in the pure bound of `Ledger`.
    """
    if not isinstance(mechanism, ElasticMechanism):
        raise InputError(f"a measurement is made of an ElasticMechanism, got {type(mechanism).__name__}")
    dp = _opendp()

    def privacy_map(level: float) -> float:
        if not (isinstance(level, int | float) and 0 <= level < math.inf):
            raise InputError(f"a distance of places must be a finite level >= 0, got {level!r}")
        return float(level)

    return dp.m.make_user_measurement(
        input_domain=place_domain(mechanism),
        input_metric=place_distance(mechanism),
        output_measure=dp.max_divergence(),
        function=lambda place: mechanism.sanitize(*place),
        privacy_map=privacy_map,
    )
