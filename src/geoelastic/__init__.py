# SPDX-License-Identifier: Apache-2.0
"""geoelastic: location privacy that gives every place the same crowd to hide in.

Every public name is loaded when it is first used, so that ``import geoelastic`` and the command line start at once.
Type checkers read ``__init__.pyi`` beside this file, which docs/reference/generate.py writes from the table below.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

#: public name -> the module that defines it
_EXPORTS = {
    "AnyMetric": "metric",
    "Area": "area",
    "CheckError": "errors",
    "Checkins": "sources.checkins",
    "Custom": "mass",
    "ElasticClaim": "evaluation.audit",
    "ElasticMechanism": "mechanism",
    "EuclideanMetric": "metric",
    "FileError": "errors",
    "FrameError": "errors",
    "GeoelasticError": "errors",
    "Grid": "locations",
    "GridLaplace": "mechanism.laplace",
    "InputError": "errors",
    "LaplaceClaim": "evaluation.audit",
    "Ledger": "accounts.ledger",
    "Linear": "mass",
    "LiveTrace": "traces",
    "Locations": "locations",
    "Mass": "mass",
    "MassError": "errors",
    "Mechanism": "mechanism",
    "Metric": "metric",
    "MissingExtraError": "errors",
    "OutsideError": "errors",
    "PlanarLaplace": "mechanism.laplace",
    "Quadratic": "mass",
    "Quality": "quality",
    "Recipe": "quality",
    "Remapped": "mechanism.remap",
    "RemappedLaplace": "mechanism.remap",
    "ReplayRandom": "mechanism",
    "Requirement": "mass",
    "SeededRandom": "mechanism",
    "Step": "mass",
    "Survey": "statistics",
    "Sticky": "mechanism.sticky",
    "SystemRandom": "mechanism",
    "TraceMechanism": "traces",
    "area_crowd": "fences.crowds",
    "audit": "evaluation.audit",
    "audit_table": "evaluation.audit",
    "build_metric": "metric",
    "build_tiles": "tiles",
    "euclidean_metric": "metric",
    "estimate": "statistics",
    "estimate_flows": "statistics",
    "estimate_periods": "statistics",
    "estimate_time": "statistics",
    "evaluate": "evaluation",
    "extract": "metric.extract",
    "find_places": "fences.places",
    "load": "opening",
    "load_mechanism": "mechanism.geox_mechanism",
    "load_quality": "quality",
    "load_recipe": "quality",
    "mass_from_quality": "mass",
    "metric_crowd": "fences.crowds",
    "osm_crowd": "fences.crowds",
    "prior_from_checkins": "evaluation",
    "quality_from_osm": "quality",
    "quality_from_points": "quality",
    "quality_from_polygons": "quality",
    "quality_from_postgis": "quality",
    "quality_from_raster": "quality",
    "quality_from_source": "quality",
    "read_checkins": "sources.checkins",
    "read_fences": "fences",
    "read_traces": "sources.traces",
    "recipe_names": "quality",
    "reproduce": "evaluation",
    "sanitize_file": "reports.table_reports",
    "sanitize_frame": "reports.table_reports",
    "save_mechanism": "mechanism.geox_mechanism",
    "save_quality": "quality",
    "sharpen": "metric.sharpen",
    "suggest_fences": "fences.suggest",
    "synthetic_quality": "quality",
    "traces_from_frame": "sources.traces",
    "update_tiles": "tiles",
    "verify": "judge",
}

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'geoelastic' has no attribute {name!r}")
    value = getattr(import_module(f".{_EXPORTS[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
