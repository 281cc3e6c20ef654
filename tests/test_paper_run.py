# SPDX-License-Identifier: Apache-2.0
"""The paper's evaluation as it was run: equal to libqif, to brute force, and to channels without the short cuts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from geoelastic.errors import InputError
from geoelastic.evaluation import study_stages as stages_module
from geoelastic.evaluation.adversary import AdversaryError, binary_error, euclidean_error
from geoelastic.evaluation.baselines import boxed_laplace_channel, laplace_channel
from geoelastic.evaluation.channel import Channel
from geoelastic.evaluation.elastic_channel import (
    cells_in,
    distance_table,
    expected_errors,
    paper_channel,
)
from geoelastic.evaluation.paper_run import AsRun, cell_prior, elastic_as_run, laplace_as_run
from geoelastic.evaluation.prior import Prior
from geoelastic.evaluation.study import judge
from geoelastic.evaluation.study_areas import StudyArea
from geoelastic.evaluation.study_stages import EVALUATION, METRIC, Stages, source_digest
from geoelastic.evaluation.utility import measure_utility
from geoelastic.mass import Mass
from geoelastic.metric import build_metric

ORIGIN = (48.85, 2.35)
BOX = StudyArea("box", *ORIGIN, 1.5)
pytestmark = pytest.mark.jit


@pytest.fixture(scope="module", params=["conformal", "paper"])
def metric(request: Any) -> Any:
    """A map of 40 x 40 cells, dense on the left: leaves of several cells, and the paper's single ones."""
    mass = np.random.default_rng(7).uniform(0.5, 1.5, (40, 40)) / 12
    mass[:, 20:] /= 3
    return build_metric(Mass.from_array(mass, cell_m=100, origin=ORIGIN), method=request.param)


@pytest.fixture(scope="module")
def prior(metric: Any) -> Prior:
    """30 places in 20 cells of the box, off the centres, and five users."""
    rng = np.random.default_rng(8)
    cell = rng.choice(cells_in(metric, BOX), 20, replace=False)
    cell = np.concatenate([cell, cell[:10]])
    xy = np.column_stack(metric.grid.cell_to_xy(*np.divmod(cell, 40))) + rng.uniform(-50, 50, (30, 2))
    users = sparse.csr_array(rng.dirichlet(np.full(30, 0.2), 5))
    return Prior(xy, cell, rng.dirichlet(np.ones(30)), users, {})


def dense(channel: Channel) -> Any:
    """One row per place."""
    return np.concatenate([block for _, block in channel.blocks(7)], axis=1)[channel.row_of_place]


def binary(run: AsRun) -> AdversaryError:
    """The adversary's chance of missing the place, for each cell."""
    return binary_error(run.adversary, run.prior, among=run.places)


def euclidean(run: AsRun) -> AdversaryError:
    """The adversary's expected metres, for each cell; every cell of the box may be guessed."""
    return euclidean_error(run.adversary, run.prior, guesses=run.adversary.outputs.xy)


def test_cells_gather_their_places(metric: Any, prior: Prior) -> None:
    merged, places = cell_prior(prior, metric.grid)
    assert sorted(places.tolist()) == [1] * 10 + [2] * 10
    for k in (0, 7, 19):
        inside = prior.cell == merged.cell[k]
        assert merged.weights[k] == pytest.approx(prior.weights[inside].sum())
        assert merged.users.toarray()[:, k] == pytest.approx(prior.users.toarray()[:, inside].sum(axis=1))
        assert np.abs(prior.xy[inside] - merged.xy[k]).max() <= 50


@pytest.mark.parametrize("area", [None, BOX])
def test_what_is_cut_off_is_normalised_away(metric: Any, prior: Prior, area: StudyArea | None) -> None:
    assert paper_channel(distance_table(metric, prior), prior, area).total() == pytest.approx(1)


def test_a_table_knows_only_its_locations(metric: Any, prior: Prior) -> None:
    table = distance_table(metric, prior)
    other = Prior(np.zeros((1, 2)), np.array([5]), np.ones(1), sparse.csr_array((0, 1)), {})
    with pytest.raises(InputError, match="locations that the table has a row for"):
        table.for_places(other)


def test_utility_is_over_the_whole_map_and_the_adversary_in_the_box(metric: Any, prior: Prior) -> None:
    run = elastic_as_run(distance_table(metric, prior), prior, BOX)
    assert (run.utility.sound, run.adversary.sound) == (False, False)
    single = metric.locations.size[metric.locations.owner.ravel()[run.prior.cell]] == 1
    locations = metric.locations.owner.ravel()[run.prior.cell[single]]
    [want] = expected_errors(metric, locations, paper_channel)
    assert measure_utility(run.utility, run.prior).per_place_m[single] == pytest.approx(want, rel=1e-9)
    box = dense(run.adversary)
    assert box.shape == (20, len(np.union1d(cells_in(metric, BOX), prior.cell)))
    loss = np.hypot(*(run.prior.xy[:, None] - run.adversary.outputs.xy[None]).transpose(2, 0, 1))
    joint = run.prior.weights[:, None] * box
    assert euclidean(run).overall == pytest.approx((loss.T @ joint).min(axis=0).sum(), rel=1e-12)
    # more guesses can only help
    assert euclidean(run).overall <= euclidean_error(run.adversary, run.prior).overall + 1e-9
    right = np.argmax(joint / run.places[:, None], axis=0)
    hit = (joint / run.places[:, None])[right, np.arange(len(right))].sum()
    assert binary(run).overall == pytest.approx(1 - hit, rel=1e-12)
    found = judge(run, prior)
    assert found["expected_m"] == pytest.approx(run.prior.weights @ measure_utility(run.utility, run.prior).per_place_m)
    assert found["binary_per_user"] == pytest.approx(prior.users.toarray() @ binary(run).per_place[_cell_of(prior)])


def _cell_of(prior: Prior) -> Any:
    return np.unique(prior.cell, return_inverse=True)[1]


def test_reports_outside_the_box_go_to_its_border(metric: Any, prior: Prior) -> None:
    grid, epsilon = metric.grid, 0.004
    cells = cells_in(metric, BOX)
    boxed = boxed_laplace_channel(prior, grid, epsilon, cells)
    assert boxed.total() == pytest.approx(1, abs=1e-10)
    # margins beyond the noise: every report is a cell of its own, to be moved by hand
    free = laplace_channel(prior, grid, epsilon, margin_m=12_000)
    fine = free.outputs.side == 1
    low, high = boxed.outputs.xy.min(axis=0), boxed.outputs.xy.max(axis=0)
    moved = np.clip(free.outputs.xy[fine], low, high)
    width = round((high[0] - low[0]) / 100) + 1
    at = np.rint((moved - low) / 100).astype(int) @ [1, width]
    for place in (0, 11, 29):
        row = free.row(int(free.row_of_place[place]))[fine]
        want = np.bincount(at, weights=row, minlength=boxed.outputs.n)
        assert boxed.row(int(boxed.row_of_place[place])) == pytest.approx(want, abs=1e-9)


def test_the_whole_of_it_agrees_with_libqif(metric: Any, prior: Prior) -> None:
    """The second program's own steps, by libqif, on the distances of the box."""
    qif = pytest.importorskip("qif", reason="libqif is not installed; the tests above stand alone")
    run = elastic_as_run(distance_table(metric, prior), prior, BOX)
    cells = np.union1d(cells_in(metric, BOX), prior.cell)
    owner = metric.locations.owner.ravel()[cells]
    distance = np.array([metric.distances_from(int(i), 2 * metric.l_top)[owner] for i in owner])
    channel = qif.mechanism.d_privacy.exponential(len(cells), lambda i, j: float(distance[i, j]))
    prior_global, places = np.zeros(len(cells)), np.full(len(cells), math.inf)
    at = np.searchsorted(cells, run.prior.cell)
    prior_global[at], places[at] = run.prior.weights, run.places
    xy = np.column_stack(metric.grid.cell_to_xy(*np.divmod(cells, 40)))
    metres = np.hypot(*(xy[:, None] - xy[None]).transpose(2, 0, 1))
    for loss, ours in ((metres, euclidean(run)), (1 - np.diag(1 / places), binary(run))):
        strategy = qif.measure.l_risk.strategy(loss.copy(), prior_global.copy(), channel.copy()).ravel().astype(int)
        per_cell = np.einsum("xz,xz->x", channel, loss[:, strategy])
        assert prior_global @ per_cell == pytest.approx(ours.overall, rel=1e-4)  # levels are rounded down to 2^-13


def test_planar_laplace_in_the_box_agrees_with_libqif(metric: Any, prior: Prior) -> None:
    qif = pytest.importorskip("qif", reason="libqif is not installed; the tests above stand alone")
    row, col = np.meshgrid(np.arange(10, 16), np.arange(12, 18), indexing="ij")
    cells = (40 * row + col).ravel()
    xy = np.column_stack(metric.grid.cell_to_xy(row.ravel(), col.ravel()))
    even = Prior(xy, cells, np.full(36, 1 / 36), sparse.csr_array((0, 36)), {})
    ours = dense(boxed_laplace_channel(even, metric.grid, 0.003, cells))
    theirs = qif.mechanism.geo_ind.planar_laplace_grid(6, 6, 100.0, 0.003)
    assert ours == pytest.approx(theirs, abs=2e-3)  # libqif integrates by random points


def test_planar_laplace_as_run(metric: Any, prior: Prior) -> None:
    run = laplace_as_run(metric, prior, BOX, 0.004)
    assert measure_utility(run.utility, run.prior).expected_m == pytest.approx(2 / 0.004, rel=0.01)
    assert euclidean(run).overall < 2 / 0.004
    assert 0 < binary(run).overall < 1


def test_a_cell_with_k_places_errs_with_one_minus_one_over_k(metric: Any, prior: Prior) -> None:
    merged, places = cell_prior(prior, metric.grid)
    certain = Channel("sees all", np.arange(20), laplace_channel(merged, metric.grid, 0.1).outputs,
                      lambda start, stop: np.eye(20, 10_000)[:, start:stop])  # fmt: skip
    assert binary_error(certain, merged, among=places).per_place == pytest.approx(1 - 1 / places)


def test_a_change_of_code_is_a_change_of_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = Stages(tmp_path)
    before = [stages.path("s", {}, ".json", source=source) for source in (EVALUATION, METRIC)]
    assert before[0] != before[1]
    assert source_digest(EVALUATION) != source_digest(METRIC)
    monkeypatch.setattr(stages_module, "source_digest", lambda parts: "other code")
    assert stages.path("s", {}, ".json") not in before
