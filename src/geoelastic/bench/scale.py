# SPDX-License-Identifier: Apache-2.0
"""Cost per location as the map grows: conformal builds of `synthetic:paris` at several sizes, in one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..metric import build_metric
from ..progress import progress_bar
from ._tools import markdown, peak_gb, synthetic_mass, timed, warm_up

__all__ = ["run"]

SIDES = (200, 400, 750, 1500)


def run(*, progress: bool = False, sides: Sequence[int] = SIDES) -> dict[str, Any]:
    """One row a size; `to_first` is the cost per location against that of the first size."""
    warm_up()
    rows: list[dict[str, Any]] = []
    with progress_bar("bench scale", len(sides), show=progress) as bar:
        for side in sides:
            bar.update(len(rows), note=f"{side} x {side}")
            mass = synthetic_mass("paris", side)
            built = timed(lambda mass=mass: build_metric(mass))  # type: ignore[misc]
            each = 1e6 * built.wall_s / built.value.n
            rows.append(
                {
                    "cells": side * side,
                    "locations": built.value.n,
                    "seconds": round(built.wall_s, 2),
                    "cpu_s": round(built.cpu_s, 2),
                    "us_per_location": round(each, 1),
                    "to_first": round(each / rows[0]["us_per_location"], 2) if rows else 1.0,
                    "violations": built.value.certificate["violations"],
                    "mean_ratio": round(built.value.certificate["ratio"]["mean"], 3),
                    "peak_GB": round(peak_gb(), 2),
                }
            )
    return {"rows": rows, "text": markdown(rows)}
