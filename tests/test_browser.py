# SPDX-License-Identifier: Apache-2.0
"""The page and the client in a real browser: Debian's Chromium, driven by Playwright, against the real service."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from playwright.sync_api import Browser, Page, sync_playwright

import geoelastic as ge
import vectors
from geoelastic.context import Name
from geoelastic.context.shores import context_of
from geoelastic.mechanism.geox_mechanism import load_mechanism, mechanism_bytes
from geoelastic.service.bundle import client_dir
from geoelastic.service.service_page import standalone_html
from statistical.toolbox import NEVER, assert_chi_square

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
]
HERE = (48.8567, 2.3387)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.jit,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small map in another hemisphere."""
    path = tmp_path_factory.mktemp("maps") / "elsewhere.geoelastic"
    even = ge.Mass.from_array(np.full((24, 30), 0.05), cell_m=100, origin=(-33.87, 151.2))
    road = {"road": shapely.LineString([(-900, 10), (900, 10)])}
    names = [Name(0, 0, 0, "<b>Sydney</b>"), Name(40, 0, 3, "under it")]
    around = context_of(shapely.box(-500, -500, 0, 500), road, names, 3000, 2400, tolerance_m=0)
    replace(ge.build_metric(even, l_top=1.0), context=around).save(path)
    return path


@pytest.fixture(scope="module")
def address(elsewhere: Path) -> Iterator[str]:
    files = [str(path) for path in (vectors.FILE, vectors.SHARP, elsewhere)]
    command = [sys.executable, "-m", "geoelastic.cli", "serve", *files, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("http://127.0.0.1:"), line
        yield line.split(" ")[0]
        process.terminate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Visit:
    """A page with everything it asked for and complained about."""

    def __init__(self, browser: Browser, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page: Page = self.context.new_page()
        self.requests: list[str] = []
        self.faults: list[str] = []
        self.context.on(
            "request", lambda r: self.requests.append(f"{r.method} {r.url} {r.post_data or ''} {r.headers}")
        )
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda m: self.faults.append(m.text) if m.type in ("error", "warning") else None)

    def open(self, url: str) -> Page:
        self.page.goto(url)
        self.page.wait_for_selector("body[data-ready][data-checked]", timeout=60_000)
        return self.page

    def unfold(self) -> None:
        self.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")

    def data(self, name: str) -> str:
        return str(self.page.evaluate(f"document.body.dataset.{name}"))


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    visit = Visit(browser, viewport={"width": 1100, "height": 760})
    yield visit
    assert visit.faults == []
    visit.context.close()


def places(text: str) -> list[str]:
    """Numbers that could be the coordinates of a place on the map, or tile numbers of one."""
    return re.findall(r"4[89]\.\d{2,}|\b2\.[23]\d+", text)


def test_ball_cloud_and_sentence_appear_without_a_request(visit: Visit, address: str) -> None:
    page = visit.open(address)
    before = len(visit.requests)
    assert all(re.search(r"127\.0\.0\.1|^GET data:", request) for request in visit.requests)
    page.click("#map", position={"x": 380, "y": 360})
    page.wait_for_selector("body[data-cloud]")
    assert int(visit.data("cloud")) == 300
    assert int(visit.data("ball")) >= 1
    assert re.match(r"About [\d,]+ buildings on .* at most 2 times", page.inner_text("#sentence"))
    assert "nothing was sent" in page.inner_text("#away")
    assert visit.data("requests") == "0"
    small = int(visit.data("ball"))
    page.locator("#level").fill("95")
    assert int(visit.data("ball")) > small
    page.click("#again")
    assert len(visit.requests) == before
    assert places(" ".join(visit.requests)) == []


def test_layers(visit: Visit, address: str) -> None:
    page = visit.open(address)
    visit.unfold()
    pictures = set()
    for layer in ("mass", "frame", "fences", "slack", "error", "none"):
        page.check(f'input[name="layer"][value="{layer}"]')
        page.wait_for_selector(f'body[data-layer="{layer}"]')
        page.wait_for_timeout(300)
        pictures.add(page.evaluate("document.querySelector('canvas.field').toDataURL().slice(-4000)"))
        assert page.is_visible("#legend") == (layer != "none")
        if layer == "mass":
            assert re.search(
                r"Where the crowds are\s+hardly a building\s+[\d,]+ buildings a km²", page.inner_text("#legend")
            )
    assert len(pictures) == 6


CORNERS = ((300, 300), (420, 310), (400, 420), (310, 400))


@pytest.mark.parametrize("closing", ["button", "double click", "enter"])
def test_a_fence_is_drawn_and_carved_on_the_device(visit: Visit, address: str, closing: str) -> None:
    page = visit.open(address)
    visit.unfold()
    before = len(visit.requests)
    zoom = page.get_attribute("#map", "data-zoom")
    page.click("#draw")
    for x, y in CORNERS:
        page.click("#map", position={"x": x, "y": y})
    if closing == "button":
        page.click("#draw")
    elif closing == "enter":
        page.keyboard.press("Enter")
    else:
        page.dblclick("#map", position={"x": 305, "y": 350})
    page.wait_for_selector("body[data-fenced]", timeout=30_000)
    assert int(visit.data("fenced")) > 4
    assert page.get_attribute("#map", "data-zoom") == zoom
    page.click("#map", position={"x": 360, "y": 355})
    page.locator("#sentence", has_text="inside a fence").wait_for()
    page.wait_for_selector('body[data-checked="holds"]', timeout=30_000)
    page.click("#compare")
    page.click("#map", position={"x": 120, "y": 355})
    page.locator("#comparison").wait_for(state="visible")
    assert "Planar Laplace" in page.inner_text("#comparison")
    assert [request for request in visit.requests[before:] if "blob:" not in request] == []


def test_a_fence_needs_three_corners_and_can_be_taken_back(visit: Visit, address: str) -> None:
    page = visit.open(address)
    visit.unfold()
    page.click("#draw")
    for x, y in CORNERS[:3]:
        page.click("#map", position={"x": x, "y": y})
    page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    assert "at least three corners; this one has 2" in page.inner_text("#status")
    page.keyboard.press("Escape")
    assert page.inner_text("#status") == "No fence was drawn."
    assert page.inner_text("#draw") == "Draw a fence"


def test_by_keyboard_on_a_phone_in_the_dark(browser: Browser, address: str) -> None:
    visit = Visit(browser, viewport={"width": 390, "height": 844}, color_scheme="dark", has_touch=True)
    page = visit.open(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 27)"
    page.focus("#map")
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-cloud]")
    page.focus("#fencing summary")
    page.keyboard.press("Enter")
    page.focus("#around")
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-fenced]", timeout=30_000)
    page.focus("#draw")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert page.inner_text("#draw") == "Draw a fence"
    page.evaluate("delete document.body.dataset.fenced")
    page.keyboard.press("Enter")
    page.focus("#map")
    for key in ("Equal", "Equal", "Space", "ArrowRight", "Space", "ArrowUp", "Space", "Enter"):
        page.keyboard.press(key)
        page.wait_for_timeout(400)  # the map glides
    page.wait_for_selector("body[data-fenced]", timeout=30_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert visit.faults == []
    visit.context.close()


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)])
def test_three_maps_are_switched_back_and_forth(
    browser: Browser, address: str, width: int, height: int, colours: Any
) -> None:
    visit = Visit(browser, viewport={"width": width, "height": height}, color_scheme=colours)
    page = visit.open(address)
    names = page.locator("#metrics option").all_inner_texts()
    assert sorted(names) == ["elsewhere", "sharp", "town"]
    seen: dict[str, int] = {}
    for name in ("elsewhere", "sharp", "town", "elsewhere"):
        page.focus("#metrics")
        page.keyboard.press(name[0])
        page.wait_for_selector(f'body[data-ready][data-map="{name}"][data-checked="holds"]', timeout=60_000)
        assert page.title() == f"{name} · geoelastic"
        assert "Choose a place" in page.inner_text("#sentence")
        assert not page.is_visible("#name")  # the list says it
        page.focus("#centre")
        assert page.inner_text("#centre") == "Show me an example"
        page.keyboard.press("Enter")
        page.wait_for_selector("body[data-cloud]")
        assert page.inner_text("#centre") == "Choose the middle of the map"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        lat, lon = map(float, page.inner_text("#coordinates").split(", "))
        assert (abs(lat + 33.87) < 0.02 and abs(lon - 151.2) < 0.02) == (name == "elsewhere")
        picture = page.evaluate("document.querySelector('canvas.field').toDataURL().length")
        assert seen.setdefault(name, picture) == picture
        drawn = page.evaluate("document.querySelector('canvas.context').dataset.names")
        assert drawn == ("1" if name == "elsewhere" else "0")  # one name is left out, for it would lie on the other
    assert len(seen) == 3
    assert visit.faults == []
    visit.context.close()


def test_the_app_in_a_notebook_cell_reports_and_can_reach_nothing(visit: Visit, elsewhere: Path) -> None:
    page = visit.page
    html = f'<!doctype html><meta charset="utf-8">{ge.load(elsewhere).explore()._repr_html_()}'
    notebook = "http://localhost:9/notebook"  # what a notebook is to a browser: a page from a place that it trusts
    page.route(notebook, lambda route: route.fulfill(content_type="text/html", body=html))
    page.goto(notebook)
    cell = page.frames[1]
    cell.wait_for_selector('body[data-ready][data-checked="holds"]', timeout=60_000)
    cell.click("#centre")
    cell.wait_for_selector("body[data-cloud]")
    assert re.fullmatch(r"-33\.\d{5}, 151\.\d{5}", cell.inner_text("#coordinates"))
    assert cell.evaluate("document.querySelector('canvas.context').dataset.names") == "1"
    refused = "fetch('http://127.0.0.1:1/').catch(error => error.name)"
    told = cell.evaluate(
        f"new Promise(r => {{ addEventListener('securitypolicyviolation', () => r('policy')); {refused} }})"
    )
    assert told == "policy"
    visit.faults.clear()  # the browser says that it was refused
    asked = [request.split()[1] for request in visit.requests]
    assert [address for address in asked if address.startswith("http")] == [notebook]


def test_a_fence_in_a_sharpened_map_is_sharpened_again_on_the_device(visit: Visit, address: str) -> None:
    page = visit.open(address)
    page.select_option("#metrics", "sharp")
    page.wait_for_selector('body[data-ready][data-checked="holds"]', timeout=60_000)
    visit.unfold()
    assert "Its reports are sharpened" in page.inner_text("#facts")
    page.click("#centre")
    page.click("#around")
    page.wait_for_selector("body[data-sharpened]", timeout=90_000)
    page.wait_for_selector('body[data-checked="holds"]', timeout=60_000)
    assert "by all of each distance over a relief" in page.inner_text("#claim")


def test_the_report_is_shown_and_can_be_copied(browser: Browser, address: str) -> None:
    visit = Visit(browser, permissions=["clipboard-read", "clipboard-write"])
    page = visit.open(address)
    page.click("#centre")
    page.wait_for_selector("body[data-cloud]")
    shown = page.inner_text("#coordinates")
    assert re.fullmatch(r"48\.\d{5}, 2\.\d{5}", shown)
    page.click("#copy")
    page.locator("#copy", has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == shown
    page.click("#again")
    assert page.inner_text("#copy") == "Copy"
    assert visit.faults == []
    visit.context.close()


def test_the_page_checks_its_map_and_says_what_it_found(visit: Visit, address: str) -> None:
    page = visit.open(address)
    page.wait_for_selector('body[data-checked="holds"]')
    visit.unfold()
    assert "Checked on this device: it holds" in page.inner_text("#verdict")
    assert "1,001 of 1,071 places can be secrets" in page.inner_text("#claim")
    # remembered: the second time nothing is computed
    page.reload()
    page.wait_for_selector('body[data-checked="holds"]')
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('geoelastic.verified')).length") == 1


def wanting() -> bytes:
    """The town with half of its crowds, whole and sealed: only a check can tell."""
    metric = ge.load(vectors.FILE)
    return mechanism_bytes(ge.ElasticMechanism(replace(metric, mass_units=metric.mass_units // 2)))


def test_a_map_that_does_not_keep_its_promise_gives_no_report(browser: Browser, address: str) -> None:
    visit = Visit(browser)
    visit.context.route("**/portable", lambda route: route.fulfill(status=200, body=wanting()))
    page = visit.open(address)
    page.wait_for_selector('body[data-checked="fails"]')
    assert "Do not use this map" in page.inner_text("#sentence")
    page.click("#map")
    assert "cloud" not in page.evaluate("Object.keys(document.body.dataset)")
    assert page.is_disabled("#centre")
    visit.context.close()


def test_a_page_that_cannot_load_its_map_says_so(browser: Browser, address: str) -> None:
    visit = Visit(browser)
    visit.context.route("**/portable", lambda route: route.fulfill(status=200, body=b"geox\r\n\x1a\x01 no"))
    visit.page.goto(address)
    visit.page.locator("#sentence", has_text="cannot be loaded").wait_for()
    visit.page.click("#map")
    assert "cloud" not in visit.page.evaluate("Object.keys(document.body.dataset)")
    visit.context.close()


def test_the_stand_alone_file_needs_no_network(visit: Visit, tmp_path: Path) -> None:
    standalone_html(ge.load(vectors.FILE), tmp_path / "town.html")
    page = visit.open((tmp_path / "town.html").as_uri())
    page.click("#centre")
    page.wait_for_selector("body[data-cloud]")
    assert [r for r in visit.requests if not re.match(r"GET (file|data|blob):", r)] == []


SHIM = """<!doctype html>
<script src="/geolocation.js" data-metric="{metric}" data-delay-ms="300"{more}></script><script>
const now = () => performance.now(), begun = now();
navigator.geolocation.getCurrentPosition(
  ({{ coords: c }}) => (document.title = JSON.stringify([c.latitude, c.longitude, c.accuracy, now() - begun])),
  (e) => (document.title = "refused " + e.code));
</script>"""


def asked_by_a_page(
    browser: Browser,
    address: str,
    metric: str,
    place: tuple[float, float],
    *,
    more: str = "",
    body: bytes | None = None,
) -> tuple[str, list[str]]:
    where = {"latitude": place[0], "longitude": place[1]}
    visit = Visit(browser, geolocation=where, permissions=["geolocation"])
    visit.context.route(
        "**/page-with-shim",
        lambda route: route.fulfill(body=SHIM.format(metric=metric, more=more), content_type="text/html"),
    )
    if body is not None:
        visit.context.route("**/portable", lambda route: route.fulfill(status=200, body=body))
    visit.page.goto(f"{address}page-with-shim")
    visit.page.wait_for_function("document.title !== ''", timeout=20_000)
    title, requests = visit.page.title(), visit.requests
    visit.context.close()
    return title, requests


def test_the_shim_answers_a_page_with_reports(browser: Browser, address: str) -> None:
    mechanism = load_mechanism(vectors.FILE)
    visits, reports = 5, set()
    assert (mechanism.probabilities(mechanism.metric.locate(*HERE)) ** visits).sum() < 1e-9  # that all are the same
    for _ in range(visits):
        title, requests = asked_by_a_page(browser, address, "/v1/metrics/town/portable", HERE)
        lat, lon, accuracy, took = json.loads(title)
        assert took >= 300  # the fixed delay
        row, col = mechanism.metric.grid.locate(lat, lon)
        assert mechanism.metric.grid.cell_to_latlon(row, col) == pytest.approx((lat, lon), abs=1e-9)
        assert accuracy > 300
        reports.add((row, col))
        assert places(" ".join(requests)) == []
    assert len(reports) > 1


def test_the_shim_fails_closed(browser: Browser, address: str) -> None:
    for metric, place in (("/nothing.geox", HERE), ("/v1/metrics/town/portable", (10.0, 10.0)), ("", HERE)):
        assert asked_by_a_page(browser, address, metric, place)[0] == "refused 2"


def test_the_shim_gives_nothing_from_a_map_that_fails_its_check(browser: Browser, address: str) -> None:
    file, more = "/v1/metrics/sharp/portable", " data-verify"
    assert asked_by_a_page(browser, address, file, HERE, more=more)[0].startswith("[48.")
    assert asked_by_a_page(browser, address, file, HERE, more=more, body=wanting())[0] == "refused 2"
    assert asked_by_a_page(browser, address, file, HERE, body=wanting())[0].startswith(
        "[48."
    )  # nobody asked for a check


IN_BROWSER = """async ({ file, vectors, from, count }) => {
  const { Elastic, ReplayRandom, Sticky } = window.client;
  const bytes = Uint8Array.from(atob(file), (letter) => letter.charCodeAt(0));
  const mechanism = await Elastic.fromBytes(bytes);
  const cells = vectors.map(([i, hex]) => {
    const random = new ReplayRandom(Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16)));
    const { row, col } = mechanism.reportFrom(i, random);
    return [row, col];
  });
  const counts = new Array(mechanism.metric.n).fill(0);
  for (const { location } of mechanism.reportsFrom(from, count)) counts[location]++;
  const key = Uint8Array.from({ length: 32 }, (_, k) => k);
  const { row, col } = await new Sticky(mechanism, key, "Zoë").reportFrom(vectors[0][0]);
  return { cells, counts, sticky: [row, col] };
}"""


def test_vectors_and_statistics_in_the_browser(visit: Visit, address: str) -> None:
    stored = json.loads(vectors.VECTORS.read_text(encoding="utf-8"))
    mechanism = load_mechanism(vectors.FILE)
    i = mechanism.metric.locate(*HERE)
    modules = {path.name: path.read_text(encoding="utf-8") for path in client_dir().glob("*.js")}
    visit.context.route(
        "**/modules/*",
        lambda route: route.fulfill(body=modules[route.request.url.rsplit("/", 1)[1]], content_type="text/javascript"),
    )
    page = visit.open(address)
    page.evaluate("import('/modules/index.js').then((client) => { window.client = client; })")
    given = {
        "file": base64.b64encode(vectors.FILE.read_bytes()).decode(),
        "vectors": [(one["from"], ge.SeededRandom(one["seed"]).bytes(1024).hex()) for one in stored["reports"]],
        "from": i,
        "count": 20_000,
    }
    told = page.evaluate(IN_BROWSER, given)
    assert told["cells"] == [one["to"] for one in stored["reports"]]
    assert_chi_square(np.array(told["counts"]), mechanism.probabilities(i), alpha=NEVER)
    from geoelastic.mechanism.sticky import Sticky

    rows, cols = Sticky(mechanism, vectors.KEY, "Zoë").sample_cells([stored["reports"][0]["from"]])
    assert told["sticky"] == [rows[0], cols[0]]


def test_reports_are_quick(visit: Visit, address: str) -> None:
    page = visit.open(address)
    times = []
    for _ in range(9):
        page.click("#centre")
        times.append(float(visit.data("reportMs")))
    assert min(times) < 50  # the least of them: what is slower had to wait for other programs of this machine
