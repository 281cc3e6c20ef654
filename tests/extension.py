# SPDX-License-Identifier: Apache-2.0
"""What the tests of the extension share: the extension, built; a site to visit, with a log; a browser that has it."""

from __future__ import annotations

import contextlib
import http.server
import json
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, CDPSession, Page, Playwright

import vectors

ROOT = Path(__file__).resolve().parents[1]
EXTENSION = ROOT / "extension"
DIST = EXTENSION / "dist"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
NPM = shutil.which("npm")
#: Not the middle of a cell, so that no report can be it.
HERE = (48.85671234, 2.33871234)
#: In no cell of the town.
ELSEWHERE = (10.0, 10.0)
_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
          "--disable-background-networking", "--disable-component-update", "--disable-sync")  # fmt: skip

_EARLY = """<script>window.early = new Promise((yes) => navigator.geolocation.getCurrentPosition(
  ({ coords: c }) => yes([c.latitude, c.longitude]), (e) => yes(["error", e.code])));</script>"""
_ASKING = """<!doctype html><body><script>
const query = new URLSearchParams(location.search), name = query.get("name");
let to = parent; for (let k = 1; k < Number(query.get("up") ?? 1); k++) to = to.parent;
const say = (got) => to.postMessage({ got, name }, "*");
navigator.geolocation.getCurrentPosition(({ coords: c }) => say([c.latitude, c.longitude]),
  (e) => say(["error", e.code]));
</script>"""
_SAY = """function say(got) { parent.postMessage({ name: "NAME", got: got }, "*"); }
navigator.geolocation.getCurrentPosition(function (p) { say([p.coords.latitude, p.coords.longitude]); },
  function (e) { say(["error", e.code]); });"""
_ELEMENT = """<geolocation id=g autolocate></geolocation><script>window.early = new Promise((yes) => {
  const look = () => g.position && yes([g.position.coords.latitude, g.position.coords.longitude]);
  g.addEventListener("location", look);
  setTimeout(() => yes(["error", "silence"]), 6000);
});</script>"""
_HOLDING = """<!doctype html><body><script>
addEventListener("message", ({ data }) => parent.postMessage(data, "*"));
const made = document.createElement("iframe");
made.allow = "geolocation *"; made.src = "/asking" + location.search;
document.body.append(made);
</script>"""


def _script(name: str) -> str:
    return f"<script>{_SAY.replace('NAME', name)}</script>"


def pages() -> dict[str, tuple[str, str, dict[str, str]]]:
    """Path -> (content, its type, headers)."""
    html, ways = "text/html; charset=utf-8", (EXTENSION / "test" / "ways.js").read_text(encoding="utf-8")
    policy = "default-src 'none'; script-src 'self'; sandbox allow-scripts allow-same-origin"
    strict = {"Content-Security-Policy": policy}
    return {
        "/": (f"<!doctype html>{_EARLY}<title>a site</title><body><script src=/ways.js></script>", html, {}),
        "/strict": ('<!doctype html><title>strict</title><body><script src="/strict.js"></script>', html, strict),
        "/strict.js": (_EARLY.removeprefix("<script>").removesuffix("</script>"), "text/javascript", {}),
        "/ways.js": (ways, "text/javascript", {}),
        "/plain": ("<!doctype html><title>plain</title><body>", html, {}),
        "/slow": ("<!doctype html><title>slow</title><body>", html, {}),
        "/stalled": ("<!doctype html><title>late</title><body>", html, {}),
        "/element": (f"<!doctype html><title>element</title><body>{_ELEMENT}", html, {}),
        "/asking": (_ASKING, html, {}),
        "/holding": (_HOLDING, html, {}),
        "/picture.svg": (f'<svg xmlns="http://www.w3.org/2000/svg">{_script("svg")}</svg>', "image/svg+xml", {}),
        "/page.xhtml": (
            f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{_script("xhtml")}</body></html>',
            "application/xhtml+xml",
            {},
        ),
    }  # fmt: skip


class Site:
    """A web server on this machine, under two names that are two origins, that writes down what it is asked."""

    def __init__(self, folder: Path | None = None) -> None:
        self.log: list[str] = []
        known, log = pages(), self.log

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                log.append(f"{self.command} {self.path} {dict(self.headers)}")
                path = urlsplit(self.path).path
                file = folder / path.removeprefix("/pack/") if folder and path.startswith("/pack/") else None
                if file is not None and file.is_file() and file.parent == folder:
                    content, kind, headers = file.read_bytes(), "application/octet-stream", {}
                elif path in known:
                    text, kind, headers = known[path]
                    content = text.encode()
                else:
                    self.send_error(404)
                    return
                if path == "/slow":
                    time.sleep(1)
                self.send_response(200)
                for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                if path == "/stalled":
                    self.wfile.flush()
                    time.sleep(2)
                with contextlib.suppress(OSError):  # a frame that went elsewhere
                    self.wfile.write(content)

            def log_message(self, *arguments: Any) -> None:
                return None

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.address, self.other = f"http://{self.host}", f"http://localhost:{self._server.server_port}"
        self.home = f"{self.address}/?other={self.other}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def built(out: Path = DIST) -> Path:
    """The extension, built into a folder from the sources as they are; npm's tools are fetched once."""
    if not all((EXTENSION / "node_modules" / tool).is_dir() for tool in ("esbuild", "fflate")):
        subprocess.run(
            [str(NPM), "ci", "--no-audit", "--no-fund"], cwd=EXTENSION, check=True, capture_output=True, timeout=300
        )
    subprocess.run(["node", "build.mjs", str(out)], cwd=EXTENSION, check=True, capture_output=True, timeout=120)
    return out


def more_tools() -> Path:
    """The linter and the driver for Firefox, which are large: fetched once, for tests behind --more."""
    folder = EXTENSION / "more"
    if not (folder / "node_modules" / "web-ext").is_dir():
        fetch = [str(NPM), "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(fetch, cwd=folder, check=True, capture_output=True, timeout=900)
    return folder


class Visitor:
    """A browser with the extension, and somebody in it whose true place is known to the test."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.place = HERE
        assert context.browser is not None
        # kept: what was granted goes with who granted it
        self._browser = context.browser.new_browser_cdp_session()
        self._hidden = ("", "")
        self.requests: list[str] = []
        context.on("request", lambda request: self.requests.append(request.url))
        worker = context.service_workers[0] if context.service_workers else context.wait_for_event("serviceworker")
        self.worker = worker
        self.base = worker.url.rsplit("/", 1)[0]

    def at(self, place: tuple[float, float]) -> None:
        """Where the device is from now on: for pages, and in the document that nobody sees."""
        self.place = place
        self.context.set_geolocation({"latitude": place[0], "longitude": place[1]})
        self._tell_hidden()

    def _tell_hidden(self) -> bool:
        """Tell the document that nobody sees; whether there is one."""
        targets = self._browser.send("Target.getTargets")["targetInfos"]
        for target in (one["targetId"] for one in targets if one["url"] == f"{self.base}/where.html"):
            if self._hidden[0] != target:
                given = {"targetId": target, "flatten": False}
                self._hidden = target, self._browser.send("Target.attachToTarget", given)["sessionId"]
            params = {"latitude": self.place[0], "longitude": self.place[1], "accuracy": 1}
            message = json.dumps({"id": 1, "method": "Emulation.setGeolocationOverride", "params": params})
            self._browser.send("Target.sendMessageToTarget", {"sessionId": self._hidden[1], "message": message})
            return True
        return False

    def allow(self, address: str) -> None:
        """Let the extension ask the device, as a person does; nobody else may."""
        self._browser.send("Browser.grantPermissions", {"origin": self.base, "permissions": ["geolocation"]})
        page = self.options()
        page.click("#allow")
        page.wait_for_selector("#allowed:not([hidden])")
        page.close()
        # The first who asks opens the document in which the device is asked. It has no place yet, and Chromium would
        # look for one for twenty seconds.
        page = self.open(address)
        for _ in range(500):
            if self._tell_hidden():
                break
            page.wait_for_timeout(20)
        page.evaluate("early")
        page.close()

    def open(self, address: str) -> Page:
        page = self.context.new_page()
        page.goto(address)
        return page

    def options(self) -> Page:
        page = self.open(f"{self.base}/options.html")
        page.wait_for_selector("body[data-ready]")
        return page

    def popup(self, host: str) -> Page:
        page = self.open(f"{self.base}/popup.html?host={host}")
        page.wait_for_selector("body[data-ready]")
        return page

    def asked(self, address: str) -> list[Any]:
        """What the first script of a page gets."""
        page = self.open(address)
        got: list[Any] = page.evaluate("early")
        page.close()
        return got

    def add_map(self, path: Path = vectors.SHARP) -> None:
        page = self.options()
        page.set_input_files("#file", path)
        page.wait_for_selector("body[data-done]", timeout=60_000)
        assert "in use now" in page.inner_text("#status")
        page.close()

    def kept(self, area: str = "local") -> dict[str, Any]:
        page = self.open(f"{self.base}/popup.html?host=")
        told: dict[str, Any] = page.evaluate(f"chrome.storage.{area}.get(null)")
        page.close()
        return told

    def change(self, settings: dict[str, Any]) -> None:
        """Settings as the options page would write them."""
        page = self.open(f"{self.base}/popup.html?host=")
        page.evaluate(
            """async (change) => { const { settings } = await chrome.storage.local.get("settings");
            await chrome.storage.local.set({ settings: { ...settings, ...change } }); }""",
            settings,
        )
        page.close()

    def bridge(self, page: Page) -> tuple[CDPSession, int]:
        """The extension's own world of a page, where it talks to the worker."""
        session, found = self.context.new_cdp_session(page), []
        session.on("Runtime.executionContextCreated", lambda event: found.append(event["context"]))
        session.send("Runtime.enable")
        (own,) = (one for one in found if one["origin"].startswith("chrome-extension://"))
        return session, own["id"]


@contextmanager
def visitor(playwright: Playwright, profile: Path, *, sites_may: bool = False) -> Iterator[Visitor]:
    """A browser with the extension and a profile that stays; `sites_may`: every site has the browser's permission."""
    flags = [*_FLAGS, f"--disable-extensions-except={DIST / 'chromium'}", f"--load-extension={DIST / 'chromium'}"]
    context = playwright.chromium.launch_persistent_context(
        profile, executable_path=CHROMIUM, args=flags, ignore_default_args=["--disable-extensions"],
        geolocation={"latitude": HERE[0], "longitude": HERE[1]}, permissions=["geolocation"] if sites_may else [],
        viewport={"width": 1100, "height": 900},
    )  # fmt: skip
    try:
        one = Visitor(context)
        if sites_may:
            one.change({"own": False})
        yield one
    finally:
        context.close()


def positions(got: Any) -> list[tuple[float, float]]:
    """All positions in what a way to ask has got."""
    if isinstance(got, list) and len(got) == 2 and all(isinstance(value, int | float) for value in got):
        return [(got[0], got[1])]
    return [place for one in got for place in positions(one)] if isinstance(got, list) else []


def holds_a_place(text: str, place: tuple[float, float] = HERE, digits: int = 4) -> bool:
    """Whether a text holds a coordinate of a place to so many digits."""
    return any(re.search(re.escape(f"{value:.8f}"[: f"{value:.8f}".index(".") + 1 + digits]), text) for value in place)
