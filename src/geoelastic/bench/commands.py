# SPDX-License-Identifier: Apache-2.0
"""Whole commands, from the start of Python to the end: build, verify and a table on `synthetic:paris`; the real Paris.

Each is a process of its own, after a tiny build that compiles what is compiled once on a machine. The table has 17,496
places of the map, drawn by mass with a fixed seed: as many as the check-ins of a real one. The real Paris is left out
where its data are not (the folder in GEOELASTIC_DATA, ``../shared/data`` if not set).
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..errors import FileError
from ..evaluation.real_maps import CITY_RADIUS_M, PARIS, RealData
from ..evaluation.study_stages import Stages
from ..opening import load
from ._maps import PARIS_KM
from ._tools import Tell, Timed, data_folder, latlon_by_mass, markdown, quiet, spawn

PLACES = 17_496


def run(
    *, tell: Tell = quiet, source: str = "synthetic:paris", places: int = PLACES, warm: str = "synthetic:city"
) -> dict[str, Any]:
    """One row a command; `warm` is built first, for the sake of what is compiled."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        metric, table = here / "map.geoelastic", here / "places.csv"
        tell("compiling", of=5)
        _geoelastic("build", warm, "-o", str(here / "tiny.geoelastic"))
        tell("build")
        built = _geoelastic("build", source, "-o", str(metric))
        tell("verify")
        checked = _geoelastic("verify", str(metric))
        tell("sanitize")
        _write_places(metric, table, places)
        reported = _geoelastic("sanitize", str(metric), "--input", str(table), "-o", str(here / "out.csv"))
        rows = [
            _row(f"build {source}", built) | _built(metric),
            _row("verify", checked) | {"holds": json.loads(checked.value)["ok"]},
            _row("sanitize --input", reported) | {"reports_a_second": round(places / reported.wall_s)},
        ]
        tell("build of the real Paris")
        rows += _real_paris(here)
    return {"rows": rows, "text": markdown(rows)}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Each command with its target."""
    build, verify, table, *real = rows
    return [
        ("default build of `synthetic:paris`: redrawn, raised, sharpened, certified",
         "75 s (aim 45), 1 GB, file 1.2 MB, mean ratio 1.13", _told(build)),
        *((f"default build of the real Paris, {row['locations']:,} locations", "110 s (aim 70)", _told(row))
          for row in real),
        ("`verify` of it, every location and every edge", "60 s",
         f"{_took(verify)}, {'holds' if verify['holds'] else 'does not hold'}"),
        (f"table of {PLACES:,} places through it", "5,000 a second, set-up included",
         f"{_took(table)}: {table['reports_a_second']:,} a second"),
    ]  # fmt: skip


def _told(build: dict[str, Any]) -> str:
    return (
        f"{_took(build)}, {build['file_kB']:,} kB, mean ratio {build['mean_ratio']} over places and "
        f"{build['ratio_people']} over people, {build['violations']} violations, {build['edges_over']} of "
        f"{build['edges']:,} edges over"
    )


def _real_paris(folder: Path) -> list[dict[str, Any]]:
    """The build of greater Paris from its raw files, if they are there."""
    source = RealData(data_folder(), Stages(folder))
    try:
        source.require(("homes", "restaurants", "venues"))
    except FileError:
        return []
    recipe, path = source.paris_recipe(PARIS_KM), folder / "paris.geoelastic"
    city = ",".join(f"{value:g}" for value in (*PARIS, CITY_RADIUS_M))
    return [_row("build paris.toml", _geoelastic("build", str(recipe), "--city", city, "-o", str(path))) | _built(path)]


def _took(row: dict[str, Any]) -> str:
    return f"{row['wall_s']} s ({row['cpu_s']} s of processor time), {row['peak_MB'] / 1000:.2f} GB"


def _geoelastic(*arguments: str) -> Timed[str]:
    return spawn([sys.executable, "-m", "geoelastic.cli", *arguments, "--json"])


def _row(name: str, done: Timed[str]) -> dict[str, Any]:
    return {
        "command": name, "wall_s": round(done.wall_s, 1), "cpu_s": round(done.cpu_s, 1), "peak_MB": round(done.peak_mb),
    }  # fmt: skip


def _built(path: Path) -> dict[str, Any]:
    metric = load(path)
    certificate, relief = metric.certificate, metric.relief
    return {
        "locations": metric.n,
        "file_kB": round(path.stat().st_size / 1000),
        "mean_ratio": round(certificate["ratio"]["mean"], 3),
        "ratio_people": round(certificate["ratio"]["mean_by_mass"], 3),
        "violations": certificate["violations"],
        "edges": relief.certificate["edges"] if relief is not None else 0,
        "edges_over": relief.certificate["edges_over"] if relief is not None else 0,
    }


def _write_places(metric: Path, table: Path, places: int) -> None:
    lines = [f"{lat!r},{lon!r}" for lat, lon in latlon_by_mass(load(metric), places, again=True)]
    table.write_text("\n".join(["lat,lon", *lines]), encoding="ascii")
