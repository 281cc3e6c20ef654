# SPDX-License-Identifier: Apache-2.0
"""What must be true of any input: commands end in one of their ways, and what `verify` vouches for is private."""

from __future__ import annotations

import contextlib
import hashlib
import io
from pathlib import Path
from typing import Any

import click

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.errors import CheckError, GeoelasticError
from geoelastic.mechanism.geox_mechanism import load_mechanism
from geoelastic.metric.geox_file import is_portable
from reference.graphs import floyd_warshall, holds
from reference.mechanism import exact_rows, worst_use

__all__ = ["command", "judge"]

#: Maps up to this many locations are judged by brute force as well.
_FEW = 20
#: One in so many of those that verify: exact fractions take long.
_ONE_IN = 8


def command(*arguments: object) -> int:
    """The exit code of a command in this process. An error that it would call a fault of ours goes through."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            done = main(["--no-such-option"] if not arguments else list(map(str, arguments)), standalone_mode=False)
        except CheckError:
            return 1
        except (GeoelasticError, click.ClickException, OSError):
            return 2
        except SystemExit as leaving:
            return leaving.code if isinstance(leaving.code, int) else 0
    return done if isinstance(done, int) else 0


def judge(path: Path) -> str:
    """Read, verify and use the metric in a file; if it is vouched for, it has to be private."""
    code = command("verify", path, "--json", "--stated", "--workers", 1)
    if code == 2:
        return "refused"
    chance = int.from_bytes(hashlib.sha256(path.read_bytes()).digest()[:4], "little")
    if chance % 4 == 0:
        command("info", path, "--json")
    if code == 1:
        return "fails"
    mechanism = load_mechanism(path) if is_portable(path) else ge.ElasticMechanism(ge.load(path))
    secrets = mechanism.metric.secret.nonzero()[0]
    if secrets.size:
        mechanism.sample(int(secrets[chance % secrets.size]), rng=ge.SeededRandom(chance))
    if mechanism.metric.n <= _FEW and chance % _ONE_IN == 1:
        _brute_force(mechanism)
        return "holds, by brute force too"
    return "holds"


def _brute_force(mechanism: Any) -> None:
    """The inequality for every pair and report, and the requirement at every secret, by their definitions."""
    metric = mechanism.metric
    assert worst_use(metric, exact_rows(mechanism)) <= 1 + 1e-9
    edges = [(int(i), int(j), int(w)) for i, j, w in zip(*metric.edge_units(), strict=True)]
    distances = floyd_warshall(metric.n, edges)
    for i in (metric.secret & (metric.fence == 0)).nonzero()[0]:
        assert holds(distances[int(i)], metric.mass_units, metric.requirement, metric.l_from, metric.l_top)
