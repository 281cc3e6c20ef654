# SPDX-License-Identifier: Apache-2.0
"""Chromium for measurements: one that has the extension, or a page with the client; reports and their times.

Times are taken in the extension's own world of a page, from its message to the worker to the answer, without the
device's own search and without the fixed delay that hides all of this.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from mimetypes import guess_type
from pathlib import Path
from typing import Any

from ..errors import import_extra
from ..service.bundle import client_dir

EXTENSION = Path(__file__).parents[3] / "extension"
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
#: One message and the milliseconds until its answer, as often as there are places.
_ASK = """Promise.resolve().then(async () => { const took = []; for (const [lat, lon] of PLACES) {
  const begun = performance.now();
  const { position } = await chrome.runtime.sendMessage({ what: "report", kind: "get", lat, lon });
  took.push(position ? performance.now() - begun : null); } return JSON.stringify(took); })"""
#: Settings in which the measurement is the device.
SITES_ASK = """async () => { const { settings } = await chrome.storage.local.get("settings");
  await chrome.storage.local.set({ settings: { ...settings, own: false, weekly: 10000 } }); }"""
_MARKS = """performance.getEntriesByType("mark").map(({ name, startTime }) => [name, startTime])"""


def built() -> bool:
    """Build the extension, for which npm's tools are fetched once; whether it can be run here."""
    if None in map(shutil.which, ("chromium", "node", "npm")) or not EXTENSION.is_dir():
        return False
    has_tools = (EXTENSION / "node_modules" / "fflate").is_dir()
    fetch = [] if has_tools else [["npm", "ci", "--ignore-scripts", "--no-audit"]]
    for command in [*fetch, ["node", "build.mjs"]]:
        subprocess.run(command, cwd=EXTENSION, check=True, capture_output=True, timeout=300)
    return True


@contextmanager
def site(files: Mapping[str, bytes] | None = None) -> Iterator[str]:
    """The address of a page on this machine, with these files beside it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", guess_type(self.path)[0] or "text/html")
            self.end_headers()
            self.wfile.write((files or {}).get(self.path[1:], b"<!doctype html><title>a page</title>"))

        def log_message(self, format: str, *args: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def chromium() -> str | None:
    """The browser, where there is one."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def _playwright() -> Any:
    return import_extra("playwright.sync_api", "test").sync_playwright()


@contextmanager
def browser(profile: Path) -> Iterator[Any]:
    """Chromium with the extension and a profile that stays."""
    built = EXTENSION / "dist" / "chromium"
    flags = [*_FLAGS, f"--disable-extensions-except={built}", f"--load-extension={built}"]
    with _playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=chromium(), args=flags, ignore_default_args=["--disable-extensions"]
        )
        try:
            yield context
        finally:
            context.close()


@contextmanager
def client_page(files: Mapping[str, bytes]) -> Iterator[Any]:
    """A page of a new Chromium without the extension, with the client's modules and these files beside it."""
    modules = {path.name: path.read_bytes() for path in client_dir().glob("*.js")}
    with site({**modules, **files}) as address, _playwright() as playwright:
        begun = playwright.chromium.launch(executable_path=chromium(), args=_FLAGS)
        try:
            page = begun.new_page()
            page.goto(address)
            yield page
        finally:
            begun.close()


def _worker(context: Any) -> Any:
    return context.service_workers[0] if context.service_workers else context.wait_for_event("serviceworker")


def extension_page(context: Any) -> Any:
    """The options page."""
    page = context.new_page()
    page.goto(_worker(context).url.replace("worker.js", "options.html"))
    page.wait_for_selector("body[data-ready]")
    return page


def start(profile: Path, address: str, places: Sequence[tuple[float, float]]) -> dict[str, list[float]]:
    """One start of the browser: the first report, reports at other places, the same ones again; then of a worker."""
    with browser(profile) as context:
        page = context.new_page()
        page.goto(address)
        session, own = context.new_cdp_session(page), []
        session.on("Runtime.executionContextCreated", lambda event: own.append(event["context"]))
        session.send("Runtime.enable")
        (world,) = (one["id"] for one in own if one["origin"].startswith("chrome-extension://"))

        def ask(some: Sequence[tuple[float, float]]) -> list[float]:
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
        found["memory of the extension's process, MB"] = [_memory_mb(profile)]
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


def _memory_mb(profile: Path) -> float:
    """What the process of the extension holds for itself, in the browser with this profile."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            if b"--extension-process" in command and str(profile).encode() in _browser_of(folder):
                lines = (folder / "smaps_rollup").read_text(encoding="ascii").splitlines()
                return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1e3
        except OSError:
            continue
    return float("nan")


def _browser_of(process: Path) -> bytes:
    """The command lines of those that started a process: others may have a browser with an extension open."""
    lines = b""
    while (parent := int((process / "stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[1])) > 1:
        process = process.parent / str(parent)
        lines += (process / "cmdline").read_bytes()
    return lines
