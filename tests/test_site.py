# SPDX-License-Identifier: Apache-2.0
"""The docs as a site, built strictly, and the tutorial, every line of it run."""

from __future__ import annotations

import csv
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import geoelastic_client as gc
import pytest
from click.testing import CliRunner

from geoelastic.cli import main
from tiny_town import CENTRE, write_town

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, str(DOCS / "site_build.py"), "--build", str(out)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return out


def test_the_site_has_every_page_in_the_order_of_the_index_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = [path.relative_to(DOCS).with_suffix(".html") for path in DOCS.glob("**/*.md")]
    assert len(pages) > 30
    front = (site / "index.html").read_text(encoding="utf-8")
    for page in pages:
        assert (site / page).is_file()
        assert page.name == "index.html" or f'href="{page}"' in front, page
    captions = re.findall(r'class="caption-text">([^<]+)<', front)
    assert captions == ["Start", "How to", "Explanation", "Reference"]


def test_formulas_are_set_by_the_browser_and_pages_have_their_pictures(site: Path) -> None:
    for name in ("guarantee", "sharpening", "limit"):
        page = (site / f"{name}.html").read_text(encoding="utf-8")
        written = (DOCS / f"{name}.md").read_text(encoding="utf-8").count("$$") // 2
        assert page.count('display="block"') == written > 0
        assert "$$" not in page
        assert f'src="_images/{name}.png"' in page
        assert (site / "_images" / f"{name}.png").read_bytes() == (DOCS / "img" / f"{name}.png").read_bytes()


@pytest.mark.jit
def test_pictures_of_the_explanation_are_drawn_from_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)
    import draw_pictures  # type: ignore[import-not-found]

    draw_pictures.main(str(tmp_path), side=60, even=40)
    drawn = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(drawn) == {"guarantee.png", "sharpening.png", "limit.png"}
    assert all(content.startswith(b"\x89PNG") for content in drawn.values())


def test_what_would_load_from_elsewhere_is_found(tmp_path: Path) -> None:
    sys.path.insert(0, str(DOCS))
    try:
        from site_build import remote_requests  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(DOCS))
    page = tmp_path / "a.html"
    for wrong in (
        '<script src="https://x.org/a.js">', '<img alt="b" src="//x.org/b.png">', "<style>@import 'https://x.org'",
        '<link rel="stylesheet" href="https://x.org/c.css">', "<p style=\"background: url('https://x.org/d.png')\">",
    ):  # fmt: skip
        page.write_text(wrong)
        assert len(remote_requests(tmp_path)) == 1, wrong
    page.write_text('<a href="https://x.org">x</a> <link rel="canonical" href="https://x.org"> <img src="a.png">')
    assert remote_requests(tmp_path) == []


def blocks() -> list[tuple[str, str]]:
    """(kind, text) of the code blocks of the tutorial, in order."""
    text = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    return re.findall(r"^```(.+?)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.jit
def test_every_line_of_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEOELASTIC_CACHE", "")
    write_town(tmp_path / "town.osm.pbf", count=1500, radius_m=2400)
    told: dict[str, list[str]] = {}
    for kind, text in blocks():
        if kind == "sh":
            for line in text.splitlines():
                told.setdefault(line, []).append(run(line))
        elif kind == "python":
            exec(text, {})
        elif kind.startswith("html file="):
            Path(kind.split("=")[1]).write_text(text, encoding="utf-8")
        else:
            assert kind == "sh no-run", kind
    assert len(told) >= 13
    sticky = next(outputs for line, outputs in told.items() if "--sticky" in line)
    assert len(sticky) == 2
    assert sticky[0] == sticky[1]
    (account,) = json.loads(Path("ledger.json").read_text())["accounts"]
    assert (account["fresh"], account["repeated"]) == (1, 1)
    with Path("reports.csv").open() as rows:
        (ana, _) = list(csv.DictReader(rows))
    assert ana["user"] == "ana"
    assert float(ana["lat"]) != CENTRE[0]
    page = Path("index.html").read_text()
    for name in re.findall(r'(?:src|data-metric)="([^"]+)"', page):
        assert Path(name).is_file(), name
    phone = gc.Elastic.open("phone.geox")
    assert phone.metric.fence[phone.metric.locate(35.8965, 14.5110)] == 1
    assert abs(phone.report(*CENTRE).lat - CENTRE[0]) < 0.1


def run(line: str) -> str:
    """A line of the shell; commands of geoelastic in this process, which has its kernels ready."""
    words = shlex.split(line)
    if words[0] != "geoelastic":
        return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout
    done = CliRunner().invoke(main, words[1:])
    assert done.exit_code == 0, f"{line}: {done.output}"
    return done.stdout
