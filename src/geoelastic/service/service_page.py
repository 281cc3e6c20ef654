# SPDX-License-Identifier: Apache-2.0
"""The page: what the service serves at its root, and the same page as one file that needs nothing else."""

from __future__ import annotations

import base64
import os
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..figures.page import inside_script
from ..mechanism import ElasticMechanism
from ..mechanism.geox_mechanism import mechanism_bytes
from ..metric import AnyMetric
from ..opening import load
from ..store import write_bytes
from .bundle import STATIC, bundle
from .registry import Blob, context_json

_HTML, _SCRIPT, _STYLE = (f"text/{kind}; charset=utf-8" for kind in ("html", "javascript", "css"))
#: What a closed page may use: what is in it, and workers that it makes of that.
_CLOSED = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "img-src data:; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:\">"
)


@cache
def page_assets() -> dict[str, Blob]:
    """Path -> what is served there. The shim is one classic script, so that it stands before any other script runs."""
    texts = {
        "/": (_text("index.html"), _HTML),
        "/page.css": (_text("page.css"), _STYLE),
        "/page.js": (bundle("app"), _SCRIPT),
        "/geolocation.js": (bundle("auto"), _SCRIPT),
        "/vendor/leaflet.js": (_text("vendor/leaflet.js"), _SCRIPT),
        "/vendor/leaflet.css": (_text("vendor/leaflet.css"), _STYLE),
        "/vendor/LICENSE.leaflet": (_text("vendor/LICENSE.leaflet"), "text/plain; charset=utf-8"),
    }
    return _blobs(texts)


@cache
def demo_site_assets() -> dict[str, Blob]:
    """A site that asks for its visitor's position in ten ways and shows what it got."""
    pages = {f"/{name}": (_text(f"{name}.html"), _HTML) for name in ("demo-site", "demo-site-frame")}
    return _blobs(pages | {"/demo-site.js": (bundle("demo-site"), _SCRIPT)})


def _blobs(texts: dict[str, tuple[str, str]]) -> dict[str, Blob]:
    """Pages and scripts, which are never saved as files, by their paths."""
    return {path: Blob(text.encode(), kind, path.rsplit("/", 1)[1]) for path, (text, kind) in texts.items()}


def standalone_html(metric: AnyMetric, path: str | os.PathLike[str], *, output: str = "mass") -> int:
    """Write the page of one metric as a single file to send to a colleague; returns its size in bytes."""
    page = standalone_page(metric, output=output).encode()
    write_bytes(path, page)
    return len(page)


def standalone_page(metric: AnyMetric, *, output: str = "mass", closed: bool = False) -> str:
    """The page of one metric with all that it needs. `closed`: the browser lets no request leave it, whatever happens,
    so it offers no base map either."""
    content = base64.b64encode(mechanism_bytes(ElasticMechanism(metric, output=output))).decode()
    page = _text("index.html")
    inlined = {
        '<link rel="stylesheet" href="vendor/leaflet.css">': f"<style>{_text('vendor/leaflet.css')}</style>",
        '<link rel="stylesheet" href="page.css">': f"<style>{_text('page.css')}</style>",
        '<script src="vendor/leaflet.js" defer></script>': f"<script>{_safe(_text('vendor/leaflet.js'))}</script>",
        '<script src="page.js" defer></script>': (
            f'<script type="text/plain" id="metric">{content}</script>\n'
            f'<script type="application/json" id="context">{inside_script(context_json(metric))}</script>\n'
            f"<script>{_safe(bundle('app'))}</script>"
        ),
    }
    for link, text in inlined.items():
        assert page.count(link) == 1, f"index.html must have one {link}"
        page = page.replace(link, "" if link.startswith("<script") else text)
    # scripts run where they stand, so they come last: what they look for is there by then
    scripts = "\n".join(text for link, text in inlined.items() if link.startswith("<script"))
    if closed:
        page = page.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{_CLOSED}', 1)
        page = page.replace('<label class="tiles">', '<label class="tiles" hidden>', 1)
    return page.replace("</body>", f"{scripts}\n</body>")


def write_page(file: str, target: str, *, measure: str = "mass") -> dict[str, Any]:
    """The page of the metric in a file, as one file."""
    if not target.endswith(".html"):
        raise InputError(f"'output' must end in .html for a page, got {Path(target).name!r}")
    size = standalone_html(load(file), target, output=measure)
    return {"output": target, "kind": "page", "bytes": size, "text": f"page of {file}: {target} ({size / 1000:.0f} kB)"}


def _text(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _safe(script: str) -> str:
    """A script inside a page must not contain what would end it."""
    assert "</script" not in script.lower()
    return script
