# SPDX-License-Identifier: Apache-2.0
"""The smallest maps on which carving, extracts, tiles and tables of reports do all they do.

Their own tests use maps that plain Python cannot build in a minute; with NUMBA_DISABLE_JIT=1 these stand in for them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import geoelastic as ge
from geoelastic.fences import disc, fences_to_cells
from geoelastic.metric.extract import extract
from geoelastic.tiles import InlineEngine, build_tiles
from geoelastic.tiles.tiled_metric import open_tiles
from maps import PARIS, edge_list, small_metric
from reference.graphs import floyd_warshall, holds
from reference.mechanism import exact_probabilities
from statistical.toolbox import assert_draws


@pytest.mark.parametrize(("method", "layout"), [("conformal", "adaptive"), ("paper", "uniform")])
def test_a_fence_is_carved_and_taken_away(method: str, layout: str) -> None:
    metric = small_metric(method, layout, rows=7, cols=7, l_top=0.6)
    fence = disc(*PARIS, 160)
    carved = metric.with_fences([fence])
    np.testing.assert_array_equal(carved.fence[carved.locations.owner], fences_to_cells(metric.grid, fence))
    distances = floyd_warshall(carved.n, edge_list(carved))
    for i in np.flatnonzero(carved.fence == 0):
        assert list(carved.distance_units_from(int(i))) == distances[i]
        assert holds(distances[i], carved.mass_units, carved.requirement, carved.l_from, carved.l_top)
    bare = carved.with_fences(remove=[1])
    assert not bare.fence.any()
    assert ge.verify(bare)["ok"]


def test_an_extract_holds_in_itself_because_of_its_frame() -> None:
    cells = np.full((8, 8), 0.3)
    cells[4:, 5:] = 0.5
    mass = ge.Mass.from_array(cells, cell_m=100, origin=PARIS)
    whole = ge.build_metric(mass, l_from=0.3, l_top=0.7, frame=0.0)
    part = extract(whole, ge.Area.around(*PARIS, size_km=0.6))
    assert part.grid.shape == (6, 6)
    assert 0 < part.info["extract"]["framed"] == part.n - np.count_nonzero(part.secret)
    distances = floyd_warshall(part.n, edge_list(part))
    held = [holds(distances[i], part.mass_units, part.requirement, 0.3, 0.7) for i in range(part.n)]
    assert all(np.array(held)[part.secret])
    assert not all(held)
    assert ge.verify(part)["ok"]
    assert not ge.verify(replace(part, framed=None, certificate={}))["ok"]


def test_two_tiles_are_one_map(tmp_path: Path) -> None:
    cells = np.full((10, 136), 1 / 150)
    cells[5:7, 126:130] = 0.05  # a village across the seam
    mass = ge.Mass.from_array(cells, cell_m=100, origin=PARIS)
    build_tiles(
        mass, str(tmp_path / "map"), tile=128, engine=InlineEngine(), l_from=0.35, l_top=0.4, frame=0.08, sharpen=False
    )
    tiled = open_tiles(tmp_path / "map")
    assert tiled.tiling.n == 2
    assert tiled.certificate["tiles"]["at_seams"] > 0
    checked = ge.verify(tiled)
    assert checked["ok"]
    assert checked["graph_sha256"] == tiled.certificate["graph_sha256"]
    i = int(tiled.locations.owner[6, 127])
    drawn = ge.ElasticMechanism(tiled).sample(i, 120, rng=ge.SeededRandom(4))
    beyond = tiled.locations.col >= 128  # reports from this side of the seam lie on both
    assert_draws(
        beyond[drawn].astype(int), np.bincount(beyond.astype(int), ge.ElasticMechanism(tiled).probabilities(i))
    )


def test_a_table_of_reports_follows_the_probabilities() -> None:
    metric = small_metric(rows=5, cols=5, l_top=0.8)
    mechanism = ge.ElasticMechanism(metric)
    places = np.tile(np.arange(0, metric.n, 6), 600)
    rows, cols = mechanism.sample_cells(places, rng=ge.SeededRandom(1))
    reported = metric.locations.owner[rows, cols]
    for i in np.unique(places)[:3]:
        exact = exact_probabilities(metric.distance_units_from(int(i)), mechanism.measure, mechanism.weights)
        assert np.allclose(mechanism.probabilities(int(i)), [float(p) for p in exact], rtol=1e-12, atol=0)
        assert_draws(reported[places == i], mechanism.probabilities(int(i)))
