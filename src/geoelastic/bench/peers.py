# SPDX-License-Identifier: Apache-2.0
"""Peers: what other libraries report from the same check-ins, how near an adversary comes, and what an audit finds.

Each library runs in a throwaway environment of its own (`--folder DIR` keeps them) and is asked through a pipe, with
noise of the same mean error as the map's own mechanism, at the same places of the check-ins. The adversary knows the
noise from 60,000 of its draws in the middle of the map, sorted into squares: one half chooses his guesses, the other is
judged. The audit asks for reports at four places of the Earth and tests what the library claims; where nothing is
claimed, the bounds say what is lost all the same. A library that cannot be had here has a row that says so.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import FloatArray
from ..errors import GeoelasticError
from ..evaluation.adversary import euclidean_error
from ..evaluation.audit import AuditResult, ElasticClaim, Finding, LaplaceClaim, audit
from ..evaluation.audit.findings import Draws
from ..evaluation.channel import Channel, Outputs, channel_from_matrix
from ..evaluation.elastic_channel import mechanism_channel
from ..evaluation.prior import Prior, metres_between, prior_from_checkins
from ..evaluation.real_maps import INPUTS
from ..evaluation.study_areas import StudyArea
from ..evaluation.utility import measure_utility
from ..mechanism import ElasticMechanism
from ..metric import AnyMetric
from ..sources.checkins import read_checkins
from ._maps import chosen_map
from ._tools import Tell, data_folder, markdown, quiet, warm_up

_WORKER = Path(__file__).with_name("_peer_worker.py")


@dataclass(frozen=True)
class Peer:
    """`worker`: its name there. `needs`: packages; `bare`: packages installed without what they ask for. `claims`:
    "planar" (planar Laplace of epsilon per metre), "loss" (at most epsilon per metre), "" (nothing of the kind)."""

    name: str
    worker: str
    needs: tuple[str, ...]
    bare: tuple[str, ...] = ()
    claims: str = "planar"


PEERS = (
    Peer("privkit, planar Laplace", "privkit_planar", ("numpy", "scipy", "pandas"), ("privkit",)),
    Peer("libqif, planar Laplace", "qif_planar", ("qif",)),
    Peer("Location Guard, its formula", "location_guard", ("scipy",)),
    Peer("OpenDP, Laplace on each coordinate", "opendp_laplace", ("opendp",), claims="loss"),
    Peer("MaskMyPy, donut", "maskmypy_donut", ("maskmypy",), claims=""),
)


def environment(peer: Peer, folder: Path) -> str:
    """The Python of an environment with the peer's packages, made if it is not there."""
    if not peer.needs:
        return sys.executable
    root = folder / peer.worker
    python = root / "bin" / "python"
    if not (root / "done").exists():
        _call([sys.executable, "-m", "venv", str(root)])
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _call([*pip, *peer.needs])
        for package in peer.bare:
            _call([*pip, "--no-deps", package])
        (root / "done").touch()
    return str(python)


def _call(command: Sequence[str]) -> None:
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        raise GeoelasticError(([*found.stderr.strip().splitlines()] or ["no reason was given"])[-1])


class PeerProcess:
    """A running peer, as the audit calls one: `sanitize` and `sanitize_many`. Its randomness is its own."""

    def __init__(self, python: str, peer: Peer, *, epsilon: float, error_m: float) -> None:
        # -I: neither our modules beside the worker (`statistics`, say) nor PYTHONPATH stand before the library's own
        self._process = subprocess.Popen(
            [python, "-I", str(_WORKER), peer.worker, repr(epsilon), repr(error_m)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        told = self._read()
        if "ready" not in told:
            self.close()
            raise GeoelasticError(told.get("fault", "it did not start"))
        self.version: str = told["ready"]
        self.seconds, self.reports = 0.0, 0

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            return {"fault": "it ended without an answer"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def sanitize_many(self, lat: Any, lon: Any, *, rng: object = None) -> tuple[FloatArray, FloatArray]:
        assert self._process.stdin is not None
        asked = {"lat": np.asarray(lat, float).tolist(), "lon": np.asarray(lon, float).tolist()}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = self._read()
        if "lat" not in answer:
            raise GeoelasticError(answer.get("fault", "no reports came"))
        self.seconds, self.reports = answer["seconds"], len(answer["lat"])
        return np.array(answer["lat"]), np.array(answer["lon"])

    def sanitize(self, lat: float, lon: float, *, rng: object = None) -> tuple[float, float]:
        lats, lons = self.sanitize_many([lat], [lon])
        return float(lats[0]), float(lons[0])

    def close(self, *_: object) -> None:
        """End it; it holds nothing worth keeping."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not read any more
                    pipe.close()

    def __enter__(self) -> PeerProcess:
        return self

    __exit__ = close


RECORDED = {"real": True}
_PLACES, _AREA_KM = 300, 10.0
_DRAWS, _SQUARES = 60_000, 6
_SIDE_CELLS = 150


@dataclass(frozen=True)
class LossClaim(LaplaceClaim):
    """A loss of at most `epsilon` per metre, by noise of whatever law."""

    def statement(self) -> str:
        return f"a loss of at most {self.epsilon:.6g} per metre"

    def findings(self, draws: Draws) -> list[Finding]:
        return []


def run(
    *, tell: Tell = quiet, map_file: str | None = None, real: bool = False, checkins: str | None = None,
    folder: str | None = None, peers: Sequence[Peer] = PEERS, audit_draws: int = 2000,
) -> dict[str, Any]:  # fmt: skip
    """One row a library, after that of the map's own mechanism."""
    warm_up()
    metric = chosen_map(map_file, real=real, city="paris", folder=folder, made_up="paris", side=_SIDE_CELLS)
    checkins = checkins or (str(data_folder() / INPUTS["paris_checkins"]) if real else None)
    prior = _some(_by_checkins(metric, checkins) if checkins else _by_mass(metric))
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(folder or scratch)
        mechanism = ElasticMechanism(metric)
        tell("the map's own", of=len(peers) + 1)
        first, error_m = _own_row(mechanism, prior, audit_draws)
        rows = [first]
        for peer in peers:
            tell(peer.name)
            try:
                python = environment(peer, root)
                with PeerProcess(python, peer, epsilon=2 / error_m, error_m=error_m) as process:
                    rows.append(peer_row(peer, process, prior, metric, 2 / error_m, audit_draws))
            except (GeoelasticError, OSError) as fault:
                rows.append({"library": peer.name, "version": f"not available: {fault}"})
    return {"rows": rows, "text": markdown(rows)}


def _by_checkins(metric: AnyMetric, path: str) -> Prior:
    square = StudyArea("middle", *metric.grid.area.middle, _AREA_KM)
    return prior_from_checkins(square.cut(read_checkins(path), metric.grid), metric.grid)


def _by_mass(metric: AnyMetric) -> Prior:
    """Without check-ins: every secret location within reach of the middle, as likely as it has mass."""
    near = np.flatnonzero(metric.secret & (np.abs(metric.xy).max(axis=1) <= 500 * _AREA_KM) & (metric.fence == 0))
    row, col = metric.grid.xy_to_cell(*metric.xy[near].T)
    weight = metric.mass[near] / metric.mass[near].sum()
    return Prior(metric.xy[near].copy(), row * metric.grid.cols + col, weight, sparse.csr_array((0, len(near))), {})


def _some(prior: Prior, *, seed: int = 0) -> Prior:
    """A few hundred of the places, drawn by their weight."""
    size = min(_PLACES, prior.n_places)
    chosen = np.sort(np.random.default_rng(seed).choice(prior.n_places, size, replace=False, p=prior.weights))
    weight = prior.weights[chosen] / prior.weights[chosen].sum()
    return Prior(prior.xy[chosen].copy(), prior.cell[chosen].copy(), weight, sparse.csr_array((0, size)), prior.info)


def _own_row(mechanism: ElasticMechanism, prior: Prior, draws: int) -> tuple[dict[str, Any], float]:
    channel = mechanism_channel(mechanism, prior)
    error = measure_utility(channel, prior).expected_m
    places = mechanism.metric.locations.owner.ravel()[prior.cell]
    begin = time.perf_counter()
    mechanism.sample_cells(np.repeat(places, 10))
    speed = 10 * len(places) / (time.perf_counter() - begin)
    found = audit(mechanism, ElasticClaim(mechanism), draws=draws)
    row = {
        "library": "geoelastic, the map's default", "version": "", "error_m": round(error),
        "adversary_m": round(euclidean_error(channel, prior).overall), "claims": "d(x, x') of the map",
        **_audited(found), "reports_per_s": round(speed),
    }  # fmt: skip
    return row, error


def peer_row(
    peer: Peer, process: PeerProcess, prior: Prior, metric: AnyMetric, epsilon: float, draws: int
) -> dict[str, Any]:
    """Error, adversary, claim, audit and speed of a running library."""
    area = metric.grid.area
    lat, lon = (np.full(_DRAWS, v) for v in area.middle)
    reported = process.sanitize_many(lat, lon)
    speed = process.reports / process.seconds
    noise = np.column_stack(area.to_xy(*reported)) - np.array(area.to_xy(*area.middle))
    claim = LaplaceClaim(epsilon) if peer.claims == "planar" else LossClaim(epsilon)
    found = audit(process, claim, draws=draws)
    says = {"planar": "planar Laplace", "loss": "a loss", "": "nothing of the kind; held against"}[peer.claims]
    return {
        "library": peer.name, "version": process.version, "error_m": round(float(np.hypot(*noise.T).mean())),
        "adversary_m": round(noise_adversary(noise, prior)), "claims": f"{says}, {epsilon:.6f} per metre",
        **_audited(found), "reports_per_s": round(speed),
    }  # fmt: skip


def _audited(found: AuditResult) -> dict[str, Any]:
    worst = max(found.bounds, key=lambda b: b.lower / b.claimed)
    told = "; ".join(dict.fromkeys(f"{f.check} ({f.where})" for f in found.flagged))
    return {
        "audit": told or "nothing found",
        "worst_bound": f"{worst.lower:.2f} of {worst.claimed:.2f} ({worst.where}, {worst.direction})",
    }


def noise_adversary(noise: FloatArray, prior: Prior) -> float:
    """Metres by which the best guess errs, for noise (n, 2) that does not depend on the place.

    The strategy comes from one half of the noise, the error from the other: a guess that fits chance gains nothing.
    """
    side = float(np.hypot(*noise.T).mean()) / _SQUARES
    reach = float(np.quantile(np.abs(noise).max(axis=1), 0.999))
    learned, judged = (_noise_channel(half, prior, side, reach) for half in (noise[0::2], noise[1::2]))
    guess = euclidean_error(learned, prior).strategy
    error = np.zeros(prior.n_places)
    for part, block in judged.blocks():
        apart = metres_between(prior.xy, prior.xy[guess[part]])
        error += (block[judged.row_of_place] * apart).sum(axis=1)
    return float(prior.weights @ error)


def _noise_channel(noise: FloatArray, prior: Prior, side: float, reach: float) -> Channel:
    """K(x)(z) over squares: what of the noise falls into each from x; what is far off falls into those at the edge."""
    low = prior.xy.min(axis=0) - reach
    count = np.ceil((prior.xy.max(axis=0) + reach - low) / side).astype(np.int64)
    matrix = np.empty((prior.n_places, int(count.prod())))
    for k, at in enumerate(prior.xy):
        square = np.clip(np.floor((at + noise - low) / side).astype(np.int64), 0, count - 1)
        matrix[k] = np.bincount(square[:, 0] * count[1] + square[:, 1], minlength=matrix.shape[1]) / len(noise)
    x, y = np.divmod(np.arange(matrix.shape[1]), count[1])
    outputs = Outputs(low + (np.column_stack([x, y]) + 0.5) * side, np.ones(len(x), np.int64), side)
    return channel_from_matrix("noise", matrix, outputs, np.arange(prior.n_places), sound=False)
