# SPDX-License-Identifier: Apache-2.0
"""A day of 1,440 ticks in Python and in Chromium, many people's days, a GPX file of 5,000 points attacked.

The days are those of made-up commuters. `Chromium` is Debian's, driven by Playwright, with the client in a worker and a
map that it has opened; the row is left out where they are not installed.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..evaluation.commuters import synthetic_commuters
from ..evaluation.traces.trace_attack import attack_releases
from ..mass import mass_from_quality
from ..mechanism import ElasticMechanism
from ..mechanism.geox_mechanism import mechanism_bytes
from ..metric import build_metric
from ..quality import synthetic_quality
from ..sources.traces import Trace
from ..traces import Clock, TraceMechanism
from ..traces.trace_files import release_file
from ._device import chromium, client_page
from ._tools import Tell, markdown, quiet, timed

#: (map, cells a side, metres of a cell): 20,000 locations, and the whole of the paper's area.
MAPS = (("city", 240, 200.0), ("paris", 750, 100.0))
PEOPLE = 25
DAYS = 2
POINTS = 5_000
_IN_WORKER = """async (places) => {
  const bytes = new Uint8Array(await (await fetch("/map.geox")).arrayBuffer());
  const worker = new Worker("/trace-worker.js", { type: "module" });
  const ask = (message) => new Promise((done, fail) => {
    worker.onmessage = ({ data }) => (data.error ? fail(new Error(data.error.message)) : done(data));
    worker.onerror = () => fail(new Error("the worker did not start"));
    worker.postMessage(message);
  });
  await ask({ bytes, options: { stepSeconds: 60 } });
  const begin = performance.now();
  const { location } = await ask({ places });
  return [(performance.now() - begin) / 1000, location.length];
}"""


def run(*, tell: Tell = quiet, maps: Any = MAPS, people: int = PEOPLE, points: int = POINTS) -> dict[str, Any]:
    """One row a quantity."""
    rows: list[dict[str, Any]] = []
    for name, side, cell_m in maps:
        tell(f"building {name}", of=2 * len(maps) + 3)
        elastic = _map(name, side, cell_m)
        tell(f"a day on {name}")
        rows.append(_day(elastic, name))
        if name == maps[0][0]:
            first = elastic
    tell("Chromium")
    rows += _chromium(first, maps[0][0])
    with tempfile.TemporaryDirectory() as folder:
        tell(f"{people} people")
        rows.append(_people(first, Path(folder), people))
        tell("a GPX file")
        rows.append(_gpx(first, Path(folder), points))
    return {"rows": rows, "text": markdown(rows)}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """What was set out for, and what came of it."""
    aims = {"Python, city": "3 s", "Python, paris": "10 s", "Chromium, city": "6 s"}
    found = [
        (f"a day of 1,440 ticks: {row['where']}, {row['locations']:,} locations", aims[row["where"]],
         f"{row['seconds']} s" + (f" ({row['cpu_s']} s of processor time)" if "cpu_s" in row else ""))
        for row in rows if row["what"] == "a day of 1,440 ticks" and row["where"] in aims
    ]  # fmt: skip
    for row in rows:
        if row["what"] == "days of people":
            took = f"{row['a_thousand_s']} s ({row['a_thousand_cpu_s']} s of processor time), from {row['count']} days"
            found.append(("a thousand days of people, read, released, written", "said", took))
        if row["what"] == "a GPX file":
            errors = (
                f"release {row['release_m']} m, running mean {row['running_mean_m']} m, tracked {row['tracking_m']} m"
            )
            found.append((f"a GPX file of {row['count']:,} points", "a running mean recovers nothing", errors))
    return found


def _map(name: str, side: int, cell_m: float) -> ElasticMechanism:
    """Neither raised nor sharpened: a trace uses no relief, and edges are as many."""
    mass = mass_from_quality(synthetic_quality(name, rows=side, cols=side, cell_m=cell_m))
    return ElasticMechanism(build_metric(mass, ascent=False, sharpen=False))


def _traces(elastic: ElasticMechanism, people: int, days: int) -> list[Trace]:
    middle = elastic.metric.grid.area.middle
    made = synthetic_commuters(people, seed=1, days=days, lat=middle[0], lon=middle[1])
    return [Trace(str(k), one.trace.lat, one.trace.lon, one.trace.time_s) for k, one in enumerate(made)]


def _day(elastic: ElasticMechanism, name: str) -> dict[str, Any]:
    trace = _traces(elastic, 1, 1)[0]
    start = 86_400 * (float(trace.time_s[0]) // 86_400)
    clock = Clock(start, 60, 1440)
    TraceMechanism(elastic, step_minutes=1).release(trace, clock=Clock(start, 60, 40))  # compiles
    fresh = TraceMechanism(elastic, step_minutes=1)  # has searched nothing yet
    took = timed(lambda: fresh.release(trace, clock=clock))
    visited = int(np.unique(fresh.places(trace, clock)[1]).size)
    return {
        "what": "a day of 1,440 ticks", "where": f"Python, {name}", "locations": elastic.metric.n, "visited": visited,
        "seconds": round(took.wall_s, 2), "cpu_s": round(took.cpu_s, 2),
    }  # fmt: skip


def _chromium(elastic: ElasticMechanism, name: str) -> list[dict[str, Any]]:
    """The same day in a worker; nothing where there is no browser to ask."""
    if chromium() is None or find_spec("playwright") is None:
        return []
    trace = _traces(elastic, 1, 1)[0]
    clock = Clock(86_400 * (float(trace.time_s[0]) // 86_400), 60, 1440)
    places = TraceMechanism(elastic, step_minutes=1).places(trace, clock)[1].tolist()
    with client_page({"map.geox": mechanism_bytes(elastic)}) as page:
        seconds, ticks = page.evaluate(_IN_WORKER, places)
    assert ticks == len(places), "the worker must release every tick"
    return [
        {
            "what": "a day of 1,440 ticks", "where": f"Chromium, {name}", "locations": elastic.metric.n,
            "visited": len(set(places)), "seconds": round(seconds, 2),
        }
    ]  # fmt: skip


def _people(elastic: ElasticMechanism, folder: Path, people: int) -> dict[str, Any]:
    """Many people's days as one table, read, released and written."""
    lines = ["user,lat,lon,time"]
    for trace in _traces(elastic, people, DAYS):
        lines += [
            f"{trace.user},{a},{o},{t}" for a, o, t in zip(trace.lat, trace.lon, trace.time_s.tolist(), strict=True)
        ]
    (folder / "true.csv").write_text("\n".join(lines), encoding="utf-8")
    traces = TraceMechanism(elastic)
    took = timed(lambda: release_file(traces, [folder / "true.csv"], folder / "out.parquet"))
    days = round(took.value["hours"] / 24)
    return {
        "what": "days of people", "where": "Python, table", "locations": elastic.metric.n, "count": days,
        "seconds": round(took.wall_s, 2), "cpu_s": round(took.cpu_s, 2),
        "a_thousand_s": round(1000 * took.wall_s / days), "a_thousand_cpu_s": round(1000 * took.cpu_s / days),
    }  # fmt: skip


def _gpx(elastic: ElasticMechanism, folder: Path, points: int) -> dict[str, Any]:
    """A logger's file of so many points, released and attacked."""
    trace = next(one for one in _traces(elastic, 60, 20) if len(one) >= points)
    shown = zip(trace.lat[:points], trace.lon[:points], trace.time_s[:points].tolist(), strict=True)
    fixes = "".join(
        f'<trkpt lat="{a:.6f}" lon="{o:.6f}"><time>{datetime.fromtimestamp(t, UTC):%Y-%m-%dT%H:%M:%SZ}</time></trkpt>'
        for a, o, t in shown
    )
    head = '<gpx version="1.1" creator="geoelastic" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>'
    (folder / "true.gpx").write_text(f"{head}{fixes}</trkseg></trk></gpx>", encoding="utf-8")
    traces = TraceMechanism(elastic)
    release_file(traces, [folder / "true.gpx"], folder / "out.gpx")
    (found,) = attack_releases(traces, folder / "out.gpx", [folder / "true.gpx"])["users"]
    errors = {name: round(found[name]) for name in ("release_m", "running_mean_m", "tracking_m")}
    return {"what": "a GPX file", "where": "Python", "locations": elastic.metric.n, "count": points} | errors
