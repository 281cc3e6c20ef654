# SPDX-License-Identifier: Apache-2.0
# Written by docs/reference/generate.py: change __init__.py, not this file.
# ruff: noqa
# fmt: off
from .accounts.ledger import Ledger as Ledger
from .area import Area as Area
from .errors import CheckError as CheckError
from .errors import FileError as FileError
from .errors import FrameError as FrameError
from .errors import GeoelasticError as GeoelasticError
from .errors import InputError as InputError
from .errors import MassError as MassError
from .errors import MissingExtraError as MissingExtraError
from .errors import OutsideError as OutsideError
from .evaluation import evaluate as evaluate
from .evaluation import prior_from_checkins as prior_from_checkins
from .evaluation import reproduce as reproduce
from .evaluation.audit import audit as audit
from .evaluation.audit import audit_table as audit_table
from .evaluation.audit import ElasticClaim as ElasticClaim
from .evaluation.audit import LaplaceClaim as LaplaceClaim
from .fences import read_fences as read_fences
from .fences.crowds import area_crowd as area_crowd
from .fences.crowds import metric_crowd as metric_crowd
from .fences.crowds import osm_crowd as osm_crowd
from .fences.places import find_places as find_places
from .fences.suggest import suggest_fences as suggest_fences
from .judge import verify as verify
from .locations import Grid as Grid
from .locations import Locations as Locations
from .mass import Custom as Custom
from .mass import Linear as Linear
from .mass import Mass as Mass
from .mass import mass_from_quality as mass_from_quality
from .mass import Quadratic as Quadratic
from .mass import Requirement as Requirement
from .mass import Step as Step
from .mechanism import ElasticMechanism as ElasticMechanism
from .mechanism import Mechanism as Mechanism
from .mechanism import ReplayRandom as ReplayRandom
from .mechanism import SeededRandom as SeededRandom
from .mechanism import SystemRandom as SystemRandom
from .mechanism.geox_mechanism import load_mechanism as load_mechanism
from .mechanism.geox_mechanism import save_mechanism as save_mechanism
from .mechanism.laplace import GridLaplace as GridLaplace
from .mechanism.laplace import PlanarLaplace as PlanarLaplace
from .mechanism.remap import Remapped as Remapped
from .mechanism.remap import RemappedLaplace as RemappedLaplace
from .mechanism.sticky import Sticky as Sticky
from .metric import AnyMetric as AnyMetric
from .metric import build_metric as build_metric
from .metric import euclidean_metric as euclidean_metric
from .metric import EuclideanMetric as EuclideanMetric
from .metric import Metric as Metric
from .metric.extract import extract as extract
from .metric.sharpen import sharpen as sharpen
from .opening import load as load
from .quality import load_quality as load_quality
from .quality import load_recipe as load_recipe
from .quality import Quality as Quality
from .quality import quality_from_osm as quality_from_osm
from .quality import quality_from_points as quality_from_points
from .quality import quality_from_polygons as quality_from_polygons
from .quality import quality_from_postgis as quality_from_postgis
from .quality import quality_from_raster as quality_from_raster
from .quality import quality_from_source as quality_from_source
from .quality import Recipe as Recipe
from .quality import recipe_names as recipe_names
from .quality import save_quality as save_quality
from .quality import synthetic_quality as synthetic_quality
from .reports.table_reports import sanitize_file as sanitize_file
from .reports.table_reports import sanitize_frame as sanitize_frame
from .sources.checkins import Checkins as Checkins
from .sources.checkins import read_checkins as read_checkins
from .sources.traces import read_traces as read_traces
from .sources.traces import traces_from_frame as traces_from_frame
from .statistics import estimate as estimate
from .statistics import estimate_flows as estimate_flows
from .statistics import estimate_periods as estimate_periods
from .statistics import Survey as Survey
from .tiles import build_tiles as build_tiles
from .tiles import update_tiles as update_tiles
from .traces import LiveTrace as LiveTrace
from .traces import TraceMechanism as TraceMechanism

_EXPORTS: dict[str, str]
__all__: list[str]
__version__: str
