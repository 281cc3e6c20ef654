# SPDX-License-Identifier: Apache-2.0
"""The wheel in clean environments: every Python that this machine has, the core and each extra alone, and all of it
with the lowest versions that pyproject.toml names. Prints a table; exit 1 if any row fails.

``.venv/bin/python tests/installs.py [--python 3.12] [--extra osm]``: behind ``./run test --more``, since it installs
gigabytes. uv does the installing, which takes seconds a row where pip takes minutes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
#: A report from a file, by the kernels as plain Python: compiling them in each environment would take most of the time.
SMOKE = """
import sys, geoelastic as ge
from geoelastic.mechanism.geox_mechanism import load_mechanism
lat, lon = load_mechanism(sys.argv[1]).sanitize(48.8567, 2.3387)
assert 48 < lat < 49, lat
"""
MODULES = {
    "core": "geoelastic.cli", "osm": "osmium, opening_hours", "postgis": "psycopg", "geo": "geopandas, pyogrio",
    "h3": "h3", "raster": "rasterio", "plot": "matplotlib", "traces": "sklearn",
    "service": "geoelastic.service.app", "scale": "distributed, fsspec",
    "bridges": "opendp, movingpandas", "all": "geoelastic.cli",
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--python", action="append", help=f"only these [default: those of {', '.join(PYTHONS)} that are here]"
    )
    parser.add_argument("--extra", action="append", help="only these [default: all, core first]")
    given = parser.parse_args()
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    if not Path(uv).exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "uv"], check=True)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    chosen = given.extra or ["core", *(name for name in extras if name not in ("all", "docs", "test"))]
    pythons = given.python or [name for name in PYTHONS if _interpreter(name)]
    print("| Python | extra | versions | MB | result |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        wheel = _wheel(Path(folder))
        rows = [(python, extra, "newest") for python in pythons for extra in chosen]
        if not given.extra:
            rows.append((pythons[0], "all", "lowest"))
        worked = [_row(uv, wheel, Path(folder), *row) for row in rows]
    return int(not all(worked))


def _interpreter(python: str) -> str | None:
    """The Python of this name: on the path, or among those that pyenv keeps."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for candidate in (f"python{python}", *(str(path) for path in sorted(kept.glob(f"{python}.*/bin/python")))):
        try:
            told = subprocess.run(
                [candidate, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True
            )
        except FileNotFoundError:
            continue
        if told.returncode == 0:
            return told.stdout.strip()
    return None


def _wheel(folder: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


def _row(uv: str, wheel: Path, folder: Path, python: str, extra: str, versions: str) -> bool:
    place = folder / "environment"
    shutil.rmtree(place, ignore_errors=True)
    quiet = {"capture_output": True, "text": True, "cwd": folder}
    begun = time.monotonic()
    resolution = "highest" if versions == "newest" else "lowest-direct"
    asked = str(wheel) if extra == "core" else f"{wheel}[{extra}]"
    command = [
        str(place / "bin" / "python"),
        "-c",
        f"import {MODULES.get(extra, 'geoelastic')}\n{SMOKE}",
        str(ROOT / "client/test/town.geox"),
    ]
    steps = [
        [uv, "venv", "--quiet", "--python", str(_interpreter(python)), str(place)],
        [uv, "pip", "install", "--quiet", "--native-tls", "--python", str(place), "--resolution", resolution, asked],
        command,
        [str(place / "bin" / "geoelastic"), "--version"],
    ]
    for step in steps:
        done = subprocess.run(step, env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": ""}, **quiet)  # type: ignore[call-overload]
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1][:150]
            print(f"| {python} | {extra} | {versions} | | fails: {said} |", flush=True)
            return False
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    print(
        f"| {python} | {extra} | {versions} | {size / 1e6:,.0f} | works ({time.monotonic() - begun:.0f} s) |",
        flush=True,
    )
    return True


if __name__ == "__main__":
    sys.exit(main())
