# SPDX-License-Identifier: Apache-2.0
"""OpenDP composes and refuses our reports; H3 cells in and out; traces for MovingPandas."""

from __future__ import annotations

import math
import re
from pathlib import Path

import h3
import numpy as np
import opendp.prelude as dp
import pytest
from opendp.mod import OpenDPException

import geoelastic as ge
from geoelastic.bridges.h3 import quality_from_h3, reports_to_h3
from geoelastic.bridges.movingpandas import releases_to_trajectories
from geoelastic.bridges.opendp import make_report, place_distance, place_domain
from geoelastic.errors import InputError
from geoelastic.sources.traces.record import Fix, clean_trace
from maps import small_metric

LEVEL = math.log(2)


@pytest.fixture(scope="module")
def mechanism() -> ge.ElasticMechanism:
    dp.enable_features("contrib", "honest-but-curious")
    return ge.ElasticMechanism(small_metric(rows=12, cols=12, l_top=0.8))


@pytest.fixture(scope="module")
def place(mechanism: ge.ElasticMechanism) -> tuple[float, float]:
    return mechanism.metric.latlon(int(np.flatnonzero(mechanism.metric.secret)[3]))


def test_a_report_is_a_measurement_with_our_privacy_map(
    mechanism: ge.ElasticMechanism, place: tuple[float, float]
) -> None:
    report = make_report(mechanism)
    drawn = report(place)
    assert mechanism.metric.locate(*drawn) >= 0
    i, j = np.flatnonzero(mechanism.metric.secret)[:2].tolist()
    d = float(mechanism.metric.distance_units_from(i)[j]) / 8192
    assert report.map(d) == d
    assert mechanism.loss(i, j) <= report.map(d)
    assert report.check(d, d)
    assert not report.check(d, 0.99 * d)
    for wrong in (-1.0, math.inf, math.nan):
        with pytest.raises(Exception, match="finite level"):
            report.map(wrong)


def test_a_composition_costs_what_the_ledger_says(mechanism: ge.ElasticMechanism, place: tuple[float, float]) -> None:
    together = dp.c.make_composition([make_report(mechanism)] * 7)
    assert len(together(place)) == 7
    ledger = ge.Ledger()
    ledger.charge("me", "elastic", fresh=7, exponent=float(mechanism.exponent))
    # OpenDP rounds each of its sums up
    assert together.map(LEVEL) == pytest.approx(ledger.cost("me", LEVEL).pure, rel=1e-15)
    assert together.map(LEVEL) >= ledger.cost("me", LEVEL).pure


def test_opendp_refuses_what_its_budget_does_not_allow(
    mechanism: ge.ElasticMechanism, place: tuple[float, float]
) -> None:
    compositor = dp.c.make_adaptive_composition(
        place_domain(mechanism), place_distance(mechanism), dp.max_divergence(), d_in=LEVEL, d_mids=[LEVEL, LEVEL]
    )
    assert compositor.map(LEVEL) == pytest.approx(2 * LEVEL)
    queryable = compositor(place)
    for _ in range(2):
        assert len(queryable(make_report(mechanism))) == 2
    with pytest.raises(OpenDPException):
        queryable(make_report(mechanism))
    other = ge.ElasticMechanism(small_metric(rows=10, cols=10, l_top=0.6))
    with pytest.raises(OpenDPException):  # another map, another domain
        compositor(place)(make_report(other))


def test_what_is_no_place_or_no_mechanism_is_refused(mechanism: ge.ElasticMechanism) -> None:
    domain = place_domain(mechanism)
    assert not domain.member((0.0, 0.0))
    assert not domain.member("here")
    with pytest.raises(InputError, match="ElasticMechanism"):
        make_report(ge.PlanarLaplace(0.004))  # type: ignore[arg-type]


@pytest.mark.parametrize("resolution", [7, 8])
def test_a_table_of_h3_cells_keeps_its_total(resolution: int) -> None:
    centre = h3.latlng_to_cell(48.8567, 2.3487, resolution)
    cells = h3.grid_disk(centre, 2)
    values = {cell: 10.0 + k for k, cell in enumerate(sorted(cells))}
    area = ge.Area.around(48.8567, 2.3487, size_km=24)
    quality = quality_from_h3(values, area, 200)
    assert quality.cells.sum() == pytest.approx(sum(values.values()), rel=1e-6)
    row, col = quality.grid.locate(*h3.cell_to_latlng(centre))
    density = values[centre] / h3.cell_area(centre, unit="m^2") * 200**2
    assert quality.cells[row, col] == pytest.approx(density, rel=0.02)


def test_what_are_no_cells_or_cells_within_cells_are_refused() -> None:
    cell = h3.latlng_to_cell(48.8567, 2.3487, 8)
    for values in ({"x": 1.0}, {}, {cell: 1.0, h3.cell_to_parent(cell, 6): 2.0}):
        with pytest.raises(InputError, match="'values' must"):
            quality_from_h3(values)


def test_reports_are_named_by_cells() -> None:
    assert reports_to_h3(48.8567, 2.3487, 9) == [h3.latlng_to_cell(48.8567, 2.3487, 9)]
    assert len(reports_to_h3([48.0, 49.0], [2.0, 3.0], 5)) == 2
    for wrong in (-1, 16, 2.5, True):
        with pytest.raises(InputError, match="resolution"):
            reports_to_h3(48.0, 2.0, wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="finite"):
        reports_to_h3(math.nan, 2.0, 5)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # MovingPandas 0.23 on pandas 3.1
def test_traces_go_to_movingpandas_and_come_from_it(mechanism: ge.ElasticMechanism) -> None:
    secrets = np.flatnonzero(mechanism.metric.secret)
    fixes = [Fix("ana", *mechanism.metric.latlon(int(secrets[k])), 1_800_000_000.0 + 1800 * k) for k in range(6)]
    trace = clean_trace("ana", fixes)
    release = ge.TraceMechanism(mechanism).release(trace, rng=ge.SeededRandom(1))
    collection = releases_to_trajectories([release, release])
    assert type(collection).__name__ == "TrajectoryCollection"
    assert len(collection.trajectories) == 2
    frame = collection.trajectories[0].df
    assert frame.geometry.y.tolist() == release.lat.tolist()
    assert [stamp.timestamp() for stamp in frame.index.tz_localize("UTC")] == release.clock.ticks.tolist()
    (back, *_) = ge.traces_from_frame(collection.trajectories[0])
    assert len(back) == len(release)
    with pytest.raises(InputError, match="'releases'"):
        releases_to_trajectories([])


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_the_examples_of_the_docs_run(mechanism: ge.ElasticMechanism, place: tuple[float, float]) -> None:
    text = (Path(__file__).resolve().parents[1] / "docs/bridges.md").read_text(encoding="utf-8")
    secrets = np.flatnonzero(mechanism.metric.secret)
    fixes = [Fix("ana", *mechanism.metric.latlon(int(secrets[k])), 1_800_000_000.0 + 1800 * k) for k in range(6)]
    release = ge.TraceMechanism(mechanism).release(clean_trace("ana", fixes))
    given = {"ge": ge, "mechanism": mechanism, "lat": place[0], "lon": place[1]}
    given["collection"] = releases_to_trajectories([release])
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        exec(block.replace("(48.8606, 2.3376)", repr(place)), given)
    assert given["week"].map(0.69) == pytest.approx(7 * 0.69)  # type: ignore[attr-defined]
