# SPDX-License-Identifier: Apache-2.0
"""Other libraries in the same run: a made-up one, whose fault is found, and one that cannot be had."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from geoelastic.bench import peers
from geoelastic.bench._tools import synthetic_mass
from geoelastic.bench.peers import Peer, PeerProcess, environment
from geoelastic.errors import GeoelasticError
from geoelastic.evaluation.adversary import euclidean_error
from geoelastic.evaluation.channel import Outputs, channel_from_matrix
from geoelastic.evaluation.prior import Prior
from geoelastic.metric import build_metric

pytestmark = pytest.mark.jit

MADE_UP = Peer("made up, in degrees", "made_up", ())
ABSENT = Peer("absent", "no_such_worker", ())


def test_one_row_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise in degrees is flagged where degrees of longitude are short, and an absent library says so."""
    monkeypatch.setattr(peers, "_DRAWS", 20_000)
    monkeypatch.setattr(peers, "_PLACES", 30)
    monkeypatch.setattr(peers, "_SIDE_CELLS", 50)
    own, made_up, absent = peers.run(peers=[MADE_UP, ABSENT], audit_draws=1500)["rows"]
    assert own["audit"] == "nothing found"
    assert 0 < own["adversary_m"] <= own["error_m"]
    assert "70 north" in made_up["audit"]
    assert made_up["reports_per_s"] > 0
    # in Paris a degree of longitude is two thirds of one of latitude
    assert 0.75 * own["error_m"] < made_up["error_m"] < 0.95 * own["error_m"]
    assert absent["version"].startswith("not available: KeyError")
    assert "error_m" not in absent


def test_a_peer_that_ends_is_told(tmp_path: Path) -> None:
    with PeerProcess(environment(MADE_UP, tmp_path), MADE_UP, epsilon=0.002, error_m=1000) as running:
        lat, lon = running.sanitize(48.8, 2.3)
        assert abs(lat - 48.8) < 0.2
        assert abs(lon - 2.3) < 0.2
        running._process.kill()
        running._process.wait()
        with pytest.raises((GeoelasticError, OSError)):
            running.sanitize_many([48.8], [2.3])
    with pytest.raises(GeoelasticError, match="KeyError"):
        PeerProcess(sys.executable, ABSENT, epsilon=0.002, error_m=1000)


def test_a_peer_imports_nothing_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module beside the worker, or on the path of this program, that is called like one that a library imports."""
    worker = tmp_path / "worker.py"
    worker.write_text('import json, statistics\nprint(json.dumps({"ready": str(statistics.mean([1, 3]))}))\n')
    (tmp_path / "statistics.py").write_text("from ..errors import InputError\n")
    monkeypatch.setattr(peers, "_WORKER", worker)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with PeerProcess(sys.executable, MADE_UP, epsilon=0.002, error_m=1000) as running:
        assert running.version == "2"


def test_the_adversary_by_brute_force() -> None:
    """Noise of two steps, all of them in squares: the same error as with the exact channel."""
    xy = np.array([[0.0, 0.0], [600.0, 0.0], [0.0, 1200.0], [600.0, 600.0]])
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    prior = Prior(xy, np.arange(4), weights, sparse.csr_array((0, 4)), {})
    steps = np.array([[600.0, 0.0], [-600.0, 0.0], [0.0, 600.0], [0.0, -600.0]])
    rng = np.random.default_rng(0)
    noise = steps[np.concatenate([np.repeat(np.arange(4), 500)] * 2)[rng.permutation(4000)]]
    ends = np.unique((xy[:, None] + steps[None]).reshape(-1, 2), axis=0)
    matrix = np.array([[np.mean(np.all(place + steps == end, axis=1)) for end in ends] for place in xy])
    exact = channel_from_matrix("exact", matrix, Outputs(ends, np.ones(len(ends), np.int64), 100.0), np.arange(4))
    assert peers.noise_adversary(noise, prior) == pytest.approx(euclidean_error(exact, prior).overall, rel=0.05)


def test_halves_of_the_noise_may_reach_differently_far() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 400, (3000, 2))
    noise[0::2][:5] *= 40
    xy = rng.uniform(-2000, 2000, (12, 2))
    prior = Prior(xy, np.arange(12), np.full(12, 1 / 12), sparse.csr_array((0, 12)), {})
    alone = min(float(np.hypot(*(xy - at).T).mean()) for at in xy)
    assert 0 < peers.noise_adversary(noise, prior) < alone


def test_without_check_ins_places_go_by_mass() -> None:
    metric = build_metric(synthetic_mass("city", 40))
    prior = peers._some(peers._by_mass(metric))
    assert prior.n_places == 300
    assert prior.weights.sum() == pytest.approx(1)
    assert np.all(metric.secret[metric.locations.owner.ravel()[prior.cell]])
