# SPDX-License-Identifier: Apache-2.0
"""geoelastic: location privacy that gives every place the same crowd to hide in.

Every public name is loaded when it is first used, so that ``import geoelastic`` and the command line start at once.
Type checkers read ``__init__.pyi`` beside this file, which docs/reference/generate.py writes from the table below.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

#: module -> the public names that it defines
_MODULES = {
    "accounts.ledger": "Ledger",
    "area": "Area",
    "errors": "CheckError FileError FrameError GeoelasticError InputError MassError MissingExtraError OutsideError",
    "evaluation": "evaluate prior_from_checkins reproduce",
    "evaluation.audit": "ElasticClaim LaplaceClaim audit audit_table",
    "fences": "read_fences",
    "fences.crowds": "area_crowd metric_crowd osm_crowd",
    "fences.places": "find_places",
    "fences.suggest": "suggest_fences",
    "judge": "verify",
    "locations": "Grid Locations",
    "mass": "Custom Linear Mass Quadratic Requirement Step mass_from_quality",
    "mechanism": "ElasticMechanism Mechanism ReplayRandom SeededRandom SystemRandom",
    "mechanism.geox_mechanism": "load_mechanism save_mechanism",
    "mechanism.laplace": "GridLaplace PlanarLaplace",
    "mechanism.remap": "Remapped RemappedLaplace",
    "mechanism.sticky": "Sticky",
    "metric": "AnyMetric EuclideanMetric Metric build_metric euclidean_metric",
    "metric.extract": "extract",
    "metric.sharpen": "sharpen",
    "opening": "load",
    "quality": (
        "Quality Recipe load_quality load_recipe quality_from_osm quality_from_points quality_from_polygons "
        "quality_from_postgis quality_from_raster quality_from_source recipe_names save_quality synthetic_quality"
    ),
    "reports.table_reports": "sanitize_file sanitize_frame",
    "sources.checkins": "Checkins read_checkins",
    "sources.traces": "read_traces traces_from_frame",
    "statistics": "Survey estimate estimate_flows estimate_periods estimate_time",
    "tiles": "build_tiles update_tiles",
    "traces": "LiveTrace TraceMechanism",
}
_EXPORTS = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'geoelastic' has no attribute {name!r}")
    value = getattr(import_module(f".{_EXPORTS[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
