# SPDX-License-Identifier: Apache-2.0
"""Section 5 of the paper from raw files: as it was run, and for the default build of today.

What `geoelastic reproduce` does, with its figures as rows: Paris and Nanterre, San Francisco, made-up commuters. Data
are those of the folder in GEOELASTIC_DATA (``../shared/data`` if not set); a `folder` keeps reports and stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..evaluation import mechanism_rows
from ..evaluation.evaluate import reproduce
from ._tools import data_folder, kept_in, markdown, peak_gb, peak_gb_of_processes, stopwatch


def run(*, progress: bool = False, folder: str | None = None, size_km: float = 75) -> dict[str, Any]:
    """One row a part, area and mechanism; what all of it took; the paper's claims."""
    clock = stopwatch()
    with kept_in(folder) as place:
        done = reproduce(data_folder(), place, size_km=size_km, progress=progress)
    stages = [stage for part in done.values() if isinstance(part, dict) for stage in part["result"]["stages"]]
    spent = {key: round(seconds) for key, seconds in clock().items()}
    found = sum(stage["found"] for stage in stages)
    return figures(done, spent | {"peak_GB": round(max(peak_gb(), peak_gb_of_processes()), 2), "found": found})


def figures(done: dict[str, Any], took: dict[str, Any]) -> dict[str, Any]:
    """The result of `reproduce` as rows and tables; `found`: how many stages an earlier run had left."""
    parts = {name: part["result"] for name, part in done.items() if name != "seconds"}
    tables = {name: _rows(name, result) for name, result in parts.items()}
    claims = [
        {key: claim[key] for key in ("mechanism", "about", "paper", "found", "holds")}
        for claim in done.get("paris", {}).get("claims", [])
    ]
    rows = [*(row for table in tables.values() for row in table), {"part": "all", **took}]
    shown = {name.replace("_", "-").replace(" ", "-"): markdown(table) for name, table in tables.items()}
    shown["claims"] = markdown(claims)
    paris = parts.get("paris", {})
    if "recovery" in paris:
        gaps = [{"area": name, **{key: round(m) for key, m in gap.items()}} for name, gap in paris["gaps"].items()]
        shown |= {"homes": markdown(_homes(paris)), "gaps": markdown(gaps)}  # gaps: distances from the optimum
    text = "\n\n".join([*shown.values(), markdown([took])])
    return {"rows": rows, "text": text, "parts": shown}


def _rows(part: str, result: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "part": part,
            "area": row["area"],
            "mechanism": row["mechanism"],
            "guarantee": row["guarantee"],
            "error_m": round(row["expected_m"]),
            "binary": round(row["binary_median"], 3),
            "adversary_m": round(row["euclidean_median_m"]),
        }
        for row in mechanism_rows(result)
    ]


def _homes(result: dict[str, Any]) -> list[dict[str, Any]]:
    """How soon reports from one home give it away: metres of the best guess after few and after many."""
    recovery = result["recovery"]
    return [
        {"reports": name, **{f"after_{n}_m": round(m) for n, m in zip(found["n"], found["bayes_m"], strict=True)}}
        for name, found in recovery["results"].items()
    ]


def summary(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """What all of it took; the default's errors in the city and the suburb."""
    took = rows[-1]
    by = {(row["part"], row["mechanism"], row["area"]): f"{row['error_m']:,} m" for row in rows[:-1]}
    now = [error for (part, mechanism, _), error in by.items() if (part, mechanism) == ("paris today", "sharpened")]
    lines = []
    if now:
        what = "expected error of the default at Gowalla's check-ins in Paris and Nanterre"
        lines = [(what, "1,050 m in Paris (the paper: 1,478 m without a guarantee)", " and ".join(now))]
    again = f", {took['found']} stages found from before" if took["found"] else ""
    spent = f"{took['wall_s'] / 60:.1f} min ({took['cpu_s']:,} s of processor time), {took['peak_GB']} GB a process"
    what = "section 5 of the paper from raw files, and the same for today's default"
    return [(what, "20 min", f"{spent}{again}"), *lines]
