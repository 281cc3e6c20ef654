# SPDX-License-Identifier: Apache-2.0
"""Every mechanism is one of two kinds, and whoever takes a mechanism takes either."""

from __future__ import annotations

import numpy as np
import pytest

import geoelastic as ge
from geoelastic.mechanism.remap import Remapped, RemappedLaplace
from geoelastic.mechanism.sticky import Sticky
from geoelastic.release.named_mechanism import mechanism_name
from geoelastic.reports.protocols import Mechanism, ReportsLocations, ReportsPlaces, over_a_map
from geoelastic.reports.table_reports import sanitize_arrays
from maps import small_metric


def over_maps() -> list[ReportsLocations]:
    """Assigned here as what they are, so that types are checked as well."""
    elastic = ge.ElasticMechanism(small_metric())
    sticky: ReportsLocations = Sticky(elastic, bytes(32), "anna")
    return [elastic, sticky, Remapped(elastic, elastic.metric.mass)]


def anywhere() -> list[ReportsPlaces]:
    planar, metric = ge.PlanarLaplace(0.01), small_metric()
    lat, lon = metric.grid.area.middle
    return [planar, planar.on_grid(metric.grid), RemappedLaplace(planar, [lat, lat + 0.001], [lon, lon])]


@pytest.mark.parametrize("mechanism", over_maps(), ids=lambda mechanism: type(mechanism).__name__)
def test_over_a_map(mechanism: ReportsLocations) -> None:
    assert isinstance(mechanism, ReportsLocations)
    assert not isinstance(mechanism, ReportsPlaces)
    assert over_a_map(mechanism) is mechanism
    assert mechanism_name(mechanism).startswith("elastic:")
    assert (mechanism.for_user("ben") is mechanism) != isinstance(mechanism, Sticky)
    _reports(mechanism, small_metric())


@pytest.mark.parametrize("mechanism", anywhere(), ids=lambda mechanism: type(mechanism).__name__)
def test_anywhere(mechanism: ReportsPlaces) -> None:
    assert isinstance(mechanism, ReportsPlaces)
    assert not isinstance(mechanism, ReportsLocations)
    assert over_a_map(mechanism) is None
    assert mechanism_name(mechanism) == "laplace:0.01"
    _reports(mechanism, small_metric())


def _reports(mechanism: Mechanism, metric: ge.Metric) -> None:
    lat, lon = metric.latlon(int(np.flatnonzero(metric.secret)[0]))
    assert len(mechanism.sanitize(lat, lon)) == 2
    assert sanitize_arrays(mechanism, [lat, lat], [lon, lon]).tally.reports == 2
