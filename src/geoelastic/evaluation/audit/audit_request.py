# SPDX-License-Identifier: Apache-2.0
"""An audit asked for by names: of files, of columns, of a function."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import FloatArray
from ...errors import InputError
from ...mechanism.elastic import ElasticMechanism
from ...mechanism.laplace import PlanarLaplace
from ...opening import load
from ...sources.streams import column_names, open_stream
from .audited_claims import AuditedClaim, ElasticClaim, LaplaceClaim
from .auditor import audit, audit_table

_TRUE = ("true_{}", "{}_true", "original_{}", "{}_original", "{}")
_REPORTED = ("reported_{}", "{}_reported", "sanitized_{}", "{}_sanitized", "noisy_{}", "{}_noisy", "{}2", "{}")
_PAIRS = (("lat", "lon"), ("lat", "lng"), ("latitude", "longitude"))


def audit_request(
    *,
    table: str | None,
    reported: str | None,
    call: str | None,
    metric_file: str | None,
    measure: str,
    epsilon: float | None,
    error_m: float | None,
    sticky: bool,
    columns: str | None,
    draws: int,
    alpha: float,
) -> dict[str, Any]:
    """Run the audit and return its result with a text for people."""
    claim, own = _claim(metric_file, measure, epsilon, error_m)
    if table is not None and call is not None:
        raise InputError("give a table or a function to call, not both")
    if table is not None:
        lat, lon, lat2, lon2 = _rows(table, reported, columns)
        result = audit_table(lat, lon, lat2, lon2, claim, alpha=alpha, sticky=sticky)
    else:
        subject = own if call is None else _function(call)
        result = audit(subject, claim, draws=draws, alpha=alpha, sticky=sticky)
    return result.as_dict() | {"text": result.text()}


def _claim(
    metric_file: str | None, measure: str, epsilon: float | None, error_m: float | None
) -> tuple[AuditedClaim, ElasticMechanism | PlanarLaplace]:
    if sum(value is not None for value in (metric_file, epsilon, error_m)) != 1:
        raise InputError("an audit needs one claim: a metric, an epsilon per metre or an error in metres")
    if metric_file is not None:
        mechanism = ElasticMechanism(load(metric_file), output=measure)
        return ElasticClaim(mechanism), mechanism
    noise = PlanarLaplace(epsilon) if epsilon is not None else PlanarLaplace.from_expected_error(error_m or 0.0)
    return LaplaceClaim(noise.epsilon), noise


def _function(name: str) -> Any:
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` does: the function to audit is often in a file beside
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError):
        raise InputError(f"there is no function {attribute!r} in a module {module!r}; name it as MODULE:NAME") from None
    finally:
        sys.path.pop(0)


def _rows(table: str, reported: str | None, columns: str | None) -> tuple[FloatArray, ...]:
    """Four columns: true and reported latitudes and longitudes."""
    names = [name.strip() for name in columns.split(",")] if columns else []
    if names and len(names) != 4:
        raise InputError("columns must be four names: true latitude and longitude, reported latitude and longitude")
    if reported is not None:
        first, second = _places(table, *names[:2]), _places(reported, *names[2:])
        if first[0].size != second[0].size:
            raise InputError(f"both tables must have the same rows, got {first[0].size} and {second[0].size}")
        return *first, *second
    if not names:
        names = _guess(table)
    return *_places(table, *names[:2]), *_places(table, *names[2:])


def _places(path: str, lat: str | None = None, lon: str | None = None) -> tuple[FloatArray, FloatArray]:
    batches = list(open_stream(path, lat=lat, lon=lon).batches())
    if not batches:
        raise InputError(f"{Path(path).name}: the table has no rows")
    return np.concatenate([b.lat for b in batches]), np.concatenate([b.lon for b in batches])


def _guess(path: str) -> list[str]:
    """Two pairs of columns such as true_lat, true_lon, lat, lon or lat, lon, reported_lat, reported_lon."""
    names = column_names(path)
    by_plain = {name.lower(): name for name in names}
    for true in _TRUE:
        for reported in _REPORTED:
            for lat, lon in _PAIRS:
                wanted = [word.format(axis) for word in (true, reported) for axis in (lat, lon)]
                if true != reported and all(name in by_plain for name in wanted):
                    return [by_plain[name] for name in wanted]
    raise InputError(f"{Path(path).name}: name the four columns, true and reported; columns are {', '.join(names)}")
