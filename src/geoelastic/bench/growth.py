# SPDX-License-Identifier: Apache-2.0
"""The default builder on larger and larger maps: seconds per location, verification included."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..metric import build_metric
from ..progress import progress_bar
from ._tools import markdown, peak_gb, synthetic_mass, timed, warm_up

__all__ = ["run"]

SIDES = (200, 400, 750, 1500)


def run(*, progress: bool = False, sides: Sequence[int] = SIDES) -> dict[str, Any]:
    """One row a map of `synthetic:paris`; `times_least` compares its time per location with the least in the table."""
    warm_up()
    rows: list[dict[str, Any]] = []
    with progress_bar("bench growth", len(sides), show=progress) as bar:
        for side in sides:
            bar.update(len(rows), note=f"{side} x {side}")
            mass = synthetic_mass("paris", side)
            built = timed(partial(build_metric, mass))
            n = built.value.n
            rows.append(
                {
                    "cells": f"{side} x {side}",
                    "locations": n,
                    "seconds": round(built.wall_s, 2),
                    "cpu_s": round(built.cpu_s, 2),
                    "us_per_location": 1e6 * built.wall_s / n,
                    "violations": built.value.certificate["violations"],
                    "mean_ratio": round(built.value.certificate["ratio"]["mean"], 3),
                    "peak_GB": round(peak_gb(), 2),
                }
            )
    least = min(row["us_per_location"] for row in rows)
    for row in rows:
        row["times_least"] = round(row["us_per_location"] / least, 2)
        row["us_per_location"] = round(row["us_per_location"], 1)
    return {"rows": rows, "text": markdown(rows)}
