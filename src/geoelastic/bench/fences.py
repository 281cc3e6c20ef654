# SPDX-License-Identifier: Apache-2.0
"""The endpoint attack on fences, and on circles of the same area around the same places.

The adversary knows the fence and sees the exact tracks outside of it (Hassan et al. 2018; `geoelastic fence attack`):
made-up commuters, whose homes and workplaces are known, and the people of GeoLife's sample if it is in the folder of
GEOELASTIC_DATA (``../shared/data`` if not set). Medians over places; `near`: the share of guesses within 100 m. Without
a margin tracks are seen up to the border of the core.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..evaluation.fence_attack import Case, compare_with_circle, drawn_fences, known_cases, trace_cases
from ..mechanism import SeededRandom
from ..release.fence_request import crowd_for
from ..sources.traces import read_traces
from ._tools import Tell, data_folder, markdown, quiet

COMMUTERS = 30
_GEOLIFE, _ZONE, _DRAWS = "gps/geolife_sample_skmob.txt.gz", "Asia/Shanghai", 10
_MARGIN_M = 300.0


def run(*, tell: Tell = quiet, commuters: int = COMMUTERS) -> dict[str, Any]:
    """One row a kind of people, of fence and of guess."""
    people: dict[str, tuple[Sequence[Case], int]] = {"made-up commuters": (known_cases(commuters, seed=1), 1)}
    sample = data_folder() / _GEOLIFE
    if sample.is_file():
        people["GeoLife's sample"] = (trace_cases(read_traces(sample), timezone=_ZONE), _DRAWS)
    rows: list[dict[str, Any]] = []
    for name, (cases, draws) in people.items():
        tell(name, of=len(people) + 1)
        rows += _rows(name, cases, draws, _MARGIN_M)
    tell("without a margin")
    cases = next(iter(people.values()))[0]
    rows += [row for row in _rows("made-up commuters", cases, 1, 0) if row["fence"] != "circle"]
    return {"rows": rows, "text": markdown(_side_by_side(rows)), "parts": _figures(rows)}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The best guess for each kind of fence."""
    found = "; ".join(f"{row['people']}, {row['fence']}: {row['median_m']} m" for row in rows if row["guess"] == "best")
    return [("the best guess of a home or workplace in a fence, to one who sees exact tracks outside", "said", found)]


def _rows(name: str, cases: Sequence[Case], draws: int, margin_m: float) -> list[dict[str, Any]]:
    fence_of = drawn_fences(crowd_for(None, None, None, margin_m), rng=SeededRandom(1))
    found = compare_with_circle(cases, fence_of, draws=draws)
    names = {"circle": "circle", "ours": "ours" if margin_m else "ours, no margin"}
    return [
        {
            "people": name,
            "fence": names[kind],
            "guess": guess,
            "median_m": round(row["median_m"]),
            "near": round(row["within_100_m"], 2),
            "km2": round(found["median_area_km2"], 2),
        }
        for kind, table in found["estimators"].items()
        for guess, row in [*table.items(), ("best", found["best"][kind])]
    ]


def _side_by_side(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line a guess, a column a kind of people and fence."""
    lines: dict[str, dict[str, Any]] = {}
    for row in rows:
        line = lines.setdefault(row["guess"], {"the adversary guesses": row["guess"]})
        line[f"{row['people']}: {row['fence']}"] = f"{row['median_m']:,} m, {row['near']:.0%}"
    return list(lines.values())


def _figures(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Single figures for prose: the best guesses at commuters, and the size of their fences."""
    best = {row["fence"]: row for row in rows if row["guess"] == "best" and row["people"] == "made-up commuters"}
    shown = partial("{:,} m".format)
    return {
        "ours": shown(best["ours"]["median_m"]),
        "circle": shown(best["circle"]["median_m"]),
        "no-margin": shown(best["ours, no margin"]["median_m"]),
        "area": f"{best['ours']['km2']:.0f} km²",
    }
