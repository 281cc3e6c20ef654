# SPDX-License-Identifier: Apache-2.0
"""What objects say of themselves: one line that a person can read."""

from __future__ import annotations

import numpy as np

import geoelastic as ge
from maps import small_mass, small_metric


def test_objects_introduce_themselves_in_a_line() -> None:
    mass = small_mass(6, 7)
    metric = small_metric()
    mechanism = ge.ElasticMechanism(metric)
    quality = ge.Quality(mass.grid, np.ones(mass.grid.shape), {"source": "a.csv"})
    said = [repr(each) for each in (mass, metric, mechanism, quality)]
    assert all(len(line) < 200 and "\n" not in line for line in said)
    assert said[0].startswith("Mass(")
    assert "0.7 x 0.6 km of 100 m cells around 48.8567, 2.3487" in said[0]
    assert said[1].startswith(f"Metric(conformal, {metric.n:,} locations")
    assert said[2].startswith("ElasticMechanism(output='mass', ")
    assert said[3].startswith("Quality(42 in all from a.csv")
