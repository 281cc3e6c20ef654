# SPDX-License-Identifier: Apache-2.0
"""Regions of a pack on a device: a whole map and districts of it, their size, and time to open and memory in Chromium.

The map is the one that is given, or all of `synthetic:country` where `bench scale --whole` has built it in the same
`folder` (as `bench all --write` does), else 100 km of it. Some districts are cut, evenly spaced among all that the rule
makes. A map is handed to the browser as it is kept once it was
checked: checking is what `bench extension` measures. Where there is no Chromium the sizes are all there is.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..area import Area
from ..errors import InputError
from ..mechanism import ElasticMechanism
from ..mechanism.geox_mechanism import mechanism_bytes
from ..metric import AnyMetric, Metric, build_metric
from ..metric.extract import extract
from ..opening import load
from ..packs import district_side_km, districts
from ._device import EXTENSION, SITES_ASK, browser, built, extension_page, site, start
from ._tools import Tell, Timed, latlon_by_mass, markdown, quiet, synthetic_mass, timed
from .scale import WHOLE

_SIDE_CELLS = 1000
_SAMPLE = 3
_PLACES = 20
_STARTS = 3
_OPENING = ("read", "digest", "open")
#: Put a map that is ready into the extension's store, as its own page does after a check.
_KEEP = """async ([address, sha256]) => {
  const ready = await (await fetch(address)).arrayBuffer();
  const base = await new Promise((yes) => { const asked = indexedDB.open("geoelastic", 1);
    asked.onsuccess = () => yes(asked.result); });
  const store = base.transaction("carved", "readwrite");
  store.objectStore("carved").put({ id: "map", of: "bench", verified: "bench", fences: "[]", ready, sha256 });
  await new Promise((yes) => (store.oncomplete = yes));
  await chrome.storage.local.set({ settings: { order: ["map"] } }); }"""


def run(*, tell: Tell = quiet, map_file: str | None = None, folder: str | None = None) -> dict[str, Any]:
    """One row a map: all of it, and districts."""
    metric = _country(folder) if map_file is None else load(map_file)
    runs, rows = built(), []
    cuts = list(_cuts(metric))
    for what, area in cuts:
        tell(what, of=len(cuts))
        rows.append({"map": what} | _measured(metric, area, runs))
    return {"rows": rows, "text": markdown(rows)}


def _country(folder: str | None) -> AnyMetric:
    built = Path(folder or "", str(WHOLE))
    if folder is not None and (built / "manifest.json").is_file():
        return load(built)
    return build_metric(synthetic_mass("country", _SIDE_CELLS))


def _cuts(metric: AnyMetric) -> Iterator[tuple[str, Area | None]]:
    yield f"all, {metric.grid.area.width_m / 1000:g} km", None
    side_km = district_side_km(metric.grid.area, metric.n)
    every = districts(metric.grid.area, side_km)
    names = list(every)
    for name in names[len(names) // _SAMPLE // 2 :: max(1, len(names) // _SAMPLE)][:_SAMPLE]:
        yield f"district {name} of {len(names)}, {side_km:g} km", every[name]


def _measured(metric: AnyMetric, area: Area | None, runs: bool) -> dict[str, Any]:
    made: Timed[Metric]
    try:
        made = timed(lambda: metric.whole() if area is None else extract(metric, area))
    except InputError as error:
        return {"left out": str(error).split(":")[0]}
    content = mechanism_bytes(ElasticMechanism(made.value))
    row = {
        "locations": made.value.n, "can be hidden": int(made.value.secret.sum()), "kB": round(len(content) / 1e3),
        "cut, CPU s": None if area is None else round(made.cpu_s, 1),
    }  # fmt: skip
    return row | (_opened(made.value, content) if runs else {}) | {"load": round(os.getloadavg()[0], 1)}


def _opened(metric: Metric, content: bytes) -> dict[str, Any]:
    """Medians of a few starts of Chromium with this map."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        map_file, ready, profile = (Path(folder) / name for name in ("map.geox", "ready", "profile"))
        map_file.write_bytes(content)
        command = ["node", "--max-old-space-size=8000", "test/ready.mjs", str(map_file), str(ready)]
        told = subprocess.run(command, cwd=EXTENSION, check=True, capture_output=True, text=True, timeout=3600)
        with site({"ready": ready.read_bytes()}) as address:
            with browser(profile) as context:
                page = extension_page(context)
                page.evaluate(_KEEP, [f"{address}ready", told.stdout])
                page.evaluate(SITES_ASK)
            starts = [start(profile, address, latlon_by_mass(metric, _PLACES)) for _ in range(_STARTS)]
        kept_mb = ready.stat().st_size / 1e6

    def median(name: str) -> float:
        return float(np.median([value for one in starts for value in one[name]]))

    return {
        "kept, MB": round(kept_mb, 1),
        "opening, ms": round(sum(median(f"of it: map, {part}, ms") for part in _OPENING)),
        "first report, ms": round(median("first report after a start of the browser, ms")),
        "report, ms": round(median("report at a new place, ms")),
        "memory, MB": round(median("memory of the extension's process, MB")),
    }
