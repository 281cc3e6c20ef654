# SPDX-License-Identifier: Apache-2.0
"""The browser extension in Chromium: how long a report takes after a start, at a new place, at the same one; memory.

Measured in the extension's own world of a page, from its message to the worker to the answer, without the device's own
search and without the fixed delay that hides all of this. Places are drawn by mass. The map is a made-up Paris of 40 km
unless one is given. Chromium is Debian's, driven by Playwright, the extension is built by node: a table without rows
where they are not installed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..mechanism import ElasticMechanism
from ..mechanism.geox_mechanism import mechanism_bytes
from ..metric import build_metric
from ..opening import load
from ..progress import progress_bar
from ._tools import markdown, synthetic_mass

EXTENSION = Path(__file__).parents[3] / "extension"
_SIDE_CELLS = 400
_STARTS = 5
_PLACES = 40
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
#: One message and the milliseconds until its answer, as often as there are places.
_ASK = """Promise.resolve().then(async () => { const took = []; for (const [lat, lon] of PLACES) {
  const begun = performance.now();
  const { position } = await chrome.runtime.sendMessage({ what: "report", kind: "get", lat, lon });
  took.push(position ? performance.now() - begun : null); } return JSON.stringify(took); })"""
_SITES_ASK = """async () => { const { settings } = await chrome.storage.local.get("settings");
  await chrome.storage.local.set({ settings: { ...settings, own: false, weekly: 10000 } }); }"""
_MARKS = """performance.getEntriesByType("mark").map(({ name, startTime }) => [name, startTime])"""


def run(*, progress: bool = False, map_file: str | None = None) -> dict[str, Any]:
    """One row a quantity."""
    if shutil.which("chromium") is None or shutil.which("node") is None or not EXTENSION.is_dir():
        return {"rows": [], "text": "Chromium, node or the extension's sources are not here."}
    with progress_bar("bench extension", _STARTS + 2, show=progress) as bar:
        bar.update(0, note="a map")
        metric = build_metric(synthetic_mass("paris", _SIDE_CELLS)) if map_file is None else load(map_file).whole()
        subprocess.run(["node", "build.mjs"], cwd=EXTENSION, check=True, capture_output=True, timeout=120)
        content = mechanism_bytes(ElasticMechanism(metric))
        rng = np.random.default_rng(1)
        chances = np.where(metric.secret, metric.mass, 0)
        chosen = rng.choice(metric.n, size=_PLACES, p=chances / chances.sum(), replace=False)
        places = [[float(value) for value in metric.latlon(int(i))] for i in chosen]
        size = {"locations": metric.n, "kB": round(len(content) / 1e3)}
        rows: list[dict[str, Any]] = [{"what": "the map's file"} | size]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, _site() as address:
            bar.update(1, note="checking the map on the device")
            rows += _taken(Path(folder), content)
            found: dict[str, list[float]] = {}
            for start in range(_STARTS):
                bar.update(2 + start, note="starts of the browser")
                for name, values in _start(Path(folder), address, places).items():
                    found.setdefault(name, []).extend(values)
    rows += [
        {"what": name, "median": round(float(np.median(values)), 1), "worst": round(max(values), 1), "of": len(values)}
        for name, values in found.items()
    ]
    rows.append({"what": "others at work on this machine meanwhile (load of 1 minute)", "median": os.getloadavg()[0]})
    return {"rows": rows, "text": markdown(rows)}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """What was set out for, and what came of it."""
    aims = {"first report after a start of the browser, ms": "300 ms", "report at a new place, ms": "30 ms"}
    return [
        (f"extension: {row['what'].removesuffix(', ms')}", aims[row["what"]],
         f"{row['median']} ms, at worst {row['worst']} of {row['of']}")
        for row in rows if row["what"] in aims
    ]  # fmt: skip


@contextmanager
def _site() -> Iterator[str]:
    """A page on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>a page</title>")

        def log_message(self, format: str, *args: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _browser(profile: Path) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    built = EXTENSION / "dist" / "chromium"
    flags = [*_FLAGS, f"--disable-extensions-except={built}", f"--load-extension={built}"]
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=shutil.which("chromium"), args=flags, ignore_default_args=["--disable-extensions"]
        )
        try:
            yield context
        finally:
            context.close()


def _worker(context: Any) -> Any:
    return context.service_workers[0] if context.service_workers else context.wait_for_event("serviceworker")


def _taken(folder: Path, content: bytes) -> list[dict[str, Any]]:
    """The map chosen in the options page, as a person does it: checked there, every place of it."""
    (folder / "map.geox").write_bytes(content)
    with _browser(folder / "profile") as context:
        page = context.new_page()
        page.goto(_worker(context).url.replace("worker.js", "options.html"))
        page.wait_for_selector("body[data-ready]")
        begun = time.perf_counter()
        page.set_input_files("#file", folder / "map.geox")
        page.wait_for_selector("body[data-done]", timeout=1_800_000)
        took = time.perf_counter() - begun
        page.evaluate(_SITES_ASK)
    return [{"what": "checking the map when it is chosen, s", "median": round(took, 1), "of": 1}]


def _start(folder: Path, address: str, places: list[list[float]]) -> dict[str, list[float]]:
    """One start of the browser: the first report, reports at other places, the same ones again; then of a worker."""
    with _browser(folder / "profile") as context:
        page = context.new_page()
        page.goto(address)
        session, own = context.new_cdp_session(page), []
        session.on("Runtime.executionContextCreated", lambda event: own.append(event["context"]))
        session.send("Runtime.enable")
        (world,) = (one["id"] for one in own if one["origin"].startswith("chrome-extension://"))

        def ask(some: list[list[float]]) -> list[float]:
            told = session.send("Runtime.evaluate", {
                "expression": _ASK.replace("PLACES", json.dumps(some)), "contextId": world, "awaitPromise": True,
                "returnByValue": True,
            })  # fmt: skip
            return [float(value) for value in json.loads(told["result"]["value"])]

        found = {"first report after a start of the browser, ms": ask(places[:1])}
        found |= _parts(_worker(context), "map", "of it")
        found["report at a new place, ms"] = ask(places[1:])
        found |= _parts(_worker(context), "report", "of these")
        found["report at the same place again, ms"] = ask(places)
        found["memory of the extension's process, MB"] = [_memory_mb()]
        session.send("ServiceWorker.enable")
        session.send("ServiceWorker.stopAllWorkers")
        found["first report after the worker slept, ms"] = ask(places[:1])
    return found


def _parts(worker: Any, kind: str, of: str) -> dict[str, list[float]]:
    """What lies between the marks that the worker set, by the name of the earlier one."""
    marks = [(name.split(": ")[1], at) for name, at in worker.evaluate(_MARKS) if name.startswith(f"{kind}: ")]
    found: dict[str, list[float]] = {}
    for (name, at), (_, then) in pairwise(marks):
        if name != "done":
            found.setdefault(f"{of}: {kind}, {name}, ms", []).append(then - at)
    return found


def _memory_mb() -> float:
    """What the process of the extension holds for itself."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"--extension-process" in (folder / "cmdline").read_bytes():
                lines = (folder / "smaps_rollup").read_text(encoding="ascii").splitlines()
                return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1e3
        except OSError:
            continue
    return float("nan")
