# SPDX-License-Identifier: Apache-2.0
"""The pieces of work that are killed, and what must be true whenever that happens."""

from __future__ import annotations

import contextlib
import hashlib
import io
import stat
from pathlib import Path
from typing import Any

import numpy as np

import geoelastic as ge
from geoelastic.cli import main
from geoelastic.errors import FileError
from geoelastic.tiles import InlineEngine, build_tiles

__all__ = ["SUBJECTS", "Subject", "tree"]

PARIS = (48.8567, 2.3487)
Tree = dict[str, str]


def tree(folder: Path) -> Tree:
    """Every file under a folder and the digest of its content; every empty folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif not any(path.iterdir()):
            found[name + "/"] = ""
    return found


def command(*arguments: object) -> None:
    """A command in this process; it must end well."""
    with contextlib.redirect_stdout(io.StringIO()):
        main([str(a) for a in arguments], standalone_mode=False)


class Subject:
    """Work in a folder: what it needs, the work, and what must hold."""

    #: The file that others wait for.
    output = ""

    def prepare(self, folder: Path) -> None:
        """Make what all runs read."""

    def set_out(self, folder: Path) -> None:
        """Make what is there before a run."""

    def run(self, folder: Path) -> None:
        raise NotImplementedError

    def faults_when_killed(self, folder: Path, wanted: Tree) -> list[str]:
        """Half a result is none: the output is not there, or it is all of it."""
        now = tree(folder)
        if self.output in now and now[self.output] != wanted[self.output]:
            return [f"{self.output} is there and not whole"]
        return []

    def faults_when_repeated(self, folder: Path, wanted: Tree) -> list[str]:
        """The same bytes, and nothing beside them."""
        now = tree(folder)
        faults = [f"{name} was left behind" for name in now if name not in wanted]
        faults += [f"{name} is missing" for name in wanted if name not in now]
        return faults + [f"{name} has other bytes" for name in now if name in wanted and now[name] != wanted[name]]


class Build(Subject):
    """A build from a table of points: a stage kept on the way, then the metric."""

    output = "town.geoelastic"

    def prepare(self, folder: Path) -> None:
        rng = np.random.default_rng(3)
        rows = [f"{PARIS[0] + a:.6f},{PARIS[1] + b:.6f}" for a, b in rng.normal(0, 0.008, (400, 2))]
        self.source = folder / "points.csv"
        self.source.write_text("lat,lon\n" + "\n".join(rows) + "\n", encoding="ascii")

    def run(self, folder: Path) -> None:
        area = ("--center", f"{PARIS[0]},{PARIS[1]}", "--size", 2.4, "--cell", 100, "--r-small", 200, "--r-large", 900)
        command("build", self.source, *area, "--workers", 1, "-o", folder / self.output)


class Sanitize(Subject):
    """A table through a mechanism, seeded so that it can be repeated."""

    output = "reports.csv"
    rows = 3000

    def prepare(self, folder: Path) -> None:
        rng = np.random.default_rng(4)
        metric = _town()
        self.metric = folder / "town.geoelastic"
        metric.save(self.metric)
        secret = np.flatnonzero(metric.secret)
        places = [metric.latlon(int(i)) for i in rng.choice(secret, self.rows)]
        lines = [f"{'ann' if k % 3 else 'bob'},{lat:.6f},{lon:.6f}" for k, (lat, lon) in enumerate(places)]
        self.source = folder / "places.csv"
        self.source.write_text("user,lat,lon\n" + "\n".join(lines) + "\n", encoding="ascii")

    def run(self, folder: Path) -> None:
        command("sanitize", self.metric, "--input", self.source, "-o", folder / self.output, "--seed", 5)


class Charge(Sanitize):
    """The same with a ledger that has counted before: nothing of that may be lost, nothing released uncounted."""

    rows = 300
    before = 7

    def set_out(self, folder: Path) -> None:
        ledger = ge.Ledger()
        ledger.charge("ann", "elastic:before", fresh=self.before)
        ledger.save(folder / "ledger.json")

    def run(self, folder: Path) -> None:
        asked = ("--user-column", "user", "--ledger", folder / "ledger.json")
        command("sanitize", self.metric, "--input", self.source, "-o", folder / self.output, "--seed", 5, *asked)

    def faults_when_killed(self, folder: Path, wanted: Tree) -> list[str]:
        self.released = self.rows if (folder / self.output).exists() else 0
        return super().faults_when_killed(folder, wanted) + self._miscounted(folder, self.released)

    def faults_when_repeated(self, folder: Path, wanted: Tree) -> list[str]:
        faults = super().faults_when_repeated(folder, wanted | {"ledger.json": tree(folder).get("ledger.json", "")})
        return faults + self._miscounted(folder, self.released + self.rows)

    def _miscounted(self, folder: Path, released: int) -> list[str]:
        path = folder / "ledger.json"
        try:
            users = ge.Ledger.load(path).users
        except FileError:
            return ["the ledger cannot be read"]
        if stat.S_IMODE(path.stat().st_mode) != 0o600:
            return ["the ledger can be read by others"]
        counts: Any = [a.fresh + a.repeated + a.fenced for accounts in users.values() for a in accounts.values()]
        low, most = self.before + released, self.before + 2 * self.rows
        return [] if low <= sum(counts) <= most else [f"the ledger has {sum(counts)}, not {low} to {most}"]


class Tiles(Subject):
    """A build in tiles, job after job in one process: every job's files, then the manifest."""

    output = "tiles/manifest.json"

    def prepare(self, folder: Path) -> None:
        rng = np.random.default_rng(6)
        self.mass = ge.Mass.from_array(0.0006 + 0.003 * rng.random((160, 160)) ** 3, cell_m=100, origin=PARIS)

    def run(self, folder: Path) -> None:
        build_tiles(self.mass, str(folder / "tiles"), l_top=1.0, tile=128, engine=InlineEngine())


def _town() -> Any:
    rng = np.random.default_rng(7)
    mass = ge.Mass.from_array(0.05 + 0.5 * rng.random((24, 24)) ** 3, cell_m=100, origin=PARIS)
    return ge.build_metric(mass, frame=0.05, l_top=1.0, workers=1)


SUBJECTS: dict[str, type[Subject]] = {"build": Build, "sanitize": Sanitize, "ledger": Charge, "tiles": Tiles}
