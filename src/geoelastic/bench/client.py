# SPDX-License-Identifier: Apache-2.0
"""The client in plain Python: the first report of a new process, on `synthetic:city` and on 20 km of `synthetic:paris`,
and reports a second on the latter.

Places are secrets of the map, drawn by mass. *Every place a new one*: no location twice. *People who come back*:
each person goes to a new place with probability 0.6 S^-0.21, S being the number of places known so far, else back
to one of these in proportion to earlier visits (exploration and preferential return: Song and others, Nature Physics
6, 2010). All that is prepared on the way counts; times are of the processor.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from ..area import Area
from ..errors import InputError
from ..mechanism import ElasticMechanism
from ..mechanism.geox_mechanism import save_mechanism
from ..metric import build_metric
from ..metric.extract import extract
from ._tools import Tell, beside_targets, markdown, quantity, quiet, spawn, synthetic_mass, warm_up

REPORTS = 5000
_PARIS = (48.8567, 2.3487)
_SIZE_KM = 20

_IMPORT = """
import sys
sys.path.insert(0, sys.argv[1])
import geoelastic_client
"""
_START = f"""{_IMPORT}
mechanism = geoelastic_client.Elastic.open(sys.argv[2])
mechanism.report(*mechanism.metric.cell_to_latlon(mechanism.metric.rows // 2, mechanism.metric.cols // 2))
print(mechanism.metric.n)
"""
_SPEED = """
import json, random, sys, time
sys.path.insert(0, sys.argv[1])
import geoelastic_client as client

path, count = sys.argv[2], int(sys.argv[3])
draw = random.Random(1)
metric = client.Metric.open(path)
secrets = [i for i in range(metric.n) if metric.is_secret(i) and metric.mass[i]]
masses = [metric.mass[i] for i in secrets]
new = dict.fromkeys(draw.choices(secrets, masses, k=20 * count))

def visits(number):
    known, been = [], []
    for _ in range(number):
        if not known or draw.random() < 0.6 * len(known) ** -0.21:
            known.append(draw.choices(secrets, masses)[0])
            been.append(known[-1])
        else:
            been.append(draw.choice(been))
    return been

people = [visits(50) for _ in range(count // 50)]
mixed = [place for person in people for place in person]
draw.shuffle(mixed)
tables = {"new": list(new)[:count], "back": mixed, "sticky": list(new)[: max(1, count // 25)]}
found = {"places_back": len(set(mixed))}
for name, places in tables.items():
    mechanism = client.Elastic(metric)
    by = client.Sticky(mechanism, bytes(32)) if name == "sticky" else mechanism
    where = [metric.latlon(i) for i in places]
    begun = time.process_time()
    for lat, lon in where:
        by.report(lat, lon)
    found[name] = (len(places), len(places) / (time.process_time() - begun))
print(json.dumps(found))
"""


def run(*, tell: Tell = quiet, side: int = 750, reports: int = REPORTS, map_file: str | None = None) -> dict[str, Any]:
    """One row a quantity. `map_file`: a `.geox` file [default: both are made first]."""
    with tempfile.TemporaryDirectory() as folder:
        tell("building", of=3)
        maps = _maps(Path(folder), side) if map_file is None else {map_file: Path(map_file).resolve()}
        tell("first reports")
        source = str(_source())
        plain = [sys.executable, "-I", "-S", "-c"]
        spawn([*plain, _IMPORT, source])  # which compiles the modules, as installing them does
        rows: list[dict[str, Any]] = []
        for name, path in maps.items():
            cold, again = (spawn([*plain, _START, source, str(path)], GEOELASTIC_CACHE=folder) for _ in range(2))
            what = f"{name}, {int(cold.value):,} locations: first report of a new process"
            rows += [
                quantity(f"{what}, {when}", round(took.cpu_s, 2), "s", "<= 0.5")
                for when, took in (("never opened before", cold), ("opened before", again))
            ]
        tell("reports")
        told = spawn([*plain, _SPEED, source, str(path), str(reports)], GEOELASTIC_CACHE=folder)
    found = json.loads(told.value)
    for what, name, target in (
        ("reports, every place a new one", "new", ">= 1000"),
        (f"reports, people who come back ({found['places_back']:,} places)", "back", ">= 1000"),
        ("sticky reports, every place a new one", "sticky", None),
    ):
        count, speed = found[name]
        rows.append(quantity(f"{count:,} {what}", round(speed), "/s", target))
    return {"rows": rows, "text": markdown(rows)}


def _maps(folder: Path, side: int) -> dict[str, Path]:
    """A made-up city, and part of a larger made-up one."""
    warm_up()
    town = build_metric(synthetic_mass("city", min(side, 10 * _SIZE_KM)))
    whole = build_metric(synthetic_mass("paris", side), sharpen=False)
    part = extract(whole, Area.around(*_PARIS, size_km=min(_SIZE_KM, side / 10)))
    maps = {"synthetic:city": folder / "city.geox", "20 km of synthetic:paris": folder / "paris.geox"}
    for metric, path in zip((town, part), maps.values(), strict=True):
        save_mechanism(ElasticMechanism(metric), path)
    return maps


def _source() -> Path:
    """The folder that the client is imported from: where it is installed, or beside the package in a clone."""
    spec = importlib.util.find_spec("geoelastic_client")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parents[1]
    clone = Path(__file__).resolve().parents[3] / "python-client/src"
    if not clone.is_dir():
        raise InputError("the client in plain Python must be installed to be measured: pip install geoelastic-client")
    return clone


summary = partial(beside_targets, of="plain Python: ")
