# SPDX-License-Identifier: Apache-2.0
"""From choices to a mechanism, and from a mechanism to a charge: what the command line and the service share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..accounts.budget import Budget
from ..accounts.ledger import Account, Ledger, updating
from ..errors import InputError, require_choice
from ..mechanism.elastic import ElasticMechanism
from ..mechanism.laplace import PlanarLaplace
from ..mechanism.remap import Remapped
from ..mechanism.sticky import Sticky, load_key, new_key
from ..metric import AnyMetric
from ..reports.protocols import Mechanism, ReportsPlaces, over_a_map
from ..reports.table_reports import Visits

MECHANISMS = ("elastic", "laplace")


def _laplace(
    metric: AnyMetric | None, epsilon: float | None = None, error_m: float | None = None, guard: str | None = None
) -> PlanarLaplace:
    """Planar Laplace by epsilon per metre, mean error or a Location Guard level; else by a map's l* and r_small."""
    given = [value for value in (epsilon, error_m, guard) if value is not None]
    if len(given) > 1:
        raise InputError("give one of epsilon, error and a Location Guard level, not several")
    if epsilon is not None:
        return PlanarLaplace(epsilon)
    if error_m is not None:
        return PlanarLaplace.from_expected_error(error_m)
    if guard is not None:
        return PlanarLaplace.from_location_guard(guard)
    r_small_m = None if metric is None else _find(metric.info, "r_small_m")
    l_star = None if metric is None else getattr(metric.requirement, "l_star", None)
    if r_small_m is None or l_star is None:
        raise InputError("planar Laplace needs epsilon, an error in metres or a Location Guard level")
    return PlanarLaplace.from_level(l_star, r_small_m)


def choose_mechanism(
    kind: str,
    metric: AnyMetric | None,
    *,
    measure: str = "mass",
    sticky_key: str | Path | None = None,
    user: str = "",
    remap: bool = False,
    **laplace: Any,
) -> Mechanism:
    """The mechanism that a name and options stand for; a key file that does not exist yet is made."""
    require_choice("mechanism", kind, MECHANISMS)
    if kind == "laplace":
        if sticky_key is not None or remap:
            raise InputError("sticky and remapped reports need a map: use the elastic mechanism")
        return _laplace(metric, **laplace)
    if any(value is not None for value in laplace.values()):
        raise InputError("epsilon, error and Location Guard levels belong to the mechanism 'laplace'")
    if metric is None:
        raise InputError("the elastic mechanism needs a map: give the file of a metric")
    mechanism = ElasticMechanism(metric, output=measure)
    if remap and sticky_key is not None:
        raise InputError("a report can be sticky or remapped, not both")
    if remap:
        return Remapped(mechanism, metric.mass)
    if sticky_key is None:
        return mechanism
    path = Path(sticky_key)
    return Sticky(mechanism, load_key(path) if path.exists() else new_key(path), user)


def mechanism_name(mechanism: Mechanism) -> str:
    """The name of a mechanism's account in a ledger: the kind, and the map or the epsilon."""
    if isinstance(mechanism, ReportsPlaces):
        return f"laplace:{mechanism.epsilon:.6g}"
    return f"elastic:{mechanism.metric.identity}"


def charge(ledger: Ledger, mechanism: Mechanism, visits: Visits, *, user: str = "") -> None:
    """Charge reports to a ledger; `visits` are true locations by user, whose names default to `user`."""
    name = mechanism_name(mechanism)
    on_map = over_a_map(mechanism)
    for key, where in visits.items():
        who = key or user
        if on_map is None or not isinstance(where, np.ndarray):
            # planar Laplace has weights e^(-epsilon r): the exponent 1 of accounting, with d = epsilon r
            ledger.charge(who, name, fresh=int(where if isinstance(where, int) else where.size), exponent=1.0)
            continue
        inside = on_map.metric.fences_at(where) > 0
        free = where[~inside]
        counted: dict[str, Any] = {"fenced": int(np.count_nonzero(inside)), "exponent": float(on_map.exponent)}
        if isinstance(on_map, Sticky):
            ledger.charge(who, name, tags=on_map.for_user(who).tags(free), **counted)
        else:
            ledger.charge(who, name, fresh=int(free.size), **counted)


def account_of(ledger: Ledger, metric: AnyMetric, user: str) -> Account:
    """A user's account with the elastic mechanism on this metric; an empty one if there were no reports."""
    return ledger.accounts(user).get(f"elastic:{metric.identity}", Account())


def charge_file(
    path: str | Path, mechanism: Mechanism, visits: Visits, *, user: str = "", budget: Budget | None = None
) -> None:
    """The same for the ledger in a file, which is locked meanwhile; a `budget` that would be exceeded leaves it as it
    is."""
    with updating(path) as ledger:
        charge(ledger, mechanism, visits, user=user)
        if budget is not None:
            budget.require(ledger, {key or user for key in visits})


def _find(info: Any, key: str) -> float | None:
    """A number in nested notes about where a mass comes from."""
    if isinstance(info, dict):
        if isinstance(info.get(key), int | float):
            return float(info[key])
        return next((found for value in info.values() if (found := _find(value, key)) is not None), None)
    return None
