# SPDX-License-Identifier: Apache-2.0
"""The browser extension in Chromium: how long a report takes after a start, at a new place, at the same one; memory.

Places are drawn by mass. The map is a made-up Paris of 40 km unless one is given. Chromium is Debian's, driven by
Playwright, the extension is built by node (`_device`): a table without rows where they are not installed.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..mechanism import ElasticMechanism
from ..mechanism.geox_mechanism import mechanism_bytes
from ..metric import build_metric
from ..opening import load
from ._device import SITES_ASK, browser, built, extension_page, site, start
from ._tools import Tell, latlon_by_mass, markdown, quiet, synthetic_mass

_SIDE_CELLS = 400
_STARTS = 5
_PLACES = 40


def run(*, tell: Tell = quiet, map_file: str | None = None) -> dict[str, Any]:
    """One row a quantity."""
    if not built():
        return {"rows": [], "text": "Chromium, node or the extension's sources are not here."}
    tell("a map", of=_STARTS + 2)
    metric = build_metric(synthetic_mass("paris", _SIDE_CELLS)) if map_file is None else load(map_file).whole()
    content = mechanism_bytes(ElasticMechanism(metric))
    places = latlon_by_mass(metric, _PLACES)
    size = {"locations": metric.n, "kB": round(len(content) / 1e3)}
    rows: list[dict[str, Any]] = [{"what": "the map's file"} | size]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, site() as address:
        tell("checking the map on the device")
        rows += _taken(Path(folder), content)
        found: dict[str, list[float]] = {}
        for _ in range(_STARTS):
            tell("starts of the browser")
            for name, values in start(Path(folder) / "profile", address, places).items():
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


def _taken(folder: Path, content: bytes) -> list[dict[str, Any]]:
    """The map chosen in the options page, as a person does it: checked there, every place of it."""
    (folder / "map.geox").write_bytes(content)
    with browser(folder / "profile") as context:
        page = extension_page(context)
        begun = time.perf_counter()
        page.set_input_files("#file", folder / "map.geox")
        page.wait_for_selector("body[data-done]", timeout=1_800_000)
        took = time.perf_counter() - begun
        page.evaluate(SITES_ASK)
    return [{"what": "checking the map when it is chosen, s", "median": round(took, 1), "of": 1}]
