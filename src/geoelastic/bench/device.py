# SPDX-License-Identifier: Apache-2.0
"""The JavaScript client in Chromium with two workers: a map checked, and a fence carved in and sharpened again.

The map is the default build of `synthetic:paris`, checked from its bytes at every place and on every edge, against what
the README promises; the fence is carved into 20 km of it, some 30,000 locations. Sharpening ends with a check of the
carved map, which is in its time. How long a device takes to open a large map is in `bench packs`. Without Chromium
(Debian's, driven by Playwright) there are no rows.
"""

from __future__ import annotations

from typing import Any

from ..area import Area
from ..fences import disc
from ..mechanism import ElasticMechanism
from ..mechanism.geox_mechanism import mechanism_bytes
from ..metric import Metric
from ..metric.extract import extract
from ._device import chromium, client_page
from ._tools import Tell, markdown, quiet, synthetic_metric

SIDE, PART_KM = 750, 20.0
FENCE_M = 300.0
WORKERS = 2
#: What was asked for each, in seconds.
_ASKED = 60
_VERIFY = """async ([workers]) => {
  const { verify } = await import("/index.js");
  const bytes = new Uint8Array(await (await fetch("/map.geox")).arrayBuffer());
  const nowhere = { get: () => undefined, set: () => undefined };
  const begun = performance.now();
  const { ok } = await verify(bytes, { workers, store: nowhere });
  return [performance.now() - begun, ok];
}"""
_FENCE = """async ([workers, ring]) => {
  const { carveFence, Elastic, sharpen } = await import("/index.js");
  const { metric } = await Elastic.fromBytes(new Uint8Array(await (await fetch("/map.geox")).arrayBuffer()));
  const begun = performance.now();
  const carved = new Elastic(carveFence(metric, ring).metric);
  const sharpened = await sharpen(carved, { workers }); // rejects if an edge is over
  return [performance.now() - begun, carved.metric.height === undefined && sharpened.metric.height !== undefined];
}"""


def run(*, tell: Tell = quiet, side: int = SIDE, part_km: float = PART_KM) -> dict[str, Any]:
    """One row for the check, one for the fence; `holds` is what the client says of the map."""
    if chromium() is None:
        return {"rows": [], "text": "Chromium is not here."}
    tell("a map", of=4)
    metric = synthetic_metric("paris", side)
    tell("checking it")
    rows = [_row("a map checked", metric, _VERIFY)]
    tell("a part of it")
    lat, lon = metric.grid.area.middle
    part = extract(metric, Area.around(lat, lon, size_km=part_km))
    tell("a fence")
    ring = [[y, x] for x, y in disc(lat, lon, FENCE_M).exterior.coords]
    rows.append(_row("a fence carved in, sharpened again and checked", part, _FENCE, ring))
    return {"rows": rows, "text": markdown(rows)}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Both, with what was asked for."""
    return [
        (f"on a device (Chromium, {row['workers']} workers): {row['what']}, {row['locations']:,} locations",
         f"{_ASKED} s", f"{row['seconds']} s, {'holds' if row['holds'] else 'does not hold'}")
        for row in rows
    ]  # fmt: skip


def _row(what: str, metric: Metric, script: str, *given: Any) -> dict[str, Any]:
    content = mechanism_bytes(ElasticMechanism(metric))
    with client_page({"map.geox": content}) as page:
        took_ms, holds = page.evaluate(script, [WORKERS, *given])
    return {
        "what": what, "locations": metric.n, "kB": round(len(content) / 1e3), "workers": WORKERS,
        "seconds": round(took_ms / 1e3, 1), "holds": holds,
    }  # fmt: skip
