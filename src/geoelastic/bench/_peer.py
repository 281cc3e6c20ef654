# SPDX-License-Identifier: Apache-2.0
"""Other libraries, each in a throwaway environment of its own, asked for reports through a pipe."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..errors import GeoelasticError

__all__ = ["PEERS", "Peer", "PeerProcess", "environment"]

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

    def close(self) -> None:
        """End it; it holds nothing worth keeping."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not read any more
                    pipe.close()

    def __enter__(self) -> PeerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
